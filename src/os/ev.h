/* SPDX-License-Identifier: ISC */
/*
 * ev - the event loop: descriptors, timers, signals as events
 *
 * ev_io and ev_timer live in their owner (no allocation).  Callbacks run from ev_run only; a signal
 * handler does nothing, ever (signalfd).  One loop a process, not shared between threads.
 */
#ifndef OS_EV_H
#define OS_EV_H

#include <signal.h>

#include "base/err.h"
#include "base/list.h"

struct ev;

enum { EV_IN = 1, EV_OUT = 2, EV_HUP = 4 /* reported only: error or hang-up */ };

struct ev_io {
	int fd;
	unsigned want; /* EV_IN | EV_OUT; change with ev_io_want.  0: nothing is reported, not even
			  EV_HUP */
	void (*on)(struct ev_io *io, unsigned happened);
	void *arg;
	bool is_added;
	bool is_always; /* a file that epoll refuses: always ready */
	bool is_dirty; /* own: `want` differs from what the kernel knows; it is told once a turn, so
			  toggling is free */
	unsigned armed;   /* own: what the kernel knows */
	struct list link; /* for the loop */
};

struct ev_timer {
	uint64_t at_us; /* CLOCK_MONOTONIC; UINT64_MAX = not running */
	void (*on)(struct ev_timer *t, uint64_t now_us);
	void *arg;
	struct list link;
};

MUST err_t ev_new(struct ev **out);
void ev_free(struct ev *ev);
uint64_t ev_now(const struct ev *ev); /* us, taken once a turn */
uint64_t os_monotonic_us(void);
uint64_t os_wall_s(void);

/* Regular files (epoll's EPERM) are treated as always ready. */
MUST err_t ev_io_add(struct ev *ev, struct ev_io *io);
void ev_io_want(struct ev *ev, struct ev_io *io, unsigned want);
void ev_io_remove(struct ev *ev, struct ev_io *io); /* does not close; fine when not added */

void ev_timer_set(struct ev *ev, struct ev_timer *t, uint64_t at_us);
void ev_timer_stop(struct ev *ev, struct ev_timer *t);

/* Blocks the signals of the set and delivers them as events.  Call before threads and children. */
typedef void ev_signal_fn(void *arg, int signo);
MUST err_t ev_signals(struct ev *ev, const int *signos, size_t n, ev_signal_fn *fn, void *arg);
/* In a child after fork, before exec: default dispositions and an empty mask. */
void os_signals_reset(void);
void ev_signal_ignore(int signo);
/* SIGPIPE and SIGXFSZ are ignored: the write tells. */
void os_sigpipe_ignore(void);

/* Runs until ev_stop; OK or E_IO.  An ev_stop from before the call counts. */
MUST err_t ev_run(struct ev *ev);
void ev_stop(struct ev *ev);

#endif
