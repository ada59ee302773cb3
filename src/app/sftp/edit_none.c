/* SPDX-License-Identifier: ISC */
/* edit - a build without libedit: the terminal's own line editing */
#include "app/sftp/sftp.h"

err_t edit_new(struct edit **out, struct sftp *s)
{
	(void)out, (void)s;
	return E_UNSUPPORTED;
}

void edit_free(struct edit *e)
{
	(void)e;
}

err_t edit_line(struct edit *e, const char *prompt, struct buf *line)
{
	(void)e, (void)prompt, (void)line;
	return E_UNSUPPORTED;
}
