/* SPDX-License-Identifier: ISC */
/*
 * ask - the side without privilege: one function a request, which waits for the reply
 *
 * After the first error every call returns it: without a monitor nothing can go on.
 */
#ifndef PRIVSEP_ASK_H
#define PRIVSEP_ASK_H

#include "base/buf.h"
#include "privsep/rules.h"

struct ps_client {
	int fd; /* a unix stream socket; stays the caller's */
	int fds[2];
	size_t fds_n;       /* came with the last reply: the caller's, close-on-exec */
	struct buf in, out; /* own; wiped */
	err_t err;
};

void ps_client_init(struct ps_client *c, int fd);
void ps_client_done(struct ps_client *c);

/* The reply borrows until the next call of a row without MF_QUIET.  Rows with MF_QUIET leave it
 * zero. */
#define M(name, no, by, phase, flags)                                                              \
	MUST err_t ps_ask_##name(                                                                  \
		struct ps_client *c, const struct ps_req_##name *req, struct ps_rep_##name *rep);
#include "privsep/monitor.def"
#undef M

#endif
