/* SPDX-License-Identifier: ISC */
/*
 * remote_glob - the paths that a pattern means, on the server
 *
 * Part by part: a set of paths, then for a part with magic the directories of the set are read,
 * several at once, and the matching names make the next set.  Parts without magic are only added;
 * what they make is looked for once, in the end, and only behind a part with magic.
 */
#include <stdlib.h>

#include "base/buf.h"
#include "transfer/glob.h"
#include "transfer/remote_int.h"

#define AT_ONCE   16
#define BYTES_MAX ((size_t)256 << 20) /* of all paths */
#define S_TYPE    0170000u
#define S_DIR     0040000u
#define S_LINK    0120000u

struct path_set {
	char **v;
	size_t n, cap;
};

struct globbing;
struct slot { /* a directory that is read, or a path that is looked for */
	struct globbing *g;
	bool is_busy;
	char *path; /* of the directory, as READDIR wants it; owned */
	const char *before;
	struct remote_listing l;
	struct sf_ask look;
};

struct globbing {
	struct remote *r;
	char *pattern;
	struct cslice part, rest; /* of pattern: what is matched now, what follows */
	struct path_set now, next;
	size_t at, busy; /* of now: begun; slots in use */
	size_t bytes;
	struct slot slots[AT_ONCE];
	bool is_look, is_done, is_left;
	err_t e;
};

/* ---- sets -------------------------------------------------------------------------------------
 */
static void set_clear(struct path_set *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->v[i]);
	free(s->v);
	*s = (struct path_set){0};
}

/* Takes the text. */
static err_t set_add(struct path_set *s, char *text)
{
	if (text == NULL)
		return E_MEM;
	if (s->n == s->cap) {
		size_t cap = s->cap == 0 ? 16 : 2 * s->cap;
		char **v = realloc(s->v, cap * sizeof(*v));
		if (v == NULL) {
			free(text);
			return E_MEM;
		}
		s->v = v;
		s->cap = cap;
	}
	s->v[s->n++] = text;
	return OK;
}

static char *join(const char *a, struct cslice b)
{
	size_t n = strlen(a);
	char *text = malloc(n + b.n + 1);
	if (text == NULL)
		return NULL;
	memcpy(text, a, n);
	if (b.n > 0)
		memcpy(text + n, b.p, b.n);
	text[n + b.n] = '\0';
	return text;
}

static int in_order(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void globbing_free(struct globbing *g)
{
	set_clear(&g->now);
	set_clear(&g->next);
	free(g->pattern);
	free(g);
}

/* ---- a set against a part ---------------------------------------------------------------------
 */
static void go_on(struct globbing *g);

static void leave_slot(struct slot *s, err_t e)
{
	struct globbing *g = s->g;
	s->is_busy = false;
	remote_dir_free(&s->l.dir);
	free(s->path);
	s->path = NULL;
	g->busy--;
	if (g->e == OK && e != E_STATUS) /* what cannot be read has no match */
		g->e = e;
	if (!g->is_left)
		go_on(g);
	else if (g->busy == 0)
		globbing_free(g);
}

static bool may_be_dir(const struct sf_attr *a)
{
	uint32_t type = a->mode & S_TYPE;
	return (a->flags & SF_A_MODE) == 0 || type == S_DIR || type == S_LINK;
}

static err_t take_match(struct slot *s, const struct remote_entry *entry)
{
	struct globbing *g = s->g;
	struct cslice name = cslice_str(entry->name);
	if (strcmp(entry->name, ".") == 0 || strcmp(entry->name, "..") == 0 ||
		!glob_part(g->part, name) || (g->rest.n > 0 && !may_be_dir(&entry->a)))
		return OK;
	char *path = join(s->before, name);
	g->bytes += sizeof(path) + strlen(s->before) + name.n;
	if (g->bytes > BYTES_MAX) {
		free(path);
		return E_LIMIT;
	}
	return set_add(&g->next, path);
}

static void on_listed(struct remote_listing *l, err_t e)
{
	struct slot *s = l->arg;
	for (size_t i = 0; e == OK && i < l->dir.n; i++)
		e = take_match(s, &l->dir.v[i]);
	leave_slot(s, e);
}

static void on_looked(struct sf_ask *a, const struct sf_reply *reply)
{
	struct slot *s = a->arg;
	err_t e = reply->err;
	if (e == OK && reply->type == SF_MSG_attrs)
		e = set_add(&s->g->next, strdup(s->before));
	leave_slot(s, e);
}

static err_t begin(struct globbing *g, struct slot *s, const char *path)
{
	s->g = g;
	s->before = path;
	if (g->is_look) {
		s->look = (struct sf_ask){.on = on_looked, .arg = s};
		return sf_ask_lstat(
			g->r->sf, &s->look, &(struct sf_lstat){.path = cslice_str(path)});
	}
	s->path = strdup(path[0] != '\0' ? path : ".");
	if (s->path == NULL)
		return E_MEM;
	s->l.on_done = on_listed;
	s->l.arg = s;
	return remote_list_start(&s->l, g->r, s->path);
}

static struct slot *free_slot(struct globbing *g)
{
	for (size_t i = 0; i < AT_ONCE; i++)
		if (!g->slots[i].is_busy)
			return &g->slots[i];
	return NULL;
}

static void go_on(struct globbing *g)
{
	struct slot *s;
	while (g->e == OK && g->at < g->now.n && (s = free_slot(g)) != NULL) {
		s->is_busy = true;
		g->busy++;
		err_t e = begin(g, s, g->now.v[g->at++]);
		if (e != OK) {
			s->is_busy = false;
			g->busy--;
			free(s->path);
			s->path = NULL;
			g->e = e;
		}
	}
	if (g->busy > 0) {
		remote_push(g->r);
		return;
	}
	g->is_done = true;
	remote_wake(g->r);
}

/* Runs the loop until the set has become the next one.  When it cannot wait for that, g is left:
 * who comes last frees it. */
static err_t run(struct globbing *g)
{
	g->at = 0;
	g->is_done = false;
	g->busy = 1; /* so that nothing ends while it begins */
	go_on(g);
	g->busy--;
	if (g->busy == 0)
		g->is_done = true;
	err_t e = g->is_done ? OK : remote_run_until(g->r, &g->is_done);
	if (!g->is_done) {
		g->is_left = true;
		return e != OK ? e : E_BUG;
	}
	set_clear(&g->now);
	g->now = g->next;
	g->next = (struct path_set){0};
	return g->e;
}

/* ---- the parts --------------------------------------------------------------------------------
 */
static struct cslice take_part(struct cslice *rest, uint8_t separator)
{
	size_t n = 0;
	while (n < rest->n && (rest->p[n] == '/') == (separator == '/'))
		n += rest->p[n] == '\\' && n + 1 < rest->n && rest->p[n + 1] != '/' ? 2 : 1;
	struct cslice part = {rest->p, n};
	*rest = cslice_of(rest->p + n, rest->n - n);
	return part;
}

/* Every path of the set gets this text, its quotes taken off. */
static err_t append(struct globbing *g, struct cslice text)
{
	uint8_t *plain = malloc(text.n + 1);
	if (plain == NULL)
		return E_MEM;
	size_t n = glob_plain(text, (struct slice){plain, text.n});
	err_t e = OK;
	for (size_t i = 0; e == OK && i < g->now.n; i++) {
		char *path = join(g->now.v[i], cslice_of(plain, n));
		if (path == NULL) {
			e = E_MEM;
			break;
		}
		free(g->now.v[i]);
		g->now.v[i] = path;
	}
	free(plain);
	return e;
}

/* All parts.  *is_known: the last part was read from the server. */
static err_t walk(struct globbing *g, bool *has_magic, bool *is_known)
{
	while (g->rest.n > 0 && g->now.n > 0) {
		TRY(append(g, take_part(&g->rest, '/')));
		g->part = take_part(&g->rest, 0);
		if (g->part.n == 0) { /* it ends in a slash: is that a directory? */
			*is_known = false;
			break;
		}
		*is_known = glob_has_magic(g->part);
		if (*is_known) {
			*has_magic = true;
			TRY(run(g));
		} else {
			TRY(append(g, g->part));
		}
	}
	return OK;
}

static err_t look(struct globbing *g)
{
	g->is_look = true;
	return run(g);
}

static err_t literal(struct globbing *g, bool is_literal_ok)
{
	set_clear(&g->now);
	TRY(set_add(&g->now, strdup("")));
	TRY(append(g, cslice_str(g->pattern)));
	return is_literal_ok ? OK : look(g);
}

static err_t find(struct globbing *g, bool is_literal_ok, bool *has_matched)
{
	bool has_magic = false, is_known = false;
	TRY(set_add(&g->now, strdup("")));
	TRY(walk(g, &has_magic, &is_known));
	if (has_magic && g->now.n > 0 && (!is_known || g->rest.n > 0))
		TRY(look(g));
	*has_matched = has_magic && g->now.n > 0;
	return *has_matched ? OK : literal(g, is_literal_ok);
}

err_t remote_glob(
	struct remote *r, const char *pattern, bool is_literal_ok, struct remote_paths *out)
{
	bool has_matched = false;
	struct globbing *g = calloc(1, sizeof(*g));
	if (g == NULL)
		return E_MEM;
	g->r = r;
	g->pattern = strdup(pattern);
	g->rest = cslice_str(g->pattern != NULL ? g->pattern : "");
	err_t e = g->pattern == NULL ? E_MEM : find(g, is_literal_ok, &has_matched);
	if (e == OK) {
		if (g->now.n > 1)
			qsort(g->now.v, g->now.n, sizeof(*g->now.v), in_order);
		*out = (struct remote_paths){g->now.v, g->now.n, has_matched};
		g->now = (struct path_set){0};
	}
	if (!g->is_left)
		globbing_free(g);
	return e;
}

void remote_paths_free(struct remote_paths *p)
{
	for (size_t i = 0; i < p->n; i++)
		free(p->v[i]);
	free(p->v);
	*p = (struct remote_paths){0};
}
