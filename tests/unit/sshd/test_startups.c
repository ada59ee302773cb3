/* SPDX-License-Identifier: ISC */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "app/sshd/startups.h"

static unsigned dropped(const struct cfg_startups *c, size_t n)
{
	unsigned count = 0;
	for (uint32_t dice = 0; dice < 100; dice++)
		count += startups_check(c, n, dice) == STARTUPS_DROP;
	return count;
}

static void the_chance_grows_from_rate_to_all(void **state)
{
	struct cfg_startups c = {10, 30, 100};
	assert_int_equal(dropped(&c, 0), 0);
	assert_int_equal(dropped(&c, 9), 0);
	assert_int_equal(dropped(&c, 10), 30);
	assert_int_equal(dropped(&c, 55), 65);
	assert_int_equal(dropped(&c, 99), 99);
	assert_int_equal(dropped(&c, 100), 100);
	assert_int_equal(dropped(&c, 100000), 100);
	for (size_t n = 1; n < 120; n++)
		assert_true(dropped(&c, n) >= dropped(&c, n - 1));
}

static void one_number_is_a_wall(void **state)
{
	struct cfg_startups c = {3, 100, 3};
	assert_int_equal(dropped(&c, 2), 0);
	assert_int_equal(dropped(&c, 3), 100);
	c = (struct cfg_startups){5, 50, 5}; /* start = full: no division by zero */
	assert_int_equal(dropped(&c, 5), 100);
}

static void sources_are_masked(void **state)
{
	static const uint8_t a[4] = {192, 0, 2, 1}, b[4] = {192, 0, 2, 129}, c[4] = {192, 0, 3, 1};
	static const uint8_t six[16] = {0x20, 1, 0x0d, 0xb8, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1},
			     seven[16] = {0x20, 1, 0x0d, 0xb8, 0, 0, 0, 1, 9, 0, 0, 0, 0, 0, 0, 1};
	struct source x = source_mask(cslice_of(a, 4), "24:64"),
		      y = source_mask(cslice_of(b, 4), "24:64"),
		      z = source_mask(cslice_of(c, 4), "24:64");
	assert_true(source_eq(&x, &y));
	assert_false(source_eq(&x, &z));
	x = source_mask(cslice_of(a, 4), "25");
	y = source_mask(cslice_of(b, 4), "25");
	assert_false(source_eq(&x, &y));
	x = source_mask(cslice_of(a, 4), "32:128");
	assert_memory_equal(x.bytes, a, 4);
	x = source_mask(cslice_of(six, 16), "32:64");
	y = source_mask(cslice_of(seven, 16), "32:64");
	assert_true(source_eq(&x, &y));
	y = source_mask(cslice_of(seven, 16), "32:128");
	assert_false(source_eq(&x, &y));
	x = source_mask(cslice_of(a, 4), "0:0");
	y = source_mask(cslice_of(c, 4), "0:0");
	assert_true(source_eq(&x, &y));
	assert_int_equal(source_limit("none"), UINT32_MAX);
	assert_int_equal(source_limit("7"), 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_chance_grows_from_rate_to_all),
		cmocka_unit_test(one_number_is_a_wall),
		cmocka_unit_test(sources_are_masked),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
