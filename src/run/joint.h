/* SPDX-License-Identifier: ISC */
/*
 * joint - channels that are joined to one socket each: an agent's connections, forwarded ports
 *
 * The end of one direction passes to the other side as such.  A channel is closed, and its socket
 * with it, once both directions have ended, or the peer has closed it and what it sent is written.
 * One struct joints holds all of a connection; several kinds of forwarding share it.
 */
#ifndef RUN_JOINT_H
#define RUN_JOINT_H

#include "run/chanio.h"

struct joints {
	/* set by the caller before joints_init */
	struct ev *ev;
	struct pump *pump;
	struct cn *cn;
	/* own */
	struct list all;
	struct list busy; /* have bytes for their sockets */
};

void joints_init(struct joints *js);
/* The sockets are closed; the channels are left to the connection's end. */
void joints_done(struct joints *js);

/* Asks the peer for a channel.  fd: taken, also on failure, and read from once the peer has agreed.
 * E_LIMIT: too many channels. */
MUST err_t joints_open(struct joints *js, const char *type, struct cslice extra, int fd);
/* The peer asked for the channel: accepts it.  fd: taken, also on failure. */
MUST err_t joints_accept(struct joints *js, uint32_t chan, int fd);
/* Every event of a channel; *is_ours: it was for one of these. */
MUST err_t joints_event(struct joints *js, struct cn_event *e, bool *is_ours);
/* From the pump's before_send. */
MUST err_t joints_flush(struct joints *js);
bool joints_is_empty(const struct joints *js);

#endif
