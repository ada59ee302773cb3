/* SPDX-License-Identifier: ISC */
/*
 * kem_shared - foreign sntrup761 and the KEM side of key exchanges recorded from OpenSSH 10.5
 *
 * A decapsulation with everything known; and of each recording (which holds no KEM secret key) what
 * can be checked without one: the public key is canonical, the ciphertext is an encoding, the
 * shared secret is the hash of the KEM key and the ECDH secret, and H the hash of the recorded
 * input.
 */
#include <stdlib.h>

#include "crypto/crypto.h"
#include "crypto/own/sntrup_code.h"
#include "vec.h"

static void sntrup_decaps(void)
{
	struct json_doc *doc = vec_load("sntrup761/decap.json");
	uint8_t sk[SNTRUP761_SK], ct[SNTRUP761_CT], ss[32], want[32];
	int64_t seen = 0;

	for (const struct json *t = json_first(json_get(json_root(doc), "decapsulation")); t;
		t = t->next) {
		bool read = json_hex_exact(json_get(t, "secret_key"), sk, sizeof(sk)) &&
			    json_hex_exact(json_get(t, "ciphertext"), ct, sizeof(ct)) &&
			    json_hex_exact(json_get(t, "shared_secret"), want, sizeof(want));
		vec_check(read && sntrup761_decaps(sk, ct, ss) == OK && memcmp(ss, want, 32) == 0,
			"decap.json", seen);
		ct[seen % SNTRUP761_CT] ^= 0x40;
		vec_check(read && sntrup761_decaps(sk, ct, ss) == OK && memcmp(ss, want, 32) != 0,
			"decap.json, damaged", seen++);
	}
	vec_check(seen > 0, "decap.json", -1);
	json_free(doc);
}

/* The foreign secret key holds f and 1/g: from them comes its public key g/3f. */
static void sntrup_public(void)
{
	struct json_doc *doc = vec_load("sntrup761/decap.json");
	uint8_t sk[SNTRUP761_SK], pk[SNTRUP761_PK];
	struct small f, g, ginv;
	struct rq finv, h;

	for (const struct json *t = json_first(json_get(json_root(doc), "decapsulation")); t;
		t = t->next) {
		bool read = json_hex_exact(json_get(t, "secret_key"), sk, sizeof(sk));
		vec_check(read, "secret_key", 0);
		if (!read)
			continue;
		small_decode(&f, sk);
		small_decode(&ginv, sk + SNTRUP_SMALL_BYTES);
		vec_check(small_inverse(&g, &ginv) == 0, "g", 0);
		rq_inverse_3(&finv, &f);
		rq_mul_small(&h, &finv, &g);
		rq_encode(pk, &h);
		vec_check(memcmp(pk, sk + (size_t)2 * SNTRUP_SMALL_BYTES, sizeof(pk)) == 0,
			"h = g/3f", 0);
	}
	json_free(doc);
}

static bool mlkem_values(const struct json *r, const char *ct_name)
{
	uint8_t ek[MLKEM768_EK], ct[MLKEM768_CT], ss[32], m[32] = {1};

	return json_hex_exact(json_get(r, "client_public_key_mlkem768"), ek, sizeof(ek)) &&
	       json_hex_exact(json_get(r, ct_name), ct, sizeof(ct)) &&
	       mlkem768_encaps(ek, m, ct, ss) == OK;
}

static bool sntrup_values(const struct json *r)
{
	uint8_t pk[SNTRUP761_PK], ct[SNTRUP761_CT], again[SNTRUP761_PK];
	struct rq p;

	if (!json_hex_exact(json_get(r, "client_public_key_sntrup761"), pk, sizeof(pk)) ||
		!json_hex_exact(json_get(r, "server_cipher_text"), ct, sizeof(ct)))
		return false;
	rq_decode(&p, pk);
	rq_encode(again, &p);
	if (memcmp(pk, again, sizeof(pk)) != 0)
		return false;
	rounded_decode(&p, ct);
	rounded_encode(again, &p);
	return memcmp(ct, again, SNTRUP_ROUNDED_BYTES) == 0;
}

static bool hash_fits(enum hash_id id, const struct json *in, const struct json *out, size_t skip)
{
	uint8_t *p, *want, sum[HASH_MAX];
	size_t n, want_n;

	if (!json_hex(in, &p, &n))
		return false;
	if (!json_hex(out, &want, &want_n)) {
		free(p);
		return false;
	}
	bool ok = want_n == hash_size(id) + skip && hash_once(id, cslice_of(p, n), sum) == OK &&
		  memcmp(sum, want + skip, hash_size(id)) == 0;
	free(p);
	free(want);
	return ok;
}

static const struct {
	const char *file;
	enum hash_id hash;
	const char *mlkem_ct; /* NULL: sntrup761 */
} recordings[] = {
	{"kex/mlkem768x25519-sha256_ssh-ed25519.json", HASH_SHA256, "server_cipher_text"},
	{"kex/mlkem768x25519-sha256_ssh-mldsa44-ed25519.json", HASH_SHA256, "server_cipher_text"},
	{"kex/mlkem768nistp256-sha256_ssh-ed25519.json", HASH_SHA256, "server_cipher_text_(dec)"},
	{"kex/mlkem768nistp256-sha256_ssh-mldsa44-ed25519.json", HASH_SHA256,
		"server_cipher_text_(dec)"},
	{"kex/sntrup761x25519-sha512_ssh-ed25519.json", HASH_SHA512, NULL},
	{"kex/sntrup761x25519-sha512_ssh-mldsa44-ed25519.json", HASH_SHA512, NULL},
};

int main(void)
{
	vec_need_shared();
	if (crypto_init() != OK)
		return 1;
	sntrup_decaps();
	sntrup_public();
	for (size_t i = 0; i < ARRAY_N(recordings); i++) {
		const char *file = recordings[i].file;
		struct json_doc *doc = vec_load(file);
		const struct json *r = json_root(doc);
		vec_check(recordings[i].mlkem_ct != NULL ? mlkem_values(r, recordings[i].mlkem_ct)
							 : sntrup_values(r),
			file, 1);
		vec_check(hash_fits(recordings[i].hash,
				  json_get(r, "concatenation_of_KEM_key_and_ECDH_shared_key"),
				  json_get(r, "encoded_shared_secret"), 4),
			file, 2);
		vec_check(hash_fits(recordings[i].hash, json_get(r, "hash_input"), json_get(r, "H"),
				  0),
			file, 3);
		json_free(doc);
	}
	return vec_done();
}
