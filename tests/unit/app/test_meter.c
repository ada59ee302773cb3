/* SPDX-License-Identifier: ISC */
/* The line that tells how far a copy is, as users of OpenSSH know it. */
#include <stdarg.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "app/copy/meter.h"

#define S 1000000ull /* us */

struct line_case {
	const char *name;
	uint64_t done, size, start_us, now_us, moved_us;
	double rate;
	bool is_over;
	size_t cols;
	const char *line;
};

/* clang-format off */
static const struct line_case cases[] = {
	{"big", 0, 6291456, 0, 0, 0, 0, false, 80,
	 "big                                             0%    0     0.0KB/s   --:-- ETA"},
	{"big", 261120, 6291456, 1, 2, 1, 253952, false, 80,
	 "big                                             4%  255KB 248.0KB/s   00:23 ETA"},
	{"big", 6291456, 6291456, 0, 3 * S, 1, 1, true, 80,
	 "big                                           100% 6144KB   2.0MB/s   00:03    "},
	{"zero", 0, 0, 1, 1, 1, 0, true, 80,
	 "zero                                          100%    0     0.0KB/s   00:00    "},
	{"a", 2, 2, 0, S / 10, 1, 0, true, 60,
	 "a                         100%    2     0.0KB/s   00:00    "},
	{"slow", 10, 100, 1, 7 * S, 1, 0, false, 80,
	 "slow                                           10%   10     0.0KB/s - stalled -"},
	{"huge", 99ull << 40, 100ull << 40, 1, 2, 1, 1024.0 * 1024 * 200, false, 80,
	 "huge                                           99%   99TB 200.0MB/s 1:27:22 ETA"},
	{"99.9 percent", 9999, 10000, 1, 2, 1, 1024, false, 80,
	 "99.9 percent                                   99% 9999     1.0KB/s   00:00 ETA"},
	{"more than it said", 20, 10, 1, 2, 1, 1024, false, 80,
	 "more than it said                             100%   20     1.0KB/s   00:00 ETA"},
	{"a long name that does not fit", 1, 1, 0, S, 1, 0, true, 50,
	 "a long name tha 100%    1     0.0KB/s   00:01    "},
	{"\xc3\xa4\xc3\xb6\xff\x1b[31m", 1, 1, 0, S, 1, 0, true, 50,
	 "\xc3\xa4\xc3\xb6\\377\\033[31m  100%    1     0.0KB/s   00:01    "},
	{"narrow", 1, 1, 0, S, 1, 0, true, 10, " 100%    1     0.0KB/s   00:01    "},
};
/* clang-format on */

static void a_line_has_name_percent_size_rate_and_time(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_N(cases); i++) {
		const struct line_case *c = &cases[i];
		struct meter_track t = {.done = c->done,
			.size = c->size,
			.start_us = c->start_us,
			.moved_us = c->moved_us,
			.rate = c->rate,
			.is_over = c->is_over};
		struct buf out;
		buf_init(&out, 4096);
		assert_int_equal(meter_line(&out, cslice_str(c->name), &t, c->now_us, c->cols), OK);
		buf_put_u8(&out, 0);
		assert_string_equal((const char *)out.p, c->line);
		buf_done(&out);
	}
}

static void the_rate_follows_slowly(void **state)
{
	(void)state;
	struct meter_track t = {.seen_us = S};
	t.done = 1000;
	meter_measure(&t, S); /* no time has passed: nothing to divide by */
	assert_true(t.rate == 0);
	meter_measure(&t, 2 * S);
	assert_int_equal((int)t.rate, 1000);
	t.done = 3000;
	meter_measure(&t, 3 * S);
	assert_int_equal((int)(t.rate + 0.5), 1100);
	t.done = 2000; /* a file that is begun again */
	meter_measure(&t, 4 * S);
	assert_int_equal((int)(t.rate + 0.5), 990);
}

static void nothing_is_shown_where_there_is_no_terminal(void **state)
{
	(void)state;
	int fds[2];
	assert_int_equal(pipe(fds), 0);
	struct meter m;
	struct xfer_progress p = {.name = "a", .file_size = 10, .size = 10, .files = 2};
	meter_init(&m, fds[1], NULL);
	meter_set(&m, true);
	meter_take(&m, &p);
	p.is_file_end = p.is_end = true;
	meter_take(&m, &p);
	meter_hide(&m);
	meter_done(&m);
	close(fds[1]);
	char c;
	assert_int_equal(read(fds[0], &c, 1), 0);
	close(fds[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_has_name_percent_size_rate_and_time),
		cmocka_unit_test(the_rate_follows_slowly),
		cmocka_unit_test(nothing_is_shown_where_there_is_no_terminal),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
