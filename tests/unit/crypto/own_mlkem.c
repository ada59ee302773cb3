/* SPDX-License-Identifier: ISC */
/* own_mlkem - the arithmetic of ML-KEM against the slow definitions, and what it must refuse */
#include "crypto/own/mlkem_poly.h"

#include "help.h"

static int mod(int64_t v)
{
	int m = (int)(v % MLKEM_Q);

	return m < 0 ? m + MLKEM_Q : m;
}

static void random_poly(struct rng *rng, struct poly *p)
{
	for (size_t i = 0; i < MLKEM_N; i++)
		p->c[i] = (int16_t)rng_below(rng, MLKEM_Q);
}

/* x^256 = -1 */
static void slow_mul_add(int64_t sum[MLKEM_N], const struct poly *a, const struct poly *b)
{
	for (size_t i = 0; i < MLKEM_N; i++)
		for (size_t j = 0; j < MLKEM_N; j++) {
			int64_t product = (int64_t)a->c[i] * b->c[j];
			sum[(i + j) % MLKEM_N] += i + j < MLKEM_N ? product : -product;
		}
}

static void ntt_multiplies_as_the_ring_does(void **state)
{
	struct rng_seeded rng;

	rng_seeded_init(&rng, 1);
	for (int round = 0; round < 20; round++) {
		struct polyvec a, b;
		struct poly out;
		int64_t sum[MLKEM_N] = {0};
		for (size_t k = 0; k < MLKEM_K; k++) {
			random_poly(&rng.rng, &a.v[k]);
			random_poly(&rng.rng, &b.v[k]);
			slow_mul_add(sum, &a.v[k], &b.v[k]);
			poly_ntt(&a.v[k]);
			poly_ntt(&b.v[k]);
		}
		polyvec_dot(&out, &a, &b);
		poly_ntt_inverse(&out);
		poly_canonical(&out);
		for (size_t i = 0; i < MLKEM_N; i++)
			assert_int_equal(out.c[i], mod(sum[i]));
	}
}

static void largest_coefficients_do_not_overflow(void **state)
{
	struct polyvec a, b;
	struct poly out;
	int64_t sum[MLKEM_N] = {0};

	for (size_t k = 0; k < MLKEM_K; k++) {
		for (size_t i = 0; i < MLKEM_N; i++) {
			a.v[k].c[i] = MLKEM_Q - 1;
			b.v[k].c[i] = i % 2 == 0 ? MLKEM_Q - 1 : 1 - MLKEM_Q;
		}
		slow_mul_add(sum, &a.v[k], &b.v[k]);
		poly_ntt(&a.v[k]);
		poly_ntt(&b.v[k]);
	}
	polyvec_dot(&out, &a, &b);
	poly_ntt_inverse(&out);
	poly_canonical(&out);
	for (size_t i = 0; i < MLKEM_N; i++)
		assert_int_equal(out.c[i], mod(sum[i]));
}

static void reduces_every_word(void **state)
{
	struct poly p = {{0}}, q;

	for (int v = INT16_MIN; v <= INT16_MAX; v++) {
		p.c[0] = (int16_t)v;
		q = p;
		poly_reduce(&p);
		poly_canonical(&q);
		assert_int_equal(q.c[0], mod(v));
		assert_int_equal(mod(p.c[0]), mod(v));
		assert_true(p.c[0] >= -(MLKEM_Q - 1) / 2 && p.c[0] <= (MLKEM_Q - 1) / 2);
	}
}

static void compresses_as_the_division_does(void **state)
{
	for (unsigned bits = 1; bits <= 11; bits++)
		for (uint32_t x = 0; x < MLKEM_Q; x++) {
			uint32_t want =
				((2 * (x << bits) + MLKEM_Q) / (2 * MLKEM_Q)) % (1U << bits);
			assert_int_equal(mlkem_compress(x, bits), want);
		}
}

static void packing_comes_back(void **state)
{
	struct rng_seeded rng;
	struct poly p, q;
	uint8_t bytes[MLKEM_POLY_12];

	rng_seeded_init(&rng, 2);
	random_poly(&rng.rng, &p);
	poly_pack12(bytes, &p);
	assert_ok(poly_unpack12(&q, bytes));
	assert_memory_equal(&p, &q, sizeof(p));
	/* a decompressed value compresses to the same bytes */
	poly_pack10(bytes, &p);
	poly_unpack10(&q, bytes);
	uint8_t again[MLKEM_POLY_10];
	poly_pack10(again, &q);
	assert_memory_equal(bytes, again, MLKEM_POLY_10);
	poly_pack4(bytes, &p);
	poly_unpack4(&q, bytes);
	poly_pack4(again, &q);
	assert_memory_equal(bytes, again, MLKEM_POLY_4);
	poly_pack1(bytes, &p);
	poly_unpack1(&q, bytes);
	poly_pack1(again, &q);
	assert_memory_equal(bytes, again, 32);
}

static void refuses_each_coefficient_at_q(void **state)
{
	const uint8_t seed[64] = {5}, m[32] = {6};
	uint8_t ek[MLKEM768_EK], dk[MLKEM768_DK], ct[MLKEM768_CT], ss[32], mark[MLKEM768_CT];

	memset(mark, 0x77, sizeof(mark));
	assert_ok(mlkem768_keypair(seed, seed + 32, ek, dk));
	for (size_t i = 0; i < (size_t)MLKEM_K * MLKEM_N; i++) {
		uint8_t bad[MLKEM768_EK], *p = bad + i / 2 * 3;
		memcpy(bad, ek, sizeof(bad));
		if (i % 2 == 0) {
			p[0] = MLKEM_Q & 255;
			p[1] = (uint8_t)((p[1] & 0xf0) | MLKEM_Q >> 8);
		} else {
			p[1] = (uint8_t)((p[1] & 0x0f) | (MLKEM_Q & 15) << 4);
			p[2] = MLKEM_Q >> 4;
		}
		memcpy(ct, mark, sizeof(ct));
		memcpy(ss, mark, sizeof(ss));
		assert_err(mlkem768_encaps(bad, m, ct, ss), E_KEX_VALUE);
		assert_memory_equal(ct, mark, sizeof(ct));
		assert_memory_equal(ss, mark, sizeof(ss));
	}
	assert_ok(mlkem768_encaps(ek, m, ct, ss));
}

static void refuses_a_key_whose_hash_does_not_fit(void **state)
{
	const uint8_t seed[64] = {7}, m[32] = {8};
	uint8_t ek[MLKEM768_EK], dk[MLKEM768_DK], ct[MLKEM768_CT], ss[32], out[32];
	static const size_t places[] = {1152, 2300, 2336, 2367};

	assert_ok(mlkem768_keypair(seed, seed + 32, ek, dk));
	assert_ok(mlkem768_encaps(ek, m, ct, ss));
	for (size_t i = 0; i < ARRAY_N(places); i++) {
		memset(out, 0x77, sizeof(out));
		dk[places[i]] ^= 1;
		assert_err(mlkem768_decaps(dk, ct, out), E_KEX_VALUE);
		dk[places[i]] ^= 1;
		for (size_t j = 0; j < sizeof(out); j++)
			assert_int_equal(out[j], 0x77);
	}
	assert_ok(mlkem768_decaps(dk, ct, out));
	assert_memory_equal(out, ss, sizeof(out));
}

/* Any damage gives a secret that depends on z and the ciphertext only. */
static void damage_anywhere_is_rejected_in_silence(void **state)
{
	const uint8_t seed[64] = {9}, m[32] = {10};
	uint8_t ek[MLKEM768_EK], dk[MLKEM768_DK], ct[MLKEM768_CT], ss[32], out[32], last[32] = {0};

	assert_ok(mlkem768_keypair(seed, seed + 32, ek, dk));
	assert_ok(mlkem768_encaps(ek, m, ct, ss));
	for (size_t i = 0; i < sizeof(ct); i += 31) {
		ct[i] ^= (uint8_t)(1 << i % 8);
		assert_ok(mlkem768_decaps(dk, ct, out));
		ct[i] ^= (uint8_t)(1 << i % 8);
		assert_memory_not_equal(out, ss, sizeof(out));
		assert_memory_not_equal(out, last, sizeof(out));
		memcpy(last, out, sizeof(last));
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(ntt_multiplies_as_the_ring_does),
		cmocka_unit_test(largest_coefficients_do_not_overflow),
		cmocka_unit_test(reduces_every_word),
		cmocka_unit_test(compresses_as_the_division_does),
		cmocka_unit_test(packing_comes_back),
		cmocka_unit_test(refuses_each_coefficient_at_q),
		cmocka_unit_test(refuses_a_key_whose_hash_does_not_fit),
		cmocka_unit_test(damage_anywhere_is_rejected_in_silence),
	};
	return cmocka_run_group_tests(tests, help_crypto_init, NULL);
}
