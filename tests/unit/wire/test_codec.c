/* SPDX-License-Identifier: ISC */
/* The codec: what is read, what is refused, and that nothing beyond the end is touched. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/buf.h"
#include "wire/codec.h"

static struct rd reader(const char *bytes, size_t n)
{
	return rd_of(cslice_of(bytes, n));
}

static void numbers_are_big_endian(void **state)
{
	(void)state;
	struct rd r = reader("\x01\x01\x02\x03\x04\x01\x02\x03\x04\x05\x06\x07\x08\x00\x02", 15);
	assert_int_equal(rd_u8(&r), 1);
	assert_int_equal(rd_u32(&r), 0x01020304);
	assert_true(rd_u64(&r) == 0x0102030405060708);
	assert_false(rd_bool(&r));
	assert_int_equal(rd_end(&r), E_TRAILING);
	assert_true(rd_bool(&r)); /* RFC4251 5: any value but 0 */
	assert_int_equal(rd_end(&r), OK);
}

static void after_a_short_field_all_is_bad_and_empty(void **state)
{
	(void)state;
	struct rd r = reader("\0\0\0\x05"
			     "abcd"
			     "\0\0\0\1x",
		13);
	struct cslice s = rd_str(&r); /* takes "abcd" and the next zero */
	assert_int_equal(s.n, 5);
	s = rd_str(&r);
	assert_int_equal(s.n, 0);
	assert_true(r.bad);
	assert_int_equal(rd_u8(&r), 0);
	assert_int_equal(rd_u32(&r), 0);
	assert_true(rd_u64(&r) == 0);
	assert_int_equal(rd_str(&r).n, 0);
	assert_int_equal(rd_rest(&r).n, 0);
	assert_int_equal(rd_end(&r), E_FORMAT);
}

static void lengths_up_to_the_largest_do_not_wrap(void **state)
{
	(void)state;
	static const uint32_t lengths[] = {
		2, 5, 0x7fffffff, 0x80000000, 0xfffffffb, 0xfffffffc, 0xffffffff};
	for (size_t i = 0; i < ARRAY_N(lengths); i++) {
		uint8_t b[5] = {0, 0, 0, 0, 'x'};
		be32_put(b, lengths[i]);
		struct rd r = rd_of(cslice_of(b, 5));
		assert_int_equal(rd_str(&r).n, 0);
		assert_int_equal(rd_end(&r), E_FORMAT);
	}
}

static void name_lists_are_checked(void **state)
{
	(void)state;
	static const struct {
		const char *s;
		bool is_good;
	} rows[] = {{"", true}, {"a", true}, {"a,b", true}, {"zlib@openssh.com,none", true},
		{",", false}, {",a", false}, {"a,,", false}, {"a,,b", false}, {"a b", false},
		{"a\tb", false}, {"a\x7f", false}, {"\xc3\xa9", false}, {"a\n", false},
		{"!\"#~", true}};
	for (size_t i = 0; i < ARRAY_N(rows); i++) {
		struct buf b;
		buf_init(&b, 100);
		buf_put_cstring(&b, rows[i].s);
		struct rd r = rd_of(buf_bytes(&b));
		struct cslice s = rd_names(&r);
		assert_int_equal(rd_end(&r), rows[i].is_good ? OK : E_FORMAT);
		assert_int_equal(s.n, rows[i].is_good ? strlen(rows[i].s) : 0);
		buf_done(&b);
	}
	struct rd r = reader("\0\0\0\2a\0", 6);
	assert_int_equal(rd_names(&r).n, 0);
	assert_int_equal(rd_end(&r), E_FORMAT);
	r = reader("\0\0\0\2a,", 6); /* libssh 0.10 sends such lists */
	assert_int_equal(rd_names(&r).n, 1);
	assert_int_equal(rd_end(&r), OK);
}

static void text_has_no_nul(void **state)
{
	(void)state;
	struct rd r = reader("\0\0\0\3a\0b", 7);
	assert_int_equal(rd_text(&r).n, 0);
	assert_int_equal(rd_end(&r), E_FORMAT);
	r = reader("\0\0\0\3a\0b", 7);
	assert_int_equal(rd_str(&r).n, 3);
	assert_int_equal(rd_end(&r), OK);
	r = reader("\0\0\0\0", 4);
	assert_int_equal(rd_text(&r).n, 0);
	assert_int_equal(rd_end(&r), OK);
}

static void mpints_are_not_negative_and_bounded(void **state)
{
	(void)state;
	static const struct {
		const char *bytes;
		size_t n, magnitude;
		err_t want;
	} rows[] = {
		{"\0\0\0\0", 4, 0, OK},
		{"\0\0\0\1\x7f", 5, 1, OK},
		{"\0\0\0\2\0\x80", 6, 1, OK},
		{"\0\0\0\4\0\0\0\1", 8, 1, OK}, /* leading zeros are cut */
		{"\0\0\0\2\0\0", 6, 0, OK},
		{"\0\0\0\1\x80", 5, 0, E_FORMAT},
		{"\0\0\0\2\xff\1", 6, 0, E_FORMAT},
		{"\0\0\0\3\1\2", 6, 0, E_FORMAT},
	};
	for (size_t i = 0; i < ARRAY_N(rows); i++) {
		struct rd r = reader(rows[i].bytes, rows[i].n);
		assert_int_equal(rd_mpint(&r).n, rows[i].magnitude);
		assert_int_equal(rd_end(&r), rows[i].want);
	}
	for (size_t n = 2048; n <= 2051; n++) {
		uint8_t *b = calloc(1, 4 + n);
		assert_non_null(b);
		be32_put(b, (uint32_t)n);
		b[4] = 1;
		struct rd r = rd_of(cslice_of(b, 4 + n));
		assert_int_equal(rd_mpint(&r).n, n <= 2049 ? n : 0);
		free(b);
	}
}

static void what_is_written_is_read(void **state)
{
	(void)state;
	uint8_t room[100], big[] = {0, 0, 0x80, 1};
	struct wr w = wr_of((struct slice){room, sizeof(room)});
	wr_u8(&w, 7);
	wr_u32(&w, 0xdeadbeef);
	wr_u64(&w, 0x1122334455667788);
	wr_str(&w, cslice_str("text"));
	wr_mpint(&w, cslice_of(big, 4));
	wr_mpint(&w, cslice_of(big, 2));
	wr_raw(&w, cslice_str("rest"));
	assert_int_equal(wr_end(&w), OK);
	assert_int_equal(wr_mpint_size(cslice_of(big, 4)), 4 + 3);
	assert_int_equal(wr_mpint_size(cslice_of(big, 2)), 4);
	struct rd r = rd_of(cslice_of(room, w.n));
	assert_int_equal(rd_u8(&r), 7);
	assert_int_equal(rd_u32(&r), 0xdeadbeef);
	assert_true(rd_u64(&r) == 0x1122334455667788);
	assert_true(cslice_eq_str(rd_str(&r), "text"));
	struct cslice m = rd_mpint(&r);
	assert_int_equal(m.n, 2);
	assert_memory_equal(m.p, "\x80\1", 2);
	assert_int_equal(rd_mpint(&r).n, 0);
	assert_true(cslice_eq_str(rd_rest(&r), "rest"));
	assert_int_equal(rd_end(&r), OK);
}

static void a_full_writer_writes_no_byte_more(void **state)
{
	(void)state;
	for (size_t cap = 0; cap < 12; cap++) {
		uint8_t room[16];
		memset(room, 0xaa, sizeof(room));
		struct wr w = wr_of((struct slice){room, cap});
		wr_u32(&w, 0);
		wr_str(&w, cslice_str("abcd"));
		assert_int_equal(wr_end(&w), E_MEM);
		for (size_t i = cap; i < sizeof(room); i++)
			assert_int_equal(room[i], 0xaa);
		wr_u8(&w, 1);
		assert_int_equal(wr_end(&w), E_MEM);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_big_endian),
		cmocka_unit_test(after_a_short_field_all_is_bad_and_empty),
		cmocka_unit_test(lengths_up_to_the_largest_do_not_wrap),
		cmocka_unit_test(name_lists_are_checked),
		cmocka_unit_test(text_has_no_nul),
		cmocka_unit_test(mpints_are_not_negative_and_bounded),
		cmocka_unit_test(what_is_written_is_read),
		cmocka_unit_test(a_full_writer_writes_no_byte_more),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
