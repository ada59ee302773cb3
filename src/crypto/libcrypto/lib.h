/* SPDX-License-Identifier: ISC */
/*
 * lib - what the files of this folder share: algorithms that are fetched once, errors, big numbers
 *
 * Internal to crypto/libcrypto: the only folder that includes <openssl/...>.  Two rules hold in all
 * of it: a call of the library that fails makes our call fail (the return value decides, never the
 * error queue, which is emptied so that it cannot grow), and no output is written before the last
 * call that can fail, except that buffers which were worked on in place are wiped.
 */
#ifndef CRYPTO_LIBCRYPTO_LIB_H
#define CRYPTO_LIBCRYPTO_LIB_H

#include <openssl/bn.h>
#include <openssl/evp.h>

#include "crypto/crypto.h"

enum lib_cipher {
	LIB_AES128_CTR,
	LIB_AES192_CTR,
	LIB_AES256_CTR,
	LIB_AES128_CBC,
	LIB_AES192_CBC,
	LIB_AES256_CBC,
	LIB_3DES_CBC,
	LIB_AES128_GCM,
	LIB_AES256_GCM,
	LIB_CHACHA20,
	LIB_CIPHER_N
};

/* Fetched at the first use and kept until the process ends; NULL when the library lacks it. */
EVP_CIPHER *lib_cipher(enum lib_cipher c);
EVP_MAC *lib_poly1305(void);

/* Empties the library's error queue and gives e. */
err_t lib_fail(err_t e);

/* The library's name of a hash, for signatures. */
const char *lib_hash_name(enum hash_id id);

const char *lib_curve_name(enum ec_curve c);
int lib_curve_nid(enum ec_curve c);

/* Big-endian magnitude -> number whose uses are constant time; NULL when out of memory. */
BIGNUM *lib_bn(struct cslice magnitude);
/* Appends n as a magnitude (no leading zeros). */
MUST err_t lib_bn_put(const BIGNUM *n, struct buf *out);

struct pkey {
	EVP_PKEY *k;
	bool is_rsa, is_private;
	enum ec_curve curve; /* of an EC key */
};
/* Takes k, also on failure. */
MUST err_t lib_pkey_wrap(struct pkey **out, EVP_PKEY *k, const struct pkey *as);
/* Takes k, finds out what it is.  E_KEY_TYPE: neither RSA nor one of the three curves. */
MUST err_t lib_pkey_adopt(struct pkey **out, EVP_PKEY *k, bool is_private);

/* The private number of an EC key is in range and belongs to its point. */
bool lib_ec_is_pair(EVP_PKEY *k);

/* EVP_DigestSign and EVP_DigestVerify in one call; md NULL for Ed25519.  verify: OK or E_SIGNATURE.
 */
MUST err_t lib_sign(EVP_PKEY *k, const char *md, struct cslice msg, uint8_t *sig, size_t *sig_n);
MUST err_t lib_verify(EVP_PKEY *k, const char *md, struct cslice msg, struct cslice sig);

#endif
