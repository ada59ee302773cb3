/* SPDX-License-Identifier: ISC */
/* paths - names put together, remote ones (bytes, parted by /) and local ones */
#include <stdlib.h>
#include <sys/stat.h>

#include "app/sftp/sftp.h"

char *path_join(const char *dir, const char *name)
{
	size_t n = strlen(dir);
	struct buf b;
	buf_init(&b, INPUT_LINE_MAX);
	if (name[0] != '/') {
		buf_put(&b, dir, n);
		if (n > 0 && dir[n - 1] != '/')
			buf_put_u8(&b, '/');
	}
	buf_put(&b, name, strlen(name) + 1);
	char *path = buf_err(&b) == OK ? strdup((const char *)b.p) : NULL;
	buf_done(&b);
	return path;
}

char *path_absolute(const struct sftp *s, const char *name)
{
	return path_join(s->pwd, name);
}

/* The directory is no pattern, whatever it is called. */
char *path_absolute_pattern(const struct sftp *s, const char *pattern)
{
	struct buf dir;
	buf_init(&dir, INPUT_LINE_MAX);
	word_put_pattern(&dir, cslice_str(s->pwd));
	buf_put_u8(&dir, 0);
	char *path = buf_err(&dir) == OK ? path_join((const char *)dir.p, pattern) : NULL;
	buf_done(&dir);
	return path;
}

const char *path_last(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash != NULL ? slash + 1 : path;
}

void path_strip(char *path)
{
	size_t n = strlen(path);
	while (n > 1 && path[n - 1] == '/')
		path[--n] = '\0';
}

bool path_is_local_dir(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

err_t path_is_remote_dir(struct sftp *s, const char *path, bool *is_dir)
{
	struct sf_attr a;
	TRY(remote_stat(&s->r, path, false, &a));
	*is_dir = (a.flags & SF_A_MODE) != 0 && S_ISDIR(a.mode);
	return OK;
}
