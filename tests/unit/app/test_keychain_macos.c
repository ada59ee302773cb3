/* SPDX-License-Identifier: ISC */
/* keychain_macos, over a stand-in for the libraries of macOS: what goes in comes out, nothing leaks
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "app/common/keychain.h"
#include "stub.h"

static struct buf out, why;

static int setup(void **state)
{
	(void)state;
	buf_init(&out, KEYCHAIN_SECRET_MAX);
	buf_init(&why, 4096);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	buf_done(&out);
	buf_done(&why);
	return stub_living() == 0 ? 0 : -1;
}

static void is(const struct buf *b, const char *text)
{
	assert_true(cslice_eq_str(buf_bytes(b), text));
}

static void note(void *arg, const char *path)
{
	buf_printf(arg, "%s;", path);
}

static void what_goes_in_comes_out_and_is_forgotten(void **state)
{
	(void)state;
	const struct keychain_place *k = &keychain_macos;
	assert_int_equal(k->get("/a", &out, &why), E_NOT_FOUND);
	assert_int_equal(k->each(note, &out, &why), OK);
	assert_int_equal(k->put("/a", cslice_str("one"), &why), OK);
	assert_int_equal(k->put("/b", cslice_str("other"), &why), OK);
	assert_int_equal(k->put("/a", cslice_str("two"), &why), OK);
	assert_int_equal(k->get("/a", &out, &why), OK);
	is(&out, "two");
	buf_clear(&out);
	assert_int_equal(k->each(note, &out, &why), OK);
	is(&out, "/a;/b;");
	buf_clear(&out);
	assert_int_equal(k->forget("/a", &why), OK);
	assert_int_equal(k->forget("/a", &why), E_NOT_FOUND);
	assert_int_equal(k->get("/a", &out, &why), E_NOT_FOUND);
	assert_int_equal(k->forget("/b", &why), OK);
	assert_int_equal(why.n, 0);
	assert_int_equal(out.n, 0);
}

static void failures_are_told(void **state)
{
	(void)state;
	static const struct {
		OSStatus status;
		err_t verdict;
		const char *words;
	} rows[] = {
		{errSecAuthFailed, E_IO, "the macOS keychain says: not right (-25293)"},
		{errSecUserCanceled, E_CANCELLED, "the macOS keychain says: no reason (-128)"},
		{errSecNotAvailable, E_UNSUPPORTED, "the macOS keychain says: no reason (-25291)"},
	};
	for (size_t i = 0; i < ARRAY_N(rows); i++) {
		stub_fail_next(rows[i].status);
		assert_int_equal(keychain_macos.get("/a", &out, &why), rows[i].verdict);
		is(&why, rows[i].words);
		buf_clear(&why);
		stub_fail_next(rows[i].status);
		assert_int_equal(keychain_macos.put("/a", cslice_str("x"), &why), rows[i].verdict);
		is(&why, rows[i].words);
		buf_clear(&why);
		stub_fail_next(rows[i].status);
		assert_int_equal(keychain_macos.each(note, &out, &why), rows[i].verdict);
		buf_clear(&why);
	}
	assert_int_equal(out.n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			what_goes_in_comes_out_and_is_forgotten, setup, teardown),
		cmocka_unit_test_setup_teardown(failures_are_told, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
