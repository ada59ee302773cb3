/* SPDX-License-Identifier: ISC */
/*
 * do_copy - get and put, in all their forms
 *
 * What a pattern means becomes a list of pairs (from, to), and struct xfer copies them all at once.
 */
#include <errno.h>
#include <glob.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "app/copy/meter.h"
#include "app/sftp/sftp.h"

struct pairs {
	struct pair {
		char *from, *to; /* owned */
		bool is_peer_name;
	} * v;
	size_t n, cap;
};

struct job {
	struct sftp *s;
	const char *verb;
	struct meter meter;
	bool has_meter;
};

static void pairs_free(struct pairs *p)
{
	for (size_t i = 0; i < p->n; i++) {
		free(p->v[i].from);
		free(p->v[i].to);
	}
	free(p->v);
}

static err_t pairs_room(struct pairs *p)
{
	if (p->n < p->cap)
		return OK;
	size_t cap = p->cap == 0 ? 16 : 2 * p->cap;
	struct pair *v = realloc(p->v, cap * sizeof(*v));
	if (v == NULL)
		return E_MEM;
	p->v = v;
	p->cap = cap;
	return OK;
}

/* Its own copy of from; takes to. */
static err_t pairs_add(struct pairs *p, const char *from, char *to)
{
	char *copy = strdup(from);
	if (copy == NULL || to == NULL || pairs_room(p) != OK) {
		free(copy);
		free(to);
		return E_MEM;
	}
	p->v[p->n] = (struct pair){0};
	p->v[p->n].from = copy;
	p->v[p->n++].to = to;
	return OK;
}

struct target {
	const char *path;
};

static int by_path(const void *a, const void *b)
{
	const struct target *x = a, *y = b;
	return strcmp(x->path, y->path);
}

/* Do two of them write to the same place?  Then they must not do so at once. */
static err_t has_twins(const struct pairs *p, bool *out)
{
	bool found = false;
	struct target *v = calloc(p->n + 1, sizeof(*v));
	if (v == NULL)
		return E_MEM;
	for (size_t i = 0; i < p->n; i++)
		v[i].path = p->v[i].to;
	qsort(v, p->n, sizeof(*v), by_path);
	for (size_t i = 1; i < p->n && !found; i++)
		found = strcmp(v[i - 1].path, v[i].path) == 0;
	free(v);
	*out = found;
	return OK;
}

/* ---- the copy -----------------------------------------------------------------------------------
 */
static void on_words(void *arg, enum log_level level, const char *text)
{
	struct job *j = arg;
	if (level > LOG_L_INFO || (level == LOG_L_INFO && j->s->args.is_quiet))
		return;
	if (j->has_meter)
		meter_hide(&j->meter);
	if (level == LOG_L_INFO)
		sftp_print("%s", text);
	else
		sftp_say("%s", text);
}

static void on_progress(void *arg, const struct xfer_progress *p)
{
	struct job *j = arg;
	meter_take(&j->meter, p);
}

static struct xfer_opts options(const struct sftp *s, const struct command *c)
{
	const struct sftp_args *a = &s->args;
	return (struct xfer_opts){
		.is_recursive = a->recursive || command_has(c, 'r'),
		.keep = a->keep || command_has(c, 'p'),
		.resume = a->resume || command_has(c, 'a') || strncmp(c->name, "re", 2) == 0,
		.fsync = a->fsync || command_has(c, 'f'),
		.limit_bytes_s = a->limit_bytes_s,
	};
}

static err_t run_some(
	struct job *j, const struct xfer_env *env, const struct pair *v, size_t n, uint64_t *failed)
{
	struct xfer *x = NULL;
	TRY(xfer_new(&x, env));
	err_t e = OK;
	for (size_t i = 0; e == OK && i < n; i++)
		e = xfer_add(x, &(struct xfer_item){.from = v[i].from,
					.to = v[i].to,
					.is_peer_name = v[i].is_peer_name});
	if (e == OK) {
		j->s->xfer = x;
		e = xfer_run(x);
		j->s->xfer = NULL;
	}
	*failed += xfer_failed(x);
	xfer_free(x);
	return e;
}

static err_t run_all(struct job *j, const struct xfer_env *env, const struct pairs *p)
{
	uint64_t failed = 0;
	bool has = false;
	TRY(has_twins(p, &has));
	size_t at_once = has ? 1 : p->n;
	err_t e = OK;
	for (size_t i = 0; e == OK && i < p->n; i += at_once)
		e = run_some(j, env, p->v + i, at_once, &failed);
	return e != OK ? e : failed > 0 ? E_STATUS : OK;
}

static err_t copy(struct sftp *s, const struct command *c, const struct pairs *p, bool is_get)
{
	struct job j = {.s = s};
	struct xfer_env env = {.ev = s->ev, .opts = options(s, c), .umask = s->umask, .arg = &j};
	static const char *const verbs[2][2] = {
		{"Uploading", "Resuming upload of"}, {"Fetching", "Resuming"}};
	env.say = on_words;
	if (is_get)
		env.ends.from = &s->r;
	else
		env.ends.to = &s->r;
	for (size_t i = 0; i < p->n; i++)
		sftp_tell(
			s, "%s %s to %s", verbs[is_get][env.opts.resume], p->v[i].from, p->v[i].to);
	j.has_meter = s->args.has_progress;
	if (j.has_meter) {
		meter_init(&j.meter, 1, s->ev);
		env.progress = on_progress;
	}
	err_t e = run_all(&j, &env, p);
	if (j.has_meter)
		meter_done(&j.meter);
	/* files that failed have been told */
	return e == OK || e == E_STATUS ? e : sftp_fail(s, e, "%s", c->name);
}

/* ---- names --------------------------------------------------------------------------------------
 */
/* The last part of from as a name in dir.  What has none (".", "..", "/") is copied into dir
 * itself. */
static char *name_in(const char *dir, const char *from)
{
	char *copy = strdup(from);
	if (copy == NULL)
		return NULL;
	path_strip(copy);
	const char *name = path_last(copy);
	char *to;
	if (name[0] == '\0' || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		to = strdup(dir);
	else
		to = dir[0] == '\0' ? strdup(name) : path_join(dir, name);
	free(copy);
	return to;
}

/* A pattern such as .* means no directory's own names. */
static bool is_self(const char *path)
{
	const char *name = path_last(path);
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static err_t get_pairs(const struct remote_paths *found, const char *to, struct pairs *out)
{
	bool is_dir = to == NULL || path_is_local_dir(to);
	for (size_t i = 0; i < found->n; i++) {
		if (is_dir)
			TRY(pairs_add(
				out, found->v[i], name_in(to != NULL ? to : "", found->v[i])));
		else
			TRY(pairs_add(out, found->v[i], strdup(to)));
		out->v[out->n - 1].is_peer_name = is_dir && found->has_matched;
	}
	return OK;
}

static err_t get_found(struct sftp *s, const struct command *c, const struct remote_paths *found)
{
	const char *to = c->arg[1];
	struct pairs p = {0};
	if (found->n > 1 && to != NULL && !path_is_local_dir(to)) {
		sftp_say("Multiple source paths, but destination \"%s\" is not a directory", to);
		return E_USAGE;
	}
	err_t e = get_pairs(found, to, &p);
	e = e == OK ? copy(s, c, &p, true) : sftp_fail(s, e, "%s", c->name);
	pairs_free(&p);
	return e;
}

err_t do_get(struct sftp *s, const struct command *c)
{
	struct remote_paths found = {0};
	char *pattern = path_absolute_pattern(s, c->arg[0]);
	err_t e = pattern != NULL ? remote_glob(&s->r, pattern, false, &found) : E_MEM;
	if (e != OK && e != E_STATUS && e != E_NOT_FOUND) {
		(void)sftp_fail(s, e, "%s", c->name);
	} else if (e == OK && found.n > 0) {
		e = get_found(s, c, &found);
	} else {
		if (!word_is_pattern(pattern))
			word_plain(pattern);
		sftp_say("File \"%s\" not found.", pattern);
		e = E_NOT_FOUND;
	}
	remote_paths_free(&found);
	free(pattern);
	return e;
}

/* The local names of a pattern; those of one that matches nothing are taken as they stand. */
static err_t local_names(const char *pattern, glob_t *g)
{
	struct stat st;
	int why = glob(pattern, GLOB_ERR, NULL, g);
	if (why == GLOB_NOSPACE)
		return E_MEM;
	if (why == 0)
		return OK;
	char *plain = strdup(pattern);
	if (plain == NULL)
		return E_MEM;
	word_plain(plain);
	if (stat(plain, &st) < 0) {
		sftp_say("stat %s: %s", plain, strerror(errno));
		free(plain);
		return E_NOT_FOUND;
	}
	globfree(g);
	g->gl_pathv = calloc(2, sizeof(*g->gl_pathv));
	if (g->gl_pathv == NULL) {
		free(plain);
		return E_MEM;
	}
	g->gl_pathv[0] = plain;
	g->gl_pathc = 1;
	return OK;
}

/* Where to: the directory that we are in, one that is named, or a new name. */
static err_t put_pairs(struct sftp *s, const struct command *c, const glob_t *g, struct pairs *out)
{
	bool is_dir = c->arg[1] == NULL;
	char *to = is_dir ? strdup(s->pwd) : path_absolute(s, c->arg[1]);
	err_t e = to != NULL ? OK : E_MEM;
	if (e == OK && !is_dir) {
		e = path_is_remote_dir(s, to, &is_dir);
		e = e == E_STATUS ? OK : e;
	}
	if (e == OK && g->gl_pathc > 1 && !is_dir) {
		sftp_say("Multiple paths match, but destination \"%s\" is not a directory", to);
		e = E_USAGE;
	} else if (e != OK) {
		(void)sftp_fail(s, e, "%s", c->name);
	}
	for (size_t i = 0; e == OK && i < g->gl_pathc; i++) {
		if (g->gl_pathc > 1 && is_self(g->gl_pathv[i]))
			continue;
		e = pairs_add(
			out, g->gl_pathv[i], is_dir ? name_in(to, g->gl_pathv[i]) : strdup(to));
		if (e != OK)
			(void)sftp_fail(s, e, "%s", c->name);
	}
	free(to);
	return e;
}

err_t do_put(struct sftp *s, const struct command *c)
{
	glob_t g = {0};
	struct pairs p = {0};
	err_t e = local_names(c->arg[0], &g);
	if (e == E_MEM)
		(void)sftp_fail(s, e, "%s", c->name);
	if (e == OK)
		e = put_pairs(s, c, &g, &p);
	if (e == OK)
		e = copy(s, c, &p, false);
	pairs_free(&p);
	globfree(&g);
	return e;
}
