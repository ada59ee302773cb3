/* SPDX-License-Identifier: ISC */
/*
 * buf - a growing byte string with a hard limit
 *
 * For control data (KEXINIT payloads, replies, text), never on the bulk path.  Errors are sticky:
 * after the first one every put is ignored and buf_err tells.  buf_done wipes, so secrets may pass
 * through.
 */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include "base/slice.h"

struct buf {
	uint8_t *p;
	size_t n, cap, limit;
	err_t err;
};

/* limit: bytes that it may ever hold; reaching it is E_LIMIT. */
void buf_init(struct buf *b, size_t limit);
void buf_done(struct buf *b);
void buf_clear(struct buf *b); /* forget the content (wiped) and the error, keep the memory */

void buf_put(struct buf *b, const void *p, size_t n);
void buf_put_u8(struct buf *b, uint8_t v);
void buf_put_u32(struct buf *b, uint32_t v);
void buf_put_u64(struct buf *b, uint64_t v);
void buf_put_string(struct buf *b, struct cslice s); /* RFC 4251 5: u32 length, bytes */
void buf_put_cstring(struct buf *b, const char *s);
void buf_put_mpint(
	struct buf *b, struct cslice magnitude); /* unsigned big-endian -> RFC 4251 mpint */
void buf_printf(struct buf *b, const char *fmt, ...) PRINTF(2, 3);

/* Room for n bytes to be filled by the caller, counted at once; NULL after an error. */
uint8_t *buf_room(struct buf *b, size_t n);
/* Drop n bytes from the front. */
void buf_eat(struct buf *b, size_t n);

static inline MUST err_t buf_err(const struct buf *b)
{
	return b->err;
}

static inline struct cslice buf_bytes(const struct buf *b)
{
	return (struct cslice){b->p, b->n};
}

#endif
