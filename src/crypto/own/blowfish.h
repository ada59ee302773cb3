/* SPDX-License-Identifier: ISC */
/*
 * blowfish - the block cipher of Schneier (1993), with the salted key schedule of bcrypt (Provos,
 * Mazieres 1999)
 *
 * For bcrypt_pbkdf only.  It looks its S-boxes up by secret bytes, so it is not constant time in
 * the cache; what is derived from a passphrase on one's own machine bears that, packets would not.
 */
#ifndef CRYPTO_OWN_BLOWFISH_H
#define CRYPTO_OWN_BLOWFISH_H

#include "base/slice.h"

struct blowfish {
	uint32_t p[18], s[4][256];
};

extern const struct blowfish blowfish_pi; /* the first state */

void blowfish_encrypt(const struct blowfish *b, uint32_t block[2]);
/* Mixes key and salt into the state; an empty salt means zeros.  Both are 64 bytes, or the salt is
 * NULL. */
void blowfish_expand(struct blowfish *b, const uint8_t key[64], const uint8_t *salt);

#endif
