/* SPDX-License-Identifier: ISC */
/*
 * pump - the only place where a socket meets an engine
 *
 * It reads into tp_space, feeds, hands every transport event to `on_event`, calls `before_send`
 * (cn_flush and the like), writes what tp_ready gives, keeps the interest bits and the deadline
 * timer right.  Reads up to 256 KiB a call and writes the same. fd_in and fd_out may be one socket
 * or two pipe ends; both are made non-blocking; both stay the caller's.
 */
#ifndef RUN_PUMP_H
#define RUN_PUMP_H

#include "os/ev.h"
#include "transport/tp.h"

struct pump {
	/* set by the caller before pump_start */
	struct ev *ev;
	struct tp *tp;
	int fd_in, fd_out;
	void *arg;
	err_t (*on_event)(void *arg,
		struct tp_event
			*e); /* an error other than E_AGAIN is made sticky: tp_fail.  E_AGAIN: stop
				polling events until pump_kick (a question is outstanding) */
	err_t (*before_send)(void *arg);         /* may be NULL */
	void (*on_closed)(void *arg, err_t why); /* once: all that could be sent has been;
						    tp_error(tp) or E_CLOSED in why */
	/* own */
	struct ev_io in, out;
	struct ev_timer timer;
	bool is_running, is_in_eof, is_blocked, is_one_fd;
	bool is_turning, is_kicked, is_closing, is_out_dead, is_full, is_held;
	uint64_t held_until_us;
	int sys_errno; /* of the read or write that ended the connection, 0 = none: for the message
			*/
};

MUST err_t pump_start(struct pump *p);
void pump_stop(struct pump *p); /* removes itself from the loop */
/* Something was put into the engine, or a question was answered: go on.  From inside a callback:
 * after it. */
void pump_kick(struct pump *p);
/*
 * pump_hold - what has been read waits for a slow sink: read on only once in PUMP_HOLD_US, so that
 * it stays small and in the cache, while control messages still get through
 */
#define PUMP_HOLD_US 50000
void pump_hold(struct pump *p, bool hold);

#endif
