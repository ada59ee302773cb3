/* SPDX-License-Identifier: ISC */
/*
 * Wycheproof against the primitives of crypto.h: key agreement, signatures, AES-GCM (each
 * implementation), AES-CBC, HMAC
 *
 * "acceptable" cases have an expectation of their own here, written beside each.
 */
#include <stdio.h>
#include <stdlib.h>

#include "crypto/crypto.h"
#include "crypto/pick.h"
#include "vec.h"

/* One test of a file, with its group. */
typedef void case_fn(
	const struct json *group, const struct json *test, int64_t number, int parameter);

struct bytes {
	uint8_t *p;
	size_t n;
};

static struct bytes take(const struct json *object, const char *key)
{
	struct bytes b = {NULL, 0};
	if (!json_hex(json_get(object, key), &b.p, &b.n))
		vec_check(false, key, -1);
	return b;
}

static struct cslice view(struct bytes b)
{
	return cslice_of(b.p, b.n);
}

static bool is_valid(const struct json *test)
{
	return json_is(json_get(test, "result"), "valid");
}

static void each(const char *file, case_fn *f, int parameter)
{
	char name[128];
	(void)snprintf(name, sizeof(name), "wycheproof/%s", file);
	struct json_doc *doc = vec_load(name);
	const struct json *g = json_first(json_get(json_root(doc), "testGroups"));
	for (; g != NULL; g = g->next)
		for (const struct json *t = json_first(json_get(g, "tests")); t != NULL;
			t = t->next)
			f(g, t, json_int(json_get(t, "tcId"), -1), parameter);
	json_free(doc);
}

/* ---- key agreement ---- */

/* Twisted and non-canonical points are computed as RFC 7748 says; only an all-zero result is
 * refused. */
static void x25519(const struct json *group, const struct json *test, int64_t number, int parameter)
{
	uint8_t pub[32], priv[32], want[32], got[32];
	if (!json_hex_exact(json_get(test, "public"), pub, 32) ||
		!json_hex_exact(json_get(test, "private"), priv, 32) ||
		!json_hex_exact(json_get(test, "shared"), want, 32)) {
		vec_check(false, "x25519 case", number);
		return;
	}
	err_t e = x25519_shared(priv, pub, got);
	if (json_has(json_get(test, "flags"), "ZeroSharedSecret"))
		vec_check(e == E_KEX_VALUE, "x25519 zero", number);
	else
		vec_check(e == OK && memcmp(got, want, 32) == 0, "x25519", number);
}

/* Compressed points ("acceptable") are refused: RFC 5656 4 lets an implementation do so and OpenSSH
 * does. */
static void ecdh(const struct json *group, const struct json *test, int64_t number, int curve)
{
	struct bytes pub = take(test, "public"), priv = take(test, "private"),
		     want = take(test, "shared");
	size_t field = ec_field_size((enum ec_curve)curve);
	struct secret d = {.n = field};
	uint8_t got[EC_FIELD_MAX];
	while (priv.n > field && priv.p[0] == 0) /* a sign byte */
		memmove(priv.p, priv.p + 1, --priv.n);
	if (priv.n <= field)
		memcpy(d.b + field - priv.n, priv.p, priv.n);
	err_t e = ecdh_shared((enum ec_curve)curve, &d, view(pub), got);
	if (is_valid(test))
		vec_check(e == OK && want.n == field && memcmp(got, want.p, field) == 0, "ecdh",
			number);
	else
		vec_check(e == E_KEX_VALUE, "ecdh refused", number);
	secret_done(&d);
	free(want.p);
	free(priv.p);
	free(pub.p);
}

/* ---- signatures ---- */

static void ed25519(
	const struct json *group, const struct json *test, int64_t number, int parameter)
{
	struct bytes msg = take(test, "msg"), sig = take(test, "sig");
	uint8_t pub[32];
	bool has_key = json_hex_exact(json_get(json_get(group, "publicKey"), "pk"), pub, 32);
	err_t e = has_key && sig.n == 64 ? ed25519_verify(pub, view(msg), sig.p) : E_SIGNATURE;
	vec_check(has_key && e == (is_valid(test) ? OK : E_SIGNATURE), "ed25519", number);
	free(sig.p);
	free(msg.p);
}

/* Takes one DER element with the given tag off *s; only the shortest form of the length. */
static bool der_take(struct cslice *s, uint8_t tag, struct cslice *content)
{
	if (s->n < 2 || s->p[0] != tag)
		return false;
	size_t head = 2, n = s->p[1];
	if (n == 0x81) {
		if (s->n < 3 || s->p[2] < 0x80)
			return false;
		head = 3;
		n = s->p[2];
	} else if (n > 0x7f) {
		return false;
	}
	if (n > s->n - head)
		return false;
	*content = cslice_of(s->p + head, n);
	*s = cslice_of(s->p + head + n, s->n - head - n);
	return true;
}

/* A not negative INTEGER in its shortest form; negative ones have no place in an mpint of a
 * signature. */
static bool der_number(struct cslice *s, struct cslice *magnitude)
{
	if (!der_take(s, 2, magnitude) || magnitude->n == 0 || (magnitude->p[0] & 0x80) != 0)
		return false;
	if (magnitude->n > 1 && magnitude->p[0] == 0 && (magnitude->p[1] & 0x80) == 0)
		return false;
	return true;
}

static size_t ecdsa_numbers; /* cases that reached the primitive */

static void ecdsa(const struct json *group, const struct json *test, int64_t number, int curve)
{
	static const enum hash_id hashes[] = {HASH_SHA256, HASH_SHA384, HASH_SHA512};
	struct bytes msg = take(test, "msg"), sig = take(test, "sig");
	struct bytes point = take(json_get(group, "publicKey"), "uncompressed");
	struct pkey *k = NULL;
	struct cslice rest = view(sig), pair, r, s;
	err_t e = pkey_ec_public(&k, (enum ec_curve)curve, view(point));
	vec_check(e == OK, "ecdsa key", number);
	if (e == OK && der_take(&rest, 0x30, &pair) && rest.n == 0 && der_number(&pair, &r) &&
		der_number(&pair, &s) && pair.n == 0) {
		e = pkey_ecdsa_verify(k, hashes[curve], view(msg), r, s);
		ecdsa_numbers++;
	} else {
		e = E_SIGNATURE; /* not two numbers: SSH has another encoding, such a signature
				    cannot be written */
	}
	vec_check(e == (is_valid(test) ? OK : E_SIGNATURE), "ecdsa", number);
	pkey_free(k);
	free(point.p);
	free(sig.p);
	free(msg.p);
}

/* "acceptable" (the NULL parameter is missing) must be refused: RFC 8017 8.2.2 compares whole
 * encodings. */
static void rsa(const struct json *group, const struct json *test, int64_t number, int hash)
{
	struct bytes msg = take(test, "msg"), sig = take(test, "sig");
	const struct json *numbers = json_get(group, "publicKey");
	struct bytes n = take(numbers, "modulus"), exponent = take(numbers, "publicExponent");
	struct pkey *k = NULL;
	err_t e = pkey_rsa_public(&k, view(n), view(exponent));
	vec_check(e == OK, "rsa key", number);
	if (e == OK)
		e = pkey_rsa_verify(k, (enum hash_id)hash, view(msg), view(sig));
	vec_check(e == (is_valid(test) ? OK : E_SIGNATURE), "rsa", number);
	pkey_free(k);
	free(exponent.p);
	free(n.p);
	free(sig.p);
	free(msg.p);
}

/* ---- ciphers and MACs ---- */

static void gcm(const struct json *group, const struct json *test, int64_t number, int impl)
{
	const struct pick_gcm *face = pick_gcm((enum pick_impl)impl);
	int64_t key_bits = json_int(json_get(group, "keySize"), 0);
	if (json_int(json_get(group, "ivSize"), 0) != 96 || key_bits == 192)
		return; /* SSH has neither */
	struct bytes key = take(test, "key"), iv = take(test, "iv"), aad = take(test, "aad"),
		     msg = take(test, "msg"), ct = take(test, "ct"), tag = take(test, "tag");
	uint8_t made[16];
	void *g = NULL;
	err_t e = face->make(&g, view(key));
	vec_check(e == OK, "gcm key", number);
	if (e == OK && is_valid(test)) {
		struct slice data = {malloc(msg.n + 1), msg.n};
		memcpy(data.p, msg.p, msg.n);
		e = face->seal(g, iv.p, view(aad), data, made);
		vec_check(e == OK && ct.n == msg.n && memcmp(data.p, ct.p, ct.n) == 0 &&
				  memcmp(made, tag.p, 16) == 0,
			"gcm seal", number);
		free(data.p);
	}
	if (g != NULL) {
		e = face->open(g, iv.p, view(aad), (struct slice){ct.p, ct.n}, tag.p);
		vec_check(e == (is_valid(test) ? OK : E_MAC), "gcm open", number);
		vec_check(!is_valid(test) || memcmp(ct.p, msg.p, msg.n) == 0, "gcm text", number);
		face->free(g);
	}
	free(tag.p);
	free(ct.p);
	free(msg.p);
	free(aad.p);
	free(iv.p);
	free(key.p);
}

/* The padding is not the cipher's: valid cases are compared with the padding put on here. */
static void cbc(const struct json *group, const struct json *test, int64_t number, int parameter)
{
	if (!is_valid(test))
		return;
	struct bytes key = take(test, "key"), iv = take(test, "iv"), msg = take(test, "msg"),
		     ct = take(test, "ct");
	enum cipher_id id = key.n == 16   ? CIPHER_AES128_CBC
			    : key.n == 24 ? CIPHER_AES192_CBC
					  : CIPHER_AES256_CBC;
	size_t padding = 16 - msg.n % 16;
	uint8_t *data = malloc(msg.n + padding);
	memcpy(data, msg.p, msg.n);
	memset(data + msg.n, (int)padding, padding);
	struct cipher *seal = NULL, *open = NULL;
	vec_check(cipher_new(&seal, id, view(key), view(iv), true) == OK &&
			  cipher_crypt(seal, data, data, msg.n + padding) == OK &&
			  ct.n == msg.n + padding && memcmp(data, ct.p, ct.n) == 0,
		"cbc encrypt", number);
	vec_check(cipher_new(&open, id, view(key), view(iv), false) == OK &&
			  cipher_crypt(open, ct.p, ct.p, ct.n) == OK &&
			  memcmp(ct.p, msg.p, msg.n) == 0,
		"cbc decrypt", number);
	cipher_free(open);
	cipher_free(seal);
	free(data);
	free(ct.p);
	free(msg.p);
	free(iv.p);
	free(key.p);
}

static void mac(const struct json *group, const struct json *test, int64_t number, int hash)
{
	struct bytes key = take(test, "key"), msg = take(test, "msg"), tag = take(test, "tag");
	uint8_t got[HASH_MAX];
	struct hmac *h = NULL;
	struct cslice part = view(msg);
	bool made = hmac_new(&h, (enum hash_id)hash, view(key)) == OK &&
		    hmac_tag(h, &part, 1, got) == OK;
	vec_check(made && tag.n <= hash_size((enum hash_id)hash) &&
			  ct_eq(got, tag.p, tag.n) == is_valid(test),
		"hmac", number);
	hmac_free(h);
	free(tag.p);
	free(msg.p);
	free(key.p);
}

static const struct {
	const char *file;
	case_fn *run;
	int parameter;
} files[] = {
	{"x25519_test.json", x25519, 0},
	{"ecdh_secp256r1_ecpoint_test.json", ecdh, EC_P256},
	{"ecdh_secp384r1_ecpoint_test.json", ecdh, EC_P384},
	{"ecdh_secp521r1_ecpoint_test.json", ecdh, EC_P521},
	{"ed25519_test.json", ed25519, 0},
	{"ecdsa_secp256r1_sha256_test.json", ecdsa, EC_P256},
	{"ecdsa_secp384r1_sha384_test.json", ecdsa, EC_P384},
	{"ecdsa_secp521r1_sha512_test.json", ecdsa, EC_P521},
	{"rsa_signature_2048_sha256_test.json", rsa, HASH_SHA256},
	{"rsa_signature_2048_sha512_test.json", rsa, HASH_SHA512},
	{"rsa_signature_3072_sha256_test.json", rsa, HASH_SHA256},
	{"rsa_signature_3072_sha512_test.json", rsa, HASH_SHA512},
	{"rsa_signature_4096_sha256_test.json", rsa, HASH_SHA256},
	{"rsa_signature_4096_sha512_test.json", rsa, HASH_SHA512},
	{"aes_cbc_pkcs5_test.json", cbc, 0},
	{"hmac_sha1_test.json", mac, HASH_SHA1},
	{"hmac_sha256_test.json", mac, HASH_SHA256},
	{"hmac_sha512_test.json", mac, HASH_SHA512},
};

int main(void)
{
	vec_need_shared();
	vec_check(crypto_init() == OK, "init", -1);
	for (size_t i = 0; i < ARRAY_N(files); i++)
		each(files[i].file, files[i].run, files[i].parameter);
	vec_check(ecdsa_numbers >= 868, "ecdsa cases that reach the primitive",
		(int64_t)ecdsa_numbers);
	for (enum pick_impl impl = PICK_LIBCRYPTO; impl < PICK_N; impl++)
		if (pick_gcm(impl) != NULL)
			each("aes_gcm_test.json", gcm, (int)impl);
		else
			printf("%s does not run here: its vectors are left out\n",
				pick_impl_name(impl));
	return vec_done();
}
