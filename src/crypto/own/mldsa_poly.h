/* SPDX-License-Identifier: ISC */
/*
 * mldsa_poly - polynomials of ML-DSA-44 (FIPS 204 section 7): Z_8380417[x]/(x^256+1), sampling,
 * rounding, packing, the NTT
 *
 * Coefficients are signed and may stand for any value of their class: each function says what size
 * it takes and gives (q = 8380417).  "Canonical" is 0 .. q-1, "centred" is -(q-1)/2 .. (q-1)/2.
 * Constant time in the coefficients, except where the text says that they are public.
 */
#ifndef CRYPTO_OWN_MLDSA_POLY_H
#define CRYPTO_OWN_MLDSA_POLY_H

#include "base/slice.h"

/* FIPS 204 table 1; rows and columns of the matrix are both 4 */
#define DSA_N         256
#define DSA_Q         8380417
#define DSA_K         4
#define DSA_ETA       2
#define DSA_TAU       39
#define DSA_BETA      (DSA_TAU * DSA_ETA)
#define DSA_GAMMA1    (1 << 17)
#define DSA_GAMMA2    ((DSA_Q - 1) / 88)
#define DSA_OMEGA     80
#define DSA_DROPPED   13  /* bits of t that are not part of the public key */
#define DSA_POLY_T1   320 /* bytes of a polynomial with 10 bits a coefficient */
#define DSA_POLY_Z    576 /* 18 bits */
#define DSA_POLY_W1   192 /* 6 bits */
#define DSA_CHALLENGE 32
#define DSA_HINT      (DSA_OMEGA + DSA_K)

struct dsa_poly {
	int32_t c[DSA_N];
};
struct dsa_vec {
	struct dsa_poly v[DSA_K];
};

/* NTT (Algorithm 41): takes |c| < q, gives |c| < 9q. */
void dsa_ntt(struct dsa_poly *p);
/* Inverse NTT (Algorithm 42) of a product of the two functions below, whose Montgomery factor goes
 * away.  Takes and gives |c| < q. */
void dsa_ntt_inverse(struct dsa_poly *p);
/* Products divided by 2^32, of one and summed over a vector; take |a| < q and |b| < 9q, give
 * |c| < q. */
void dsa_mul(struct dsa_poly *out, const struct dsa_poly *a, const struct dsa_poly *b);
void dsa_dot(struct dsa_poly *out, const struct dsa_vec *a, const struct dsa_vec *b);

void dsa_add(struct dsa_poly *p, const struct dsa_poly *b); /* the sum must fit; not reduced */
void dsa_sub(struct dsa_poly *p, const struct dsa_poly *b);
void dsa_reduce(struct dsa_poly *p);    /* |c| < 2^31 - 2^22 to |c| < q */
void dsa_canonical(struct dsa_poly *p); /* the same to 0 .. q-1 */
void dsa_centre(struct dsa_poly *p);    /* the same to centred */
/* All ones when the absolute value of a coefficient reaches the bound; takes centred or smaller. */
uint32_t dsa_reaches(const struct dsa_poly *p, int32_t bound);

/* Power2Round (Algorithm 35) of canonical: t = t1 * 2^13 + t0. */
void dsa_power2round(struct dsa_poly *t1, struct dsa_poly *t0, const struct dsa_poly *t);
/* Decompose (Algorithm 36) of canonical: high 0 .. 43, low |c| <= gamma2. */
void dsa_decompose(struct dsa_poly *high, struct dsa_poly *low, const struct dsa_poly *r);
/* MakeHint (Algorithm 39): hint 1 where adding z changes the high bits of r; r canonical, z small.
 * Gives the number of ones. */
uint32_t dsa_make_hint(struct dsa_poly *hint, const struct dsa_poly *r, const struct dsa_poly *z);
/* UseHint (Algorithm 40) in place: r canonical to its high bits; public. */
void dsa_use_hint(struct dsa_poly *r, const struct dsa_poly *hint);

/* RejNTTPoly (Algorithm 30) for the matrix element of that row and column; the seed is public.
 * Gives canonical. */
void dsa_sample_uniform(struct dsa_poly *out, const uint8_t rho[32], uint8_t row, uint8_t column);
/* RejBoundedPoly (Algorithm 31): |c| <= 2.  What is seen of the secret is which draws were thrown
 * away, and these are not part of it. */
void dsa_sample_small(struct dsa_poly *out, const uint8_t seed[64], uint16_t nonce);
/* One polynomial of ExpandMask (Algorithm 34): -gamma1 < c <= gamma1. */
void dsa_sample_mask(struct dsa_poly *out, const uint8_t seed[64], uint16_t nonce);
/* SampleInBall (Algorithm 29): 39 coefficients are 1 or -1; the challenge is public. */
void dsa_sample_challenge(struct dsa_poly *out, const uint8_t challenge[DSA_CHALLENGE]);

/* SimpleBitPack of t1 (10 bits) and of high bits (6 bits), BitPack of z (18 bits). */
void dsa_pack_t1(uint8_t out[DSA_POLY_T1], const struct dsa_poly *p);
void dsa_unpack_t1(struct dsa_poly *out, const uint8_t in[DSA_POLY_T1]);
void dsa_pack_w1(uint8_t out[DSA_POLY_W1], const struct dsa_poly *p);
void dsa_pack_z(uint8_t out[DSA_POLY_Z], const struct dsa_poly *p);
void dsa_unpack_z(struct dsa_poly *out, const uint8_t in[DSA_POLY_Z]);
/* HintBitPack, HintBitUnpack (Algorithms 20, 21); hints are public.  pack: at most 80 ones.
 * unpack: E_SIGNATURE when the bytes are not the one encoding of a hint. */
void dsa_pack_hint(uint8_t out[DSA_HINT], const struct dsa_vec *hint);
MUST err_t dsa_unpack_hint(struct dsa_vec *out, const uint8_t in[DSA_HINT]);

#endif
