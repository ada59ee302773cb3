/* SPDX-License-Identifier: ISC */
/* mldsa_pack - polynomials of ML-DSA as bytes (FIPS 204 7.1): fields of a fixed number of bits, the
 * low bits first */
#include "crypto/own/mldsa_poly.h"

#define BITS_T1 10
#define BITS_W1 6
#define BITS_Z  18

/* Coefficients 0 .. 2^bits - 1. */
static inline void pack(uint8_t *out, const struct dsa_poly *p, unsigned bits)
{
	uint64_t held = 0;
	unsigned held_bits = 0;

	for (size_t i = 0; i < DSA_N; i++) {
		held |= (uint64_t)(uint32_t)p->c[i] << held_bits;
		for (held_bits += bits; held_bits >= 8; held_bits -= 8) {
			*out++ = (uint8_t)held;
			held >>= 8;
		}
	}
}

static inline void unpack(struct dsa_poly *out, const uint8_t *in, unsigned bits)
{
	uint64_t held = 0;
	unsigned held_bits = 0;

	for (size_t i = 0; i < DSA_N; i++) {
		for (; held_bits < bits; held_bits += 8)
			held |= (uint64_t)*in++ << held_bits;
		out->c[i] = (int32_t)(held & ((1U << bits) - 1));
		held >>= bits;
		held_bits -= bits;
	}
}

void dsa_pack_t1(uint8_t out[DSA_POLY_T1], const struct dsa_poly *p)
{
	pack(out, p, BITS_T1);
}

void dsa_unpack_t1(struct dsa_poly *out, const uint8_t in[DSA_POLY_T1])
{
	unpack(out, in, BITS_T1);
}

void dsa_pack_w1(uint8_t out[DSA_POLY_W1], const struct dsa_poly *p)
{
	pack(out, p, BITS_W1);
}

/* gamma1 - c, in both directions */
static void mirror(struct dsa_poly *out, const struct dsa_poly *p)
{
	for (size_t i = 0; i < DSA_N; i++)
		out->c[i] = DSA_GAMMA1 - p->c[i];
}

void dsa_pack_z(uint8_t out[DSA_POLY_Z], const struct dsa_poly *p)
{
	struct dsa_poly mirrored;

	mirror(&mirrored, p);
	pack(out, &mirrored, BITS_Z);
}

void dsa_unpack_z(struct dsa_poly *out, const uint8_t in[DSA_POLY_Z])
{
	unpack(out, in, BITS_Z);
	mirror(out, out);
}

/* The places of the ones, polynomial after polynomial, then where each polynomial's places end. */
void dsa_pack_hint(uint8_t out[DSA_HINT], const struct dsa_vec *hint)
{
	size_t at = 0;

	memset(out, 0, DSA_HINT);
	for (size_t k = 0; k < DSA_K; k++) {
		for (size_t i = 0; i < DSA_N && at < DSA_OMEGA; i++)
			if (hint->v[k].c[i] != 0)
				out[at++] = (uint8_t)i;
		out[DSA_OMEGA + k] = (uint8_t)at;
	}
}

err_t dsa_unpack_hint(struct dsa_vec *out, const uint8_t in[DSA_HINT])
{
	struct dsa_vec hint = {{{{0}}}};
	size_t at = 0;

	for (size_t k = 0; k < DSA_K; k++) {
		size_t first = at, end = in[DSA_OMEGA + k];
		if (end < at || end > DSA_OMEGA)
			return E_SIGNATURE;
		for (; at < end; at++) {
			if (at > first && in[at - 1] >= in[at])
				return E_SIGNATURE;
			hint.v[k].c[in[at]] = 1;
		}
	}
	for (; at < DSA_OMEGA; at++)
		if (in[at] != 0)
			return E_SIGNATURE;
	*out = hint;
	return OK;
}
