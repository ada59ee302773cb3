/* SPDX-License-Identifier: ISC */
/* words - splitting a line; the rules are those of OpenSSH's sftp, tried word by word */
#include <stdlib.h>

#include "app/sftp/words.h"

#define BLANKS " \t\r\n\v\f"
#define MAGIC  "*?["

struct split {
	const char *line, *at;
	struct words *w;
	struct buf word;
	char quote;
	bool is_inside;
};

static bool is_one_of(char c, const char *set)
{
	return c != '\0' && strchr(set, c) != NULL;
}

static bool needs_escape(char c)
{
	return is_one_of(c, MAGIC "\\");
}

/* A byte that means itself. */
static void put_plain(struct buf *out, char c)
{
	if (needs_escape(c))
		buf_put_u8(out, '\\');
	buf_put_u8(out, (uint8_t)c);
}

static void begin(struct split *s)
{
	if (s->is_inside)
		return;
	s->is_inside = true;
	s->w->last_at = (size_t)(s->at - s->line);
}

static err_t add(struct words *w, char *word)
{
	char **v = realloc(w->v, (w->n + 2) * sizeof(*v));
	if (v == NULL)
		return E_MEM;
	w->v = v;
	w->v[w->n++] = word;
	w->v[w->n] = NULL;
	return OK;
}

static err_t end(struct split *s)
{
	if (!s->is_inside)
		return OK;
	buf_put_u8(&s->word, 0);
	TRY(buf_err(&s->word));
	char *copy = strdup((const char *)s->word.p);
	err_t e = copy != NULL ? add(s->w, copy) : E_MEM;
	if (e != OK)
		free(copy);
	buf_clear(&s->word);
	s->is_inside = false;
	return e;
}

/* At a backslash; leaves `at` on the last byte that it took. */
static void take_escape(struct split *s)
{
	char next = s->at[1];
	if (s->quote == '\0') {
		if (next == '\0')
			return; /* at the line's end it means nothing */
		put_plain(&s->word, next);
		s->at++;
	} else if (next == s->quote || next == '\\') {
		put_plain(&s->word, next);
		s->at++;
	} else {
		put_plain(&s->word, '\\');
	}
}

static err_t take(struct split *s)
{
	char c = *s->at;
	if (s->quote == '\0' && is_one_of(c, BLANKS))
		return end(s);
	begin(s);
	if (c == '\\')
		take_escape(s);
	else if (s->quote == '\0' && (c == '\'' || c == '"'))
		s->quote = c;
	else if (c == s->quote)
		s->quote = '\0';
	else if (s->quote != '\0')
		put_plain(&s->word, c);
	else
		buf_put_u8(&s->word, (uint8_t)c);
	return OK;
}

err_t words_split(const char *line, bool is_open_ok, struct words *out)
{
	struct words w = {0};
	struct split s = {.line = line, .at = line, .w = &w};
	err_t e = OK;
	buf_init(&s.word, 2 * strlen(line) + 2);
	for (; e == OK && *s.at != '\0' && (s.quote != '\0' || *s.at != '#'); s.at++)
		e = take(&s);
	w.quote = s.quote;
	w.is_inside = s.is_inside && *s.at == '\0';
	if (e == OK && s.quote != '\0' && !is_open_ok)
		e = E_FORMAT;
	if (e == OK)
		e = end(&s);
	buf_done(&s.word);
	if (e != OK) {
		words_free(&w);
		return e;
	}
	*out = w;
	return OK;
}

void words_free(struct words *w)
{
	for (size_t i = 0; i < w->n; i++)
		free(w->v[i]);
	free(w->v);
	*w = (struct words){0};
}

void word_plain(char *word)
{
	char *to = word;
	for (const char *from = word; *from != '\0'; from++) {
		if (*from == '\\' && from[1] != '\0')
			from++;
		*to++ = *from;
	}
	*to = '\0';
}

bool word_is_pattern(const char *word)
{
	for (; *word != '\0'; word++) {
		if (is_one_of(*word, MAGIC))
			return true;
		if (*word == '\\' && word[1] != '\0')
			word++;
	}
	return false;
}

void word_put_pattern(struct buf *out, struct cslice name)
{
	for (size_t i = 0; i < name.n; i++)
		put_plain(out, (char)name.p[i]);
}

void word_put_typed(struct buf *out, struct cslice name, char quote)
{
	for (size_t i = 0; i < name.n; i++) {
		char c = (char)name.p[i];
		if (quote != '\0' ? c == quote || c == '\\'
				  : needs_escape(c) || is_one_of(c, BLANKS "'\"#"))
			buf_put_u8(out, '\\');
		buf_put_u8(out, (uint8_t)c);
	}
}
