/* SPDX-License-Identifier: ISC */
/* mldsa_sample - polynomials of ML-DSA drawn from SHAKE streams (FIPS 204 7.3) */
#include "crypto/own/ct.h"
#include "crypto/own/keccak.h"
#include "crypto/own/mldsa_poly.h"

void dsa_sample_uniform(struct dsa_poly *out, const uint8_t rho[32], uint8_t row, uint8_t column)
{
	uint8_t block[SHAKE128_RATE]; /* a multiple of 3 */
	const uint8_t place[2] = {column, row};
	struct keccak k;
	size_t n = 0;

	keccak_shake128(&k);
	keccak_absorb(&k, rho, 32);
	keccak_absorb(&k, place, 2);
	while (n < DSA_N) {
		keccak_squeeze(&k, block, sizeof(block));
		for (size_t i = 0; i < sizeof(block) && n < DSA_N; i += 3) {
			int32_t v = block[i] | block[i + 1] << 8 | (block[i + 2] & 127) << 16;
			if (v < DSA_Q)
				out->c[n++] = v;
		}
	}
}

static void absorb_with_nonce(struct keccak *k, const uint8_t seed[64], uint16_t nonce)
{
	const uint8_t place[2] = {(uint8_t)nonce, (uint8_t)(nonce >> 8)};

	keccak_shake256(k);
	keccak_absorb(k, seed, 64);
	keccak_absorb(k, place, 2);
}

/* 2 - (v mod 5) for v < 15; 15 is thrown away.  205 / 2^10 is 1/5 for numbers this small. */
static void small_put(struct dsa_poly *out, size_t *n, uint32_t v)
{
	uint32_t is_kept = ct_hide((v - 15) >> 31);

	CT_PUBLIC(&is_kept, sizeof(is_kept));
	if (is_kept != 0 && *n < DSA_N)
		out->c[(*n)++] = (int32_t)(2 - (v - (v * 205 >> 10) * 5));
}

void dsa_sample_small(struct dsa_poly *out, const uint8_t seed[64], uint16_t nonce)
{
	uint8_t block[SHAKE256_RATE];
	struct keccak k;
	size_t n = 0;

	absorb_with_nonce(&k, seed, nonce);
	while (n < DSA_N) {
		keccak_squeeze(&k, block, sizeof(block));
		for (size_t i = 0; i < sizeof(block); i++) {
			small_put(out, &n, block[i] & 15);
			small_put(out, &n, block[i] >> 4);
		}
	}
	keccak_done(&k);
	wipe(block, sizeof(block));
}

void dsa_sample_mask(struct dsa_poly *out, const uint8_t seed[64], uint16_t nonce)
{
	uint8_t bytes[DSA_POLY_Z];
	struct keccak k;

	absorb_with_nonce(&k, seed, nonce);
	keccak_squeeze(&k, bytes, sizeof(bytes));
	keccak_done(&k);
	dsa_unpack_z(out, bytes);
	wipe(bytes, sizeof(bytes));
}

void dsa_sample_challenge(struct dsa_poly *out, const uint8_t challenge[DSA_CHALLENGE])
{
	uint8_t signs[8], place;
	struct keccak k;

	*out = (struct dsa_poly){{0}};
	keccak_shake256(&k);
	keccak_absorb(&k, challenge, DSA_CHALLENGE);
	keccak_squeeze(&k, signs, sizeof(signs));
	for (size_t i = DSA_N - DSA_TAU, bit = 0; i < DSA_N; i++, bit++) {
		do
			keccak_squeeze(&k, &place, 1);
		while (place > i);
		out->c[i] = out->c[place];
		out->c[place] = 1 - 2 * (signs[bit / 8] >> bit % 8 & 1);
	}
}
