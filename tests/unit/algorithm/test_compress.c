/* SPDX-License-Identifier: ISC */
/* zlib@openssh.com: each packet expands at once, damage and bombs are refused, the totals are
 * right. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "algorithm/compress.h"
#include "base/rng.h"

#define LIMIT 300000

struct pipe {
	struct compress *in, *out;
	struct buf packed, back;
};

static void pipe_init(struct pipe *p)
{
	*p = (struct pipe){0};
	assert_int_equal(compress_new(&p->in, true), OK);
	assert_int_equal(compress_new(&p->out, false), OK);
	buf_init(&p->packed, 1 << 20);
	buf_init(&p->back, 1 << 20);
}

static void pipe_done(struct pipe *p)
{
	buf_done(&p->back);
	buf_done(&p->packed);
	compress_free(p->out);
	compress_free(p->in);
}

static void each_packet_expands_at_once(void **state)
{
	(void)state;
	struct pipe p;
	struct rng_seeded r;
	static uint8_t data[70000];
	uint64_t raw = 0, packed = 0, raw_sum = 0, packed_sum = 0;
	pipe_init(&p);
	rng_seeded_init(&r, 7);
	for (size_t i = 0; i < 60; i++) {
		size_t n = i < 3 ? i : rng_below(&r.rng, sizeof(data));
		rng_fill(&r.rng, data, n);
		for (size_t k = 0; k < n && i % 3 != 0; k++) /* compressible and not */
			data[k] = (uint8_t)(data[k] % 4 + 'a');
		buf_clear(&p.packed);
		buf_clear(&p.back);
		assert_int_equal(compress_run(p.in, cslice_of(data, n), &p.packed, LIMIT), OK);
		assert_int_equal(compress_run(p.out, buf_bytes(&p.packed), &p.back, LIMIT), OK);
		assert_int_equal(p.back.n, n);
		if (n > 0)
			assert_memory_equal(p.back.p, data, n);
		raw_sum += n;
		packed_sum += p.packed.n;
	}
	compress_totals(p.in, &raw, &packed);
	assert_true(raw == raw_sum && packed == packed_sum && packed < raw);
	compress_totals(p.out, &raw, &packed);
	assert_true(raw == raw_sum && packed == packed_sum);
	pipe_done(&p);
	compress_free(NULL);
}

static void a_bomb_stops_at_the_limit(void **state)
{
	(void)state;
	struct pipe p;
	pipe_init(&p);
	uint8_t *zero = calloc(1, LIMIT + 1);
	assert_int_equal(compress_run(p.in, cslice_of(zero, LIMIT), &p.packed, LIMIT), OK);
	assert_true(p.packed.n < 1000);
	assert_int_equal(compress_run(p.out, buf_bytes(&p.packed), &p.back, LIMIT),
		OK); /* the limit itself */
	assert_int_equal(p.back.n, LIMIT);
	buf_clear(&p.packed);
	buf_clear(&p.back);
	assert_int_equal(compress_run(p.in, cslice_of(zero, LIMIT + 1), &p.packed, LIMIT), OK);
	assert_int_equal(compress_run(p.out, buf_bytes(&p.packed), &p.back, LIMIT), E_COMPRESSION);
	assert_true(p.back.n <= LIMIT);
	free(zero);
	pipe_done(&p);
}

static void damage_is_refused(void **state)
{
	(void)state;
	struct pipe p;
	static uint8_t junk[64];
	pipe_init(&p);
	memset(junk, 0xff, sizeof(junk));
	assert_int_equal(
		compress_run(p.out, cslice_of(junk, sizeof(junk)), &p.back, LIMIT), E_COMPRESSION);
	pipe_done(&p);
}

/* A whole zlib stream with an end: the stream of a connection has none. */
static void a_stream_that_ends_is_refused(void **state)
{
	(void)state;
	static const uint8_t ended[] = {0x78, 0x9c, 0x4b, 0x4c, 0x4a, 0x06, 0x00, 0x02, 0x4d, 0x01,
		0x27, 'm', 'o', 'r', 'e'};
	struct pipe p;
	pipe_init(&p);
	assert_int_equal(compress_run(p.out, cslice_of(ended, sizeof(ended)), &p.back, LIMIT),
		E_COMPRESSION);
	pipe_done(&p);
}

static void a_full_buffer_is_an_error(void **state)
{
	(void)state;
	struct pipe p;
	struct buf small;
	static uint8_t data[5000];
	pipe_init(&p);
	buf_init(&small, 100);
	assert_int_equal(compress_run(p.in, cslice_of(data, sizeof(data)), &p.packed, LIMIT), OK);
	assert_int_equal(compress_run(p.out, buf_bytes(&p.packed), &small, LIMIT), E_LIMIT);
	buf_done(&small);
	pipe_done(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_packet_expands_at_once),
		cmocka_unit_test(a_bomb_stops_at_the_limit),
		cmocka_unit_test(damage_is_refused),
		cmocka_unit_test(a_stream_that_ends_is_refused),
		cmocka_unit_test(a_full_buffer_is_an_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
