/* SPDX-License-Identifier: ISC */
/* Patterns against names, compared with what the shell's own matcher says where both must agree. */
#include <fnmatch.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include <cmocka.h>

#include "transfer/glob.h"

static bool matches(const char *pattern, const char *name)
{
	return glob_part(cslice_str(pattern), cslice_str(name));
}

static void each_pattern_has_its_names(void **state)
{
	(void)state;
	static const struct {
		const char *pattern, *name;
		bool yes;
	} v[] = {
		{"", "", true},
		{"", "a", false},
		{"a", "a", true},
		{"a", "ab", false},
		{"*", "", true},
		{"*", "abc", true},
		{"*", ".abc", false},
		{".*", ".abc", true},
		{"\\.*", ".abc", true},
		{"?bc", ".bc", false},
		{"[.]bc", ".bc", false},
		{"a*c", "abbbc", true},
		{"a*c", "abbbcd", false},
		{"a*c*e", "abcdcde", true},
		{"*a*b*", "xxaxxbxx", true},
		{"?", "", false},
		{"?", "x", true},
		{"a\\*", "a*", true},
		{"a\\*", "ab", false},
		{"a\\", "a\\", true},
		{"[abc]", "b", true},
		{"[abc]", "d", false},
		{"[a-c]x", "bx", true},
		{"[!a-c]", "d", true},
		{"[!a-c]", "b", false},
		{"[^a]", "b", true},
		{"[]]", "]", true},
		{"[!]]", "]", false},
		{"[a-]", "-", true},
		{"[\\]]", "]", true},
		{"[[:digit:]]", "7", true},
		{"[[:digit:]x]", "x", true},
		{"[[:digit:]]", "x", false},
		{"[[:nothing:]]", "n]", true}, /* no class: a set of its bytes, then a ] */
		{"a[b", "a[b", true},
		{"a[b", "ab", false},
		{"a[b]c", "abc", true},
		{"a[b]c", "a[b]c", false},
		{"a\\[b\\]c", "a[b]c", true},
		{"\303\244*", "\303\244x", true},
	};
	for (size_t i = 0; i < ARRAY_N(v); i++) {
		if (matches(v[i].pattern, v[i].name) != v[i].yes)
			fail_msg("\"%s\" and \"%s\"", v[i].pattern, v[i].name);
		/* where a [ has no end fnmatch is of another mind between systems */
		bool other = fnmatch(v[i].pattern, v[i].name, FNM_PERIOD) == 0;
		if (strstr(v[i].pattern, "nothing") == NULL &&
			v[i].pattern[strlen(v[i].pattern) > 0 ? strlen(v[i].pattern) - 1 : 0] !=
				'\\' &&
			other != v[i].yes)
			fail_msg("fnmatch: \"%s\" and \"%s\"", v[i].pattern, v[i].name);
	}
}

static void many_stars_take_no_time(void **state)
{
	(void)state;
	char pattern[201], name[256];
	memset(name, 'a', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	for (size_t i = 0; i < 100; i++)
		memcpy(pattern + 2 * i, "a*", 2);
	memcpy(pattern + 198, "b", 2);
	clock_t begin = clock();
	for (int i = 0; i < 100; i++)
		assert_false(matches(pattern, name));
	assert_true((double)(clock() - begin) / CLOCKS_PER_SEC < 2);
}

static void magic_is_what_is_not_quoted(void **state)
{
	(void)state;
	static const struct {
		const char *pattern;
		bool yes;
		const char *plain;
	} v[] = {
		{"abc", false, "abc"},
		{"a*", true, "a*"},
		{"a\\*", false, "a*"},
		{"a\\\\*", true, "a\\*"},
		{"[ab]", true, "[ab]"},
		{"[ab", false, "[ab"},
		{"\\[ab]", false, "[ab]"},
		{"a?", true, "a?"},
		{"a\\", false, "a\\"},
		{"", false, ""},
	};
	for (size_t i = 0; i < ARRAY_N(v); i++) {
		uint8_t plain[16];
		struct cslice p = cslice_str(v[i].pattern);
		assert_int_equal(glob_has_magic(p), v[i].yes);
		size_t n = glob_plain(p, (struct slice){plain, sizeof(plain)});
		assert_true(cslice_eq_str(cslice_of(plain, n), v[i].plain));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_pattern_has_its_names),
		cmocka_unit_test(many_stars_take_no_time),
		cmocka_unit_test(magic_is_what_is_not_quoted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
