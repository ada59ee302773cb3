/* SPDX-License-Identifier: ISC */
/* buf - a growing byte string with a hard limit */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/secret.h"

void buf_init(struct buf *b, size_t limit)
{
	*b = (struct buf){.limit = limit};
}

void buf_done(struct buf *b)
{
	wipe_free(b->p, b->cap);
	*b = (struct buf){.limit = b->limit};
}

void buf_clear(struct buf *b)
{
	wipe(b->p, b->n);
	b->n = 0;
	b->err = OK;
}

/* Grows by a fresh block so that no copy of a secret stays behind. */
static err_t grow(struct buf *b, size_t need)
{
	size_t cap = num_max(b->cap * 2, 256);
	while (cap < need)
		cap *= 2;
	uint8_t *p = malloc(cap);
	if (p == NULL)
		return E_MEM;
	if (b->n > 0)
		memcpy(p, b->p, b->n);
	wipe_free(b->p, b->cap);
	b->p = p;
	b->cap = cap;
	return OK;
}

uint8_t *buf_room(struct buf *b, size_t n)
{
	if (b->err == OK && n > b->limit - b->n)
		b->err = E_LIMIT;
	if (b->err == OK && n > b->cap - b->n)
		b->err = grow(b, b->n + n);
	if (b->err != OK)
		return NULL;
	uint8_t *at = b->p + b->n;
	b->n += n;
	return at;
}

void buf_put(struct buf *b, const void *p, size_t n)
{
	if (n == 0)
		return;
	uint8_t *at = buf_room(b, n);
	if (at != NULL)
		memcpy(at, p, n);
}

void buf_put_u8(struct buf *b, uint8_t v)
{
	buf_put(b, &v, 1);
}

void buf_put_u32(struct buf *b, uint32_t v)
{
	uint8_t w[4];
	be32_put(w, v);
	buf_put(b, w, sizeof(w));
}

void buf_put_u64(struct buf *b, uint64_t v)
{
	uint8_t w[8];
	be64_put(w, v);
	buf_put(b, w, sizeof(w));
}

void buf_put_string(struct buf *b, struct cslice s)
{
	if (s.n > UINT32_MAX) {
		b->err = E_LIMIT;
		return;
	}
	buf_put_u32(b, (uint32_t)s.n);
	buf_put(b, s.p, s.n);
}

void buf_put_cstring(struct buf *b, const char *s)
{
	buf_put_string(b, cslice_str(s));
}

void buf_put_mpint(struct buf *b, struct cslice m)
{
	while (m.n > 0 && m.p[0] == 0) {
		m.p++;
		m.n--;
	}
	size_t lead = m.n > 0 && (m.p[0] & 0x80) != 0;
	if (m.n > UINT32_MAX - 1) {
		b->err = E_LIMIT;
		return;
	}
	buf_put_u32(b, (uint32_t)(m.n + lead));
	if (lead)
		buf_put_u8(b, 0);
	buf_put(b, m.p, m.n);
}

void buf_printf(struct buf *b, const char *fmt, ...)
{
	va_list ap, again;
	va_start(ap, fmt);
	va_copy(again, ap);
	int n = vsnprintf(NULL, 0, fmt, ap);
	if (n < 0)
		b->err = E_BUG;
	uint8_t *at = b->err == OK ? buf_room(b, (size_t)n + 1) : NULL;
	if (at != NULL) {
		(void)vsnprintf((char *)at, (size_t)n + 1, fmt, again);
		b->n--; /* the NUL is not content */
	}
	va_end(again);
	va_end(ap);
}

void buf_eat(struct buf *b, size_t n)
{
	n = num_min(n, b->n);
	memmove(b->p, b->p + n, b->n - n);
	wipe(b->p + b->n - n, n);
	b->n -= n;
}
