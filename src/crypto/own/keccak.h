/* SPDX-License-Identifier: ISC */
/*
 * keccak - SHA-3 and SHAKE (FIPS 202), incremental, for the KEMs and signatures of this folder
 *
 * Libraries before OpenSSL 3.3 cannot squeeze a SHAKE in pieces, which rejection sampling needs.
 * init, any number of absorbs, then any number of squeezes (the first one pads); done wipes.
 * No call fails.  Constant time in the bytes.
 */
#ifndef CRYPTO_OWN_KECCAK_H
#define CRYPTO_OWN_KECCAK_H

#include "base/slice.h"

#define SHAKE128_RATE 168
#define SHAKE256_RATE 136

struct keccak {
	uint64_t lane[25];
	uint8_t rate, at,
		suffix; /* at: bytes absorbed or squeezed of this block; suffix: 0 once padded */
};

void keccak_shake128(struct keccak *k);
void keccak_shake256(struct keccak *k);
void keccak_sha3_256(struct keccak *k);
void keccak_sha3_512(struct keccak *k);
void keccak_absorb(struct keccak *k, const uint8_t *p, size_t n);
void keccak_squeeze(struct keccak *k, uint8_t *out, size_t n);
void keccak_done(struct keccak *k);

/* The whole at once: out has n bytes (32 and 64 for the SHA-3 ones). */
void sha3_256(uint8_t out[32], const struct cslice *parts, size_t parts_n);
void sha3_512(uint8_t out[64], const struct cslice *parts, size_t parts_n);
void shake256(uint8_t *out, size_t n, const struct cslice *parts, size_t parts_n);

#endif
