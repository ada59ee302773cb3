/* SPDX-License-Identifier: ISC */
/* mlkem_shared - ML-KEM-768 against all vectors of Wycheproof */
#include "crypto/crypto.h"
#include "vec.h"

/* A case whose bytes have another length cannot reach the function: it must be one that is called
 * invalid. */
static void check_length(const char *file, const struct json *t)
{
	vec_check(
		json_is(json_get(t, "result"), "invalid"), file, json_int(json_get(t, "tcId"), -1));
}

static bool keygen_case(const struct json *t)
{
	uint8_t seed[64], ek[MLKEM768_EK], dk[MLKEM768_DK], want_ek[MLKEM768_EK],
		want_dk[MLKEM768_DK];

	return json_hex_exact(json_get(t, "seed"), seed, sizeof(seed)) &&
	       json_hex_exact(json_get(t, "ek"), want_ek, sizeof(want_ek)) &&
	       json_hex_exact(json_get(t, "dk"), want_dk, sizeof(want_dk)) &&
	       mlkem768_keypair(seed, seed + 32, ek, dk) == OK &&
	       memcmp(ek, want_ek, sizeof(ek)) == 0 && memcmp(dk, want_dk, sizeof(dk)) == 0;
}

static void keygen(const char *file, const struct json *t)
{
	vec_check(keygen_case(t), file, json_int(json_get(t, "tcId"), -1));
}

static void encaps(const char *file, const struct json *t)
{
	int64_t id = json_int(json_get(t, "tcId"), -1);
	uint8_t ek[MLKEM768_EK], m[32], ct[MLKEM768_CT], ss[32], want_ct[MLKEM768_CT], want_ss[32];

	if (!json_hex_exact(json_get(t, "ek"), ek, sizeof(ek)) ||
		!json_hex_exact(json_get(t, "m"), m, sizeof(m))) {
		check_length(file, t);
		return;
	}
	err_t e = mlkem768_encaps(ek, m, ct, ss);
	if (json_is(json_get(t, "result"), "invalid")) {
		vec_check(e == E_KEX_VALUE, file, id);
		return;
	}
	vec_check(e == OK && json_hex_exact(json_get(t, "c"), want_ct, sizeof(want_ct)) &&
			  json_hex_exact(json_get(t, "K"), want_ss, sizeof(want_ss)) &&
			  memcmp(ct, want_ct, sizeof(ct)) == 0 &&
			  memcmp(ss, want_ss, sizeof(ss)) == 0,
		file, id);
}

static void check_decaps(const char *file, const struct json *t, const uint8_t dk[MLKEM768_DK])
{
	int64_t id = json_int(json_get(t, "tcId"), -1);
	uint8_t ct[MLKEM768_CT], ss[32], want_ss[32];

	if (!json_hex_exact(json_get(t, "c"), ct, sizeof(ct))) {
		check_length(file, t);
		return;
	}
	err_t e = mlkem768_decaps(dk, ct, ss);
	if (json_is(json_get(t, "result"), "invalid")) {
		vec_check(e == E_KEX_VALUE, file, id);
		return;
	}
	vec_check(e == OK && json_hex_exact(json_get(t, "K"), want_ss, sizeof(want_ss)) &&
			  memcmp(ss, want_ss, sizeof(ss)) == 0,
		file, id);
}

static void from_seed(const char *file, const struct json *t)
{
	uint8_t seed[64], ek[MLKEM768_EK], dk[MLKEM768_DK], want[MLKEM768_EK];
	const struct json *ek_text = json_get(t, "ek");

	if (!json_hex_exact(json_get(t, "seed"), seed, sizeof(seed))) {
		check_length(file, t);
		return;
	}
	if (mlkem768_keypair(seed, seed + 32, ek, dk) != OK ||
		(ek_text != NULL && (!json_hex_exact(ek_text, want, sizeof(want)) ||
					    memcmp(ek, want, sizeof(ek)) != 0))) {
		vec_check(false, file, json_int(json_get(t, "tcId"), -1));
		return;
	}
	check_decaps(file, t, dk);
}

static void from_expanded(const char *file, const struct json *t)
{
	uint8_t dk[MLKEM768_DK];

	if (!json_hex_exact(json_get(t, "dk"), dk, sizeof(dk)))
		check_length(file, t);
	else
		check_decaps(file, t, dk);
}

static const struct {
	const char *file;
	void (*run)(const char *file, const struct json *t);
} files[] = {
	{"wycheproof/mlkem_768_keygen_seed_test.json", keygen},
	{"wycheproof/mlkem_768_encaps_test.json", encaps},
	{"wycheproof/mlkem_768_test.json", from_seed},
	{"wycheproof/mlkem_768_semi_expanded_decaps_test.json", from_expanded},
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
				files[i].run(files[i].file, t);
				seen++;
			}
		}
		vec_check(seen > 0 && seen == json_int(json_get(root, "numberOfTests"), -1),
			files[i].file, 0);
		json_free(doc);
	}
	return vec_done();
}
