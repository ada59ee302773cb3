/* SPDX-License-Identifier: ISC */
/*
 * link - the bytes to and from the program at the other end: a channel of our own connection, or
 * the descriptors of a child
 *
 * Both ways nothing is copied in user space where it is a channel: what goes out is written inside
 * the next packets, what comes in is lent as opened packets.
 */
#ifndef TRANSFER_LINK_H
#define TRANSFER_LINK_H

#include <sys/uio.h>

#include "connection/cn.h"
#include "os/ev.h"

struct link;

struct link_ops {
	/*
	 * Room for at most want bytes, as cn_reserve: E_AGAIN (on_room follows), E_CLOSED.  One
	 * reservation at a time; commit(0) gives it back.
	 */
	err_t (*reserve)(struct link *l, size_t want, struct iovec iov[TP_BULK_MAX], size_t *niov);
	err_t (*commit)(struct link *l, size_t used);
	void (*kick)(struct link *l); /* what was committed goes out this turn */
	void (*finish)(
		struct link *l); /* no more from us; on_end follows once the other end is through */
	uint32_t (*rtt_us)(struct link *l); /* smallest round trip seen; 0 = not known */
};

struct link {
	const struct link_ops *ops;
	struct ev *ev;
	/* Set by the user, before it starts. */
	void (*on_bytes)(
		void *arg, struct span in);   /* may be kept; else it is done with on return */
	void (*on_room)(void *arg);           /* and once a turn when something was fed */
	void (*on_end)(void *arg, err_t why); /* once: OK = the other end finished by itself */
	void *arg;
};

/* Copies all of data in, or nothing (E_AGAIN). */
MUST err_t link_put(struct link *l, struct cslice data);

/* A child's descriptors (non-blocking from then on; closed by link_fds_done).  `in` is what it
 * prints. */
struct link_fds;
MUST err_t link_fds_new(struct link_fds **out, struct ev *ev, int in, int out_fd);
struct link *link_fds_face(struct link_fds *l);
bool link_fds_has_unsent(const struct link_fds *l); /* kick writes on */
void link_fds_free(struct link_fds *l);

/* A channel that is open already; its events are given by link_channel_event (DATA, ROOM, EOF,
 * CLOSED), link_channel_flush is called before sending. */
struct link_channel;
struct link_channel_env {
	struct ev *ev;
	struct pump *pump;
	struct cn *cn;
	uint32_t chan;
	uint32_t rtt_us; /* 0 = not known */
};
MUST err_t link_channel_new(struct link_channel **out, const struct link_channel_env *env);
struct link *link_channel_face(struct link_channel *l);
MUST err_t link_channel_event(struct link_channel *l, struct cn_event *e);
MUST err_t link_channel_flush(struct link_channel *l);
void link_channel_lost(struct link_channel *l, err_t why); /* the connection is over */
void link_channel_free(struct link_channel *l);

#endif
