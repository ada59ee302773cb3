/* SPDX-License-Identifier: ISC */
/*
 * server - the SFTP server: bytes in, calls of a file system, bytes out
 *
 *     loop:   read(2) into sf_server_space, sf_server_fed;
 *             sf_server_run; write(2) sf_server_ready, sf_server_sent
 *
 * Requests are done one after another in their order, each has one reply.  Memory is fixed: what
 * comes in is looked at where it was read, data of WRITE goes to the file from there, data of READ
 * comes from the file into its place in the reply.  While SF_FRAME_MAX bytes of replies wait to be
 * sent no request is done, and soon there is no space to read into: so the client's speed is ours.
 */
#ifndef SFTP_SERVER_H
#define SFTP_SERVER_H

#include "base/log.h"
#include "base/vec.h"
#include "sftp/fs.h"
#include "sftp/policy.h"

struct sf_server;

struct sf_server_env {
	const struct sf_fs *fs; /* borrowed, with fs_arg, until sf_server_free */
	void *fs_arg;
	struct sf_policy policy;
	size_t handles_max;  /* files and directories open at once; what LIMITS says */
	bool has_link_first; /* the client's SYMLINK names the new link first, as the draft does */

	/* The lines of the log, in OpenSSH's words; NULL: none are made.  text is as the client
	 * sent it: not safe to print. */
	void (*say)(void *arg, enum log_level level, const char *text);
	void *say_arg;
	enum log_level level; /* the last one that is wanted */
};

MUST err_t sf_server_new(struct sf_server **out, const struct sf_server_env *env);
void sf_server_free(struct sf_server *s); /* closes what is open; NULL is fine */

/* Where the next bytes of the client go; n 0: not now.  Holds until the next call. */
struct slice sf_server_space(struct sf_server *s);
void sf_server_fed(struct sf_server *s, size_t n);

/*
 * sf_server_run - does what was asked, as far as replies have room
 *
 * E_LENGTH (a frame that is empty or too long), E_FORMAT (a request without its number),
 * E_UNEXPECTED (a request before INIT).  Errors are sticky; replies made before are still ready.
 */
MUST err_t sf_server_run(struct sf_server *s);
/* A long request is not done yet: run again, even if nothing comes. */
bool sf_server_is_busy(const struct sf_server *s);

struct cslice sf_server_ready(const struct sf_server *s);
void sf_server_sent(struct sf_server *s, size_t n);

/*
 * sf_server_serve - the same between packets, in place of space, fed, run and sent
 *
 * Does the whole requests that are in `in`, as far as replies have room in `out`.  Data of WRITE
 * goes to the file from where it lies, data of READ comes from the file into its place.  A reply
 * that did not fit is kept (sf_server_ready) and goes out first the next time.  `in` must have room
 * for a whole request: SF_FRAME_MAX bytes and 4, or what there is.
 */
struct sf_work {
	const struct iovec *in; /* what has come and is not used yet */
	size_t in_n;
	const struct iovec *out; /* room for replies */
	size_t out_n;
	size_t used, made; /* bytes of the two; set also on failure */
	size_t room;       /* own */
};
MUST err_t sf_server_serve(struct sf_server *s, struct sf_work *w);

#endif
