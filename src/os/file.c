/* SPDX-License-Identifier: ISC */
/* file - small files whole */
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/file.h"

#define STEP      4096
#define LOCKS_MAX 100

static err_t err_of(int why)
{
	if (why == ENOENT || why == ENOTDIR)
		return E_NOT_FOUND;
	return why == EACCES || why == EPERM ? E_PERMISSION : E_IO;
}

static err_t read_all(int fd, size_t hint, struct buf *out)
{
	size_t before = out->n;
	for (;;) {
		size_t room = num_max(hint, STEP);
		if (out->limit - out->n <
			room) /* one byte more than may be held shows that it is too long */
			room = out->limit - out->n;
		uint8_t *p = room > 0 ? buf_room(out, room) : NULL;
		uint8_t extra;
		ssize_t n = p != NULL ? read(fd, p, room) : read(fd, &extra, 1);
		if (n < 0 && errno != EINTR) {
			out->n = before;
			return E_IO;
		}
		if (p == NULL && n > 0) {
			out->n = before;
			return buf_err(out) != OK ? buf_err(out) : E_LIMIT;
		}
		if (p != NULL)
			out->n -= room - (n > 0 ? (size_t)n : 0);
		if (n == 0)
			return OK;
		hint = 0;
	}
}

err_t os_file_read(const char *path, struct buf *out, struct os_file *info)
{
	struct os_file scratch;
	if (info == NULL)
		info = &scratch;
	*info = (struct os_file){0};
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0) {
		info->why = errno;
		return err_of(errno);
	}
	struct stat st;
	err_t e = OK;
	if (fstat(fd, &st) < 0) {
		info->why = errno;
		e = E_IO;
	} else {
		info->uid = st.st_uid;
		info->mode = st.st_mode & 07777;
		if (S_ISDIR(st.st_mode)) {
			info->why = EISDIR;
			e = E_FORMAT;
		}
		if (!S_ISREG(st.st_mode)) /* /dev/null, or the pipe of a shell's <(...) */
			(void)fcntl(fd, F_SETFL, 0);
	}
	if (e == OK) {
		e = read_all(fd, (size_t)st.st_size + 1, out);
		if (e == E_IO)
			info->why = errno;
	}
	close(fd);
	return e;
}

int os_file_probe(const char *path)
{
	struct stat st;
	if (access(path, R_OK) != 0)
		return errno;
	return stat(path, &st) == 0 && S_ISDIR(st.st_mode) ? EISDIR : 0;
}

static bool lacks_line_end(int fd)
{
	char last;
	off_t end = lseek(fd, 0, SEEK_END);
	return end > 0 && pread(fd, &last, 1, end - 1) == 1 && last != '\n';
}

/* All of it, or the file is as it was: a line cut short by a full disk would stay in the way. */
static err_t append_all(int fd, struct cslice text, int *why)
{
	off_t before = lseek(fd, 0, SEEK_END);
	while (text.n > 0) {
		ssize_t n = write(fd, text.p, text.n);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			*why = n < 0 ? errno : ENOSPC;
			if (before >= 0 && ftruncate(fd, before) != 0)
				errno = *why; /* no regular file: what is written is gone */
			return E_IO;
		}
		text = cslice_of(text.p + n, text.n - (size_t)n);
	}
	return OK;
}

/* A file that was replaced while we waited is none any more: then the one in its place. */
static int open_locked(const char *path, int flags, uint32_t mode)
{
	struct stat own, now;
	for (int i = 0; i < LOCKS_MAX; i++) {
		int fd = open(path, flags | O_CLOEXEC | O_NOCTTY, (mode_t)mode);
		if (fd < 0)
			return -1;
		if (flock(fd, LOCK_EX) < 0 || fstat(fd, &own) < 0 || stat(path, &now) < 0 ||
			(own.st_ino == now.st_ino && own.st_dev == now.st_dev))
			return fd;
		close(fd);
	}
	errno = EBUSY;
	return -1;
}

int os_file_lock(const char *path)
{
	return open_locked(path, O_RDONLY | O_NONBLOCK, 0);
}

err_t os_file_append(const char *path, struct cslice text, uint32_t mode, int *why)
{
	int fd = open_locked(path, O_RDWR | O_APPEND | O_CREAT, mode);
	if (fd < 0) {
		*why = errno;
		return err_of(errno);
	}
	struct buf line;
	buf_init(&line, text.n + 1);
	if (lacks_line_end(fd))
		buf_put_u8(&line, '\n');
	buf_put(&line, text.p, text.n);
	err_t e = buf_err(&line);
	if (e == OK)
		e = append_all(fd, buf_bytes(&line), why);
	buf_done(&line);
	if (close(fd) < 0 && e == OK) {
		*why = errno;
		e = E_IO;
	}
	return e;
}

err_t os_dir_make(const char *path, uint32_t mode)
{
	return mkdir(path, (mode_t)mode) == 0 || errno == EEXIST ? OK : err_of(errno);
}
