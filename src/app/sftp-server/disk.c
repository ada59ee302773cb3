/* SPDX-License-Identifier: ISC */
/* disk - the file system of this machine as the SFTP server's engine sees it */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "app/sftp-server/disk.h"

#define APPENDS ((uint64_t)1 << 32) /* in a file's number */

enum sf_code disk_code(struct disk *d, int why)
{
	d->why = why;
	switch (why) {
	case 0:
		return SF_ok;
	case ENOENT:
	case ENOTDIR:
	case EBADF:
	case ELOOP:
		return SF_no_such_file;
	case EPERM:
	case EACCES:
	case EFAULT:
		return SF_permission_denied;
	case ENAMETOOLONG:
	case EINVAL:
		return SF_bad_message;
	case ENOSYS:
		return SF_op_unsupported;
	default:
		return SF_failure;
	}
}

static enum sf_code done(void *fs, int result)
{
	return disk_code(fs, result == 0 ? 0 : errno);
}

static int fd_of(uint64_t fh)
{
	return (int)(fh & INT32_MAX);
}

/* ---- open files -------------------------------------------------------------------------------
 */

static enum sf_code disk_open(
	void *fs, const char *path, uint32_t flags, uint32_t mode, uint64_t *fh)
{
	static const struct {
		uint32_t flag;
		int how;
	} words[] = {
		{SF_OPEN_APPEND, O_APPEND},
		{SF_OPEN_CREATE, O_CREAT},
		{SF_OPEN_TRUNC, O_TRUNC},
		{SF_OPEN_EXCL, O_EXCL},
	};
	int how = O_RDONLY;
	if ((flags & SF_OPEN_WRITE) != 0)
		how = (flags & SF_OPEN_READ) != 0 ? O_RDWR : O_WRONLY;
	for (size_t i = 0; i < ARRAY_N(words); i++)
		how |= (flags & words[i].flag) != 0 ? words[i].how : 0;
	const struct disk *d = fs;
	how |= d->may_not_wait ? O_NONBLOCK : 0;
	int fd = open(path, how | O_NOCTTY | O_CLOEXEC, (mode_t)mode);
	if (fd < 0)
		return done(fs, -1);
	*fh = (uint64_t)fd | ((how & O_APPEND) != 0 ? APPENDS : 0);
	return SF_ok;
}

static enum sf_code disk_close(void *fs, uint64_t fh)
{
	return done(fs, close(fd_of(fh)));
}

/* An offset that the kernel has no number for is as wrong as a negative one. */
static bool is_offset(uint64_t offset, size_t n)
{
	return offset <= INT64_MAX && n <= (uint64_t)INT64_MAX - offset;
}

static enum sf_code disk_read(void *fs, uint64_t fh, uint64_t offset, struct slice room, size_t *n)
{
	ssize_t got;
	if (!is_offset(offset, 0))
		return disk_code(fs, EINVAL);
	do
		got = pread(fd_of(fh), room.p, room.n, (off_t)offset);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return done(fs, -1);
	if (got == 0)
		return SF_eof;
	*n = (size_t)got;
	return SF_ok;
}

static enum sf_code disk_write(void *fs, uint64_t fh, uint64_t offset, struct cslice data)
{
	bool appends = (fh & APPENDS) != 0;
	if (!appends && !is_offset(offset, data.n))
		return disk_code(fs, EINVAL);
	while (data.n > 0) {
		ssize_t put = appends ? write(fd_of(fh), data.p, data.n)
				      : pwrite(fd_of(fh), data.p, data.n, (off_t)offset);
		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return disk_code(fs, put < 0 ? errno : EIO);
		data = cslice_of(data.p + put, data.n - (size_t)put);
		offset += (uint64_t)put;
	}
	return SF_ok;
}

/* More pieces at once bring nothing. */
#define PIECES 64

static enum sf_code disk_readv(
	void *fs, uint64_t fh, uint64_t offset, const struct sf_part *room, size_t *n)
{
	struct vec at = *room->at;
	size_t got = 0;
	if (!is_offset(offset, 0))
		return disk_code(fs, EINVAL);
	while (got < room->n) {
		struct iovec v[PIECES];
		size_t v_n = vec_cut(&at, room->n - got, v, PIECES);
		ssize_t part = preadv(fd_of(fh), v, (int)v_n, (off_t)(offset + got));
		if (part < 0 && errno == EINTR)
			continue;
		if (part < 0 && got == 0)
			return done(fs, -1);
		if (part <= 0)
			break; /* what fails behind good bytes is met by the next READ */
		got += (size_t)part;
		if (vec_of(v, v_n).left > (size_t)part)
			break;
		vec_skip(&at, (size_t)part);
	}
	if (got == 0)
		return SF_eof;
	*n = got;
	return SF_ok;
}

static enum sf_code disk_writev(void *fs, uint64_t fh, uint64_t offset, const struct sf_part *data)
{
	bool appends = (fh & APPENDS) != 0;
	struct vec at = *data->at;
	size_t left = data->n;
	if (!appends && !is_offset(offset, left))
		return disk_code(fs, EINVAL);
	while (left > 0) {
		struct iovec v[PIECES];
		int v_n = (int)vec_cut(&at, left, v, PIECES);
		ssize_t put = appends ? writev(fd_of(fh), v, v_n)
				      : pwritev(fd_of(fh), v, v_n, (off_t)offset);
		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return disk_code(fs, put < 0 ? errno : EIO);
		vec_skip(&at, (size_t)put);
		left -= (size_t)put;
		offset += (uint64_t)put;
	}
	return SF_ok;
}

static enum sf_code disk_sync(void *fs, uint64_t fh)
{
	return done(fs, fsync(fd_of(fh)));
}

static bool disk_is_same(void *fs, uint64_t a, uint64_t b)
{
	struct stat x, y;
	(void)fs;
	if (fstat(fd_of(a), &x) != 0 || fstat(fd_of(b), &y) != 0)
		return true; /* not known to differ */
	return x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* ---- attributes -------------------------------------------------------------------------------
 */

static uint32_t time_of(time_t t)
{
	if (t < 0)
		return 0;
	return (uint64_t)t > UINT32_MAX ? UINT32_MAX : (uint32_t)t;
}

static struct sf_attr attr_of(const struct stat *st)
{
	return (struct sf_attr){.flags = SF_A_SIZE | SF_A_OWNER | SF_A_MODE | SF_A_TIMES,
		.size = st->st_size < 0 ? 0 : (uint64_t)st->st_size,
		.uid = st->st_uid,
		.gid = st->st_gid,
		.mode = st->st_mode,
		.atime = time_of(st->st_atime),
		.mtime = time_of(st->st_mtime)};
}

static int link_flag(const struct sf_where *at)
{
	return at->is_link ? AT_SYMLINK_NOFOLLOW : 0;
}

static enum sf_code disk_stat(void *fs, const struct sf_where *at, struct sf_attr *out)
{
	struct stat st;
	int bad = at->path != NULL ? fstatat(AT_FDCWD, at->path, &st, link_flag(at))
				   : fstat(fd_of(at->fh), &st);
	if (bad == 0)
		*out = attr_of(&st);
	return done(fs, bad);
}

static enum sf_code disk_set_size(void *fs, const struct sf_where *at, uint64_t size)
{
	if (!is_offset(size, 0))
		return disk_code(fs, EINVAL);
	return done(fs, at->path != NULL ? truncate(at->path, (off_t)size)
					 : ftruncate(fd_of(at->fh), (off_t)size));
}

static enum sf_code disk_set_mode(void *fs, const struct sf_where *at, uint32_t mode)
{
	return done(fs, at->path != NULL ? fchmodat(AT_FDCWD, at->path, (mode_t)mode, link_flag(at))
					 : fchmod(fd_of(at->fh), (mode_t)mode));
}

static enum sf_code disk_set_times(
	void *fs, const struct sf_where *at, uint32_t atime, uint32_t mtime)
{
	const struct timespec t[2] = {{.tv_sec = atime}, {.tv_sec = mtime}};
	return done(fs, at->path != NULL ? utimensat(AT_FDCWD, at->path, t, link_flag(at))
					 : futimens(fd_of(at->fh), t));
}

static enum sf_code disk_set_owner(void *fs, const struct sf_where *at, uint32_t uid, uint32_t gid)
{
	return done(fs, at->path != NULL ? fchownat(AT_FDCWD, at->path, uid, gid, link_flag(at))
					 : fchown(fd_of(at->fh), uid, gid));
}

static enum sf_code disk_statvfs(void *fs, const struct sf_where *at, struct sf_vfs *out)
{
	struct statvfs v;
	int bad = at->path != NULL ? statvfs(at->path, &v) : fstatvfs(fd_of(at->fh), &v);
	if (bad == 0)
		*out = (struct sf_vfs){.bsize = v.f_bsize,
			.frsize = v.f_frsize,
			.blocks = v.f_blocks,
			.bfree = v.f_bfree,
			.bavail = v.f_bavail,
			.files = v.f_files,
			.ffree = v.f_ffree,
			.favail = v.f_favail,
			.fsid = v.f_fsid,
			.flag = ((v.f_flag & ST_RDONLY) != 0 ? 1u : 0u) |
				((v.f_flag & ST_NOSUID) != 0 ? 2u : 0u),
			.namemax = v.f_namemax};
	return done(fs, bad);
}

/* ---- directories ------------------------------------------------------------------------------
 */

static DIR *dir_of(uint64_t fh)
{
	return (DIR *)(uintptr_t)fh;
}

static enum sf_code disk_opendir(void *fs, const char *path, uint64_t *fh)
{
	DIR *dir = opendir(path);
	if (dir == NULL)
		return done(fs, -1);
	*fh = (uintptr_t)dir;
	return SF_ok;
}

static enum sf_code disk_readdir(void *fs, uint64_t fh, struct sf_dirent *out)
{
	struct dirent *e;
	struct stat st;
	errno = 0;
	while ((e = readdir(dir_of(fh))) != NULL) {
		/* what is gone meanwhile is not listed */
		if (fstatat(dirfd(dir_of(fh)), e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
			errno = 0;
			continue;
		}
		*out = (struct sf_dirent){
			.name = cslice_str(e->d_name), .a = attr_of(&st), .links = st.st_nlink};
		return SF_ok;
	}
	return errno == 0 ? SF_eof : done(fs, -1);
}

static enum sf_code disk_closedir(void *fs, uint64_t fh)
{
	return done(fs, closedir(dir_of(fh)));
}

/* ---- names ------------------------------------------------------------------------------------
 */

static enum sf_code disk_remove(void *fs, const char *path)
{
	return done(fs, unlink(path));
}

static enum sf_code disk_mkdir(void *fs, const char *path, uint32_t mode)
{
	return done(fs, mkdir(path, (mode_t)mode));
}

static enum sf_code disk_rmdir(void *fs, const char *path)
{
	return done(fs, rmdir(path));
}

static enum sf_code disk_link(void *fs, const char *from, const char *to)
{
	return done(fs, link(from, to));
}

static enum sf_code disk_symlink(void *fs, const char *target, const char *path)
{
	return done(fs, symlink(target, path));
}

static enum sf_code disk_readlink(void *fs, const char *path, struct slice room, size_t *n)
{
	ssize_t got = readlink(path, (char *)room.p, room.n);
	if (got < 0)
		return done(fs, -1);
	*n = (size_t)got;
	return SF_ok;
}

/* ---- the rest ---------------------------------------------------------------------------------
 */

static uint64_t disk_now(void *fs)
{
	(void)fs;
	time_t t = time(NULL);
	return t < 0 ? 0 : (uint64_t)t;
}

static void disk_local_time(void *fs, uint64_t t, struct sf_civil *out)
{
	struct tm tm;
	time_t when = (time_t)t;
	(void)fs;
	if (localtime_r(&when, &tm) == NULL)
		return;
	*out = (struct sf_civil){.year = (uint32_t)(tm.tm_year + 1900),
		.month = (uint32_t)tm.tm_mon,
		.day = (uint32_t)tm.tm_mday,
		.hour = (uint32_t)tm.tm_hour,
		.minute = (uint32_t)tm.tm_min,
		.second = (uint32_t)tm.tm_sec};
}

static const char *disk_why(void *fs)
{
	return strerror(((struct disk *)fs)->why);
}

void disk_init(struct disk *d, const char *home)
{
	*d = (struct disk){.home = home};
	tzset(); /* the zone is read once, and before any path of a client is */
}

/* clang-format off */
const struct sf_fs disk_face = {
	.open = disk_open, .close = disk_close, .read = disk_read, .write = disk_write,
	.readv = disk_readv, .writev = disk_writev, .sync = disk_sync,
	.stat = disk_stat, .set_size = disk_set_size, .set_mode = disk_set_mode,
	.set_times = disk_set_times, .set_owner = disk_set_owner, .statvfs = disk_statvfs,
	.opendir = disk_opendir, .readdir = disk_readdir, .closedir = disk_closedir,
	.remove = disk_remove, .mkdir = disk_mkdir, .rmdir = disk_rmdir, .rename = disk_rename,
	.link = disk_link, .symlink = disk_symlink, .readlink = disk_readlink,
	.realpath = disk_realpath, .home = disk_home, .is_same = disk_is_same,
	.user_name = disk_user_name, .group_name = disk_group_name, .now = disk_now,
	.local_time = disk_local_time, .why = disk_why,
};
/* clang-format on */
