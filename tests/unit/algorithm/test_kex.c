/* SPDX-License-Identifier: ISC */
/* Key exchange methods: both sides agree, and every bad public value is refused on both sides. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "algorithm/kex.h"

static struct rng_seeded rng;

struct sides { /* an exchange that went well */
	const struct alg_kex *row;
	struct kex *c, *s;
	struct buf qc, qs, kc, ks;
};

static struct kex *new_kex(const struct alg_kex *row)
{
	struct kex *k = NULL;
	struct dh *d = NULL;
	if (row->family == KEX_DHGEX) {
		assert_int_equal(dh_new_group(&d, DH_GROUP14, 128, &rng.rng), OK);
		struct kex_group g = {dh_p(d), dh_g(d)};
		assert_int_equal(kex_new(&k, row, &rng.rng, &g, 128), OK);
		dh_free(d);
	} else {
		assert_int_equal(kex_new(&k, row, &rng.rng, NULL, 128), OK);
	}
	return k;
}

static void sides_run(struct sides *x, const struct alg_kex *row)
{
	*x = (struct sides){.row = row, .c = new_kex(row), .s = new_kex(row)};
	struct buf *const bufs[] = {&x->qc, &x->qs, &x->kc, &x->ks};
	for (size_t i = 0; i < ARRAY_N(bufs); i++)
		buf_init(bufs[i], 65536);
	assert_int_equal(kex_start(x->c, &x->qc), OK);
	assert_int_equal(kex_reply(x->s, buf_bytes(&x->qc), &x->qs, &x->ks), OK);
	assert_int_equal(kex_finish(x->c, buf_bytes(&x->qs), &x->kc), OK);
}

static void sides_done(struct sides *x)
{
	struct buf *const bufs[] = {&x->qc, &x->qs, &x->kc, &x->ks};
	for (size_t i = 0; i < ARRAY_N(bufs); i++)
		buf_done(bufs[i]);
	kex_free(x->c);
	kex_free(x->s);
}

static void both_sides_agree(void **state)
{
	(void)state;
	for (size_t i = 0; i < alg_kexes_n; i++) {
		struct sides x;
		sides_run(&x, &alg_kexes[i]);
		assert_true(x.kc.n > 4);
		assert_true(cslice_eq(buf_bytes(&x.kc), buf_bytes(&x.ks)));
		assert_int_equal(be32_get(x.kc.p), x.kc.n - 4);
		bool is_dh = alg_kexes[i].family == KEX_DH || alg_kexes[i].family == KEX_DHGEX;
		assert_int_equal(kex_is_mpint(x.c), is_dh);
		sides_done(&x);
	}
}

/* The client's answer to a server value, and the server's to a client value: nothing may be left in
 * the outputs. */
static err_t finish_with(const struct alg_kex *row, struct cslice qs)
{
	struct kex *k = new_kex(row);
	struct buf q, out;
	buf_init(&q, 65536);
	buf_init(&out, 65536);
	assert_int_equal(kex_start(k, &q), OK);
	err_t e = kex_finish(k, qs, &out);
	assert_true(e == OK || out.n == 0);
	buf_done(&q);
	buf_done(&out);
	kex_free(k);
	return e;
}

static err_t reply_with(const struct alg_kex *row, struct cslice qc)
{
	struct kex *k = new_kex(row);
	struct buf q, out;
	buf_init(&q, 65536);
	buf_init(&out, 65536);
	err_t e = kex_reply(k, qc, &q, &out);
	assert_true(e == OK || (out.n == 0 && q.n == 0));
	buf_done(&q);
	buf_done(&out);
	kex_free(k);
	return e;
}

static void wrong_lengths_are_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < alg_kexes_n; i++) {
		const struct alg_kex *row = &alg_kexes[i];
		if (row->family == KEX_DH || row->family == KEX_DHGEX)
			continue; /* numbers have no length */
		struct sides x;
		sides_run(&x, row);
		struct cslice good[] = {buf_bytes(&x.qc), buf_bytes(&x.qs)};
		for (size_t side = 0; side < 2; side++) {
			uint8_t *v = calloc(1, good[side].n + 64);
			assert_non_null(v);
			memcpy(v, good[side].p, good[side].n);
			const size_t lengths[] = {0, 1, 31, good[side].n - 32, good[side].n - 1,
				good[side].n + 1, good[side].n + 64};
			for (size_t n = 0; n < ARRAY_N(lengths); n++) {
				if (lengths[n] == good[side].n)
					continue;
				struct cslice q = {v, lengths[n]};
				assert_int_equal(
					side == 0 ? reply_with(row, q) : finish_with(row, q),
					E_KEX_VALUE);
			}
			free(v);
		}
		sides_done(&x);
	}
}

/* Points of small order on Curve25519 and their non-canonical forms (RFC 7748 7, "contributory
 * behaviour"). */
static const char *const low_order[] = {
	"0000000000000000000000000000000000000000000000000000000000000000",
	"0100000000000000000000000000000000000000000000000000000000000000",
	"e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
	"5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
	"ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
	"edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
	"eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
	"0000000000000000000000000000000000000000000000000000000000000080",
	"0100000000000000000000000000000000000000000000000000000000000080",
	"e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b880",
	"5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f11d7",
	"ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
	"edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
	"eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
};

static void from_hex(uint8_t *out, const char *hex)
{
	for (size_t i = 0; i < 32; i++) {
		unsigned v;
		assert_int_equal(sscanf(hex + 2 * i, "%2x", &v), 1);
		out[i] = (uint8_t)v;
	}
}

static bool ends_in_x25519(const struct alg_kex *row)
{
	return row->family == KEX_X25519 || row->family == KEX_MLKEM_X25519 ||
	       row->family == KEX_SNTRUP_X25519;
}

static void low_order_points_are_refused_alone_and_in_hybrids(void **state)
{
	(void)state;
	for (size_t i = 0; i < alg_kexes_n; i++) {
		if (!ends_in_x25519(&alg_kexes[i]))
			continue;
		struct sides x;
		sides_run(&x, &alg_kexes[i]);
		for (size_t p = 0; p < ARRAY_N(low_order); p++) {
			from_hex(x.qc.p + x.qc.n - 32, low_order[p]);
			assert_int_equal(reply_with(x.row, buf_bytes(&x.qc)), E_KEX_VALUE);
			from_hex(x.qs.p + x.qs.n - 32, low_order[p]);
			assert_int_equal(finish_with(x.row, buf_bytes(&x.qs)), E_KEX_VALUE);
		}
		sides_done(&x);
	}
}

/* Every way in which an uncompressed point can be no point. */
static void spoil_point(uint8_t *point, size_t n, int how)
{
	switch (how) {
	case 0: /* off the curve */
		point[n - 1] ^= 1;
		break;
	case 1: /* compressed form */
		point[0] = 2;
		break;
	case 2: /* hybrid form */
		point[0] = 6;
		break;
	case 3: /* infinity, with bytes behind */
		memset(point, 0, n);
		break;
	default: /* beyond the field */
		memset(point + 1, 0xff, n - 1);
		break;
	}
}

static void points_off_the_curve_are_refused_alone_and_in_hybrids(void **state)
{
	(void)state;
	for (size_t i = 0; i < alg_kexes_n; i++) {
		const struct alg_kex *row = &alg_kexes[i];
		if (row->family != KEX_ECDH && row->family != KEX_MLKEM_P256)
			continue;
		enum ec_curve curve =
			row->family == KEX_ECDH ? (enum ec_curve)row->parameter : EC_P256;
		size_t n = ec_point_size(curve);
		for (int how = 0; how < 5; how++) {
			struct sides x;
			sides_run(&x, row);
			spoil_point(x.qc.p + x.qc.n - n, n, how);
			assert_int_equal(reply_with(row, buf_bytes(&x.qc)), E_KEX_VALUE);
			spoil_point(x.qs.p + x.qs.n - n, n, how);
			assert_int_equal(finish_with(row, buf_bytes(&x.qs)), E_KEX_VALUE);
			sides_done(&x);
		}
	}
}

static void an_encapsulation_key_that_is_not_canonical_is_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < alg_kexes_n; i++) {
		const struct alg_kex *row = &alg_kexes[i];
		if (row->family != KEX_MLKEM_X25519 && row->family != KEX_MLKEM_P256)
			continue;
		struct sides x;
		sides_run(&x, row);
		memset(x.qc.p, 0xff, 3); /* two coefficients of 4095: not below q */
		assert_int_equal(reply_with(row, buf_bytes(&x.qc)), E_KEX_VALUE);
		sides_done(&x);
	}
}

/* A ciphertext that was tampered with gives another secret, never an error: nothing is to be learnt
 * from it. */
static void a_changed_ciphertext_gives_another_secret(void **state)
{
	(void)state;
	for (size_t i = 0; i < alg_kexes_n; i++) {
		enum kex_family f = alg_kexes[i].family;
		if (f != KEX_MLKEM_X25519 && f != KEX_MLKEM_P256 && f != KEX_SNTRUP_X25519)
			continue;
		struct sides x;
		sides_run(&x, &alg_kexes[i]);
		x.qs.p[5] ^= 4;
		struct buf other;
		buf_init(&other, 4096);
		assert_int_equal(kex_finish(x.c, buf_bytes(&x.qs), &other), OK);
		assert_int_equal(other.n, x.kc.n);
		assert_false(cslice_eq(buf_bytes(&other), buf_bytes(&x.kc)));
		buf_done(&other);
		sides_done(&x);
	}
}

static void dh_values_out_of_range_are_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < alg_kexes_n; i++) {
		const struct alg_kex *row = &alg_kexes[i];
		if (row->family != KEX_DH)
			continue;
		struct dh *d;
		assert_int_equal(
			dh_new_group(&d, (enum dh_group)row->parameter, 128, &rng.rng), OK);
		struct cslice p = dh_p(d);
		uint8_t v[1100] = {0};
		assert_int_equal(reply_with(row, cslice_of(v, 0)), E_KEX_VALUE);
		assert_int_equal(finish_with(row, cslice_of(v, 0)), E_KEX_VALUE);
		v[0] = 1;
		assert_int_equal(reply_with(row, cslice_of(v, 1)), E_KEX_VALUE);
		assert_int_equal(finish_with(row, cslice_of(v, 1)), E_KEX_VALUE);
		memcpy(v + 1, p.p, p.n); /* p, p - 1, and p with a byte in front */
		assert_int_equal(reply_with(row, cslice_of(v + 1, p.n)), E_KEX_VALUE);
		assert_int_equal(finish_with(row, cslice_of(v + 1, p.n)), E_KEX_VALUE);
		assert_int_equal(reply_with(row, cslice_of(v, p.n + 1)), E_KEX_VALUE);
		v[p.n]--;
		assert_int_equal(reply_with(row, cslice_of(v + 1, p.n)), E_KEX_VALUE);
		assert_int_equal(finish_with(row, cslice_of(v + 1, p.n)), E_KEX_VALUE);
		dh_free(d);
	}
}

static void groups_that_are_none_are_refused(void **state)
{
	(void)state;
	const struct alg_kex *row =
		alg_kex_find(cslice_str("diffie-hellman-group-exchange-sha256"));
	assert_non_null(row);
	struct kex *k = NULL;
	uint8_t p[256], two = 2, one = 1;
	memset(p, 0xff, sizeof(p));
	struct kex_group even = {{p, sizeof(p)}, {&two, 1}}, unit = {{p, sizeof(p)}, {&one, 1}};
	struct kex_group small = {{p, 64}, {&two, 1}}, none = {{p, 0}, {&two, 1}};
	p[255] = 0xfe;
	assert_int_equal(kex_new(&k, row, &rng.rng, &even, 128), E_KEX_VALUE);
	p[255] = 0xff;
	assert_int_equal(kex_new(&k, row, &rng.rng, &unit, 128), E_KEX_VALUE);
	assert_int_equal(kex_new(&k, row, &rng.rng, &small, 128), E_KEX_VALUE);
	assert_int_equal(kex_new(&k, row, &rng.rng, &none, 128), E_KEX_VALUE);
	assert_int_equal(kex_new(&k, row, &rng.rng, NULL, 128), E_BUG);
	assert_null(k);
}

static void calls_out_of_order_are_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < alg_kexes_n; i++) {
		struct sides x;
		sides_run(&x, &alg_kexes[i]);
		assert_int_equal(kex_start(x.c, &x.qc), E_PHASE);
		assert_int_equal(kex_reply(x.s, buf_bytes(&x.qc), &x.qs, &x.ks), E_PHASE);
		struct kex *k = new_kex(x.row);
		assert_int_equal(kex_finish(k, buf_bytes(&x.qs), &x.kc), E_PHASE);
		kex_free(k);
		sides_done(&x);
	}
}

static void group_sizes_follow_the_strength(void **state)
{
	(void)state;
	static const struct {
		const char *cipher, *mac;
		uint32_t group, bits;
	} rows[] = {
		{"aes128-ctr", "umac-64-etm@openssh.com", 3072, 128},
		{"aes128-gcm@openssh.com", NULL, 3072, 128},
		{"aes192-ctr", "umac-64-etm@openssh.com", 7680, 192},
		{"aes256-ctr", "umac-64-etm@openssh.com", 8192, 256},
		{"chacha20-poly1305@openssh.com", NULL, 8192, 256},
		{"aes128-ctr", "hmac-sha2-256", 8192, 256}, /* the MAC key counts too */
		{"aes128-ctr", "hmac-sha1", 7680, 160},
	};
	for (size_t i = 0; i < ARRAY_N(rows); i++) {
		struct alg_choice c = {0};
		c.c2s.cipher = alg_cipher_find(cslice_str("aes128-gcm@openssh.com"));
		c.s2c.cipher = alg_cipher_find(cslice_str(rows[i].cipher));
		c.s2c.mac = rows[i].mac != NULL ? alg_mac_find(cslice_str(rows[i].mac)) : NULL;
		uint32_t group = 0;
		assert_int_equal(kex_dh_want_bits(&c, &group), rows[i].bits);
		assert_int_equal(group, rows[i].group);
	}
}

static void bits_of_numbers_are_counted(void **state)
{
	(void)state;
	const uint8_t v[] = {0, 0, 0x80, 0};
	assert_int_equal(kex_mpint_bits(cslice_of(v, 4)), 16);
	assert_int_equal(kex_mpint_bits(cslice_of(v, 2)), 0);
	assert_int_equal(kex_mpint_bits(cslice_of(v, 0)), 0);
	assert_int_equal(kex_mpint_bits(cslice_of("\x01", 1)), 1);
}

int main(void)
{
	if (crypto_init() != OK)
		return 1;
	rng_seeded_init(&rng, 42);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_sides_agree),
		cmocka_unit_test(wrong_lengths_are_refused),
		cmocka_unit_test(low_order_points_are_refused_alone_and_in_hybrids),
		cmocka_unit_test(points_off_the_curve_are_refused_alone_and_in_hybrids),
		cmocka_unit_test(an_encapsulation_key_that_is_not_canonical_is_refused),
		cmocka_unit_test(a_changed_ciphertext_gives_another_secret),
		cmocka_unit_test(dh_values_out_of_range_are_refused),
		cmocka_unit_test(groups_that_are_none_are_refused),
		cmocka_unit_test(calls_out_of_order_are_refused),
		cmocka_unit_test(group_sizes_follow_the_strength),
		cmocka_unit_test(bits_of_numbers_are_counted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
