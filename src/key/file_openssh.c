/* SPDX-License-Identifier: ISC */
/*
 * file_openssh - the private key format openssh-key-v1 (compat 5.6)
 *
 * Header in clear (cipher, KDF, public key), then one encrypted section: two equal check words, the
 * private fields, the comment, padding 1 2 3 ...  Unequal check words are how a wrong passphrase
 * shows.
 */
#include <stdlib.h>

#include "base/text.h"
#include "key/ops.h"

#define MAGIC      "openssh-key-v1" /* with its NUL */
#define SALT_BYTES 16
#define ROUNDS     24
#define BLOCK_NONE 8
#define TAG_MAX    16
#define KEY_IV_MAX 64
#define COLUMNS    70

enum mode { MODE_NONE, MODE_CIPHER, MODE_GCM, MODE_CHACHAPOLY };

/* clang-format off */
static const struct file_cipher {
	const char *name;
	enum mode mode;
	enum cipher_id id;
	size_t key, iv, block, tag;
} ciphers[] = {
	/* name                          mode             id                 key  iv  block       tag     */
	{"none",                          MODE_NONE,       CIPHER_ID_N,       0,   0,  BLOCK_NONE, 0},
	{"aes256-ctr",                    MODE_CIPHER,     CIPHER_AES256_CTR, 32,  16, 16,         0},
	{"aes192-ctr",                    MODE_CIPHER,     CIPHER_AES192_CTR, 24,  16, 16,         0},
	{"aes128-ctr",                    MODE_CIPHER,     CIPHER_AES128_CTR, 16,  16, 16,         0},
	{"aes256-cbc",                    MODE_CIPHER,     CIPHER_AES256_CBC, 32,  16, 16,         0},
	{"aes192-cbc",                    MODE_CIPHER,     CIPHER_AES192_CBC, 24,  16, 16,         0},
	{"aes128-cbc",                    MODE_CIPHER,     CIPHER_AES128_CBC, 16,  16, 16,         0},
	{"3des-cbc",                      MODE_CIPHER,     CIPHER_3DES_CBC,   24,  8,  8,          0},
	{"aes256-gcm@openssh.com",        MODE_GCM,        CIPHER_ID_N,       32,  12, 16,         TAG_MAX},
	{"aes128-gcm@openssh.com",        MODE_GCM,        CIPHER_ID_N,       16,  12, 16,         TAG_MAX},
	{"chacha20-poly1305@openssh.com", MODE_CHACHAPOLY, CIPHER_ID_N,       64,  0,  8,          TAG_MAX},
};
/* clang-format on */

static const struct file_cipher *cipher_find(struct cslice name)
{
	for (size_t i = 0; i < ARRAY_N(ciphers); i++)
		if (cslice_eq_str(name, ciphers[i].name))
			return &ciphers[i];
	return NULL;
}

bool key_write_cipher_known(const char *name)
{
	return cipher_find(cslice_str(name)) != NULL;
}

/* The packet protection without a length field: block 0 of nonce 0 keys the tag, the data starts at
 * block 1. */
static err_t chachapoly(const uint8_t *key, struct slice data, uint8_t *tag, bool encrypt)
{
	static const uint8_t nonce[8] = {0};
	uint8_t tag_key[32] = {0}, made[TAG_MAX];
	struct chacha *c = NULL;
	struct poly1305 *p = NULL;
	err_t e = chacha_new(&c, key);
	if (e == OK)
		e = poly1305_new(&p);
	if (e == OK)
		e = chacha_crypt(c, nonce, 0, tag_key, sizeof(tag_key));
	if (e == OK && encrypt)
		e = chacha_crypt(c, nonce, 1, data.p, data.n);
	if (e == OK)
		e = poly1305_tag(p, tag_key, slice_const(data), encrypt ? tag : made);
	if (e == OK && !encrypt)
		e = ct_eq(made, tag, TAG_MAX) ? chacha_crypt(c, nonce, 1, data.p, data.n) : E_MAC;
	wipe(tag_key, sizeof(tag_key));
	poly1305_free(p);
	chacha_free(c);
	return e;
}

static err_t gcm(struct cslice key, struct cslice iv, struct slice data, uint8_t *tag, bool encrypt)
{
	const struct cslice none = {NULL, 0};
	struct gcm *g = NULL;
	TRY(gcm_new(&g, key));
	err_t e = encrypt ? gcm_seal(g, iv.p, none, data, tag) : gcm_open(g, iv.p, none, data, tag);
	gcm_free(g);
	return e;
}

/* key_iv: the KDF's output, key then IV.  data is changed in place; tag is checked or filled. */
static err_t crypt_section(const struct file_cipher *c, const uint8_t *key_iv, struct slice data,
	uint8_t *tag, bool encrypt)
{
	struct cslice key = {key_iv, c->key}, iv = {key_iv + c->key, c->iv};
	struct cipher *ctx = NULL;
	if (c->mode == MODE_NONE)
		return OK;
	if (c->mode == MODE_GCM)
		return gcm(key, iv, data, tag, encrypt);
	if (c->mode == MODE_CHACHAPOLY)
		return chachapoly(key.p, data, tag, encrypt);
	TRY(cipher_new(&ctx, c->id, key, iv, encrypt));
	err_t e = cipher_crypt(ctx, data.p, data.p, data.n);
	cipher_free(ctx);
	return e;
}

struct v1 { /* borrowed from the file */
	const struct file_cipher *cipher;
	struct cslice kdf, kdf_options, public_blob, section, tag;
};

static err_t header_read(struct v1 *v, struct cslice body)
{
	struct rd r = rd_of(body);
	struct cslice magic = rd_take(&r, sizeof(MAGIC));
	if (r.bad)
		return E_KEY_TRUNCATED;
	if (!cslice_eq(magic, cslice_of(MAGIC, sizeof(MAGIC))))
		return E_KEY_FORMAT;
	struct cslice cipher = rd_str(&r);
	v->kdf = rd_str(&r);
	v->kdf_options = rd_str(&r);
	uint32_t keys = rd_u32(&r);
	v->public_blob = rd_str(&r);
	v->section = rd_str(&r);
	if (r.bad)
		return E_KEY_TRUNCATED;
	if (keys != 1)
		return E_KEY_FORMAT;
	v->cipher = cipher_find(cipher);
	if (v->cipher == NULL)
		return E_UNSUPPORTED;
	v->tag = rd_take(&r, v->cipher->tag);
	if (r.bad)
		return E_KEY_TRUNCATED;
	if (rd_end(&r) != OK || v->section.n == 0 || v->section.n % v->cipher->block != 0)
		return E_KEY_FORMAT;
	bool is_plain = v->cipher->mode == MODE_NONE;
	if (is_plain != cslice_eq_str(v->kdf, "none") || (is_plain && v->kdf_options.n > 0))
		return E_KEY_FORMAT;
	if (!is_plain && !cslice_eq_str(v->kdf, "bcrypt"))
		return E_UNSUPPORTED;
	return OK;
}

static err_t derive(const struct v1 *v, struct cslice passphrase, uint8_t key_iv[KEY_IV_MAX])
{
	if (v->cipher->mode == MODE_NONE)
		return OK;
	struct rd r = rd_of(v->kdf_options);
	struct cslice salt = rd_str(&r);
	uint32_t rounds = rd_u32(&r);
	if (rd_end(&r) != OK || salt.n == 0 || rounds == 0 || rounds > KEY_ROUNDS_MAX)
		return E_KEY_FORMAT;
	if (passphrase.n == 0)
		return E_PASSPHRASE;
	return bcrypt_pbkdf(passphrase, salt, rounds, key_iv, v->cipher->key + v->cipher->iv);
}

/* The decrypted section. */
static err_t section_read(
	struct key **out, const struct v1 *v, struct cslice clear, struct buf *comment)
{
	bool is_plain = v->cipher->mode == MODE_NONE;
	struct key *k = NULL, *pub = NULL;
	struct rd r = rd_of(clear);
	uint32_t check = rd_u32(&r), again = rd_u32(&r);
	if (r.bad || check != again)
		return is_plain ? E_KEY_FORMAT : E_PASSPHRASE;
	TRY(key_read_private_fields(&k, &r));
	struct cslice words = rd_text(&r);
	err_t e = r.bad || r.n >= v->cipher->block + 1 ? E_KEY_FORMAT : OK;
	struct cslice padding = rd_rest(&r);
	for (size_t i = 0; e == OK && i < padding.n; i++)
		if (padding.p[i] != (uint8_t)(i + 1))
			e = E_KEY_FORMAT;
	if (e == OK)
		e = key_parse_any(&pub, v->public_blob);
	/* What the clear header says is what people were shown; it must be the same key. */
	if (e == OK && !key_equal_public(k, pub))
		e = E_KEY_FORMAT;
	if (e == OK && comment != NULL) {
		buf_put(comment, words.p, words.n);
		e = buf_err(comment);
	}
	key_free(pub);
	if (e != OK) {
		key_free(k);
		return e;
	}
	*out = k;
	return OK;
}

err_t key_v1_read(
	struct key **out, struct cslice body, struct cslice passphrase, struct buf *comment)
{
	struct v1 v;
	uint8_t key_iv[KEY_IV_MAX], tag[TAG_MAX] = {0};
	enum key_type t;
	struct buf clear;
	TRY(header_read(&v, body));
	struct cslice name = key_blob_type(v.public_blob);
	if (!key_type_from_name(name, &t) && !key_type_from_cert_name(name, &t))
		return E_KEY_TYPE;
	buf_init(&clear, KEY_FILE_MAX);
	buf_put(&clear, v.section.p, v.section.n);
	err_t e = buf_err(&clear);
	if (e == OK)
		e = derive(&v, passphrase, key_iv);
	if (e == OK)
		e = key_copy_exact(tag, v.cipher->tag, v.tag);
	if (e == OK)
		e = crypt_section(v.cipher, key_iv, (struct slice){clear.p, clear.n}, tag, false);
	if (e == E_MAC)
		e = E_PASSPHRASE;
	if (e == OK)
		e = section_read(out, &v, buf_bytes(&clear), comment);
	wipe(key_iv, sizeof(key_iv));
	buf_done(&clear);
	return e;
}

err_t key_v1_read_public(struct key **out, struct cslice body, struct buf *comment)
{
	struct v1 v;
	struct key *k = NULL;
	TRY(header_read(&v, body));
	if (v.cipher->mode != MODE_NONE)
		return key_parse_any(
			out, v.public_blob); /* the comment is in the encrypted section */
	TRY(key_v1_read(&k, body, cslice_of(NULL, 0), comment));
	err_t e = key_public_copy(out, k);
	key_free(k);
	return e;
}

static err_t section_write(
	const struct key *k, const char *comment, size_t block, struct rng *rng, struct buf *out)
{
	uint8_t check[4];
	rng_fill(rng, check, sizeof(check));
	buf_put(out, check, sizeof(check));
	buf_put(out, check, sizeof(check));
	TRY(key_put_private_fields(k, out));
	buf_put_cstring(out, comment != NULL ? comment : "");
	for (uint8_t i = 1; out->err == OK && out->n % block != 0; i++)
		buf_put_u8(out, i);
	return buf_err(out);
}

struct parts { /* of a file that is being written */
	struct buf options, public_blob, section;
	uint8_t key_iv[KEY_IV_MAX], tag[TAG_MAX];
};

static err_t parts_make(
	struct parts *p, const struct key *k, struct v1 *v, const struct key_write_opts *o)
{
	uint8_t salt[SALT_BYTES];
	if (v->cipher->mode != MODE_NONE) {
		rng_fill(o->rng, salt, sizeof(salt));
		buf_put_string(&p->options, cslice_of(salt, sizeof(salt)));
		buf_put_u32(&p->options, o->rounds != 0 ? o->rounds : ROUNDS);
	}
	TRY(buf_err(&p->options));
	v->kdf_options = buf_bytes(&p->options);
	TRY(key_blob_any(k, &p->public_blob));
	TRY(section_write(k, o->comment, v->cipher->block, o->rng, &p->section));
	TRY(derive(v, o->passphrase, p->key_iv));
	return crypt_section(
		v->cipher, p->key_iv, (struct slice){p->section.p, p->section.n}, p->tag, true);
}

static void parts_put(const struct parts *p, const struct v1 *v, struct buf *body)
{
	buf_put(body, MAGIC, sizeof(MAGIC));
	buf_put_cstring(body, v->cipher->name);
	buf_put_cstring(body, v->cipher->mode == MODE_NONE ? "none" : "bcrypt");
	buf_put_string(body, buf_bytes(&p->options));
	buf_put_u32(body, 1);
	buf_put_string(body, buf_bytes(&p->public_blob));
	buf_put_string(body, buf_bytes(&p->section));
	buf_put(body, p->tag, v->cipher->tag);
}

static err_t body_write(
	const struct key *k, struct v1 *v, const struct key_write_opts *o, struct buf *body)
{
	struct parts p = {0};
	buf_init(&p.options, 64);
	buf_init(&p.public_blob, CERT_BLOB_MAX);
	buf_init(&p.section, KEY_FILE_MAX);
	err_t e = parts_make(&p, k, v, o);
	if (e == OK)
		parts_put(&p, v, body);
	buf_done(&p.section);
	buf_done(&p.public_blob);
	buf_done(&p.options);
	wipe(&p, sizeof(p));
	return e == OK ? buf_err(body) : e;
}

static void armour(struct cslice text, struct buf *out)
{
	buf_printf(out, "-----BEGIN OPENSSH PRIVATE KEY-----\n");
	for (size_t at = 0; at < text.n; at += COLUMNS) {
		buf_put(out, text.p + at, num_min(COLUMNS, text.n - at));
		buf_put_u8(out, '\n');
	}
	buf_printf(out, "-----END OPENSSH PRIVATE KEY-----\n");
}

err_t key_v1_write(const struct key *k, const struct key_write_opts *opts, struct buf *out)
{
	bool is_locked = opts->passphrase.n > 0;
	const char *name = opts->cipher != NULL ? opts->cipher : "aes256-ctr";
	struct v1 v = {.cipher = cipher_find(cslice_str(is_locked ? name : "none"))};
	struct buf body, text;
	size_t start = out->n;
	if (!k->is_private)
		return E_KEY_PUBLIC;
	if (v.cipher == NULL || (is_locked && v.cipher->mode == MODE_NONE))
		return E_NAME;
	if (opts->rounds > KEY_ROUNDS_MAX)
		return E_LIMIT;
	buf_init(&body, KEY_FILE_MAX);
	buf_init(&text, KEY_FILE_MAX);
	err_t e = body_write(k, &v, opts, &body);
	if (e == OK) {
		base64_encode(&text, buf_bytes(&body));
		e = buf_err(&text);
	}
	if (e == OK) {
		armour(buf_bytes(&text), out);
		e = buf_err(out);
	}
	if (e != OK)
		out->n = start;
	buf_done(&text);
	buf_done(&body);
	return e;
}
