/* SPDX-License-Identifier: ISC */
/* Lines of sftp's as words and commands. */
#include <stdarg.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "app/sftp/command.h"
#include "app/sftp/commands.h"
#include "sftp_doubles.h"

/* ---- words --------------------------------------------------------------------------------------
 */
struct word_case {
	const char *line, *pattern, *plain; /* of the one word */
};

/* clang-format off */
static const struct word_case word_cases[] = { /* as OpenSSH 9.2 takes them */
	{"a*b",       "a*b",       "a*b"},
	{"\"a*b\"",   "a\\*b",     "a*b"},
	{"a\\*b",     "a\\*b",     "a*b"},
	{"\"a\\*b\"", "a\\\\\\*b", "a\\*b"},
	{"\"a\\\\b\"", "a\\\\b",   "a\\b"},
	{"'a\\\\b'",  "a\\\\b",    "a\\b"},
	{"a\\\\b",    "a\\\\b",    "a\\b"},
	{"'a\\b'",    "a\\\\b",    "a\\b"},
	{"\"a\\nb\"", "a\\\\nb",   "a\\nb"},
	{"a\\nb",     "anb",       "anb"},
	{"\"a\\\"b\"", "a\"b",     "a\"b"},
	{"'a\\'b'",   "a'b",       "a'b"},
	{"'a\\\"b'",  "a\\\\\"b",  "a\\\"b"},
	{"\"a\\'b\"", "a\\\\'b",   "a\\'b"},
	{"a\"b c\"d", "ab cd",     "ab cd"},
	{"\"\"",      "",          ""},
	{"\"a#b\"",   "a#b",       "a#b"},
	{"a\\#b",     "a#b",       "a#b"},
	{"a[b]",      "a[b]",      "a[b]"},
	{"\"a[b]\"",  "a\\[b]",    "a[b]"},
	{"a\\[b",     "a\\[b",     "a[b"},
	{"a\\?b",     "a\\?b",     "a?b"},
	{"a\\]b",     "a]b",       "a]b"},
	{"a\\ b",     "a b",       "a b"},
	{"'a\"b'\"c'd\"", "a\"bc'd", "a\"bc'd"},
	{"\"a\\\\*b\"", "a\\\\\\*b", "a\\*b"},
	{"a\\\\*b",   "a\\\\*b",   "a\\*b"},
	{"a\\",       "a",         "a"},
	{"a#b",       "a",         "a"},
	{"a\r",       "a",         "a"},
	{"\xff\x80",  "\xff\x80",  "\xff\x80"},
};
/* clang-format on */

static void a_word_means_what_openssh_takes_it_for(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_N(word_cases); i++) {
		const struct word_case *c = &word_cases[i];
		struct words w;
		assert_int_equal(words_split(c->line, false, &w), OK);
		assert_int_equal(w.n, 1);
		assert_string_equal(w.v[0], c->pattern);
		word_plain(w.v[0]);
		assert_string_equal(w.v[0], c->plain);
		words_free(&w);
	}
}

static void blanks_part_and_a_hash_ends(void **state)
{
	(void)state;
	struct words w;
	assert_int_equal(words_split(" \tget  a\\ b\t'c d' # not this", false, &w), OK);
	assert_int_equal(w.n, 3);
	assert_string_equal(w.v[0], "get");
	assert_string_equal(w.v[1], "a b");
	assert_string_equal(w.v[2], "c d");
	assert_null(w.v[3]);
	words_free(&w);
	assert_int_equal(words_split("# all of it", false, &w), OK);
	assert_int_equal(w.n, 0);
	words_free(&w);
	assert_int_equal(words_split("", false, &w), OK);
	assert_int_equal(w.n, 0);
	words_free(&w);
}

static void an_open_quote_is_refused_or_told(void **state)
{
	(void)state;
	struct words w = {.n = 77};
	assert_int_equal(words_split("get 'a b", false, &w), E_FORMAT);
	assert_int_equal(words_split("get \"a\\\"", false, &w), E_FORMAT);
	assert_int_equal(w.n, 77); /* untouched */
	assert_int_equal(words_split("get 'a b", true, &w), OK);
	assert_int_equal(w.quote, '\'');
	assert_true(w.is_inside);
	assert_int_equal(w.last_at, 4);
	assert_string_equal(w.v[1], "a b");
	words_free(&w);
	assert_int_equal(words_split("get a ", true, &w), OK);
	assert_false(w.is_inside);
	words_free(&w);
}

static void every_name_can_be_typed(void **state)
{
	(void)state;
	static const char quotes[] = {'\0', '\'', '"'};
	static const char *const names[] = {"plain", "a b", "a'b\"c", "*?[x]", "back\\slash", "\\*",
		"#x", "-x", "tab\there", "\xc3\xa9", "\xff", "end\\", "a\\\"'"};
	for (size_t i = 0; i < ARRAY_N(names) * ARRAY_N(quotes); i++) {
		const char *name = names[i / ARRAY_N(quotes)];
		char quote = quotes[i % ARRAY_N(quotes)];
		struct buf line;
		struct words w;
		buf_init(&line, 1000);
		if (quote != '\0')
			buf_put_u8(&line, (uint8_t)quote);
		word_put_typed(&line, cslice_str(name), quote);
		if (quote != '\0')
			buf_put_u8(&line, (uint8_t)quote);
		buf_put_u8(&line, 0);
		assert_int_equal(words_split((const char *)line.p, false, &w), OK);
		assert_int_equal(w.n, 1);
		assert_false(word_is_pattern(w.v[0]));
		word_plain(w.v[0]);
		assert_string_equal(w.v[0], name);
		words_free(&w);
		buf_done(&line);
	}
}

static void a_name_as_a_pattern_means_just_it(void **state)
{
	(void)state;
	struct buf b;
	buf_init(&b, 100);
	word_put_pattern(&b, cslice_str("/a[1]/*?\\x"));
	buf_put_u8(&b, 0);
	assert_string_equal(b.p, "/a\\[1]/\\*\\?\\\\x");
	assert_false(word_is_pattern((const char *)b.p));
	assert_true(word_is_pattern("a[b"));
	buf_done(&b);
}

/* ---- commands -----------------------------------------------------------------------------------
 */
struct refusal {
	const char *line, *why;
};

/* clang-format off */
static const struct refusal refusals[] = { /* the words of OpenSSH 9.2 */
	{"foo",          "Invalid command."},
	{"\"!\" ls",     "Invalid command."}, /* no command of the shell's, and no crash */
	{"get",          "You must specify at least one path after a get command."},
	{"reget",        "You must specify at least one path after a reget command."},
	{"put -r",       "You must specify at least one path after a put command."},
	{"get -Z x",     "get: Invalid flag -Z"},
	{"ls -l-a",      "ls: Invalid flag --"},
	{"put \"open",   "Unterminated quoted argument"},
	{"rename a",     "You must specify two paths after a rename command."},
	{"rename",       "You must specify two paths after a rename command."},
	{"ln -s a",      "You must specify two paths after a ln command."},
	{"ln -q a b",    "ln: Invalid flag -q"},
	{"symlink a",    "You must specify two paths after a symlink command."},
	{"cp a",         "You must specify two paths after a cp command."},
	{"chmod",        "You must supply a numeric argument to the chmod command."},
	{"chmod 999 x",  "You must supply a numeric argument to the chmod command."},
	{"chmod 17777 x", "You must supply a numeric argument to the chmod command."},
	{"chmod abc x",  "You must supply a numeric argument to the chmod command."},
	{"chmod '' x",   "You must supply a numeric argument to the chmod command."},
	{"chmod 644",    "You must specify a path after a chmod command."},
	{"chown x y",    "You must supply a numeric argument to the chown command."},
	{"chown 99999999999 x", "You must supply a numeric argument to the chown command."},
	{"chown 4294967296 x", "You must supply a numeric argument to the chown command."},
	{"chgrp 1",      "You must specify a path after a chgrp command."},
	{"mkdir",        "You must specify a path after a mkdir command."},
	{"lmkdir",       "You must specify a path after a lmkdir command."},
	{"rmdir",        "You must specify a path after a rmdir command."},
	{"rm",           "You must specify a path after a rm command."},
	{"lumask",       "You must supply a numeric argument to the lumask command."},
	{"lumask 8",     "You must supply a numeric argument to the lumask command."},
	{"df -Z",        "df: Invalid flag -Z"},
};
/* clang-format on */

static void what_is_no_command_is_told_in_openssh_s_words(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_N(refusals); i++) {
		struct command c;
		char why[COMMAND_WHY_MAX];
		assert_int_not_equal(command_parse(refusals[i].line, &c, why), OK);
		assert_string_equal(why, refusals[i].why);
		command_free(&c);
	}
}

static struct command parse(const char *line)
{
	struct command c;
	char why[COMMAND_WHY_MAX];
	assert_int_equal(command_parse(line, &c, why), OK);
	return c;
}

static void flags_and_arguments_are_found(void **state)
{
	(void)state;
	struct command c = parse("get -pR -a 'a b*' \"c*\"");
	assert_ptr_equal(c.row->fn, do_get);
	assert_true(command_has(&c, 'p') && command_has(&c, 'r') && command_has(&c, 'a'));
	assert_false(command_has(&c, 'f'));
	assert_string_equal(c.arg[0], "a b\\*"); /* a pattern stays one */
	assert_string_equal(c.arg[1], "c*");     /* a local name does not */
	command_free(&c);

	c = parse("CHMOD -h 0644 x y");
	assert_ptr_equal(c.row->fn, do_chmod);
	assert_int_equal(c.number, 0644);
	assert_string_equal(c.arg[0], "x");
	assert_string_equal(c.spare, "y");
	command_free(&c);

	c = parse("get -- -x");
	assert_string_equal(c.arg[0], "-x");
	assert_null(c.arg[1]);
	command_free(&c);

	c = parse("get x -p"); /* behind the first name there are no flags */
	assert_string_equal(c.arg[1], "-p");
	assert_false(command_has(&c, 'p'));
	command_free(&c);

	c = parse("mput -P a");
	assert_ptr_equal(c.row->fn, do_put);
	assert_true(command_has(&c, 'p'));
	command_free(&c);
}

static void the_rest_of_the_line_stays_as_it_is(void **state)
{
	(void)state;
	struct command c = parse("!echo 'hi  \"there # x");
	assert_ptr_equal(c.row->fn, do_shell);
	assert_string_equal(c.rest, "echo 'hi  \"there # x");
	command_free(&c);
	c = parse(" ! ");
	assert_string_equal(c.rest, "");
	command_free(&c);
	c = parse("lls -l 'a b'");
	assert_ptr_equal(c.row->fn, do_lls);
	assert_string_equal(c.rest, "-l 'a b'");
	command_free(&c);
	char why[COMMAND_WHY_MAX];
	assert_int_equal(command_parse("llsx", &c, why), E_USAGE);
	command_free(&c);
}

static void prefixes_are_for_batches(void **state)
{
	(void)state;
	struct command c = parse(" -@ls");
	assert_true(c.may_fail && c.is_silent);
	assert_ptr_equal(c.row->fn, do_ls);
	command_free(&c);
	c = parse("@ls");
	assert_true(c.is_silent && !c.may_fail);
	command_free(&c);
	c = parse("  # comment");
	assert_null(c.row);
	command_free(&c);
	char why[COMMAND_WHY_MAX];
	assert_int_equal(command_parse("-nonsense", &c, why), E_USAGE);
	assert_true(c.may_fail); /* known also when it is no command */
	command_free(&c);
}

static void every_name_of_the_table_has_a_row(void **state)
{
	(void)state;
	const char *name;
	bool in_help;
	size_t n = 0;
	for (; (name = command_name(n, &in_help)) != NULL; n++)
		assert_non_null(command_find(name));
	assert_int_equal(n, 37);
	assert_null(command_find("l"));
	assert_null(command_find(""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_word_means_what_openssh_takes_it_for),
		cmocka_unit_test(blanks_part_and_a_hash_ends),
		cmocka_unit_test(an_open_quote_is_refused_or_told),
		cmocka_unit_test(every_name_can_be_typed),
		cmocka_unit_test(a_name_as_a_pattern_means_just_it),
		cmocka_unit_test(what_is_no_command_is_told_in_openssh_s_words),
		cmocka_unit_test(flags_and_arguments_are_found),
		cmocka_unit_test(the_rest_of_the_line_stays_as_it_is),
		cmocka_unit_test(prefixes_are_for_batches),
		cmocka_unit_test(every_name_of_the_table_has_a_row),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
