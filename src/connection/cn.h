/* SPDX-License-Identifier: ISC */
/*
 * cn - the connection engine (RFC 4254): channels, windows, requests
 *
 * It writes through a transport engine and is fed its messages 80..100.  Nothing is pushed, all is
 * pulled: data stays in file, pipe or socket until a packet has room (cn_reserve); replies, window
 * changes, EOF and CLOSE are derived from state bits by cn_flush, not queued, so memory is bounded.
 *
 * After every cn_msg, and whenever the transport has moved (bytes sent, a key exchange ended), poll
 * until CN_EV_NONE: room and the end of a channel are found out there.  Slices of an event live
 * until the next cn_msg or tp_poll.
 */
#ifndef CONNECTION_CN_H
#define CONNECTION_CN_H

#include "transport/tp.h"

struct cn;

#define CN_WINDOW_FIRST ((uint32_t)2 << 20)

struct cn_limits {
	uint32_t channels;     /* at most (default 1024) */
	uint32_t window_first; /* bytes offered at open, default CN_WINDOW_FIRST */
	uint32_t window_max;   /* grown by demand up to this: memory budget towards Bowline, 15 MiB
				  towards OpenSSH */
	uint32_t max_packet;   /* data bytes a packet taken from the peer: 32 KiB, more only between
				  Bowlines */
	uint32_t replies_pending; /* replies owed before the peer is a flooder (default 1024) */
	uint64_t window_total; /* the windows of all channels together grow up to this (default 64
				  MiB) */
};                             /* 0 = the default, everywhere */

struct cn_env {
	struct tp *tp; /* borrowed */
	struct cn_limits limits;
};

MUST err_t cn_new(struct cn **out, const struct cn_env *env);
void cn_free(struct cn *cn);

enum cn_ev_type {
	CN_EV_NONE,
	CN_EV_OPEN,   /* peer wants a channel: chan (ours), name = type, data = extra.  cn_accept or
			 cn_refuse */
	CN_EV_OPENED, /* our open was confirmed */
	CN_EV_OPEN_FAILED, /* reason, data = text; chan is gone */
	CN_EV_DATA, /* ext = 0 data, 1 stderr; span lends the opened packet.  cn_consumed when the
		       sink has it */
	CN_EV_ROOM, /* after E_AGAIN: cn_reserve may work now */
	CN_EV_EOF,  /* peer sends no more; also comes before CN_EV_CLOSED when the peer left EOF out
		     */
	CN_EV_CLOSED,  /* both CLOSEs are through: chan is gone after this event */
	CN_EV_REQUEST, /* channel request: name, data = body, want_reply -> cn_reply exactly once
			  when set */
	CN_EV_REPLY,   /* to our request with want_reply, in order: ok */
	CN_EV_GLOBAL,  /* global request: name, data, want_reply -> cn_global_reply in order */
	CN_EV_GLOBAL_REPLY, /* to ours, in order: ok, data */
	CN_EV_CLOSING /* after cn_hold_close: the peer has closed, our CLOSE waits for cn_close */
};

struct cn_event {
	enum cn_ev_type type;
	uint32_t chan;
	struct cslice name, data;
	struct span span;
	uint32_t ext, reason;
	bool want_reply, ok;
};

/* A message 80..100 from the transport; span is kept by the engine if it has to lend it. */
MUST err_t cn_msg(struct cn *cn, uint8_t msg, struct span body);
MUST err_t cn_poll(struct cn *cn, struct cn_event *ev);
/* Sends what state bits owe (window, EOF, CLOSE, replies) as far as the transport has room; call
 * before tp_ready. */
MUST err_t cn_flush(struct cn *cn);

/* ---- opening ---- */
MUST err_t cn_open(struct cn *cn, const char *type, struct cslice extra, uint32_t *chan);
MUST err_t cn_accept(struct cn *cn, uint32_t chan);
MUST err_t cn_refuse(
	struct cn *cn, uint32_t chan, uint32_t reason, const char *text); /* RFC 4254 5.1 reasons */

/* ---- data ---- */
/*
 * cn_reserve - room for channel data inside the next packets
 *
 * Points iov at free bytes in up to TP_BULK_MAX packets; fill them in order and call cn_commit with
 * the bytes used.  One reservation at a time; between the two calls tp may not be written to by
 * others.
 *
 *   ext    0 = data, 1 = stderr
 *   want   bytes wished, at least 1; fewer come when the window, the peer's packet limit or memory
 * is small iov    borrowed until cn_commit
 *
 * OK        at least 1 byte of room in iov[0..*niov)
 * E_AGAIN   no window, not confirmed yet, key exchange under way, or too much unsent; CN_EV_ROOM
 * follows E_PHASE   closed, or after cn_eof or cn_close
 *
 * Source: RFC 4254 5.2.   Cost: no allocation, no copy.
 */
struct cn_want {
	uint32_t chan, ext;
	size_t n;
};
MUST err_t cn_reserve_room(
	struct cn *cn, const struct cn_want *want, struct iovec iov[TP_BULK_MAX], size_t *niov);

static inline MUST err_t cn_reserve(struct cn *cn, uint32_t chan, uint32_t ext, size_t want,
	struct iovec iov[TP_BULK_MAX], size_t *niov)
{
	return cn_reserve_room(cn, &(struct cn_want){chan, ext, want}, iov, niov);
}

MUST err_t cn_commit(struct cn *cn, size_t used); /* used 0 = nothing was read */
/* The sink has n more bytes of what CN_EV_DATA gave: re-opens the window (never before). */
void cn_consumed(struct cn *cn, uint32_t chan, size_t n);
void cn_eof(struct cn *cn, uint32_t chan); /* no more data from us; sent after what is committed */
void cn_close(struct cn *cn,
	uint32_t chan); /* CLOSE is sent once the last request and EOF are out; no data after it */
/* The peer's CLOSE is answered by cn_close only, not at once: what is left to be told, as the
 * status of a program that still runs, can follow. */
void cn_hold_close(struct cn *cn, uint32_t chan);
/* The sink for incoming data is gone (EPIPE): what comes is dropped and acknowledged;
 * eow@openssh.com where the peer knows it. */
void cn_discard_input(struct cn *cn, uint32_t chan);

/* ---- requests ---- */
MUST err_t cn_request(
	struct cn *cn, uint32_t chan, const char *name, bool want_reply, struct cslice body);
MUST err_t cn_reply(struct cn *cn, uint32_t chan, bool ok);
MUST err_t cn_global(struct cn *cn, const char *name, bool want_reply, struct cslice body);
MUST err_t cn_global_reply(struct cn *cn, bool ok, struct cslice body);

/* ---- what is known ---- */
bool cn_is_open(const struct cn *cn, uint32_t chan); /* confirmed, and closed by nobody */
size_t cn_channels(const struct cn *cn);
uint32_t cn_window_out(const struct cn *cn, uint32_t chan); /* what the peer lets us send */
uint32_t cn_window_in(const struct cn *cn, uint32_t chan);  /* what we let the peer send */
uint32_t cn_peer_id(
	const struct cn *cn, uint32_t chan); /* the peer's number of it; UINT32_MAX = not known */

#endif
