/* SPDX-License-Identifier: ISC */
/*
 * measure - how often a second something can be done
 *
 * Time is CPU time of this process, so that a busy machine does not show.  A measurement goes on
 * until it has run for cell_s, in batches that grow to an eighth of that; a signal ends it between
 * two batches.
 */
#ifndef APP_SSH_SPEED_MEASURE_H
#define APP_SSH_SPEED_MEASURE_H

#include "app/ssh-speed/speed.h"

/* CPU seconds of this process. */
double measure_now(void);

/* Calls op until cell_s has passed.  *rate: calls a second.  The first error ends it; E_CANCELLED
 * when a signal does. */
typedef err_t measure_op(void *arg);
MUST err_t measure_rate(double cell_s, measure_op *op, void *arg, double *rate);

/* The same for work whose parts are timed apart: op adds to spent[0..n) and counts in *done; it
 * goes on until the smallest of spent has reached cell_s or all together 4 n cell_s. */
struct measure_parts {
	size_t n;
	double spent[4];
	uint64_t done;
};
typedef err_t measure_parts_op(void *arg, struct measure_parts *p);
MUST err_t measure_apart(double cell_s, measure_parts_op *op, void *arg, struct measure_parts *p);

/* What every table gets. */
struct local {
	const struct speed_options *options;
	struct report *report;
	uint64_t cells, cells_done; /* for the progress line */
};
void local_step(struct local *l, const char *what);
/* E_CANCELLED goes through; any other error becomes the reason in the line. */
MUST err_t local_result(struct report_line *line, err_t e);

/* The tables: count = how many cells it will have; fill = measure them. */
size_t packets_count(const struct speed_options *o);
MUST err_t packets_fill(struct local *l, struct report_sheet *s);
size_t kex_count(const struct speed_options *o);
MUST err_t kex_fill(struct local *l, struct report_sheet *s);
size_t signatures_count(const struct speed_options *o);
MUST err_t signatures_fill(struct local *l, struct report_sheet *s);
size_t macs_count(const struct speed_options *o);
MUST err_t macs_fill(struct local *l, struct report_sheet *s);
size_t primitives_count(const struct speed_options *o);
MUST err_t primitives_fill(struct local *l, struct report_sheet *s);

extern const struct report_column packets_columns[], kex_columns[], signatures_columns[],
	bytes_columns[];
extern const size_t packets_columns_n, kex_columns_n, signatures_columns_n, bytes_columns_n;

#endif
