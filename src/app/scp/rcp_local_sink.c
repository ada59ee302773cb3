/* SPDX-License-Identifier: ISC */
/*
 * rcp_local_sink - what comes by the old protocol, into local files
 *
 * What the person named - the target, and in it what was asked for by its very name - may be a
 * link. All that the peer named is opened beneath the directory handle of the level above, without
 * links. A file is written over in place and cut to its size once all of it is there, so one that
 * is copied onto itself survives.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/scp/rcp_int.h"
#include "base/text.h"
#include "transfer/beneath.h"

struct level {
	struct beneath dir;
	char *path; /* for messages; owned */
	bool has_times, sets_mode;
	struct rcp_times times;
	uint32_t mode;
};

struct file {
	int fd;
	char *path; /* owned */
	bool is_new, is_regular, has_times;
	struct rcp_times times;
	uint32_t mode;
	uint64_t size, written;
	int why; /* errno of the first failed write */
};

struct sink {
	struct rcp_sink engine;
	const struct rcp_taking *what;
	bool to_is_dir;
	struct level top;     /* of a target that is a directory */
	struct level *levels; /* of the tree, the outermost first */
	size_t levels_n, levels_cap;
	struct file file; /* fd -1: none */
	bool has_begun;   /* the source has said something */
};

/* ---- levels -----------------------------------------------------------------------------------
 */

static void level_done(struct level *l)
{
	beneath_close(&l->dir);
	free(l->path);
	*l = (struct level){.dir = BENEATH_NONE};
}

static struct level *here(struct sink *s)
{
	return s->levels_n > 0 ? &s->levels[s->levels_n - 1] : &s->top;
}

/* Room for one more level, empty; it counts once levels_n does. */
static struct level *room_for_level(struct sink *s)
{
	if (s->levels_n == s->levels_cap) {
		size_t cap = s->levels_cap * 2 + 8;
		struct level *v = realloc(s->levels, cap * sizeof(*v));
		if (v == NULL)
			return NULL;
		s->levels = v;
		s->levels_cap = cap;
	}
	s->levels[s->levels_n] = (struct level){.dir = BENEATH_NONE};
	return &s->levels[s->levels_n];
}

/* The file or directory that a record means, for messages and for a target that is no directory. */
static char *path_of(struct sink *s, struct cslice name)
{
	if (s->levels_n == 0 && !s->to_is_dir)
		return strdup(s->what->to);
	char *text = NULL, *path = NULL;
	if (text_dup(name, &text) == OK)
		path = rcp_join(here(s)->path, text);
	free(text);
	return path;
}

/* Who is served names all at the outermost level; a client only what it asked for. */
static bool is_persons(const struct rcp_run *r, const struct sink *s, struct cslice name)
{
	if (s->levels_n > 0)
		return false;
	if (r->is_server || !s->to_is_dir)
		return true;
	return s->what->asked != NULL && rcp_asked_literally(s->what->asked, name);
}

/* The directory that the peer's name is in, for the outermost level opened when it is first needed.
 */
static struct beneath *dir_here(struct sink *s)
{
	struct level *l = here(s);
	if (l->dir.fd < 0 && beneath_open(&l->dir, l->path) != OK)
		log_debug1("%s: cannot be opened", l->path);
	return &l->dir;
}

static const char *words(int why)
{
	return why == ELOOP ? "is a symbolic link, which is not followed here" : strerror(why);
}

static uint32_t mode_of(const struct rcp_run *r, uint32_t mode)
{
	return r->env->opts.keep ? mode & 07777 : mode & 0777 & ~r->env->umask;
}

static struct timespec when(uint64_t s, uint32_t us)
{
	return (struct timespec){.tv_sec = s <= INT64_MAX ? (time_t)s : 0, .tv_nsec = us * 1000L};
}

static int set_times(int fd, const struct rcp_times *t)
{
	const struct timespec both[2] = {when(t->atime, t->atime_us), when(t->mtime, t->mtime_us)};
	return futimens(fd, both);
}

/* ---- directories ------------------------------------------------------------------------------
 */

/* Opened, made when there is none; l->sets_mode: it was made.  Gives an errno, 0 = done. */
static int dir_open(struct sink *s, struct level *l, bool is_by_person)
{
	const char *name = strrchr(l->path, '/');
	name = name != NULL ? name + 1 : l->path;
	if (is_by_person) {
		l->sets_mode = mkdir(l->path, l->mode | 0700) == 0;
		if (!l->sets_mode && errno != EEXIST)
			return errno;
		return beneath_open(&l->dir, l->path) == OK ? 0 : l->dir.why;
	}
	struct beneath *at = dir_here(s);
	if (at->fd < 0)
		return at->why;
	l->sets_mode = beneath_mkdir(at, name, l->mode | 0700) == OK;
	if (!l->sets_mode && at->why != EEXIST)
		return at->why;
	return beneath_dir(at, name, &l->dir) == OK ? 0 : at->why;
}

static const char *dir_begin(struct rcp_run *r, struct sink *s, const struct rcp_event *e)
{
	struct level *l = room_for_level(s);
	int why = 0;
	if (l == NULL)
		return rcp_failed(r, "%s", err_text(E_MEM));
	l->path = path_of(s, e->name);
	l->has_times = e->has_times;
	l->times = e->times;
	l->mode = mode_of(r, e->mode);
	const char *text = NULL;
	if (l->path == NULL)
		text = rcp_failed(r, "%s", err_text(E_MEM));
	else if ((why = dir_open(s, l, is_persons(r, s, e->name))) != 0)
		text = rcp_failed(r, "%s: %s", l->path, words(why));
	if (text != NULL) {
		level_done(l);
		return text;
	}
	l->sets_mode = l->sets_mode || r->env->opts.keep;
	s->levels_n++;
	return NULL;
}

static const char *dir_end(struct rcp_run *r, struct sink *s)
{
	const char *text = NULL;
	struct level *l = here(s);
	if (l->has_times && set_times(l->dir.fd, &l->times) != 0)
		text = rcp_failed(r, "%s: set times: %s", l->path, strerror(errno));
	if (l->sets_mode && fchmod(l->dir.fd, (mode_t)l->mode) != 0)
		text = rcp_failed(r, "%s: set mode: %s", l->path, strerror(errno));
	level_done(l);
	s->levels_n--;
	return text;
}

/* ---- files ------------------------------------------------------------------------------------
 */

static void file_done(struct file *f)
{
	if (f->fd >= 0)
		(void)close(f->fd);
	free(f->path);
	*f = (struct file){.fd = -1};
}

/* The person's own path.  Gives an errno, 0 = done. */
static int file_open_named(struct file *f, uint32_t mode)
{
	int how = O_WRONLY | O_CREAT | O_NOCTTY | O_CLOEXEC;
	f->fd = open(f->path, how | O_EXCL, (mode_t)mode);
	f->is_new = f->fd >= 0;
	if (f->fd < 0 && errno == EEXIST)
		f->fd = open(f->path, how, (mode_t)mode);
	return f->fd >= 0 ? 0 : errno;
}

/* A name that the peer chose. */
static int file_open_beneath(struct sink *s, struct file *f, uint32_t mode)
{
	const char *name = strrchr(f->path, '/');
	name = name != NULL ? name + 1 : f->path;
	struct beneath *at = dir_here(s);
	unsigned flags = BENEATH_WRITE | BENEATH_CREATE;
	if (at->fd < 0)
		return at->why;
	f->is_new = beneath_file(at, name, flags | BENEATH_NEW, mode, &f->fd) == OK;
	if (f->is_new)
		return 0;
	bool is_there = at->why == EEXIST;
	return is_there && beneath_file(at, name, flags, mode, &f->fd) == OK ? 0 : at->why;
}

/* Gives what is wrong, NULL = nothing. */
static const char *file_open(struct rcp_run *r, struct sink *s, struct cslice name)
{
	struct stat st;
	struct file *f = &s->file;
	bool is_by_person = is_persons(r, s, name);
	/* until it is whole nobody but the owner gains by its mode */
	uint32_t mode = (f->mode & 0777) | 0200;
	int why = is_by_person ? file_open_named(f, mode) : file_open_beneath(s, f, mode);
	if (why != 0)
		return words(why);
	if (fstat(f->fd, &st) != 0)
		return strerror(errno);
	f->is_regular = S_ISREG(st.st_mode);
	return f->is_regular || is_by_person ? NULL : "not a regular file";
}

static const char *file_begin(struct rcp_run *r, struct sink *s, const struct rcp_event *e)
{
	struct file *f = &s->file;
	*f = (struct file){.fd = -1,
		.path = path_of(s, e->name),
		.has_times = e->has_times,
		.times = e->times,
		.mode = mode_of(r, e->mode),
		.size = e->size};
	if (f->path == NULL)
		return rcp_failed(r, "%s", err_text(E_MEM));
	const char *why = file_open(r, s, e->name);
	if (why != NULL) {
		const char *text = rcp_failed(r, "%s: %s", f->path, why);
		file_done(f);
		return text;
	}
	rcp_tell(r, LOG_L_DEBUG1, "Sink: C%04" PRIo32 " %" PRIu64 " %s", e->mode, e->size, f->path);
	rcp_progress_begin(r, f->path, f->size);
	return NULL;
}

static void file_data(struct rcp_run *r, struct sink *s, const struct rcp_event *e)
{
	struct file *f = &s->file;
	struct cslice d = e->data;
	while (d.n > 0 && f->why == 0) {
		ssize_t n = f->is_regular ? pwrite(f->fd, d.p, d.n, (off_t)f->written)
					  : write(f->fd, d.p, d.n);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			f->why = n < 0 ? errno : EIO;
			break;
		}
		f->written += (uint64_t)n;
		d = cslice_of(d.p + n, d.n - (size_t)n);
	}
	rcp_progress_data(r, e->data.n);
}

/* A file that is not whole: why, and what is there now. */
static const char *file_broken(struct rcp_run *r, const struct file *f, const char *why)
{
	if (!f->is_regular)
		return rcp_failed(r, "%s: %s", f->path, why);
	if (f->written == 0 && !f->is_new)
		return rcp_failed(r, "%s: %s (it is as it was)", f->path, why);
	if (f->is_new)
		return rcp_failed(r, "%s: %s (it holds the first %" PRIu64 " of %" PRIu64 " bytes)",
			f->path, why, f->written, f->size);
	return rcp_failed(r, "%s: %s (its first %" PRIu64 " bytes are new, of %" PRIu64 ")",
		f->path, why, f->written, f->size);
}

static const char *file_finish(struct rcp_run *r, struct file *f)
{
	const char *text = NULL;
	bool sets_mode = f->is_regular && (f->is_new || r->env->opts.keep);
	if (f->is_regular && ftruncate(f->fd, (off_t)f->size) != 0)
		text = rcp_failed(r, "%s: truncate: %s", f->path, strerror(errno));
	if (f->is_regular && f->has_times && set_times(f->fd, &f->times) != 0)
		text = rcp_failed(r, "%s: set times: %s", f->path, strerror(errno));
	if (sets_mode && fchmod(f->fd, (mode_t)f->mode) != 0)
		text = rcp_failed(r, "%s: set mode: %s", f->path, strerror(errno));
	int fd = f->fd;
	f->fd = -1;
	if (close(fd) != 0 && text == NULL) /* where a quota is told late */
		text = rcp_failed(r, "%s: close: %s", f->path, strerror(errno));
	return text;
}

static const char *file_end(struct rcp_run *r, struct sink *s, struct cslice peers)
{
	const char *text = NULL;
	struct file *f = &s->file;
	if (peers.n > 0) {
		rcp_peer_failed(r, peers);
		rcp_tell(r, LOG_L_ERROR,
			"%s: its end is filled up, as the source could not be read", f->path);
	}
	if (f->why != 0)
		text = file_broken(r, f, strerror(f->why));
	else
		text = file_finish(r, f);
	rcp_progress_end(r);
	file_done(f);
	return text;
}

/* ---- the role ---------------------------------------------------------------------------------
 */

static void gave_up(struct rcp_run *r, struct sink *s, const struct rcp_event *e)
{
	rcp_peer_failed(r, e->text);
	if (s->file.fd >= 0)
		(void)file_broken(r, &s->file, "the other end gave up");
	rcp_run_over(r, OK);
}

static void handle(struct rcp_run *r, struct sink *s, const struct rcp_event *e)
{
	const char *text = NULL;
	s->has_begun = true;
	switch (e->type) {
	case RCP_EV_DATA:
		file_data(r, s, e);
		return;
	case RCP_EV_WARNING:
		rcp_peer_failed(r, e->text);
		return;
	case RCP_EV_FATAL:
		gave_up(r, s, e);
		return;
	case RCP_EV_OVER:
		rcp_run_over(r, OK);
		return;
	case RCP_EV_FILE:
		text = file_begin(r, s, e);
		break;
	case RCP_EV_FILE_END:
		text = file_end(r, s, e->text);
		break;
	case RCP_EV_DIR:
		text = dir_begin(r, s, e);
		break;
	default:
		text = dir_end(r, s);
		break;
	}
	err_t failed = rcp_sink_answer(&s->engine, text);
	if (failed != OK)
		rcp_broken(r, &s->engine.side, failed);
}

static void take(struct rcp_run *r, struct rcp_io *io, struct cslice *in)
{
	struct sink *s = r->own;
	(void)io;
	while (in->n > 0 && !r->is_over) {
		struct rcp_event e;
		size_t may = rcp_rate(r, in->n);
		if (may == 0)
			return;
		struct cslice part = {in->p, may};
		err_t failed = rcp_sink_next(&s->engine, &part, &e);
		size_t used = may - part.n;
		*in = cslice_of(in->p + used, in->n - used);
		rcp_rate_used(r, used);
		if (failed != OK) {
			if (s->file.fd >= 0)
				(void)file_broken(r, &s->file, "the copy ended");
			rcp_broken(r, &s->engine.side, failed);
		} else if (e.type != RCP_EV_NONE) {
			handle(r, s, &e);
		}
	}
}

static void turn(struct rcp_run *r)
{
	(void)r; /* answers go out by themselves */
}

static void ended(struct rcp_run *r, struct rcp_io *io)
{
	struct sink *s = r->own;
	err_t e = rcp_sink_end(&s->engine);
	if (e == OK && io->why != OK)
		e = io->why;
	if (s->file.fd >= 0)
		(void)file_broken(r, &s->file, "lost connection");
	else if (e != OK)
		(void)rcp_failed(r, "%s", e == E_CLOSED ? "lost connection" : err_text(e));
	else if (!s->has_begun && !r->is_server)
		(void)rcp_failed(
			r, "%s: nothing came: is scp there at the other end?", s->what->to);
	rcp_run_over(r, e);
}

static void stopped(struct rcp_run *r)
{
	struct sink *s = r->own;
	if (s->file.fd >= 0)
		(void)file_broken(r, &s->file, "interrupted");
}

static const struct rcp_role role = {
	.take = take, .turn = turn, .ended = ended, .stopped = stopped};

static void sink_done(struct sink *s)
{
	while (s->levels_n > 0)
		level_done(&s->levels[--s->levels_n]);
	free(s->levels);
	level_done(&s->top);
	file_done(&s->file);
	rcp_sink_done(&s->engine);
}

/* What the target is.  NULL, or why it cannot be one. */
static const char *find_target(struct rcp_run *r, struct sink *s)
{
	struct stat st;
	const char *to = s->what->to;
	int bad = stat(to, &st);
	s->to_is_dir = bad == 0 && S_ISDIR(st.st_mode);
	if (!s->to_is_dir && r->env->opts.is_dir_target)
		return rcp_failed(r, "%s: %s", to, strerror(bad != 0 ? errno : ENOTDIR));
	s->top.path = strdup(to);
	return s->top.path != NULL ? NULL : rcp_failed(r, "%s", err_text(E_MEM));
}

err_t rcp_sink_run(struct rcp_run *r, struct link *link, const struct rcp_taking *what)
{
	struct sink s = {.what = what, .top.dir = BENEATH_NONE, .file.fd = -1};
	r->role = &role;
	r->own = &s;
	rcp_sink_init(&s.engine, r->env->opts.is_recursive, what->asked);
	rcp_run_link(r, link, &s.engine.side);
	const char *text = find_target(r, &s);
	err_t e = rcp_sink_greet(&s.engine, text);
	if (text != NULL || e != OK)
		rcp_run_over(r, e);
	e = rcp_run_loop(r);
	r->own = NULL;
	sink_done(&s);
	return e;
}
