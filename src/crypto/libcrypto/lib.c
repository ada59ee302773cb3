/* SPDX-License-Identifier: ISC */
/*
 * lib - start of the library, algorithms fetched once
 *
 * A fetch walks the providers and takes locks, so each algorithm is fetched at its first use and
 * kept.  The cache only ever goes from "not yet" to one fixed value (compare and swap), so that
 * threads may race for it.
 */
#include <stdatomic.h>

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/obj_mac.h>
#include <openssl/opensslv.h>

#include "crypto/libcrypto/lib.h"

static _Atomic(EVP_CIPHER *) ciphers[LIB_CIPHER_N];
static _Atomic(EVP_MAC *) poly1305;

/* clang-format off */
static const char *const cipher_names[LIB_CIPHER_N] = {
	[LIB_AES128_CTR] = "AES-128-CTR", [LIB_AES192_CTR] = "AES-192-CTR", [LIB_AES256_CTR] = "AES-256-CTR",
	[LIB_AES128_CBC] = "AES-128-CBC", [LIB_AES192_CBC] = "AES-192-CBC", [LIB_AES256_CBC] = "AES-256-CBC",
	[LIB_3DES_CBC]   = "DES-EDE3-CBC",
	[LIB_AES128_GCM] = "AES-128-GCM", [LIB_AES256_GCM] = "AES-256-GCM",
	[LIB_CHACHA20]   = "ChaCha20",
};
/* clang-format on */

err_t lib_fail(err_t e)
{
	ERR_clear_error();
	return e;
}

EVP_CIPHER *lib_cipher(enum lib_cipher c)
{
	EVP_CIPHER *known = atomic_load(&ciphers[c]);
	if (known != NULL)
		return known;
	EVP_CIPHER *mine = EVP_CIPHER_fetch(NULL, cipher_names[c], NULL);
	if (mine == NULL) {
		ERR_clear_error();
		return NULL;
	}
	if (atomic_compare_exchange_strong(&ciphers[c], &known, mine))
		return mine;
	EVP_CIPHER_free(mine); /* another thread was first */
	return known;
}

EVP_MAC *lib_poly1305(void)
{
	EVP_MAC *known = atomic_load(&poly1305);
	if (known != NULL)
		return known;
	EVP_MAC *mine = EVP_MAC_fetch(NULL, "POLY1305", NULL);
	if (mine == NULL) {
		ERR_clear_error();
		return NULL;
	}
	if (atomic_compare_exchange_strong(&poly1305, &known, mine))
		return mine;
	EVP_MAC_free(mine);
	return known;
}

err_t crypto_init(void)
{
	/* The configuration file of the system may not change what runs here, and reading it costs
	 * a login dear.  So do the tables of the names of old (pem.c adds those that it needs) and
	 * the freeing of every table when the process ends: a fifth of a login's instructions. */
	const uint64_t how = OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_ADD_ALL_CIPHERS |
			     OPENSSL_INIT_NO_ADD_ALL_DIGESTS | OPENSSL_INIT_NO_ATEXIT;
	if (OPENSSL_init_crypto(how, NULL) != 1)
		return lib_fail(E_CRYPTO);
	/* A fetch at start makes a broken library fail here and not in the middle of a connection.
	 */
	if (lib_cipher(LIB_AES256_CTR) == NULL)
		return E_CRYPTO;
	return OK;
}

const char *crypto_version(void)
{
	return OpenSSL_version(OPENSSL_VERSION);
}

const char *lib_curve_name(enum ec_curve c)
{
	static const char *const names[EC_CURVE_N] = {"P-256", "P-384", "P-521"};
	return names[c];
}

int lib_curve_nid(enum ec_curve c)
{
	static const int nids[EC_CURVE_N] = {NID_X9_62_prime256v1, NID_secp384r1, NID_secp521r1};
	return nids[c];
}

BIGNUM *lib_bn(struct cslice m)
{
	BIGNUM *n = m.n <= INT32_MAX ? BN_bin2bn(m.p, (int)m.n, NULL) : NULL;
	if (n != NULL)
		BN_set_flags(n, BN_FLG_CONSTTIME);
	return n;
}

err_t lib_bn_put(const BIGNUM *n, struct buf *out)
{
	int size = BN_num_bytes(n);
	uint8_t *at = buf_room(out, (size_t)size);
	if (at == NULL)
		return out->err;
	return BN_bn2binpad(n, at, size) == size ? OK : lib_fail(E_CRYPTO);
}
