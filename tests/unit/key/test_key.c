/* SPDX-License-Identifier: ISC */
/* Key blobs, signatures, generation: what is accepted, what is refused, outputs untouched then. */
#include "help.h"
#include "wire/codec.h"

#define HOSTKEY(name, type, hash, flags, rank, source) {name, type},
#define HOSTCERT(...)
static const struct {
	const char *alg;
	enum key_type type;
} rows[] = {
#include "algorithm/hostkey.def"
};

static const struct {
	const char *file;
	enum key_type type;
	uint32_t bits;
} keys[] = {
	{"ed25519", KEY_ED25519, 256},
	{"ecdsa_256", KEY_ECDSA_P256, 256},
	{"ecdsa_384", KEY_ECDSA_P384, 384},
	{"ecdsa_521", KEY_ECDSA_P521, 521},
	{"rsa_1024", KEY_RSA, 1024},
	{"rsa_2048", KEY_RSA, 2048},
	{"mldsa44_ed25519", KEY_MLDSA, 256},
};

static void every_hostkey_row_signs_and_verifies(void **state)
{
	(void)state;
	size_t done = 0;
	for (size_t r = 0; r < ARRAY_N(rows); r++) {
		for (size_t i = 0; i < ARRAY_N(keys); i++) {
			struct key *k = help_private(keys[i].file, "");
			struct key *pub = help_public(keys[i].file);
			struct cslice alg = cslice_str(rows[r].alg),
				      msg = cslice_str("to be signed");
			struct buf sig;
			buf_init(&sig, 8192);
			assert_int_equal(
				key_alg_fits(keys[i].type, alg), keys[i].type == rows[r].type);
			if (keys[i].type != rows[r].type) {
				assert_err(key_sign(k, alg, msg, &sig), E_NAME);
				assert_int_equal(sig.n, 0);
			} else {
				assert_ok(key_sign(k, alg, msg, &sig));
				assert_ok(key_verify(pub, alg, msg, buf_bytes(&sig)));
				assert_ok(key_verify(pub, cslice_str(""), msg, buf_bytes(&sig)));
				assert_err(key_verify(pub, alg, cslice_str("to be signeD"),
						   buf_bytes(&sig)),
					E_SIGNATURE);
				assert_err(
					key_verify(pub, cslice_str("other"), msg, buf_bytes(&sig)),
					E_SIGNATURE);
				done++;
			}
			buf_done(&sig);
			key_free(pub);
			key_free(k);
		}
	}
	assert_int_equal(done, 5 + 2 * 3);
}

static void a_signature_with_any_byte_changed_or_cut_is_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_N(keys); i++) {
		struct key *k = help_private(keys[i].file, "");
		const char *alg =
			keys[i].type == KEY_RSA ? "rsa-sha2-512" : key_type_name(keys[i].type);
		struct buf sig;
		buf_init(&sig, 8192);
		assert_ok(key_sign(k, cslice_str(alg), cslice_str("m"), &sig));
		for (size_t at = 0; at < sig.n; at++) {
			sig.p[at] ^= 0x01;
			assert_int_not_equal(
				key_verify(k, cslice_str(alg), cslice_str("m"), buf_bytes(&sig)),
				OK);
			sig.p[at] ^= 0x01;
			assert_int_not_equal(key_verify(k, cslice_str(alg), cslice_str("m"),
						     cslice_of(sig.p, at)),
				OK);
		}
		buf_put_u8(&sig, 0);
		assert_err(key_verify(k, cslice_str(alg), cslice_str("m"), buf_bytes(&sig)),
			E_SIGNATURE);
		buf_done(&sig);
		key_free(k);
	}
}

static void rsa_sha1_is_no_answer_to_a_wish_for_sha2(void **state)
{
	(void)state;
	struct key *k = help_private("rsa_1024", "");
	struct buf sig;
	buf_init(&sig, 8192);
	assert_ok(key_sign(k, cslice_str("ssh-rsa"), cslice_str("m"), &sig));
	assert_err(key_verify(k, cslice_str("rsa-sha2-256"), cslice_str("m"), buf_bytes(&sig)),
		E_SIGNATURE);
	buf_clear(&sig);
	assert_ok(key_sign(k, cslice_str("rsa-sha2-256"), cslice_str("m"), &sig));
	/* the name alone changed: the hash inside does not fit */
	sig.p[4 + 9] = '5';
	sig.p[4 + 10] = '1';
	sig.p[4 + 11] = '2';
	assert_err(key_verify(k, cslice_str("rsa-sha2-512"), cslice_str("m"), buf_bytes(&sig)),
		E_SIGNATURE);
	buf_done(&sig);
	key_free(k);
}

/* Finds an RSA signature that starts with a zero byte, and gives it without that byte. */
static void a_short_rsa_signature_is_filled_up_a_long_one_refused(void **state)
{
	(void)state;
	struct key *k = help_private("rsa_1024", "");
	struct cslice alg = cslice_str("rsa-sha2-256");
	struct buf sig, other;
	bool found = false;
	buf_init(&sig, 8192);
	buf_init(&other, 8192);
	for (uint32_t i = 0; i < 20000 && !found; i++) {
		struct cslice msg = cslice_of(&i, sizeof(i));
		buf_clear(&sig);
		assert_ok(key_sign(k, alg, msg, &sig));
		struct rd r = rd_of(buf_bytes(&sig));
		(void)rd_str(&r);
		struct cslice raw = rd_str(&r);
		if (raw.p[0] != 0)
			continue;
		found = true;
		buf_put_string(&other, alg);
		buf_put_string(&other, cslice_of(raw.p + 1, raw.n - 1));
		assert_ok(key_verify(k, alg, msg, buf_bytes(&other)));
		buf_clear(&other);
		buf_put_string(&other, alg);
		buf_put_u32(&other, (uint32_t)raw.n + 1);
		buf_put_u8(&other, 0);
		buf_put(&other, raw.p, raw.n);
		assert_err(key_verify(k, alg, msg, buf_bytes(&other)), E_SIGNATURE);
	}
	assert_true(found);
	buf_done(&other);
	buf_done(&sig);
	key_free(k);
}

static void put_ecdsa(struct buf *sig, const char *alg, size_t r_n, size_t s_n, uint8_t fill)
{
	struct buf raw;
	uint8_t number[80];
	memset(number, fill, sizeof(number));
	buf_init(&raw, 512);
	buf_put_mpint(&raw, cslice_of(number, r_n));
	buf_put_mpint(&raw, cslice_of(number, s_n));
	buf_clear(sig);
	buf_put_cstring(sig, alg);
	buf_put_string(sig, buf_bytes(&raw));
	buf_done(&raw);
}

static void ecdsa_numbers_of_a_wrong_size_are_refused(void **state)
{
	(void)state;
	static const size_t sizes[][2] = {
		{0, 0}, {0, 66}, {66, 0}, {67, 66}, {66, 67}, {80, 80}, {66, 66}, {1, 1}};
	for (size_t i = 1; i < 4; i++) {
		struct key *k = help_public(keys[i].file);
		const char *alg = key_type_name(keys[i].type);
		struct buf sig;
		buf_init(&sig, 1024);
		for (size_t s = 0; s < ARRAY_N(sizes); s++) {
			put_ecdsa(&sig, alg, sizes[s][0], sizes[s][1], 0x01);
			assert_err(key_verify(k, cslice_str(alg), cslice_str("m"), buf_bytes(&sig)),
				E_SIGNATURE);
			put_ecdsa(&sig, alg, sizes[s][0], sizes[s][1], 0xff);
			assert_err(key_verify(k, cslice_str(alg), cslice_str("m"), buf_bytes(&sig)),
				E_SIGNATURE);
		}
		buf_done(&sig);
		key_free(k);
	}
}

static void blobs_round_trip_and_know_their_type(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_N(keys); i++) {
		struct key *k = help_private(keys[i].file, ""), *pub = help_public(keys[i].file),
			   *copy = NULL, *again = NULL;
		struct buf blob = help_blob(k);
		enum key_type t;
		assert_int_equal(key_type_of(k), keys[i].type);
		assert_int_equal(key_bits(k), keys[i].bits);
		assert_true(key_is_private(k));
		assert_false(key_is_private(pub));
		assert_true(key_equal_public(k, pub));
		assert_true(key_type_from_name(key_blob_type(buf_bytes(&blob)), &t));
		assert_int_equal(t, keys[i].type);
		assert_ok(key_parse_blob(&again, buf_bytes(&blob)));
		assert_true(key_equal_public(again, k));
		assert_ok(key_public_copy(&copy, k));
		assert_false(key_is_private(copy));
		struct buf sig;
		buf_init(&sig, 1024);
		assert_err(
			key_sign(copy, cslice_str(t == KEY_RSA ? "rsa-sha2-512" : key_type_name(t)),
				cslice_str("m"), &sig),
			E_KEY_PUBLIC);
		buf_done(&sig);
		for (size_t j = 0; j < ARRAY_N(keys); j++) {
			struct key *other = help_public(keys[j].file);
			assert_int_equal(key_equal_public(k, other), i == j);
			key_free(other);
		}
		buf_done(&blob);
		key_free(again);
		key_free(copy);
		key_free(pub);
		key_free(k);
	}
}

static void cut_or_longer_blobs_are_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_N(keys); i++) {
		struct key *k = help_public(keys[i].file), *got = (struct key *)1;
		struct buf blob = help_blob(k);
		for (size_t n = 0; n < blob.n; n++) {
			assert_int_not_equal(key_parse_blob(&got, cslice_of(blob.p, n)), OK);
			assert_ptr_equal(got, (void *)1);
		}
		buf_put_u8(&blob, 0);
		assert_err(key_parse_blob(&got, buf_bytes(&blob)), E_KEY_FORMAT);
		assert_ptr_equal(got, (void *)1);
		buf_done(&blob);
		key_free(k);
	}
}

static err_t parse(const struct buf *blob)
{
	struct key *k = NULL;
	err_t e = key_parse_blob(&k, buf_bytes(blob));
	key_free(k);
	return e;
}

static void points_off_the_curve_and_odd_forms_are_refused(void **state)
{
	(void)state;
	struct key *k = help_public("ecdsa_256");
	struct buf blob = help_blob(k);
	size_t point = blob.n - 65;
	assert_ok(parse(&blob));
	blob.p[blob.n - 1] ^= 1;
	assert_err(parse(&blob), E_KEY_FORMAT);
	blob.p[blob.n - 1] ^= 1;
	for (uint8_t form = 0; form < 8; form++) {
		blob.p[point] = form;
		if (form != 4)
			assert_err(parse(&blob), E_KEY_FORMAT);
	}
	blob.p[point] = 4;
	memset(blob.p + point + 1, 0, 64);
	assert_err(parse(&blob), E_KEY_FORMAT);
	/* the curve inside differs from the type in front */
	buf_done(&blob);
	blob = help_blob(k);
	blob.p[4 + 19 + 4 + 5] = '3';
	assert_err(parse(&blob), E_KEY_FORMAT);
	buf_done(&blob);
	key_free(k);
}

static err_t parse_rsa(size_t e_n, uint8_t e_last, size_t n_bits)
{
	static uint8_t number[4096];
	struct buf blob;
	size_t n_n = (n_bits + 7) / 8;
	buf_init(&blob, 8192);
	memset(number, 0xff, sizeof(number));
	buf_put_cstring(&blob, "ssh-rsa");
	number[e_n - 1] = e_last;
	buf_put_mpint(&blob, cslice_of(number, e_n));
	memset(number, 0xff, sizeof(number));
	if (n_bits % 8 != 0)
		number[0] = (uint8_t)((1u << n_bits % 8) - 1);
	buf_put_mpint(&blob, cslice_of(number, n_n));
	err_t e = parse(&blob);
	buf_done(&blob);
	return e;
}

static void rsa_numbers_out_of_bounds_are_refused(void **state)
{
	(void)state;
	assert_err(parse_rsa(1, 3, 1023), E_KEY_SIZE);
	assert_ok(parse_rsa(1, 3, 1024));
	assert_ok(parse_rsa(1, 3, 16384));
	assert_err(parse_rsa(1, 3, 16385), E_KEY_SIZE);
	assert_err(parse_rsa(1, 3, 30000), E_KEY_FORMAT);
	assert_err(parse_rsa(1, 1, 2048), E_KEY_FORMAT);
	assert_err(parse_rsa(1, 2, 2048), E_KEY_FORMAT);
	assert_err(parse_rsa(9, 3, 2048), E_KEY_FORMAT);
	assert_err(parse_rsa(256, 3, 2048), E_KEY_FORMAT);
}

static void unknown_types_are_told_from_damage(void **state)
{
	(void)state;
	struct buf blob;
	buf_init(&blob, 256);
	buf_put_cstring(&blob, "ssh-dss");
	assert_err(parse(&blob), E_KEY_TYPE);
	buf_clear(&blob); /* the name of a signature is not the name of a key */
	buf_put_cstring(&blob, "webauthn-sk-ecdsa-sha2-nistp256@openssh.com");
	assert_err(parse(&blob), E_KEY_TYPE);
	buf_clear(&blob);
	buf_put_u32(&blob, 7);
	buf_put(&blob, "ssh-", 4);
	assert_err(parse(&blob), E_KEY_FORMAT);
	assert_int_equal(key_blob_type(buf_bytes(&blob)).n, 0);
	buf_done(&blob);
}

static void generated_keys_sign_and_have_the_asked_size(void **state)
{
	(void)state;
	static const struct {
		enum key_type type;
		uint32_t ask, bits;
		err_t want;
	} cases[] = {
		{KEY_ED25519, 0, 256, OK},
		{KEY_ED25519, 512, 256, OK},
		{KEY_MLDSA, 0, 256, OK},
		{KEY_MLDSA, 512, 256, OK},
		{KEY_ECDSA_P256, 0, 256, OK},
		{KEY_ECDSA_P384, 384, 384, OK},
		{KEY_ECDSA_P521, 521, 521, OK},
		{KEY_RSA, 1024, 1024, OK},
		{KEY_RSA, 2048, 2048, OK},
		{KEY_RSA, 1023, 0, E_KEY_SIZE},
		{KEY_RSA, 16385, 0, E_KEY_SIZE},
		{KEY_ECDSA_P256, 384, 0, E_KEY_SIZE},
	};
	struct rng_seeded rng;
	rng_seeded_init(&rng, 7);
	for (size_t i = 0; i < ARRAY_N(cases); i++) {
		struct key *k = NULL;
		err_t e = key_generate(&k, cases[i].type, cases[i].ask, &rng.rng);
		assert_int_equal(e, cases[i].want);
		if (e != OK) {
			assert_null(k);
			continue;
		}
		const char *alg =
			cases[i].type == KEY_RSA ? "rsa-sha2-512" : key_type_name(cases[i].type);
		struct buf sig;
		buf_init(&sig, 4096);
		assert_int_equal(key_bits(k), cases[i].bits);
		assert_true(key_is_private(k));
		assert_ok(key_sign(k, cslice_str(alg), cslice_str("m"), &sig));
		assert_ok(key_verify(k, cslice_str(alg), cslice_str("m"), buf_bytes(&sig)));
		buf_done(&sig);
		key_free(k);
	}
}

/* Neither half counts alone, nor does what one half of the pair signs without the pair's label. */
static void both_halves_of_a_composite_must_be_right(void **state)
{
	(void)state;
	struct key *k = help_private("mldsa44_ed25519", "");
	struct cslice alg = cslice_str(key_type_name(KEY_MLDSA)), msg = cslice_str("m");
	struct buf a, b, mixed;
	buf_init(&a, 8192);
	buf_init(&b, 8192);
	buf_init(&mixed, 8192);
	assert_ok(key_sign(k, alg, msg, &a));
	assert_ok(key_sign(k, alg, cslice_str("other"), &b));
	assert_int_equal(a.n, 4 + alg.n + 4 + MLDSA44_SIG + 64);
	buf_put(&mixed, a.p, a.n - 64);
	buf_put(&mixed, b.p + b.n - 64, 64);
	assert_err(key_verify(k, alg, msg, buf_bytes(&mixed)), E_SIGNATURE);
	buf_clear(&mixed);
	buf_put(&mixed, b.p, b.n - 64);
	buf_put(&mixed, a.p + a.n - 64, 64);
	assert_err(key_verify(k, alg, msg, buf_bytes(&mixed)), E_SIGNATURE);
	buf_done(&mixed);
	buf_done(&b);
	buf_done(&a);
	key_free(k);
}

static void fresh_bytes_go_into_a_composite_signature(void **state)
{
	(void)state;
	struct key *k = help_private("mldsa44_ed25519", "");
	struct cslice alg = cslice_str(key_type_name(KEY_MLDSA)), msg = cslice_str("m");
	struct rng_seeded rng;
	struct buf sig[4];
	rng_seeded_init(&rng, 21);
	for (size_t i = 0; i < ARRAY_N(sig); i++) {
		key_set_rng(k, i < 2 ? NULL : &rng.rng);
		buf_init(&sig[i], 8192);
		assert_ok(key_sign(k, alg, msg, &sig[i]));
		assert_ok(key_verify(k, alg, msg, buf_bytes(&sig[i])));
	}
	assert_true(cslice_eq(buf_bytes(&sig[0]), buf_bytes(&sig[1])));
	assert_false(cslice_eq(buf_bytes(&sig[1]), buf_bytes(&sig[2])));
	assert_false(cslice_eq(buf_bytes(&sig[2]), buf_bytes(&sig[3])));
	for (size_t i = 0; i < ARRAY_N(sig); i++)
		buf_done(&sig[i]);
	key_free(k);
}

struct answer {
	struct sign_req req;
	size_t times;
	err_t e;
};

static void note(struct sign_req *req, err_t e)
{
	struct answer *a = (struct answer *)req;
	a->times++;
	a->e = e;
}

static void a_signer_answers_once_with_its_own_key(void **state)
{
	(void)state;
	struct signer *s = NULL;
	struct key *pub = help_public("ed25519");
	struct buf sig;
	buf_init(&sig, 1024);
	assert_err(signer_from_key(&s, pub), E_KEY_PUBLIC);
	assert_ok(signer_from_key(&s, help_private("ed25519", "")));
	assert_true(key_equal_public(s->pub, pub));
	struct answer a = {.req = {cslice_str("ssh-ed25519"), cslice_str("m"), &sig, note}};
	s->ops->sign(s, &a.req);
	assert_int_equal(a.times, 1);
	assert_int_equal(a.e, OK);
	assert_ok(key_verify(pub, cslice_str("ssh-ed25519"), cslice_str("m"), buf_bytes(&sig)));
	a.req.alg = cslice_str("ssh-rsa");
	s->ops->sign(s, &a.req);
	assert_int_equal(a.times, 2);
	assert_int_equal(a.e, E_NAME);
	s->ops->free(s);
	buf_done(&sig);
	key_free(pub);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_hostkey_row_signs_and_verifies),
		cmocka_unit_test(a_signature_with_any_byte_changed_or_cut_is_refused),
		cmocka_unit_test(rsa_sha1_is_no_answer_to_a_wish_for_sha2),
		cmocka_unit_test(a_short_rsa_signature_is_filled_up_a_long_one_refused),
		cmocka_unit_test(ecdsa_numbers_of_a_wrong_size_are_refused),
		cmocka_unit_test(blobs_round_trip_and_know_their_type),
		cmocka_unit_test(cut_or_longer_blobs_are_refused),
		cmocka_unit_test(points_off_the_curve_and_odd_forms_are_refused),
		cmocka_unit_test(rsa_numbers_out_of_bounds_are_refused),
		cmocka_unit_test(unknown_types_are_told_from_damage),
		cmocka_unit_test(generated_keys_sign_and_have_the_asked_size),
		cmocka_unit_test(both_halves_of_a_composite_must_be_right),
		cmocka_unit_test(fresh_bytes_go_into_a_composite_signature),
		cmocka_unit_test(a_signer_answers_once_with_its_own_key),
	};
	return cmocka_run_group_tests(tests, help_init, NULL);
}
