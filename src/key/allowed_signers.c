/* SPDX-License-Identifier: ISC */
/*
 * allowed_signers - lines of "principals [options] keytype base64 [comment]" (compat 5.5)
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

/* The key behind the principals, and the options before it; its type may be one that is not built.
 */
static err_t read_rest(
	struct cslice text, const struct as_query *q, struct as_line *l, struct buf *blob)
{
	struct cslice comment, options;
	err_t e = key_line_words(text, blob, &comment);

	if (e == E_KEY_FORMAT) {
		if (!ak_options_split(text, &options, &text))
			return E_CONFIG;
		TRY(all_options(options, q, l));
		e = key_line_words(text, blob, &comment);
	}
	return e == E_KEY_FORMAT ? E_CONFIG : e;
}

/* The names of a certificate that the line has too, with commas between them.  A comma inside of a
 * name would make two of it. */
static err_t names_in_both(
	const struct cert *c, struct cslice list, struct buf *names, struct cslice *out)
{
	struct cslice rest = c->principals, name;

	buf_clear(names);
	while (cert_next_principal(&rest, &name)) {
		if (name.n == 0 || memchr(name.p, ',', name.n) != NULL ||
			glob_match_list(list, name) != PATTERN_MATCH)
			continue;
		if (names->n > 0)
			buf_put_u8(names, ',');
		buf_put(names, name.p, name.n);
	}
	TRY(buf_err(names));
	if (names->n == 0)
		return E_NOT_FOUND;
	*out = buf_bytes(names);
	return OK;
}

/* A certificate of the authority in the line. */
static err_t certified(
	const struct as_line *l, const struct as_query *q, const struct key *ca, struct cslice *who)
{
	const struct cert *c = key_cert(q->k);
	struct cert_query cq = {CERT_USER, q->when_s, q->principal, NULL, NULL};

	if (c == NULL || !key_equal_public(c->ca, ca) || cert_check(q->k, &cq, NULL) != OK)
		return E_NOT_FOUND;
	if (q->principal != NULL || q->names == NULL)
		return OK;
	return names_in_both(c, l->principals, q->names, who);
}

/* Plain keys with plain keys, certificates with certificates. */
static bool is_same(const struct key *k, struct cslice blob)
{
	struct buf own;

	buf_init(&own, CERT_BLOB_MAX);
	bool same = key_blob_any(k, &own) == OK && cslice_eq(buf_bytes(&own), blob);
	buf_done(&own);
	return same;
}

/* E_NOT_FOUND: it does not. */
static err_t counts_for(
	const struct as_line *l, const struct as_query *q, struct cslice blob, struct cslice *who)
{
	struct key *ca = NULL;
	err_t e = is_same(q->k, blob) ? OK : E_NOT_FOUND;

	if (l->is_ca) {
		e = key_parse_blob(&ca, blob) == OK ? certified(l, q, ca, who) : E_NOT_FOUND;
		key_free(ca);
	}
	TRY(e);
	if (q->space != NULL && l->spaces.p != NULL &&
		glob_match_list(l->spaces, *q->space) != PATTERN_MATCH)
		return E_NOT_FOUND;
	bool is_early = l->has_after && q->when_s < l->after_s,
	     is_late = l->has_before && q->when_s > l->before_s;
	return is_early || is_late ? E_NOT_FOUND : OK;
}

/* E_NOT_FOUND: the line does not fit. */
static err_t look_at(struct cslice line, const struct as_query *q, struct cslice *principals)
{
	struct as_line l = {.is_ca = false};
	struct cslice rest = line;
	struct buf blob;

	TRY(take_principals(&rest, &l.principals));
	if (q->principal != NULL &&
		glob_match_list(l.principals, cslice_str(q->principal)) != PATTERN_MATCH)
		return E_NOT_FOUND;
	buf_init(&blob, CERT_BLOB_MAX);
	struct cslice who = l.principals;
	err_t e = read_rest(rest, q, &l, &blob);
	if (e == OK && q->k != NULL)
		e = counts_for(&l, q, buf_bytes(&blob), &who);
	buf_done(&blob);
	TRY(e);
	*principals = who;
	return OK;
}

err_t as_next(struct cslice *rest, const struct as_query *q, struct cslice *principals)
{
	struct cslice line;

	while (key_next_line(rest, &line)) {
		line = key_trim(line);
		if (line.n == 0 || line.p[0] == '#')
			continue;
		err_t e = look_at(line, q, principals);
		if (e != E_NOT_FOUND)
			return e;
	}
	return E_NOT_FOUND;
}
