/* SPDX-License-Identifier: ISC */
/*
 * cn_int - the inside of the connection engine
 *
 * cn.c (life, numbers, dispatch, events, flush), cn_open.c, cn_data.c (windows, data),
 * cn_request.c, cn_close.c.
 */
#ifndef CONNECTION_CN_INT_H
#define CONNECTION_CN_INT_H

#include "base/list.h"
#include "connection/cn.h"
#include "transport/tq.h"

#define CN_PACKET ((uint32_t)32 << 10) /* data bytes that every peer takes */
#define CN_PACKET_MAX                                                                              \
	(((uint32_t)256 << 10) - 4096) /* between Bowlines: what fits the largest packet */

enum cn_state {
	CN_ASKED,  /* the peer wants it, the application has not said yet: no message may name it */
	CN_ASKING, /* we want it, the peer has not said yet */
	CN_OPEN
};

struct cn_chan {
	struct list todo;    /* in cn.todo: cn_flush has something to derive; or in cn.dead */
	struct list waiting; /* in cn.waiting: gets CN_EV_ROOM */
	uint32_t id, slot, peer_id;
	enum cn_state state;
	bool is_session, close_held;
	/* outwards */
	uint32_t window_out, packet_out;
	bool wants_room; /* was told E_AGAIN */
	bool eof_wanted, eof_sent, close_wanted, close_sent;
	/* inwards: window_in + unconsumed + owed == window_size */
	uint32_t window_in;  /* what the peer may still send */
	uint32_t unconsumed; /* lent, and not yet taken by the sink */
	uint32_t owed;       /* taken, and not yet granted again */
	uint32_t window_size;
	uint64_t received; /* since window_size last changed */
	bool eof_seen, close_seen, is_discarding;
	/* requests */
	uint32_t replies_due;    /* by the application */
	uint32_t replies_wanted; /* from the peer */
};

#define CN_EVENTS 2

struct cn {
	struct tp *tp;
	struct cn_limits limits; /* every field set */
	struct tq out;
	err_t err; /* sticky */
	bool knows_eow, may_send_after_eof;
	uint32_t packet_out_max;
	struct cn_chan **chans; /* by slot */
	uint32_t chans_cap, chans_n, next_slot, round;
	uint64_t windows; /* sum of window_size */
	struct list todo, waiting, dead;
	struct cn_event events[CN_EVENTS];
	size_t events_n;
	uint64_t unanswered; /* opens and requests of the peer that wait for the application */
	uint32_t globals_due, globals_wanted;
	struct cn_chan *reserved; /* NULL = no reservation */
	uint32_t reserved_ext;
	struct tp_bulk bulk;
};

/* ---- cn.c ---- */
MUST err_t cn_chan_new(struct cn *cn, struct cn_chan **out); /* E_LIMIT: too many */
void cn_chan_free(struct cn *cn, struct cn_chan *c);
/* Ours by number, in any state; NULL = none. */
struct cn_chan *cn_chan_find(const struct cn *cn, uint32_t id);
/* The channel that a message of the peer names: open, and not closed by the peer.  E_CHANNEL. */
MUST err_t cn_chan_named(const struct cn *cn, uint32_t id, struct cn_chan **out);
MUST err_t cn_event_add(struct cn *cn, const struct cn_event *ev);
void cn_todo(struct cn *cn, struct cn_chan *c);
/* Counts one more answer that the peer makes us owe.  E_FLOOD. */
MUST err_t cn_owe(struct cn *cn);
/* May the application still send something on it? */
static inline bool cn_chan_is_usable(const struct cn_chan *c)
{
	return c != NULL && c->state == CN_OPEN && !c->close_wanted && !c->close_seen;
}

/* ---- cn_data.c ---- */
bool cn_grant_is_due(const struct cn_chan *c);
void cn_room_maybe(struct cn *cn, struct cn_chan *c);
/* The channel with room that was told E_AGAIN the longest ago; NULL = none now. */
MUST err_t cn_room_next(struct cn *cn, struct cn_chan **out);

/* ---- what a message does; body borrows ---- */
MUST err_t cn_take_open(struct cn *cn, struct span body);
MUST err_t cn_take_confirmation(struct cn *cn, struct span body);
MUST err_t cn_take_open_failure(struct cn *cn, struct span body);
MUST err_t cn_take_adjust(struct cn *cn, struct span body);
MUST err_t cn_take_data(struct cn *cn, struct span body);
MUST err_t cn_take_extended(struct cn *cn, struct span body);
MUST err_t cn_take_eof(struct cn *cn, struct span body);
MUST err_t cn_take_close(struct cn *cn, struct span body);
MUST err_t cn_take_request(struct cn *cn, struct span body);
MUST err_t cn_take_success(struct cn *cn, struct span body);
MUST err_t cn_take_failure(struct cn *cn, struct span body);
MUST err_t cn_take_global(struct cn *cn, struct span body);
MUST err_t cn_take_global_success(struct cn *cn, struct span body);
MUST err_t cn_take_global_failure(struct cn *cn, struct span body);

static inline struct cslice span_bytes(struct span s)
{
	return cslice_of(s.p, s.n);
}

#endif
