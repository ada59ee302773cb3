/* SPDX-License-Identifier: ISC */
/* measure - the clock of the local tables */
#include <time.h>

#include "app/ssh-speed/measure.h"

#define BATCHES 8

double measure_now(void)
{
	struct timespec t;
	if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t) != 0)
		return 0;
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

err_t measure_rate(double cell_s, measure_op *op, void *arg, double *rate)
{
	double spent = 0;
	uint64_t done = 0, batch = 1;
	TRY(op(arg)); /* what the first call alone has to do does not count */
	while (spent < cell_s) {
		if (stop_signal() != 0)
			return E_CANCELLED;
		double begin = measure_now();
		for (uint64_t i = 0; i < batch; i++)
			TRY(op(arg));
		double took = measure_now() - begin;
		spent += took;
		done += batch;
		if (took < cell_s / BATCHES / 2 && batch < UINT64_MAX / 2)
			batch *= 2;
	}
	*rate = (double)done / spent;
	return OK;
}

err_t measure_apart(double cell_s, measure_parts_op *op, void *arg, struct measure_parts *p)
{
	struct measure_parts first = {.n = p->n};
	TRY(op(arg, &first));
	for (;;) {
		double least = p->spent[0], all = 0;
		for (size_t i = 0; i < p->n; i++) {
			least = p->spent[i] < least ? p->spent[i] : least;
			all += p->spent[i];
		}
		if (p->done > 0 && (least >= cell_s || all >= 4 * (double)p->n * cell_s))
			return OK;
		if (stop_signal() != 0)
			return E_CANCELLED;
		TRY(op(arg, p));
	}
}
