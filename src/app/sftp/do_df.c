/* SPDX-License-Identifier: ISC */
/* do_df - df: room on the remote file system */
#include <stdlib.h>

#include "app/sftp/sftp.h"
#include "app/sftp/show.h"

err_t do_df(struct sftp *s, const struct command *c)
{
	struct sf_vfs v;
	struct buf out;
	if (!sf_client_has(s->r.sf, SF_EXT_statvfs)) {
		sftp_say("Server does not support statvfs@openssh.com extension");
		return E_UNSUPPORTED;
	}
	char *path = path_absolute(s, c->arg[0] != NULL ? c->arg[0] : s->pwd);
	err_t e = path != NULL ? remote_statvfs(&s->r, path, &v) : E_MEM;
	if (e != OK) {
		(void)sftp_fail(s, e, "remote statvfs(\"%s\")", path != NULL ? path : "");
		free(path);
		return e;
	}
	free(path);
	buf_init(&out, 4096);
	show_vfs(&out, &v, command_has(c, 'i'), command_has(c, 'h'));
	sftp_put(&out);
	buf_done(&out);
	return OK;
}
