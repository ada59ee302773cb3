/* SPDX-License-Identifier: ISC */
/* mldsa_pack - polynomials of ML-DSA as bytes (FIPS 204 7.1): fields of a fixed number of bits, the
 * low bits first */
#include "crypto/own/mldsa_poly.h"

#define BITS_T1 10
#define BITS_W1 6
#define BITS_Z  18

struct packer {
	uint8_t *out;
	uint64_t held;
	unsigned bits; /* held and not written */
};

static inline void pack(struct packer *p, uint32_t v, unsigned bits)
{
	p->held |= (uint64_t)v << p->bits;
	for (p->bits += bits; p->bits >= 8; p->bits -= 8) {
		*p->out++ = (uint8_t)p->held;
		p->held >>= 8;
	}
}

struct unpacker {
	const uint8_t *in;
	uint64_t held;
	unsigned bits;
};

static inline uint32_t unpack(struct unpacker *u, unsigned bits)
{
	for (; u->bits < bits; u->bits += 8)
		u->held |= (uint64_t)*u->in++ << u->bits;
	uint32_t v = (uint32_t)u->held & ((1U << bits) - 1);
	u->held >>= bits;
	u->bits -= bits;
	return v;
}

void dsa_pack_t1(uint8_t out[DSA_POLY_T1], const struct dsa_poly *p)
{
	struct packer to = {out, 0, 0};

	for (size_t i = 0; i < DSA_N; i++)
		pack(&to, (uint32_t)p->c[i], BITS_T1);
}

void dsa_unpack_t1(struct dsa_poly *out, const uint8_t in[DSA_POLY_T1])
{
	struct unpacker from = {in, 0, 0};

	for (size_t i = 0; i < DSA_N; i++)
		out->c[i] = (int32_t)unpack(&from, BITS_T1);
}

void dsa_pack_w1(uint8_t out[DSA_POLY_W1], const struct dsa_poly *p)
{
	struct packer to = {out, 0, 0};

	for (size_t i = 0; i < DSA_N; i++)
		pack(&to, (uint32_t)p->c[i], BITS_W1);
}

void dsa_pack_z(uint8_t out[DSA_POLY_Z], const struct dsa_poly *p)
{
	struct packer to = {out, 0, 0};

	for (size_t i = 0; i < DSA_N; i++)
		pack(&to, (uint32_t)(DSA_GAMMA1 - p->c[i]), BITS_Z);
}

void dsa_unpack_z(struct dsa_poly *out, const uint8_t in[DSA_POLY_Z])
{
	struct unpacker from = {in, 0, 0};

	for (size_t i = 0; i < DSA_N; i++)
		out->c[i] = DSA_GAMMA1 - (int32_t)unpack(&from, BITS_Z);
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
