/* SPDX-License-Identifier: ISC */
/*
 * transfer - files and trees from one end to another, many at once
 *
 * One window counts bytes and files under way.  OPEN, READ, WRITE, CLOSE of many files are asked
 * without waiting for one another.  Ends: the local disk, an SFTP server (struct remote), memory
 * (tests).  The first error of a file ends that file, is told once and counted; the others go on.
 *
 * What a peer names never leaves the directory that was asked for: local destinations are opened
 * beneath a directory handle, and no link that was made meanwhile is followed (beneath.h).
 */
#ifndef TRANSFER_TRANSFER_H
#define TRANSFER_TRANSFER_H

#include "base/log.h"
#include "transfer/remote.h"

/* NULL = the local disk. */
struct xfer_ends {
	struct remote *from, *to;
};

struct xfer_opts {
	bool is_recursive; /* else a directory is refused: "NAME: not a regular file" */
	bool keep;         /* -p: times and modes, as far as allowed (setuid only for the owner) */
	bool follow; /* links in the tree: what they point to; else they are told and left out */
	bool resume; /* append from where the destination ends */
	bool resume_checked; /* compare what is there first; where it differs, all of it again */
	bool fsync;
	bool atomic;            /* beside it, then renamed over it; an error keeps the old file */
	bool sparse;            /* holes stay holes */
	bool checksum;          /* the destination is read back and compared */
	uint64_t limit_bytes_s; /* -l; 0 = none */
};

/* A thing to copy: `to` is the name that it gets, in full. */
struct xfer_item {
	const char *from, *to;
	/* The last part of `to` was not said by the person but is a name that the server gave (a
	 * pattern's match): a link of that name is not followed. */
	bool is_peer_name;
};

struct xfer_progress { /* of the file that is shown, and of all */
	const char *name;
	uint64_t file_done, file_size;
	uint64_t done, size, files_done, files, failed; /* size and files: as far as known */
	bool is_file_end, is_end;
};

struct xfer_env {
	struct ev *ev; /* with two local ends; else that of the remotes */
	struct xfer_ends ends;
	struct xfer_opts opts;
	/* One line for the person, without its end: "scp: /x/y: Permission denied" without the
	 * "scp: ".  Names in it are safe to print. */
	void (*say)(void *arg, enum log_level level, const char *text);
	void (*progress)(void *arg, const struct xfer_progress *p); /* often; NULL = none */
	void *arg;
	uint32_t umask; /* for new local files */
};

struct xfer;
MUST err_t xfer_new(struct xfer **out, const struct xfer_env *env);
/* Copies strings.  Items are done in their order, though many at once. */
MUST err_t xfer_add(struct xfer *x, const struct xfer_item *item);
/* Runs the loop until all is done.  OK also when files failed: xfer_failed.  E_INTERRUPTED, or the
 * error that ended a connection; what was left half-done has been told. */
MUST err_t xfer_run(struct xfer *x);
void xfer_interrupt(struct xfer *x);
uint64_t xfer_failed(const struct xfer *x); /* files and directories */
/* Of the i-th item added: did it fail, or something in it? */
bool xfer_item_failed(const struct xfer *x, size_t i);
void xfer_free(struct xfer *x);

#endif
