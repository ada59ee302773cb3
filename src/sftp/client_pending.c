/* SPDX-License-Identifier: ISC */
/*
 * client_pending - the requests under way, found by number
 *
 * A hash with chains through the requests themselves.  Numbers are given in order, so the chains
 * are as even as can be.
 */
#include <stdlib.h>

#include "sftp/client_int.h"

#define BUCKETS_FIRST 64

static struct sf_ask **bucket_of(const struct sf_pending *p, uint32_t id)
{
	return &p->buckets[id & p->mask];
}

err_t sf_pending_init(struct sf_pending *p)
{
	struct sf_ask **v = calloc(BUCKETS_FIRST, sizeof(struct sf_ask *));
	if (v == NULL)
		return E_MEM;
	*p = (struct sf_pending){.buckets = v, .mask = BUCKETS_FIRST - 1};
	return OK;
}

void sf_pending_done(struct sf_pending *p)
{
	assert(p->n == 0);
	free(p->buckets);
	p->buckets = NULL;
}

static err_t grow(struct sf_pending *p)
{
	size_t n = (p->mask + 1) * 2;
	struct sf_pending wider = {.mask = n - 1};
	wider.buckets = calloc(n, sizeof(struct sf_ask *));
	if (wider.buckets == NULL)
		return E_MEM;
	for (size_t i = 0; i <= p->mask; i++) {
		struct sf_ask *next;
		for (struct sf_ask *a = p->buckets[i]; a != NULL; a = next) {
			struct sf_ask **to = bucket_of(&wider, a->id);
			next = a->next;
			a->next = *to;
			*to = a;
		}
	}
	free(p->buckets);
	p->buckets = wider.buckets;
	p->mask = wider.mask;
	return OK;
}

err_t sf_pending_add(struct sf_pending *p, struct sf_ask *a)
{
	if (p->n > p->mask)
		TRY(grow(p));
	struct sf_ask **to = bucket_of(p, a->id);
	a->next = *to;
	*to = a;
	p->n++;
	return OK;
}

struct sf_ask *sf_pending_find(const struct sf_pending *p, uint32_t id)
{
	struct sf_ask *a = *bucket_of(p, id);
	while (a != NULL && a->id != id)
		a = a->next;
	return a;
}

void sf_pending_remove(struct sf_pending *p, struct sf_ask *a)
{
	struct sf_ask **at = bucket_of(p, a->id);
	while (*at != a)
		at = &(*at)->next;
	*at = a->next;
	a->next = NULL;
	p->n--;
}

/* Joins two lists that are in order; the age of a number is what it is behind `next_id`. */
static struct sf_ask *merge(struct sf_ask *a, struct sf_ask *b, uint32_t next_id)
{
	struct sf_ask *all = NULL, **end = &all;
	while (a != NULL && b != NULL) {
		struct sf_ask **older = a->id - next_id < b->id - next_id ? &a : &b;
		*end = *older;
		end = &(*older)->next;
		*older = (*older)->next;
	}
	*end = a != NULL ? a : b;
	return all;
}

#define RUNS 64 /* lists of 1, 2, 4 ... requests */

struct sf_ask *sf_pending_take_all(struct sf_pending *p, uint32_t next_id)
{
	struct sf_ask *runs[RUNS] = {NULL}, *all = NULL;
	for (size_t i = 0; i <= p->mask; i++) {
		while (p->buckets[i] != NULL) {
			struct sf_ask *a = p->buckets[i];
			size_t r = 0;
			p->buckets[i] = a->next;
			a->next = NULL;
			for (; runs[r] != NULL; r++) {
				a = merge(runs[r], a, next_id);
				runs[r] = NULL;
			}
			runs[r] = a;
		}
	}
	for (size_t r = 0; r < RUNS; r++)
		all = merge(all, runs[r], next_id);
	p->n = 0;
	return all;
}
