/* SPDX-License-Identifier: ISC */
/*
 * rng - the only randomness that the core ever uses, injected
 *
 * os/random.h gives the real one (getrandom-seeded, fast for padding bytes, reseeded in a child);
 * tests give a fixed or seeded one.  fill never fails: an implementation that cannot deliver ends
 * the process.
 */
#ifndef BASE_RNG_H
#define BASE_RNG_H

#include "base/defs.h"

struct rng {
	void (*fill)(struct rng *rng, uint8_t *p, size_t n);
};

static inline void rng_fill(struct rng *rng, void *p, size_t n)
{
	rng->fill(rng, p, n);
}

/* Uniform in [0, bound), bound > 0. */
uint32_t rng_below(struct rng *rng, uint32_t bound);

/* For tests, fuzzers and the simulation: a deterministic stream (splitmix64).  Never for keys in
 * programs. */
struct rng_seeded {
	struct rng rng;
	uint64_t state;
};
void rng_seeded_init(struct rng_seeded *r, uint64_t seed);

#endif
