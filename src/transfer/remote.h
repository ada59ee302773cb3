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
	char why[256]; /* "No such file", or what the server said */
	err_t end;     /* not OK: the connection is over, and why */
	bool is_started, is_interrupted;
	/* the window: bytes under way that are of use, by measured rate x round trip
	 * (remote_rate.c) */
	uint64_t depth, delivered, rate_at_us, rate_bytes;
	uint32_t rtt_us;
	uint32_t read_max, write_max; /* data bytes of one request */
	uint32_t requests_max; /* -R, -X nrequests: never more than this at once; 0 = by depth */
};

/* The link must be able to take bytes.  Runs the loop until the server is ready (VERSION, LIMITS);
 * buffer: -B, data bytes of a request, 0 = by the server's limits. */
MUST err_t remote_start(struct remote *r, struct link *link, uint32_t buffer, uint32_t requests);
void remote_done(struct remote *r); /* does not free the link */
/* Sends what was asked, as far as there is room; the rest follows by itself. */
void remote_push(struct remote *r);
/* From a signal's event: the function under way ends soon. */
void remote_interrupt(struct remote *r);
/* Runs the loop until *done; E_INTERRUPTED, or the connection's end. */
MUST err_t remote_run_until(struct remote *r, const bool *done);
/* For messages: "No such file" for E_STATUS, the error's text for others. */
const char *remote_words(const struct remote *r, err_t e);

/* ---- one at a time ----------------------------------------------------------------------------
 */
MUST err_t remote_stat(struct remote *r, const char *path, bool is_link, struct sf_attr *out);
MUST err_t remote_setstat(
	struct remote *r, const char *path, bool is_link, const struct sf_attr *a);
/* Give copies that the caller frees. */
MUST err_t remote_realpath(struct remote *r, const char *path, char **out);
MUST err_t remote_expand(struct remote *r, const char *path, char **out); /* ~ and ~user */
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
 * remote_glob - the paths that a pattern means: * ? [ ] and \ in every part
 *
 * In order of bytes.  No match, or nothing to match: the pattern itself with its escapes taken off,
 * when there is such a file or when is_literal_ok.  Paths begin as the pattern does.
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
