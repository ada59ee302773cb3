/* SPDX-License-Identifier: ISC */
/*
 * sntrup_ring - the polynomials of Streamlined NTRU Prime 761: R/q = Z_4591[x]/(x^761-x-1), and R/3
 *
 * Arrays have SNTRUP_PAD entries so that loops have a length that vector registers like; entries
 * from SNTRUP_P on are zero.  Coefficients are the ones nearest to zero: -2295..2295, or -1..1
 * ("small").  Constant time.
 */
#ifndef CRYPTO_OWN_SNTRUP_RING_H
#define CRYPTO_OWN_SNTRUP_RING_H

#include "base/slice.h"

#define SNTRUP_P   761
#define SNTRUP_Q   4591
#define SNTRUP_W   286
#define SNTRUP_PAD 768

struct rq {
	int16_t c[SNTRUP_PAD];
};
struct small {
	int8_t c[SNTRUP_PAD];
};

/* The number nearest to zero in a's class; mod_q: |a| < 2^27. */
int16_t sntrup_mod_q(int32_t a);
int8_t sntrup_mod_3(int32_t a);

void rq_mul_small(struct rq *out, const struct rq *a, const struct small *b);
void small_mul(struct small *out, const struct small *a, const struct small *b); /* in R/3 */
/* 1/a in R/3.  Gives all ones when a cannot be inverted, else 0; out is then meaningless. */
uint32_t small_inverse(struct small *out, const struct small *a);
/* 1/(3a) in R/q, a not 0 (R/q is a field). */
void rq_inverse_3(struct rq *out, const struct small *a);

#endif
