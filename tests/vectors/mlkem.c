/* SPDX-License-Identifier: ISC */
/*
 * mlkem - ML-KEM-768 against the accumulated vectors of the Go standard library
 *
 * All randomness is one SHAKE128 stream over nothing; every round makes a key, encapsulates, and
 * decapsulates both the ciphertext and random bytes.  Public keys, ciphertexts and secrets go into
 * another SHAKE128, whose first 32 bytes are published for 100 and for 10,000 rounds (the latter
 * with the argument 10000).
 */
#include "crypto/crypto.h"
#include "crypto/own/keccak.h"
#include "vec.h"

static void one_round(struct keccak *random, struct keccak *all, int64_t i)
{
	uint8_t seed[64], m[32], ek[MLKEM768_EK], dk[MLKEM768_DK], ct[MLKEM768_CT], ss[32],
		again[32];

	keccak_squeeze(random, seed, 64);
	vec_check(mlkem768_keypair(seed, seed + 32, ek, dk) == OK, "keypair", i);
	keccak_absorb(all, ek, sizeof(ek));
	keccak_squeeze(random, m, sizeof(m));
	vec_check(mlkem768_encaps(ek, m, ct, ss) == OK, "encaps", i);
	keccak_absorb(all, ct, sizeof(ct));
	keccak_absorb(all, ss, sizeof(ss));
	vec_check(mlkem768_decaps(dk, ct, again) == OK && memcmp(ss, again, 32) == 0, "decaps", i);
	keccak_squeeze(random, ct, sizeof(ct));
	vec_check(mlkem768_decaps(dk, ct, again) == OK, "decaps of noise", i);
	keccak_absorb(all, again, sizeof(again));
}

int main(int argc, char **argv)
{
	bool is_long = argc == 2 && strcmp(argv[1], "10000") == 0;
	struct keccak random, all, so_far;
	uint8_t sum[32];

	keccak_shake128(&random);
	keccak_shake128(&all);
	for (int64_t i = 0; i < (is_long ? 10000 : 100); i++)
		one_round(&random, &all, i);
	so_far = all;
	keccak_squeeze(&so_far, sum, sizeof(sum));
	vec_check(
		vec_eq_hex(sum, sizeof(sum),
			is_long ? "8a518cc63da366322a8e7a818c7a0d63483cb3528d34a4cf42f35d5ad73f22fc"
				: "1114b1b6699ed191734fa339376afa7e285c9e6acf6ff0177d346696ce56441"
				  "5"),
		"accumulated", 0);
	return vec_done();
}
