/* SPDX-License-Identifier: ISC */
/*
 * mlkem_poly - polynomials of ML-KEM (FIPS 203 section 4): Z_3329[x]/(x^256+1), sampling, packing,
 * the NTT
 *
 * Coefficients are signed and may stand for any value of their class: each function says what size
 * it takes and gives (q = 3329).  "Canonical" is 0 .. q-1.  Constant time in the coefficients,
 * except sampling of the matrix, whose seed is public.
 */
#ifndef CRYPTO_OWN_MLKEM_POLY_H
#define CRYPTO_OWN_MLKEM_POLY_H

#include "base/slice.h"

#define MLKEM_N       256
#define MLKEM_Q       3329
#define MLKEM_K       3
#define MLKEM_POLY_12 384 /* bytes of a polynomial with 12 bits a coefficient */
#define MLKEM_POLY_10 320
#define MLKEM_POLY_4  128

struct poly {
	int16_t c[MLKEM_N];
};
struct polyvec {
	struct poly v[MLKEM_K];
};

/* NTT (Algorithm 9): takes |c| < q, gives |c| < q. */
void poly_ntt(struct poly *p);
/* Inverse NTT (Algorithm 10) of a product of polyvec_dot, whose Montgomery factor goes away.  Gives
 * |c| < q. */
void poly_ntt_inverse(struct poly *p);
/* Sum of the products (Algorithms 11, 12) divided by 2^16; takes |c| < q, gives |c| < q. */
void polyvec_dot(struct poly *out, const struct polyvec *a, const struct polyvec *b);
/* Times 2^16: undoes the division of polyvec_dot. */
void poly_unscale(struct poly *p);

void poly_add(struct poly *p, const struct poly *b); /* |sum| must fit int16; not reduced */
void poly_reduce(struct poly *p);                    /* any int16 to |c| <= q/2 */
void poly_canonical(struct poly *p);                 /* any int16 to 0 .. q-1 */

/* Algorithm 7, SampleNTT, with the matrix element's row and column; the seed is public. */
void poly_sample_uniform(struct poly *out, const uint8_t rho[32], uint8_t x, uint8_t y);
/* Algorithm 8, SamplePolyCBD with eta = 2, of PRF(seed, nonce). */
void poly_sample_noise(struct poly *out, const uint8_t seed[32], uint8_t nonce);

/* ByteEncode and ByteDecode of 12 bits; encode takes canonical, decode refuses a coefficient >= q:
 * E_KEX_VALUE. */
void poly_pack12(uint8_t out[MLKEM_POLY_12], const struct poly *p);
MUST err_t poly_unpack12(struct poly *out, const uint8_t in[MLKEM_POLY_12]);
/* Compress and Decompress (4.7, 4.8); pack takes canonical, unpack gives canonical. */
uint32_t mlkem_compress(uint32_t x, unsigned bits);
void poly_pack10(uint8_t out[MLKEM_POLY_10], const struct poly *p);
void poly_unpack10(struct poly *out, const uint8_t in[MLKEM_POLY_10]);
void poly_pack4(uint8_t out[MLKEM_POLY_4], const struct poly *p);
void poly_unpack4(struct poly *out, const uint8_t in[MLKEM_POLY_4]);
void poly_pack1(uint8_t out[32], const struct poly *p);
void poly_unpack1(struct poly *out, const uint8_t in[32]);

#endif
