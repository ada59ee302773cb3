/* SPDX-License-Identifier: ISC */
/* json_test - the reader must refuse what is not JSON: a shorter test would look like a passed one
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "json.h"

static struct json_doc *parse(const char *text)
{
	return json_parse(text, strlen(text));
}

static void reads_nested_values(void **state)
{
	struct json_doc *d =
		parse(" {\"a\":[1,-20,{\"b\":\"x\"}],\"t\":true,\"f\":false,\"z\":null} ");
	const struct json *r = json_root(d), *a = json_get(r, "a");

	assert_non_null(r);
	assert_int_equal(a->n, 3);
	assert_int_equal(json_int(json_first(a), 7), 1);
	assert_int_equal(json_int(json_first(a)->next, 7), -20);
	assert_true(json_is(json_get(json_first(a)->next->next, "b"), "x"));
	assert_true(json_get(r, "t")->truth);
	assert_false(json_get(r, "f")->truth);
	assert_int_equal(json_get(r, "z")->kind, JSON_NULL);
	assert_null(json_get(r, "missing"));
	assert_null(json_get(json_get(r, "missing"), "b"));
	json_free(d);
}

static void decodes_strings(void **state)
{
	struct json_doc *d =
		parse("[\"a\\\"\\\\\\n\", \"2\\u207b\\u00b9\", \"\\ud83d\\ude00\", \"\"]");
	const struct json *j = json_first(json_root(d));

	assert_string_equal(json_text(j), "a\"\\\n");
	assert_string_equal(json_text(j->next), "2\xe2\x81\xbb\xc2\xb9");
	assert_string_equal(json_text(j->next->next), "\xf0\x9f\x98\x80");
	assert_int_equal(j->next->next->next->n, 0);
	assert_true(json_has(json_root(d), ""));
	assert_false(json_has(json_root(d), "b"));
	json_free(d);
}

static void keeps_numbers_as_text(void **state)
{
	struct json_doc *d = parse("[0,12345678901234567890123,1.5e-3]");
	const struct json *j = json_first(json_root(d));

	assert_string_equal(json_text(j), "0");
	assert_string_equal(json_text(j->next), "12345678901234567890123");
	assert_string_equal(json_text(j->next->next), "1.5e-3");
	assert_int_equal(json_int(j->next->next, -9), -9);
	json_free(d);
}

static void reads_hex(void **state)
{
	struct json_doc *d = parse("[\"00fF\",\"0\",\"0g\",\"\",7]");
	const struct json *j = json_first(json_root(d));
	uint8_t *p = NULL, two[2];
	size_t n = 9;

	assert_true(json_hex(j, &p, &n));
	assert_int_equal(n, 2);
	assert_int_equal(p[1], 0xff);
	free(p);
	assert_true(json_hex_exact(j, two, 2));
	assert_false(json_hex_exact(j, two, 1));
	assert_false(json_hex(j->next, &p, &n));
	assert_false(json_hex(j->next->next, &p, &n));
	assert_true(json_hex(j->next->next->next, &p, &n));
	assert_int_equal(n, 0);
	free(p);
	assert_false(json_hex(j->next->next->next->next, &p, &n));
	assert_false(json_hex(NULL, &p, &n));
	json_free(d);
}

static void refuses_what_is_not_json(void **state)
{
	static const char *const bad[] = {"", " ", "{", "[1,]", "[1 2]", "{\"a\"}", "{\"a\":}",
		"{a:1}", "[1] 2", "\"abc", "\"\\x\"", "\"\\u12\"", "\"\\ud800\"", "\"\\udc00\"",
		"01", "-", "1.", "1e", "tru", "nul", "[\"a\nb\"]", "{\"a\":1,}", "]"};

	for (size_t i = 0; i < ARRAY_N(bad); i++) {
		struct json_doc *d = parse(bad[i]);
		if (d != NULL)
			print_message("accepted: %s\n", bad[i]);
		assert_null(d);
	}
	char deep[200];
	memset(deep, '[', 100);
	memset(deep + 100, ']', 100);
	assert_null(json_parse(deep, sizeof(deep)));
	assert_null(json_load("/nonexistent/file.json"));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_nested_values),
		cmocka_unit_test(decodes_strings),
		cmocka_unit_test(keeps_numbers_as_text),
		cmocka_unit_test(reads_hex),
		cmocka_unit_test(refuses_what_is_not_json),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
