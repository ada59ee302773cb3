/* SPDX-License-Identifier: ISC */
/*
 * cipher - AES-CTR, AES-CBC, 3DES-CBC by EVP with the context kept; the older ones by legacy.c
 *
 * After cipher_new nothing allocates: a new position (CTR) only sets the counter block of the kept
 * context.
 */
#include <stdlib.h>

#include "crypto/libcrypto/legacy.h"
#include "crypto/libcrypto/lib.h"

struct cipher {
	EVP_CIPHER_CTX *ctx;
	struct old_cipher *old; /* in place of ctx */
	size_t block;           /* what n must be a multiple of */
	bool is_ctr;
	uint8_t iv[16];
};

struct cipher_row {
	const char *name;
	enum lib_cipher lib; /* LIB_CIPHER_N: legacy.c */
	uint8_t key, block, iv;
	bool is_ctr;
};

/* clang-format off */
static const struct cipher_row rows[CIPHER_ID_N] = {
	/*                        name            library         key block iv ctr */
	[CIPHER_AES128_CTR]   = {"aes-128-ctr",   LIB_AES128_CTR,  16, 16, 16, true},
	[CIPHER_AES192_CTR]   = {"aes-192-ctr",   LIB_AES192_CTR,  24, 16, 16, true},
	[CIPHER_AES256_CTR]   = {"aes-256-ctr",   LIB_AES256_CTR,  32, 16, 16, true},
	[CIPHER_AES128_CBC]   = {"aes-128-cbc",   LIB_AES128_CBC,  16, 16, 16, false},
	[CIPHER_AES192_CBC]   = {"aes-192-cbc",   LIB_AES192_CBC,  24, 16, 16, false},
	[CIPHER_AES256_CBC]   = {"aes-256-cbc",   LIB_AES256_CBC,  32, 16, 16, false},
	[CIPHER_3DES_CBC]     = {"des-ede3-cbc",  LIB_3DES_CBC,    24,  8,  8, false},
	[CIPHER_BLOWFISH_CBC] = {"bf-cbc",        LIB_CIPHER_N,    16,  8,  8, false},
	[CIPHER_CAST128_CBC]  = {"cast5-cbc",     LIB_CIPHER_N,    16,  8,  8, false},
	[CIPHER_ARCFOUR]      = {"rc4",           LIB_CIPHER_N,    16,  1,  0, false},
};
/* clang-format on */

const char *cipher_name(enum cipher_id id)
{
	return rows[id].name;
}

size_t cipher_key_size(enum cipher_id id)
{
	return rows[id].key;
}

size_t cipher_block(enum cipher_id id)
{
	return rows[id].block;
}

size_t cipher_iv_size(enum cipher_id id)
{
	return rows[id].iv;
}

bool cipher_is_there(enum cipher_id id)
{
	return rows[id].lib == LIB_CIPHER_N ? old_cipher_is_there(id)
					    : lib_cipher(rows[id].lib) != NULL;
}

static err_t evp_new(EVP_CIPHER_CTX **out, enum lib_cipher lib, struct cslice key, struct cslice iv,
	bool encrypt)
{
	EVP_CIPHER *algorithm = lib_cipher(lib);
	if (algorithm == NULL)
		return E_UNSUPPORTED;
	EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
	if (ctx == NULL ||
		EVP_CipherInit_ex2(ctx, algorithm, key.p, iv.p, encrypt ? 1 : 0, NULL) != 1 ||
		EVP_CIPHER_CTX_set_padding(ctx, 0) != 1) {
		EVP_CIPHER_CTX_free(ctx);
		return lib_fail(E_CRYPTO);
	}
	*out = ctx;
	return OK;
}

err_t cipher_new(
	struct cipher **out, enum cipher_id id, struct cslice key, struct cslice iv, bool encrypt)
{
	const struct cipher_row *row = &rows[id];
	bool is_key = key.n == row->key || (id == CIPHER_ARCFOUR && key.n == 32);
	if (!is_key || iv.n != row->iv)
		return E_BUG;
	struct cipher *c = calloc(1, sizeof(*c));
	if (c == NULL)
		return E_MEM;
	c->block = row->is_ctr ? 1 : row->block;
	c->is_ctr = row->is_ctr;
	if (iv.n > 0)
		memcpy(c->iv, iv.p, iv.n);
	err_t e = row->lib == LIB_CIPHER_N ? old_cipher_new(&c->old, id, key, iv, encrypt)
					   : evp_new(&c->ctx, row->lib, key, iv, encrypt);
	if (e != OK) {
		cipher_free(c);
		return e;
	}
	*out = c;
	return OK;
}

void cipher_free(struct cipher *c)
{
	if (c == NULL)
		return;
	EVP_CIPHER_CTX_free(c->ctx); /* cleanses the key schedule */
	old_cipher_free(c->old);
	wipe_free(c, sizeof(*c));
}

err_t cipher_crypt(struct cipher *c, const uint8_t *in, uint8_t *out, size_t n)
{
	if (n % c->block != 0 || n > INT32_MAX)
		return E_BUG;
	if (c->old != NULL) {
		old_cipher_crypt(c->old, in, out, n);
		return OK;
	}
	int done = 0;
	if (n > 0 && EVP_CipherUpdate(c->ctx, out, &done, in, (int)n) != 1)
		return lib_fail(E_CRYPTO);
	return done == (int)n ? OK : E_CRYPTO;
}

err_t cipher_seek(struct cipher *c, uint64_t block)
{
	if (!c->is_ctr)
		return E_BUG;
	/* RFC 4344 4: the counter is one 128-bit big-endian number. */
	uint8_t at[16];
	uint64_t high = be64_get(c->iv), low = be64_get(c->iv + 8);
	be64_put(at, high + (__builtin_add_overflow(low, block, &low) ? 1 : 0));
	be64_put(at + 8, low);
	return EVP_CipherInit_ex2(c->ctx, NULL, NULL, at, -1, NULL) == 1 ? OK : lib_fail(E_CRYPTO);
}
