/* SPDX-License-Identifier: ISC */
/* Key agreement: RFC 7748 answers, both sides agree, bad peer values are refused, outputs untouched
 * then. */
#include "help.h"

static void x25519_gives_the_known_answers(void **state)
{
	(void)state;
	/* RFC 7748 6.1 */
	uint8_t alice[32], bob_pub[32], shared[32];
	help_hex(bob_pub, "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f");
	help_hex(alice, "77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a");
	assert_ok(x25519_shared(alice, bob_pub, shared));
	assert_hex(shared, "4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742");
}

static void x25519_refuses_low_order_points_untouched(void **state)
{
	(void)state;
	static const char *const low[] = {
		"0000000000000000000000000000000000000000000000000000000000000000",
		"0100000000000000000000000000000000000000000000000000000000000000",
		"e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
		"5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
		"ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
		"edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
		"eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
	};
	uint8_t priv[32] = {8}, peer[32], shared[32];
	for (size_t i = 0; i < ARRAY_N(low); i++) {
		memset(shared, 0xa5, sizeof(shared));
		help_hex(peer, low[i]);
		assert_err(x25519_shared(priv, peer, shared), E_KEX_VALUE);
		for (size_t k = 0; k < sizeof(shared); k++)
			assert_int_equal(shared[k], 0xa5);
	}
}

static void x25519_pairs_agree_and_come_from_the_rng(void **state)
{
	(void)state;
	struct rng_seeded r, same;
	rng_seeded_init(&r, 1);
	rng_seeded_init(&same, 1);
	uint8_t a[32], a_pub[32], b[32], b_pub[32], s1[32], s2[32], stream[32];
	assert_ok(x25519_keypair(&r.rng, a, a_pub));
	assert_ok(x25519_keypair(&r.rng, b, b_pub));
	rng_fill(&same.rng, stream, sizeof(stream));
	assert_memory_equal(a, stream, sizeof(a));
	assert_ok(x25519_shared(a, b_pub, s1));
	assert_ok(x25519_shared(b, a_pub, s2));
	assert_memory_equal(s1, s2, sizeof(s1));
}

static void ecdh_pairs_agree_on_each_curve(void **state)
{
	(void)state;
	struct rng_seeded r;
	rng_seeded_init(&r, 2);
	for (enum ec_curve c = EC_P256; c < EC_CURVE_N; c++)
		for (size_t i = 0; i < 5; i++) {
			struct secret a, b;
			uint8_t a_pub[EC_POINT_MAX], b_pub[EC_POINT_MAX], s1[EC_FIELD_MAX],
				s2[EC_FIELD_MAX];
			assert_ok(ecdh_keypair(c, &r.rng, &a, a_pub));
			assert_ok(ecdh_keypair(c, &r.rng, &b, b_pub));
			assert_int_equal(a.n, ec_field_size(c));
			assert_memory_not_equal(a.b, b.b, a.n);
			assert_ok(ecdh_shared(c, &a, cslice_of(b_pub, ec_point_size(c)), s1));
			assert_ok(ecdh_shared(c, &b, cslice_of(a_pub, ec_point_size(c)), s2));
			assert_memory_equal(s1, s2, ec_field_size(c));
		}
}

static void ecdh_refuses_what_is_not_a_point(void **state)
{
	(void)state;
	struct rng_seeded r;
	rng_seeded_init(&r, 3);
	for (enum ec_curve c = EC_P256; c < EC_CURVE_N; c++) {
		struct secret a;
		size_t n = ec_point_size(c);
		uint8_t pub[EC_POINT_MAX + 1] = {0}, out[EC_FIELD_MAX];
		assert_ok(ecdh_keypair(c, &r.rng, &a, pub));
		assert_ok(ecdh_shared(c, &a, cslice_of(pub, n), out));
		assert_err(ecdh_shared(c, &a, cslice_of(pub, n - 1), out), E_KEX_VALUE);
		assert_err(ecdh_shared(c, &a, cslice_of(pub, n + 1), out), E_KEX_VALUE);
		assert_err(ecdh_shared(c, &a, cslice_of(pub, 0), out), E_KEX_VALUE);
		uint8_t infinity[1] = {0};
		assert_err(ecdh_shared(c, &a, cslice_of(infinity, 1), out), E_KEX_VALUE);
		for (uint8_t form = 0; form < 8;
			form++) { /* compressed and hybrid forms are not for SSH */
			pub[0] = form;
			if (form != 4)
				assert_err(ecdh_shared(c, &a, cslice_of(pub, n), out), E_KEX_VALUE);
		}
		pub[0] = 4;
		pub[n - 1] ^= 1; /* off the curve */
		assert_err(ecdh_shared(c, &a, cslice_of(pub, n), out), E_KEX_VALUE);
		memset(pub + 1, 0xff, n - 1); /* coordinates beyond the field */
		assert_err(ecdh_shared(c, &a, cslice_of(pub, n), out), E_KEX_VALUE);
	}
}

static void dh_groups_agree_and_have_the_sizes_of_the_rfc(void **state)
{
	(void)state;
	static const size_t bytes[] = {128, 256, 512, 1024};
	struct rng_seeded r;
	rng_seeded_init(&r, 4);
	for (enum dh_group g = DH_GROUP1; g <= DH_GROUP18; g++) {
		struct dh *a = NULL, *b = NULL;
		struct buf s1, s2;
		buf_init(&s1, 2048);
		buf_init(&s2, 2048);
		assert_ok(dh_new_group(&a, g, 128, &r.rng));
		assert_ok(dh_new_group(&b, g, 256, &r.rng));
		assert_int_equal(dh_p(a).n, bytes[g]);
		assert_int_equal(dh_g(a).n, 1);
		assert_int_equal(dh_g(a).p[0], 2);
		assert_int_equal(
			be64_get(dh_p(a).p), UINT64_MAX); /* all four primes begin with 64 ones */
		assert_ok(dh_shared(a, dh_public(b), &s1));
		assert_ok(dh_shared(b, dh_public(a), &s2));
		assert_true(s1.n > 0 && cslice_eq(buf_bytes(&s1), buf_bytes(&s2)));
		buf_done(&s2);
		buf_done(&s1);
		dh_free(b);
		dh_free(a);
	}
	dh_free(NULL);
}

static void dh_refuses_public_values_out_of_range(void **state)
{
	(void)state;
	struct rng_seeded r;
	rng_seeded_init(&r, 5);
	struct dh *d = NULL;
	struct buf out;
	buf_init(&out, 2048);
	assert_ok(dh_new_group(&d, DH_GROUP14, 128, &r.rng));
	uint8_t v[257] = {0};
	assert_err(dh_shared(d, cslice_of(v, 0), &out), E_KEX_VALUE);
	assert_err(dh_shared(d, cslice_of(v, 1), &out), E_KEX_VALUE); /* 0 */
	v[0] = 1;
	assert_err(dh_shared(d, cslice_of(v, 1), &out), E_KEX_VALUE); /* 1 */
	v[0] = 2;
	assert_err(dh_shared(d, cslice_of(v, 1), &out), E_KEX_VALUE); /* one bit set */
	memcpy(v, dh_p(d).p, 256);
	assert_err(dh_shared(d, cslice_of(v, 256), &out), E_KEX_VALUE); /* p */
	v[255] ^= 1;
	assert_err(dh_shared(d, cslice_of(v, 256), &out), E_KEX_VALUE); /* p - 1 */
	memset(v, 0xff, sizeof(v));
	assert_err(dh_shared(d, cslice_of(v, 257), &out), E_KEX_VALUE); /* beyond p */
	assert_int_equal(out.n, 0);
	memcpy(v, dh_p(d).p, 256);
	v[255] -= 2;
	assert_ok(dh_shared(d, cslice_of(v, 256), &out)); /* p - 2 is fine */
	dh_free(d);
	buf_done(&out);
}

static void dh_refuses_bad_groups(void **state)
{
	(void)state;
	struct rng_seeded r;
	rng_seeded_init(&r, 6);
	struct dh *good = NULL, *d = NULL;
	assert_ok(dh_new_group(&good, DH_GROUP14, 128, &r.rng));
	uint8_t p[256], g[256];
	memcpy(p, dh_p(good).p, sizeof(p));
	memcpy(g, p, sizeof(g));
	uint8_t two = 2, one = 1, big[1025];
	memset(big, 0xff, sizeof(big));
	assert_ok(dh_new(&d, cslice_of(p, 256), cslice_of(&two, 1), 128, &r.rng));
	dh_free(d);
	d = NULL;
	assert_err(dh_new(&d, cslice_of(p, 256), cslice_of(&one, 1), 128, &r.rng), E_KEX_VALUE);
	assert_err(dh_new(&d, cslice_of(p, 256), cslice_of(&two, 0), 128, &r.rng), E_KEX_VALUE);
	g[255] ^= 1; /* p - 1 */
	assert_err(dh_new(&d, cslice_of(p, 256), cslice_of(g, 256), 128, &r.rng), E_KEX_VALUE);
	assert_err(dh_new(&d, cslice_of(p, 127), cslice_of(&two, 1), 128, &r.rng),
		E_KEX_VALUE); /* small */
	assert_err(dh_new(&d, cslice_of(big, 1025), cslice_of(&two, 1), 128, &r.rng), E_KEX_VALUE);
	assert_err(dh_new(&d, cslice_of(p, 0), cslice_of(&two, 1), 128, &r.rng), E_KEX_VALUE);
	p[255] ^= 1; /* even */
	assert_err(dh_new(&d, cslice_of(p, 256), cslice_of(&two, 1), 128, &r.rng), E_KEX_VALUE);
	assert_null(d);
	dh_free(good);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(x25519_gives_the_known_answers),
		cmocka_unit_test(x25519_refuses_low_order_points_untouched),
		cmocka_unit_test(x25519_pairs_agree_and_come_from_the_rng),
		cmocka_unit_test(ecdh_pairs_agree_on_each_curve),
		cmocka_unit_test(ecdh_refuses_what_is_not_a_point),
		cmocka_unit_test(dh_groups_agree_and_have_the_sizes_of_the_rfc),
		cmocka_unit_test(dh_refuses_public_values_out_of_range),
		cmocka_unit_test(dh_refuses_bad_groups),
	};
	return cmocka_run_group_tests(tests, help_crypto_init, NULL);
}
