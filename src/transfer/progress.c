/* SPDX-License-Identifier: ISC */
/* progress - the numbers that a person watches */
#include "transfer/transfer_int.h"

#define EVERY_US 50000

void progress_bytes(struct job *j, uint64_t reached)
{
	if (reached <= j->reached)
		return;
	j->x->p.done += reached - j->reached;
	j->reached = reached;
	if (j->reached > j->m.size) { /* it grew, or its size was not told */
		j->x->p.size += j->reached - j->m.size;
		j->m.size = j->reached;
	}
}

static void show(struct xfer *x, const struct job *j)
{
	x->p.name = j != NULL ? j->from : NULL;
	x->p.file_done = j != NULL ? j->reached : 0;
	x->p.file_size = j != NULL ? j->m.size : 0;
	x->env.progress(x->env.arg, &x->p);
}

void progress_file_end(struct job *j)
{
	struct xfer *x = j->x;
	if (!j->has_failed)
		x->p.files_done++;
	if (x->env.progress == NULL)
		return;
	x->p.is_file_end = true;
	show(x, j);
	x->p.is_file_end = false;
}

void progress_turn(struct xfer *x, bool is_end)
{
	uint64_t now = os_monotonic_us();
	if (x->env.progress == NULL || (!is_end && now - x->p_at_us < EVERY_US))
		return;
	x->p_at_us = now;
	const struct job *first = NULL;
	list_each (at, tmp, &x->jobs) {
		const struct job *j = LIST_ENTRY(at, struct job, link);
		if (first == NULL && j->phase >= JOB_COMPARE && j->phase < JOB_REMOVE)
			first = j;
	}
	x->p.is_end = is_end;
	if (first != NULL || is_end)
		show(x, first);
}
