/* SPDX-License-Identifier: ISC */
/* codec - the fields that need more than a length check, and the writer */
#include "wire/codec.h"

#define MPINT_MAX (16384 / 8 + 1)

static struct cslice refuse(struct rd *r)
{
	r->bad = true;
	return (struct cslice){NULL, 0};
}

struct cslice rd_names(struct rd *r)
{
	struct cslice s = rd_str(r);
	bool at_start = true;
	for (size_t i = 0; i < s.n; i++) {
		bool comma = s.p[i] == ',';
		if (s.p[i] <= 0x20 || s.p[i] >= 0x7f || (comma && at_start))
			return refuse(r);
		at_start = comma;
	}
	/* libssh 0.10 ends its list of ciphers with a comma: the empty name behind it says nothing
	 */
	if (s.n > 0 && at_start)
		s.n--;
	return s;
}

struct cslice rd_text(struct rd *r)
{
	struct cslice s = rd_str(r);
	if (s.n > 0 && memchr(s.p, 0, s.n) != NULL)
		return refuse(r);
	return s;
}

struct cslice rd_mpint(struct rd *r)
{
	struct cslice s = rd_str(r);
	if (s.n > MPINT_MAX || (s.n > 0 && (s.p[0] & 0x80) != 0))
		return refuse(r);
	while (s.n > 0 && s.p[0] == 0) {
		s.p++;
		s.n--;
	}
	return s;
}

static uint8_t *room(struct wr *w, size_t n)
{
	if (w->bad || n > w->cap - w->n) {
		w->bad = true;
		return NULL;
	}
	uint8_t *at = w->p + w->n;
	w->n += n;
	return at;
}

void wr_raw(struct wr *w, struct cslice s)
{
	uint8_t *at = s.n > 0 ? room(w, s.n) : NULL;
	if (at != NULL)
		memcpy(at, s.p, s.n);
}

void wr_u8(struct wr *w, uint8_t v)
{
	wr_raw(w, cslice_of(&v, 1));
}

void wr_u32(struct wr *w, uint32_t v)
{
	uint8_t *at = room(w, 4);
	if (at != NULL)
		be32_put(at, v);
}

void wr_u64(struct wr *w, uint64_t v)
{
	uint8_t *at = room(w, 8);
	if (at != NULL)
		be64_put(at, v);
}

void wr_str(struct wr *w, struct cslice s)
{
	if (s.n > UINT32_MAX) {
		w->bad = true;
		return;
	}
	wr_u32(w, (uint32_t)s.n);
	wr_raw(w, s);
}

static struct cslice trimmed(struct cslice m)
{
	while (m.n > 0 && m.p[0] == 0) {
		m.p++;
		m.n--;
	}
	return m;
}

size_t wr_mpint_size(struct cslice m)
{
	m = trimmed(m);
	return 4 + m.n + (m.n > 0 && (m.p[0] & 0x80) != 0);
}

void wr_mpint(struct wr *w, struct cslice m)
{
	m = trimmed(m);
	wr_u32(w, (uint32_t)(wr_mpint_size(m) - 4));
	if (m.n > 0 && (m.p[0] & 0x80) != 0)
		wr_u8(w, 0);
	wr_raw(w, m);
}
