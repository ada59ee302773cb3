/* SPDX-License-Identifier: ISC */
/*
 * hash - hashes and HMAC over the library's plain hash functions
 *
 * These are the SHA256_Update kind of functions, not EVP, on purpose: their state is a plain
 * struct.  So a keyed HMAC is two structs that are copied for each packet; through EVP of OpenSSL 3
 * a copy allocates memory, twice a packet, which costs more than the hashing of a short one.  The
 * code behind both is the same (SHA extensions where the CPU has them).  They are marked deprecated
 * for applications, hence the switch below.
 */
#define OPENSSL_SUPPRESS_DEPRECATED
#include <stdlib.h>

#include <openssl/md5.h>
#include <openssl/sha.h>

#include "base/text.h"
#include "crypto/libcrypto/legacy.h"
#include "crypto/libcrypto/lib.h"

union state {
	struct old_ripemd160 ripemd160;
	MD5_CTX md5;
	SHA_CTX sha1;
	SHA256_CTX sha256;
	SHA512_CTX sha512;
};

struct hash_row {
	const char *name, *lib_name;
	size_t size, block;
	int (*init)(union state *s);
	int (*update)(union state *s, const void *p, size_t n);
	int (*final)(uint8_t *out, union state *s);
};

/* One set of adapters a hash: the library's functions differ only in the type of the state. */
#define ADAPT(id, member, Init, Update, Final)                                                     \
	static int id##_init(union state *s)                                                       \
	{                                                                                          \
		return Init(&s->member);                                                           \
	}                                                                                          \
	static int id##_update(union state *s, const void *p, size_t n)                            \
	{                                                                                          \
		return Update(&s->member, p, n);                                                   \
	}                                                                                          \
	static int id##_final(uint8_t *out, union state *s)                                        \
	{                                                                                          \
		return Final(out, &s->member);                                                     \
	}

ADAPT(ripemd160, ripemd160, old_ripemd160_init, old_ripemd160_update, old_ripemd160_final)
ADAPT(md5, md5, MD5_Init, MD5_Update, MD5_Final)
ADAPT(sha1, sha1, SHA1_Init, SHA1_Update, SHA1_Final)
ADAPT(sha256, sha256, SHA256_Init, SHA256_Update, SHA256_Final)
ADAPT(sha384, sha512, SHA384_Init, SHA384_Update, SHA384_Final)
ADAPT(sha512, sha512, SHA512_Init, SHA512_Update, SHA512_Final)

/* clang-format off */
static const struct hash_row rows[HASH_N] = {
	/*                   name         library      size block */
	[HASH_RIPEMD160] = {"ripemd160", "RIPEMD-160", 20,  64, ripemd160_init, ripemd160_update, ripemd160_final},
	[HASH_MD5]       = {"md5",       "MD5",        16,  64, md5_init,       md5_update,       md5_final},
	[HASH_SHA1]      = {"sha1",      "SHA1",       20,  64, sha1_init,      sha1_update,      sha1_final},
	[HASH_SHA256]    = {"sha256",    "SHA2-256",   32,  64, sha256_init,    sha256_update,    sha256_final},
	[HASH_SHA384]    = {"sha384",    "SHA2-384",   48, 128, sha384_init,    sha384_update,    sha384_final},
	[HASH_SHA512]    = {"sha512",    "SHA2-512",   64, 128, sha512_init,    sha512_update,    sha512_final},
};
/* clang-format on */

struct hash {
	const struct hash_row *row;
	union state s;
};

struct hmac {
	const struct hash_row *row;
	union state inner, outer; /* keyed, copied for each message */
};

size_t hash_size(enum hash_id id)
{
	return rows[id].size;
}

bool hash_is_there(enum hash_id id)
{
	return id != HASH_RIPEMD160 || old_ripemd160_is_there();
}

size_t hash_block(enum hash_id id)
{
	return rows[id].block;
}

const char *hash_name(enum hash_id id)
{
	return rows[id].name;
}

bool hash_from_name(struct cslice name, enum hash_id *out)
{
	for (enum hash_id h = HASH_MD5; h < HASH_N; h++) {
		if (ascii_eq_nocase(name, rows[h].name)) {
			*out = h;
			return true;
		}
	}
	return false;
}

const char *lib_hash_name(enum hash_id id)
{
	return rows[id].lib_name;
}

/* Goes on from s over the parts and writes the hash; s is used up. */
static err_t run(const struct hash_row *row, union state *s, const struct cslice *parts,
	size_t parts_n, uint8_t *out)
{
	uint8_t sum[HASH_MAX];
	for (size_t i = 0; i < parts_n; i++)
		if (row->update(s, parts[i].p, parts[i].n) != 1)
			return lib_fail(E_CRYPTO);
	if (row->final(sum, s) != 1)
		return lib_fail(E_CRYPTO);
	memcpy(out, sum, row->size);
	wipe(sum, sizeof(sum));
	return OK;
}

err_t hash_parts(enum hash_id id, const struct cslice *parts, size_t parts_n, uint8_t *out)
{
	const struct hash_row *row = &rows[id];
	union state s;
	if (!hash_is_there(id))
		return E_UNSUPPORTED;
	err_t e = row->init(&s) == 1 ? run(row, &s, parts, parts_n, out) : lib_fail(E_CRYPTO);
	wipe(&s, sizeof(s));
	return e;
}

err_t hash_new(struct hash **out, enum hash_id id)
{
	if (!hash_is_there(id))
		return E_UNSUPPORTED;
	struct hash *h = malloc(sizeof(*h));
	if (h == NULL)
		return E_MEM;
	h->row = &rows[id];
	if (h->row->init(&h->s) != 1) {
		free(h);
		return lib_fail(E_CRYPTO);
	}
	*out = h;
	return OK;
}

void hash_free(struct hash *h)
{
	wipe_free(h, sizeof(*h));
}

err_t hash_update(struct hash *h, struct cslice in)
{
	return h->row->update(&h->s, in.p, in.n) == 1 ? OK : lib_fail(E_CRYPTO);
}

err_t hash_peek(const struct hash *h, uint8_t *out)
{
	union state s = h->s;
	err_t e = run(h->row, &s, NULL, 0, out);
	wipe(&s, sizeof(s));
	return e;
}

/* FIPS 198-1: a state that has taken in one block of key xor pad. */
static err_t hmac_key(const struct hash_row *row, union state *s, const uint8_t *key, uint8_t pad)
{
	uint8_t block[128];
	for (size_t i = 0; i < row->block; i++)
		block[i] = key[i] ^ pad;
	bool done = row->init(s) == 1 && row->update(s, block, row->block) == 1;
	wipe(block, sizeof(block));
	return done ? OK : lib_fail(E_CRYPTO);
}

err_t hmac_new(struct hmac **out, enum hash_id id, struct cslice key)
{
	const struct hash_row *row = &rows[id];
	uint8_t block[128] = {0};
	if (!hash_is_there(id))
		return E_UNSUPPORTED;
	struct hmac *h = malloc(sizeof(*h));
	err_t e = h == NULL ? E_MEM : OK;
	if (e == OK && key.n > row->block)
		e = hash_once(id, key, block);
	else if (e == OK && key.n > 0)
		memcpy(block, key.p, key.n);
	if (e == OK)
		e = hmac_key(row, &h->inner, block, 0x36);
	if (e == OK)
		e = hmac_key(row, &h->outer, block, 0x5c);
	wipe(block, sizeof(block));
	if (e != OK) {
		wipe_free(h, sizeof(*h));
		return e;
	}
	h->row = row;
	*out = h;
	return OK;
}

void hmac_free(struct hmac *h)
{
	wipe_free(h, sizeof(*h));
}

err_t hmac_tag(struct hmac *h, const struct cslice *parts, size_t parts_n, uint8_t *out)
{
	uint8_t sum[HASH_MAX];
	union state s = h->inner;
	err_t e = run(h->row, &s, parts, parts_n, sum);
	if (e == OK) {
		struct cslice inner = {sum, h->row->size};
		s = h->outer;
		e = run(h->row, &s, &inner, 1, out);
	}
	wipe(&s, sizeof(s));
	wipe(sum, sizeof(sum));
	return e;
}
