/* SPDX-License-Identifier: ISC */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "app/sshd/monitor.h"
#include "base/rng.h"

static void put_line(struct buf *b, const char *head, unsigned bits, char digit)
{
	buf_printf(b, "20260101000000 %s %u 2 ", head, bits - 1);
	for (unsigned i = 0; i < bits / 4; i++)
		buf_put_u8(b, (uint8_t)(i == 0 ? 'F' : digit));
	buf_put_u8(b, '\n');
}

struct got {
	size_t n;
	uint8_t last;
};

static err_t pick(const struct buf *text, struct ps_req_moduli want, struct got *out)
{
	struct buf p, g;
	struct rng_seeded rng;
	static uint64_t seed;
	rng_seeded_init(&rng, ++seed);
	buf_init(&p, 4096);
	buf_init(&g, 64);
	err_t e = moduli_pick(buf_bytes(text), &want, &rng.rng, &p, &g);
	if (e == OK) {
		out->n = p.n;
		out->last = p.p[p.n - 1];
		assert_int_equal(g.n, 1);
		assert_int_equal(g.p[0], 2);
	}
	buf_done(&p);
	buf_done(&g);
	return e;
}

static void the_smallest_that_reaches_the_wish_else_the_largest(void **state)
{
	struct buf text;
	struct got got = {0};
	buf_init(&text, 1 << 20);
	buf_printf(&text, "# a comment\n\n");
	put_line(&text, "2 6 100", 2048, '1');
	put_line(&text, "2 6 100", 4096, '2');
	put_line(&text, "2 6 100", 3072, '3');
	put_line(&text, "2 6 100", 3072, '4');
	assert_int_equal(pick(&text, (struct ps_req_moduli){2048, 3000, 8192, 0}, &got), OK);
	assert_int_equal(got.n, 384);
	assert_int_equal(pick(&text, (struct ps_req_moduli){2048, 2048, 8192, 0}, &got), OK);
	assert_int_equal(got.n, 256);
	assert_int_equal(pick(&text, (struct ps_req_moduli){2048, 7680, 8192, 0}, &got), OK);
	assert_int_equal(got.n, 512);
	assert_int_equal(pick(&text, (struct ps_req_moduli){2048, 7680, 3500, 0}, &got), OK);
	assert_int_equal(got.n, 384);
	assert_int_equal(
		pick(&text, (struct ps_req_moduli){5000, 6000, 8192, 0}, &got), E_NOT_FOUND);
	/* one of a size at random: both come */
	bool seen3 = false, seen4 = false;
	for (int i = 0; i < 64; i++) {
		assert_int_equal(
			pick(&text, (struct ps_req_moduli){2048, 3072, 8192, 0}, &got), OK);
		seen3 |= got.last == 0x33;
		seen4 |= got.last == 0x44;
	}
	assert_true(seen3 && seen4);
	buf_done(&text);
}

static void lines_that_are_not_safe_primes_are_left_out(void **state)
{
	static const char *const heads[] = {
		"1 6 100", "2 7 100", "2 2 100", "2 0 100", "x 6 100", "2 6"};
	struct buf text;
	struct got got;
	buf_init(&text, 1 << 20);
	for (size_t i = 0; i < ARRAY_N(heads); i++)
		put_line(&text, heads[i], 2048, '1');
	put_line(&text, "2 6 100", 1024, '1'); /* too small whatever was asked */
	buf_printf(&text, "20260101000000 2 6 100 2047 2 FFFF\n"); /* not what it says */
	buf_printf(&text, "20260101000000 2 6 100 4294967295 2 FF");
	assert_int_equal(pick(&text, (struct ps_req_moduli){0, 2048, 8192, 0}, &got), E_NOT_FOUND);
	buf_done(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_smallest_that_reaches_the_wish_else_the_largest),
		cmocka_unit_test(lines_that_are_not_safe_primes_are_left_out),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
