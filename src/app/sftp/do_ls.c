/* SPDX-License-Identifier: ISC */
/* do_ls - ls: a directory's names, or those that a pattern means */
#include <stdlib.h>

#include "app/sftp/owners.h"
#include "app/sftp/sftp.h"
#include "app/sftp/show.h"
#include "os/tty.h"

#define LIST_MAX    ((size_t)1 << 31) /* bytes printed at once */
#define PLAIN_WIDTH 80

struct listing {
	struct show_item *v;
	char **names; /* owned */
	size_t n;
	bool is_numeric;
	struct show_opts o;
	struct owners owners;
};

static void listing_init(struct listing *l, const struct command *c)
{
	uint32_t width = tty_size_of(1).cols;
	*l = (struct listing){.is_numeric = command_has(c, 'n')};
	l->o = (struct show_opts){
		.is_long = command_has(c, 'l') || command_has(c, 'n'),
		.is_single = command_has(c, '1'),
		.is_human = command_has(c, 'h'),
		.is_reverse = command_has(c, 'r'),
		.order = command_has(c, 'f')   ? SHOW_UNSORTED
			 : command_has(c, 't') ? SHOW_BY_TIME
			 : command_has(c, 'S') ? SHOW_BY_SIZE
					       : SHOW_BY_NAME,
		.width = width != 0 ? width : PLAIN_WIDTH,
		.now_s = os_wall_s(),
	};
}

static void listing_done(struct listing *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->names[i]);
	free(l->names);
	free(l->v);
	owners_done(&l->owners);
}

static err_t listing_room(struct listing *l, size_t n)
{
	l->v = calloc(n + 1, sizeof(*l->v));
	l->names = calloc(n + 1, sizeof(*l->names));
	return l->v != NULL && l->names != NULL ? OK : E_MEM;
}

/* takes name */
static err_t listing_add(struct listing *l, char *name, const struct sf_attr *a)
{
	if (name == NULL)
		return E_MEM;
	l->names[l->n] = name;
	l->v[l->n++] = (struct show_item){.name = name, .a = *a};
	return OK;
}

/* Numbers get their names, where the server tells them. */
static err_t name_owners(struct sftp *s, struct listing *l)
{
	if (!l->o.is_long || l->is_numeric)
		return OK;
	for (size_t i = 0; i < l->n; i++)
		if ((l->v[i].a.flags & SF_A_OWNER) != 0)
			TRY(owners_want(&l->owners, l->v[i].a.uid, l->v[i].a.gid));
	TRY(owners_ask(&l->owners, &s->r));
	for (size_t i = 0; i < l->n; i++) {
		l->v[i].user = owners_user(&l->owners, l->v[i].a.uid);
		l->v[i].group = owners_group(&l->owners, l->v[i].a.gid);
	}
	return OK;
}

static err_t listing_print(struct sftp *s, struct listing *l)
{
	struct buf out;
	TRY(name_owners(s, l));
	show_sort(l->v, l->n, &l->o);
	buf_init(&out, LIST_MAX);
	show_list(&out, l->v, l->n, &l->o);
	err_t e = buf_err(&out);
	sftp_put(&out);
	buf_done(&out);
	return e;
}

/* ---- a directory --------------------------------------------------------------------------------
 */
static err_t add_entries(struct sftp *s, struct listing *l, const struct remote_dir *d,
	const char *prefix, bool has_hidden)
{
	bool is_told = l->o.is_long && !l->is_numeric && !l->o.is_human &&
		       !sf_client_has(s->r.sf, SF_EXT_users_groups_by_id);
	TRY(listing_room(l, d->n));
	for (size_t i = 0; i < d->n; i++) {
		const struct remote_entry *entry = &d->v[i];
		if (entry->name[0] == '.' && !has_hidden)
			continue;
		TRY(listing_add(l, path_join(prefix, entry->name), &entry->a));
		if (is_told && entry->longname != NULL && entry->longname[0] != '\0')
			l->v[l->n - 1].longname = entry->longname;
	}
	return OK;
}

/* prefix: what the names begin with; "" for none */
static err_t list_dir(struct sftp *s, const struct command *c, const char *path, const char *prefix)
{
	struct remote_dir d = {0};
	struct listing l;
	err_t e = remote_list(&s->r, path, &d);
	if (e != OK)
		return sftp_fail(s, e, "remote readdir(\"%s\")", path);
	listing_init(&l, c);
	e = add_entries(s, &l, &d, prefix, command_has(c, 'a'));
	if (e == OK)
		e = listing_print(s, &l);
	listing_done(&l);
	remote_dir_free(&d);
	return e != OK ? sftp_fail(s, e, "ls \"%s\"", path) : OK;
}

/* ---- a pattern ----------------------------------------------------------------------------------
 */
/* Names below where we are are shown from there. */
static const char *shown_as(const struct sftp *s, const char *path, bool is_whole)
{
	size_t n = strlen(s->pwd);
	if (is_whole || strncmp(path, s->pwd, n) != 0)
		return path;
	if (n > 0 && s->pwd[n - 1] == '/')
		return path + n;
	return path[n] == '/' && path[n + 1] != '\0' ? path + n + 1 : path;
}

static err_t add_paths(
	struct sftp *s, struct listing *l, const struct remote_paths *p, bool is_whole)
{
	struct sf_attr *a = calloc(p->n, sizeof(*a));
	bool *ok = calloc(p->n, sizeof(*ok));
	err_t e = a != NULL && ok != NULL ? listing_room(l, p->n) : E_MEM;
	if (e == OK)
		e = sftp_stat_many(s, p->v, p->n, a, ok);
	for (size_t i = 0; e == OK && i < p->n; i++) {
		e = listing_add(l, strdup(shown_as(s, p->v[i], is_whole)), &a[i]);
		if (e == OK)
			l->v[i].is_marked = p->has_matched && ok[i] &&
					    (a[i].flags & SF_A_MODE) != 0 &&
					    (a[i].mode & 0170000) == 0040000;
	}
	free(a);
	free(ok);
	return e;
}

static err_t list_paths(
	struct sftp *s, const struct command *c, const struct remote_paths *p, bool is_whole)
{
	struct listing l;
	listing_init(&l, c);
	err_t e = add_paths(s, &l, p, is_whole);
	if (e == OK)
		e = listing_print(s, &l);
	listing_done(&l);
	return e != OK ? sftp_fail(s, e, "ls") : OK;
}

/* A directory that is alone is shown from within. */
static bool is_alone(struct sftp *s, const struct remote_paths *p)
{
	bool is_dir = false;
	return p->n == 1 && path_is_remote_dir(s, p->v[0], &is_dir) == OK && is_dir;
}

err_t do_ls(struct sftp *s, const struct command *c)
{
	struct remote_paths found = {0};
	if (c->arg[0] == NULL || c->arg[0][0] == '\0')
		return list_dir(s, c, s->pwd, "");
	bool is_whole = c->arg[0][0] == '/';
	char *pattern = path_absolute_pattern(s, c->arg[0]);
	err_t e = pattern != NULL ? remote_glob(&s->r, pattern, false, &found) : E_MEM;
	if (e != OK && e != E_STATUS) {
		free(pattern);
		return sftp_fail(s, e, "ls");
	}
	if (e == OK && found.n > 0) {
		if (is_alone(s, &found)) {
			path_strip(found.v[0]);
			e = list_dir(s, c, found.v[0], shown_as(s, found.v[0], is_whole));
		} else {
			e = list_paths(s, c, &found, is_whole);
		}
	} else if (pattern != NULL) {
		if (!word_is_pattern(pattern))
			word_plain(pattern);
		sftp_say("Can't ls: \"%s\" not found", pattern);
		e = E_NOT_FOUND;
	}
	remote_paths_free(&found);
	free(pattern);
	return e;
}
