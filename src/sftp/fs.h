/* SPDX-License-Identifier: ISC */
/*
 * fs - the file system as the SFTP server's engine sees it
 *
 * The engine calls the kernel through this face only, so tests and fuzzers run it on files in
 * memory.  Paths are C strings shorter than SF_PATH_MAX, relative ones start at the server's start
 * directory.  Each function gives a status, SF_ok or why not; outputs are untouched on failure.
 */
#ifndef SFTP_FS_H
#define SFTP_FS_H

#include "base/vec.h"
#include "sftp/sftp.h"

#define SF_PATH_MAX ((size_t)4096) /* with the NUL */
#define SF_NAME_MAX ((size_t)1023) /* bytes of a directory entry's name */

/* A path (is_link: the link itself, not what it points to), or with path NULL an open file. */
struct sf_where {
	const char *path;
	bool is_link;
	uint64_t fh;
};

struct sf_part { /* the next n bytes of some that lie in pieces */
	const struct vec *at;
	size_t n;
};

struct sf_dirent {
	struct cslice name; /* at most SF_NAME_MAX bytes; borrowed until the next call */
	struct sf_attr a;   /* of a link itself */
	uint64_t links;
};

struct sf_civil { /* a local date; month 0 to 11 */
	uint32_t year, month, day, hour, minute, second;
};

struct sf_fs {
	/* flags: SF_OPEN_*; a file is closed with close, a directory with closedir */
	enum sf_code (*open)(
		void *fs, const char *path, uint32_t flags, uint32_t mode, uint64_t *fh);
	enum sf_code (*close)(void *fs, uint64_t fh);
	/* 1 to room.n bytes; SF_eof when there are none */
	enum sf_code (*read)(void *fs, uint64_t fh, uint64_t offset, struct slice room, size_t *n);
	/* all of it; where the file was opened to append, at its end */
	enum sf_code (*write)(void *fs, uint64_t fh, uint64_t offset, struct cslice data);
	/* The same for bytes in several pieces; NULL: read and write are called for each.  readv
	 * may give less than there is room for only at the end of the file. */
	enum sf_code (*readv)(
		void *fs, uint64_t fh, uint64_t offset, const struct sf_part *room, size_t *n);
	enum sf_code (*writev)(void *fs, uint64_t fh, uint64_t offset, const struct sf_part *data);
	enum sf_code (*sync)(void *fs, uint64_t fh);

	enum sf_code (*stat)(void *fs, const struct sf_where *at, struct sf_attr *out);
	enum sf_code (*set_size)(void *fs, const struct sf_where *at, uint64_t size);
	enum sf_code (*set_mode)(void *fs, const struct sf_where *at, uint32_t mode);
	enum sf_code (*set_times)(
		void *fs, const struct sf_where *at, uint32_t atime, uint32_t mtime);
	enum sf_code (*set_owner)(void *fs, const struct sf_where *at, uint32_t uid, uint32_t gid);
	enum sf_code (*statvfs)(void *fs, const struct sf_where *at, struct sf_vfs *out);

	enum sf_code (*opendir)(void *fs, const char *path, uint64_t *fh);
	/* the next entry, in no order; SF_eof after the last one */
	enum sf_code (*readdir)(void *fs, uint64_t fh, struct sf_dirent *out);
	enum sf_code (*closedir)(void *fs, uint64_t fh);

	enum sf_code (*remove)(void *fs, const char *path);
	enum sf_code (*mkdir)(void *fs, const char *path, uint32_t mode);
	enum sf_code (*rmdir)(void *fs, const char *path);
	/* !may_replace: SF_failure when `to` exists */
	enum sf_code (*rename)(void *fs, const char *from, const char *to, bool may_replace);
	enum sf_code (*link)(void *fs, const char *from, const char *to);
	enum sf_code (*symlink)(void *fs, const char *target, const char *path);
	/* at most room.n bytes, without a NUL */
	enum sf_code (*readlink)(void *fs, const char *path, struct slice room, size_t *n);
	/* the last part of path need not exist */
	enum sf_code (*realpath)(void *fs, const char *path, struct slice room, size_t *n);
	/* user "": whose files are served */
	enum sf_code (*home)(void *fs, const char *user, struct slice room, size_t *n);

	/* Are both open files the same one? */
	bool (*is_same)(void *fs, uint64_t a, uint64_t b);
	/* NULL: it has no name.  Borrowed until the next call. */
	const char *(*user_name)(void *fs, uint32_t uid);
	const char *(*group_name)(void *fs, uint32_t gid);
	uint64_t (*now)(void *fs); /* seconds since 1970 */
	void (*local_time)(void *fs, uint64_t t, struct sf_civil *out);
	/* What the system said about the last failure, for the log. */
	const char *(*why)(void *fs);
};

#endif
