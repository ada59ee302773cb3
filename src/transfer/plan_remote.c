/* SPDX-License-Identifier: ISC */
/*
 * plan_remote - a directory of a server, read as far as it is wanted
 *
 * READDIRs are asked ahead: two at first, so that the end of a small directory is known without
 * another round trip, more while they bring names.  What is ahead of all directories together is
 * bounded, whatever a server sends.
 */
#include <stdlib.h>
#include <string.h>

#include "transfer/transfer_int.h"

#define AHEAD_FIRST 2
#define AHEAD_BYTES ((size_t)8 << 20) /* of names, over all directories */

static void say_failure(struct walker *w, const char *why)
{
	xfer_say(w->x, LOG_L_ERROR, "remote readdir(\"%s\"): %s", w->from, why);
	xfer_count_failure(w->x, w->item);
	w->is_eof = true;
}

static void close_it(struct walker *w)
{
	struct remote *r = w->x->from.r;
	if (w->handle.n > 0 && r->end == OK)
		remote_close(r, cslice_of(w->handle.p, w->handle.n));
	w->handle.n = 0;
}

/* ---- batches ----------------------------------------------------------------------------------
 */
static bool batch_add(struct walker *w, const struct sf_name *name)
{
	size_t n = name->entries.n;
	struct batch *b = malloc(sizeof(*b) + n);
	if (b == NULL)
		return false;
	b->n = n;
	b->count = name->count;
	memcpy(b->p, name->entries.p, n);
	b->rest = cslice_of(b->p, n);
	list_init(&b->link);
	list_push(&w->batches, &b->link);
	w->x->batch_bytes += n;
	return true;
}

static void batch_drop(struct walker *w, struct batch *b)
{
	w->x->batch_bytes -= b->n;
	list_remove(&b->link);
	free(b);
}

void walk_remote_free(struct walker *w)
{
	list_each (at, tmp, &w->batches)
		batch_drop(w, LIST_ENTRY(at, struct batch, link));
}

/* ---- answers ----------------------------------------------------------------------------------
 */
static struct walker *heard(struct sf_ask *a)
{
	struct walk_ask *k = a->arg;
	k->is_asked = false;
	k->w->asked_n--;
	return k->w;
}

static void on_open(struct sf_ask *a, const struct sf_reply *r)
{
	struct walker *w = heard(a);
	struct xfer *x = w->x;
	w->is_opened = true;
	if (xfer_is_lost(x, r)) {
		w->is_over = true;
	} else if (r->type == SF_MSG_handle) {
		w->handle.n = r->handle.n;
		memcpy(w->handle.p, r->handle.p, r->handle.n);
		walk_remote_step(w);
	} else {
		say_failure(w, xfer_status_words(r).text);
	}
	xfer_answered(x);
}

static void on_names(struct sf_ask *a, const struct sf_reply *r)
{
	struct walker *w = heard(a);
	struct xfer *x = w->x;
	if (xfer_is_lost(x, r)) {
		w->is_over = true;
	} else if (r->type == SF_MSG_name && r->name.count > 0) {
		if (!batch_add(w, &r->name))
			say_failure(w, "out of memory");
		w->ahead = w->ahead < WALK_AHEAD ? w->ahead + 1 : WALK_AHEAD;
		walk_remote_step(w);
	} else if (r->type == SF_MSG_status && r->code != SF_eof && !w->is_eof) {
		say_failure(w, xfer_status_words(r).text);
	} else {
		w->is_eof = true;
	}
	xfer_answered(x);
}

/* ---- asking -----------------------------------------------------------------------------------
 */
static err_t ask(struct walker *w, struct walk_ask *k)
{
	struct xfer *x = w->x;
	struct sf_client *sf = x->from.r->sf;
	struct cslice handle = cslice_of(w->handle.p, w->handle.n);
	k->w = w;
	k->ask = (struct sf_ask){.on = w->is_opened ? on_names : on_open, .arg = k};
	err_t e = w->is_opened ? sf_ask_readdir(sf, &k->ask, &(struct sf_readdir){.handle = handle})
			       : sf_ask_opendir(sf, &k->ask,
					 &(struct sf_opendir){.path = cslice_str(w->from)});
	TRY(xfer_asked(x, e));
	k->is_asked = true;
	w->asked_n++;
	return OK;
}

static bool may_ask(const struct walker *w)
{
	const struct xfer *x = w->x;
	if (w->is_eof || w->is_over || x->end != OK)
		return false;
	if (!w->is_opened || (w->asked_n == 0 && list_is_empty(&w->batches)))
		return w->asked_n == 0;
	size_t waiting = 0;
	list_each (at, tmp, &w->batches)
		waiting++;
	return w->asked_n + waiting < w->ahead && x->batch_bytes < AHEAD_BYTES;
}

void walk_remote_step(struct walker *w)
{
	if (w->ahead == 0)
		w->ahead = AHEAD_FIRST;
	for (size_t i = 0; i < WALK_AHEAD && may_ask(w); i++)
		if (!w->asks[i].is_asked && ask(w, &w->asks[i]) != OK)
			break;
}

/* ---- entries ----------------------------------------------------------------------------------
 */
bool walk_remote_peek(struct walker *w, struct sf_entry *out)
{
	while (!list_is_empty(&w->batches)) {
		struct batch *b = LIST_ENTRY(w->batches.next, struct batch, link);
		struct cslice rest = b->rest;
		if (b->count > 0 && sf_next_entry(&rest, out) == OK)
			return true;
		if (b->count > 0)
			say_failure(w, "Bad message");
		batch_drop(w, b);
		walk_remote_step(w);
	}
	if (w->is_eof && w->asked_n == 0) {
		close_it(w);
		w->is_over = true;
	}
	return false;
}

/* What was seen is taken; what it points to holds until the next peek. */
void walk_remote_take(struct walker *w)
{
	struct batch *b = LIST_ENTRY(w->batches.next, struct batch, link);
	struct sf_entry e;
	b->count--;
	if (sf_next_entry(&b->rest, &e) != OK)
		b->count = 0;
}
