/* SPDX-License-Identifier: ISC */
/* own_sntrup - the rings of sntrup761 against the slow definitions, encodings, the sort, and
 * rejection */
#include <stdlib.h>

#include "crypto/own/sntrup_code.h"

#include "help.h"

#define P SNTRUP_P
#define Q SNTRUP_Q

static int64_t nearest(int64_t v, int64_t m)
{
	int64_t r = v % m;

	if (r > m / 2)
		r -= m;
	if (r < -(m / 2))
		r += m;
	return r;
}

static void random_small(struct rng *rng, struct small *p)
{
	memset(p, 0, sizeof(*p));
	for (size_t i = 0; i < P; i++)
		p->c[i] = (int8_t)((int)rng_below(rng, 3) - 1);
}

static void random_rq(struct rng *rng, struct rq *p)
{
	memset(p, 0, sizeof(*p));
	for (size_t i = 0; i < P; i++)
		p->c[i] = (int16_t)((int)rng_below(rng, Q) - Q / 2);
}

/* Schoolbook, then x^(p+i) = x^(i+1) + x^i from the top. */
static void slow_mul(int64_t out[P], const int16_t *a, const int8_t *b)
{
	int64_t sum[2 * P] = {0};

	for (size_t i = 0; i < P; i++)
		for (size_t j = 0; j < P; j++)
			sum[i + j] += (int64_t)a[i] * b[j];
	for (size_t i = 2 * P - 1; i >= P; i--) {
		sum[i - P] += sum[i];
		sum[i - P + 1] += sum[i];
	}
	memcpy(out, sum, P * sizeof(out[0]));
}

static void reduces_to_the_nearest(void **state)
{
	for (int32_t v = -5300000; v <= 5300000; v++) {
		if (sntrup_mod_q(v) != nearest(v, Q) || sntrup_mod_3(v) != nearest(v, 3))
			assert_int_equal(v, 0);
	}
	for (int32_t v = -(1 << 27); v < 1 << 27; v += 4567)
		assert_int_equal(sntrup_mod_q(v), nearest(v, Q));
}

static void multiplies_in_rq(void **state)
{
	struct rng_seeded rng;
	struct rq a, out;
	struct small b;
	int64_t want[P];

	rng_seeded_init(&rng, 1);
	for (int round = 0; round < 4; round++) {
		random_rq(&rng.rng, &a);
		random_small(&rng.rng, &b);
		if (round == 3) { /* the largest sums */
			for (size_t i = 0; i < P; i++) {
				a.c[i] = Q / 2;
				b.c[i] = 1;
			}
		}
		slow_mul(want, a.c, b.c);
		rq_mul_small(&out, &a, &b);
		for (size_t i = 0; i < P; i++)
			assert_int_equal(out.c[i], nearest(want[i], Q));
		for (size_t i = P; i < SNTRUP_PAD; i++)
			assert_int_equal(out.c[i], 0);
	}
}

static void inverts_in_r3(void **state)
{
	struct rng_seeded rng;
	struct small a, inverse, one;
	unsigned inverted = 0;

	rng_seeded_init(&rng, 2);
	for (int round = 0; round < 12; round++) {
		random_small(&rng.rng, &a);
		if (small_inverse(&inverse, &a) != 0)
			continue;
		inverted++;
		small_mul(&one, &a, &inverse);
		for (size_t i = 0; i < P; i++)
			assert_int_equal(one.c[i], i == 0);
	}
	assert_true(inverted >= 6);
}

/* x^761 - x - 1 has this factor modulo 3 (found by distinct-degree factorization). */
static const int8_t factor[] = {1, 1, 0, 1, 1, 1, -1, 1, -1, 1, 0, 1, -1, -1, -1, -1, 1, 0, -1, -1};

static void tells_what_has_no_inverse(void **state)
{
	struct rng_seeded rng;
	struct small a, b, out;

	rng_seeded_init(&rng, 10);
	memset(&a, 0, sizeof(a));
	assert_int_equal(small_inverse(&out, &a), UINT32_MAX);
	a.c[0] = -1;
	assert_int_equal(small_inverse(&out, &a), 0);
	assert_int_equal(out.c[0], -1);
	memcpy(a.c, factor, sizeof(factor));
	assert_int_equal(small_inverse(&out, &a), UINT32_MAX);
	for (int round = 0; round < 5; round++) {
		random_small(&rng.rng, &b);
		small_mul(&b, &b, &a);
		assert_int_equal(small_inverse(&out, &b), UINT32_MAX);
		b.c[0] = sntrup_mod_3(b.c[0] + 1);
		assert_int_equal(small_inverse(&out, &b), 0);
	}
}

static void inverts_in_rq(void **state)
{
	struct rng_seeded rng;
	struct small a;
	struct rq inverse, product;

	rng_seeded_init(&rng, 3);
	for (int round = 0; round < 4; round++) {
		random_small(&rng.rng, &a);
		rq_inverse_3(&inverse, &a);
		rq_mul_small(&product, &inverse, &a);
		for (size_t i = 0; i < P; i++)
			assert_int_equal(sntrup_mod_q(3 * product.c[i]), i == 0);
	}
}

static void encodings_come_back(void **state)
{
	struct rng_seeded rng;
	struct small a, b;
	struct rq p, q;
	uint8_t bytes[SNTRUP_RQ_BYTES];

	rng_seeded_init(&rng, 4);
	for (int round = 0; round < 20; round++) {
		random_small(&rng.rng, &a);
		small_encode(bytes, &a);
		small_decode(&b, bytes);
		assert_memory_equal(&a, &b, sizeof(a));
		random_rq(&rng.rng, &p);
		if (round < 2)
			for (size_t i = 0; i < P; i++)
				p.c[i] = round == 0 ? Q / 2 : -(Q / 2);
		rq_encode(bytes, &p);
		rq_decode(&q, bytes);
		assert_memory_equal(&p, &q, sizeof(p));
		for (size_t i = 0; i < P; i++)
			p.c[i] = (int16_t)(p.c[i] - nearest(p.c[i], 3));
		rounded_encode(bytes, &p);
		rounded_decode(&q, bytes);
		assert_memory_equal(&p, &q, sizeof(p));
	}
}

/* Peers may send any bytes: all must decode to coefficients in range. */
static void any_bytes_decode_in_range(void **state)
{
	struct rng_seeded rng;
	struct rq p;
	uint8_t bytes[SNTRUP_RQ_BYTES];

	rng_seeded_init(&rng, 5);
	for (int round = 0; round < 50; round++) {
		rng_fill(&rng.rng, bytes, sizeof(bytes));
		if (round == 0)
			memset(bytes, 0xff, sizeof(bytes));
		rq_decode(&p, bytes);
		for (size_t i = 0; i < P; i++)
			assert_in_range(p.c[i] + Q / 2, 0, Q - 1);
		rounded_decode(&p, bytes);
		for (size_t i = 0; i < P; i++)
			assert_in_range(p.c[i] + Q / 2, 0, Q - 1);
	}
}

static int compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static void sorts_every_length(void **state)
{
	struct rng_seeded rng;
	uint32_t v[P], want[P];

	rng_seeded_init(&rng, 6);
	for (size_t n = 0; n <= P; n += n < 70 ? 1 : 97) {
		rng_fill(&rng.rng, v, sizeof(v));
		if (n % 3 == 0)
			for (size_t i = 0; i < n; i++)
				v[i] = v[i] % 5 * 0x3fffffff;
		memcpy(want, v, sizeof(v));
		qsort(want, n, sizeof(want[0]), compare);
		ct_sort_u32(v, n);
		assert_memory_equal(v, want, sizeof(v));
	}
}

static void both_ends_agree(void **state)
{
	struct rng_seeded rng;
	uint8_t pk[SNTRUP761_PK], sk[SNTRUP761_SK], ct[SNTRUP761_CT], ss[32], out[32];

	rng_seeded_init(&rng, 7);
	for (int round = 0; round < 10; round++) {
		assert_ok(sntrup761_keypair(&rng.rng, pk, sk));
		assert_ok(sntrup761_encaps(&rng.rng, pk, ct, ss));
		assert_ok(sntrup761_decaps(sk, ct, out));
		assert_memory_equal(ss, out, sizeof(ss));
	}
}

/* The secret of a damaged ciphertext: SHA-512(0 || SHA-512(3 || rho)[:32] || ct)[:32]. */
static void damage_gives_the_rejection_secret(void **state)
{
	struct rng_seeded rng;
	uint8_t pk[SNTRUP761_PK], sk[SNTRUP761_SK], ct[SNTRUP761_CT], ss[32], out[32], y[64],
		want[64];
	static const size_t places[] = {0, 500, 1006, 1007, 1038};
	const uint8_t three = 3, zero = 0;

	rng_seeded_init(&rng, 8);
	assert_ok(sntrup761_keypair(&rng.rng, pk, sk));
	assert_ok(sntrup761_encaps(&rng.rng, pk, ct, ss));
	const uint8_t *rho = sk + SNTRUP761_SK - 32 - SNTRUP_SMALL_BYTES;
	assert_ok(hash_parts(
		HASH_SHA512, (struct cslice[]){{&three, 1}, {rho, SNTRUP_SMALL_BYTES}}, 2, y));
	for (size_t i = 0; i < ARRAY_N(places); i++) {
		ct[places[i]] ^= 0x10;
		assert_ok(hash_parts(HASH_SHA512,
			(struct cslice[]){{&zero, 1}, {y, 32}, {ct, sizeof(ct)}}, 3, want));
		assert_ok(sntrup761_decaps(sk, ct, out));
		assert_memory_equal(out, want, sizeof(out));
		ct[places[i]] ^= 0x10;
	}
}

static void short_polynomials_have_their_weight(void **state)
{
	struct rng_seeded rng;
	uint8_t pk[SNTRUP761_PK], sk[SNTRUP761_SK];
	struct small f;
	int weight = 0;

	rng_seeded_init(&rng, 9);
	assert_ok(sntrup761_keypair(&rng.rng, pk, sk));
	small_decode(&f, sk);
	for (size_t i = 0; i < P; i++)
		weight += f.c[i] != 0;
	assert_int_equal(weight, SNTRUP_W);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(reduces_to_the_nearest),
		cmocka_unit_test(multiplies_in_rq),
		cmocka_unit_test(inverts_in_r3),
		cmocka_unit_test(tells_what_has_no_inverse),
		cmocka_unit_test(inverts_in_rq),
		cmocka_unit_test(encodings_come_back),
		cmocka_unit_test(any_bytes_decode_in_range),
		cmocka_unit_test(sorts_every_length),
		cmocka_unit_test(both_ends_agree),
		cmocka_unit_test(damage_gives_the_rejection_secret),
		cmocka_unit_test(short_polynomials_have_their_weight),
	};
	return cmocka_run_group_tests(tests, help_crypto_init, NULL);
}
