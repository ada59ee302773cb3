/* SPDX-License-Identifier: ISC */
/*
 * legacy - the old ciphers and RIPEMD-160, behind cipher.c and hash.c
 *
 * Internal to crypto/libcrypto.  A libcrypto may lack any of them: is_there tells.
 */
#ifndef CRYPTO_LIBCRYPTO_LEGACY_H
#define CRYPTO_LIBCRYPTO_LEGACY_H

#include "crypto/crypto.h"

struct old_cipher;
bool old_cipher_is_there(enum cipher_id id);
/* Sizes are the caller's duty.  E_UNSUPPORTED: the library lacks it. */
MUST err_t old_cipher_new(struct old_cipher **out, enum cipher_id id, struct cslice key,
	struct cslice iv, bool encrypt);
void old_cipher_free(struct old_cipher *c);
/* n: a multiple of the block for CBC.  State goes on from call to call. */
void old_cipher_crypt(struct old_cipher *c, const uint8_t *in, uint8_t *out, size_t n);

/* As the library's own functions: 1 = done.  Not to be called when it is not there. */
struct old_ripemd160 {
	uint64_t words[16];
};
bool old_ripemd160_is_there(void);
int old_ripemd160_init(struct old_ripemd160 *s);
int old_ripemd160_update(struct old_ripemd160 *s, const void *p, size_t n);
int old_ripemd160_final(uint8_t *out, struct old_ripemd160 *s);

#endif
