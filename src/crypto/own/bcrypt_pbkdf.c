/* SPDX-License-Identifier: ISC */
/*
 * bcrypt_pbkdf - the key derivation of OpenSSH's private key files
 *
 * PBKDF2 (RFC 8018 5.2) with a hash made of bcrypt over SHA-512 of its inputs, 32 bytes a block.
 * Where PBKDF2 puts its blocks one behind the other, this one deals them out like cards: byte i of
 * block b goes to i * blocks + b, so that each part of the key needs all the work.
 */
#include "crypto/crypto.h"
#include "crypto/own/blowfish.h"

#define BLOCK      32
#define KEY_MAX    ((size_t)BLOCK * 32)
#define SALT_MAX   ((size_t)1 << 20)
#define EXPANSIONS 64
#define ENCRYPTS   64

struct work {
	struct blowfish cipher;
	uint8_t pass[64], salt[64], block[BLOCK], sum[BLOCK], key[KEY_MAX];
};

/* "OxychromaticBlowfishSwatDynamite" encrypted under a state that pass and salt went through 64
 * times. */
static void bcrypt_hash(struct work *w)
{
	static const char text[] = "OxychromaticBlowfishSwatDynamite";
	uint32_t word[BLOCK / 4];

	w->cipher = blowfish_pi;
	blowfish_expand(&w->cipher, w->pass, w->salt);
	for (size_t i = 0; i < EXPANSIONS; i++) {
		blowfish_expand(&w->cipher, w->salt, NULL);
		blowfish_expand(&w->cipher, w->pass, NULL);
	}
	for (size_t i = 0; i < BLOCK / 4; i++)
		word[i] = be32_get((const uint8_t *)text + 4 * i);
	for (size_t i = 0; i < ENCRYPTS; i++)
		for (size_t j = 0; j < BLOCK / 4; j += 2)
			blowfish_encrypt(&w->cipher, word + j);
	for (size_t i = 0; i < BLOCK; i++)
		w->block[i] = (uint8_t)(word[i / 4] >> 8 * (i % 4));
	wipe(word, sizeof(word));
}

/* One block of the key, into w->sum. */
static err_t derive_block(struct work *w, struct cslice salt, uint32_t number, uint32_t rounds)
{
	uint8_t number_be[4];

	be32_put(number_be, number);
	TRY(hash_parts(HASH_SHA512, (const struct cslice[]){salt, {number_be, 4}}, 2, w->salt));
	bcrypt_hash(w);
	memcpy(w->sum, w->block, BLOCK);
	for (uint32_t i = 1; i < rounds; i++) {
		TRY(hash_once(HASH_SHA512, cslice_of(w->block, BLOCK), w->salt));
		bcrypt_hash(w);
		for (size_t j = 0; j < BLOCK; j++)
			w->sum[j] ^= w->block[j];
	}
	return OK;
}

static err_t derive(struct work *w, struct cslice salt, uint32_t rounds, size_t key_n)
{
	size_t blocks = (key_n + BLOCK - 1) / BLOCK;

	for (size_t b = 0; b < blocks; b++) {
		TRY(derive_block(w, salt, (uint32_t)b + 1, rounds));
		for (size_t i = 0; i < BLOCK && i * blocks + b < key_n; i++)
			w->key[i * blocks + b] = w->sum[i];
	}
	return OK;
}

err_t bcrypt_pbkdf(
	struct cslice pass, struct cslice salt, uint32_t rounds, uint8_t *key, size_t key_n)
{
	struct work w;
	err_t e;

	if (rounds < 1 || pass.n == 0 || salt.n == 0 || salt.n > SALT_MAX || key_n == 0 ||
		key_n > KEY_MAX)
		return E_LIMIT;
	if ((e = hash_once(HASH_SHA512, pass, w.pass)) == OK &&
		(e = derive(&w, salt, rounds, key_n)) == OK)
		memcpy(key, w.key, key_n);
	wipe(&w, sizeof(w));
	return e;
}
