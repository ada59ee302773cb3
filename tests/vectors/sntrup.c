/* SPDX-License-Identifier: ISC */
/*
 * sntrup - sntrup761 with a fixed stream of random bytes
 *
 * The digest is our own, written down when the implementation had been shown right by a foreign
 * decapsulation, by recorded public keys and ciphertexts (kem_shared) and by the algebra (unit
 * tests); it keeps keys, ciphertexts and secrets from ever changing unseen where those files are
 * absent.
 */
#include "crypto/crypto.h"
#include "vec.h"

#define ROUNDS 8

static bool one_round(struct rng *rng, struct hash *all)
{
	uint8_t pk[SNTRUP761_PK], sk[SNTRUP761_SK], ct[SNTRUP761_CT], ss[32], again[32],
		rejected[32];

	if (sntrup761_keypair(rng, pk, sk) != OK || sntrup761_encaps(rng, pk, ct, ss) != OK ||
		sntrup761_decaps(sk, ct, again) != OK || memcmp(ss, again, sizeof(ss)) != 0)
		return false;
	if (hash_update(all, cslice_of(pk, sizeof(pk))) != OK ||
		hash_update(all, cslice_of(sk, sizeof(sk))) != OK ||
		hash_update(all, cslice_of(ct, sizeof(ct))) != OK ||
		hash_update(all, cslice_of(ss, sizeof(ss))) != OK)
		return false;
	ct[500] ^= 1;
	return sntrup761_decaps(sk, ct, rejected) == OK && memcmp(ss, rejected, sizeof(ss)) != 0 &&
	       hash_update(all, cslice_of(rejected, sizeof(rejected))) == OK;
}

int main(void)
{
	struct rng_seeded rng;
	struct hash *all;
	uint8_t sum[64];

	rng_seeded_init(&rng, 761);
	if (crypto_init() != OK || hash_new(&all, HASH_SHA512) != OK)
		return 1;
	for (int64_t i = 0; i < ROUNDS; i++)
		vec_check(one_round(&rng.rng, all), "round", i);
	vec_check(
		hash_peek(all, sum) == OK &&
			vec_eq_hex(sum, sizeof(sum),
				"a109c5cf6c250290bb23adae009c09e653837c0fa814e0abe4c3158af6f9d67b"
				"8e33088b3d66a0a2ddbec625a5439593558ecf4e146b05f308ab685ae7e76959"),
		"accumulated", 0);
	hash_free(all);
	return vec_done();
}
