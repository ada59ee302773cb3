/* SPDX-License-Identifier: ISC */
/*
 * mon_info - ExposeAuthInfo: what let the user in, told to his programs
 *
 * One line for each proof that was good.  They stand in a file of the user's, which SSH_USER_AUTH
 * names.  The monitor makes and removes it, as it outlives the session process whatever becomes of
 * that, and is not in the root directory of ChrootDirectory.  Both are done with the user's rights:
 * in /tmp he could put something else into its place.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/sshd/monitor.h"
#include "base/text.h"

#define INFO_MAX  ((size_t)1 << 20)
#define INFO_FILE "/tmp/sshauth.XXXXXXXXXXXXXXX"

void mon_info_init(struct mon_info *info)
{
	*info = (struct mon_info){.path = NULL};
	buf_init(&info->lines, INFO_MAX);
}

void mon_info_done(struct mon_info *info)
{
	free(info->path);
	buf_done(&info->lines);
	*info = (struct mon_info){.path = NULL};
}

void mon_info_add(struct mon_info *info, const char *method, struct cslice blob)
{
	struct buf *lines = &info->lines;
	buf_printf(lines, "%s", method);
	if (blob.n > 0) {
		struct cslice type = key_blob_type(blob);
		buf_printf(lines, " %.*s ", (int)type.n, (const char *)type.p);
		base64_encode(lines, blob);
	}
	buf_put_u8(lines, '\n');
}

static err_t write_all(int fd, struct cslice data)
{
	while (data.n > 0) {
		ssize_t n = write(fd, data.p, data.n);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return E_IO;
		data = cslice_of(data.p + n, data.n - (size_t)n);
	}
	return OK;
}

/* With the user's rights; path becomes the name that was found free. */
static err_t make_file(struct cslice lines, char *path)
{
	int fd = mkstemp(path);
	if (fd < 0)
		return E_IO;
	err_t e = write_all(fd, lines);
	int why = errno;
	if (close(fd) != 0 && e == OK) {
		why = errno;
		e = E_IO;
	}
	if (e != OK)
		(void)unlink(path);
	errno = why;
	return e;
}

/* Without the old rights nothing can go on. */
static void be_root_again(struct user_saved *saved)
{
	int why = errno;
	if (user_act_end(saved) != OK)
		abort();
	errno = why;
}

void mon_info_expose(struct monitor *m)
{
	struct mon_info *info = &m->info;
	struct user_saved saved;
	if (!m->conf.expose_auth_info)
		return;
	char *path = strdup(INFO_FILE);
	errno = 0;
	err_t e = path != NULL ? buf_err(&info->lines) : E_MEM;
	if (e == OK)
		e = user_act_begin(&m->user, &saved);
	if (e == OK) {
		e = make_file(buf_bytes(&info->lines), path);
		be_root_again(&saved);
	}
	if (e == OK) {
		info->path = path;
		return;
	}
	log_put(LOG_L_ERROR, "ExposeAuthInfo: no file for %.100s can be made from %s: %s", m->name,
		INFO_FILE, errno != 0 ? strerror(errno) : err_text(e));
	free(path);
}

void mon_info_remove(struct monitor *m)
{
	struct mon_info *info = &m->info;
	struct user_saved saved;
	if (info->path == NULL)
		return;
	if (user_act_begin(&m->user, &saved) == OK) {
		if (unlink(info->path) != 0 && errno != ENOENT)
			log_debug1("%s: %s", info->path, strerror(errno));
		be_root_again(&saved);
	}
	free(info->path);
	info->path = NULL;
}
