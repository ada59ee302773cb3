/* SPDX-License-Identifier: ISC */
/*
 * reader - a remote file read ahead, given on in order
 *
 * READs lie in a row by their offset.  The first of them gives its bytes on as they come; what
 * comes for a later one (a server may answer in any order, and may give less than was asked for) is
 * held until its turn.  Less than asked is not the end: the rest is asked for again, and the
 * requests become as small as what the server gives.  The end is where the server says so, not
 * where its size says: one more READ asks behind that.
 */
#include <stdlib.h>
#include <string.h>

#include "transfer/transfer_int.h"

#define BEYOND  4096 /* what the READ behind the told size asks for */
#define SMALLER 4096 /* requests do not get smaller than this by themselves */

void reader_init(
	struct reader *rd, struct job *j, struct xfer_end *end, const struct xfer_handle *h)
{
	*rd = (struct reader){.x = j->x,
		.job = j,
		.end = end,
		.handle = h,
		.size = j->m.has_size ? j->m.size : 0,
		.until = UINT64_MAX};
	rd->chunk = end->r->read_max;
	list_init(&rd->slots);
}

static struct slot *slot_get(struct reader *rd)
{
	struct xfer *x = rd->x;
	struct slot *s;
	if (!list_is_empty(&x->slots)) {
		s = LIST_ENTRY(x->slots.next, struct slot, link);
		list_remove(&s->link);
	} else {
		s = malloc(sizeof(*s));
		if (s == NULL)
			return NULL;
	}
	*s = (struct slot){.rd = rd};
	list_init(&s->link);
	return s;
}

void slot_put(struct xfer *x, struct slot *s)
{
	free(s->held);
	s->held = NULL;
	list_remove(&s->link);
	list_push(&x->slots, &s->link);
}

void reader_stop(struct reader *rd)
{
	rd->is_stopped = true;
}

bool reader_is_over(const struct reader *rd)
{
	return rd->is_stopped && list_is_empty(&rd->slots);
}

/* ---- giving on --------------------------------------------------------------------------------
 */
static void give(struct slot *s, struct span piece)
{
	struct reader *rd = s->rd;
	uint64_t at = s->at + s->given;
	s->given += (uint32_t)piece.n;
	if (rd->code != SF_ok || rd->is_at_end)
		return;
	rd->at = at + piece.n;
	job_piece(rd->job, at, piece);
}

static void give_held(struct slot *s)
{
	if (s->held != NULL && s->got > s->given)
		give(s, (struct span){NULL, s->held + s->given, s->got - s->given});
}

static bool is_whole(const struct slot *s)
{
	return !s->is_asked && (s->is_eof || s->code != SF_ok || s->got == s->want);
}

/* What is whole at the head of the row leaves it. */
static void advance(struct reader *rd)
{
	while (!list_is_empty(&rd->slots)) {
		struct slot *s = LIST_ENTRY(rd->slots.next, struct slot, link);
		if (!rd->is_held)
			give_held(s);
		if (!is_whole(s))
			return;
		bool is_live = rd->code == SF_ok && !rd->is_at_end;
		if (is_live && s->code != SF_ok)
			rd->code = s->code;
		else if (is_live && s->is_eof)
			rd->is_at_end = true;
		if (rd->is_held && is_live && s->got > 0) {
			rd->at = s->at + s->got;
			list_remove(&s->link);
			job_block(rd->job, s);
		} else {
			slot_put(rd->x, s);
		}
	}
}

static bool is_head(const struct slot *s)
{
	return s->rd->slots.next == &s->link;
}

static void on_data(struct sf_ask *a, uint32_t at, struct span piece)
{
	struct slot *s = a->arg;
	struct reader *rd = s->rd;
	(void)at; /* they come in order: got counts them */
	if (piece.n > s->want - s->got)
		piece.n = s->want - s->got;
	if (s->held == NULL && is_head(s) && !rd->is_held) {
		s->got += (uint32_t)piece.n;
		give(s, piece);
		return;
	}
	if (s->held == NULL)
		s->held = malloc(s->want);
	if (s->held == NULL) {
		s->code = SF_failure;
		return;
	}
	memcpy(s->held + s->got, piece.p, piece.n);
	s->got += (uint32_t)piece.n;
}

/* ---- asking -----------------------------------------------------------------------------------
 */
static void on_read(struct sf_ask *a, const struct sf_reply *r);

static err_t ask(struct slot *s)
{
	struct reader *rd = s->rd;
	struct sf_read m = {.handle = cslice_of(rd->handle->p, rd->handle->n),
		.offset = s->at + s->got,
		.n = s->want - s->got};
	s->ask = (struct sf_ask){.on = on_read, .on_data = on_data, .arg = s};
	TRY(xfer_asked(rd->x, sf_ask_read(rd->end->r->sf, &s->ask, &m)));
	s->is_asked = true;
	rd->end->bytes += m.n;
	rd->end->requests++;
	return OK;
}

static void note_failure(struct slot *s, const struct sf_reply *r)
{
	struct reader *rd = s->rd;
	s->code = r->err != OK ? SF_connection_lost : r->code;
	if (r->err == OK && rd->why.text[0] == '\0')
		rd->why = xfer_status_words(r);
}

static bool is_wanted(const struct slot *s)
{
	const struct reader *rd = s->rd;
	return s->code == SF_ok && rd->x->end == OK && rd->code == SF_ok && !rd->is_at_end &&
	       !rd->job->has_failed;
}

static void on_read(struct sf_ask *a, const struct sf_reply *r)
{
	struct slot *s = a->arg;
	struct reader *rd = s->rd;
	struct xfer *x = rd->x;
	bool is_short = r->type == SF_MSG_data && s->got < s->want;
	s->is_asked = false;
	rd->end->bytes -= a->want;
	rd->end->requests--;
	if (xfer_is_lost(x, r) || (r->type == SF_MSG_status && r->code != SF_eof))
		note_failure(s, r);
	else if (r->type == SF_MSG_status)
		s->is_eof = true;
	if (s->is_eof || s->code != SF_ok)
		rd->is_stopped = true;
	if (is_short && !rd->is_stopped && r->data_n >= SMALLER && r->data_n < rd->chunk &&
		s->at + s->got < rd->size)
		rd->chunk = r->data_n;
	if (is_short && !is_wanted(s))
		s->is_eof = true;
	else if (is_short && ask(s) != OK)
		rd->has_unasked = true;
	advance(rd);
	job_wake(rd->job);
	xfer_answered(x);
}

/* Bytes that the next READ asks for; 0: none for now. */
static uint64_t next_want(const struct reader *rd)
{
	uint64_t left = rd->until - rd->next;
	if (rd->next < rd->size) {
		uint64_t n = rd->size - rd->next;
		n = n < rd->chunk ? n : rd->chunk;
		return n < left ? n : left;
	}
	/* Behind the size: one at first, then as many more as brought something. */
	size_t n = 0;
	for (struct list *at = rd->slots.prev; at != &rd->slots; at = at->prev)
		if (LIST_ENTRY(at, struct slot, link)->at >= rd->size)
			n++;
		else
			break;
	bool has_grown = rd->at > rd->size;
	if (n > (has_grown ? 8u : 0u))
		return 0;
	uint64_t want = has_grown || rd->size == 0 ? rd->chunk : num_min(BEYOND, rd->chunk);
	return want < left ? want : left;
}

static bool has_room(const struct reader *rd, uint64_t want)
{
	const struct xfer_end *end = rd->end;
	uint64_t queued = rd->is_held ? rd->job->blocks_bytes : 0;
	if (end->r->requests_max != 0 && end->requests >= end->r->requests_max)
		return false;
	return end->requests == 0 || end->bytes + queued + want <= end->r->depth;
}

/* Those that could not be asked for again at once. */
static void ask_again(struct reader *rd)
{
	rd->has_unasked = false;
	list_each (at, tmp, &rd->slots) {
		struct slot *s = LIST_ENTRY(at, struct slot, link);
		if (s->is_asked || is_whole(s))
			continue;
		if (!is_wanted(s))
			s->is_eof = true;
		else if (ask(s) != OK)
			rd->has_unasked = true;
	}
	advance(rd);
}

void reader_pump(struct reader *rd)
{
	struct xfer *x = rd->x;
	if (rd->has_unasked)
		ask_again(rd);
	while (!rd->is_stopped) {
		if (rd->next >= rd->until) {
			rd->is_stopped = true;
			break;
		}
		uint64_t want = next_want(rd);
		if (want == 0 || !has_room(rd, want))
			return;
		want = rate_room(&x->rate, ev_now(x->ev), want);
		struct slot *s = want > 0 ? slot_get(rd) : NULL;
		if (s == NULL)
			return;
		s->at = rd->next;
		s->want = (uint32_t)want;
		list_push(&rd->slots, &s->link);
		if (ask(s) != OK) {
			slot_put(x, s);
			return;
		}
		rate_took(&x->rate, want);
		rd->next += want;
	}
}
