/* SPDX-License-Identifier: ISC */
/*
 * allowed_signers - lines of "principals [options] keytype base64 [comment]" (compat 5.5)
 *
 * Lines of a cert-authority never fit: certificates are not built.
 */
#include "base/text.h"
#include "key/ak_options.h"
#include "key/ops.h"
#include "key/sshsig.h"

struct as_line {
	struct cslice principals, spaces; /* spaces: borrowed; p NULL = every namespace */
	bool is_ca, has_after, has_before;
	uint64_t after_s, before_s;
};

/* "..." without its quotes; a quote inside has a backslash, which such lists never need. */
static err_t unquote(struct cslice *s)
{
	if (s->n < 2 || s->p[0] != '"' || s->p[s->n - 1] != '"')
		return E_CONFIG;
	*s = cslice_of(s->p + 1, s->n - 2);
	return s->n > 0 && memchr(s->p, '"', s->n) == NULL ? OK : E_CONFIG;
}

static err_t time_option(struct cslice value, const struct as_query *q, bool *has, uint64_t *out_s)
{
	if (*has || ak_time_parse(value, q->local_time, out_s) != OK)
		return E_CONFIG;
	*has = true;
	return OK;
}

static err_t one_option(struct cslice option, const struct as_query *q, struct as_line *l)
{
	const uint8_t *equals = option.n > 0 ? memchr(option.p, '=', option.n) : NULL;

	if (equals == NULL) {
		if (!ascii_eq_nocase(option, "cert-authority") || l->is_ca)
			return E_CONFIG;
		l->is_ca = true;
		return OK;
	}
	struct cslice name = {option.p, (size_t)(equals - option.p)};
	struct cslice value = {equals + 1, option.n - name.n - 1};
	TRY(unquote(&value));
	if (ascii_eq_nocase(name, "valid-after"))
		return time_option(value, q, &l->has_after, &l->after_s);
	if (ascii_eq_nocase(name, "valid-before"))
		return time_option(value, q, &l->has_before, &l->before_s);
	if (!ascii_eq_nocase(name, "namespaces") || l->spaces.p != NULL)
		return E_CONFIG;
	l->spaces = value;
	return OK;
}

static err_t all_options(struct cslice text, const struct as_query *q, struct as_line *l)
{
	bool is_quoted = false;

	while (text.n > 0) {
		size_t n = 0;
		for (; n < text.n && (is_quoted || text.p[n] != ','); n++)
			is_quoted = is_quoted != (text.p[n] == '"');
		TRY(one_option(cslice_of(text.p, n), q, l));
		if (n + 1 == text.n)
			return E_CONFIG; /* a comma at the end */
		n = num_min(n + 1, text.n);
		text = cslice_of(text.p + n, text.n - n);
	}
	return l->has_after && l->has_before && l->before_s <= l->after_s ? E_CONFIG : OK;
}

static err_t take_principals(struct cslice *rest, struct cslice *out)
{
	struct cslice word;

	if (!ak_options_split(*rest, &word, rest))
		return E_CONFIG;
	if (word.n > 0 && word.p[0] == '"')
		TRY(unquote(&word));
	*out = word;
	return OK;
}

/* The key behind the principals, and the options before it.  blob stays empty when its type is not
 * built. */
static err_t read_rest(
	struct cslice text, const struct as_query *q, struct as_line *l, struct buf *blob)
{
	struct cslice comment, options;
	err_t e = key_line_blob(text, blob, &comment);

	if (e == E_KEY_FORMAT) {
		if (!ak_options_split(text, &options, &text))
			return E_CONFIG;
		TRY(all_options(options, q, l));
		e = key_line_blob(text, blob, &comment);
	}
	return e == OK || e == E_KEY_TYPE ? OK : e == E_KEY_FORMAT ? E_CONFIG : e;
}

static bool counts_for(const struct as_line *l, const struct as_query *q, struct cslice blob)
{
	struct key *k = NULL;

	if (l->is_ca || key_parse_blob(&k, blob) != OK)
		return false;
	bool fits = key_equal_public(k, q->k);
	key_free(k);
	if (q->space != NULL && l->spaces.p != NULL)
		fits = fits && glob_match_list(l->spaces, *q->space) == PATTERN_MATCH;
	return fits && (!l->has_after || q->when_s >= l->after_s) &&
	       (!l->has_before || q->when_s <= l->before_s);
}

static err_t look_at(
	struct cslice line, const struct as_query *q, bool *fits, struct cslice *principals)
{
	struct as_line l = {.is_ca = false};
	struct cslice rest = line;
	struct buf blob;

	*fits = false;
	TRY(take_principals(&rest, &l.principals));
	if (q->principal != NULL &&
		glob_match_list(l.principals, cslice_str(q->principal)) != PATTERN_MATCH)
		return OK;
	buf_init(&blob, KEY_BLOB_MAX);
	err_t e = read_rest(rest, q, &l, &blob);
	if (e == OK && (q->k == NULL || counts_for(&l, q, buf_bytes(&blob)))) {
		*fits = true;
		*principals = l.principals;
	}
	buf_done(&blob);
	return e;
}

err_t as_next(struct cslice *rest, const struct as_query *q, struct cslice *principals)
{
	struct cslice line;
	bool fits = false;

	while (key_next_line(rest, &line)) {
		line = key_trim(line);
		if (line.n == 0 || line.p[0] == '#')
			continue;
		TRY(look_at(line, q, &fits, principals));
		if (fits)
			return OK;
	}
	return E_NOT_FOUND;
}
