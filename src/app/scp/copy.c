/* SPDX-License-Identifier: ISC */
/*
 * copy - by SFTP: what the sources and the target mean, then files between two ends
 *
 * Sources that have the same two ends are collected and copied together, so that many small ones
 * are under way at once.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "app/scp/scp.h"

#define S_TYPE 0170000u
#define S_DIR  0040000u

/* ---- the batch ----------------------------------------------------------------------------------
 */
static void batch_clear(struct batch *b)
{
	for (size_t i = 0; i < b->n; i++) {
		free((char *)(uintptr_t)b->v[i].from); /* ours: copied by batch_add */
		free((char *)(uintptr_t)b->v[i].to);
	}
	free(b->v);
	*b = (struct batch){0};
}

static err_t run_batch(struct scp *s, struct xfer *x)
{
	for (size_t i = 0; i < s->batch.n; i++)
		TRY(xfer_add(x, &s->batch.v[i]));
	s->xfer = x;
	scp_progress_start(s);
	return xfer_run(x);
}

/* Which source it was: scripts look for this line. */
static void say_failed(struct scp *s, const struct xfer *x)
{
	const struct batch *b = &s->batch;
	struct stat st;
	for (size_t i = 0; i < b->n; i++) {
		if (!xfer_item_failed(x, i))
			continue;
		bool is_dir =
			stat(b->v[i].from, &st) == 0 && S_ISDIR(st.st_mode) && s->opts.is_recursive;
		char *from = scp_safe(b->v[i].from), *to = scp_safe(b->v[i].to);
		struct buf text;
		buf_init(&text, (size_t)1 << 20);
		buf_printf(&text, "failed to upload %s %s to %s", is_dir ? "directory" : "file",
			from, to);
		buf_put_u8(&text, 0);
		if (buf_err(&text) == OK)
			scp_say(s, LOG_L_ERROR, (const char *)text.p);
		buf_done(&text);
		free(from);
		free(to);
	}
}

void copy_flush(struct scp *s)
{
	struct batch *b = &s->batch;
	struct xfer_env env = {
		.ev = s->ev, .opts = s->opts, .say = scp_say, .arg = s, .umask = s->umask};
	env.ends.from = b->from != NULL ? &b->from->remote : NULL;
	env.ends.to = b->to != NULL ? &b->to->remote : NULL;
	if (s->meter.is_on)
		env.progress = scp_progress;
	struct xfer *x = NULL;
	err_t e = b->n == 0 || s->is_interrupted ? OK : xfer_new(&x, &env);
	if (e == OK && x != NULL)
		e = run_batch(s, x);
	s->xfer = NULL;
	if (x != NULL)
		s->failed += xfer_failed(x);
	if (x != NULL && e == OK && b->from == NULL && b->to != NULL)
		say_failed(s, x);
	if (x != NULL && xfer_failed(x) > 0 && b->to != NULL && !s->dest.is_dir)
		scp_hint_quotes(s, s->to.path);
	xfer_free(x);
	if (e != OK && e != E_INTERRUPTED) {
		scp_fail(s, "%s", e == E_CLOSED ? "Connection closed" : err_text(e));
		s->is_lost = true;
	}
	batch_clear(b);
}

static err_t batch_grow(struct batch *b)
{
	if (b->n < b->cap)
		return OK;
	size_t cap = b->cap > 0 ? 2 * b->cap : 16;
	struct xfer_item *v = reallocarray(b->v, cap, sizeof(*v));
	if (v == NULL)
		return E_MEM;
	b->v = v;
	b->cap = cap;
	return OK;
}

/* from -> to/name, or to itself for an empty name. */
static err_t batch_add(struct batch *b, const char *from, const char *to, struct cslice name)
{
	struct xfer_item item = {.from = strdup(from)};
	char *whole = NULL;
	err_t e = item.from != NULL ? batch_grow(b) : E_MEM;
	if (e == OK)
		e = target_join(to, name, &whole);
	if (e != OK) {
		free((char *)(uintptr_t)item.from);
		return e;
	}
	item.to = whole;
	b->v[b->n++] = item;
	return OK;
}

static void add(struct scp *s, const char *from, const char *to, struct cslice name)
{
	err_t e = batch_add(&s->batch, from, to, name);
	if (e != OK)
		scp_fail(s, "%s", err_text(e));
}

static void batch_between(struct scp *s, struct host *from, struct host *to)
{
	if (s->batch.n > 0 && (s->batch.from != from || s->batch.to != to))
		copy_flush(s);
	s->batch.from = from;
	s->batch.to = to;
}

/* ---- paths on a server --------------------------------------------------------------------------
 */
static void say_remote(struct scp *s, const char *path, struct remote *r, err_t e)
{
	if (e == E_INTERRUPTED)
		return;
	char *safe = scp_safe(path);
	if (r->end != OK) {
		scp_fail(s, "%s", e == E_CLOSED ? "Connection closed" : remote_words(r, e));
		s->is_lost = true;
	} else if (e == E_UNSUPPORTED) {
		scp_fail(s,
			"server expand-path extension is required for ~user paths in SFTP mode: %s",
			safe);
	} else {
		scp_fail(s, "%s: %s", safe, remote_words(r, e));
	}
	free(safe);
}

/* ~ and ~user.  Gives a copy. */
static err_t expand(struct scp *s, const char *path, struct remote *r, char **out)
{
	err_t e = remote_expand(r, path, out);
	if (e != E_STATUS) {
		if (e != OK)
			say_remote(s, path, r, e);
		return e;
	}
	char *safe = scp_safe(path);
	scp_fail(s, "expand %s: %s", safe, remote_words(r, e));
	free(safe);
	return e;
}

static err_t is_remote_dir(struct remote *r, const char *path, bool *is_dir, bool *is_there)
{
	struct sf_attr a;
	err_t e = remote_stat(r, path, false, &a);
	if (e != OK && e != E_STATUS)
		return e;
	*is_there = e == OK;
	*is_dir = e == OK && (a.flags & SF_A_MODE) != 0 && (a.mode & S_TYPE) == S_DIR;
	return OK;
}

/* With several sources the target must be a directory; one that is not there is made. */
static err_t want_directory(struct scp *s, struct remote *r, bool is_there, bool may_make)
{
	struct dest_dir *d = &s->dest;
	char *safe = scp_safe(d->path);
	err_t e = OK;
	if (is_there || !may_make) {
		scp_fail(s, may_make ? "%s: Not a directory" : "%s: destination is not a directory",
			safe);
		e = E_STATUS;
	} else {
		e = remote_mkdir(r, d->path, 0777);
		if (e != OK && r->end == OK)
			scp_fail(s, "remote mkdir \"%s\": %s", safe, remote_words(r, e));
		else if (e != OK)
			say_remote(s, d->path, r, e);
	}
	free(safe);
	d->is_dir = e == OK;
	return e;
}

/* The target on its host, once for all sources. */
static err_t find_dest(struct scp *s, bool may_make)
{
	struct dest_dir *d = &s->dest;
	struct host *h;
	if (d->path != NULL)
		return s->sources_n > 1 && !d->is_dir ? E_STATUS : OK;
	TRY(hosts_sftp(s, &s->to, false, &h));
	bool is_there = false;
	TRY(expand(s, s->to.path, &h->remote, &d->path));
	err_t e = is_remote_dir(&h->remote, d->path, &d->is_dir, &is_there);
	if (e != OK) {
		say_remote(s, s->to.path, &h->remote, e);
		free(d->path);
		d->path = NULL;
		return e;
	}
	d->host = h;
	if (s->sources_n > 1 && !d->is_dir)
		return want_directory(s, &h->remote, is_there, may_make);
	return OK;
}

/* The paths that a source means, at least one. */
static err_t find_sources(struct scp *s, size_t source, struct host *h, struct remote_paths *out)
{
	struct remote *r = &h->remote;
	const char *path = s->sources[source].path;
	char *whole = NULL;
	TRY(expand(s, path, r, &whole));
	err_t e = remote_glob(r, whole, false, out);
	free(whole);
	if (e != OK) {
		say_remote(s, path, r, e);
		return e;
	}
	if (out->n > 0)
		return OK;
	char *safe = scp_safe(path);
	scp_fail(s, "%s: %s", safe, strerror(ENOENT));
	free(safe);
	scp_hint_quotes(s, path);
	remote_paths_free(out);
	return E_NOT_FOUND;
}

/* ---- the ways -----------------------------------------------------------------------------------
 */
void copy_upload(struct scp *s, size_t source)
{
	const char *from = s->sources[source].path;
	if (find_dest(s, true) != OK)
		return;
	batch_between(s, NULL, s->dest.host);
	add(s, from, s->dest.path, s->dest.is_dir ? target_name(from) : cslice_of(NULL, 0));
}

static bool is_local_dir(const char *path, bool *is_there)
{
	struct stat st;
	*is_there = stat(path, &st) == 0;
	return *is_there && S_ISDIR(st.st_mode);
}

/* Several files need a directory. */
static err_t want_local_directory(struct scp *s, bool is_there)
{
	char *safe = scp_safe(s->to.path);
	err_t e = OK;
	if (is_there) {
		scp_fail(s,
			"Multiple files match pattern, but destination \"%s\" is not a directory",
			safe);
		e = E_USAGE;
	} else if (mkdir(s->to.path, 0777) != 0) {
		scp_fail(s, "mkdir %s: %s", safe, strerror(errno));
		e = E_IO;
	}
	free(safe);
	return e;
}

void copy_download(struct scp *s, size_t source)
{
	struct host *h;
	struct remote_paths paths = {0};
	if (hosts_sftp(s, &s->sources[source], true, &h) != OK ||
		find_sources(s, source, h, &paths) != OK)
		return;
	bool is_there, is_dir = is_local_dir(s->to.path, &is_there);
	if (paths.n > 1 && !is_dir)
		is_dir = want_local_directory(s, is_there) == OK;
	batch_between(s, h, NULL);
	for (size_t i = 0; i < paths.n && (is_dir || paths.n == 1); i++) {
		size_t n = s->batch.n;
		add(s, paths.v[i], s->to.path,
			is_dir ? target_name(paths.v[i]) : cslice_of(NULL, 0));
		if (s->batch.n > n) /* a match's name is the server's word */
			s->batch.v[n].is_peer_name = is_dir && paths.has_matched;
	}
	remote_paths_free(&paths);
}

void copy_across(struct scp *s, size_t source)
{
	struct host *h;
	struct remote_paths paths = {0};
	if (hosts_sftp(s, &s->sources[source], true, &h) != OK || find_dest(s, false) != OK ||
		find_sources(s, source, h, &paths) != OK)
		return;
	struct dest_dir *d = &s->dest;
	if (paths.n > 1 && !d->is_dir) {
		char *safe = scp_safe(d->path);
		scp_fail(s, "%s: destination is not a directory", safe);
		free(safe);
	}
	batch_between(s, h, d->host);
	for (size_t i = 0; i < paths.n && (d->is_dir || paths.n == 1); i++)
		add(s, paths.v[i], d->path,
			d->is_dir ? target_name(paths.v[i]) : cslice_of(NULL, 0));
	remote_paths_free(&paths);
}

void copy_local(struct scp *s, size_t source)
{
	const char *from = s->sources[source].path;
	bool is_there, is_dir = is_local_dir(s->to.path, &is_there);
	batch_between(s, NULL, NULL);
	add(s, from, s->to.path, is_dir ? target_name(from) : cslice_of(NULL, 0));
}
