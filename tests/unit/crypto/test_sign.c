/* SPDX-License-Identifier: ISC */
/* Signatures and key numbers: known answers, round trips, every flipped bit is a no, wrong keys are
 * refused. */
#include "help.h"

static void ed25519_gives_the_known_answers(void **state)
{
	(void)state;
	/* RFC 8032 7.1, test 2 */
	uint8_t seed[32], pub[32], sig[64], msg = 0x72;
	help_hex(seed, "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb");
	assert_ok(ed25519_public(seed, pub));
	assert_hex(pub, "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c");
	assert_ok(ed25519_sign(seed, cslice_of(&msg, 1), sig));
	assert_hex(sig, "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
			"085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00");
	assert_ok(ed25519_verify(pub, cslice_of(&msg, 1), sig));
	for (size_t bit = 0; bit < 8 * sizeof(sig); bit++) {
		sig[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_err(ed25519_verify(pub, cslice_of(&msg, 1), sig), E_SIGNATURE);
		sig[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	msg ^= 1;
	assert_err(ed25519_verify(pub, cslice_of(&msg, 1), sig), E_SIGNATURE);
	assert_err(ed25519_verify(pub, cslice_of(NULL, 0), sig), E_SIGNATURE);
}

static const enum hash_id curve_hash[] = {HASH_SHA256, HASH_SHA384, HASH_SHA512};
static const size_t curve_bits[] = {256, 384, 521};

static void ecdsa_signs_and_verifies_through_the_numbers(void **state)
{
	(void)state;
	for (enum ec_curve c = EC_P256; c < EC_CURVE_N; c++) {
		struct pkey *made = NULL, *priv = NULL, *pub = NULL;
		struct buf point, d;
		enum ec_curve seen = EC_CURVE_N;
		uint8_t r[EC_FIELD_MAX], s[EC_FIELD_MAX];
		size_t n = ec_field_size(c);
		struct cslice msg = cslice_str("message");
		buf_init(&point, 256);
		buf_init(&d, 256);
		assert_ok(pkey_ec_generate(&made, c));
		assert_ok(pkey_ec_parts(made, &seen, &point, &d));
		assert_int_equal(seen, c);
		assert_int_equal(point.n, ec_point_size(c));
		assert_ok(pkey_ec_private(&priv, c, buf_bytes(&point), buf_bytes(&d)));
		assert_ok(pkey_ec_public(&pub, c, buf_bytes(&point)));
		assert_int_equal(pkey_bits(pub), curve_bits[c]);
		assert_ok(pkey_ecdsa_sign(priv, curve_hash[c], msg, r, s));
		assert_ok(pkey_ecdsa_verify(
			pub, curve_hash[c], msg, cslice_of(r, n), cslice_of(s, n)));
		for (size_t i = 0; i < n; i++) {
			r[i] ^= 1;
			assert_err(pkey_ecdsa_verify(pub, curve_hash[c], msg, cslice_of(r, n),
					   cslice_of(s, n)),
				E_SIGNATURE);
			r[i] ^= 1;
		}
		uint8_t zero[1] = {0}, huge[200];
		memset(huge, 0xff, sizeof(huge));
		assert_err(pkey_ecdsa_verify(
				   pub, curve_hash[c], msg, cslice_of(zero, 1), cslice_of(s, n)),
			E_SIGNATURE);
		assert_err(pkey_ecdsa_verify(
				   pub, curve_hash[c], msg, cslice_of(r, n), cslice_of(zero, 0)),
			E_SIGNATURE);
		assert_err(pkey_ecdsa_verify(
				   pub, curve_hash[c], msg, cslice_of(huge, 200), cslice_of(s, n)),
			E_SIGNATURE);
		assert_err(pkey_ecdsa_sign(pub, curve_hash[c], msg, r, s), E_KEY_PUBLIC);
		assert_err(pkey_ec_parts(pub, &seen, &point, &d), E_KEY_PUBLIC);
		struct buf none;
		buf_init(&none, 16);
		assert_err(pkey_rsa_sign(priv, HASH_SHA256, msg, &none), E_KEY_TYPE);
		pkey_free(pub);
		pkey_free(priv);
		pkey_free(made);
		buf_done(&d);
		buf_done(&point);
	}
	pkey_free(NULL);
}

static void ec_keys_that_do_not_fit_are_refused(void **state)
{
	(void)state;
	struct pkey *made = NULL, *k = NULL;
	struct buf point, d;
	enum ec_curve c;
	buf_init(&point, 256);
	buf_init(&d, 256);
	assert_ok(pkey_ec_generate(&made, EC_P256));
	assert_ok(pkey_ec_parts(made, &c, &point, &d));
	static const uint8_t zero[1];
	uint8_t big[33];
	memset(big, 0xff, sizeof(big));
	assert_err(
		pkey_ec_private(&k, EC_P256, buf_bytes(&point), cslice_of(zero, 1)), E_KEY_FORMAT);
	assert_err(
		pkey_ec_private(&k, EC_P256, buf_bytes(&point), cslice_of(big, 32)), E_KEY_FORMAT);
	assert_err(
		pkey_ec_private(&k, EC_P256, buf_bytes(&point), cslice_of(big, 33)), E_KEY_FORMAT);
	d.p[d.n - 1] ^= 1;
	assert_err(pkey_ec_private(&k, EC_P256, buf_bytes(&point), buf_bytes(&d)), E_KEY_FORMAT);
	assert_err(pkey_ec_public(&k, EC_P384, buf_bytes(&point)), E_KEY_FORMAT);
	assert_err(pkey_ec_public(&k, EC_P256, cslice_of(point.p, 64)), E_KEY_FORMAT);
	assert_err(pkey_ec_public(&k, EC_P256, cslice_of(point.p, 0)), E_KEY_FORMAT);
	assert_err(pkey_ec_public(&k, EC_P256, cslice_of(zero, 1)), E_KEY_FORMAT);
	point.p[40] ^= 1;
	assert_err(pkey_ec_public(&k, EC_P256, buf_bytes(&point)), E_KEY_FORMAT);
	assert_null(k);
	pkey_free(made);
	buf_done(&d);
	buf_done(&point);
}

struct numbers {
	struct buf v[6];
};

static struct rsa_parts parts_of(const struct numbers *m)
{
	return (struct rsa_parts){buf_bytes(&m->v[0]), buf_bytes(&m->v[1]), buf_bytes(&m->v[2]),
		buf_bytes(&m->v[3]), buf_bytes(&m->v[4]), buf_bytes(&m->v[5])};
}

static void rsa_signs_and_verifies_through_the_numbers(void **state)
{
	(void)state;
	static const enum hash_id hashes[] = {HASH_SHA1, HASH_SHA256, HASH_SHA512};
	struct pkey *made = NULL, *priv = NULL, *pub = NULL;
	struct numbers m;
	struct buf sig;
	struct cslice msg = cslice_str("message");
	for (size_t i = 0; i < 6; i++)
		buf_init(&m.v[i], 1024);
	buf_init(&sig, 1024);
	assert_ok(pkey_rsa_generate(&made, 1031)); /* odd size: the signature is rounded up */
	assert_int_equal(pkey_bits(made), 1031);
	assert_ok(pkey_rsa_parts(made, m.v));
	struct rsa_parts parts = parts_of(&m);
	assert_ok(pkey_rsa_private(&priv, &parts));
	assert_ok(pkey_rsa_public(&pub, parts.n, parts.e));
	for (size_t i = 0; i < ARRAY_N(hashes); i++) {
		buf_clear(&sig);
		assert_ok(pkey_rsa_sign(priv, hashes[i], msg, &sig));
		assert_int_equal(sig.n, 129);
		assert_ok(pkey_rsa_verify(pub, hashes[i], msg, buf_bytes(&sig)));
		assert_err(pkey_rsa_verify(pub, HASH_SHA384, msg, buf_bytes(&sig)), E_SIGNATURE);
		assert_err(
			pkey_rsa_verify(pub, hashes[i], msg, cslice_of(sig.p, 128)), E_SIGNATURE);
		assert_err(pkey_rsa_verify(pub, hashes[i], msg, cslice_of(sig.p, 0)), E_SIGNATURE);
		for (size_t k = 0; k < sig.n; k++) {
			sig.p[k] ^= 0x10;
			assert_err(
				pkey_rsa_verify(pub, hashes[i], msg, buf_bytes(&sig)), E_SIGNATURE);
			sig.p[k] ^= 0x10;
		}
	}
	buf_clear(&sig);
	assert_err(pkey_rsa_sign(pub, HASH_SHA256, msg, &sig), E_KEY_PUBLIC);
	assert_int_equal(sig.n, 0);
	for (size_t i = 0; i < 6; i++)
		buf_clear(&m.v[i]);
	assert_ok(pkey_rsa_parts(pub, m.v));
	for (size_t i = 0; i < 6; i++)
		assert_int_equal(m.v[i].n > 0, i < 2);
	for (size_t i = 0; i < 6; i++)
		buf_done(&m.v[i]);
	buf_done(&sig);
	pkey_free(pub);
	pkey_free(priv);
	pkey_free(made);
}

/* A damaged CRT number would betray the key in its first signature. */
static void rsa_private_keys_with_any_damaged_number_are_refused(void **state)
{
	(void)state;
	struct pkey *made = NULL, *k = NULL;
	struct numbers m;
	for (size_t i = 0; i < 6; i++)
		buf_init(&m.v[i], 1024);
	assert_ok(pkey_rsa_generate(&made, 1024));
	assert_ok(pkey_rsa_parts(made, m.v));
	for (size_t i = 0; i < 6; i++)
		for (size_t at = 0; at < m.v[i].n; at += 1 + m.v[i].n / 5) {
			m.v[i].p[at] ^= 4;
			struct rsa_parts parts = parts_of(&m);
			assert_err(pkey_rsa_private(&k, &parts), E_KEY_FORMAT);
			m.v[i].p[at] ^= 4;
		}
	struct rsa_parts good = parts_of(&m);
	struct rsa_parts swapped = good, empty = good;
	swapped.p = good.q;
	swapped.q = good.p;
	assert_err(pkey_rsa_private(&k, &swapped), E_KEY_FORMAT); /* iqmp does not fit */
	empty.p = empty.q = (struct cslice){NULL, 0};
	assert_err(pkey_rsa_private(&k, &empty), E_KEY_FORMAT);
	assert_err(pkey_rsa_public(&k, cslice_of(NULL, 0), good.e), E_KEY_FORMAT);
	assert_err(pkey_rsa_public(&k, good.n, cslice_of(NULL, 0)), E_KEY_FORMAT);
	static const uint8_t one[] = {1}, two[] = {2};
	assert_err(pkey_rsa_public(&k, good.n, cslice_of(one, 1)), E_KEY_FORMAT);
	assert_err(pkey_rsa_public(&k, good.n, cslice_of(two, 1)), E_KEY_FORMAT);
	static uint8_t huge[4000];
	memset(huge, 0xff, sizeof(huge));
	assert_err(pkey_rsa_public(&k, cslice_of(huge, sizeof(huge)), good.e), E_KEY_SIZE);
	assert_null(k);
	assert_ok(pkey_rsa_private(&k, &good));
	pkey_free(k);
	pkey_free(made);
	for (size_t i = 0; i < 6; i++)
		buf_done(&m.v[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ed25519_gives_the_known_answers),
		cmocka_unit_test(ecdsa_signs_and_verifies_through_the_numbers),
		cmocka_unit_test(ec_keys_that_do_not_fit_are_refused),
		cmocka_unit_test(rsa_signs_and_verifies_through_the_numbers),
		cmocka_unit_test(rsa_private_keys_with_any_damaged_number_are_refused),
	};
	return cmocka_run_group_tests(tests, help_crypto_init, NULL);
}
