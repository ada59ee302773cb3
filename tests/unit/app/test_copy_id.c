/* SPDX-License-Identifier: ISC */
/* ssh-copy-id: which keys a file lacks, what is put behind it, and what never leaves the machine */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "app/ssh-copy-id/ci.h"

#define A   "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFYZ8FqooyjXFTnBHGk4bVefkxNHl75M7fUsnk2Wk2Xn"
#define B   "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHMnZtMEXLWJ1bSb0mLTMi2GfqwL+Jy3rQXo2LkqTg5B"
#define NEW "new-type@example.org AAAAFG5ldy10eXBlQGV4YW1wbGUub3JnAAAAAXg="

static struct ci_keys keys_of(const char *text)
{
	struct ci_keys k = {0};
	assert_int_equal(ci_keys_add(&k, cslice_str(text)), OK);
	return k;
}

struct row {
	const char *file, *keys;
	bool is_forced;
	const char *tail; /* what follows the file */
};

static const struct row rows[] = {
	/* clang-format off */
	{"",                            A " me",             false, A " me\n"},
	{A "\n",                        A " me",             false, ""},
	{A "\n",                        B " me",             false, B " me\n"},
	{"# text",                      A,                   false, "\n" A "\n"},
	{A,                             B,                   false, "\n" B "\n"},
	{A,                             A " other",          false, ""}, /* not even an end of line */
	{A "\r\n" B "\r\n",             A "\n" B,            false, ""},
	{"  " A "  old comment\n",      A " me",             false, ""},
	{"command=\"a b,c\" " A "\n",   A,                   false, ""},
	{"from=\"x\",restrict " A "\n", A,                   false, ""},
	{"cert-authority " A "\n",      A,                   false, A "\n"},
	{"no-pty,CERT-AUTHORITY " A,    A,                   false, "\n" A "\n"},
	{"command=\"cert-authority\" " A, A,                 false, ""},
	{"#" A "\n",                    A,                   false, A "\n"},
	{"ssh-rsa " "AAAAC3NzaC1lZDI1NTE5AAAAIFYZ8FqooyjXFTnBHGk4bVefkxNHl75M7fUsnk2Wk2Xn\n",
	                                A,                   false, A "\n"}, /* the word lies */
	{A "x\n",                       A,                   false, A "\n"},
	{"command=\"open " A "\n",      A,                   false, A "\n"},
	{"",                            A " 1\n" B "\n" A,   false, A " 1\n" B "\n"}, /* twins */
	{A "\n",                        "restrict " A,       false, ""},
	{"",                            "restrict " A " c",  false, "restrict " A " c\n"},
	{"",                            NEW " x",            false, NEW " x\n"},
	{NEW " y\n",                    NEW " x",            false, ""},
	{A " me\n",                     A " you",            true,  A " you\n"},
	{A " me\n",                     A " me",             true,  ""},
	{"\n\n\n",                      A,                   false, A "\n"},
	/* clang-format on */
};

static void only_what_is_missing_is_added(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_N(rows); i++) {
		struct ci_keys k = keys_of(rows[i].keys);
		struct buf tail;
		buf_init(&tail, CI_KEYS_MAX);
		assert_true(k.n > 0);
		assert_int_equal(
			ci_merge(cslice_str(rows[i].file), &k, rows[i].is_forced, &tail), OK);
		if (!cslice_eq_str(buf_bytes(&tail), rows[i].tail))
			fail_msg("row %zu: \"%.*s\"", i, (int)tail.n, (const char *)tail.p);
		buf_done(&tail);
		ci_keys_free(&k);
	}
}

static void utf16_is_refused(void **state)
{
	static const uint8_t file[] = {0xff, 0xfe, 's', 0, 's', 0};
	struct ci_keys k = keys_of(A);
	struct buf tail;
	(void)state;
	buf_init(&tail, CI_KEYS_MAX);
	assert_int_equal(ci_merge(cslice_of(file, sizeof(file)), &k, false, &tail), E_FORMAT);
	buf_done(&tail);
	ci_keys_free(&k);
}

static void nothing_but_public_keys_is_taken(void **state)
{
	struct ci_keys k = {0};
	(void)state;
	assert_int_equal(
		ci_keys_add(&k, cslice_str("-----BEGIN OPENSSH PRIVATE KEY-----\n" A "\n")),
		E_KEY_PUBLIC);
	assert_int_equal(ci_keys_add(&k, cslice_str("PuTTY-User-Key-File-3: ssh-ed25519\n" A "\n")),
		E_KEY_PUBLIC);
	assert_int_equal(k.n, 0);
	assert_int_equal(ci_keys_add(&k, cslice_str("\xff\n" A " me\r\nsome text\n\n# " B)), OK);
	assert_int_equal(k.n, 1);
	assert_string_equal(k.v[0].line, A " me");
	assert_string_equal(
		k.v[0].shown, "ED25519 SHA256:QD9iqIg+QGfnL5TuHh2OE0bdQ/VgE5+z8+Pmkxz4NcY me");
	ci_keys_free(&k);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_what_is_missing_is_added),
		cmocka_unit_test(utf16_is_refused),
		cmocka_unit_test(nothing_but_public_keys_is_taken),
	};
	return crypto_init() == OK ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
}
