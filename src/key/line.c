/* SPDX-License-Identifier: ISC */
/* line - the one-line public form "type base64 comment", and the words of the text formats built on
 * it */
#include "base/text.h"
#include "key/ops.h"

bool key_next_line(struct cslice *rest, struct cslice *line)
{
	if (rest->n == 0)
		return false;
	const uint8_t *lf = memchr(rest->p, '\n', rest->n);
	size_t n = lf != NULL ? (size_t)(lf - rest->p) : rest->n;
	size_t eaten = lf != NULL ? n + 1 : n;
	struct cslice s = {rest->p, n};
	if (s.n > 0 && s.p[s.n - 1] == '\r')
		s.n--;
	*rest = cslice_of(rest->p + eaten, rest->n - eaten);
	*line = s;
	return true;
}

struct cslice key_trim(struct cslice s)
{
	while (s.n > 0 && key_is_blank(s.p[0])) {
		s.p++;
		s.n--;
	}
	while (s.n > 0 &&
		(key_is_blank(s.p[s.n - 1]) || s.p[s.n - 1] == '\r' || s.p[s.n - 1] == '\n'))
		s.n--;
	return s;
}

struct cslice key_next_word(struct cslice *rest)
{
	size_t n = 0, next;
	while (n < rest->n && !key_is_blank(rest->p[n]))
		n++;
	struct cslice word = {rest->p, n};
	for (next = n; next < rest->n && key_is_blank(rest->p[next]);)
		next++;
	*rest = cslice_of(rest->p + next, rest->n - next);
	return word;
}

err_t key_line_words(struct cslice line, struct buf *blob, struct cslice *comment)
{
	struct cslice rest = key_trim(line);
	struct cslice name = key_next_word(&rest);
	struct cslice text = key_next_word(&rest);
	size_t start = blob->n;
	if (name.n == 0 || text.n == 0)
		return E_KEY_FORMAT;
	err_t e = base64_decode(blob, text, false);
	if (e == OK) {
		struct cslice bytes = {blob->p + start, blob->n - start};
		/* The word in front is a promise about the bytes behind it. */
		if (bytes.n == 0 || !cslice_eq(key_blob_type(bytes), name))
			e = E_KEY_FORMAT;
	} else if (e != E_MEM) {
		e = E_KEY_FORMAT;
	}
	if (e != OK) {
		blob->n = start;
		return e;
	}
	*comment = rest;
	return OK;
}

err_t key_line_blob(struct cslice line, struct buf *blob, struct cslice *comment)
{
	size_t start = blob->n;
	struct cslice words;
	enum key_type t;
	TRY(key_line_words(line, blob, &words));
	if (!key_type_from_name(key_blob_type(cslice_of(blob->p + start, blob->n - start)), &t)) {
		blob->n = start;
		return E_KEY_TYPE;
	}
	*comment = words;
	return OK;
}

static err_t line_put(const char *name, struct cslice blob, const char *comment, struct buf *out)
{
	size_t start = out->n;
	buf_printf(out, "%s ", name);
	base64_encode(out, blob);
	if (comment != NULL && comment[0] != '\0')
		buf_printf(out, " %s", comment);
	if (buf_err(out) != OK)
		out->n = start;
	return buf_err(out);
}

err_t key_public_line(const struct key *k, const char *comment, struct buf *out)
{
	struct buf blob;
	buf_init(&blob, KEY_BLOB_MAX);
	err_t e = key_blob(k, &blob);
	if (e == OK)
		e = line_put(key_type_name(k->type), buf_bytes(&blob), comment, out);
	buf_done(&blob);
	return e;
}

err_t key_line_any(const struct key *k, const char *comment, struct buf *out)
{
	if (k->cert == NULL)
		return key_public_line(k, comment, out);
	return line_put(key_name(k), buf_bytes(&k->cert->blob), comment, out);
}

static err_t line_parse(struct key **out, struct cslice line, struct buf *comment, bool any)
{
	struct buf blob;
	struct cslice words;
	struct key *k = NULL;
	buf_init(&blob, any ? CERT_BLOB_MAX : KEY_BLOB_MAX);
	err_t e = any ? key_line_words(line, &blob, &words) : key_line_blob(line, &blob, &words);
	if (e == OK)
		e = any ? key_parse_any(&k, buf_bytes(&blob))
			: key_parse_blob(&k, buf_bytes(&blob));
	if (e == OK && comment != NULL) {
		buf_put(comment, words.p, words.n);
		e = buf_err(comment);
	}
	buf_done(&blob);
	if (e != OK) {
		key_free(k);
		return e;
	}
	*out = k;
	return OK;
}

err_t key_parse_public_line(struct key **out, struct cslice line, struct buf *comment)
{
	return line_parse(out, line, comment, false);
}

err_t key_parse_line_any(struct key **out, struct cslice line, struct buf *comment)
{
	return line_parse(out, line, comment, true);
}
