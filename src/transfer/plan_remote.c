/* SPDX-License-Identifier: ISC */
/*
 * plan_remote - a directory of a server, read as far as it is wanted
 *
 * One READDIR is ahead: while the entries of one answer are used the next one is under way.
 */
#include <stdlib.h>
#include <string.h>

#include "transfer/transfer_int.h"

static void say_failure(struct walker *w, const struct sf_reply *r)
{
	xfer_say(w->x, LOG_L_ERROR, "remote readdir(\"%s\"): %s", w->from,
		xfer_status_words(r).text);
	xfer_count_failure(w->x);
	w->is_eof = true;
}

static void close_it(struct walker *w)
{
	struct remote *r = w->x->from.r;
	if (w->handle.n > 0 && r->end == OK)
		remote_close(r, cslice_of(w->handle.p, w->handle.n));
	w->handle.n = 0;
}

static void on_open(struct sf_ask *a, const struct sf_reply *r)
{
	struct walker *w = a->arg;
	struct xfer *x = w->x;
	w->is_asked = false;
	w->is_opened = true;
	if (xfer_is_lost(x, r)) {
		w->is_over = true;
	} else if (r->type == SF_MSG_handle) {
		w->handle.n = r->handle.n;
		memcpy(w->handle.p, r->handle.p, r->handle.n);
		walk_remote_step(w);
	} else {
		say_failure(w, r);
	}
	xfer_answered(x);
}

static bool batch_take(struct batch *b, const struct sf_name *name)
{
	uint8_t *p = malloc(num_max(name->entries.n, 1));
	if (p == NULL)
		return false;
	memcpy(p, name->entries.p, name->entries.n);
	free(b->p);
	*b = (struct batch){.p = p, .rest = {p, name->entries.n}, .count = name->count};
	return true;
}

static void on_names(struct sf_ask *a, const struct sf_reply *r)
{
	struct walker *w = a->arg;
	struct xfer *x = w->x;
	w->is_asked = false;
	if (xfer_is_lost(x, r)) {
		w->is_over = true;
	} else if (r->type == SF_MSG_name && r->name.count > 0) {
		if (!batch_take(w->now.count == 0 ? &w->now : &w->next, &r->name))
			say_failure(w, r);
		walk_remote_step(w);
	} else if (r->type == SF_MSG_status && r->code != SF_eof) {
		say_failure(w, r);
	} else {
		w->is_eof = true;
	}
	xfer_answered(x);
}

void walk_remote_step(struct walker *w)
{
	struct xfer *x = w->x;
	struct sf_client *sf = x->from.r->sf;
	if (w->is_asked || w->is_eof || w->is_over || x->end != OK || w->next.count > 0)
		return;
	err_t e;
	if (!w->is_opened) {
		w->ask = (struct sf_ask){.on = on_open, .arg = w};
		e = sf_ask_opendir(sf, &w->ask, &(struct sf_opendir){.path = cslice_str(w->from)});
	} else {
		struct cslice handle = cslice_of(w->handle.p, w->handle.n);
		w->ask = (struct sf_ask){.on = on_names, .arg = w};
		e = sf_ask_readdir(sf, &w->ask, &(struct sf_readdir){.handle = handle});
	}
	w->is_asked = xfer_asked(x, e) == OK;
}

bool walk_remote_peek(struct walker *w, struct sf_entry *out)
{
	if (w->now.count == 0 && w->next.count > 0) {
		free(w->now.p);
		w->now = w->next;
		w->next = (struct batch){0};
		walk_remote_step(w);
	}
	struct cslice rest = w->now.rest;
	if (w->now.count > 0 && sf_next_entry(&rest, out) == OK)
		return true;
	if (w->now.count > 0) {
		xfer_say(w->x, LOG_L_ERROR, "remote readdir(\"%s\"): Bad message", w->from);
		xfer_count_failure(w->x);
		w->now.count = 0;
		w->is_eof = true;
	}
	if (w->is_eof && !w->is_asked) {
		close_it(w);
		w->is_over = true;
	}
	return false;
}

/* The entry that was seen is taken; what it points to holds until walk_remote_done. */
void walk_remote_take(struct walker *w)
{
	struct sf_entry e;
	w->now.count--;
	if (sf_next_entry(&w->now.rest, &e) != OK)
		w->now.count = 0;
}

void walk_remote_done(struct walker *w)
{
	walk_remote_step(w);
}
