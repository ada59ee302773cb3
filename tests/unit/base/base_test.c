/* SPDX-License-Identifier: ISC */
/* base_test - buffers, chunks, base64, lists, patterns, safe printing, numbers: each promise of the
 * headers */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/chunk.h"
#include "base/log.h"
#include "base/rng.h"
#include "base/secret.h"
#include "base/text.h"

static void every_error_has_a_row(void **state)
{
	(void)state;
	for (int e = 0; e < ERR_N; e++) {
		assert_true(err_text((err_t)e)[0] != '\0');
		assert_true(strncmp(err_name((err_t)e), e == OK ? "OK" : "E_", 2) == 0);
	}
	assert_int_equal(err_kind_of(E_MAC), ERR_KIND_PEER);
	assert_int_equal(err_disconnect(E_MAC), 5);
	assert_string_equal(err_name((err_t)9999), "E_BUG");
}

static void sums_refuse_overflow(void **state)
{
	(void)state;
	size_t out = 7;
	assert_int_equal(num_add(SIZE_MAX, 1, &out), E_MEM);
	assert_int_equal(num_mul(SIZE_MAX / 2, 3, &out), E_MEM);
	assert_int_equal(out, 7);
	assert_int_equal(num_add(2, 3, &out), OK);
	assert_int_equal(out, 5);
}

static void buffer_stops_at_its_limit_and_stays_stopped(void **state)
{
	(void)state;
	struct buf b;
	buf_init(&b, 10);
	buf_put(&b, "12345678", 8);
	assert_int_equal(buf_err(&b), OK);
	buf_put(&b, "90a", 3);
	assert_int_equal(buf_err(&b), E_LIMIT);
	assert_int_equal(b.n, 8);
	buf_put_u8(&b, 1);
	assert_int_equal(b.n, 8);
	buf_clear(&b);
	buf_printf(&b, "%s", "0123456789"); /* needs one byte more for the NUL that is not kept */
	assert_int_equal(buf_err(&b), E_LIMIT);
	buf_done(&b);
}

static void buffer_writes_the_wire_forms(void **state)
{
	(void)state;
	static const uint8_t want[] = {
		0, 0, 0, 1, 'x', 0, 0, 0, 2, 0, 0x80, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8};
	struct buf b;
	buf_init(&b, 100);
	buf_put_cstring(&b, "x");
	buf_put_mpint(&b, cslice_of("\0\0\x80", 3));
	buf_put_mpint(&b, cslice_of("\0\0", 2));
	buf_put_u64(&b, 0x0102030405060708u);
	assert_int_equal(b.n, sizeof(want));
	assert_memory_equal(b.p, want, sizeof(want));
	buf_eat(&b, 5);
	assert_memory_equal(b.p, want + 5, sizeof(want) - 5);
	buf_done(&b);
}

static void wiped_memory_is_zero(void **state)
{
	(void)state;
	struct secret s = {.n = 3, .b = {1, 2, 3}};
	struct secret zero = {0};
	secret_done(&s);
	assert_memory_equal(&s, &zero, sizeof(s));
	assert_true(ct_eq("abc", "abc", 3));
	assert_false(ct_eq("abc", "abd", 3));
	assert_true(ct_eq(NULL, NULL, 0));
}

static void chunks_respect_the_budget_and_come_back(void **state)
{
	(void)state;
	struct chunk_pool pool;
	struct chunk *a, *b, *c = NULL;
	chunk_pool_init(&pool, 2 * CHUNK_SIZE);
	assert_int_equal(chunk_get(&pool, &a), OK);
	assert_int_equal(chunk_get(&pool, &b), OK);
	assert_int_equal(chunk_get(&pool, &c), E_AGAIN);
	assert_null(c);
	struct span s = {a, a->p, 10};
	span_keep(&s);
	chunk_drop(a);
	assert_int_equal(pool.used, 2 * CHUNK_SIZE); /* the span still holds it */
	span_drop(&s);
	assert_int_equal(pool.used, CHUNK_SIZE);
	assert_int_equal(chunk_get(&pool, &c), OK);
	chunk_drop(b);
	chunk_drop(c);
	chunk_drop(NULL);
	chunk_pool_done(&pool);
}

static const struct {
	const char *plain, *coded;
} base64_pairs[] = {{"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"}, {"foob", "Zm9vYg=="},
	{"fooba", "Zm9vYmE="}, {"foobar", "Zm9vYmFy"}}; /* RFC 4648 10 */
static const char *const base64_bad[] = {
	"Z", "Zg", "Zg=", "Zg===", "Zg==Zg==", "=", "Zm9v=", "Zm9v!", "Zm 9v", "====", "Z==="};

static void base64_vectors(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_N(base64_pairs); i++) {
		struct buf b;
		buf_init(&b, 100);
		base64_encode(&b, cslice_str(base64_pairs[i].plain));
		assert_true(cslice_eq_str(buf_bytes(&b), base64_pairs[i].coded));
		buf_clear(&b);
		assert_int_equal(base64_decode(&b, cslice_str(base64_pairs[i].coded), false), OK);
		assert_true(cslice_eq_str(buf_bytes(&b), base64_pairs[i].plain));
		buf_done(&b);
	}
	for (size_t i = 0; i < ARRAY_N(base64_bad); i++) {
		struct buf b;
		buf_init(&b, 100);
		buf_put(&b, "kept", 4);
		if (base64_decode(&b, cslice_str(base64_bad[i]), false) == OK)
			fail_msg("%s was accepted", base64_bad[i]);
		assert_int_equal(b.n, 4);
		buf_done(&b);
	}
}

static void name_lists(void **state)
{
	(void)state;
	struct cslice rest = cslice_str("a,bc,d"), one;
	char seen[16] = "";
	while (list_next(&rest, &one))
		strncat(strcat(seen, "|"), (const char *)one.p, one.n);
	assert_string_equal(seen, "|a|bc|d");
	assert_true(list_has(cslice_str("a,bc"), cslice_str("bc")));
	assert_false(list_has(cslice_str("a,bc"), cslice_str("b")));
	assert_false(list_has(cslice_str(""), cslice_str("")));
}

static const struct {
	const char *pattern, *text;
	bool yes;
} globs[] = {{"", "", true}, {"*", "", true}, {"*", "x", true}, {"?", "", false},
	{"a*b", "ab", true}, {"a*b", "axxb", true}, {"a*b", "axxc", false},
	{"*.example", "a.example", true}, {"a?c", "abc", true}, {"*a*a*", "ba", false},
	{"*a*a*", "banana", true}, {"**", "x", true}, {"x", "X", false}};

static void patterns(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_N(globs); i++)
		if (glob_match(cslice_str(globs[i].pattern), cslice_str(globs[i].text)) !=
			globs[i].yes)
			fail_msg("%s on %s", globs[i].pattern, globs[i].text);
	assert_int_equal(glob_match_list(cslice_str("!b,*"), cslice_str("b")), PATTERN_NEGATED);
	assert_int_equal(glob_match_list(cslice_str("*,!b"), cslice_str("b")), PATTERN_NEGATED);
	assert_int_equal(glob_match_list(cslice_str("a,c"), cslice_str("c")), PATTERN_MATCH);
	assert_int_equal(glob_match_list(cslice_str("!a"), cslice_str("c")), PATTERN_NONE);
}

/* A pattern of many stars must not take exponential time. */
static void patterns_are_linear(void **state)
{
	(void)state;
	char pattern[2001], text[20001];
	for (size_t i = 0; i < 2000; i++)
		pattern[i] = i % 2 == 0 ? '*' : 'a';
	pattern[2000] = '\0';
	memset(text, 'a', 20000);
	text[19999] = 'b';
	text[20000] = '\0';
	assert_false(glob_match(cslice_str(pattern), cslice_str(text)));
}

static void peer_text_is_made_safe(void **state)
{
	(void)state;
	struct buf b;
	buf_init(&b, 200);
	vis_put(&b, cslice_of("a\tb\x1b[0m\n\xc3\xa4\xff\xc2\x85\xe2\x80\xae\xed\xa0\x80\0z", 21));
	buf_put_u8(&b, 0);
	assert_string_equal((char *)b.p,
		"a\tb\\033[0m\\012\xc3\xa4\\377\\302\\205\\342\\200\\256\\355\\240\\200\\000z");
	buf_clear(&b);
	vis_put_lines(&b, cslice_of("one\r\ntwo\x1b\n\n", 11));
	assert_int_equal(b.n, 14);
	assert_memory_equal(b.p, "one\r\ntwo\\033\n\n", 14);
	buf_done(&b);
}

static void numbers_from_text(void **state)
{
	(void)state;
	static const char *const bad[] = {
		"", "-1", "+1", " 1", "1 ", "0x1", "4294967296", "18446744073709551616"};
	uint32_t v = 9;
	for (size_t i = 0; i < ARRAY_N(bad); i++)
		assert_int_not_equal(text_u32(cslice_str(bad[i]), &v), OK);
	assert_int_equal(v, 9);
	assert_int_equal(text_u32(cslice_str("4294967295"), &v), OK);
	assert_int_equal(v, UINT32_MAX);
}

static void near_names_are_suggested(void **state)
{
	(void)state;
	static const char *const names[] = {"arcfour", "aes128-ctr", "Port"};
	assert_string_equal(text_nearest(cslice_str("arcfuor"), names, 3), "arcfour");
	assert_string_equal(text_nearest(cslice_str("prt"), names, 3), "Port");
	assert_null(text_nearest(cslice_str("chacha"), names, 3));
}

static void text_with_a_nul_is_no_string(void **state)
{
	(void)state;
	char *s = NULL;
	assert_int_equal(text_dup(cslice_of("a\0b", 3), &s), E_FORMAT);
	assert_null(s);
	assert_int_equal(text_dup(cslice_of("ab", 2), &s), OK);
	assert_string_equal(s, "ab");
	free(s);
}

static char logged[256];

static void sink(void *arg, enum log_level level, const char *text)
{
	(void)arg;
	(void)snprintf(logged, sizeof(logged), "%d:%s", (int)level, text);
}

static void log_lines_are_filtered_and_safe(void **state)
{
	(void)state;
	log_set(sink, NULL, LOG_L_DEBUG1);
	log_debug2("not wanted");
	assert_string_equal(logged, "");
	log_debug1("%s", "x\ny");
	assert_string_equal(logged, "4:x\\012y");
	log_set(NULL, NULL, LOG_L_QUIET);
	log_put(LOG_L_FATAL, "nobody listens");
}

static void bounded_random_numbers_stay_in_bounds(void **state)
{
	(void)state;
	struct rng_seeded r;
	uint32_t seen = 0;
	rng_seeded_init(&r, 1);
	for (int i = 0; i < 1000; i++) {
		uint32_t v = rng_below(&r.rng, 7);
		assert_true(v < 7);
		seen |= 1u << v;
	}
	assert_int_equal(seen, 0x7f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(every_error_has_a_row),
		cmocka_unit_test(sums_refuse_overflow),
		cmocka_unit_test(buffer_stops_at_its_limit_and_stays_stopped),
		cmocka_unit_test(buffer_writes_the_wire_forms),
		cmocka_unit_test(wiped_memory_is_zero),
		cmocka_unit_test(chunks_respect_the_budget_and_come_back),
		cmocka_unit_test(base64_vectors), cmocka_unit_test(name_lists),
		cmocka_unit_test(patterns), cmocka_unit_test(patterns_are_linear),
		cmocka_unit_test(peer_text_is_made_safe), cmocka_unit_test(numbers_from_text),
		cmocka_unit_test(near_names_are_suggested),
		cmocka_unit_test(text_with_a_nul_is_no_string),
		cmocka_unit_test(log_lines_are_filtered_and_safe),
		cmocka_unit_test(bounded_random_numbers_stay_in_bounds)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
