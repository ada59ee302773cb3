/* SPDX-License-Identifier: ISC */
/*
 * remote - the file system of an SFTP server, over a link
 *
 * One struct joins link and SFTP client.  There are two ways to use it: requests under way by
 * r->sf (sf_ask_...) and remote_push after them, or the functions below, which run the loop until
 * the answer has come.  Paths are the server's; relative ones start where it started.
 *
 * A function gives OK, or E_STATUS with the code in r->code and the server's words in r->why
 * (made safe to print), or the error that ended the connection, or E_INTERRUPTED when
 * remote_interrupt was called meanwhile.
 */
#ifndef TRANSFER_REMOTE_H
#define TRANSFER_REMOTE_H

#include "sftp/client.h"
#include "sftp/fs.h"
#include "transfer/link.h"

struct remote {
	struct ev *ev;
	struct link *link;
	struct sf_client *sf;
	/* Called in every turn after bytes came or room did: whoever pushes bulk data.  May be
	 * NULL. */
	void (*on_turn)(void *arg);
	void *arg;
	uint32_t code; /* of the last status */
	char why[256]; /* for messages: of the last status, or of the end */
	err_t end;     /* not OK: the connection is over, and why */
	bool is_started, is_interrupted;
	/* Set by whoever sends the data of a WRITE itself, while its frame is not complete:
	 * requests that were asked meanwhile wait. */
	bool is_held;
	/* the window: bytes under way that are of use, by measured rate x round trip
	 * (remote_rate.c) */
	uint64_t depth, delivered, rate_at_us, rate_bytes;
	uint32_t rtt_us;
	uint32_t read_max, write_max; /* data bytes of one request */
	uint32_t requests_max; /* -R, -X nrequests: never more than this at once; 0 = by depth */
	/* own */
	const bool *waits_for; /* of remote_run_until: the loop is stopped once it is true */
	uint64_t asked_us;     /* when LIMITS were asked for; 0 = they were not */
};

/* The link must be able to take bytes.  Runs the loop until the server is ready (VERSION, LIMITS);
 * buffer: -B, data bytes of a request, 0 = by the server's limits. */
MUST err_t remote_start(struct remote *r, struct link *link, uint32_t buffer, uint32_t requests);
/* Also after a remote_start that failed.  Says finish to the link, does not free it. */
void remote_done(struct remote *r);
/* Sends what was asked, as far as there is room; the rest follows by itself. */
void remote_push(struct remote *r);
/* From a signal's event: the function under way (or else the next one) ends soon. */
void remote_interrupt(struct remote *r);
/* Once a turn, by itself: follows what is delivered (bytes in all), and sets depth. */
void remote_rate_turn(struct remote *r, uint64_t now_us, uint64_t moved);
/* A round trip was measured: the smallest one counts. */
void remote_rate_sample(struct remote *r, uint64_t us);
/* Runs the loop until *done; E_INTERRUPTED, or the connection's end. */
MUST err_t remote_run_until(struct remote *r, const bool *done);
/* For messages: "No such file or directory" for E_STATUS, the error's text for others. */
const char *remote_words(const struct remote *r, err_t e);

/* ---- one at a time ----------------------------------------------------------------------------
 */
MUST err_t remote_stat(struct remote *r, const char *path, bool is_link, struct sf_attr *out);
MUST err_t remote_setstat(
	struct remote *r, const char *path, bool is_link, const struct sf_attr *a);
/* Give copies that the caller frees. */
MUST err_t remote_realpath(struct remote *r, const char *path, char **out);
/* ~ and ~user; "~/x" is "x".  E_UNSUPPORTED: the server knows no ~user. */
MUST err_t remote_expand(struct remote *r, const char *path, char **out);
MUST err_t remote_readlink(struct remote *r, const char *path, char **out);
MUST err_t remote_mkdir(struct remote *r, const char *path, uint32_t mode);
MUST err_t remote_rmdir(struct remote *r, const char *path);
MUST err_t remote_remove(struct remote *r, const char *path);
/* is_plain: RENAME of the draft also where posix-rename is there */
MUST err_t remote_rename(struct remote *r, const char *from, const char *to, bool is_plain);
MUST err_t remote_symlink(struct remote *r, const char *target, const char *path);
MUST err_t remote_hardlink(struct remote *r, const char *from, const char *to);
MUST err_t remote_copy(struct remote *r, const char *from, const char *to); /* copy-data */
MUST err_t remote_statvfs(struct remote *r, const char *path, struct sf_vfs *out);
/* users-groups-by-id: names, "" for those without one; owned by the caller.  E_UNSUPPORTED. */
MUST err_t remote_names(struct remote *r, const uint32_t *ids, size_t n, bool is_group, char **out);

/* A small file whole, appended to out, whose limit holds (E_LIMIT). */
MUST err_t remote_read_file(struct remote *r, const char *path, struct buf *out);
/*
 * remote_write_file - opens, writes and closes; each step's answer is waited for
 *
 * is_open (may be NULL) tells after a failure whether there was a file to be written to.
 */
struct remote_put {
	const char *path;
	uint32_t flags;  /* SF_OPEN_* */
	uint32_t mode;   /* of a new file */
	uint64_t offset; /* where bytes go to */
	struct cslice bytes;
};
MUST err_t remote_write_file(struct remote *r, const struct remote_put *p, bool *is_open);

/* A directory whole, in the server's order, "." and ".." too.  Names hold no '/' and no NUL and are
 * not empty: entries that break this are left out and told (a warning each). */
struct remote_entry {
	char *name, *longname; /* longname: as the server prints it, unsafe to print */
	struct sf_attr a;
};
struct remote_dir {
	struct remote_entry *v;
	size_t n, cap;
};
MUST err_t remote_list(struct remote *r, const char *path, struct remote_dir *out);
void remote_dir_free(struct remote_dir *d);

/*
 * A directory that is read while other things go on; any number at once.  on_done comes once, from
 * within the loop: OK, E_STATUS (code and why as they were for it), or the connection's end.  The
 * struct lives in its owner, unmoved, until then.
 */
#define REMOTE_AHEAD_MAX 32
struct remote_listing {
	void (*on_done)(struct remote_listing *l, err_t e);
	void *arg;
	struct remote_dir dir; /* the owner's, also after an error */
	uint32_t code;
	/* own */
	struct remote *r;
	const char *path; /* borrowed until on_done */
	struct sf_ask open, ahead[REMOTE_AHEAD_MAX];
	uint8_t handle[256];
	size_t handle_n, ahead_n, under_way, bytes;
	err_t e;
	bool is_at_end;
	unsigned told;
};
MUST err_t remote_list_start(struct remote_listing *l, struct remote *r, const char *path);
/* A handle is closed, and nobody waits for it. */
void remote_close(struct remote *r, struct cslice handle);

/*
 * remote_glob - the paths that a pattern means: * ? [ ] and \ in every part
 *
 * In order of bytes.  No match, or nothing to match: the pattern itself with its escapes taken off,
 * when there is such a file or when is_literal_ok; else none, which is OK too.  Paths begin as the
 * pattern does.  A directory that cannot be read has no match.
 */
struct remote_paths {
	char **v; /* owned */
	size_t n;
	bool has_matched; /* by pattern, not literally */
};
MUST err_t remote_glob(
	struct remote *r, const char *pattern, bool is_literal_ok, struct remote_paths *out);
void remote_paths_free(struct remote_paths *p);

#endif
