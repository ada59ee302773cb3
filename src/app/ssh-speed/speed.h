/* SPDX-License-Identifier: ISC */
/* speed - what the parts of ssh-speed share: the options, and how a run is ended early */
#ifndef APP_SSH_SPEED_SPEED_H
#define APP_SSH_SPEED_SPEED_H

#include "app/ssh-speed/report.h"

enum { SPEED_OK = 0, SPEED_FAILED = 1, SPEED_FATAL = 255 };

#define SPEED_BYTES  ((uint64_t)256 << 20)
#define SPEED_CELL_S 0.03 /* CPU seconds a cell of the local tables */

struct speed_options {
	/* what is written */
	bool json, csv;
	const char *html;
	bool all; /* the old ciphers too; locally each pair with each MAC */
	/* a host */
	const char *ciphers; /* -c; NULL = not given */
	uint64_t bytes;
	/* the local tables */
	double cell_s;
	bool compare;
	const char *only; /* tables, comma separated; NULL = all */
};

/* Signals that end a run are kept back from here on, and asked for. */
void stop_watch(void);
/* The signal that wants the run to end; 0 = none. */
int stop_signal(void);

/* One line on stderr that is written over, when stderr is a terminal.  what: what is measured now;
 * done: 0..1. */
void progress_show(const char *what, double done);
void progress_clear(void);

/* ---- the local tables ---------------------------------------------------------------------------
 */
MUST err_t local_run(const struct speed_options *o, struct report *r);
/* Is it the id of a table?  names: all ids, comma separated, appended when not NULL. */
bool local_knows(struct cslice id, struct buf *names);

/* machine.c: processor, its instructions, libraries. */
MUST err_t machine_facts(struct report *r);

/* write.c: the report on stdout and the page; what fails has been told. */
MUST err_t write_report(const struct speed_options *o, const struct report *r);

#endif
