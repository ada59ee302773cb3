/* SPDX-License-Identifier: ISC */
/*
 * rcp_local_source - local files and trees, given by the old protocol
 *
 * One thing at a time: opened, told, sent, closed.  Links in a tree are followed, as this protocol
 * has none; a directory that is inside itself by one is left out.  A file that cannot be read to
 * its end is filled up, as its length has been told.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/scp/rcp_int.h"
#include "transfer/beneath.h"

#define FILL_ONCE ((size_t)1 << 20)
#define FILL_TURN ((size_t)8 << 20) /* then signals and the other end are heard */

enum step {
	S_NEXT,   /* thing */
	S_RECORD, /* of the thing that is open is to be sent */
	/* waiting for the answer to */
	S_GREETING,
	S_TIMES,
	S_FILE,
	S_DIR,
	S_FILE_END,
	S_DIR_END,
	/* */
	S_DATA,
	S_LAST /* all is sent; the other end ends it */
};

struct level {
	DIR *dir;
	char *path; /* owned */
	uint64_t dev, ino;
};

struct thing {
	int fd; /* -1: none, or dir's */
	DIR *dir;
	char *path; /* owned */
	struct beneath_info info;
	uint64_t at;
	bool is_short;          /* it could not be read on */
	char why[RCP_TEXT_MAX]; /* then: why */
};

struct source {
	struct rcp_source engine;
	const struct rcp_sending *what;
	size_t path_at;
	struct level *levels;
	size_t levels_n, levels_cap;
	struct thing thing;
	enum step step;
};

static void thing_done(struct thing *t)
{
	if (t->dir != NULL)
		(void)closedir(t->dir);
	else if (t->fd >= 0)
		(void)close(t->fd);
	free(t->path);
	*t = (struct thing){.fd = -1};
}

static const char *name_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash != NULL ? slash + 1 : path;
}

/* What it is called at the other end: "." and ".." by what they are.  Owned by the caller. */
static char *told_name(const char *path)
{
	const char *name = name_of(path);
	bool is_dots = strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
	char *real = is_dots ? realpath(path, NULL) : NULL;
	char *told = strdup(real != NULL ? name_of(real) : name);
	free(real);
	return told;
}

/* A failure that the other end is told of when nothing was said about the thing yet. */
static void give_up(struct rcp_run *r, struct source *s, const char *text)
{
	err_t e = rcp_source_warn(&s->engine, text);
	if (e != OK)
		rcp_broken(r, &s->engine.side, e);
	thing_done(&s->thing);
}

/* ---- what comes next --------------------------------------------------------------------------
 */

/* The next name at this level, opened as s->thing; false at the end of the level. */
static bool open_inner(struct rcp_run *r, struct source *s, struct level *l)
{
	struct dirent *d;
	do {
		errno = 0;
		d = readdir(l->dir);
	} while (d != NULL && (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0));
	if (d == NULL && errno != 0)
		give_up(r, s, rcp_failed(r, "%s: %s", l->path, strerror(errno)));
	if (d == NULL)
		return false;
	s->thing.path = rcp_join(l->path, d->d_name);
	s->thing.fd =
		openat(dirfd(l->dir), d->d_name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return true;
}

static bool open_outer(struct source *s)
{
	if (s->path_at == s->what->n)
		return false;
	const char *given = s->what->paths[s->path_at++];
	size_t n = strlen(given);
	while (n > 1 && given[n - 1] == '/')
		n--;
	s->thing.path = strndup(given, n);
	s->thing.fd = s->thing.path == NULL
			      ? -1
			      : open(s->thing.path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return true;
}

static bool is_inside_itself(const struct source *s, const struct beneath_info *info)
{
	for (size_t i = 0; i < s->levels_n; i++) {
		if (s->levels[i].dev == info->dev && s->levels[i].ino == info->ino)
			return true;
	}
	return false;
}

/* The directory can become a level: nothing fails once it has been told of. */
static bool ready_dir(struct source *s)
{
	struct thing *t = &s->thing;
	if (s->levels_n == s->levels_cap) {
		size_t cap = s->levels_cap * 2 + 8;
		struct level *v = realloc(s->levels, cap * sizeof(*v));
		if (v == NULL)
			return false;
		s->levels = v;
		s->levels_cap = cap;
	}
	t->dir = fdopendir(t->fd);
	return t->dir != NULL;
}

/* What was opened can be sent; else why not has been told. */
static bool is_sendable(struct rcp_run *r, struct source *s)
{
	struct thing *t = &s->thing;
	int why = errno;
	if (t->path == NULL) {
		give_up(r, s, rcp_failed(r, "%s", err_text(E_MEM)));
		return false;
	}
	if (t->fd < 0 || beneath_stat_fd(t->fd, &t->info, &why) != OK) {
		give_up(r, s, rcp_failed(r, "%s: %s", t->path, strerror(why)));
		return false;
	}
	bool is_dir = t->info.kind == BENEATH_DIR && r->env->opts.is_recursive;
	if (t->info.kind != BENEATH_FILE && !is_dir) {
		give_up(r, s, rcp_failed(r, "%s: not a regular file", t->path));
		return false;
	}
	if (is_dir && is_inside_itself(s, &t->info)) {
		give_up(r, s,
			rcp_failed(
				r, "%s: a link to a directory that it is in: left out", t->path));
		return false;
	}
	if (is_dir && !ready_dir(s)) {
		give_up(r, s, rcp_failed(r, "%s: %s", t->path, strerror(errno)));
		return false;
	}
	return true;
}

static void enter(struct source *s)
{
	struct thing *t = &s->thing;
	s->levels[s->levels_n++] = (struct level){
		.dir = t->dir, .path = t->path, .dev = t->info.dev, .ino = t->info.ino};
	*t = (struct thing){.fd = -1};
}

static void leave(struct source *s)
{
	struct level *l = &s->levels[--s->levels_n];
	(void)closedir(l->dir);
	free(l->path);
}

/* ---- records ----------------------------------------------------------------------------------
 */

static void ask(struct rcp_run *r, struct source *s, err_t e, enum step step)
{
	if (e != OK)
		rcp_broken(r, &s->engine.side, e);
	s->step = step;
}

static void ask_times(struct rcp_run *r, struct source *s)
{
	const struct beneath_info *i = &s->thing.info;
	const struct rcp_times t = {.mtime = i->mtime, .atime = i->atime};
	ask(r, s, rcp_source_times(&s->engine, &t), S_TIMES);
}

static void ask_record(struct rcp_run *r, struct source *s)
{
	struct thing *t = &s->thing;
	char *name = told_name(t->path);
	bool is_dir = t->info.kind == BENEATH_DIR;
	err_t e = name == NULL ? E_MEM
		  : is_dir     ? rcp_source_dir(&s->engine, name, t->info.mode)
			       : rcp_source_file(&s->engine, name, t->info.mode, t->info.size);
	free(name);
	if (e == E_NAME || e == E_LIMIT) {
		const char *why = e == E_LIMIT
					  ? "too many directories inside one another"
					  : "the old protocol cannot carry this name; leave -O out";
		s->step = S_NEXT;
		give_up(r, s, rcp_failed(r, "%s: %s", t->path, why));
		return;
	}
	if (!is_dir)
		rcp_tell(r, LOG_L_DEBUG1, "Sending file modes: C%04" PRIo32 " %" PRIu64 " %s",
			t->info.mode, t->info.size, name_of(t->path));
	ask(r, s, e, is_dir ? S_DIR : S_FILE);
}

/* One step on while no answer is awaited. */
static void next(struct rcp_run *r, struct source *s)
{
	if (s->step == S_RECORD) {
		ask_record(r, s);
		return;
	}
	struct level *l = s->levels_n > 0 ? &s->levels[s->levels_n - 1] : NULL;
	bool is_there = l != NULL ? open_inner(r, s, l) : open_outer(s);
	if (!is_there && l != NULL) {
		ask(r, s, rcp_source_dir_end(&s->engine), S_DIR_END);
		return;
	}
	if (!is_there) {
		s->step = S_LAST;
		return;
	}
	if (!is_sendable(r, s))
		return;
	s->step = S_RECORD;
	if (r->env->opts.keep)
		ask_times(r, s);
}

/* ---- data -------------------------------------------------------------------------------------
 */

/* From here on the file is filled up. */
static void cannot_read(struct rcp_run *r, struct thing *t, ssize_t n)
{
	const char *why = n < 0 ? strerror(errno) : "it became shorter while it was read";
	t->is_short = true;
	(void)snprintf(t->why, sizeof(t->why), "%s",
		rcp_failed(r, "%s: %s (the rest of the copy is filled up)", t->path, why));
}

static size_t fill(struct rcp_run *r, struct thing *t, const struct iovec *iov, size_t niov)
{
	size_t all = 0;
	ssize_t n = 0;
	for (size_t i = 0; i < niov; i++)
		all += iov[i].iov_len;
	if (!t->is_short) {
		do
			n = preadv(t->fd, iov, (int)niov, (off_t)t->at);
		while (n < 0 && errno == EINTR);
		if (n > 0) {
			t->at += (uint64_t)n;
			return (size_t)n;
		}
		cannot_read(r, t, n);
	}
	for (size_t i = 0; i < niov; i++)
		memset(iov[i].iov_base, 0, iov[i].iov_len);
	return all;
}

static void end_file(struct rcp_run *r, struct source *s)
{
	ask(r, s, rcp_source_file_end(&s->engine, s->thing.is_short ? s->thing.why : NULL),
		S_FILE_END);
}

static void send_data(struct rcp_run *r, struct source *s)
{
	struct iovec iov[TP_BULK_MAX];
	struct link *link = r->io[0].link;
	size_t niov = 0, passed = 0;
	while (passed < FILL_TURN && !r->is_over) {
		uint64_t room = rcp_source_room(&s->engine);
		if (room == 0)
			break;
		size_t want = rcp_rate(r, room < FILL_ONCE ? (size_t)room : FILL_ONCE);
		err_t e = want > 0 ? link->ops->reserve(link, want, iov, &niov) : E_AGAIN;
		if (e == E_AGAIN || e == E_CLOSED)
			return;
		size_t n = e == OK ? fill(r, &s->thing, iov, niov) : 0;
		if (e == OK)
			e = link->ops->commit(link, n);
		if (e != OK) {
			(void)rcp_failed(r, "%s: %s", s->thing.path, err_text(e));
			rcp_run_over(r, e);
			return;
		}
		rcp_source_filled(&s->engine, n);
		rcp_rate_used(r, n);
		rcp_progress_data(r, n);
		passed += n;
	}
	if (rcp_source_is_sent(&s->engine))
		end_file(r, s);
	else
		ev_timer_set(r->env->ev, &r->timer, ev_now(r->env->ev));
}

/* ---- the role ---------------------------------------------------------------------------------
 */

static void granted(struct rcp_run *r, struct source *s)
{
	switch (s->step) {
	case S_TIMES:
		s->step = S_RECORD;
		break;
	case S_FILE:
		s->step = S_DATA;
		rcp_progress_begin(r, s->thing.path, s->thing.info.size);
		break;
	case S_DIR:
		enter(s);
		s->step = S_NEXT;
		break;
	case S_FILE_END:
		rcp_progress_end(r);
		thing_done(&s->thing);
		s->step = S_NEXT;
		break;
	case S_DIR_END:
		leave(s);
		s->step = S_NEXT;
		break;
	default:
		s->step = S_NEXT;
		break;
	}
}

static void refused(struct rcp_run *r, struct source *s, struct cslice text)
{
	rcp_peer_failed(r, text);
	if (s->step == S_FILE_END)
		rcp_progress_end(r);
	if (s->step == S_DIR_END)
		leave(s);
	else
		thing_done(&s->thing);
	s->step = S_NEXT;
}

static void take(struct rcp_run *r, struct rcp_io *io, struct cslice *in)
{
	struct source *s = r->own;
	struct rcp_event e = {.type = RCP_EV_GO};
	(void)io;
	while ((in->n > 0 || e.type != RCP_EV_NONE) && !r->is_over) {
		err_t failed = rcp_source_next(&s->engine, in, &e);
		if (failed != OK)
			rcp_broken(r, &s->engine.side, failed);
		else if (e.type == RCP_EV_GO)
			granted(r, s);
		else if (e.type == RCP_EV_REFUSED)
			refused(r, s, e.text);
		else if (e.type != RCP_EV_NONE)
			rcp_peer_failed(r, e.text);
		if (failed == OK && e.type == RCP_EV_FATAL)
			rcp_run_over(r, OK);
	}
}

/* All that can be said now. */
static void go_on(struct rcp_run *r, struct source *s, struct rcp_io *io)
{
	enum step before;
	do {
		struct cslice nothing = {0};
		before = s->step;
		while (!r->is_over && rcp_flush(r, io) &&
			(s->step == S_NEXT || s->step == S_RECORD))
			next(r, s);
		if (s->step == S_DATA && !r->is_over)
			send_data(r, s);
		take(r, io, &nothing); /* answers that came early */
	} while (s->step != before && !r->is_over);
}

static void turn(struct rcp_run *r)
{
	struct source *s = r->own;
	struct rcp_io *io = &r->io[0];
	go_on(r, s, io);
	if (s->step != S_LAST || io->is_finished)
		return;
	if (!rcp_flush(r, io))
		return;
	if (r->is_server)
		rcp_run_over(r, OK);
	else
		rcp_finish(io);
}

static void broken(struct rcp_run *r, const struct source *s, const char *why)
{
	(void)rcp_failed(r, "%s: %s (%" PRIu64 " of %" PRIu64 " bytes were sent)", s->thing.path,
		why, s->thing.at, s->thing.info.size);
}

static void ended(struct rcp_run *r, struct rcp_io *io)
{
	struct source *s = r->own;
	if (s->step == S_LAST && io->why == OK) {
		rcp_run_over(r, OK);
		return;
	}
	err_t e = io->why != OK ? io->why : E_CLOSED;
	if (s->thing.path != NULL)
		broken(r, s, "lost connection");
	else
		(void)rcp_failed(r, "lost connection");
	rcp_run_over(r, e);
}

static void stopped(struct rcp_run *r)
{
	struct source *s = r->own;
	if (s->thing.path != NULL)
		broken(r, s, "interrupted");
}

static const struct rcp_role role = {
	.take = take, .turn = turn, .ended = ended, .stopped = stopped};

err_t rcp_source_run(struct rcp_run *r, struct link *link, const struct rcp_sending *what)
{
	struct source s = {.what = what, .thing.fd = -1, .step = S_GREETING};
	r->role = &role;
	r->own = &s;
	rcp_source_init(&s.engine);
	rcp_run_link(r, link, &s.engine.side);
	err_t e = rcp_run_loop(r);
	r->own = NULL;
	thing_done(&s.thing);
	while (s.levels_n > 0)
		leave(&s);
	free(s.levels);
	rcp_source_done(&s.engine);
	return e;
}
