/* SPDX-License-Identifier: ISC */
/* link - bytes one way: delay, rate, fragments, stalls, one flipped bit, or an end in the middle */
#include <assert.h>
#include <stdlib.h>

#include "sim.h"

void sim_link_init(
	struct sim_link *l, const struct sim_plan *p, const struct sim_link_plan *lp, uint64_t seed)
{
	*l = (struct sim_link){.plan = lp, .harm = p->harm, .hash = 14695981039346656037u};
	rng_seeded_init(&l->rng, seed);
	buf_init(&l->bytes, lp->room + SIM_PIECE);
	l->cap = lp->room + 1;
	l->v = calloc(l->cap, sizeof(*l->v));
	assert(l->v != NULL);
}

void sim_link_done(struct sim_link *l)
{
	buf_done(&l->bytes);
	free(l->v);
}

size_t sim_link_room(const struct sim_link *l)
{
	return l->plan->room - l->bytes.n;
}

/* Bytes at the place of the harm: flipped, or the last ones. */
static struct cslice harmed(struct sim_link *l, struct cslice bytes, uint8_t *copy)
{
	uint64_t at = l->plan->harm_at;
	if (at < l->in_all || at - l->in_all >= bytes.n)
		return bytes;
	size_t place = (size_t)(at - l->in_all);
	if (l->harm == SIM_CUT) {
		l->is_cut = true;
		return cslice_of(bytes.p, place);
	}
	memcpy(copy, bytes.p, bytes.n);
	copy[place] ^= (uint8_t)(1u << rng_below(&l->rng.rng, 8));
	return cslice_of(copy, bytes.n);
}

static void put_piece(struct sim_link *l, struct cslice bytes, uint64_t now_us)
{
	uint8_t copy[SIM_PIECE];
	const struct sim_link_plan *p = l->plan;
	for (size_t i = 0; i < bytes.n; i++)
		l->hash = (l->hash ^ bytes.p[i]) * 1099511628211u;
	uint64_t start = l->free_us > now_us ? l->free_us : now_us;
	if (p->stall_every != 0 && rng_below(&l->rng.rng, p->stall_every) == 0)
		start += rng_below(&l->rng.rng, 300000);
	if (p->bytes_a_s != 0)
		start += bytes.n * 1000000 / p->bytes_a_s;
	l->free_us = start;
	size_t n = bytes.n;
	struct cslice arrives = harmed(l, bytes, copy);
	l->in_all += n;
	if (arrives.n == 0)
		return;
	buf_put(&l->bytes, arrives.p, arrives.n);
	assert(buf_err(&l->bytes) == OK && l->n < l->cap);
	l->v[(l->first + l->n++) % l->cap] = (struct sim_piece){start + p->delay_us, arrives.n};
}

void sim_link_put(struct sim_link *l, struct cslice bytes, uint64_t now_us)
{
	while (bytes.n > 0 && !l->is_cut) {
		size_t n = num_min(bytes.n, 1 + rng_below(&l->rng.rng, l->plan->piece));
		put_piece(l, cslice_of(bytes.p, n), now_us);
		bytes = cslice_of(bytes.p + n, bytes.n - n);
	}
}

uint64_t sim_link_due(const struct sim_link *l)
{
	return l->n > 0 ? l->v[l->first].at_us : SIM_NEVER;
}

size_t sim_link_take(struct sim_link *l, uint8_t *p, size_t n, uint64_t now_us)
{
	if (l->n == 0 || l->v[l->first].at_us > now_us)
		return 0;
	struct sim_piece *piece = &l->v[l->first];
	n = num_min(n, piece->n);
	memcpy(p, l->bytes.p, n);
	buf_eat(&l->bytes, n);
	piece->n -= n;
	l->out_all += n;
	if (piece->n == 0) {
		l->first = (l->first + 1) % l->cap;
		l->n--;
	}
	return n;
}
