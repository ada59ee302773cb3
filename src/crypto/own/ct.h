/* SPDX-License-Identifier: ISC */
/*
 * ct - what constant-time code needs besides plain arithmetic
 *
 * Masks are all ones or zero.  ct_hide keeps the compiler from seeing that a value is only ever 0
 * or 1 (or a mask), so that it cannot turn a selection back into a branch.  CT_PUBLIC marks bytes
 * that are public although they were computed from secrets; it does nothing but in the
 * constant-time test, where secrets are poisoned.
 */
#ifndef CRYPTO_OWN_CT_H
#define CRYPTO_OWN_CT_H

#include "base/secret.h"

#ifdef BOWLINE_CT_TEST
#include <valgrind/memcheck.h>
#define CT_PUBLIC(p, n) ((void)VALGRIND_MAKE_MEM_DEFINED((p), (n)))
#else
#define CT_PUBLIC(p, n) ((void)0)
#endif

static inline uint32_t ct_hide(uint32_t v)
{
	__asm__ __volatile__("" : "+r"(v));
	return v;
}

static inline uint64_t ct_hide64(uint64_t v)
{
	__asm__ __volatile__("" : "+r"(v));
	return v;
}

/* All ones when v is not 0. */
static inline uint32_t ct_nonzero32(uint32_t v)
{
	return ct_mask32(ct_hide((v | ((uint32_t)0 - v)) >> 31));
}

/* All ones when the bytes differ. */
static inline uint32_t ct_differ(const uint8_t *a, const uint8_t *b, size_t n)
{
	uint32_t d = 0;

	for (size_t i = 0; i < n; i++)
		d |= (uint32_t)(a[i] ^ b[i]);
	return ct_nonzero32(d);
}

/* to = from where the mask is set. */
static inline void ct_copy(uint8_t *to, const uint8_t *from, size_t n, uint32_t mask)
{
	for (size_t i = 0; i < n; i++)
		to[i] ^= (uint8_t)(mask & (uint32_t)(to[i] ^ from[i]));
}

#endif
