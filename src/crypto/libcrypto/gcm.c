/* SPDX-License-Identifier: ISC */
/*
 * gcm - AES-GCM, one message a call
 *
 * Two kept contexts, one a direction: changing the direction of a context would expand the key
 * again.
 */
#include <stdlib.h>

#include "crypto/libcrypto/lib.h"

struct gcm {
	EVP_CIPHER_CTX *seal, *open;
};

static bool make(EVP_CIPHER_CTX **out, EVP_CIPHER *algorithm, const uint8_t *key, int encrypt)
{
	*out = EVP_CIPHER_CTX_new();
	return *out != NULL && EVP_CipherInit_ex2(*out, algorithm, key, NULL, encrypt, NULL) == 1;
}

err_t gcm_new(struct gcm **out, struct cslice key)
{
	if (key.n != 16 && key.n != 32)
		return E_BUG;
	EVP_CIPHER *algorithm = lib_cipher(key.n == 16 ? LIB_AES128_GCM : LIB_AES256_GCM);
	if (algorithm == NULL)
		return E_UNSUPPORTED;
	struct gcm *g = calloc(1, sizeof(*g));
	if (g == NULL)
		return E_MEM;
	if (!make(&g->seal, algorithm, key.p, 1) || !make(&g->open, algorithm, key.p, 0)) {
		gcm_free(g);
		return lib_fail(E_CRYPTO);
	}
	*out = g;
	return OK;
}

void gcm_free(struct gcm *g)
{
	if (g == NULL)
		return;
	EVP_CIPHER_CTX_free(g->open);
	EVP_CIPHER_CTX_free(g->seal);
	wipe_free(g, sizeof(*g));
}

/* All but the tag: nonce, additional data, message in place. */
static bool crypt(
	EVP_CIPHER_CTX *ctx, const uint8_t nonce[12], struct cslice aad, struct slice data)
{
	int done = 0;
	if (aad.n > INT32_MAX || data.n > INT32_MAX)
		return false;
	if (EVP_CipherInit_ex2(ctx, NULL, NULL, nonce, -1, NULL) != 1)
		return false;
	if (aad.n > 0 && EVP_CipherUpdate(ctx, NULL, &done, aad.p, (int)aad.n) != 1)
		return false;
	return data.n == 0 || (EVP_CipherUpdate(ctx, data.p, &done, data.p, (int)data.n) == 1 &&
				      done == (int)data.n);
}

err_t gcm_seal(struct gcm *g, const uint8_t nonce[12], struct cslice aad, struct slice data,
	uint8_t tag[16])
{
	uint8_t none[16];
	int none_n = 0;
	if (crypt(g->seal, nonce, aad, data) && EVP_CipherFinal_ex(g->seal, none, &none_n) == 1 &&
		EVP_CIPHER_CTX_ctrl(g->seal, EVP_CTRL_AEAD_GET_TAG, 16, tag) == 1)
		return OK;
	wipe(data.p, data.n); /* half-sealed bytes must not be sent */
	wipe(tag, 16);
	return lib_fail(E_CRYPTO);
}

err_t gcm_open(struct gcm *g, const uint8_t nonce[12], struct cslice aad, struct slice data,
	const uint8_t tag[16])
{
	uint8_t want[16], none[16];
	int none_n = 0;
	memcpy(want, tag, 16); /* the library's parameter is not const */
	err_t e = E_CRYPTO;
	if (crypt(g->open, nonce, aad, data) &&
		EVP_CIPHER_CTX_ctrl(g->open, EVP_CTRL_AEAD_SET_TAG, 16, want) == 1)
		e = EVP_CipherFinal_ex(g->open, none, &none_n) == 1 ? OK : E_MAC;
	if (e == OK)
		return OK;
	wipe(data.p, data.n);
	return lib_fail(e);
}
