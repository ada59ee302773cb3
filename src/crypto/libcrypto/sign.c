/* SPDX-License-Identifier: ISC */
/* sign - one signing and one verifying call for all kinds of keys, and Ed25519 */
#include "crypto/libcrypto/lib.h"

err_t lib_sign(EVP_PKEY *k, const char *md, struct cslice msg, uint8_t *sig, size_t *sig_n)
{
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	err_t e = ctx != NULL && EVP_DigestSignInit_ex(ctx, NULL, md, NULL, NULL, k, NULL) == 1 &&
				  EVP_DigestSign(ctx, sig, sig_n, msg.p, msg.n) == 1
			  ? OK
			  : E_CRYPTO;
	EVP_MD_CTX_free(ctx);
	return e == OK ? OK : lib_fail(e);
}

err_t lib_verify(EVP_PKEY *k, const char *md, struct cslice msg, struct cslice sig)
{
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	err_t e = E_CRYPTO;
	/* Only 1 is a yes: 0 and negative values (a signature that does not parse) are both a no.
	 */
	if (ctx != NULL && EVP_DigestVerifyInit_ex(ctx, NULL, md, NULL, NULL, k, NULL) == 1)
		e = EVP_DigestVerify(ctx, sig.p, sig.n, msg.p, msg.n) == 1 ? OK : E_SIGNATURE;
	EVP_MD_CTX_free(ctx);
	return e == OK ? OK : lib_fail(e);
}

err_t ed25519_public(const uint8_t seed[32], uint8_t pub[32])
{
	uint8_t point[32];
	size_t n = sizeof(point);
	EVP_PKEY *k = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, seed, 32);
	err_t e = k != NULL && EVP_PKEY_get_raw_public_key(k, point, &n) == 1 && n == sizeof(point)
			  ? OK
			  : E_CRYPTO;
	EVP_PKEY_free(k);
	if (e != OK)
		return lib_fail(e);
	memcpy(pub, point, sizeof(point));
	return OK;
}

err_t ed25519_sign(const uint8_t seed[32], struct cslice msg, uint8_t sig[64])
{
	uint8_t made[64];
	size_t n = sizeof(made);
	EVP_PKEY *k = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, seed, 32);
	err_t e = k != NULL ? lib_sign(k, NULL, msg, made, &n) : E_CRYPTO;
	EVP_PKEY_free(k);
	if (e == OK && n != sizeof(made))
		e = E_CRYPTO;
	if (e != OK)
		return lib_fail(e);
	memcpy(sig, made, sizeof(made));
	return OK;
}

err_t ed25519_verify(const uint8_t pub[32], struct cslice msg, const uint8_t sig[64])
{
	EVP_PKEY *k = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, pub, 32);
	err_t e = k != NULL ? lib_verify(k, NULL, msg, cslice_of(sig, 64)) : E_CRYPTO;
	EVP_PKEY_free(k);
	return e == OK ? OK : lib_fail(e);
}
