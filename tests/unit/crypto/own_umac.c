/* SPDX-License-Identifier: ISC */
/* own_umac - modular arithmetic at its edges, cutting of messages, the kept pad, limits */
#include <stdlib.h>

#include "crypto/own/umac_nh.h"
#include "crypto/own/umac_poly.h"

#include "help.h"

typedef unsigned __int128 u128;

static const uint64_t p64 = 0 - (uint64_t)59;

/* RFC 4418 5.4.2, as it is written */
static uint64_t slow_step(uint64_t k, uint64_t y, uint64_t m)
{
	if (m >= 0 - ((uint64_t)1 << 32)) {
		y = (uint64_t)(((u128)k * y + (p64 - 1)) % p64);
		return (uint64_t)(((u128)k * y + (m - 59)) % p64);
	}
	return (uint64_t)(((u128)k * y + m) % p64);
}

static const uint64_t edges[] = {0, 1, 58, 59, 60, 61, 0xffffffff, 0x100000000, 0x01ffffff01ffffff,
	0x7fffffffffffffff, 0x8000000000000000, 0xfffffffeffffffff, 0xffffffff00000000,
	0xffffffff00000001, 0xffffffffffffffc4, 0xffffffffffffffc5, 0xffffffffffffffc6,
	0xfffffffffffffffe, 0xffffffffffffffff};

static void polynomial_step_is_exact(void **state)
{
	struct rng_seeded rng;
	uint64_t k, y, m;

	for (size_t i = 0; i < ARRAY_N(edges); i++)
		for (size_t j = 0; j < ARRAY_N(edges); j++)
			for (size_t l = 0; l < ARRAY_N(edges); l++) {
				k = edges[i] & 0x01ffffff01ffffff;
				uint64_t got = poly_reduce(poly_step(k, edges[j], edges[l]));
				assert_true(got == slow_step(k, edges[j] % p64, edges[l]));
			}
	rng_seeded_init(&rng, 1);
	for (int i = 0; i < 100000; i++) {
		rng_fill(&rng.rng, &k, sizeof(k));
		rng_fill(&rng.rng, &y, sizeof(y));
		rng_fill(&rng.rng, &m, sizeof(m));
		k &= 0x01ffffff01ffffff;
		if (i % 2 == 0)
			m |= 0xffffffff00000000;
		assert_true(poly_reduce(poly_step(k, y, m)) == slow_step(k, y % p64, m));
	}
}

static void reduces_modulo_p36(void **state)
{
	struct rng_seeded rng;
	uint64_t v;

	for (size_t i = 0; i < ARRAY_N(edges); i++)
		assert_true(p36_reduce(edges[i]) == edges[i] % (((uint64_t)1 << 36) - 5));
	for (int64_t d = -20; d <= 20; d++)
		for (uint64_t times = 1; times < 40; times++) {
			v = times * P36 + (uint64_t)d;
			assert_true(p36_reduce(v) == v % P36);
		}
	rng_seeded_init(&rng, 2);
	for (int i = 0; i < 100000; i++) {
		rng_fill(&rng.rng, &v, sizeof(v));
		assert_true(p36_reduce(v) == v % P36);
	}
}

/* RFC 4418 5.2.2, as it is written */
static uint64_t slow_nh(const uint32_t *key, const uint8_t *m, size_t n)
{
	uint64_t sum = 0;
	for (size_t at = 0; at < n; at += UMAC_CHUNK) {
		uint32_t w[8];
		for (size_t i = 0; i < 8; i++)
			w[i] = (uint32_t)m[at + 4 * i] | (uint32_t)m[at + 4 * i + 1] << 8 |
			       (uint32_t)m[at + 4 * i + 2] << 16 |
			       (uint32_t)m[at + 4 * i + 3] << 24;
		for (size_t i = 0; i < 4; i++)
			sum += (uint64_t)(uint32_t)(w[i] + key[at / 4 + i]) *
			       (uint32_t)(w[i + 4] + key[at / 4 + i + 4]);
	}
	return sum;
}

/* Each form, each size, anywhere; memory that ends with message and key, for the address sanitizer.
 */
static void nh_is_exact_in_every_form(void **state)
{
	struct rng_seeded rng;
	rng_seeded_init(&rng, 8);
	for (size_t streams = 2; streams <= 4; streams += 2)
		for (size_t n = 0; n <= 1024; n += UMAC_CHUNK)
			for (size_t shift = 0; shift < 4; shift++) {
				size_t key_n = n + 16 * (streams - 1);
				uint8_t *m = malloc(n + shift);
				uint32_t *key = malloc(key_n);
				uint64_t start[4], plain[4], picked[4];
				rng_fill(&rng.rng, m, n + shift);
				rng_fill(&rng.rng, key, key_n);
				rng_fill(&rng.rng, start, sizeof(start));
				if (shift == 1) /* all sums and products at their largest */
					memset(m, 0xff, n + shift);
				memcpy(plain, start, sizeof(start));
				memcpy(picked, start, sizeof(start));
				umac_nh_plain(streams)(plain, key, m + shift, n);
				umac_nh_pick(streams)(picked, key, m + shift, n);
				for (size_t s = 0; s < 4; s++) {
					uint64_t want = start[s];
					if (s < streams)
						want += slow_nh(key + 4 * s, m + shift, n);
					assert_true(plain[s] == want);
					assert_true(picked[s] == want);
				}
				free(key);
				free(m);
			}
}

/* A tag does not depend on how the message is cut or where it lies. */
static void cutting_does_not_matter(void **state)
{
	static const size_t sizes[] = {1, 31, 32, 33, 1000, 1023, 1024, 1025, 1055, 1056, 1057,
		2047, 2048, 2049, 3072, 5000};
	const uint8_t key[16] = {1, 2, 3}, nonce[8] = {0, 0, 0, 0, 0, 0, 0, 9};
	struct rng_seeded rng;
	uint8_t text[5001], whole[16], cut[16];

	rng_seeded_init(&rng, 3);
	rng_fill(&rng.rng, text, sizeof(text));
	for (size_t tag_n = 8; tag_n <= 16; tag_n += 8) {
		struct umac *u;
		assert_ok(umac_new(&u, tag_n, key));
		for (size_t i = 0; i < ARRAY_N(sizes); i++) {
			size_t n = sizes[i];
			assert_ok(umac_tag(u, nonce, &(struct cslice){text + 1, n}, 1, whole));
			for (int round = 0; round < 40; round++) {
				size_t a = rng_below(&rng.rng, (uint32_t)n + 1);
				size_t b = a + rng_below(&rng.rng, (uint32_t)(n - a) + 1);
				const struct cslice parts[4] = {{text + 1, a},
					{text + 1 + a, b - a}, {NULL, 0}, {text + 1 + b, n - b}};
				assert_ok(umac_tag(u, nonce, parts, 4, cut));
				assert_memory_equal(cut, whole, tag_n);
			}
		}
		umac_free(u);
	}
}

static void each_byte_and_the_length_matter(void **state)
{
	const uint8_t key[16] = {4}, nonce[8] = {0};
	uint8_t text[2100] = {0}, tag[16], other[16];
	struct umac *u;

	assert_ok(umac_new(&u, 16, key));
	assert_ok(umac_tag(u, nonce, &(struct cslice){text, sizeof(text)}, 1, tag));
	for (size_t i = 0; i < sizeof(text); i++) {
		text[i] = 1;
		assert_ok(umac_tag(u, nonce, &(struct cslice){text, sizeof(text)}, 1, other));
		assert_memory_not_equal(tag, other, 16);
		text[i] = 0;
		assert_ok(umac_tag(u, nonce, &(struct cslice){text, i}, 1, other));
		assert_memory_not_equal(tag, other, 16);
	}
	umac_free(u);
}

/* Whatever was asked before, a nonce gives the tag that a new context gives. */
static void the_kept_pad_is_the_right_one(void **state)
{
	const uint8_t key[16] = {5};
	const struct cslice m = {(const uint8_t *)"text", 4};
	struct rng_seeded rng;

	rng_seeded_init(&rng, 4);
	for (size_t tag_n = 8; tag_n <= 16; tag_n += 8) {
		struct umac *u, *fresh;
		assert_ok(umac_new(&u, tag_n, key));
		for (int i = 0; i < 200; i++) {
			uint8_t nonce[8] = {0}, got[16], want[16];
			nonce[7] = (uint8_t)rng_below(&rng.rng, 6);
			nonce[i % 8] ^= (uint8_t)(i % 3);
			assert_ok(umac_new(&fresh, tag_n, key));
			assert_ok(umac_tag(fresh, nonce, &m, 1, want));
			assert_ok(umac_tag(u, nonce, &m, 1, got));
			assert_memory_equal(got, want, tag_n);
			umac_free(fresh);
		}
		umac_free(u);
	}
}

static void nonces_give_different_tags(void **state)
{
	const uint8_t key[16] = {6};
	const struct cslice m = {(const uint8_t *)"text", 4};
	uint8_t tags[64][8];
	struct umac *u;

	assert_ok(umac_new(&u, 8, key));
	for (uint8_t i = 0; i < 64; i++) {
		const uint8_t nonce[8] = {[7] = i};
		assert_ok(umac_tag(u, nonce, &m, 1, tags[i]));
		for (uint8_t j = 0; j < i; j++)
			assert_memory_not_equal(tags[i], tags[j], 8);
	}
	umac_free(u);
}

static void limits_hold(void **state)
{
	const uint8_t key[16] = {7}, nonce[8] = {0};
	size_t n = ((size_t)1 << 24) + 1;
	uint8_t *text = calloc(1, n), tag[8] = {0x55}, before[8] = {0x55};
	struct umac *u = NULL;

	assert_non_null(text);
	assert_err(umac_new(&u, 12, key), E_UNSUPPORTED);
	assert_null(u);
	assert_ok(umac_new(&u, 8, key));
	assert_err(umac_tag(u, nonce, &(struct cslice){text, n}, 1, tag), E_LIMIT);
	assert_memory_equal(tag, before, 8);
	assert_ok(umac_tag(u, nonce, &(struct cslice){text, n - 1}, 1, tag));
	umac_free(u);
	umac_free(NULL);
	free(text);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(polynomial_step_is_exact),
		cmocka_unit_test(reduces_modulo_p36),
		cmocka_unit_test(nh_is_exact_in_every_form),
		cmocka_unit_test(cutting_does_not_matter),
		cmocka_unit_test(each_byte_and_the_length_matter),
		cmocka_unit_test(the_kept_pad_is_the_right_one),
		cmocka_unit_test(nonces_give_different_tags),
		cmocka_unit_test(limits_hold),
	};
	return cmocka_run_group_tests(tests, help_crypto_init, NULL);
}
