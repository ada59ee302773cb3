/* SPDX-License-Identifier: ISC */
/*
 * remote_list - a directory, whole
 *
 * Every server answers the READDIRs of one handle in their order, so several are asked for ahead:
 * few at first, since most directories are small, then more with each answer that was full.
 */
#include <stdlib.h>

#include "base/log.h"
#include "base/text.h"
#include "transfer/remote_int.h"

#define AHEAD_FIRST 4
#define BYTES_MAX   ((size_t)256 << 20) /* names and all: a server that never ends does end */
#define ENTRY_COST  64                  /* of the allocator, for its two strings */
#define WARN_MAX    10                  /* bad names told one by one */

/* ---- what came --------------------------------------------------------------------------------
 */
static bool is_name(struct cslice s)
{
	return s.n > 0 && memchr(s.p, '/', s.n) == NULL && memchr(s.p, '\0', s.n) == NULL;
}

static void tell_bad(struct remote_listing *l, struct cslice name)
{
	l->told++;
	if (l->told < WARN_MAX)
		log_put(LOG_L_ERROR, "Server sent suspect path \"%.*s\" during readdir of \"%s\"",
			(int)num_min(name.n, 256), (const char *)name.p, l->path);
	else if (l->told == WARN_MAX)
		log_put(LOG_L_ERROR, "Server sent more suspect paths during readdir of \"%s\"",
			l->path);
}

static err_t grow(struct remote_dir *d)
{
	size_t cap = d->cap == 0 ? 64 : d->cap * 2;
	struct remote_entry *v = realloc(d->v, cap * sizeof(*v));
	if (v == NULL)
		return E_MEM;
	d->v = v;
	d->cap = cap;
	return OK;
}

/* A copy that ends at the first NUL: only shown, never used. */
static char *copy_shown(struct cslice s)
{
	const uint8_t *nul = s.n > 0 ? memchr(s.p, 0, s.n) : NULL;
	char *copy = NULL;
	if (nul != NULL)
		s.n = (size_t)(nul - s.p);
	return text_dup(s, &copy) == OK ? copy : NULL;
}

static err_t add(struct remote_listing *l, const struct sf_entry *e)
{
	struct remote_dir *d = &l->dir;
	struct remote_entry *to;
	l->bytes += sizeof(*to) + ENTRY_COST + e->filename.n + e->longname.n;
	if (l->bytes > BYTES_MAX)
		return E_LIMIT;
	if (!is_name(e->filename)) {
		tell_bad(l, e->filename);
		return OK;
	}
	if (d->n == d->cap)
		TRY(grow(d));
	to = &d->v[d->n];
	*to = (struct remote_entry){.a = e->a};
	to->a.flags &= ~SF_A_EXTENDED;
	to->a.extended = cslice_of(NULL, 0);
	to->a.extended_n = 0;
	to->longname = copy_shown(e->longname);
	if (to->longname == NULL)
		return E_MEM;
	err_t why = text_dup(e->filename, &to->name);
	if (why != OK) {
		free(to->longname);
		return why;
	}
	d->n++;
	return OK;
}

static err_t take_names(struct remote_listing *l, const struct sf_name *m)
{
	struct cslice rest = m->entries;
	struct sf_entry e;
	for (uint32_t i = 0; i < m->count; i++) {
		TRY(sf_next_entry(&rest, &e));
		TRY(add(l, &e));
	}
	l->is_at_end = l->is_at_end || m->count == 0;
	return OK;
}

/* ---- asking -----------------------------------------------------------------------------------
 */
static void finish(struct remote_listing *l)
{
	if (l->under_way > 0)
		return;
	if (l->handle_n > 0 && l->r->end == OK)
		remote_close(l->r, cslice_of(l->handle, l->handle_n));
	l->handle_n = 0;
	l->on_done(l, l->e);
}

static void on_names(struct sf_ask *a, const struct sf_reply *reply);

static void ask_one(struct remote_listing *l, struct sf_ask *a)
{
	*a = (struct sf_ask){.on = on_names, .arg = l};
	struct sf_readdir m = {.handle = cslice_of(l->handle, l->handle_n)};
	err_t e = sf_ask_readdir(l->r->sf, a, &m);
	if (e == OK)
		l->under_way++;
	else if (l->under_way == 0 && l->e == OK) /* else those under way ask again */
		l->e = e;
}

static void note_failure(struct remote_listing *l, err_t e)
{
	l->is_at_end = true;
	if (l->e == OK)
		l->e = e;
}

static void note_status(struct remote_listing *l, const struct sf_reply *reply)
{
	if (reply->code == SF_eof) {
		l->is_at_end = true;
		return;
	}
	if (l->e == OK && !l->is_at_end) {
		l->code = reply->code;
		note_failure(l, remote_status(l->r, reply));
	}
}

static void on_names(struct sf_ask *a, const struct sf_reply *reply)
{
	struct remote_listing *l = a->arg;
	struct remote *r = l->r;
	l->under_way--;
	if (reply->err != OK) {
		note_failure(l, reply->err);
	} else if (reply->type == SF_MSG_status) {
		note_status(l, reply);
	} else if (!l->is_at_end) {
		err_t e = take_names(l, &reply->name);
		if (e != OK)
			note_failure(l, e);
	}
	if (l->is_at_end || l->e != OK) {
		finish(l);
		return;
	}
	ask_one(l, a);
	size_t most = r->requests_max != 0 ? num_min(r->requests_max, REMOTE_AHEAD_MAX)
					   : REMOTE_AHEAD_MAX;
	if (l->ahead_n < most)
		ask_one(l, &l->ahead[l->ahead_n++]);
	remote_push(r);
}

static void on_open(struct sf_ask *a, const struct sf_reply *reply)
{
	struct remote_listing *l = a->arg;
	struct remote *r = l->r;
	if (reply->err != OK) {
		note_failure(l, reply->err);
	} else if (reply->type != SF_MSG_handle) {
		l->code = reply->code;
		note_failure(l, remote_status(r, reply));
	} else {
		memcpy(l->handle, reply->handle.p, num_min(reply->handle.n, sizeof(l->handle)));
		l->handle_n = reply->handle.n;
		size_t first =
			r->requests_max != 0 ? num_min(r->requests_max, AHEAD_FIRST) : AHEAD_FIRST;
		while (l->ahead_n < first)
			ask_one(l, &l->ahead[l->ahead_n++]);
	}
	if (l->e != OK || l->under_way == 0)
		finish(l);
	else
		remote_push(r);
}

err_t remote_list_start(struct remote_listing *l, struct remote *r, const char *path)
{
	void (*on_done)(struct remote_listing *, err_t) = l->on_done;
	void *arg = l->arg;
	if (r->end != OK)
		return r->end;
	*l = (struct remote_listing){.on_done = on_done, .arg = arg, .r = r, .path = path};
	l->open = (struct sf_ask){.on = on_open, .arg = l};
	TRY(sf_ask_opendir(r->sf, &l->open, &(struct sf_opendir){.path = cslice_str(path)}));
	remote_push(r);
	return OK;
}

/* ---- and waiting for it -----------------------------------------------------------------------
 */
struct waiting {
	struct remote_listing l;
	char *path;
	bool is_done, is_left;
	err_t e;
};

static void waiting_free(struct waiting *w)
{
	remote_dir_free(&w->l.dir);
	free(w->path);
	free(w);
}

static void on_done(struct remote_listing *l, err_t e)
{
	struct waiting *w = l->arg;
	struct remote *r = l->r;
	if (w->is_left) {
		waiting_free(w);
		return;
	}
	w->e = e;
	w->is_done = true;
	remote_wake(r);
}

err_t remote_list(struct remote *r, const char *path, struct remote_dir *out)
{
	struct waiting *w = calloc(1, sizeof(*w));
	if (w == NULL)
		return E_MEM;
	w->path = strdup(path);
	w->l.on_done = on_done;
	w->l.arg = w;
	err_t e = w->path == NULL ? E_MEM : remote_list_start(&w->l, r, w->path);
	if (e != OK) {
		waiting_free(w);
		return e;
	}
	e = remote_run_until(r, &w->is_done);
	if (!w->is_done) { /* it ends by itself */
		w->is_left = true;
		w->l.is_at_end = true;
		return e;
	}
	e = w->e;
	if (e == OK) {
		*out = w->l.dir;
		w->l.dir = (struct remote_dir){0};
	}
	waiting_free(w);
	if (e == E_FORMAT)
		remote_lost(r, e);
	return e;
}

void remote_dir_free(struct remote_dir *d)
{
	for (size_t i = 0; i < d->n; i++) {
		free(d->v[i].name);
		free(d->v[i].longname);
	}
	free(d->v);
	*d = (struct remote_dir){0};
}
