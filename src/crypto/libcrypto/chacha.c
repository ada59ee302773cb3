/* SPDX-License-Identifier: ISC */
/*
 * chacha - ChaCha20 at any position, and Poly1305 with a key a message
 *
 * The library's ChaCha20 takes its 16-byte IV as the last row of the state: four little-endian
 * words.  Words 0 and 1 are the 64-bit block counter and words 2 and 3 the 64-bit nonce of the
 * original cipher, which SSH uses.
 */
#include <stdlib.h>

#include "crypto/libcrypto/lib.h"

struct chacha {
	EVP_CIPHER_CTX *ctx;
};

struct poly1305 {
	EVP_MAC_CTX *ctx;
};

err_t chacha_new(struct chacha **out, const uint8_t key[32])
{
	EVP_CIPHER *algorithm = lib_cipher(LIB_CHACHA20);
	if (algorithm == NULL)
		return E_UNSUPPORTED;
	struct chacha *c = calloc(1, sizeof(*c));
	if (c == NULL)
		return E_MEM;
	c->ctx = EVP_CIPHER_CTX_new();
	if (c->ctx == NULL || EVP_CipherInit_ex2(c->ctx, algorithm, key, NULL, 1, NULL) != 1) {
		chacha_free(c);
		return lib_fail(E_CRYPTO);
	}
	*out = c;
	return OK;
}

void chacha_free(struct chacha *c)
{
	if (c == NULL)
		return;
	EVP_CIPHER_CTX_free(c->ctx);
	wipe_free(c, sizeof(*c));
}

err_t chacha_crypt(
	struct chacha *c, const uint8_t nonce[8], uint64_t block, uint8_t *data, size_t n)
{
	uint8_t iv[16];
	int done = 0;
	if (n > INT32_MAX)
		return E_BUG;
	for (size_t i = 0; i < 8; i++)
		iv[i] = (uint8_t)(block >> (8 * i));
	memcpy(iv + 8, nonce, 8);
	if (EVP_CipherInit_ex2(c->ctx, NULL, NULL, iv, -1, NULL) != 1 ||
		(n > 0 && EVP_CipherUpdate(c->ctx, data, &done, data, (int)n) != 1) ||
		done != (int)n)
		return lib_fail(E_CRYPTO);
	return OK;
}

err_t poly1305_new(struct poly1305 **out)
{
	EVP_MAC *algorithm = lib_poly1305();
	if (algorithm == NULL)
		return E_UNSUPPORTED;
	struct poly1305 *p = calloc(1, sizeof(*p));
	if (p == NULL)
		return E_MEM;
	p->ctx = EVP_MAC_CTX_new(algorithm);
	if (p->ctx == NULL) {
		free(p);
		return lib_fail(E_CRYPTO);
	}
	*out = p;
	return OK;
}

void poly1305_free(struct poly1305 *p)
{
	if (p == NULL)
		return;
	EVP_MAC_CTX_free(p->ctx);
	free(p);
}

err_t poly1305_tag(struct poly1305 *p, const uint8_t key[32], struct cslice msg, uint8_t tag[16])
{
	uint8_t sum[16];
	size_t n = 0;
	if (EVP_MAC_init(p->ctx, key, 32, NULL) != 1 || EVP_MAC_update(p->ctx, msg.p, msg.n) != 1 ||
		EVP_MAC_final(p->ctx, sum, &n, sizeof(sum)) != 1 || n != sizeof(sum))
		return lib_fail(E_CRYPTO);
	memcpy(tag, sum, sizeof(sum));
	return OK;
}
