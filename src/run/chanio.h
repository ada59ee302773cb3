/* SPDX-License-Identifier: ISC */
/*
 * chanio - a channel joined to local descriptors: stdin/stdout/stderr of a client, the child of a
 * server
 *
 * Outwards: when `in` is readable and the channel has room, cn_reserve gives iovecs inside the next
 * packets and readv(2) fills them: no user-space copy.  Inwards: CN_EV_DATA spans are written with
 * writev(2) from the packets (several packets a call); what does not fit is kept (span_keep) and
 * bounds the window, since cn_consumed is called only for bytes that the sink took. EOF on `in` ->
 * cn_eof; EPIPE on `out` -> cn_discard_input.
 *
 * Call chanio_flush from the pump's before_send, so that the data of one read goes out in one
 * writev(2); without it the loop does the same one turn later.  Pipes and sockets are made
 * non-blocking and get their flags back in chanio_stop; terminals and files stay as they are.
 */
#ifndef RUN_CHANIO_H
#define RUN_CHANIO_H

#include "connection/cn.h"
#include "os/ev.h"
#include "run/pump.h"
#include "run/spanq.h"

struct chanio_sink {
	int fd; /* -1 = drop what comes */
	struct ev_io io;
	struct spanq q; /* copied are small packets while the sink is slow */
	bool is_broken, eof_wanted, is_slow, is_tty, is_pipe_grown;
	int flags_before; /* -1 = not changed */
	struct chanio *owner;
};

struct chanio {
	/* set by the caller */
	struct ev *ev;
	struct pump *pump;
	struct cn *cn;
	uint32_t chan;
	int in;                      /* -1 = none: cn_eof is not sent by itself */
	uint32_t in_ext;             /* 0, or 1 when `in` is a child's stderr */
	int in2;                     /* a second source (server: stderr of the child), -1 = none */
	struct chanio_sink out, err; /* fds set by the caller; err.fd = -1 when unused */
	/* Escape filter of the client: may change what was read, in place, and may grow it by one
	   byte; NULL = none.  Returns bytes to send. */
	size_t (*filter)(void *arg, uint8_t *p, size_t n);
	void (*on_in_eof)(void *arg);  /* `in` (and in2) have ended; NULL = default (cn_eof) */
	void (*on_drained)(void *arg); /* EOF of the peer has come and everything is written: shut
					  the descriptor, do not free */
	void *arg;
	/* own */
	struct ev_io in_io, in2_io;
	bool in_is_eof, in2_is_eof, wait_room, peer_eof, is_told_drained, is_stopped;
	size_t want; /* bytes asked for next time: grows and shrinks with what comes */
	int in_flags, in2_flags, in_dup;
	bool is_in_grown,
		is_holding; /* is_holding: the pump reads slowly until the sinks have caught up */
};

MUST err_t chanio_start(struct chanio *c);
void chanio_stop(struct chanio *c);                            /* drops kept spans */
MUST err_t chanio_event(struct chanio *c, struct cn_event *e); /* DATA, ROOM, EOF of this channel */
/* The peer reads no more of `in`: it leaves the loop, as at its end but without on_in_eof, and the
 * caller closes it.  in2 goes on.  Says whether both have ended now. */
bool chanio_end_input(struct chanio *c);
/* Writes what is queued, as far as the descriptors take it.  E_LIMIT when memory is used up. */
MUST err_t chanio_flush(struct chanio *c);
bool chanio_is_drained(const struct chanio *c); /* nothing waits to be written locally */

#endif
