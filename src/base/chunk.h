/* SPDX-License-Identifier: ISC */
/*
 * chunk - bounded packet memory
 *
 * A pool hands out chunks of CHUNK_SIZE bytes, at most `budget` bytes in all; freed chunks are kept
 * for reuse (up to CHUNK_SPARE).  A span is a slice inside a chunk that may be kept: the chunk
 * lives until its last span is dropped. Small connections never need a whole chunk touched: memory
 * is mapped, not cleared, so an idle session pays only for the pages it used; chunk_pool_trim gives
 * unused ones back.
 */
#ifndef BASE_CHUNK_H
#define BASE_CHUNK_H

#include "base/slice.h"

#define CHUNK_SIZE  ((size_t)1 << 20)
#define CHUNK_SPARE 4

struct chunk_pool;

struct chunk {
	struct chunk_pool *pool;
	struct chunk *next; /* in the pool's spare list, or for the holder's use */
	uint32_t refs;
	uint8_t *p; /* CHUNK_SIZE bytes, 64-byte aligned */
};

struct chunk_pool {
	size_t budget, used; /* bytes */
	struct chunk *spare;
	size_t spare_n;
};

struct span {
	struct chunk *c; /* NULL: borrowed only, cannot be kept */
	uint8_t *p;
	size_t n;
};

void chunk_pool_init(struct chunk_pool *pool, size_t budget);
void chunk_pool_done(struct chunk_pool *pool); /* all chunks must have been dropped */
void chunk_pool_trim(struct chunk_pool *pool); /* free the spares */

/* Gives a chunk with one reference.  E_AGAIN when the budget is used up, E_MEM when the system has
 * none. */
MUST err_t chunk_get(struct chunk_pool *pool, struct chunk **out);
void chunk_keep(struct chunk *c);
void chunk_drop(struct chunk *c); /* NULL is fine */

static inline void span_keep(struct span *s)
{
	chunk_keep(s->c);
}

static inline void span_drop(struct span *s)
{
	chunk_drop(s->c);
	*s = (struct span){NULL, NULL, 0};
}

#endif
