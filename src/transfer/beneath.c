/* SPDX-License-Identifier: ISC */
/* beneath - files and directories beneath an open directory */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "transfer/beneath.h"

static err_t failed(int *why, int number)
{
	*why = number;
	switch (number) {
	case ENOENT:
	case ENOTDIR:
		return E_NOT_FOUND;
	case EACCES:
	case EPERM:
		return E_PERMISSION;
	case ELOOP:
	case EXDEV:
		return E_DENIED;
	default:
		return E_IO;
	}
}

/* Names joined by one '/' each. */
static bool is_inner(const char *path)
{
	do {
		size_t n = strcspn(path, "/");
		bool is_dots = (n == 1 && path[0] == '.') || (n == 2 && memcmp(path, "..", 2) == 0);
		if (n == 0 || is_dots)
			return false;
		path += n + (path[n] == '/');
	} while (*path != '\0');
	return path[-1] != '/';
}

err_t beneath_open(struct beneath *out, const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return failed(&out->why, errno);
	*out = (struct beneath){.fd = fd};
	return OK;
}

void beneath_close(struct beneath *b)
{
	if (b->fd >= 0)
		(void)close(b->fd);
	*b = BENEATH_NONE;
}

/* ---- the walk ---------------------------------------------------------------------------------
 */

/* The directory that holds the last part, and that part; a descriptor of its own, or b's. */
static int walk(int top, const char *path, const char **last)
{
	int at = top;
	for (size_t n; path[n = strcspn(path, "/")] == '/'; path += n + 1) {
		char name[NAME_MAX + 1];
		if (n >= sizeof(name)) {
			errno = ENAMETOOLONG;
			n = 0;
		}
		memcpy(name, path, n);
		name[n] = '\0';
		int next = n == 0 ? -1
				  : openat(at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		int why = errno;
		if (at != top)
			(void)close(at);
		errno = why;
		if (next < 0)
			return -1;
		at = next;
	}
	*last = path;
	return at;
}

static void leave(const struct beneath *b, int at)
{
	int why = errno;
	if (at != b->fd && at >= 0)
		(void)close(at);
	errno = why;
}

static int open_walked(const struct beneath *b, const char *path, int how, mode_t mode)
{
	const char *last;
	int at = walk(b->fd, path, &last);
	int fd = at < 0 ? -1 : openat(at, last, how | O_NOFOLLOW, mode);
	leave(b, at);
	return fd;
}

static int open_at(const struct beneath *b, const char *path, int how, mode_t mode)
{
	struct open_how h = {.flags = (uint64_t)how | O_NOFOLLOW,
		.mode = (how & O_CREAT) != 0 ? mode : 0,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
	if (b->is_walked)
		return open_walked(b, path, how, mode);
	long fd = syscall(SYS_openat2, b->fd, path, &h, sizeof(h));
	/* EPERM: a filter that does not know the call; EAGAIN: something was renamed meanwhile */
	if (fd < 0 && (errno == ENOSYS || errno == EPERM || errno == EAGAIN || errno == E2BIG))
		return open_walked(b, path, how, mode);
	return (int)fd;
}

/* ---- files ------------------------------------------------------------------------------------
 */

err_t beneath_file(struct beneath *b, const char *path, unsigned flags, uint32_t mode, int *fd)
{
	unsigned both = BENEATH_READ | BENEATH_WRITE;
	int how = (flags & both) == both         ? O_RDWR
		  : (flags & BENEATH_WRITE) != 0 ? O_WRONLY
						 : O_RDONLY;
	how |= (flags & BENEATH_CREATE) != 0 ? O_CREAT : 0;
	how |= (flags & BENEATH_NEW) != 0 ? O_EXCL : 0;
	if (!is_inner(path))
		return failed(&b->why, EXDEV);
	int got = open_at(b, path, how | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, (mode_t)mode & 07777);
	if (got < 0)
		return failed(&b->why, errno);
	*fd = got;
	return OK;
}

err_t beneath_dir(struct beneath *b, const char *path, struct beneath *out)
{
	if (!is_inner(path))
		return failed(&b->why, EXDEV);
	int got = open_at(b, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	if (got < 0)
		return failed(&b->why, errno);
	*out = (struct beneath){.fd = got, .is_walked = b->is_walked};
	return OK;
}

/* The directory of the last part, opened beneath b; *last: that part. */
static err_t parent(struct beneath *b, const char *path, int *at, const char **last)
{
	if (!is_inner(path))
		return failed(&b->why, EXDEV);
	const char *slash = strrchr(path, '/');
	int got = b->fd;
	if (slash != NULL)
		got = walk(b->fd, path, last);
	else
		*last = path;
	if (got < 0)
		return failed(&b->why, errno);
	*at = got;
	return OK;
}

err_t beneath_mkdir(struct beneath *b, const char *path, uint32_t mode)
{
	int at;
	const char *last;
	TRY(parent(b, path, &at, &last));
	bool is_made = mkdirat(at, last, (mode_t)mode & 07777) == 0;
	leave(b, at);
	return is_made ? OK : failed(&b->why, errno);
}

/* ---- what is there ----------------------------------------------------------------------------
 */

static uint64_t since_1970(time_t t)
{
	return t < 0 ? 0 : (uint64_t)t;
}

static struct beneath_info info_of(const struct stat *st)
{
	enum beneath_kind kind = S_ISREG(st->st_mode)   ? BENEATH_FILE
				 : S_ISDIR(st->st_mode) ? BENEATH_DIR
				 : S_ISLNK(st->st_mode) ? BENEATH_LINK
							: BENEATH_OTHER;
	return (struct beneath_info){.kind = kind,
		.mode = st->st_mode & 07777,
		.size = st->st_size < 0 ? 0 : (uint64_t)st->st_size,
		.dev = st->st_dev,
		.ino = st->st_ino,
		.atime = since_1970(st->st_atim.tv_sec),
		.mtime = since_1970(st->st_mtim.tv_sec),
		.atime_ns = (uint32_t)st->st_atim.tv_nsec,
		.mtime_ns = (uint32_t)st->st_mtim.tv_nsec};
}

err_t beneath_stat(struct beneath *b, const char *path, struct beneath_info *out)
{
	struct stat st;
	int at;
	const char *last;
	TRY(parent(b, path, &at, &last));
	bool is_there = fstatat(at, last, &st, AT_SYMLINK_NOFOLLOW) == 0;
	leave(b, at);
	if (!is_there)
		return failed(&b->why, errno);
	*out = info_of(&st);
	return OK;
}

err_t beneath_stat_fd(int fd, struct beneath_info *out, int *why)
{
	struct stat st;
	if (fstat(fd, &st) != 0)
		return failed(why, errno);
	*out = info_of(&st);
	return OK;
}
