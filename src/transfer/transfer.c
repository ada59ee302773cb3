/* SPDX-License-Identifier: ISC */
/*
 * transfer - files and trees from one end to another
 *
 * Answers only change what is known; what follows from it is done in xfer_turn, once a turn of the
 * loop, so that requests of many files leave together and the bytes of a turn reach the disk in
 * few calls.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/text.h"
#include "transfer/transfer_int.h"

#define TICK_US      100000
#define FILES_MIN    8
#define FILES_MOST   192
#define FILES_LOCAL  16
#define HANDLES_SAFE 96 /* of servers that do not say how many */
#define OWN_FDS      40
#define LEFT_MAX     8 /* files left half-done that are named */
#define TEXT_MAX     ((size_t)16384)

/* ---- words ------------------------------------------------------------------------------------
 */
void xfer_say(struct xfer *x, enum log_level level, const char *fmt, ...)
{
	struct buf text, safe;
	char *line = NULL;
	va_list ap;
	va_start(ap, fmt);
	int n = vasprintf(&line, fmt, ap);
	va_end(ap);
	if (n < 0)
		return;
	buf_init(&text, TEXT_MAX);
	buf_init(&safe, 4 * TEXT_MAX);
	buf_put(&text, line, num_min((size_t)n, TEXT_MAX));
	free(line);
	vis_put(&safe, buf_bytes(&text));
	buf_put_u8(&safe, 0);
	if (x->env.say != NULL && buf_err(&safe) == OK)
		x->env.say(x->env.arg, level, (const char *)safe.p);
	buf_done(&text);
	buf_done(&safe);
}

void xfer_count_failure(struct xfer *x, size_t item)
{
	x->items[item].has_failed = true;
	x->p.failed++;
}

/* Scripts know the words of the usual codes; a plain failure says nothing, so what the server adds
 * to it is told instead. */
struct xfer_words xfer_status_words(const struct sf_reply *r)
{
	struct xfer_words w;
	bool is_vague = r->code == SF_failure || r->code > SF_op_unsupported;
	const char *known =
		r->code == SF_no_such_file ? "No such file or directory" : sf_status_text(r->code);
	if (is_vague && r->message.n > 0)
		(void)snprintf(w.text, sizeof(w.text), "%.*s",
			(int)num_min(r->message.n, sizeof(w.text)), (const char *)r->message.p);
	else
		(void)snprintf(w.text, sizeof(w.text), "%s", known);
	return w;
}

char *xfer_join(const char *dir, const char *name)
{
	size_t n = strlen(dir), name_n = strlen(name);
	bool has_slash = n == 0 || dir[n - 1] == '/';
	char *p = malloc(n + name_n + 2);
	if (p == NULL)
		return NULL;
	memcpy(p, dir, n);
	if (!has_slash)
		p[n++] = '/';
	memcpy(p + n, name, name_n + 1);
	return p;
}

const char *xfer_last(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash != NULL ? slash + 1 : path;
}

/* ---- requests under way -----------------------------------------------------------------------
 */
bool xfer_is_lost(struct xfer *x, const struct sf_reply *r)
{
	if (r->err == OK)
		return false;
	if (x->end == OK || x->end == E_INTERRUPTED)
		x->end = r->err;
	return true;
}

err_t xfer_asked(struct xfer *x, err_t e)
{
	if (e == OK) {
		x->asks++;
		return OK;
	}
	if (e == E_LIMIT || e == E_AGAIN)
		return E_AGAIN;
	if (x->end == OK)
		x->end = e;
	return e;
}

static void release(struct xfer *x);

void xfer_answered(struct xfer *x)
{
	x->asks--;
	x->is_again = true;
	if (x->asks == 0 && x->is_freed)
		release(x);
}

/* ---- the window -------------------------------------------------------------------------------
 */
static size_t files_by_handles(const struct remote *r)
{
	uint64_t handles = sf_client_caps(r->sf).handles;
	if (handles == 0)
		handles = HANDLES_SAFE + FILES_MIN;
	size_t n = handles > FILES_MOST + XFER_BREADTH ? FILES_MOST : (size_t)handles * 2 / 3;
	if (r->requests_max != 0)
		n = num_min(n, num_max(r->requests_max, 1));
	return num_max(n, 1);
}

static size_t files_most(const struct xfer *x)
{
	struct rlimit lim;
	size_t n = x->from.r == NULL && x->to.r == NULL ? FILES_LOCAL : FILES_MOST;
	if (getrlimit(RLIMIT_NOFILE, &lim) == 0 && lim.rlim_cur < OWN_FDS + XFER_DEPTH_MAX + 3 * n)
		n = lim.rlim_cur > OWN_FDS + XFER_DEPTH_MAX + 3 * FILES_MIN
			    ? (size_t)(lim.rlim_cur - OWN_FDS - XFER_DEPTH_MAX) / 3
		    : lim.rlim_cur > OWN_FDS + 3 * FILES_MIN ? FILES_MIN
							     : num_max(1, (size_t)lim.rlim_cur / 8);
	if (x->from.r != NULL)
		n = num_min(n, files_by_handles(x->from.r));
	if (x->to.r != NULL)
		n = num_min(n, files_by_handles(x->to.r));
	return n;
}

static uint64_t depth_of(const struct xfer *x)
{
	uint64_t from = x->from.r != NULL ? x->from.r->depth : 0;
	uint64_t to = x->to.r != NULL ? x->to.r->depth : 0;
	return from > to ? from : to;
}

/* So many files that what they have to move keeps the path full, and some more. */
bool xfer_is_open(const struct xfer *x)
{
	uint64_t ahead = 0, wish = 2 * depth_of(x);
	size_t whole = 0;
	if (x->end != OK || x->jobs_n >= x->files_max)
		return false;
	list_each (at, tmp, &x->jobs) {
		const struct job *j = LIST_ENTRY(at, struct job, link);
		if (j->phase > JOB_DATA)
			continue;
		ahead += j->m.size > j->reached ? j->m.size - j->reached : 0;
		if (++whole > 1 && ahead > wish)
			return false;
	}
	return true;
}

/* ---- a turn -----------------------------------------------------------------------------------
 */
static void steps(struct xfer *x)
{
	struct list now;
	list_init(&now);
	while (!list_is_empty(&x->ready)) {
		struct list *at = x->ready.next;
		list_remove(at);
		list_push(&now, at);
	}
	while (!list_is_empty(&now)) {
		struct job *j = LIST_ENTRY(now.next, struct job, ready);
		list_remove(&j->ready);
		job_step(j);
	}
}

static void stop_all(struct xfer *x)
{
	plan_stop(x);
	list_each (at, tmp, &x->jobs)
		job_stop(LIST_ENTRY(at, struct job, link));
}

/* Also what nobody waits for is through: the next one to use the server finds it at rest. */
static bool is_quiet(const struct remote *r)
{
	return r == NULL || r->end != OK || sf_client_pending(r->sf) == 0;
}

static bool is_idle(const struct xfer *x)
{
	if (!is_quiet(x->from.r) || !is_quiet(x->to.r))
		return false;
	return list_is_empty(&x->jobs) && list_is_empty(&x->walkers) && x->places == 0 &&
	       x->asks == 0 && (x->items_at == x->items_n || x->end != OK);
}

static void once(struct xfer *x)
{
	x->is_again = false;
	down_flush(x);
	if (x->end != OK)
		stop_all(x);
	steps(x);
	movers_turn(x);
	place_turn(x);
	plan_turn(x);
}

void xfer_turn(struct xfer *x)
{
	if (x->is_in_turn || !x->is_running || x->is_over) {
		x->is_again = true;
		return;
	}
	x->is_in_turn = true;
	for (int i = 0; i < 4 && (i == 0 || x->is_again); i++)
		once(x);
	if (x->from.r != NULL)
		remote_push(x->from.r);
	if (x->to.r != NULL && x->to.r != x->from.r)
		remote_push(x->to.r);
	progress_turn(x, false);
	x->is_in_turn = false;
	if (is_idle(x) || x->interrupts > 1) {
		x->is_over = true;
		ev_stop(x->ev);
	}
}

static void on_turn(void *arg)
{
	struct xfer *x = arg;
	struct remote *ends[2] = {x->from.r, x->to.r};
	for (size_t i = 0; i < 2; i++)
		if (ends[i] != NULL && ends[i]->end != OK &&
			(x->end == OK || x->end == E_INTERRUPTED))
			x->end = ends[i]->end;
	xfer_turn(x);
}

static void on_tick(struct ev_timer *t, uint64_t now_us)
{
	struct xfer *x = t->arg;
	uint64_t wait = rate_wait_us(&x->rate);
	bool is_local = x->from.r == NULL && x->to.r == NULL;
	on_turn(x);
	if (x->is_over)
		return;
	ev_timer_set(x->ev, t, now_us + (is_local ? 0 : wait < TICK_US ? wait : TICK_US));
}

/* ---- run --------------------------------------------------------------------------------------
 */
struct taken { /* who was told of the turns before */
	void (*on_turn)(void *arg);
	void *arg;
};

static struct taken take(struct remote *r, struct xfer *x)
{
	struct taken before = {NULL, NULL};
	if (r != NULL) {
		before = (struct taken){r->on_turn, r->arg};
		r->on_turn = on_turn;
		r->arg = x;
	}
	return before;
}

static void give_back(struct remote *r, struct taken before)
{
	if (r != NULL) {
		r->on_turn = before.on_turn;
		r->arg = before.arg;
	}
}

err_t xfer_run(struct xfer *x)
{
	struct taken from = take(x->from.r, x);
	struct taken to = x->to.r != x->from.r ? take(x->to.r, x) : (struct taken){NULL, NULL};
	err_t e = OK;
	if (x->is_over && x->interrupts == 0 && x->end == OK)
		x->is_over = false;
	x->files_max = files_most(x);
	x->is_running = true;
	x->timer = (struct ev_timer){.at_us = UINT64_MAX, .on = on_tick, .arg = x};
	rate_init(&x->rate, x->env.opts.limit_bytes_s, os_monotonic_us());
	ev_timer_set(x->ev, &x->timer, 0);
	while (e == OK && !x->is_over)
		e = ev_run(x->ev);
	ev_timer_stop(x->ev, &x->timer);
	x->is_running = false;
	if (x->to.r != x->from.r)
		give_back(x->to.r, to);
	give_back(x->from.r, from);
	if (x->interrupts > 1)
		list_each (at, tmp, &x->jobs)
			job_abandon(LIST_ENTRY(at, struct job, link));
	if (x->left_more > 0)
		xfer_say(x, LOG_L_ERROR, "and %zu more files were left incomplete", x->left_more);
	x->left_more = 0;
	progress_turn(x, true);
	return x->end != OK ? x->end : e;
}

/* ---- life -------------------------------------------------------------------------------------
 */
err_t xfer_new(struct xfer **out, const struct xfer_env *env)
{
	if (env->opts.atomic && (env->opts.resume || env->opts.resume_checked))
		return E_USAGE; /* there is nothing to be continued */
	struct xfer *x = calloc(1, sizeof(*x));
	uint8_t *scratch = malloc(2 * XFER_BLOCK);
	if (x == NULL || scratch == NULL) {
		free(x);
		free(scratch);
		return E_MEM;
	}
	x->env = *env;
	x->scratch = scratch;
	x->from.r = env->ends.from;
	x->to.r = env->ends.to;
	x->ev = x->from.r != NULL ? x->from.r->ev : x->to.r != NULL ? x->to.r->ev : env->ev;
	struct list *lists[] = {&x->walkers, &x->jobs, &x->ready, &x->movers, &x->endings,
		&x->refused, &x->slots, &x->wslots};
	for (size_t i = 0; i < ARRAY_N(lists); i++)
		list_init(lists[i]);
	*out = x;
	return OK;
}

err_t xfer_add(struct xfer *x, const struct xfer_item *item)
{
	if (x->items_n == x->items_cap) {
		size_t cap = x->items_cap * 2 + 16;
		struct xfer_item_own *v = realloc(x->items, cap * sizeof(*v));
		if (v == NULL)
			return E_MEM;
		x->items = v;
		x->items_cap = cap;
	}
	struct xfer_item_own own = {
		strdup(item->from), strdup(item->to), item->is_peer_name, false};
	if (own.from == NULL || own.to == NULL) {
		free(own.from);
		free(own.to);
		return E_MEM;
	}
	x->items[x->items_n++] = own;
	return OK;
}

void xfer_interrupt(struct xfer *x)
{
	x->interrupts++;
	if (x->end == OK)
		x->end = E_INTERRUPTED;
	if (x->is_running)
		ev_timer_set(x->ev, &x->timer, 0);
}

uint64_t xfer_failed(const struct xfer *x)
{
	return x->p.failed;
}

bool xfer_item_failed(const struct xfer *x, size_t i)
{
	return x->items[i].has_failed;
}

static void release(struct xfer *x)
{
	list_each (at, tmp, &x->jobs)
		job_free(LIST_ENTRY(at, struct job, link));
	list_each (w, next, &x->walkers)
		walker_free(LIST_ENTRY(w, struct walker, link));
	list_each (s, after, &x->slots) {
		list_remove(s);
		free(LIST_ENTRY(s, struct slot, link));
	}
	wslots_free(x);
	for (size_t i = 0; i < x->items_n; i++) {
		free(x->items[i].from);
		free(x->items[i].to);
	}
	free(x->items);
	free(x->scratch);
	free(x);
}

/* After a second interrupt answers may still come: then all lives until the last one. */
void xfer_free(struct xfer *x)
{
	if (x == NULL)
		return;
	x->is_freed = true;
	x->env.say = NULL;
	x->env.progress = NULL;
	if (x->asks == 0)
		release(x);
}
