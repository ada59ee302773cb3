/* SPDX-License-Identifier: ISC */
/* files - reading whole regular files, and the ownership and mode rules for them */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "app/sshd/files.h"

#define STEP ((size_t)16 * 1024)

static err_t read_all(int fd, size_t most, struct buf *out)
{
	for (;;) {
		size_t before = out->n;
		uint8_t *room = buf_room(out, STEP);
		if (room == NULL)
			return before + STEP > most ? E_LIMIT : E_MEM;
		ssize_t n = read(fd, room, STEP);
		out->n = before + (n > 0 ? (size_t)n : 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return E_IO;
		if (n == 0)
			return OK;
		if (out->n > most)
			return E_LIMIT;
	}
}

err_t file_read_stat(const char *path, size_t most, struct buf *out, struct stat *st)
{
	errno = 0;
	/* O_NONBLOCK: a FIFO in the place of the file must not make us wait. */
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR ? E_NOT_FOUND
		       : errno == EACCES                   ? E_PERMISSION
							   : E_IO;
	err_t e = fstat(fd, st) != 0 ? E_IO : !S_ISREG(st->st_mode) ? E_FORMAT : OK;
	if (e == OK)
		e = read_all(fd, most, out);
	int why = e == E_FORMAT && S_ISDIR(st->st_mode) ? EISDIR : errno;
	(void)close(fd);
	errno = why;
	return e;
}

err_t file_read_any(const char *path, size_t most, struct buf *out)
{
	struct stat st;
	errno = 0;
	int fd = open(path, O_RDONLY | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR ? E_NOT_FOUND
		       : errno == EACCES                   ? E_PERMISSION
							   : E_IO;
	err_t e = fstat(fd, &st) != 0 ? E_IO : read_all(fd, most, out);
	int why = errno;
	(void)close(fd);
	errno = why;
	return e;
}

err_t file_read(const char *path, size_t most, struct buf *out)
{
	struct stat st;
	return file_read_stat(path, most, out, &st);
}

static bool is_good(const struct stat *st, uint32_t uid)
{
	return (st->st_uid == 0 || st->st_uid == uid) && (st->st_mode & 022) == 0;
}

static err_t refuse(const char *kind, const char *path, const struct stat *st, struct buf *why)
{
	buf_printf(why, "bad ownership or modes for %s %s (owner %u, mode %04o)", kind, path,
		(unsigned)st->st_uid, (unsigned)st->st_mode & 07777);
	return E_PERMISSION;
}

err_t file_is_strict(
	const char *path, const struct stat *st, const char *home, uint32_t uid, struct buf *why)
{
	char real[PATH_MAX], real_home[PATH_MAX];
	if (realpath(path, real) == NULL) {
		buf_printf(why, "realpath %s failed: %s", path, strerror(errno));
		return E_PERMISSION;
	}
	bool has_home = realpath(home, real_home) != NULL;
	if (!is_good(st, uid))
		return refuse("file", real, st, why);
	for (char *slash = strrchr(real, '/'); slash != NULL; slash = strrchr(real, '/')) {
		struct stat dir;
		slash[slash == real] = 0; /* the root keeps its slash */
		if (stat(real, &dir) != 0) {
			buf_printf(why, "stat %s failed: %s", real, strerror(errno));
			return E_PERMISSION;
		}
		if (!is_good(&dir, uid))
			return refuse("directory", real, &dir, why);
		if (real[1] == 0 || (has_home && strcmp(real, real_home) == 0))
			break;
	}
	return OK;
}
