/* SPDX-License-Identifier: ISC */
/* mldsa_shared - ML-DSA-44 against all vectors of Wycheproof, and known answers that are hashes */
#include <stdlib.h>

#include "crypto/crypto.h"
#include "crypto/own/keccak.h"
#include "vec.h"

#define KATS "openssh/crypto/nistkats-44.json"

static int64_t id_of(const struct json *t)
{
	return json_int(json_get(t, "tcId"), -1);
}

static bool is_invalid(const struct json *t)
{
	return json_is(json_get(t, "result"), "invalid");
}

/* Signs by what the case has: the message and perhaps a context, or only mu.  E_KEY_FORMAT: the
 * case itself cannot be read. */
static err_t sign_as(
	const struct json *t, const uint8_t seed[32], uint8_t sig[MLDSA44_SIG], uint8_t mu[64])
{
	uint8_t rnd[32] = {0}, *msg = NULL, *context = NULL;
	size_t msg_n = 0, context_n = 0;
	const struct json *rnd_text = json_get(t, "rnd"), *context_text = json_get(t, "ctx");

	if (rnd_text != NULL && !json_hex_exact(rnd_text, rnd, sizeof(rnd)))
		return E_KEY_FORMAT;
	if (json_get(t, "msg") == NULL) {
		if (!json_hex_exact(json_get(t, "mu"), mu, 64))
			return E_KEY_FORMAT;
		mldsa44_sign_mu(seed, mu, rnd, sig);
		return OK;
	}
	err_t e = E_KEY_FORMAT;
	if (json_hex(json_get(t, "msg"), &msg, &msg_n) &&
		(context_text == NULL || json_hex(context_text, &context, &context_n)))
		e = mldsa44_sign(
			seed, cslice_of(context, context_n), cslice_of(msg, msg_n), rnd, sig);
	free(context);
	free(msg);
	return e;
}

static void sign_case(const char *file, const struct json *group, const struct json *t)
{
	uint8_t seed[32], pk[MLDSA44_PK], want_pk[MLDSA44_PK], sig[MLDSA44_SIG], want[MLDSA44_SIG],
		mu[64];

	/* A seed of another length cannot reach the function. */
	if (!json_hex_exact(json_get(group, "privateSeed"), seed, sizeof(seed))) {
		vec_check(is_invalid(t), file, id_of(t));
		return;
	}
	mldsa44_public(seed, pk);
	bool pk_fits = json_hex_exact(json_get(group, "publicKey"), want_pk, sizeof(want_pk)) &&
		       memcmp(pk, want_pk, sizeof(pk)) == 0;
	err_t e = sign_as(t, seed, sig, mu);
	if (is_invalid(t)) {
		vec_check(pk_fits && e == E_USAGE, file, id_of(t));
		return;
	}
	vec_check(pk_fits && e == OK && json_hex_exact(json_get(t, "sig"), want, sizeof(want)) &&
			  memcmp(sig, want, sizeof(sig)) == 0,
		file, id_of(t));
}

/* mu of a case that has both, against signing by it: the same signature. */
static void mu_case(const char *file, const struct json *group, const struct json *t)
{
	uint8_t seed[32], mu[64], rnd[32] = {0}, sig[MLDSA44_SIG] = {0}, want[MLDSA44_SIG];

	if (!json_hex_exact(json_get(t, "mu"), mu, sizeof(mu)))
		return;
	bool read = json_hex_exact(json_get(group, "privateSeed"), seed, sizeof(seed)) &&
		    json_hex_exact(json_get(t, "sig"), want, sizeof(want)) &&
		    (json_get(t, "rnd") == NULL ||
			    json_hex_exact(json_get(t, "rnd"), rnd, sizeof(rnd)));
	if (read)
		mldsa44_sign_mu(seed, mu, rnd, sig);
	vec_check(read && memcmp(sig, want, sizeof(sig)) == 0, file, id_of(t));
}

static void sign_and_mu(const char *file, const struct json *group, const struct json *t)
{
	sign_case(file, group, t);
	mu_case(file, group, t);
}

static void verify_case(const char *file, const struct json *group, const struct json *t)
{
	uint8_t pk[MLDSA44_PK], sig[MLDSA44_SIG], *msg = NULL, *context = NULL;
	size_t msg_n = 0, context_n = 0;
	const struct json *context_text = json_get(t, "ctx");

	/* A key or a signature of another length cannot reach the function. */
	if (!json_hex_exact(json_get(group, "publicKey"), pk, sizeof(pk)) ||
		!json_hex_exact(json_get(t, "sig"), sig, sizeof(sig))) {
		vec_check(is_invalid(t), file, id_of(t));
		return;
	}
	bool read = json_hex(json_get(t, "msg"), &msg, &msg_n) &&
		    (context_text == NULL || json_hex(context_text, &context, &context_n));
	err_t e = mldsa44_verify(pk, cslice_of(context, context_n), cslice_of(msg, msg_n), sig);
	err_t want = is_invalid(t) ? (context_n > 255 ? E_USAGE : E_SIGNATURE) : OK;
	vec_check(read && e == want, file, id_of(t));
	free(context);
	free(msg);
}

static bool hash_fits(const struct json *t, const char *name, const uint8_t *p, size_t n)
{
	uint8_t hash[32], want[32];

	sha3_256(hash, &(struct cslice){p, n}, 1);
	return json_hex_exact(json_get(t, name), want, sizeof(want)) &&
	       memcmp(hash, want, sizeof(hash)) == 0;
}

static void kat_case(const struct json *t, int64_t number)
{
	uint8_t seed[32], rnd[32], pk[MLDSA44_PK], sig[MLDSA44_SIG], *msg = NULL;
	size_t msg_n = 0;

	bool read = json_hex_exact(json_get(t, "key_generation_seed"), seed, sizeof(seed)) &&
		    json_hex_exact(json_get(t, "signing_randomness"), rnd, sizeof(rnd)) &&
		    json_hex(json_get(t, "message"), &msg, &msg_n);
	if (read)
		mldsa44_public(seed, pk);
	vec_check(read &&
			  mldsa44_sign(seed, cslice_of(NULL, 0), cslice_of(msg, msg_n), rnd, sig) ==
				  OK &&
			  hash_fits(t, "sha3_256_hash_of_verification_key", pk, sizeof(pk)) &&
			  hash_fits(t, "sha3_256_hash_of_signature", sig, sizeof(sig)),
		KATS, number);
	free(msg);
}

static void kats(void)
{
	struct json_doc *doc = vec_load(KATS);
	int64_t seen = 0;

	for (const struct json *t = json_first(json_root(doc)); t != NULL; t = t->next)
		kat_case(t, seen++);
	vec_check(seen == 100, KATS, seen);
	json_free(doc);
}

static const struct {
	const char *file;
	void (*run)(const char *file, const struct json *group, const struct json *t);
} files[] = {
	{"wycheproof/mldsa_44_sign_seed_test.json", sign_and_mu},
	{"wycheproof/mldsa_44_verify_test.json", verify_case},
};

int main(void)
{
	vec_need_shared();
	for (size_t i = 0; i < ARRAY_N(files); i++) {
		struct json_doc *doc = vec_load(files[i].file);
		const struct json *root = json_root(doc);
		int64_t seen = 0;
		for (const struct json *g = json_first(json_get(root, "testGroups")); g;
			g = g->next) {
			for (const struct json *t = json_first(json_get(g, "tests")); t;
				t = t->next) {
				files[i].run(files[i].file, g, t);
				seen++;
			}
		}
		vec_check(seen > 0 && seen == json_int(json_get(root, "numberOfTests"), -1),
			files[i].file, 0);
		json_free(doc);
	}
	kats();
	return vec_done();
}
