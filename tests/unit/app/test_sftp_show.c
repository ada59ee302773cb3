/* SPDX-License-Identifier: ISC */
/* What ls and df of sftp print: the formats of OpenSSH 9.2, byte for byte. */
#include <stdarg.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "app/sftp/show.h"

#define NOW ((uint64_t)1764541980) /* Nov 30 22:33:00 2025 UTC */

static char *shown(const struct show_item *v, size_t n, const struct show_opts *o)
{
	struct buf out;
	buf_init(&out, 1 << 20);
	show_list(&out, v, n, o);
	buf_put_u8(&out, 0);
	assert_int_equal(buf_err(&out), OK);
	char *text = strdup((const char *)out.p);
	buf_done(&out);
	return text;
}

static void assert_shown(const struct show_item *v, size_t n, struct show_opts o, const char *want)
{
	char *text = shown(v, n, &o);
	assert_string_equal(text, want);
	free(text);
}

static void columns_fit_the_terminal(void **state)
{
	(void)state;
	const struct show_item v[] = {{.name = "a"}, {.name = "b"}, {.name = "newname2"}};
	assert_shown(v, 3, (struct show_opts){.width = 80}, "a         b         newname2  \n");
	/* too narrow for any */
	assert_shown(v, 3, (struct show_opts){.width = 5}, "a    \nb    \nnewname2\n");
	/* room for two */
	assert_shown(v, 3, (struct show_opts){.width = 20}, "a         b         \nnewname2  \n");
	assert_shown(v, 0, (struct show_opts){.width = 80}, "");
}

static void characters_count_not_bytes(void **state)
{
	(void)state;
	const struct show_item v[] = {{.name = "\xc3\xa9t\xc3\xa9"}, {.name = "abcde"}};
	assert_shown(v, 2, (struct show_opts){.width = 80}, "\xc3\xa9t\xc3\xa9    abcde  \n");
}

static void names_are_made_safe(void **state)
{
	(void)state;
	const struct show_item v[] = {{.name = "a\033[31mb\nc\xff", .is_marked = true}};
	assert_shown(v, 1, (struct show_opts){.is_single = true}, "a\\033[31mb\\012c\\377/\n");
	const struct show_item long_v[] = {{.name = "x", .longname = "evil\033]0;x\007"}};
	assert_shown(long_v, 1, (struct show_opts){.is_long = true}, "evil\\033]0;x\\007\n");
}

static const struct show_item file = {.name = "d/a",
	.user = "root",
	.group = "root",
	.a = {.flags = SF_A_SIZE | SF_A_OWNER | SF_A_MODE | SF_A_TIMES,
		.size = 3,
		.uid = 7,
		.gid = 8,
		.mode = 0100644,
		.mtime = (uint32_t)NOW - 60}};

static void a_long_line_is_openssh_s(void **state)
{
	(void)state;
	struct show_item v = file;
	struct show_opts o = {.is_long = true, .now_s = NOW};
	assert_shown(&v, 1, o, "-rw-r--r--    ? root     root            3 Nov 30 22:32 d/a\n");
	v.a.mode = 0040755;
	v.a.size = 4096;
	o.is_human = true;
	assert_shown(&v, 1, o, "drwxr-xr-x    ? root     root         4.0K Nov 30 22:32 d/a\n");
	v.user = NULL;
	v.group = "";
	o.is_human = false;
	v.a.mtime = 86400; /* long ago: with the year */
	assert_shown(&v, 1, o, "drwxr-xr-x    ? 7        8            4096 Jan  2  1970 d/a\n");
	v.user = "ev\033il";
	assert_shown(&v, 1, o, "drwxr-xr-x    ? ev\\033il 8            4096 Jan  2  1970 d/a\n");
}

static void what_the_server_did_not_tell_is_a_question_mark(void **state)
{
	(void)state;
	const struct show_item v = {.name = "x"};
	assert_shown(&v, 1, (struct show_opts){.is_long = true, .now_s = NOW},
		"?---------    ? ?        ?               ? ? x\n");
}

static void modes_are_those_of_ls(void **state)
{
	(void)state;
	static const struct {
		uint32_t mode;
		const char *words;
	} cases[] = {{0100644, "-rw-r--r--"}, {0040755, "drwxr-xr-x"}, {0120777, "lrwxrwxrwx"},
		{0104755, "-rwsr-xr-x"}, {0104644, "-rwSr--r--"}, {0102755, "-rwxr-sr-x"},
		{0102644, "-rw-r-Sr--"}, {0041777, "drwxrwxrwt"}, {0041776, "drwxrwxrwT"},
		{0010600, "prw-------"}, {0020600, "crw-------"}, {0060600, "brw-------"},
		{0140600, "srw-------"}};
	char out[11];
	for (size_t i = 0; i < ARRAY_N(cases); i++) {
		sf_mode_text(cases[i].mode, out);
		assert_string_equal(out, cases[i].words);
	}
}

static void sizes_have_a_unit(void **state)
{
	(void)state;
	static const struct {
		uint64_t n;
		const char *words;
	} cases[] = {{0, "0B"}, {3, "3B"}, {1023, "1023B"}, {1024, "1.0K"}, {1536, "1.5K"},
		{4096, "4.0K"}, {102400, "100K"}, {1048575, "1.0M"}, {1048576, "1.0M"},
		{(uint64_t)227 << 27, "28.4G"}, {UINT64_MAX, "16.0E"}};
	char out[8];
	for (size_t i = 0; i < ARRAY_N(cases); i++) {
		show_size(cases[i].n, out);
		assert_string_equal(out, cases[i].words);
	}
}

static void orders_are_those_asked_for(void **state)
{
	(void)state;
	static const struct show_item all[] = {
		{.name = "b", .a = {.size = 5, .mtime = 30}},
		{.name = "a", .a = {.size = 9, .mtime = 10}},
		{.name = "c", .a = {.size = 5, .mtime = 20}},
	};
	static const struct {
		enum show_order order;
		bool is_reverse;
		const char *names;
	} cases[] = {{SHOW_BY_NAME, false, "abc"}, {SHOW_BY_NAME, true, "cba"},
		{SHOW_BY_TIME, false, "bca"}, {SHOW_BY_TIME, true, "acb"},
		{SHOW_BY_SIZE, false, "abc"}, {SHOW_BY_SIZE, true, "cba"},
		{SHOW_UNSORTED, false, "bac"}, {SHOW_UNSORTED, true, "bac"}};
	for (size_t i = 0; i < ARRAY_N(cases); i++) {
		struct show_item v[3];
		struct show_opts o = {.order = cases[i].order, .is_reverse = cases[i].is_reverse};
		memcpy(v, all, sizeof(v));
		show_sort(v, 3, &o);
		for (size_t k = 0; k < 3; k++)
			assert_int_equal(v[k].name[0], cases[i].names[k]);
	}
}

static void df_is_openssh_s(void **state)
{
	(void)state;
	struct buf out;
	struct sf_vfs v = {.bsize = 1 << 20,
		.frsize = 4096,
		.blocks = 66053021,
		.bfree = 60110610,
		.bavail = 19141896,
		.files = 16777216,
		.ffree = 16134838,
		.favail = 16134838};
	buf_init(&out, 4096);
	show_vfs(&out, &v, false, false);
	show_vfs(&out, &v, false, true);
	show_vfs(&out, &v, true, false);
	v = (struct sf_vfs){.blocks = 5, .bfree = 9, .bsize = 1024}; /* nonsense */
	show_vfs(&out, &v, false, false);
	buf_put_u8(&out, 0);
	assert_string_equal(out.p,
		"        Size         Used        Avail       (root)    %Capacity\n"
		"   264212084     23769644     76567584    240442440           8%\n"
		"    Size     Used    Avail   (root)    %Capacity\n"
		"   252GB   22.7GB   73.0GB    229GB           8%\n"
		"     Inodes        Used       Avail      (root)    %Capacity\n"
		"   16777216      642378    16134838    16134838           3%\n"
		"        Size         Used        Avail       (root)    %Capacity\n"
		"           5            0            0            9           0%\n");
	buf_done(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(columns_fit_the_terminal),
		cmocka_unit_test(characters_count_not_bytes),
		cmocka_unit_test(names_are_made_safe),
		cmocka_unit_test(a_long_line_is_openssh_s),
		cmocka_unit_test(what_the_server_did_not_tell_is_a_question_mark),
		cmocka_unit_test(modes_are_those_of_ls),
		cmocka_unit_test(sizes_have_a_unit),
		cmocka_unit_test(orders_are_those_asked_for),
		cmocka_unit_test(df_is_openssh_s),
	};
	setenv("TZ", "UTC", 1);
	tzset();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
