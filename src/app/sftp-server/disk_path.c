/* SPDX-License-Identifier: ISC */
/* disk_path - renaming without replacing, and paths resolved */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/sftp-server/disk.h"

#define HOPS 40

/* For file systems that cannot rename without replacing: a file gets its second name, then loses
 * the first one; anything else is renamed when nothing is seen there. */
static int rename_in_steps(const char *from, const char *to)
{
	struct stat st;
	if (lstat(from, &st) != 0)
		return errno;
	if (S_ISREG(st.st_mode) && link(from, to) == 0) {
		if (unlink(from) == 0)
			return 0;
		int why = errno;
		(void)unlink(to);
		return why;
	}
	bool has_links = errno != EOPNOTSUPP && errno != ENOSYS && errno != EPERM && errno != EXDEV;
	if (S_ISREG(st.st_mode) && has_links)
		return errno;
	if (lstat(to, &st) == 0)
		return EEXIST;
	return rename(from, to) == 0 ? 0 : errno;
}

enum sf_code disk_rename(void *fs, const char *from, const char *to, bool may_replace)
{
	if (may_replace)
		return disk_code(fs, rename(from, to) == 0 ? 0 : errno);
	if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
		return SF_ok;
	if (errno != EINVAL && errno != ENOSYS)
		return disk_code(fs, errno);
	return disk_code(fs, rename_in_steps(from, to));
}

/* The directory of path, resolved, and a slash; its last part stays as it is. */
static int resolve_parent(const char *path, char out[SF_PATH_MAX])
{
	char dir[SF_PATH_MAX], real[PATH_MAX];
	const char *slash = strrchr(path, '/'), *last = slash != NULL ? slash + 1 : path;
	if (last[0] == '\0' || strcmp(last, ".") == 0 || strcmp(last, "..") == 0)
		return ENOENT;
	(void)snprintf(dir, sizeof(dir), "%.*s", slash != NULL ? (int)(slash - path) : 1,
		slash != NULL ? path : ".");
	if (realpath(slash == path ? "/" : dir, real) == NULL)
		return errno;
	int n = snprintf(out, SF_PATH_MAX, "%s%s%s", real, strcmp(real, "/") == 0 ? "" : "/", last);
	return n < (int)SF_PATH_MAX ? 0 : ENAMETOOLONG;
}

/* A path whose last part need not exist: that of a link that points nowhere is where it points. */
static int resolve(const char *path, char out[SF_PATH_MAX])
{
	char at[SF_PATH_MAX], real[PATH_MAX], target[SF_PATH_MAX];
	size_t at_n = strlen(path);
	bool is_dir = at_n > 1 && path[at_n - 1] == '/';
	while (at_n > 1 && path[at_n - 1] == '/')
		at_n--;
	(void)snprintf(at, sizeof(at), "%.*s", (int)at_n, path);
	for (int hop = 0; hop < HOPS; hop++) {
		if (realpath(at, real) != NULL) {
			(void)snprintf(out, SF_PATH_MAX, "%s", real);
			return 0;
		}
		int why = errno == ENOENT ? resolve_parent(at, out) : errno;
		if (why != 0)
			return why;
		ssize_t n = readlink(out, target, sizeof(target) - 1);
		if (n < 0)
			return errno == ENOENT && !is_dir ? 0 : errno;
		target[n] = '\0';
		size_t dir = target[0] == '/' ? 0 : (size_t)(strrchr(out, '/') + 1 - out);
		if (snprintf(at, sizeof(at), "%.*s%s", (int)dir, out, target) >= (int)sizeof(at))
			return ENAMETOOLONG;
	}
	return ELOOP;
}

enum sf_code disk_realpath(void *fs, const char *path, struct slice room, size_t *n)
{
	char found[SF_PATH_MAX];
	int why = resolve(path, found);
	size_t found_n = why == 0 ? strlen(found) : 0;
	if (why == 0 && found_n > room.n)
		why = ENAMETOOLONG;
	if (why != 0)
		return disk_code(fs, why);
	memcpy(room.p, found, found_n);
	*n = found_n;
	return SF_ok;
}
