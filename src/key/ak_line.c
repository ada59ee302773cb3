/* SPDX-License-Identifier: ISC */
/* ak_line - which key a line of authorized_keys is about, for programs that only look for it */
#include "base/text.h"
#include "key/ak_options.h"
#include "key/ops.h"

/* The next option off *rest: up to a comma outside of quotes. */
static struct cslice next_option(struct cslice *rest)
{
	bool is_quoted = false;
	size_t n = 0;
	for (; n < rest->n && (is_quoted || rest->p[n] != ','); n++) {
		if (rest->p[n] == '\\' && n + 1 < rest->n && rest->p[n + 1] == '"')
			n++;
		else if (rest->p[n] == '"')
			is_quoted = !is_quoted;
	}
	n = num_min(n, rest->n);
	struct cslice option = {rest->p, n};
	size_t eaten = num_min(n + 1, rest->n);
	*rest = cslice_of(rest->p + eaten, rest->n - eaten);
	return option;
}

static bool has_option(struct cslice options, const char *name)
{
	while (options.n > 0)
		if (ascii_eq_nocase(next_option(&options), name))
			return true;
	return false;
}

err_t ak_line_key(struct cslice line, struct buf *blob, struct ak_line *out)
{
	struct ak_line l = {0};
	struct cslice rest;
	line = key_trim(line);
	if (line.n == 0 || line.p[0] == '#' || line.n > AK_LINE_MAX)
		return E_KEY_FORMAT;
	l.options = cslice_of(line.p, 0);
	err_t e = key_line_words(line, blob, &l.comment);
	if (e == E_KEY_FORMAT && ak_options_split(line, &l.options, &rest))
		e = key_line_words(rest, blob, &l.comment);
	if (e != OK)
		return e;
	l.is_authority = has_option(l.options, "cert-authority");
	*out = l;
	return OK;
}
