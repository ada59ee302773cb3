/* SPDX-License-Identifier: ISC */
/* words - a configuration line cut into words (compat 3.1) */
#include <stdlib.h>
#include <string.h>

#include "config/int.h"

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f';
}

/* Copies one word from *at; an unbalanced quote is E_FORMAT. */
static err_t take_word(const char **at, char **to)
{
	char quote = 0;
	const char *s = *at;
	char *d = *to;
	for (; *s != '\0' && (quote != 0 || !is_blank(*s)); s++) {
		bool escapes = s[0] == '\\' && (s[1] == '\'' || s[1] == '"' || s[1] == '\\' ||
						       (quote == 0 && s[1] == ' '));
		if (escapes)
			*d++ = *++s;
		else if (quote == 0 && (*s == '"' || *s == '\''))
			quote = *s;
		else if (quote != 0 && *s == quote)
			quote = 0;
		else
			*d++ = *s;
	}
	if (quote != 0)
		return E_FORMAT;
	*d++ = '\0';
	*at = s;
	*to = d;
	return OK;
}

err_t cfg_words_of(struct cfg_words *out, const char *rest)
{
	struct cfg_words w = {.text = malloc(2 * strlen(rest) + 1)};
	if (w.text == NULL)
		return E_MEM;
	char *to = w.text;
	err_t e = OK;
	for (const char *at = rest; e == OK;) {
		while (is_blank(*at))
			at++;
		if (*at == '\0' || *at == '#')
			break;
		if (w.n == CFG_WORDS_MAX) {
			e = E_LIMIT;
			break;
		}
		w.v[w.n++] = to;
		e = take_word(&at, &to);
	}
	if (e != OK) {
		free(w.text);
		return e;
	}
	*out = w;
	return OK;
}

void cfg_words_done(struct cfg_words *w)
{
	free(w->text);
	w->text = NULL;
	w->n = 0;
}

err_t cfg_list_add(struct cfg_list *l, const char *s)
{
	char *copy = strdup(s);
	char **v = copy != NULL ? realloc(l->v, (l->n + 1) * sizeof(*v)) : NULL;
	if (v == NULL) {
		free(copy);
		return E_MEM;
	}
	v[l->n++] = copy;
	l->v = v;
	return OK;
}

void cfg_list_done(struct cfg_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->v[i]);
	free(l->v);
	*l = (struct cfg_list){NULL, 0};
}

err_t cfg_command_words(const char *command, struct cfg_list *out)
{
	struct cfg_words w;
	struct cfg_list l = {NULL, 0};
	TRY(cfg_words_of(&w, command));
	err_t e = OK;
	for (size_t i = 0; i < w.n && e == OK; i++)
		e = cfg_list_add(&l, w.v[i]);
	cfg_words_done(&w);
	if (e != OK) {
		cfg_list_done(&l);
		return e;
	}
	*out = l;
	return OK;
}

void cfg_command_words_done(struct cfg_list *words)
{
	cfg_list_done(words);
}
