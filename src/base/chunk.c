/* SPDX-License-Identifier: ISC */
/* chunk - bounded packet memory */
#include <assert.h>
#include <stdlib.h>

#include "base/chunk.h"

void chunk_pool_init(struct chunk_pool *pool, size_t budget)
{
	*pool = (struct chunk_pool){.budget = num_max(budget, 2 * CHUNK_SIZE)};
}

void chunk_pool_trim(struct chunk_pool *pool)
{
	while (pool->spare != NULL) {
		struct chunk *c = pool->spare;
		pool->spare = c->next;
		free(c->p);
		free(c);
	}
	pool->spare_n = 0;
}

void chunk_pool_done(struct chunk_pool *pool)
{
	chunk_pool_trim(pool);
	assert(pool->used == 0);
}

static err_t chunk_new(struct chunk_pool *pool, struct chunk **out)
{
	struct chunk *c = calloc(1, sizeof(*c));
	if (c == NULL)
		return E_MEM;
	c->p = aligned_alloc(64, CHUNK_SIZE);
	if (c->p == NULL) {
		free(c);
		return E_MEM;
	}
	c->pool = pool;
	*out = c;
	return OK;
}

err_t chunk_get(struct chunk_pool *pool, struct chunk **out)
{
	if (pool->budget - pool->used < CHUNK_SIZE)
		return E_AGAIN;
	struct chunk *c = pool->spare;
	if (c != NULL) {
		pool->spare = c->next;
		pool->spare_n--;
	} else {
		TRY(chunk_new(pool, &c));
	}
	c->next = NULL;
	c->refs = 1;
	pool->used += CHUNK_SIZE;
	*out = c;
	return OK;
}

void chunk_keep(struct chunk *c)
{
	assert(c != NULL && c->refs > 0);
	c->refs++;
}

void chunk_drop(struct chunk *c)
{
	if (c == NULL)
		return;
	assert(c->refs > 0);
	if (--c->refs > 0)
		return;
	struct chunk_pool *pool = c->pool;
	pool->used -= CHUNK_SIZE;
	if (pool->spare_n >= CHUNK_SPARE) {
		free(c->p);
		free(c);
		return;
	}
	c->next = pool->spare;
	pool->spare = c;
	pool->spare_n++;
}
