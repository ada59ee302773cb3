/* SPDX-License-Identifier: ISC */
/*
 * serve - the monitor's side: reads requests, checks the rules, calls one handler a row, sends the
 * reply
 *
 * Nothing waits: what the asker does not read is its own fault and ends the connection.  Any error
 * but E_AGAIN from ps_server_read means: end this connection.
 */
#ifndef PRIVSEP_SERVE_H
#define PRIVSEP_SERVE_H

#include "base/buf.h"
#include "privsep/rules.h"

/*
 * One function a row.  The request borrows from the frame; what the reply points at must live until
 * the handler is called again.  Verdict of a row with MF_AUTH: OK = logged in, E_DENIED = no,
 * E_PARTIAL = good, and more is needed, E_AGAIN = a question back (kbdint): its field `ok` is
 * written by the server from this alone.  Any other error, and any error of another row, ends the
 * connection.
 */
#define M(name, no, by, phase, flags)                                                              \
	err_t (*name)(void *arg, const struct ps_req_##name *req, struct ps_rep_##name *rep);
struct ps_handlers {
#include "privsep/monitor.def"
};
#undef M

struct ps_server {
	int fd; /* a unix stream socket; stays the caller's */
	struct ps_rules rules;
	const struct ps_handlers *on;
	void *arg;
	int fds[2]; /* set by a handler with MF_FDS: sent with the reply */
	size_t fds_n;
	bool fds_given; /* the server closes them after that; else they stay the handler's */
	struct buf in;  /* own */
	bool is_head_checked;
};

void ps_server_init(struct ps_server *s, int fd, const struct ps_handlers *on, void *arg);
void ps_server_done(struct ps_server *s); /* wipes */
/* One read, all whole requests in it.  E_AGAIN: nothing there.  E_CLOSED: the asker has gone. */
MUST err_t ps_server_read(struct ps_server *s);
/* The same for bytes that are at hand (tests, fuzzers). */
MUST err_t ps_server_fed(struct ps_server *s, struct cslice bytes);
/* Another asker (the session process) on another socket, with what the rules allow it. */
MUST err_t ps_server_session(struct ps_server *s, int fd);

#endif
