/* SPDX-License-Identifier: ISC */
/*
 * secret - wiping and constant-time comparison
 *
 * A secret is wiped by the function that ends its life, on every path.
 */
#ifndef BASE_SECRET_H
#define BASE_SECRET_H

#include "base/slice.h"

#define SECRET_MAX 256

/* A fixed-size home for key material; secret_done wipes all of it. */
struct secret {
	size_t n;
	uint8_t b[SECRET_MAX];
};

/* Never optimised away.  p may be NULL when n is 0. */
void wipe(void *p, size_t n);

/* wipe and free; NULL is fine. */
void wipe_free(void *p, size_t n);

void secret_done(struct secret *s);

/* Constant time in the bytes (not in n).  True when equal. */
bool ct_eq(const void *a, const void *b, size_t n);

/* 0xff..ff when b is true, 0 when not, without a branch. */
static inline uint32_t ct_mask32(uint32_t bit)
{
	return (uint32_t)0 - (bit & 1);
}

#endif
