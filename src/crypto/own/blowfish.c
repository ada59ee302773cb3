/* SPDX-License-Identifier: ISC */
/* blowfish - cipher and key schedule, see blowfish.h */
#include "crypto/own/blowfish.h"

static inline uint32_t f(const struct blowfish *b, uint32_t x)
{
	return ((b->s[0][x >> 24] + b->s[1][x >> 16 & 255]) ^ b->s[2][x >> 8 & 255]) +
	       b->s[3][x & 255];
}

void blowfish_encrypt(const struct blowfish *b, uint32_t block[2])
{
	uint32_t left = block[0] ^ b->p[0], right = block[1];

	for (size_t i = 1; i < 17; i += 2) {
		right ^= f(b, left) ^ b->p[i];
		left ^= f(b, right) ^ b->p[i + 1];
	}
	block[0] = right ^ b->p[17];
	block[1] = left;
}

/* Two words of the state become the encryption of the last ones, mixed with the next 8 bytes of
 * salt. */
static inline void next_pair(
	struct blowfish *b, uint32_t *to, uint32_t block[2], const uint8_t *salt, size_t *salt_at)
{
	if (salt != NULL) {
		block[0] ^= be32_get(salt + *salt_at);
		block[1] ^= be32_get(salt + *salt_at + 4);
		*salt_at = (*salt_at + 8) % 64;
	}
	blowfish_encrypt(b, block);
	to[0] = block[0];
	to[1] = block[1];
}

void blowfish_expand(struct blowfish *b, const uint8_t key[64], const uint8_t *salt)
{
	uint32_t block[2] = {0, 0};
	size_t salt_at = 0;

	for (size_t i = 0; i < 18; i++)
		b->p[i] ^= be32_get(key + 4 * i % 64);
	for (size_t i = 0; i < 18; i += 2)
		next_pair(b, b->p + i, block, salt, &salt_at);
	for (size_t box = 0; box < 4; box++)
		for (size_t i = 0; i < 256; i += 2)
			next_pair(b, b->s[box] + i, block, salt, &salt_at);
}
