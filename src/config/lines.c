/* SPDX-License-Identifier: ISC */
/*
 * lines - configuration text as a flat array of lines, Includes followed
 *
 * Every file stands between a BEGIN and an END line, so that a block opened in an included file
 * ends with it.
 */
#include <stdlib.h>
#include <string.h>

#include "config/int.h"
#include "wire/codec.h"

struct loader {
	struct cfg_lines *lines;
	const struct cfg_env *env;
	struct buf *why;
	const char *include_dir;
	bool is_user;
	uint32_t depth;
};

err_t cfg_lines_new(struct cfg_lines **out)
{
	struct cfg_lines *l = calloc(1, sizeof(*l));
	if (l == NULL)
		return E_MEM;
	*out = l;
	return OK;
}

void cfg_lines_free(struct cfg_lines *l)
{
	if (l == NULL)
		return;
	for (size_t i = 0; i < l->n; i++) {
		free(l->v[i].keyword);
		free(l->v[i].rest);
	}
	free(l->v);
	cfg_list_done(&l->files);
	free(l);
}

static err_t add_line(struct cfg_lines *l, struct cfg_line line)
{
	if (l->n >= CFG_LINES_MAX)
		return E_LIMIT;
	if (l->n == l->cap) {
		size_t cap = num_max(2 * l->cap, 64);
		struct cfg_line *v = realloc(l->v, cap * sizeof(*v));
		if (v == NULL)
			return E_MEM;
		l->v = v;
		l->cap = cap;
	}
	l->v[l->n++] = line;
	return OK;
}

static err_t add_file(struct cfg_lines *l, const char *name, uint32_t *index)
{
	TRY(cfg_list_add(&l->files, name));
	*index = (uint32_t)(l->files.n - 1);
	return add_line(l, (struct cfg_line){CFG_LINE_BEGIN, *index, 0, NULL, NULL});
}

static bool is_blank(uint8_t c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\f';
}

static struct cslice trim(struct cslice s)
{
	while (s.n > 0 && is_blank(s.p[0]))
		s = cslice_of(s.p + 1, s.n - 1);
	while (s.n > 0 && is_blank(s.p[s.n - 1]))
		s.n--;
	return s;
}

/* keyword, then blanks or one `=` among blanks, then the rest; the keyword may stand in double
 * quotes. */
static void split_line(struct cslice line, struct cslice *keyword, struct cslice *rest)
{
	size_t n = 0;
	bool quoted = line.n > 1 && line.p[0] == '"';
	if (quoted)
		line = cslice_of(line.p + 1, line.n - 1);
	while (n < line.n && (quoted ? line.p[n] != '"' : !is_blank(line.p[n]) && line.p[n] != '='))
		n++;
	*keyword = cslice_of(line.p, n);
	size_t at = quoted && n < line.n ? n + 1 : n;
	struct cslice after = trim(cslice_of(line.p + at, line.n - at));
	if (after.n > 0 && after.p[0] == '=')
		after = trim(cslice_of(after.p + 1, after.n - 1));
	*rest = after;
}

static err_t load_text(struct loader *ld, struct cslice text, const char *name);

/* ~/x, relative and absolute Include arguments, with ${NAME} expanded. */
static err_t include_path(struct loader *ld, const char *word, struct buf *out)
{
	const char *home = ld->env->getenv != NULL ? ld->env->getenv(ld->env->arg, "HOME") : NULL;
	if (word[0] == '~' && word[1] == '/' && ld->is_user && home != NULL) {
		buf_printf(out, "%s", home);
		word++;
	} else if (word[0] != '/') {
		buf_printf(out, "%s/", ld->include_dir);
	}
	for (const char *s = word; *s != '\0'; s++) {
		const char *end = s[0] == '$' && s[1] == '{' ? strchr(s, '}') : NULL;
		if (end == NULL) {
			buf_put_u8(out, (uint8_t)*s);
			continue;
		}
		char *variable = strndup(s + 2, (size_t)(end - s - 2));
		if (variable == NULL)
			return E_MEM;
		const char *value =
			ld->env->getenv != NULL ? ld->env->getenv(ld->env->arg, variable) : NULL;
		if (value == NULL)
			buf_printf(
				ld->why, "Include: environment variable %s is not set\n", variable);
		free(variable);
		if (value == NULL)
			return E_CONFIG;
		buf_printf(out, "%s", value);
		s = end;
	}
	buf_put_u8(out, 0);
	return buf_err(out);
}

static err_t include_file(struct loader *ld, const char *path)
{
	struct buf text;
	buf_init(&text, (size_t)64 << 20);
	err_t e = ld->env->read_file(ld->env->arg, path, ld->is_user, &text);
	if (e == E_NOT_FOUND) {
		e = OK; /* compat 3.1: a missing file is no error */
	} else if (e == E_PERMISSION) {
		buf_printf(ld->why, "Bad owner or permissions on %s\n", path);
		e = E_CONFIG;
	} else if (e == OK) {
		e = load_text(ld, buf_bytes(&text), path);
	}
	buf_done(&text);
	return e;
}

static err_t include_word(struct loader *ld, const char *word)
{
	struct buf pattern;
	struct cfg_list found = {NULL, 0};
	buf_init(&pattern, 65536);
	err_t e = include_path(ld, word, &pattern);
	if (e == OK && ld->env->glob != NULL)
		e = ld->env->glob(ld->env->arg, (const char *)pattern.p, &found);
	for (size_t i = 0; e == OK && i < found.n; i++)
		e = include_file(ld, found.v[i]);
	cfg_list_done(&found);
	buf_done(&pattern);
	return e;
}

static err_t include(struct loader *ld, const char *rest, const char *name, uint32_t no)
{
	struct cfg_words w = {.text = NULL};
	if (cfg_words_of(&w, rest) != OK || w.n == 0) {
		cfg_words_done(&w);
		buf_printf(
			ld->why, "%s line %u: no argument after keyword \"Include\"\n", name, no);
		return E_CONFIG;
	}
	err_t e = OK;
	if (++ld->depth > CFG_INCLUDE_DEPTH) {
		buf_printf(ld->why, "%s line %u: Too many recursive configuration includes\n", name,
			no);
		e = E_CONFIG;
	}
	for (size_t i = 0; e == OK && i < w.n; i++) {
		if (strchr(w.v[i], '%') != NULL) {
			buf_printf(ld->why,
				"%s line %u: percent tokens in Include are not supported yet\n",
				name, no);
			e = E_CONFIG;
			break;
		}
		if (ld->env != NULL && ld->env->read_file != NULL)
			e = include_word(ld, w.v[i]);
	}
	ld->depth--;
	cfg_words_done(&w);
	return e;
}

static err_t load_line(
	struct loader *ld, struct cslice raw, const char *name, uint32_t file, uint32_t no)
{
	struct cslice keyword, rest, line = trim(raw);
	if (line.n == 0 || line.p[0] == '#')
		return OK;
	split_line(line, &keyword, &rest);
	struct cfg_line out = {CFG_LINE_OPTION, file, no, NULL, NULL};
	if (text_dup(keyword, &out.keyword) != OK || text_dup(rest, &out.rest) != OK) {
		free(out.keyword);
		buf_printf(ld->why, "%s: line %u: NUL byte in the line\n", name, no);
		return E_CONFIG;
	}
	if (ascii_eq_nocase(keyword, "Include")) {
		err_t e = include(ld, out.rest, name, no);
		free(out.keyword);
		free(out.rest);
		return e;
	}
	err_t e = add_line(ld->lines, out);
	if (e != OK) {
		free(out.keyword);
		free(out.rest);
	}
	return e;
}

static err_t load_text(struct loader *ld, struct cslice text, const char *name)
{
	uint32_t file, no = 0;
	TRY(add_file(ld->lines, name, &file));
	while (text.n > 0) {
		const uint8_t *end = memchr(text.p, '\n', text.n);
		size_t n = end != NULL ? (size_t)(end - text.p) : text.n;
		TRY(load_line(ld, cslice_of(text.p, n), name, file, ++no));
		size_t eaten = end != NULL ? n + 1 : n;
		text = cslice_of(text.p + eaten, text.n - eaten);
	}
	return add_line(ld->lines, (struct cfg_line){CFG_LINE_END, file, 0, NULL, NULL});
}

err_t cfg_lines_text(struct cfg_lines *l, struct cslice text, const struct cfg_source *from,
	const struct cfg_env *env, struct buf *why)
{
	struct loader ld = {l, env, why, from->include_dir, from->is_user, 0};
	return load_text(&ld, text, from->name);
}

err_t cfg_lines_option(struct cfg_lines *l, const char *option, struct buf *why)
{
	struct loader ld = {l, NULL, why, "", false, 0};
	uint32_t file;
	TRY(add_file(l, "command-line", &file));
	TRY(load_line(&ld, cslice_str(option), "command-line", file, 0));
	return add_line(l, (struct cfg_line){CFG_LINE_END, file, 0, NULL, NULL});
}

void cfg_lines_put(const struct cfg_lines *l, struct buf *out)
{
	buf_put_u32(out, (uint32_t)l->files.n);
	for (size_t i = 0; i < l->files.n; i++)
		buf_put_cstring(out, l->files.v[i]);
	buf_put_u32(out, (uint32_t)l->n);
	for (size_t i = 0; i < l->n; i++) {
		const struct cfg_line *line = &l->v[i];
		buf_put_u8(out, (uint8_t)line->what);
		buf_put_u32(out, line->file);
		buf_put_u32(out, line->no);
		buf_put_cstring(out, line->keyword != NULL ? line->keyword : "");
		buf_put_cstring(out, line->rest != NULL ? line->rest : "");
	}
}

static err_t get_line(struct rd *r, struct cfg_lines *l)
{
	uint8_t what = rd_u8(r);
	struct cfg_line line = {(enum cfg_line_what)what, rd_u32(r), rd_u32(r), NULL, NULL};
	struct cslice keyword = rd_text(r), rest = rd_text(r);
	if (r->bad || what > CFG_LINE_END || line.file >= l->files.n)
		return E_FORMAT;
	err_t e = text_dup(keyword, &line.keyword);
	if (e == OK)
		e = text_dup(rest, &line.rest);
	if (e == OK)
		e = add_line(l, line);
	if (e != OK) {
		free(line.keyword);
		free(line.rest);
	}
	return e;
}

err_t cfg_lines_get(struct cfg_lines **out, struct cslice frozen)
{
	struct rd r = rd_of(frozen);
	struct cfg_lines *l;
	TRY(cfg_lines_new(&l));
	err_t e = OK;
	for (uint32_t n = rd_u32(&r); e == OK && n > 0; n--) {
		char *name = NULL;
		struct cslice s = rd_text(&r);
		e = r.bad ? E_FORMAT : text_dup(s, &name);
		if (e == OK)
			e = cfg_list_add(&l->files, name);
		free(name);
	}
	for (uint32_t n = rd_u32(&r); e == OK && n > 0; n--)
		e = get_line(&r, l);
	if (e == OK)
		e = rd_end(&r);
	if (e != OK) {
		cfg_lines_free(l);
		return e;
	}
	*out = l;
	return OK;
}
