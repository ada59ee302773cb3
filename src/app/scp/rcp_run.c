/* SPDX-License-Identifier: ISC */
/* rcp_run - the loop of a copy by the old protocol: links, words, rate, progress */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/scp/rcp_int.h"
#include "base/text.h"

#define RATE_TURN_US 50000
#define RATE_BURST   ((uint64_t)2 * RATE_TURN_US)

/* ---- words ------------------------------------------------------------------------------------
 */

static void say(struct rcp_run *r, enum log_level level, struct cslice text)
{
	struct buf safe;
	buf_init(&safe, 4 * RCP_TEXT_ROOM + 1);
	vis_put(&safe, text);
	buf_put_u8(&safe, 0);
	if (buf_err(&safe) == OK && r->env->say != NULL)
		r->env->say(r->env->arg, level, (const char *)safe.p);
	buf_done(&safe);
}

void rcp_tell(struct rcp_run *r, enum log_level level, const char *fmt, ...)
{
	char text[RCP_TEXT_ROOM];
	va_list ap;
	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (!r->is_server)
		say(r, level, cslice_str(text));
}

const char *rcp_failed(struct rcp_run *r, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	(void)vsnprintf(r->text, sizeof(r->text), fmt, ap);
	va_end(ap);
	r->failed++;
	if (!r->is_server)
		say(r, LOG_L_ERROR, cslice_str(r->text));
	return r->text;
}

void rcp_peer_failed(struct rcp_run *r, struct cslice text)
{
	r->failed++;
	if (!r->is_server)
		say(r, LOG_L_ERROR, text);
}

void rcp_broken(struct rcp_run *r, const struct rcp_side *side, err_t e)
{
	const char *why = rcp_why(side);
	r->failed++;
	rcp_tell(r, LOG_L_ERROR, "%s", why[0] != '\0' ? why : err_text(e));
	rcp_run_over(r, e);
}

/* ---- out --------------------------------------------------------------------------------------
 */

static void link_failed(struct rcp_run *r, err_t e)
{
	if (e != E_AGAIN && e != E_CLOSED) /* the end of it is told by itself */
		rcp_run_over(r, e);
}

size_t rcp_put_some(struct rcp_run *r, struct rcp_io *io, struct cslice data)
{
	struct iovec iov[TP_BULK_MAX];
	size_t niov = 0, at = 0;
	if (data.n == 0 || io->is_ended || io->is_finished)
		return 0;
	err_t e = io->link->ops->reserve(io->link, data.n, iov, &niov);
	if (e != OK) {
		link_failed(r, e);
		return 0;
	}
	for (size_t i = 0; i < niov && at < data.n; i++) {
		size_t n = num_min(iov[i].iov_len, data.n - at);
		memcpy(iov[i].iov_base, data.p + at, n);
		at += n;
	}
	e = io->link->ops->commit(io->link, at);
	if (e != OK) {
		link_failed(r, e);
		return 0;
	}
	return at;
}

bool rcp_flush(struct rcp_run *r, struct rcp_io *io)
{
	size_t n;
	do {
		n = rcp_put_some(r, io, rcp_ready(io->side));
		rcp_sent(io->side, n);
	} while (n > 0);
	return rcp_ready(io->side).n == 0;
}

void rcp_finish(struct rcp_io *io)
{
	if (!io->is_finished && !io->is_ended)
		io->link->ops->finish(io->link);
	io->is_finished = true;
}

/* ---- in ---------------------------------------------------------------------------------------
 */

static bool keep(struct rcp_io *io, struct span s)
{
	if (io->kept_at + io->kept_n == io->kept_cap) {
		size_t cap = io->kept_cap * 2 + 16;
		struct span *v = malloc(cap * sizeof(*v));
		if (v == NULL)
			return false;
		if (io->kept_n > 0)
			memcpy(v, io->kept + io->kept_at, io->kept_n * sizeof(*v));
		free(io->kept);
		io->kept = v;
		io->kept_at = 0;
		io->kept_cap = cap;
	}
	io->kept[io->kept_at + io->kept_n++] = s;
	return true;
}

static void unkeep(struct rcp_io *io)
{
	span_drop(&io->kept[io->kept_at++]);
	if (--io->kept_n == 0)
		io->kept_at = 0;
}

/* What was kept goes first. */
static void take_kept(struct rcp_run *r, struct rcp_io *io)
{
	bool has_dropped = false;
	while (io->kept_n > 0 && !r->is_over) {
		struct span *s = &io->kept[io->kept_at];
		struct cslice in = {s->p, s->n};
		r->role->take(r, io, &in);
		s->p += s->n - in.n;
		s->n = in.n;
		if (in.n > 0)
			break;
		unkeep(io);
		has_dropped = true;
	}
	if (has_dropped && !io->is_ended)
		io->link->ops->kick(io->link); /* there is room to read into again */
}

static void on_bytes(void *arg, struct span s)
{
	struct rcp_io *io = arg;
	struct rcp_run *r = io->run;
	take_kept(r, io);
	struct cslice in = {s.p, s.n};
	if (io->kept_n == 0 && !r->is_over)
		r->role->take(r, io, &in);
	if (in.n == 0 || r->is_over)
		return;
	s.p += s.n - in.n;
	s.n = in.n;
	if (s.c == NULL || !keep(io, s)) {
		rcp_failed(r, "%s", err_text(E_MEM));
		rcp_run_over(r, E_MEM);
		return;
	}
	span_keep(&s);
}

/* ---- the loop ---------------------------------------------------------------------------------
 */

static void work(struct rcp_run *r)
{
	for (size_t i = 0; i < r->ios; i++)
		take_kept(r, &r->io[i]);
	if (!r->is_over)
		r->role->turn(r);
	for (size_t i = 0; i < r->ios; i++) {
		if (r->io[i].side != NULL)
			(void)rcp_flush(r, &r->io[i]);
		if (!r->io[i].is_ended)
			r->io[i].link->ops->kick(r->io[i].link);
	}
	for (size_t i = 0; i < r->ios && !r->is_over; i++) {
		if (r->io[i].is_ended && r->io[i].kept_n == 0)
			r->role->ended(r, &r->io[i]);
	}
}

static void on_room(void *arg)
{
	struct rcp_io *io = arg;
	if (!io->run->is_over)
		work(io->run);
}

static void on_end(void *arg, err_t why)
{
	struct rcp_io *io = arg;
	io->is_ended = true;
	io->why = why;
	if (!io->run->is_over)
		work(io->run);
}

static void on_timer(struct ev_timer *t, uint64_t now_us)
{
	struct rcp_run *r = t->arg;
	(void)now_us;
	if (!r->is_over)
		work(r);
}

void rcp_run_init(struct rcp_run *r, const struct rcp_env *env)
{
	*r = (struct rcp_run){.env = env};
	r->timer = (struct ev_timer){.at_us = UINT64_MAX, .on = on_timer, .arg = r};
}

void rcp_run_link(struct rcp_run *r, struct link *link, struct rcp_side *side)
{
	struct rcp_io *io = &r->io[r->ios++];
	*io = (struct rcp_io){.run = r, .link = link, .side = side};
	link->on_bytes = on_bytes;
	link->on_room = on_room;
	link->on_end = on_end;
	link->arg = io;
}

void rcp_run_over(struct rcp_run *r, err_t e)
{
	if (r->is_over)
		return;
	r->is_over = true;
	r->err = e;
	ev_stop(r->env->ev);
}

err_t rcp_result(err_t e)
{
	return e == E_INTERRUPTED || e == E_IO || e == E_MEM ? e : OK; /* others are counted */
}

static bool is_interrupted(const struct rcp_run *r)
{
	return r->env->is_interrupted != NULL && *r->env->is_interrupted;
}

static void let_go(struct rcp_run *r)
{
	for (size_t i = 0; i < r->ios; i++) {
		struct rcp_io *io = &r->io[i];
		if (io->side != NULL && !io->is_ended)
			(void)rcp_flush(r, io); /* why it is over */
		rcp_finish(io);
		while (io->kept_n > 0)
			unkeep(io);
		free(io->kept);
		io->link->on_bytes = NULL;
		io->link->on_room = NULL;
		io->link->on_end = NULL;
	}
	ev_timer_stop(r->env->ev, &r->timer);
}

err_t rcp_run_loop(struct rcp_run *r)
{
	err_t e = OK;
	r->rate_at_us = ev_now(r->env->ev);
	if (!r->is_over)
		work(r);
	while (!r->is_over && e == OK) {
		e = ev_run(r->env->ev);
		if (!r->is_over && is_interrupted(r)) {
			r->role->stopped(r);
			rcp_run_over(r, E_INTERRUPTED);
		}
	}
	if (e != OK)
		rcp_run_over(r, e);
	let_go(r);
	r->p.is_end = true;
	r->p.failed = r->failed;
	if (r->env->progress != NULL)
		r->env->progress(r->env->arg, &r->p);
	return r->err;
}

/* ---- rate and progress ------------------------------------------------------------------------
 */

size_t rcp_rate(struct rcp_run *r, size_t want)
{
	uint64_t limit = r->env->opts.limit_bytes_s, now = ev_now(r->env->ev);
	if (limit == 0)
		return want;
	uint64_t passed = now - r->rate_at_us;
	if (passed > RATE_BURST)
		passed = RATE_BURST;
	uint64_t grown = passed * limit / 1000000;
	if (grown > 0) {
		uint64_t most = RATE_BURST * limit / 1000000 + 1;
		r->rate_room += grown;
		if (r->rate_room > most)
			r->rate_room = most;
		r->rate_at_us = now;
	}
	if (r->rate_room == 0)
		ev_timer_set(r->env->ev, &r->timer, now + RATE_TURN_US);
	return r->rate_room < want ? (size_t)r->rate_room : want;
}

void rcp_rate_used(struct rcp_run *r, size_t n)
{
	r->rate_room -= n < r->rate_room ? n : r->rate_room;
}

static void show(struct rcp_run *r)
{
	r->p.failed = r->failed;
	if (r->env->progress != NULL)
		r->env->progress(r->env->arg, &r->p);
}

void rcp_progress_begin(struct rcp_run *r, const char *name, uint64_t size)
{
	r->p.name = name;
	r->p.file_done = 0;
	r->p.file_size = size;
	r->p.files++;
	r->p.size += size;
	r->p.is_file_end = false;
	show(r);
}

void rcp_progress_data(struct rcp_run *r, uint64_t n)
{
	r->p.file_done += n;
	r->p.done += n;
	show(r);
}

void rcp_progress_end(struct rcp_run *r)
{
	r->p.files_done++;
	r->p.is_file_end = true;
	show(r);
	r->p.name = NULL;
	r->p.is_file_end = false;
}

char *rcp_join(const char *dir, const char *name)
{
	size_t n = strlen(dir), room = n + strlen(name) + 2;
	char *path = malloc(room);
	const char *slash = n == 0 || dir[n - 1] == '/' ? "" : "/";
	if (path != NULL)
		(void)snprintf(path, room, "%s%s%s", dir, slash, name);
	return path;
}
