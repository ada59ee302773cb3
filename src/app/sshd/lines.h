/* SPDX-License-Identifier: ISC */
/*
 * lines - the two lines of warm processes that the listener keeps (zygote.h): starts them, hands
 * them connections, replaces them, and waits longer and longer when one cannot be started
 */
#ifndef APP_SSHD_LINES_H
#define APP_SSHD_LINES_H

#include "app/sshd/sshd.h"
#include "os/ev.h"

enum { LINE_MONITOR, LINE_NET, LINES };

struct zygote;

struct line {
	struct zygote *now, *next;
	uint32_t failures;     /* that ended before they were of use, in a row */
	struct ev_timer retry; /* running: none is started before */
	char cause[200];       /* of the failures, as told */
};

struct lines {
	/* set by the owner */
	struct ev *ev;
	char **argv;
	int self;                    /* the program, open since the start */
	int setup;                   /* memory file: the configuration */
	struct buf keys;             /* own; for each new zygote of monitors */
	size_t forks;                /* how many connections a zygote serves */
	bool is_single;              /* one connection, and none is started after it */
	void (*on_ready)(void *arg); /* lines_ready may say something else now */
	void *arg;
	/* own */
	struct line line[LINES];
	bool is_over; /* the single connection has come */
};

/* How long to wait before the next start after so many failures in a row. */
uint64_t lines_delay_us(uint32_t failures);

void lines_start(struct lines *l);
void lines_done(struct lines *l);
/* May a connection be handed to both?  Where one is missing it is started; when that fails on_ready
 * is called later. */
bool lines_ready(struct lines *l);
/* One connection more for a line, after lines_ready: one byte and these descriptors, which stay the
 * caller's. */
MUST err_t lines_send(struct lines *l, size_t line, const int *fds, size_t n);
/* After a connection was sent to both. */
void lines_sent(struct lines *l);
/* The process that serves the single connection; 0 = none. */
pid_t lines_pid(const struct lines *l, size_t line);
/* A child of the listener has ended. */
void lines_reaped(struct lines *l, pid_t pid, int status);

#endif
