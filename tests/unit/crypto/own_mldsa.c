/* SPDX-License-Identifier: ISC */
/* own_mldsa - the arithmetic of ML-DSA against the slow definitions, known answers, and what a
 * verifier must refuse */
#include "crypto/own/keccak.h"
#include "crypto/own/mldsa_poly.h"

#include "help.h"

static int32_t mod(int64_t v)
{
	int32_t m = (int32_t)(v % DSA_Q);

	return m < 0 ? m + DSA_Q : m;
}

static void random_poly(struct rng *rng, struct dsa_poly *p)
{
	for (size_t i = 0; i < DSA_N; i++)
		p->c[i] = (int32_t)rng_below(rng, DSA_Q);
}

/* x^256 = -1 */
static void slow_mul_add(int32_t sum[DSA_N], const struct dsa_poly *a, const struct dsa_poly *b)
{
	for (size_t i = 0; i < DSA_N; i++)
		for (size_t j = 0; j < DSA_N; j++) {
			int64_t product = (int64_t)a->c[i] * b->c[j];
			size_t at = (i + j) % DSA_N;
			sum[at] = mod(sum[at] + (i + j < DSA_N ? product : -product));
		}
}

static void dot_is(const struct dsa_vec *a, const struct dsa_vec *b)
{
	struct dsa_vec x = *a, y = *b;
	struct dsa_poly out;
	int32_t sum[DSA_N] = {0};

	for (size_t k = 0; k < DSA_K; k++) {
		slow_mul_add(sum, &x.v[k], &y.v[k]);
		dsa_ntt(&x.v[k]);
		dsa_reduce(&x.v[k]);
		dsa_ntt(&y.v[k]);
	}
	dsa_dot(&out, &x, &y);
	dsa_ntt_inverse(&out);
	dsa_canonical(&out);
	for (size_t i = 0; i < DSA_N; i++)
		assert_int_equal(out.c[i], sum[i]);
}

static void ntt_multiplies_as_the_ring_does(void **state)
{
	struct rng_seeded rng;
	struct dsa_vec a, b;

	rng_seeded_init(&rng, 1);
	for (int round = 0; round < 8; round++) {
		for (size_t k = 0; k < DSA_K; k++) {
			random_poly(&rng.rng, &a.v[k]);
			random_poly(&rng.rng, &b.v[k]);
		}
		dot_is(&a, &b);
	}
}

static void largest_coefficients_do_not_overflow(void **state)
{
	struct dsa_vec a, b;

	for (size_t k = 0; k < DSA_K; k++)
		for (size_t i = 0; i < DSA_N; i++) {
			a.v[k].c[i] = DSA_Q - 1;
			b.v[k].c[i] = i % 2 == 0 ? DSA_Q - 1 : 1 - DSA_Q;
		}
	dot_is(&a, &b);
}

static void reduces_to_each_class(void **state)
{
	static const int32_t values[] = {0, 1, -1, DSA_Q, -DSA_Q, DSA_Q - 1, 1 - DSA_Q,
		(DSA_Q - 1) / 2, (DSA_Q + 1) / 2, -(DSA_Q + 1) / 2, 250 * DSA_Q, -250 * DSA_Q,
		INT32_MAX - (1 << 22), INT32_MIN + (1 << 22)};

	for (size_t i = 0; i < ARRAY_N(values); i++) {
		struct dsa_poly p = {{values[i]}}, q = p, r = p;
		dsa_reduce(&p);
		dsa_canonical(&q);
		dsa_centre(&r);
		assert_int_equal(mod(p.c[0]), mod(values[i]));
		assert_true(p.c[0] > -DSA_Q && p.c[0] < DSA_Q);
		assert_int_equal(q.c[0], mod(values[i]));
		assert_int_equal(mod(r.c[0]), mod(values[i]));
		assert_true(r.c[0] >= -(DSA_Q - 1) / 2 && r.c[0] <= (DSA_Q - 1) / 2);
	}
}

/* v mod+- m of the standard: in (-m/2, m/2] for even m */
static int32_t centred_mod(int32_t v, int32_t m)
{
	int32_t r = v % m;

	return r > m / 2 ? r - m : r;
}

static void rounds_as_the_divisions_do_for_every_value(void **state)
{
	struct dsa_poly r, high, low, t1, t0;

	for (int32_t first = 0; first < DSA_Q; first += DSA_N) {
		for (int32_t i = 0; i < DSA_N; i++)
			r.c[i] = first + i < DSA_Q ? first + i : DSA_Q - 1;
		dsa_decompose(&high, &low, &r);
		dsa_power2round(&t1, &t0, &r);
		for (int32_t i = 0; i < DSA_N; i++) {
			int32_t want = centred_mod(r.c[i], 2 * DSA_GAMMA2);
			bool wraps = r.c[i] - want == DSA_Q - 1;
			int32_t top = wraps ? 0 : (r.c[i] - want) / (2 * DSA_GAMMA2);
			int32_t dropped = centred_mod(r.c[i], 1 << DSA_DROPPED);
			if (high.c[i] != top || low.c[i] != want - wraps || t0.c[i] != dropped ||
				t1.c[i] != (r.c[i] - dropped) >> DSA_DROPPED)
				fail_msg("%d", (int)r.c[i]);
		}
	}
}

static void hints_give_the_high_bits_back(void **state)
{
	struct rng_seeded rng;
	struct dsa_poly r, z, sum, hint, high, low;

	rng_seeded_init(&rng, 2);
	for (int round = 0; round < 200; round++) {
		random_poly(&rng.rng, &r);
		for (size_t i = 0; i < DSA_N; i++)
			z.c[i] = (int32_t)rng_below(&rng.rng, 2 * DSA_GAMMA2 + 1) - DSA_GAMMA2;
		uint32_t ones = dsa_make_hint(&hint, &r, &z), seen = 0;
		/* the hint goes with r + z and brings back the high bits of r */
		dsa_decompose(&high, &low, &r);
		sum = r;
		dsa_add(&sum, &z);
		dsa_canonical(&sum);
		dsa_use_hint(&sum, &hint);
		for (size_t i = 0; i < DSA_N; i++) {
			assert_int_equal(sum.c[i], high.c[i]);
			seen += (uint32_t)hint.c[i];
		}
		assert_int_equal(ones, seen);
	}
}

static void bound_is_seen_in_every_place(void **state)
{
	struct dsa_poly p = {{0}};

	assert_int_equal(dsa_reaches(&p, 1), 0);
	for (size_t i = 0; i < DSA_N; i++) {
		for (int sign = -1; sign <= 1; sign += 2) {
			p.c[i] = sign * 500;
			assert_int_equal(dsa_reaches(&p, 501), 0);
			assert_int_equal(dsa_reaches(&p, 500), UINT32_MAX);
		}
		p.c[i] = 0;
	}
}

static void packing_comes_back(void **state)
{
	struct rng_seeded rng;
	struct dsa_poly p, q;
	uint8_t bytes[DSA_POLY_Z];

	rng_seeded_init(&rng, 3);
	for (size_t i = 0; i < DSA_N; i++)
		p.c[i] = (int32_t)rng_below(&rng.rng, 1024);
	dsa_pack_t1(bytes, &p);
	dsa_unpack_t1(&q, bytes);
	assert_memory_equal(&p, &q, sizeof(p));
	for (size_t i = 0; i < DSA_N; i++)
		p.c[i] = DSA_GAMMA1 - (int32_t)rng_below(&rng.rng, 2 * DSA_GAMMA1);
	dsa_pack_z(bytes, &p);
	dsa_unpack_z(&q, bytes);
	assert_memory_equal(&p, &q, sizeof(p));
}

/* Only one encoding of a hint is taken; each case is that of a good one with something changed. */
static void hint_has_one_encoding(void **state)
{
	struct dsa_vec hint = {{{{0}}}}, back;
	uint8_t good[DSA_HINT], bad[DSA_HINT];
	static const struct {
		size_t at;
		uint8_t value;
	} cases[] = {
		{0, 9},              /* not rising */
		{1, 3},              /* the same place twice */
		{DSA_OMEGA + 1, 1},  /* ends fall */
		{DSA_OMEGA + 3, 81}, /* more than there is room for */
		{DSA_OMEGA - 1, 1},  /* something behind the end */
		{DSA_OMEGA + 3, 2},  /* the last place is behind the end now */
	};

	hint.v[0].c[3] = hint.v[0].c[9] = hint.v[3].c[255] = 1;
	dsa_pack_hint(good, &hint);
	assert_ok(dsa_unpack_hint(&back, good));
	assert_memory_equal(&back, &hint, sizeof(hint));
	for (size_t i = 0; i < ARRAY_N(cases); i++) {
		memcpy(bad, good, sizeof(bad));
		bad[cases[i].at] = cases[i].value;
		assert_err(dsa_unpack_hint(&back, bad), E_SIGNATURE);
	}
	assert_memory_equal(&back, &hint, sizeof(hint));
}

/* SHA3-256 of what a seed, a message and fresh bytes give; made with other implementations for the
 * known-answer files that go around with the standard. */
static void known_answers(void **state)
{
	static const struct {
		const char *seed, *msg, *rnd, *pk, *sig;
	} cases[] = {
		{"7c9935a0b07694aa0c6d10e4db6b1add2fd81a25ccb148032dcd739936737f2d",
			"d81c4d8d734fcbfbeade3d3f8a039faa2a2c9957e835ad55b22e75bf57bb556ac8",
			"8626ed79d451140800e03b59b956f8210e556067407d13dc90fa9e8b872bfb8f",
			"42e51c8ab5de8df35bd209e57656e1e83f41a6c90fa10bc71b95c4f4f2c70a2c",
			"e50bfc6f185ce042313ce4eeb98c3c8fa62c3ddd18917997a104dea224186a3a"},
		{"4b622de1350119c45a9f2e2ef3dc5df50a759d138cdfbd64c81cc7cc2f513345",
			"225d5ce2ceac61930a07503fb59f7c2f936a3e075481da3ca299a80f8c5df9223a073e7b"
			"90e02ebf98ca2227eba38c1ab2568209e46dba961869c6f83983b17dcd49",
			"e82fcc97ca60ccb27bf6938c975658aeb8b4d37cffbde25d97e561f36c219ade",
			"3f8259e55ddf984d721052c391a81ba3cba1e3d9637fb5f07152fd2d1c25f21f",
			"7902f301c1f1a3be2f7212b6c84f8a7105e1642863ae24406edcf494960b1d6a"},
	};

	for (size_t i = 0; i < ARRAY_N(cases); i++) {
		uint8_t seed[32], msg[128], rnd[32], pk[MLDSA44_PK], sig[MLDSA44_SIG], hash[32];
		struct cslice text = {msg, strlen(cases[i].msg) / 2};
		help_hex(seed, cases[i].seed);
		help_hex(msg, cases[i].msg);
		help_hex(rnd, cases[i].rnd);
		mldsa44_public(seed, pk);
		sha3_256(hash, &(struct cslice){pk, sizeof(pk)}, 1);
		assert_hex(hash, cases[i].pk);
		assert_ok(mldsa44_sign(seed, cslice_of(NULL, 0), text, rnd, sig));
		sha3_256(hash, &(struct cslice){sig, sizeof(sig)}, 1);
		assert_hex(hash, cases[i].sig);
		assert_ok(mldsa44_verify(pk, cslice_of(NULL, 0), text, sig));
	}
}

static void damage_anywhere_is_refused(void **state)
{
	const uint8_t seed[32] = {7}, rnd[32] = {8};
	struct cslice msg = cslice_str("message"), context = cslice_str("context");
	uint8_t pk[MLDSA44_PK], sig[MLDSA44_SIG];

	mldsa44_public(seed, pk);
	assert_ok(mldsa44_sign(seed, context, msg, rnd, sig));
	assert_ok(mldsa44_verify(pk, context, msg, sig));
	assert_err(mldsa44_verify(pk, context, cslice_str("massage"), sig), E_SIGNATURE);
	assert_err(mldsa44_verify(pk, cslice_str("contex"), msg, sig), E_SIGNATURE);
	assert_err(mldsa44_verify(pk, cslice_of(NULL, 0), msg, sig), E_SIGNATURE);
	for (size_t i = 0; i < sizeof(sig); i += i < sizeof(sig) - DSA_HINT ? 29 : 1) {
		sig[i] ^= (uint8_t)(1 << i % 8);
		assert_err(mldsa44_verify(pk, context, msg, sig), E_SIGNATURE);
		sig[i] ^= (uint8_t)(1 << i % 8);
	}
	for (size_t i = 0; i < sizeof(pk); i += 31) {
		pk[i] ^= (uint8_t)(1 << i % 8);
		assert_err(mldsa44_verify(pk, context, msg, sig), E_SIGNATURE);
		pk[i] ^= (uint8_t)(1 << i % 8);
	}
	assert_ok(mldsa44_verify(pk, context, msg, sig));
}

static void context_has_at_most_255_bytes(void **state)
{
	const uint8_t seed[32] = {9}, rnd[32] = {0}, context[256] = {1};
	uint8_t pk[MLDSA44_PK], sig[MLDSA44_SIG], mark[MLDSA44_SIG];

	mldsa44_public(seed, pk);
	memset(sig, 0x77, sizeof(sig));
	memcpy(mark, sig, sizeof(mark));
	assert_err(mldsa44_sign(seed, cslice_of(context, 256), cslice_str("m"), rnd, sig), E_USAGE);
	assert_memory_equal(sig, mark, sizeof(sig));
	assert_ok(mldsa44_sign(seed, cslice_of(context, 255), cslice_str("m"), rnd, sig));
	assert_ok(mldsa44_verify(pk, cslice_of(context, 255), cslice_str("m"), sig));
	assert_err(mldsa44_verify(pk, cslice_of(context, 256), cslice_str("m"), sig), E_USAGE);
}

static void fresh_bytes_change_the_signature(void **state)
{
	const uint8_t seed[32] = {10}, none[32] = {0}, fresh[32] = {1};
	struct cslice msg = cslice_str("m"), empty = {NULL, 0};
	uint8_t pk[MLDSA44_PK], a[MLDSA44_SIG], b[MLDSA44_SIG], c[MLDSA44_SIG];

	mldsa44_public(seed, pk);
	assert_ok(mldsa44_sign(seed, empty, msg, none, a));
	assert_ok(mldsa44_sign(seed, empty, msg, none, b));
	assert_ok(mldsa44_sign(seed, empty, msg, fresh, c));
	assert_memory_equal(a, b, sizeof(a));
	assert_memory_not_equal(a, c, sizeof(a));
	assert_ok(mldsa44_verify(pk, empty, msg, c));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(ntt_multiplies_as_the_ring_does),
		cmocka_unit_test(largest_coefficients_do_not_overflow),
		cmocka_unit_test(reduces_to_each_class),
		cmocka_unit_test(rounds_as_the_divisions_do_for_every_value),
		cmocka_unit_test(hints_give_the_high_bits_back),
		cmocka_unit_test(bound_is_seen_in_every_place),
		cmocka_unit_test(packing_comes_back),
		cmocka_unit_test(hint_has_one_encoding),
		cmocka_unit_test(known_answers),
		cmocka_unit_test(damage_anywhere_is_refused),
		cmocka_unit_test(context_has_at_most_255_bytes),
		cmocka_unit_test(fresh_bytes_change_the_signature),
	};
	return cmocka_run_group_tests(tests, help_crypto_init, NULL);
}
