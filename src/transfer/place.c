/* SPDX-License-Identifier: ISC */
/*
 * place - a directory of the destination
 *
 * It is made before anything goes into it, and gets its own mode and times once the last file and
 * directory in it is through: each of those holds a reference.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "transfer/transfer_int.h"

#define OWNER_ALL   0700u /* while it is filled */
#define OWNER_WRITE 0300u

void place_keep(struct place *p)
{
	if (p != NULL)
		p->refs++;
}

static void settle(struct place *p, enum place_state state)
{
	p->state = state;
	while (!list_is_empty(&p->waiting)) {
		struct list *at = p->waiting.next;
		list_remove(at);
		list_push(&p->x->ready, at);
	}
	p->x->is_again = true;
}

static void refuse(struct place *p, const char *text)
{
	struct xfer *x = p->x;
	bool is_known = p->parent != NULL && p->parent->state == PLACE_FAILED;
	if (!is_known && x->end == OK) {
		xfer_say(x, LOG_L_ERROR, "%s", text);
		xfer_count_failure(x, p->item);
	}
	settle(p, PLACE_FAILED);
}

/* ---- local ------------------------------------------------------------------------------------
 */
static void refuse_local(struct place *p, err_t e, int why)
{
	char *text = NULL;
	int n;
	if (e == E_DENIED && why == ELOOP)
		n = asprintf(
			&text, "\"%s\" is a symbolic link, which is not followed here", p->path);
	else if (why == ENOTDIR || why == EEXIST)
		n = asprintf(&text, "\"%s\" exists but is not a directory", p->path);
	else
		n = asprintf(&text, "mkdir %s: %s", p->path, strerror(why));
	refuse(p, n < 0 ? "mkdir: out of memory" : text);
	if (n >= 0)
		free(text);
}

static void make_in(struct place *p, struct beneath *dir, uint32_t mode)
{
	err_t e = beneath_mkdir(dir, p->name, mode);
	p->is_new = e == OK;
	if (e == OK || dir->why == EEXIST)
		e = beneath_dir(dir, p->name, &p->dir);
	if (e != OK)
		refuse_local(p, e, dir->why);
	else
		settle(p, PLACE_READY);
}

/* Where the person said; only a last part that came from the server is not followed. */
static void make_named(struct place *p, uint32_t mode, bool is_peer_name)
{
	if (!is_peer_name) {
		p->is_new = mkdir(p->path, (mode_t)mode) == 0;
		int why = errno;
		err_t e = p->is_new || why == EEXIST ? beneath_open(&p->dir, p->path) : E_IO;
		if (e != OK)
			refuse_local(p, e, p->is_new || why == EEXIST ? p->dir.why : why);
		else
			settle(p, PLACE_READY);
		return;
	}
	size_t n = (size_t)(p->name - p->path);
	char *above = n > 0 ? strndup(p->path, n) : strdup(".");
	struct beneath dir = BENEATH_NONE;
	if (above == NULL || beneath_open(&dir, above) != OK)
		refuse_local(p, E_IO, above == NULL ? ENOMEM : dir.why);
	else
		make_in(p, &dir, mode);
	beneath_close(&dir);
	free(above);
}

static void end_local(struct place *p)
{
	struct xfer *x = p->x;
	bool keep = x->env.opts.keep;
	uint32_t mode = keep ? p->m.mode & 01777 : p->m.mode & 0777 & ~x->env.umask;
	bool needs_mode = p->m.has_mode && p->is_new && (keep || (mode & OWNER_ALL) != OWNER_ALL);
	if (needs_mode && fchmod(p->dir.fd, (mode_t)mode) < 0)
		xfer_say(x, LOG_L_ERROR, "local chmod directory \"%s\": %s", p->path,
			strerror(errno));
	struct timespec t[2] = {{.tv_sec = p->m.atime, .tv_nsec = p->m.atime_ns},
		{.tv_sec = p->m.mtime, .tv_nsec = p->m.mtime_ns}};
	if (keep && p->m.has_times && futimens(p->dir.fd, t) < 0)
		xfer_say(x, LOG_L_ERROR, "local set times on \"%s\": %s", p->path, strerror(errno));
}

/* ---- remote -----------------------------------------------------------------------------------
 */
static void on_made(struct place *p, const struct sf_reply *r)
{
	p->is_new = r->type == SF_MSG_status && r->code == SF_ok;
	if (p->is_new) {
		settle(p, PLACE_READY);
		return;
	}
	/* No code says that there is one already. */
	p->words = xfer_status_words(r);
	p->next = PLACE_STAT;
	place_keep(p);
	list_push(&p->x->endings, &p->link);
}

static void on_seen(struct place *p, const struct sf_reply *r)
{
	char *text = NULL;
	int n = 0;
	bool is_there = r->type == SF_MSG_attrs;
	bool has_mode = is_there && (r->attr.flags & SF_A_MODE) != 0;
	if (is_there && (!has_mode || S_ISDIR(r->attr.mode))) {
		settle(p, PLACE_READY);
		return;
	}
	if (is_there)
		n = asprintf(&text, "\"%s\" exists but is not a directory", p->path);
	else
		n = asprintf(&text, "remote mkdir \"%s\": %s", p->path, p->words.text);
	refuse(p, n < 0 ? "remote mkdir: out of memory" : text);
	if (n >= 0)
		free(text);
}

static void on_answer(struct sf_ask *a, const struct sf_reply *r)
{
	struct place *p = a->arg;
	struct xfer *x = p->x;
	if (xfer_is_lost(x, r)) {
		if (p->next != PLACE_ATTR)
			settle(p, PLACE_FAILED);
	} else if (p->next == PLACE_MKDIR) {
		on_made(p, r);
	} else if (p->next == PLACE_STAT) {
		on_seen(p, r);
	} else if (r->code != SF_ok) {
		xfer_say(x, LOG_L_ERROR, "remote setstat \"%s\": %s", p->path,
			xfer_status_words(r).text);
		xfer_count_failure(x, p->item);
	}
	place_drop(p); /* what the request held */
	xfer_answered(x);
}

static err_t send(struct place *p)
{
	struct sf_client *sf = p->x->to.r->sf;
	struct cslice path = cslice_str(p->path);
	struct sf_attr a = {.flags = SF_A_MODE};
	p->ask = (struct sf_ask){.on = on_answer, .arg = p};
	switch (p->next) {
	case PLACE_MKDIR:
		a.mode = p->m.has_mode ? (p->m.mode & 01777) | OWNER_WRITE : 0777;
		return sf_ask_mkdir(sf, &p->ask, &(struct sf_mkdir){.path = path, .a = a});
	case PLACE_STAT:
		return sf_ask_stat(sf, &p->ask, &(struct sf_stat){.path = path});
	default:
		a.mode = p->m.mode & 01777;
		if (!p->m.has_mode)
			a.flags = 0;
		if (p->x->env.opts.keep && p->m.has_times) {
			a.flags |= SF_A_TIMES;
			a.atime = p->m.atime;
			a.mtime = p->m.mtime;
		}
		return sf_ask_setstat(sf, &p->ask, &(struct sf_setstat){.path = path, .a = a});
	}
}

static void ask(struct place *p)
{
	struct xfer *x = p->x;
	err_t e = x->end != OK ? x->end : xfer_asked(x, send(p));
	list_remove(&p->link);
	place_keep(p); /* by the request */
	if (e == OK)
		return;
	if (e == E_AGAIN)
		list_push(&x->endings, &p->link);
	else
		list_push(&x->refused, &p->link);
	x->is_again = true;
}

void place_turn(struct xfer *x)
{
	struct list now;
	list_init(&now);
	while (!list_is_empty(&x->endings)) {
		struct list *at = x->endings.next;
		list_remove(at);
		list_push(&now, at);
	}
	while (!list_is_empty(&now)) {
		struct place *p = LIST_ENTRY(now.next, struct place, link);
		ask(p);
		place_drop(p); /* what the wish to ask held */
	}
	while (!list_is_empty(&x->refused)) {
		struct place *p = LIST_ENTRY(x->refused.next, struct place, link);
		list_remove(&p->link);
		if (p->next != PLACE_ATTR)
			settle(p, PLACE_FAILED);
		place_drop(p);
	}
}

/* ---- life -------------------------------------------------------------------------------------
 */
struct place *place_new(struct job *j)
{
	struct xfer *x = j->x;
	struct place *p = calloc(1, sizeof(*p));
	if (p == NULL)
		return NULL;
	*p = (struct place){.x = x,
		.parent = j->to_dir,
		.item = j->item,
		.refs = 1,
		.dir = BENEATH_NONE,
		.path = j->to,
		.m = j->m};
	j->to = NULL;
	list_init(&p->waiting);
	list_init(&p->link);
	place_keep(p->parent);
	x->places++;
	size_t n = strlen(p->path);
	while (n > 1 && p->path[n - 1] == '/')
		p->path[--n] = '\0';
	p->name = xfer_last(p->path);
	if (x->to.r != NULL) {
		ask(p);
		return p;
	}
	uint32_t mode = (p->m.has_mode ? p->m.mode & 0777 & ~x->env.umask : 0777 & ~x->env.umask);
	if (p->parent == NULL)
		make_named(p, mode | OWNER_ALL, j->is_peer_name);
	else if (p->parent->state == PLACE_READY)
		make_in(p, &p->parent->dir, mode | OWNER_ALL);
	else
		settle(p, PLACE_FAILED);
	return p;
}

/* True: something is to be asked first, and it goes on living. */
static bool ends_later(struct place *p)
{
	struct xfer *x = p->x;
	bool is_good = p->state == PLACE_READY && x->end == OK && !p->is_ending;
	bool keep = x->env.opts.keep;
	bool is_odd = p->is_new && p->m.has_mode && (p->m.mode & OWNER_WRITE) != OWNER_WRITE;
	p->is_ending = true;
	if (is_good && x->to.r == NULL)
		end_local(p);
	if (!is_good || x->to.r == NULL || (!keep && !is_odd))
		return false;
	p->next = PLACE_ATTR;
	place_keep(p);
	list_push(&x->endings, &p->link);
	x->is_again = true;
	return true;
}

void place_drop(struct place *p)
{
	while (p != NULL && --p->refs == 0) {
		struct place *parent = p->parent;
		if (ends_later(p))
			return;
		beneath_close(&p->dir);
		p->x->places--;
		p->x->is_again = true;
		list_remove(&p->link);
		free(p->path);
		free(p);
		p = parent;
	}
}
