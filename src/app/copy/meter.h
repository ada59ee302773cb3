/* SPDX-License-Identifier: ISC */
/*
 * meter - how far a copy is: a line for the file at hand and, for several files, one for all of
 * them
 *
 *     NAME                                        42%   27MB  11.3MB/s   00:03 ETA
 *
 * Only for a terminal, and only while this process is in its foreground.  The line of a file that
 * has ended stays; the line of all stands below it and is drawn again.
 */
#ifndef APP_COPY_METER_H
#define APP_COPY_METER_H

#include "base/buf.h"
#include "os/ev.h"
#include "transfer/transfer.h"

#define METER_NAME_MAX 1024

struct meter_track { /* one thing that grows */
	uint64_t done, size, start_us;
	uint64_t seen, seen_us, moved_us; /* at the last measurement; when it last grew */
	double rate;                      /* bytes a second; 0 = not known */
	bool is_over;
};

struct meter {
	int fd;
	struct ev *ev;
	struct ev_timer tick;
	bool is_on, has_total; /* has_total: the terminal can move its cursor */
	bool is_drawn, is_total_drawn;
	struct buf name; /* of the file, as it came */
	struct meter_track file, all;
	uint64_t files_done, files, drawn_us, total_drawn_us;
	uint64_t mark_us; /* when the copy began, or the last file ended */
	bool is_started;  /* all */
};

/* fd that is no terminal: nothing is ever shown.  ev may be NULL: then only meter_take draws. */
void meter_init(struct meter *m, int fd, struct ev *ev);
void meter_done(struct meter *m); /* the last line of all, when there were several files */
/* A copy begins now: for the rate of a file that is told of only when it is over. */
void meter_start(struct meter *m);
/* What has changed: a struct xfer_env's progress, with the meter as its argument. */
void meter_take(struct meter *m, const struct xfer_progress *p);
/* Other words are about to come: the lines go; they are drawn again by the next change. */
void meter_hide(struct meter *m);
/* Shown or not, from now on. */
void meter_set(struct meter *m, bool is_on);

/* For meter_take, and its tests. */
MUST err_t meter_line(struct buf *out, struct cslice name, const struct meter_track *t,
	uint64_t now_us, size_t cols);
void meter_measure(struct meter_track *t, uint64_t now_us);

#endif
