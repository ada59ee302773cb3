/* SPDX-License-Identifier: ISC */
/*
 * job - one file on its way
 *
 * A job is in one phase at a time, and each phase asks at most one thing (j->ask) and waits for the
 * answer; the READs and WRITEs of its bytes are counted apart.  A job that failed still waits for
 * what is under way, closes what is open, and is then forgotten.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "transfer/transfer_int.h"

struct job *job_new(struct xfer *x, char *from, char *to)
{
	struct job *j = from != NULL && to != NULL ? calloc(1, sizeof(*j)) : NULL;
	if (j == NULL) {
		free(from);
		free(to);
		return NULL;
	}
	*j = (struct job){
		.x = x, .from = from, .to = to, .in = -1, .out = -1, .broken_at = UINT64_MAX};
	list_init(&j->ready);
	list_init(&j->mover);
	list_init(&j->blocks);
	list_init(&j->rd.slots);
	list_push(&x->jobs, &j->link);
	x->jobs_n++;
	return j;
}

void job_wake(struct job *j)
{
	if (list_is_empty(&j->ready))
		list_push(&j->x->ready, &j->ready);
}

void job_go(struct job *j, enum job_phase phase)
{
	bool moves = phase == JOB_DATA || phase == JOB_COMPARE || phase == JOB_CHECK;
	j->phase = phase;
	list_remove(&j->mover);
	if (moves)
		list_push(&j->x->movers, &j->mover);
	job_wake(j);
	j->x->is_again = true;
}

err_t job_ask(struct job *j, err_t e)
{
	e = xfer_asked(j->x, e);
	if (e == OK)
		j->is_asked = true;
	else if (e == E_AGAIN)
		job_wake(j);
	return e;
}

/* ---- the end ----------------------------------------------------------------------------------
 */
static void tell_left(struct job *j)
{
	struct xfer *x = j->x;
	bool is_kept = j->target != NULL; /* the bytes went beside it */
	if (!j->is_opened || j->is_done || j->is_told)
		return;
	j->is_told = true;
	if (is_kept) {
		log_debug1("%s was left as it was", j->target);
	} else if (x->end != OK && x->left_told >= 8) {
		x->left_more++;
	} else if (j->is_opened) {
		x->left_told++;
		xfer_say(x, LOG_L_ERROR, "\"%s\" is incomplete: %llu of %llu bytes", j->to,
			(unsigned long long)j->done, (unsigned long long)j->m.size);
	}
}

/* A second interrupt: answers that are still under way are not waited for, so nothing could be cut
 * where it is whole. */
void job_abandon(struct job *j)
{
	struct xfer *x = j->x;
	if (!j->is_opened || j->is_done || j->is_told)
		return;
	j->is_told = true;
	if (x->left_told >= 8) {
		x->left_more++;
		return;
	}
	x->left_told++;
	if (j->target != NULL)
		xfer_say(x, LOG_L_ERROR, "\"%s\" was left behind, \"%s\" is as it was", j->to,
			j->target);
	else
		xfer_say(x, LOG_L_ERROR, "\"%s\" is incomplete, and may have gaps", j->to);
}

static void give_up(struct job *j)
{
	if (j->phase == JOB_DRAIN || j->phase == JOB_REMOVE || j->phase == JOB_CUT)
		return;
	j->has_failed = true;
	if (j->x->gather.job == j)
		down_flush(j->x); /* what came in order is still written */
	reader_stop(&j->rd);
	list_each (at, tmp, &j->blocks)
		slot_put(j->x, LIST_ENTRY(at, struct slot, link));
	j->blocks_bytes = 0;
	job_go(j, j->target != NULL && j->is_created ? JOB_REMOVE : JOB_CUT);
}

void job_fail(struct job *j)
{
	if (!j->has_failed)
		xfer_count_failure(j->x, j->item);
	give_up(j);
}

void job_stop(struct job *j)
{
	if (j->is_done && j->phase == JOB_TO_CLOSE)
		return;
	give_up(j);
}

static void close_remote(struct remote *r, struct xfer_handle *h)
{
	if (r != NULL && h->n > 0 && r->end == OK)
		remote_close(r, cslice_of(h->p, h->n));
	h->n = 0;
}

static void close_all(struct job *j)
{
	if (j->in >= 0)
		(void)close(j->in);
	if (j->out >= 0)
		(void)close(j->out);
	j->in = j->out = -1;
	close_remote(j->x->from.r, &j->from_h);
	close_remote(j->x->to.r, &j->to_h);
	close_remote(j->x->to.r, &j->check_h);
}

void job_free(struct job *j)
{
	if (j->in >= 0)
		(void)close(j->in);
	if (j->out >= 0)
		(void)close(j->out);
	list_each (at, tmp, &j->blocks)
		slot_put(j->x, LIST_ENTRY(at, struct slot, link));
	list_each (s, next, &j->rd.slots)
		slot_put(j->x, LIST_ENTRY(s, struct slot, link));
	list_remove(&j->link);
	list_remove(&j->ready);
	list_remove(&j->mover);
	if (j->x->gather.job == j)
		j->x->gather.job = NULL;
	if (j->is_unknown)
		j->x->unknown_n--;
	j->x->jobs_n--;
	place_drop(j->to_dir);
	free(j->from);
	free(j->to);
	free(j->target);
	free(j->real);
	free(j);
}

static void step_drain(struct job *j)
{
	reader_stop(&j->rd);
	if (j->rd.has_unasked)
		reader_pump(&j->rd);
	if (j->is_asked || j->is_stat_asked || j->writes > 0 || !list_is_empty(&j->rd.slots))
		return;
	tell_left(j);
	close_all(j);
	if (!j->is_ended) {
		j->is_ended = true;
		progress_file_end(j);
	}
	j->x->is_again = true;
	job_free(j);
}

/* All of it is there, and more than that is not to be done. */
void job_done(struct job *j)
{
	j->is_done = true;
	job_go(j, JOB_DRAIN);
}

/* ---- phases -----------------------------------------------------------------------------------
 */
static void step_place(struct job *j)
{
	struct place *p = j->to_dir;
	if (p != NULL && p->state == PLACE_ASKED) {
		list_remove(&j->ready);
		list_push(&p->waiting, &j->ready);
		return;
	}
	if (p != NULL && p->state == PLACE_FAILED) { /* that was told */
		j->has_failed = true;
		job_go(j, JOB_DRAIN);
		return;
	}
	if (j->x->from.r != NULL)
		job_go(j, JOB_FROM_OPEN);
	else
		job_go(j, j->x->to.r != NULL ? JOB_TO_STAT : JOB_TO_OPEN);
}

void job_report_reader(struct job *j, const char *what, const char *path)
{
	const char *why = j->rd.why.text[0] != '\0' ? j->rd.why.text : sf_status_text(j->rd.code);
	if (j->x->end == OK)
		xfer_say(j->x, LOG_L_ERROR, "%s \"%s\": %s", what, path, why);
}

static void step_data(struct job *j)
{
	struct xfer *x = j->x;
	if (x->from.r != NULL) {
		if (!reader_is_over(&j->rd) || !list_is_empty(&j->blocks) || x->end != OK)
			return;
		down_flush(x);
		if (j->phase != JOB_DATA)
			return;
		if (j->rd.code != SF_ok) {
			job_report_reader(j, "read remote", j->from);
			job_fail(j);
			return;
		}
		j->at = j->rd.at;
		j->is_read_end = true;
	}
	if (!j->is_read_end)
		return;
	if (!j->is_small_end && j->at < j->m.size && j->m.has_size) {
		j->is_small_end = true;
		xfer_say(x, LOG_L_ERROR, "\"%s\" ended after %llu of %llu bytes", j->from,
			(unsigned long long)j->at, (unsigned long long)j->m.size);
		x->p.size -= j->m.size - j->at;
		j->m.size = j->at;
	}
	job_data_end(j);
}

void job_step(struct job *j)
{
	static void (*const steps[JOB_PHASES])(struct job *) = {
		[JOB_FROM_STAT] = job_from_stat,
		[JOB_FROM_REAL] = job_from_real,
		[JOB_FROM_REAL_DIR] = job_from_real,
		[JOB_PLACE] = step_place,
		[JOB_FROM_OPEN] = job_from_open,
		[JOB_TO_STAT] = job_to_stat,
		[JOB_TO_OPEN] = job_to_open,
		[JOB_COMPARE] = compare_step,
		[JOB_DATA] = step_data,
		[JOB_TO_SIZE] = job_to_size,
		[JOB_TO_ATTR] = job_to_attr,
		[JOB_TO_SYNC] = job_to_sync,
		[JOB_TO_CLOSE] = job_to_close,
		[JOB_RENAME] = job_rename,
		[JOB_CHECK_OPEN] = job_check_open,
		[JOB_CHECK] = compare_step,
		[JOB_CUT] = job_cut,
		[JOB_REMOVE] = job_remove,
		[JOB_DRAIN] = step_drain,
	};
	if (!j->is_asked)
		steps[j->phase](j);
}

void job_piece(struct job *j, uint64_t at, struct span piece)
{
	if (j->has_failed)
		return;
	if (j->phase == JOB_DATA)
		down_piece(j, at, piece);
	else
		compare_piece(j, at, cslice_of(piece.p, piece.n));
}

void job_block(struct job *j, struct slot *s)
{
	if (j->has_failed) {
		slot_put(j->x, s);
		return;
	}
	list_push(&j->blocks, &s->link);
	j->blocks_bytes += s->got;
}
