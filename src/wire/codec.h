/* SPDX-License-Identifier: ISC */
/*
 * codec - the only way to read and write a peer's bytes (RFC 4251 5)
 *
 * A reader borrows, never copies; its `bad` flag is sticky: after a short or malformed field every
 * get gives zeros and empty slices, so one check at the end (rd_end) is enough.  A writer fills
 * given room and has the same flag.
 */
#ifndef WIRE_CODEC_H
#define WIRE_CODEC_H

#include "base/slice.h"

struct rd {
	const uint8_t *p;
	size_t n;
	bool bad;
};

static inline struct rd rd_of(struct cslice s)
{
	return (struct rd){s.p, s.n, false};
}

/* n raw bytes; empty and bad when there are fewer. */
static inline struct cslice rd_take(struct rd *r, size_t n)
{
	if (r->bad || n > r->n) {
		r->bad = true;
		return (struct cslice){NULL, 0};
	}
	struct cslice s = {r->p, n};
	r->p += n;
	r->n -= n;
	return s;
}

static inline uint8_t rd_u8(struct rd *r)
{
	struct cslice s = rd_take(r, 1);
	return s.n == 1 ? s.p[0] : 0;
}

static inline bool rd_bool(struct rd *r)
{
	return rd_u8(r) != 0; /* RFC4251 5: any non-zero value is TRUE */
}

static inline uint32_t rd_u32(struct rd *r)
{
	struct cslice s = rd_take(r, 4);
	return s.n == 4 ? be32_get(s.p) : 0;
}

static inline uint64_t rd_u64(struct rd *r)
{
	struct cslice s = rd_take(r, 8);
	return s.n == 8 ? be64_get(s.p) : 0;
}

static inline struct cslice rd_str(struct rd *r)
{
	uint32_t n = rd_u32(r);
	return rd_take(r, n);
}

static inline struct cslice rd_rest(struct rd *r)
{
	return rd_take(r, r->n);
}

/* Name list: US-ASCII, printable, no empty name unless the list is empty (RFC 4251 5). */
struct cslice rd_names(struct rd *r);
/* Text that goes to people or becomes a C string: no NUL byte. */
struct cslice rd_text(struct rd *r);
/* Non-negative mpint as a magnitude without leading zeros; negative or longer than 2,049 bytes is
 * bad. */
struct cslice rd_mpint(struct rd *r);

/* OK when nothing was bad and nothing is left: E_FORMAT, E_TRAILING. */
static inline MUST err_t rd_end(const struct rd *r)
{
	if (r->bad)
		return E_FORMAT;
	return r->n == 0 ? OK : E_TRAILING;
}

struct wr {
	uint8_t *p;    /* start of the room */
	size_t n, cap; /* written, room */
	bool bad;
};

static inline struct wr wr_of(struct slice room)
{
	return (struct wr){room.p, 0, room.n, false};
}

void wr_raw(struct wr *w, struct cslice s);
void wr_u8(struct wr *w, uint8_t v);
void wr_u32(struct wr *w, uint32_t v);
void wr_u64(struct wr *w, uint64_t v);
void wr_str(struct wr *w, struct cslice s);
void wr_mpint(struct wr *w, struct cslice magnitude);
/* Bytes that wr_mpint will write. */
size_t wr_mpint_size(struct cslice magnitude);

static inline MUST err_t wr_end(const struct wr *w)
{
	return w->bad ? E_MEM : OK;
}

#endif
