/* SPDX-License-Identifier: ISC */
/* Which names a peer may send for what was asked. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sftp/rcp.h"

static void patterns_match_as_in_a_shell(void **state)
{
	(void)state;
	static const struct {
		const char *pattern, *name;
		bool is_match;
	} rows[] = {
		{"a", "a", true},
		{"a", "b", false},
		{"a", "ab", false},
		{"ab", "a", false},
		{"*", "anything", true},
		{"*", ".hidden", false},
		{"?hidden", ".hidden", false},
		{"[.]hidden", ".hidden", false},
		{".*", ".hidden", true},
		{"a*c", "abbbc", true},
		{"a*c", "abbbd", false},
		{"a*b*c", "axbybzc", true},
		{"*.txt", "a.txt", true},
		{"*.txt", "a.txt.exe", false},
		{"**x", "aax", true},
		{"a?c", "abc", true},
		{"a?c", "ac", false},
		{"a?c", "a\303\244c", true}, /* one character of two bytes */
		{"a?c", "a\344c", true},     /* not UTF-8: one byte */
		{"?", "\360\237\230\200", true},
		{"[a-c]x", "bx", true},
		{"[a-c]x", "dx", false},
		{"[!a-c]x", "dx", true},
		{"[^a-c]x", "bx", false},
		{"[]a]", "]", true},
		{"[]a]", "b", false},
		{"[!]a]", "]", false},
		{"[a-]", "-", true},
		{"[[:digit:]]x", "7x", true},
		{"[[:digit:]]x", "ax", false},
		{"[[:upper:][:digit:]_]", "_", true},
		{"[[:none:]]", "n", false},
		{"[\303\244-\303\274]", "\303\266", true},
		{"[a", "[a", true}, /* no end: itself */
		{"[a", "a", false},
		{"\\*", "*", true},
		{"\\*", "a", false},
		{"a\\ b", "a b", true},
		{"[\\]]", "]", true},
		{"", "", true},
		{"*", "", true},
		{"a\\", "a\\", true},
	};
	for (size_t i = 0; i < ARRAY_N(rows); i++) {
		if (rcp_pattern_match(rows[i].pattern, cslice_str(rows[i].name)) !=
			rows[i].is_match)
			fail_msg("%s against %s", rows[i].pattern, rows[i].name);
	}
}

static void a_pattern_takes_no_time(void **state)
{
	(void)state;
	char name[1001];
	memset(name, 'a', sizeof(name) - 1);
	name[1000] = '\0';
	assert_false(
		rcp_pattern_match("*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b", cslice_str(name)));
}

static void only_what_was_asked_for_is_taken(void **state)
{
	(void)state;
	static const struct {
		const char *asked, *name;
		bool is_recursive;
		enum rcp_verdict verdict;
	} rows[] = {
		{"/x/data", "data", false, RCP_ALLOW},
		{"/x/data", "extrafile", false, RCP_DENY_UNASKED},
		{"data", "data", false, RCP_ALLOW},
		{"/x/data/", "data", false, RCP_ALLOW},
		{"/x/data///", "data", true, RCP_ALLOW},
		{"/x/data/", "x", true, RCP_DENY_UNASKED},
		{"dir/*", "file", false, RCP_ALLOW},
		{"dir/*", ".bashrc", false, RCP_DENY_UNASKED},
		{"*", ".ssh", true, RCP_DENY_UNASKED},
		{"copy.glob[123]", "copy.glob[123]", false, RCP_ALLOW}, /* matched nothing */
		{"copy.glob[123]", "copy.glob2", false, RCP_ALLOW},
		{"copy.glob[123]", "copy.glob4", false, RCP_DENY_UNASKED},
		{"a\\ b", "a b", false, RCP_ALLOW},
		{"a\\ b", "a", false, RCP_DENY_UNASKED},
		{"a b", "a", false, RCP_ALLOW},
		{"a b", "b", false, RCP_ALLOW},
		{"a b", "a b", false, RCP_DENY_UNASKED},
		{"'a b'", "a b", false, RCP_ALLOW},
		{"'a b'", "a", false, RCP_DENY_UNASKED},
		{"'*'", "x", false, RCP_DENY_UNASKED},
		{"'*'", "*", false, RCP_ALLOW},
		{"\"*\"", "x", false, RCP_DENY_UNASKED},
		{"\"a\\\"b\"", "a\"b", false, RCP_ALLOW},
		{"\"a\\b\"", "a\\b", false, RCP_ALLOW},
		{"'dir/'x", "x", false, RCP_ALLOW},
		{"'dir/'", "dir", false, RCP_ALLOW},
		{"{a,b}", "a", false, RCP_ALLOW},
		{"{a,b}", "b", false, RCP_ALLOW},
		{"{a,b}", "c", false, RCP_DENY_UNASKED},
		{"x{a,b{c,d}}y", "xbdy", false, RCP_ALLOW},
		{"x{a,b{c,d}}y", "xby", false, RCP_DENY_UNASKED},
		{"{x/a,y/b}", "b", false, RCP_ALLOW},
		{"{x/a,y/b}", "y", false, RCP_DENY_UNASKED},
		{"{,.}a", ".a", false, RCP_ALLOW},
		{"{a}", "{a}", false, RCP_ALLOW},
		{"\\{a,b\\}", "a", false, RCP_DENY_UNASKED},
		{"{a,b", "{a,b", false, RCP_ALLOW},
		{"x/{a,b}{1,2}.[ch]", "b1.h", false, RCP_ALLOW},
		{"x/{a,b}{1,2}.[ch]", "b3.h", false, RCP_DENY_UNASKED},
		{"`touch x`", "`touch x`", false, RCP_DENY_UNASKED},
		{"\\`touch\\ x\\`", "`touch x`", false, RCP_ALLOW},
		/* what only the other shell knows */
		{"$HOME/.profile", ".profile", false, RCP_ALLOW},
		{"$HOME/.profile", ".bashrc", false, RCP_DENY_UNASKED},
		{"$FILE", "anything", false, RCP_DENY_UNASKED},
		{"$DIR", "anything", true, RCP_ALLOW},
		{"~", "me", true, RCP_ALLOW},
		{"~", "me", false, RCP_DENY_UNASKED},
		{"~other/", "other", true, RCP_ALLOW},
		{"~/f", "f", false, RCP_ALLOW},
		{"~/f", "g", true, RCP_DENY_UNASKED},
		{".", "x", true, RCP_ALLOW},
		{".", "x", false, RCP_DENY_UNASKED},
		{"", "x", false, RCP_DENY_UNASKED},
		{"", "x", true, RCP_ALLOW},
		{"..", "x", true, RCP_ALLOW},
		{"/", "x", true, RCP_ALLOW},
		{"a; echo b", "b", false, RCP_ALLOW},
		{"a", "..", true, RCP_DENY},
		{"..", "..", true, RCP_DENY},
		{".", ".", true, RCP_DENY},
		{"*", "a/b", true, RCP_DENY},
		{"*", "", true, RCP_DENY},
		{"*", "a\nb", true, RCP_DENY},
	};
	for (size_t i = 0; i < ARRAY_N(rows); i++) {
		struct rcp_asked a;
		assert_int_equal(rcp_asked_init(&a, rows[i].asked, rows[i].is_recursive), OK);
		if (rcp_name_judge(&a, cslice_str(rows[i].name)) != rows[i].verdict)
			fail_msg("%s for %s", rows[i].name, rows[i].asked);
		rcp_asked_done(&a);
	}
	assert_int_equal(rcp_name_judge(NULL, cslice_str("any")), RCP_ALLOW);
	assert_int_equal(rcp_name_judge(NULL, cslice_str("..")), RCP_DENY);
	assert_int_equal(rcp_name_judge(NULL, cslice_of("a\0b", 3)), RCP_DENY);
}

static void braces_do_not_explode(void **state)
{
	(void)state;
	struct rcp_asked a = {0};
	assert_int_equal(rcp_asked_init(&a,
				 "{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}"
				 "{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}",
				 false),
		E_LIMIT);
	assert_null(a.v);
	assert_int_equal(rcp_asked_init(&a, "{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}", false), OK);
	assert_int_equal(a.n, 64);
	rcp_asked_done(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(patterns_match_as_in_a_shell),
		cmocka_unit_test(a_pattern_takes_no_time),
		cmocka_unit_test(only_what_was_asked_for_is_taken),
		cmocka_unit_test(braces_do_not_explode),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
