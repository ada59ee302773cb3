/* SPDX-License-Identifier: ISC */
/*
 * keccak - the permutation and the sponge (FIPS 202)
 *
 * One round is written out with fixed indices, so that the compiler keeps the 25 lanes in
 * registers; rounds go in pairs from one array to the other and back.  Lanes are little-endian
 * bytes of the sponge.
 */
#include "base/secret.h"
#include "crypto/own/keccak.h"

/* FIPS 202 3.2.5: iota */
static const uint64_t round_constant[24] = {0x0000000000000001, 0x0000000000008082,
	0x800000000000808a, 0x8000000080008000, 0x000000000000808b, 0x0000000080000001,
	0x8000000080008081, 0x8000000000008009, 0x000000000000008a, 0x0000000000000088,
	0x0000000080008009, 0x000000008000000a, 0x000000008000808b, 0x800000000000008b,
	0x8000000000008089, 0x8000000000008003, 0x8000000000008002, 0x8000000000000080,
	0x000000000000800a, 0x800000008000000a, 0x8000000080008081, 0x8000000000008080,
	0x0000000080000001, 0x8000000080008008};

static inline uint64_t rol(uint64_t v, unsigned n)
{
	return v << n | v >> ((64 - n) & 63);
}

/* One output row: rho and pi bring five lanes together (3.2.2, 3.2.3), chi mixes them (3.2.4). */
#define ROW(y, l0, r0, l1, r1, l2, r2, l3, r3, l4, r4)                                             \
	do {                                                                                       \
		uint64_t b0 = rol(a[l0] ^ d[(l0) % 5], r0), b1 = rol(a[l1] ^ d[(l1) % 5], r1);     \
		uint64_t b2 = rol(a[l2] ^ d[(l2) % 5], r2), b3 = rol(a[l3] ^ d[(l3) % 5], r3);     \
		uint64_t b4 = rol(a[l4] ^ d[(l4) % 5], r4);                                        \
		uint64_t *row = e + (size_t)5 * (y);                                               \
		row[0] = b0 ^ (~b1 & b2);                                                          \
		row[1] = b1 ^ (~b2 & b3);                                                          \
		row[2] = b2 ^ (~b3 & b4);                                                          \
		row[3] = b3 ^ (~b4 & b0);                                                          \
		row[4] = b4 ^ (~b0 & b1);                                                          \
	} while (0)

static inline void one_round(uint64_t *restrict e, const uint64_t *restrict a, uint64_t constant)
{
	uint64_t c0 = a[0] ^ a[5] ^ a[10] ^ a[15] ^ a[20];
	uint64_t c1 = a[1] ^ a[6] ^ a[11] ^ a[16] ^ a[21];
	uint64_t c2 = a[2] ^ a[7] ^ a[12] ^ a[17] ^ a[22];
	uint64_t c3 = a[3] ^ a[8] ^ a[13] ^ a[18] ^ a[23];
	uint64_t c4 = a[4] ^ a[9] ^ a[14] ^ a[19] ^ a[24];
	uint64_t d[5] = {c4 ^ rol(c1, 1), c0 ^ rol(c2, 1), c1 ^ rol(c3, 1), c2 ^ rol(c4, 1),
		c3 ^ rol(c0, 1)};

	ROW(0, 0, 0, 6, 44, 12, 43, 18, 21, 24, 14);
	ROW(1, 3, 28, 9, 20, 10, 3, 16, 45, 22, 61);
	ROW(2, 1, 1, 7, 6, 13, 25, 19, 8, 20, 18);
	ROW(3, 4, 27, 5, 36, 11, 10, 17, 15, 23, 56);
	ROW(4, 2, 62, 8, 55, 14, 39, 15, 41, 21, 2);
	e[0] ^= constant;
}

static void permute(uint64_t lane[25])
{
	uint64_t even[25], odd[25];

	memcpy(even, lane, sizeof(even));
	for (size_t i = 0; i < 24; i += 2) {
		one_round(odd, even, round_constant[i]);
		one_round(even, odd, round_constant[i + 1]);
	}
	memcpy(lane, even, sizeof(even));
}

static inline void lane_xor(struct keccak *k, size_t at, uint8_t byte)
{
	k->lane[at / 8] ^= (uint64_t)byte << 8 * (at % 8);
}

static inline uint64_t le64_get(const uint8_t *p)
{
	uint64_t v = 0;

	for (unsigned i = 0; i < 8; i++)
		v |= (uint64_t)p[i] << 8 * i;
	return v;
}

static inline void le64_put(uint8_t *p, uint64_t v)
{
	for (unsigned i = 0; i < 8; i++)
		p[i] = (uint8_t)(v >> 8 * i);
}

static void init(struct keccak *k, uint8_t rate, uint8_t suffix)
{
	*k = (struct keccak){.rate = rate, .suffix = suffix};
}

void keccak_shake128(struct keccak *k)
{
	init(k, SHAKE128_RATE, 0x1f);
}

void keccak_shake256(struct keccak *k)
{
	init(k, SHAKE256_RATE, 0x1f);
}

void keccak_sha3_256(struct keccak *k)
{
	init(k, 136, 0x06);
}

void keccak_sha3_512(struct keccak *k)
{
	init(k, 72, 0x06);
}

void keccak_absorb(struct keccak *k, const uint8_t *p, size_t n)
{
	while (n > 0) {
		if (k->at % 8 == 0 && n >= 8) {
			k->lane[k->at / 8] ^= le64_get(p);
			k->at += 8;
			p += 8;
			n -= 8;
		} else {
			lane_xor(k, k->at++, *p++);
			n--;
		}
		if (k->at == k->rate) {
			permute(k->lane);
			k->at = 0;
		}
	}
}

void keccak_squeeze(struct keccak *k, uint8_t *out, size_t n)
{
	if (k->suffix != 0) {
		lane_xor(k, k->at, k->suffix);
		lane_xor(k, k->rate - 1U, 0x80);
		k->suffix = 0;
		k->at = k->rate;
	}
	while (n > 0) {
		if (k->at == k->rate) {
			permute(k->lane);
			k->at = 0;
		}
		uint64_t lane = k->lane[k->at / 8] >> 8 * (k->at % 8);
		size_t take = num_min(n, 8U - k->at % 8);
		if (take == 8) {
			le64_put(out, lane);
		} else {
			for (size_t i = 0; i < take; i++)
				out[i] = (uint8_t)(lane >> 8 * i);
		}
		out += take;
		n -= take;
		k->at = (uint8_t)(k->at + take);
	}
}

void keccak_done(struct keccak *k)
{
	wipe(k, sizeof(*k));
}

static void whole(
	struct keccak *k, uint8_t *out, size_t n, const struct cslice *parts, size_t parts_n)
{
	for (size_t i = 0; i < parts_n; i++)
		keccak_absorb(k, parts[i].p, parts[i].n);
	keccak_squeeze(k, out, n);
	keccak_done(k);
}

void sha3_256(uint8_t out[32], const struct cslice *parts, size_t parts_n)
{
	struct keccak k;

	keccak_sha3_256(&k);
	whole(&k, out, 32, parts, parts_n);
}

void sha3_512(uint8_t out[64], const struct cslice *parts, size_t parts_n)
{
	struct keccak k;

	keccak_sha3_512(&k);
	whole(&k, out, 64, parts, parts_n);
}

void shake256(uint8_t *out, size_t n, const struct cslice *parts, size_t parts_n)
{
	struct keccak k;

	keccak_shake256(&k);
	whole(&k, out, n, parts, parts_n);
}
