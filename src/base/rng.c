/* SPDX-License-Identifier: ISC */
/* rng - helpers over the injected randomness */
#include "base/rng.h"

uint32_t rng_below(struct rng *rng, uint32_t bound)
{
	uint32_t low = (uint32_t)-bound % bound; /* values below this would be over-represented */
	for (;;) {
		uint32_t v;
		rng_fill(rng, &v, sizeof(v));
		if (v >= low)
			return v % bound;
	}
}

static uint64_t splitmix64(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

static void seeded_fill(struct rng *rng, uint8_t *p, size_t n)
{
	struct rng_seeded *r = (struct rng_seeded *)rng;
	for (size_t i = 0; i < n; i++)
		p[i] = (uint8_t)splitmix64(&r->state);
}

void rng_seeded_init(struct rng_seeded *r, uint64_t seed)
{
	*r = (struct rng_seeded){.rng = {seeded_fill}, .state = seed};
}
