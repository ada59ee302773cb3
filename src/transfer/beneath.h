/* SPDX-License-Identifier: ISC */
/*
 * beneath - files and directories beneath an open directory, whatever others do to the tree
 *
 * What a peer names is opened from a handle of the directory that the person named.  No link in the
 * path is followed, no ".." is walked, so nothing outside is reached, not even when a directory is
 * swapped for a link meanwhile (openat2; where the kernel has none, step by step).
 */
#ifndef TRANSFER_BENEATH_H
#define TRANSFER_BENEATH_H

#include "base/err.h"

struct beneath {
	int fd;         /* of the directory; -1 = none */
	int why;        /* errno of the last failure, for the message */
	bool is_walked; /* never by openat2 */
};

#define BENEATH_NONE ((struct beneath){.fd = -1})

/* The person's own path: links in it are followed.  On failure out->why is set, nothing else. */
MUST err_t beneath_open(struct beneath *out, const char *path);
void beneath_close(struct beneath *b); /* fine when there is none */

/*
 * Below, path is relative: names joined by one '/' each, none of them "." or "..".
 *
 * E_NOT_FOUND  a part of it is not there, or not a directory
 * E_PERMISSION
 * E_DENIED     a part of it is a link, or the path is not of that form
 * E_IO         any other failure
 *
 * after each of which b->why says why.
 */
enum {
	BENEATH_READ = 1,
	BENEATH_WRITE = 2,
	BENEATH_CREATE = 4,
	BENEATH_NEW = 8 /* with CREATE: there must be none yet */
};
/* Never truncates, never waits for a FIFO's other end, never becomes a terminal's owner. */
MUST err_t beneath_file(
	struct beneath *b, const char *path, unsigned flags, uint32_t mode, int *fd);
MUST err_t beneath_dir(struct beneath *b, const char *path, struct beneath *out);
/* What is at the end may exist: E_IO, why EEXIST. */
MUST err_t beneath_mkdir(struct beneath *b, const char *path, uint32_t mode);

enum beneath_kind { BENEATH_FILE = 1, BENEATH_DIR, BENEATH_LINK, BENEATH_OTHER };
struct beneath_info {
	enum beneath_kind kind; /* of a link itself */
	uint32_t mode;          /* at most 07777 */
	uint64_t size, dev, ino;
	uint64_t atime, mtime; /* seconds, 0 when before 1970 */
	uint32_t atime_ns, mtime_ns;
};
MUST err_t beneath_stat(struct beneath *b, const char *path, struct beneath_info *out);
MUST err_t beneath_stat_fd(int fd, struct beneath_info *out, int *why);

#endif
