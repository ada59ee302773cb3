/* SPDX-License-Identifier: ISC */
/*
 * umac_poly - arithmetic of UMAC modulo p64 = 2^64 - 59 and p36 = 2^36 - 5 (RFC
 * 4418 1.6, 5.4, 5.5), without branches
 *
 * Numbers modulo p64 may stand for any 64-bit value of their class until poly_reduce.
 */
#ifndef CRYPTO_OWN_UMAC_POLY_H
#define CRYPTO_OWN_UMAC_POLY_H

#include "crypto/own/ct.h"

#define P64_OFFSET 59                        /* 2^64 - p64 */
#define P36        (((uint64_t)1 << 36) - 5) /* p36 */
#define P36_MASK   (((uint64_t)1 << 36) - 1)

/* v mod p36, for any v */
static inline uint64_t p36_reduce(uint64_t v)
{
	v = (v & P36_MASK) + 5 * (v >> 36);
	v = (v & P36_MASK) + 5 * (v >> 36);
	uint64_t less = v - P36;

	return less + (P36 & (0 - (less >> 63)));
}

/* 59 when a sum wrapped around, which puts it right modulo p64, else 0. */
static inline uint64_t wrap_fix(uint64_t sum, uint64_t part)
{
	return P64_OFFSET & ct_hide64(0 - (uint64_t)(sum < part));
}

/* k * y modulo p64, not always the smallest; k < 2^57. */
static inline uint64_t poly_mul(uint64_t k, uint64_t y)
{
	unsigned __int128 product = (unsigned __int128)k * y;
	uint64_t low = (uint64_t)product, sum = low + P64_OFFSET * (uint64_t)(product >> 64);

	return sum + wrap_fix(sum, low);
}

static inline uint64_t poly_add(uint64_t y, uint64_t m)
{
	uint64_t sum = y + m;

	return sum + wrap_fix(sum, m);
}

/* From any 64-bit number to the one below p64: adding 59 wraps around just when it is too large. */
static inline uint64_t poly_reduce(uint64_t y)
{
	return y + wrap_fix(y + P64_OFFSET, y);
}

/* 5.4.2, one word of POLY; words of 2^64 - 2^32 and more take a marker and a second step. */
static inline uint64_t poly_step(uint64_t k, uint64_t y, uint64_t m)
{
	uint64_t once = poly_mul(k, y);
	uint64_t twice = poly_mul(k, poly_add(once, 0 - (uint64_t)P64_OFFSET - 1));
	uint64_t is_high = ct_hide64(0 - (uint64_t)((m >> 32) == 0xffffffff));

	return poly_add(once ^ ((once ^ twice) & is_high), m - (P64_OFFSET & is_high));
}

#endif
