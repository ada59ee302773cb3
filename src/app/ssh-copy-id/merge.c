/* SPDX-License-Identifier: ISC */
/*
 * merge - which keys a file of authorized keys lacks
 *
 * Blobs are compared, not text: other options, another comment or other blanks do not make a key
 * another one.
 */
#include "app/ssh-copy-id/ci.h"

static bool next_line(struct cslice *rest, struct cslice *line)
{
	if (rest->n == 0)
		return false;
	const uint8_t *lf = memchr(rest->p, '\n', rest->n);
	size_t n = lf != NULL ? (size_t)(lf - rest->p) : rest->n;
	size_t eaten = lf != NULL ? n + 1 : n;
	*line = cslice_of(rest->p, n - (n > 0 && rest->p[n - 1] == '\r'));
	*rest = cslice_of(rest->p + eaten, rest->n - eaten);
	return true;
}

static void mark(struct ci_keys *keys, struct cslice blob, uint32_t at, bool is_limited)
{
	for (size_t i = 0; i < keys->n; i++) {
		struct ci_key *k = &keys->v[i];
		if (k->is_there || !cslice_eq(buf_bytes(&k->blob), blob))
			continue;
		k->is_there = true;
		k->line_at = at;
		k->is_limited = is_limited;
	}
}

static void mark_line(struct ci_keys *keys, struct cslice line, uint32_t at)
{
	for (size_t i = 0; i < keys->n; i++) {
		struct ci_key *k = &keys->v[i];
		if (!k->is_there && cslice_eq_str(line, k->line)) {
			k->is_there = true;
			k->line_at = at;
		}
	}
}

/* Of two equal keys among those that are to be added the first one counts. */
static void mark_twins(struct ci_keys *keys)
{
	for (size_t i = 0; i < keys->n; i++)
		for (size_t j = 0; j < i && !keys->v[i].is_there; j++)
			keys->v[i].is_there =
				cslice_eq(buf_bytes(&keys->v[i].blob), buf_bytes(&keys->v[j].blob));
}

static void put_tail(struct cslice file, struct ci_keys *keys, struct buf *tail)
{
	keys->to_add = 0;
	for (size_t i = 0; i < keys->n; i++)
		keys->to_add += !keys->v[i].is_there;
	if (keys->to_add > 0 && file.n > 0 && file.p[file.n - 1] != '\n')
		buf_put_u8(tail, '\n');
	for (size_t i = 0; i < keys->n; i++)
		if (!keys->v[i].is_there)
			buf_printf(tail, "%s\n", keys->v[i].line);
}

static bool is_utf16(struct cslice s)
{
	return s.n >= 2 &&
	       ((s.p[0] == 0xff && s.p[1] == 0xfe) || (s.p[0] == 0xfe && s.p[1] == 0xff));
}

err_t ci_merge(struct cslice file, struct ci_keys *keys, bool is_forced, struct buf *tail)
{
	struct cslice rest = file, line;
	struct buf blob;
	uint32_t at = 0;
	err_t e = OK;
	if (is_utf16(file))
		return E_FORMAT;
	for (size_t i = 0; i < keys->n; i++)
		keys->v[i].is_there = keys->v[i].is_limited = false;
	mark_twins(keys);
	buf_init(&blob, CI_KEYS_MAX);
	while (e == OK && next_line(&rest, &line)) {
		struct ak_line l;
		at++;
		buf_clear(&blob);
		if (is_forced)
			mark_line(keys, line, at);
		else if (ak_line_key(line, &blob, &l) == OK && !l.is_authority)
			mark(keys, buf_bytes(&blob), at, l.options.n > 0);
		if (buf_err(&blob) == E_MEM)
			e = E_MEM;
	}
	buf_done(&blob);
	TRY(e);
	put_tail(file, keys, tail);
	return buf_err(tail);
}
