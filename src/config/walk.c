/* SPDX-License-Identifier: ISC */
/*
 * walk - the lines of a configuration obeyed for one situation
 *
 * Each file pushes the state of the block it was included from and pops it at its end.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/int.h"

struct state {
	bool active, in_match;
	uint32_t bad; /* bad lines when the file began */
};

static const char *file_of(const struct cfg_walk *w, const struct cfg_line *line)
{
	return w->lines->files.v[line->file];
}

void cfg_complain(struct cfg_walk *w, const struct cfg_line *line, const char *fmt, ...)
{
	char text[1024];
	va_list ap;
	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (!w->is_quiet)
		buf_printf(w->why, "%s line %u: %s\n", file_of(w, line), line->no, text);
}

err_t cfg_own_new(struct cfg_own **out, const struct cfg_table *t)
{
	struct cfg_own *own = calloc(1, sizeof(*own));
	if (own == NULL)
		return E_MEM;
	own->table = t;
	own->is_set = calloc(t->opts_n, sizeof(*own->is_set));
	own->was_set_before = calloc(t->opts_n, sizeof(*own->was_set_before));
	own->origin = calloc(t->opts_n, sizeof(*own->origin));
	if (own->is_set == NULL || own->was_set_before == NULL || own->origin == NULL) {
		free(own->is_set);
		free(own->was_set_before);
		free(own->origin);
		free(own);
		return E_MEM;
	}
	*out = own;
	return OK;
}

void cfg_own_done(struct cfg_own *own, void *fields)
{
	if (own == NULL)
		return;
	for (size_t i = 0; i < own->table->opts_n; i++)
		own->table->opts[i].kind->done(cfg_field(&own->table->opts[i], fields));
	free(own->is_set);
	free(own->was_set_before);
	free(own->origin);
	cfg_list_done(&own->forwards);
	cfg_list_done(&own->later);
	free(own);
}

static const struct cfg_opt *find_opt(const struct cfg_table *t, const char *keyword)
{
	struct cslice name = cslice_str(keyword);
	for (size_t i = 0; i < t->aliases_n; i++)
		if (ascii_eq_nocase(name, t->aliases[i].from))
			name = cslice_str(t->aliases[i].to);
	for (size_t i = 0; i < t->opts_n; i++)
		if (ascii_eq_nocase(name, t->opts[i].keyword))
			return &t->opts[i];
	return NULL;
}

bool cfg_is_set(const struct cfg_own *own, const char *keyword)
{
	const struct cfg_opt *opt = find_opt(own->table, keyword);
	return opt != NULL && own->is_set[opt - own->table->opts];
}

bool cfg_is_asked_later(const struct cfg_own *own, const char *keyword)
{
	for (size_t i = 0; i < own->later.n; i++)
		if (strcmp(own->later.v[i], keyword) == 0)
			return true;
	return false;
}

static const struct cfg_dead *find_dead(const struct cfg_dead *v, size_t n, const char *keyword)
{
	for (size_t i = 0; i < n; i++)
		if (ascii_eq_nocase(cslice_str(keyword), v[i].keyword))
			return &v[i];
	return NULL;
}

static void tell(struct cfg_walk *w, void (*to)(void *arg, const char *text),
	const struct cfg_line *line, const char *fmt)
{
	char text[512];
	if (to == NULL || w->is_quiet)
		return;
	int n = snprintf(text, sizeof(text), "%s line %u: ", file_of(w, line), line->no);
	if (n > 0 && (size_t)n < sizeof(text))
		(void)snprintf(text + n, sizeof(text) - (size_t)n, fmt, line->keyword);
	to(w->env->arg, text);
}

/* Of "Protocol 1", "1,2", "2": is the one there that this speaks? */
static bool names_protocol_2(const char *rest)
{
	return strchr(rest, '2') != NULL || strchr(rest, '1') == NULL;
}

static err_t dead_line(
	struct cfg_walk *w, const struct cfg_dead *d, const struct cfg_line *line, bool active)
{
	if (d->how == ONLY_2 && active && !names_protocol_2(line->rest)) {
		cfg_complain(w, line, "SSH protocol v.1 is no longer supported");
		return E_CONFIG;
	}
	if (d->how == DEPRECATED)
		tell(w, w->table->is_server ? w->env->warn : w->env->debug, line,
			"Deprecated option \"%s\"");
	else if (d->how == UNSUPPORTED)
		tell(w, w->env->warn, line, "Unsupported option \"%s\"");
	return OK;
}

/* A value that asks for nothing: the keyword may stand, built or not. */
static bool is_harmless(const char *rest)
{
	static const char *const values[] = {"no", "none", "any", "false", "0", "any:any"};
	for (size_t i = 0; i < ARRAY_N(values); i++)
		if (ascii_eq_nocase(cslice_str(rest), values[i]))
			return true;
	return false;
}

/* What is said about it depends on lines still to come.  A second pass meets the same lines. */
static err_t note_forward(struct cfg_walk *w, const char *keyword, const struct cfg_line *line)
{
	struct cfg_list *seen = &w->own->forwards;
	struct buf text;
	buf_init(&text, 65536);
	buf_printf(&text, "%s line %u: %s", file_of(w, line), line->no, keyword);
	buf_put_u8(&text, 0);
	err_t e = buf_err(&text);
	bool is_new = true;
	for (size_t i = 0; e == OK && i < seen->n; i++)
		is_new = is_new && strcmp(seen->v[i], (const char *)text.p) != 0;
	if (e == OK && is_new)
		e = cfg_list_add(seen, (const char *)text.p);
	buf_done(&text);
	return e;
}

static err_t later_line(
	struct cfg_walk *w, const struct cfg_dead *d, const struct cfg_line *line, bool active)
{
	if (is_harmless(line->rest))
		return OK;
	if (d->how == REFUSE && (active || w->table->is_server)) {
		cfg_complain(w, line,
			"%s limits access and is not supported yet: remove it or use another "
			"server for this",
			d->keyword);
		return E_CONFIG;
	}
	if (d->how == FORWARD)
		return active ? note_forward(w, d->keyword, line) : OK;
	if (!active)
		return OK;
	tell(w, w->env->warn, line, "%s is not supported yet and has no effect");
	return cfg_is_asked_later(w->own, d->keyword) ? OK
						      : cfg_list_add(&w->own->later, d->keyword);
}

/* IgnoreUnknown is there for lines after its own. */
static bool is_ignored(const struct cfg_walk *w, const char *keyword_lower)
{
	const struct cfg_opt *opt = find_opt(w->table, "IgnoreUnknown");
	if (opt == NULL)
		return false;
	const char *const *patterns = cfg_field_const(opt, w->out);
	if (*patterns == NULL)
		return false;
	char *lower = strdup(*patterns);
	if (lower == NULL)
		return false;
	ascii_lower(lower);
	bool yes = glob_match_list(cslice_str(lower), cslice_str(keyword_lower)) == PATTERN_MATCH;
	free(lower);
	return yes;
}

static err_t unknown_keyword(struct cfg_walk *w, const struct cfg_line *line)
{
	const char *near[512];
	size_t n = 0;
	struct buf lower;
	for (size_t i = 0; i < w->table->opts_n && n < ARRAY_N(near); i++)
		near[n++] = w->table->opts[i].keyword;
	const char *best = text_nearest(cslice_str(line->keyword), near, n);
	buf_init(&lower, 65536);
	buf_printf(&lower, "%s", line->keyword);
	buf_put_u8(&lower, 0);
	if (buf_err(&lower) == OK && !w->table->is_server)
		ascii_lower((char *)lower.p);
	if (buf_err(&lower) == OK && is_ignored(w, (const char *)lower.p)) {
		buf_done(&lower);
		tell(w, w->env->debug, line, "Ignored unknown option \"%s\"");
		return OK;
	}
	if (!w->is_quiet && buf_err(&lower) == OK) {
		buf_printf(w->why, "%s: line %u: Bad configuration option: ", file_of(w, line),
			line->no);
		vis_put(w->why, cslice_str((const char *)lower.p));
		if (best != NULL)
			buf_printf(w->why, " (did you mean %s?)", best);
		buf_printf(w->why, "\n");
	}
	buf_done(&lower);
	return E_CONFIG;
}

static bool may_store(
	const struct cfg_walk *w, const struct cfg_opt *opt, bool active, bool in_match)
{
	size_t i = (size_t)(opt - w->table->opts);
	if (!active || (w->pass == CFG_PASS_MATCHED && !in_match) ||
		(w->pass == CFG_PASS_GLOBAL && in_match))
		return false;
	if ((opt->flags & LAST) != 0 || opt->kind == &cfg_kind_subsystem)
		return true;
	if ((opt->flags & APPEND) != 0)
		return !w->own->was_set_before[i];
	return !w->own->is_set[i];
}

/* Parses into a scratch field first, so that a line of an inactive block is checked all the same.
 */
static err_t store(struct cfg_walk *w, const struct cfg_opt *opt, struct cfg_parse *p,
	const struct cfg_line *line, bool keep)
{
	union {
		char *text;
		struct cfg_list list;
		struct cfg_subsystems subsystems;
		uint64_t number[4];
	} scratch;
	size_t i = (size_t)(opt - w->table->opts);
	memset(&scratch, 0, sizeof(scratch));
	void *field = keep ? cfg_field(opt, w->out) : &scratch;
	p->is_add = keep && w->own->is_set[i] && (opt->flags & APPEND) != 0;
	err_t e = opt->kind->parse(p, field);
	if (!keep)
		opt->kind->done(field);
	if (e == OK && keep) {
		w->own->is_set[i] = true;
		if (!p->is_add)
			w->own->origin[i] = (struct cfg_origin){file_of(w, line), line->no};
	}
	return e;
}

static err_t option_line(struct cfg_walk *w, const struct cfg_line *line, const struct state *st)
{
	const struct cfg_opt *opt = find_opt(w->table, line->keyword);
	const struct cfg_dead *d;
	if (opt == NULL) {
		if ((d = find_dead(w->table->dead, w->table->dead_n, line->keyword)) != NULL)
			return dead_line(w, d, line, st->active);
		if ((d = find_dead(w->table->later, w->table->later_n, line->keyword)) != NULL)
			return later_line(w, d, line, st->active);
		return unknown_keyword(w, line);
	}
	if (w->table->is_server && st->in_match && (opt->flags & M) == 0) {
		cfg_complain(w, line, "Directive '%s' is not allowed within a Match block",
			line->keyword);
		return E_CONFIG;
	}
	struct cfg_words words = {.text = NULL};
	struct buf reason;
	struct cfg_parse p = {
		.opt = opt, .rest = line->rest, .is_server = w->table->is_server, .why = &reason};
	buf_init(&reason, 65536);
	err_t e = OK;
	if (!opt->kind->is_raw) {
		e = cfg_words_of(&words, line->rest);
		if (e == E_FORMAT)
			buf_printf(&reason, "a quote is not closed");
		p.v = words.v;
		p.n = words.n;
	} else {
		p.n = line->rest[0] != '\0';
	}
	if (e == OK && p.n == 0) {
		buf_printf(&reason, "no argument after keyword \"%s\"", line->keyword);
		e = E_CONFIG;
	} else if (e == OK && p.n > 1 && !opt->kind->is_list) {
		buf_printf(&reason, "keyword %s extra arguments at end of line", line->keyword);
		e = E_CONFIG;
	}
	if (e == OK)
		e = store(w, opt, &p, line, may_store(w, opt, st->active, st->in_match));
	buf_put_u8(&reason, 0);
	if (e != OK && buf_err(&reason) == OK)
		cfg_complain(w, line, "%s", reason.n > 1 ? (const char *)reason.p : err_text(e));
	buf_done(&reason);
	cfg_words_done(&words);
	return e;
}

static bool is_block(const struct cfg_table *t, const char *keyword)
{
	for (size_t i = 0; i < t->blocks_n; i++)
		if (ascii_eq_nocase(cslice_str(keyword), t->blocks[i]))
			return true;
	return false;
}

static err_t block_line(
	struct cfg_walk *w, const struct cfg_line *line, struct state *st, bool parent_active)
{
	struct cfg_words words = {.text = NULL};
	bool match = false;
	if (cfg_words_of(&words, line->rest) != OK || words.n == 0) {
		cfg_words_done(&words);
		cfg_complain(w, line, "no argument after keyword \"%s\"", line->keyword);
		return E_CONFIG;
	}
	err_t e = w->block(w, line, &words, &match);
	cfg_words_done(&words);
	st->active = e == OK && parent_active && match;
	st->in_match = true;
	return e;
}

err_t cfg_walk(struct cfg_walk *w)
{
	struct state stack[CFG_INCLUDE_DEPTH + 2] = {{true, false, 0}};
	size_t depth = 0;
	for (size_t i = 0; i < w->table->opts_n; i++)
		w->own->was_set_before[i] =
			w->own->is_set[i] && (w->pass != CFG_PASS_ALL || w->is_quiet);
	for (size_t i = 0; i < w->lines->n; i++) {
		const struct cfg_line *line = &w->lines->v[i];
		if (line->what == CFG_LINE_BEGIN) {
			if (depth + 1 >= ARRAY_N(stack))
				return E_CONFIG;
			stack[depth + 1] = stack[depth];
			stack[++depth].bad = w->bad;
			continue;
		}
		if (line->what == CFG_LINE_END) {
			if (depth == 0)
				return E_BUG;
			if (w->bad > stack[depth].bad && !w->is_quiet && depth == 1)
				buf_printf(w->why,
					"%s: terminating, %u bad configuration options\n",
					file_of(w, line), w->bad - stack[depth].bad);
			depth--;
			continue;
		}
		struct state *st = &stack[depth];
		err_t e = is_block(w->table, line->keyword)
				  ? block_line(w, line, st, depth == 0 || stack[depth - 1].active)
				  : option_line(w, line, st);
		if (e == E_MEM)
			return e;
		w->bad += e != OK;
	}
	return w->bad > 0 ? E_CONFIG : OK;
}

static err_t alg_list_default(const struct cfg_opt *opt, bool is_server, char **field)
{
	struct buf names;
	buf_init(&names, 65536);
	alg_default((enum alg_kind)opt->arg, is_server, &names);
	err_t e = buf_err(&names);
	if (e == OK)
		e = text_dup(buf_bytes(&names), field);
	buf_done(&names);
	return e;
}

err_t cfg_defaults(const struct cfg_table *t, struct cfg_own *own, void *fields)
{
	for (size_t i = 0; i < t->opts_n; i++) {
		const struct cfg_opt *opt = &t->opts[i];
		if (own->is_set[i])
			continue;
		if (opt->kind == &cfg_kind_alg)
			TRY(alg_list_default(opt, t->is_server, cfg_field(opt, fields)));
		if (opt->dflt == NULL)
			continue;
		struct cfg_words words = {.text = NULL};
		const char *text = opt->dflt;
		struct cfg_parse p = {.opt = opt, .rest = text, .is_server = t->is_server};
		TRY(cfg_words_of(&words, text));
		p.v = words.v;
		p.n = words.n;
		err_t e = opt->kind->parse(&p, cfg_field(opt, fields));
		cfg_words_done(&words);
		TRY(e);
	}
	return OK;
}

void cfg_print(const struct cfg_opt *opt, const void *fields, struct buf *out)
{
	const void *field = cfg_field_const(opt, fields);
	const struct cfg_list *list = field;
	char keyword[64];
	(void)snprintf(keyword, sizeof(keyword), "%s", opt->keyword);
	ascii_lower(keyword);
	bool is_list = opt->kind == &cfg_kind_list || opt->kind == &cfg_kind_ports;
	if (is_list && (opt->flags & APPEND) != 0) {
		for (size_t i = 0; i < list->n; i++)
			buf_printf(out, "%s %s\n", keyword, list->v[i]);
		return;
	}
	buf_printf(out, "%s ", keyword);
	opt->kind->print(opt, field, out);
	buf_printf(out, "\n");
}
