/* SPDX-License-Identifier: ISC */
/* slice - borrowed bytes, checked sums, and byte order */
#ifndef BASE_SLICE_H
#define BASE_SLICE_H

#include <string.h>

#include "base/err.h"

struct slice { /* borrowed, writable */
	uint8_t *p;
	size_t n;
};

struct cslice { /* borrowed, read only */
	const uint8_t *p;
	size_t n;
};

static inline struct cslice cslice_of(const void *p, size_t n)
{
	return (struct cslice){p, n};
}

static inline struct cslice cslice_str(const char *s)
{
	return (struct cslice){(const uint8_t *)s, strlen(s)};
}

static inline struct cslice slice_const(struct slice s)
{
	return (struct cslice){s.p, s.n};
}

/* Not for secrets: use ct_eq. */
static inline bool cslice_eq(struct cslice a, struct cslice b)
{
	return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

static inline bool cslice_eq_str(struct cslice a, const char *s)
{
	return cslice_eq(a, cslice_str(s));
}

/* Checked sums: overflow is E_MEM and leaves *out untouched. */
static inline MUST err_t num_add(size_t a, size_t b, size_t *out)
{
	size_t sum;
	if (__builtin_add_overflow(a, b, &sum))
		return E_MEM;
	*out = sum;
	return OK;
}

static inline MUST err_t num_mul(size_t a, size_t b, size_t *out)
{
	size_t product;
	if (__builtin_mul_overflow(a, b, &product))
		return E_MEM;
	*out = product;
	return OK;
}

static inline size_t num_min(size_t a, size_t b)
{
	return a < b ? a : b;
}

static inline size_t num_max(size_t a, size_t b)
{
	return a > b ? a : b;
}

/* Byte order of the wire (RFC 4251 5: most significant byte first). */
static inline uint32_t be32_get(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static inline void be32_put(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 24);
	p[1] = (uint8_t)(v >> 16);
	p[2] = (uint8_t)(v >> 8);
	p[3] = (uint8_t)v;
}

static inline uint64_t be64_get(const uint8_t *p)
{
	return (uint64_t)be32_get(p) << 32 | be32_get(p + 4);
}

static inline void be64_put(uint8_t *p, uint64_t v)
{
	be32_put(p, (uint32_t)(v >> 32));
	be32_put(p + 4, (uint32_t)v);
}

#endif
