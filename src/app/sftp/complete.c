/* SPDX-License-Identifier: ISC */
/* complete - commands, remote names and local names that begin as a word of the line does */
#include <dirent.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/stat.h>

#include "app/sftp/sftp.h"
#include "base/text.h"

#define NAMES_MAX ((size_t)100000)

struct asking {
	struct sftp *s;
	struct completion *out;
	char *word;       /* as a name, owned */
	const char *base; /* what its last part begins with */
	char quote;
	size_t cap;
};

/* What would not look like itself on the terminal is not offered. */
static bool is_printable(struct cslice name)
{
	struct buf shown;
	buf_init(&shown, 4 * name.n + 1);
	vis_put(&shown, name);
	bool is = buf_err(&shown) == OK && cslice_eq(buf_bytes(&shown), name);
	buf_done(&shown);
	return is;
}

static err_t room(struct asking *q)
{
	struct completion *c = q->out;
	if (c->n < q->cap)
		return OK;
	if (c->n >= NAMES_MAX)
		return E_LIMIT;
	size_t cap = q->cap == 0 ? 64 : 2 * q->cap;
	char **v = realloc(c->v, cap * sizeof(*v));
	if (v != NULL)
		c->v = v;
	bool *is_ended = realloc(c->is_ended, cap * sizeof(*is_ended));
	if (is_ended != NULL)
		c->is_ended = is_ended;
	if (v == NULL || is_ended == NULL)
		return E_MEM;
	q->cap = cap;
	return OK;
}

/* The word's directory part and the name, as they are typed. */
static err_t offer(struct asking *q, const char *name, bool is_dir)
{
	struct buf typed;
	if (strncmp(name, q->base, strlen(q->base)) != 0 || !is_printable(cslice_str(name)))
		return OK;
	TRY(room(q));
	buf_init(&typed, INPUT_LINE_MAX);
	if (q->quote != '\0')
		buf_put_u8(&typed, (uint8_t)q->quote);
	word_put_typed(&typed, cslice_of(q->word, (size_t)(q->base - q->word)), q->quote);
	word_put_typed(&typed, cslice_str(name), q->quote);
	if (is_dir)
		buf_put_u8(&typed, '/');
	buf_put_u8(&typed, 0);
	char *copy = buf_err(&typed) == OK ? strdup((const char *)typed.p) : NULL;
	buf_done(&typed);
	if (copy == NULL)
		return E_MEM;
	q->out->is_ended[q->out->n] = !is_dir;
	q->out->v[q->out->n++] = copy;
	return OK;
}

/* Names that begin with a dot are only for those who ask for it. */
static bool is_wanted(const struct asking *q, const char *name)
{
	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return false;
	return name[0] != '.' || q->base[0] == '.';
}

/* The directory that the word names; gives a copy. */
static char *directory(const struct asking *q)
{
	char *dir = strndup(q->word, (size_t)(q->base - q->word));
	return dir;
}

static err_t offer_remote(struct asking *q)
{
	struct remote_dir d = {0};
	char *part = directory(q);
	char *dir = part != NULL ? path_absolute(q->s, part) : NULL;
	free(part);
	if (dir == NULL)
		return E_MEM;
	path_strip(dir);
	err_t e = remote_list(&q->s->r, dir, &d);
	for (size_t i = 0; e == OK && i < d.n; i++) {
		const struct remote_entry *entry = &d.v[i];
		bool is_dir = (entry->a.flags & SF_A_MODE) != 0 && S_ISDIR(entry->a.mode);
		if ((entry->a.flags & SF_A_MODE) != 0 && S_ISLNK(entry->a.mode) &&
			strncmp(entry->name, q->base, strlen(q->base)) == 0 && q->base[0] != '\0') {
			char *path = path_join(dir, entry->name);
			if (path == NULL || path_is_remote_dir(q->s, path, &is_dir) != OK)
				is_dir = false;
			free(path);
		}
		if (is_wanted(q, entry->name))
			e = offer(q, entry->name, is_dir);
	}
	remote_dir_free(&d);
	free(dir);
	return e;
}

static err_t offer_local(struct asking *q)
{
	err_t e = OK;
	char *part = directory(q);
	if (part == NULL)
		return E_MEM;
	DIR *dir = opendir(part[0] != '\0' ? part : ".");
	const struct dirent *entry;
	while (dir != NULL && e == OK && (entry = readdir(dir)) != NULL) {
		if (!is_wanted(q, entry->d_name))
			continue;
		char *path = path_join(part, entry->d_name);
		e = path != NULL ? offer(q, entry->d_name, path_is_local_dir(path)) : E_MEM;
		free(path);
	}
	if (dir != NULL)
		(void)closedir(dir);
	free(part);
	return e;
}

static err_t offer_commands(struct asking *q)
{
	const char *name;
	bool in_help = false;
	ascii_lower(q->word);
	for (size_t i = 0; (name = command_name(i, &in_help)) != NULL; i++)
		if (in_help)
			TRY(offer(q, name, false));
	return OK;
}

/* What the word numbered `at` of the line is, by the table: R L r l t o d *, or 0. */
static char kind_of(const struct words *w, size_t at)
{
	const struct command_row *row = at > 0 ? command_find(w->v[0]) : NULL;
	size_t arg = 0;
	bool is_flag = true;
	if (row == NULL)
		return '\0';
	for (size_t i = 1; i < at; i++) {
		is_flag &= w->v[i][0] == '-';
		arg += !is_flag;
	}
	for (const char *kind = row->args; *kind != '\0'; kind++) {
		if (*kind == '?')
			continue;
		if (*kind == '*')
			return strcmp(row->name, "!") == 0 ? '\0' : 'l';
		if (arg-- == 0)
			return *kind;
	}
	return '\0';
}

static err_t offer_all(struct asking *q, const struct words *w)
{
	size_t at = w->is_inside ? w->n - 1 : w->n;
	q->word = strdup(w->is_inside ? w->v[at] : "");
	if (q->word == NULL)
		return E_MEM;
	word_plain(q->word);
	q->base = q->word;
	if (at == 0)
		return offer_commands(q);
	q->base = path_last(q->word);
	char kind = kind_of(w, at);
	if (kind == 'R' || kind == 'r' || kind == 't')
		return offer_remote(q);
	return kind == 'L' || kind == 'l' ? offer_local(q) : OK;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

err_t sftp_complete(struct sftp *s, const char *line, struct completion *out)
{
	struct words w;
	struct completion c = {0};
	struct asking q = {.s = s, .out = &c};
	line += strspn(line, " \t-@");
	TRY(words_split(line, true, &w));
	c.quote = q.quote = w.quote;
	c.replace = w.is_inside ? strlen(line) - w.last_at : 0;
	err_t e = offer_all(&q, &w);
	free(q.word);
	words_free(&w);
	if (e != OK) {
		completion_free(&c);
		return e;
	}
	if (c.n > 1) /* the order of is_ended is of no use then */
		qsort(c.v, c.n, sizeof(*c.v), by_text);
	*out = c;
	return OK;
}

void completion_free(struct completion *c)
{
	for (size_t i = 0; i < c->n; i++)
		free(c->v[i]);
	free(c->v);
	free(c->is_ended);
	*c = (struct completion){0};
}
