/* SPDX-License-Identifier: ISC */
/*
 * legacy - arcfour, Blowfish, CAST-128 and RIPEMD-160: what only very old peers still need
 *
 * Through EVP of OpenSSL 3 these come from a provider of their own, a shared object that several
 * systems leave out and that a process in an empty root cannot load.  The same code also stands in
 * the library itself behind its plain functions, with a plain struct as state; those are used here,
 * so nothing is loaded, looked up or allocated after the key is set.  They are marked deprecated
 * for applications, hence the switch below.
 *
 * A libcrypto can be built without any of them.  So they are weak references: such a library still
 * starts everything else, and the question is_there has its answer at run time.
 */
#define OPENSSL_SUPPRESS_DEPRECATED
#include <stdlib.h>

#include <openssl/blowfish.h>
#include <openssl/cast.h>
#include <openssl/rc4.h>
#include <openssl/ripemd.h>

#include "crypto/libcrypto/legacy.h"

union state {
#ifndef OPENSSL_NO_RC4
	RC4_KEY arcfour;
#endif
#ifndef OPENSSL_NO_BF
	BF_KEY blowfish;
#endif
#ifndef OPENSSL_NO_CAST
	CAST_KEY cast128;
#endif
	uint8_t none;
};

struct old_cipher {
	const struct old_row *row;
	bool encrypt;
	uint8_t iv[8];
	union state s;
};

struct old_row {
	bool (*is_there)(void); /* NULL: unknown to the headers that this was built with */
	void (*key)(struct old_cipher *c, struct cslice key);
	void (*crypt)(struct old_cipher *c, const uint8_t *in, uint8_t *out, size_t n);
};

/* ---- arcfour ---- */
#ifndef OPENSSL_NO_RC4
#pragma weak RC4_set_key
#pragma weak RC4

static bool arcfour_is_there(void)
{
	return RC4_set_key != NULL && RC4 != NULL;
}

static void arcfour_key(struct old_cipher *c, struct cslice key)
{
	RC4_set_key(&c->s.arcfour, (int)key.n, key.p);
}

static void arcfour_crypt(struct old_cipher *c, const uint8_t *in, uint8_t *out, size_t n)
{
	RC4(&c->s.arcfour, n, in, out);
}
#define ARCFOUR                                                                                    \
	{                                                                                          \
		arcfour_is_there, arcfour_key, arcfour_crypt                                       \
	}
#else
#define ARCFOUR                                                                                    \
	{                                                                                          \
		NULL, NULL, NULL                                                                   \
	}
#endif

/* ---- Blowfish ---- */
#ifndef OPENSSL_NO_BF
#pragma weak BF_set_key
#pragma weak BF_cbc_encrypt

static bool blowfish_is_there(void)
{
	return BF_set_key != NULL && BF_cbc_encrypt != NULL;
}

static void blowfish_key(struct old_cipher *c, struct cslice key)
{
	BF_set_key(&c->s.blowfish, (int)key.n, key.p);
}

static void blowfish_crypt(struct old_cipher *c, const uint8_t *in, uint8_t *out, size_t n)
{
	BF_cbc_encrypt(
		in, out, (long)n, &c->s.blowfish, c->iv, c->encrypt ? BF_ENCRYPT : BF_DECRYPT);
}
#define BLOWFISH                                                                                   \
	{                                                                                          \
		blowfish_is_there, blowfish_key, blowfish_crypt                                    \
	}
#else
#define BLOWFISH                                                                                   \
	{                                                                                          \
		NULL, NULL, NULL                                                                   \
	}
#endif

/* ---- CAST-128 ---- */
#ifndef OPENSSL_NO_CAST
#pragma weak CAST_set_key
#pragma weak CAST_cbc_encrypt

static bool cast128_is_there(void)
{
	return CAST_set_key != NULL && CAST_cbc_encrypt != NULL;
}

static void cast128_key(struct old_cipher *c, struct cslice key)
{
	CAST_set_key(&c->s.cast128, (int)key.n, key.p);
}

static void cast128_crypt(struct old_cipher *c, const uint8_t *in, uint8_t *out, size_t n)
{
	CAST_cbc_encrypt(
		in, out, (long)n, &c->s.cast128, c->iv, c->encrypt ? CAST_ENCRYPT : CAST_DECRYPT);
}
#define CAST128                                                                                    \
	{                                                                                          \
		cast128_is_there, cast128_key, cast128_crypt                                       \
	}
#else
#define CAST128                                                                                    \
	{                                                                                          \
		NULL, NULL, NULL                                                                   \
	}
#endif

static const struct old_row rows[CIPHER_ID_N] = {
	[CIPHER_ARCFOUR] = ARCFOUR,
	[CIPHER_BLOWFISH_CBC] = BLOWFISH,
	[CIPHER_CAST128_CBC] = CAST128,
};

bool old_cipher_is_there(enum cipher_id id)
{
	return rows[id].is_there != NULL && rows[id].is_there();
}

err_t old_cipher_new(struct old_cipher **out, enum cipher_id id, struct cslice key,
	struct cslice iv, bool encrypt)
{
	if (!old_cipher_is_there(id))
		return E_UNSUPPORTED;
	if (iv.n > sizeof((*out)->iv))
		return E_BUG;
	struct old_cipher *c = calloc(1, sizeof(*c));
	if (c == NULL)
		return E_MEM;
	c->row = &rows[id];
	c->encrypt = encrypt;
	if (iv.n > 0)
		memcpy(c->iv, iv.p, iv.n);
	c->row->key(c, key);
	*out = c;
	return OK;
}

void old_cipher_free(struct old_cipher *c)
{
	wipe_free(c, sizeof(*c));
}

void old_cipher_crypt(struct old_cipher *c, const uint8_t *in, uint8_t *out, size_t n)
{
	c->row->crypt(c, in, out, n);
}

/* ---- RIPEMD-160 ---- */
#ifndef OPENSSL_NO_RMD160
#pragma weak RIPEMD160_Init
#pragma weak RIPEMD160_Update
#pragma weak RIPEMD160_Final
_Static_assert(sizeof(RIPEMD160_CTX) <= sizeof(struct old_ripemd160), "state");

bool old_ripemd160_is_there(void)
{
	return RIPEMD160_Init != NULL && RIPEMD160_Update != NULL && RIPEMD160_Final != NULL;
}

int old_ripemd160_init(struct old_ripemd160 *s)
{
	return RIPEMD160_Init((RIPEMD160_CTX *)(void *)s);
}

int old_ripemd160_update(struct old_ripemd160 *s, const void *p, size_t n)
{
	return RIPEMD160_Update((RIPEMD160_CTX *)(void *)s, p, n);
}

int old_ripemd160_final(uint8_t *out, struct old_ripemd160 *s)
{
	return RIPEMD160_Final(out, (RIPEMD160_CTX *)(void *)s);
}
#else
bool old_ripemd160_is_there(void)
{
	return false;
}

int old_ripemd160_init(struct old_ripemd160 *s)
{
	return 0;
}

int old_ripemd160_update(struct old_ripemd160 *s, const void *p, size_t n)
{
	return 0;
}

int old_ripemd160_final(uint8_t *out, struct old_ripemd160 *s)
{
	return 0;
}
#endif
