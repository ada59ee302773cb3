/* SPDX-License-Identifier: ISC */
/* The four ways to write a report: what is text stays text, what was not measured is no number. */
#include <math.h>
#include <stdarg.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "app/ssh-speed/report.h"

static const struct report_column columns[] = {
	{"up_mb_s", "up", "MB/s", REPORT_BAR},
	{"down_mb_s", "down", "MB/s", REPORT_BAR},
	{"login_ms", "login", "ms", REPORT_PLAIN},
};
static const struct report_sheet row = {.id = "ciphers",
	.title = "Ciphers & hosts",
	.name_title = "cipher",
	.by_id = "mac",
	.by_title = "MAC",
	.columns = columns,
	.columns_n = ARRAY_N(columns)};

/* Two lines: one with numbers, one that failed, with text that every format has to quote. */
static void fill(struct report *r)
{
	struct report_sheet *s;
	struct report_line *l;
	*r = (struct report){.title = "title"};
	assert_int_equal(report_fact(r, "host", "host", "%s", "<b>a\"b\\c\001\xff</b>"), OK);
	assert_int_equal(report_sheet(r, &row, &s), OK);
	assert_int_equal(report_line(s, "aes", "umac-64@openssh.com", &l), OK);
	l->v[0] = 1234.56;
	l->v[1] = 617.28;
	assert_int_equal(report_line(s, "weak,\"1\"", NULL, &l), OK);
	assert_int_equal(report_why_not(l, "refused, <script>"), OK);
}

/* The text that a writer makes, NUL-terminated. */
static char *written(report_writer *writer, const struct report *r)
{
	struct buf out;
	buf_init(&out, REPORT_TEXT_MAX);
	writer(r, &out);
	assert_int_equal(buf_err(&out), OK);
	char *text = malloc(out.n + 1);
	assert_non_null(text);
	memcpy(text, out.p, out.n);
	text[out.n] = '\0';
	buf_done(&out);
	return text;
}

#define HAS(text, part)     assert_non_null(strstr(text, part))
#define HAS_NOT(text, part) assert_null(strstr(text, part))

static void numbers_have_three_digits_or_none(void **state)
{
	static const struct {
		double v;
		const char *text;
	} cases[] = {{1234.56, "1235"}, {99.96, "100"}, {56.78, "56.8"}, {9.996, "10.0"},
		{9.99, "9.99"}, {0, "0"}, {4, "4"}, {NAN, "-"}, {INFINITY, "-"}};
	char text[32];
	for (size_t i = 0; i < ARRAY_N(cases); i++) {
		report_number(cases[i].v, text);
		assert_string_equal(text, cases[i].text);
	}
}

static void text_table_lines_up_and_tells_failures(void **state)
{
	struct report r;
	fill(&r);
	char *text = written(report_text, &r);
	HAS(text, "host  <b>a\"b\\c\\001\\377</b>\n");
	HAS(text, "\ncipher      up  down  login  MAC\n"
		  "aes       1235   617      -  umac-64@openssh.com\n"
		  "weak,\"1\"  refused, <script>\n");
	HAS_NOT(text, "Interrupted");
	free(text);
	r.is_interrupted = true;
	text = written(report_text, &r);
	HAS(text, "Interrupted");
	free(text);
	report_done(&r);
}

static void json_quotes_and_says_null(void **state)
{
	struct report r;
	fill(&r);
	char *text = written(report_json, &r);
	HAS(text, "\"host\": \"<b>a\\\"b\\\\c\\\\001\\\\377</b>\"");
	HAS(text, "{\"name\": \"aes\", \"mac\": \"umac-64@openssh.com\", \"up_mb_s\": 1234.56, "
		  "\"down_mb_s\": 617.28, \"login_ms\": null, \"error\": null}");
	HAS(text, "{\"name\": \"weak,\\\"1\\\"\", \"mac\": null, \"up_mb_s\": null, ");
	HAS(text, "\"choice\": null");
	HAS(text, "\"interrupted\": false");
	free(text);
	report_done(&r);
}

static void csv_has_as_many_fields_in_each_line(void **state)
{
	struct report r;
	fill(&r);
	char *text = written(report_csv, &r);
	assert_string_equal(text, "name,mac,up_mb_s,down_mb_s,login_ms,error\n"
				  "aes,umac-64@openssh.com,1234.56,617.28,,\n"
				  "\"weak,\"\"1\"\"\",,,,,\"refused, <script>\"\n");
	free(text);
	report_done(&r);
}

static void page_escapes_and_stands_alone(void **state)
{
	struct report r;
	fill(&r);
	assert_int_equal(report_verdict(&r, "aes", "it's <fast>"), OK);
	char *text = written(report_html, &r);
	HAS(text, "<dd>&lt;b&gt;a&quot;b\\c\\001\\377&lt;/b&gt;</dd>");
	HAS(text, "Ciphers &amp; hosts");
	HAS(text, "refused, &lt;script&gt;");
	HAS(text, "it&#39;s &lt;fast&gt;");
	HAS(text, "width=\"72.00%\""); /* the longest bar */
	HAS(text, "width=\"36.00%\""); /* half of it */
	HAS(text, "prefers-color-scheme: dark");
	HAS_NOT(text, "<script");
	HAS_NOT(text, "http");
	HAS_NOT(text, "src=");
	HAS_NOT(text, "url(");
	free(text);
	report_done(&r);
}

static void a_report_without_numbers_is_empty(void **state)
{
	struct report r;
	fill(&r);
	assert_false(report_is_empty(&r));
	r.sheets[0].lines[0].v[0] = r.sheets[0].lines[0].v[1] = NAN;
	assert_true(report_is_empty(&r));
	report_done(&r);
	assert_true(report_is_empty(&r));
}

static void too_much_is_refused(void **state)
{
	struct report r = {0};
	struct report_sheet *s;
	for (size_t i = 0; i < REPORT_SHEETS_MAX; i++)
		assert_int_equal(report_sheet(&r, &row, &s), OK);
	assert_int_equal(report_sheet(&r, &row, &s), E_LIMIT);
	for (size_t i = 0; i < REPORT_FACTS_MAX; i++)
		assert_int_equal(report_fact(&r, "a", "b", "c"), OK);
	assert_int_equal(report_fact(&r, "a", "b", "c"), E_LIMIT);
	report_done(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_have_three_digits_or_none),
		cmocka_unit_test(text_table_lines_up_and_tells_failures),
		cmocka_unit_test(json_quotes_and_says_null),
		cmocka_unit_test(csv_has_as_many_fields_in_each_line),
		cmocka_unit_test(page_escapes_and_stands_alone),
		cmocka_unit_test(a_report_without_numbers_is_empty),
		cmocka_unit_test(too_much_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
