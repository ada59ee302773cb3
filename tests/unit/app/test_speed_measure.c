/* SPDX-License-Identifier: ISC */
/* The clock of the local tables: it counts what was done, and a signal ends it. */
#include <signal.h>
#include <stdarg.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "app/ssh-speed/measure.h"

struct counter {
	uint64_t calls, fail_at, signal_at;
};

static err_t busy(void *arg)
{
	struct counter *c = arg;
	volatile uint32_t x = 1;
	for (int i = 0; i < 1000; i++)
		x = x * 1664525u + 1013904223u;
	if (++c->calls == c->signal_at)
		(void)raise(SIGINT); /* blocked: it stays pending */
	return c->calls == c->fail_at ? E_CRYPTO : OK;
}

static err_t busy_apart(void *arg, struct measure_parts *p)
{
	double begin = measure_now();
	err_t e = busy(arg);
	p->spent[0] += measure_now() - begin;
	p->spent[1] += measure_now() - begin;
	p->done++;
	return e;
}

static void rate_is_calls_over_time(void **state)
{
	struct counter c = {0};
	double rate = 0, begin = measure_now();
	assert_int_equal(measure_rate(0.02, busy, &c, &rate), OK);
	double took = measure_now() - begin;
	assert_true(took >= 0.02);
	assert_true(c.calls > 10);
	/* the first call does not count, and reading the clock takes a little */
	assert_true(rate >= (double)(c.calls - 1) / took);
	assert_true(rate <= (double)c.calls / 0.02);
}

static void parts_are_counted_without_the_first(void **state)
{
	struct counter c = {0};
	struct measure_parts p = {.n = 2};
	assert_int_equal(measure_apart(0.01, busy_apart, &c, &p), OK);
	assert_true(p.spent[0] >= 0.01 && p.spent[1] >= 0.01);
	assert_int_equal(p.done, c.calls - 1);
}

static void an_error_ends_it_and_gives_no_rate(void **state)
{
	struct counter c = {.fail_at = 3};
	double rate = -1;
	assert_int_equal(measure_rate(10, busy, &c, &rate), E_CRYPTO);
	assert_int_equal(c.calls, 3);
	assert_true(rate == -1);
}

static void a_signal_ends_it(void **state)
{
	struct counter c = {.signal_at = 5};
	double rate = -1;
	struct measure_parts p = {.n = 2};
	stop_watch();
	assert_int_equal(stop_signal(), 0);
	assert_int_equal(measure_rate(1000, busy, &c, &rate), E_CANCELLED);
	assert_true(rate == -1);
	assert_int_equal(stop_signal(), SIGINT);
	assert_int_equal(measure_apart(1000, busy_apart, &c, &p), E_CANCELLED);
	sigset_t set;
	int got;
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	assert_int_equal(sigwait(&set, &got), 0);
	assert_int_equal(stop_signal(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rate_is_calls_over_time),
		cmocka_unit_test(parts_are_counted_without_the_first),
		cmocka_unit_test(an_error_ends_it_and_gives_no_rate),
		cmocka_unit_test(a_signal_ends_it),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
