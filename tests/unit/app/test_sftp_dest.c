/* SPDX-License-Identifier: ISC */
/* Destinations of sftp. */
#include <stdarg.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "app/sftp/sftp.h"

struct dest_case {
	const char *text, *user, *host, *path; /* host NULL = refused */
	uint16_t port;
};

/* clang-format off */
static const struct dest_case cases[] = {
	{"host",                         NULL,  "host",          NULL,       0},
	{"me@host",                      "me",  "host",          NULL,       0},
	{"host:",                        NULL,  "host",          NULL,       0},
	{"host:dir/file",                NULL,  "host",          "dir/file", 0},
	{"me@host:/x:y",                 "me",  "host",          "/x:y",     0},
	{"me@corp@host:a b",             "me@corp", "host",      "a b",      0},
	{"[2001:db8::1]:p",              NULL,  "2001:db8::1",   "p",        0},
	{"me@[2001:db8::1]:/p",          "me",  "2001:db8::1",   "/p",       0},
	{"[2001:db8::1]",                NULL,  "2001:db8::1",   NULL,       0},
	{"::1",                          NULL,  "::1",           NULL,       0},
	{"host/with:colon",              NULL,  "host/with:colon", NULL,     0},
	{"@host",                        NULL,  NULL,            NULL,       0},
	{"me@",                          NULL,  NULL,            NULL,       0},
	{"me@:x",                        NULL,  NULL,            NULL,       0},
	{"",                             NULL,  NULL,            NULL,       0},
	{"[]:x",                         NULL,  NULL,            NULL,       0},
	{"sftp://host",                  NULL,  "host",          NULL,       0},
	{"sftp://host/",                 NULL,  "host",          NULL,       0},
	{"sftp://me@host:2222/in/home",  "me",  "host",          "in/home",  2222},
	{"sftp://host//abs/olute",       NULL,  "host",          "/abs/olute", 0},
	{"sftp://me%40corp@host/a%20b%2f", "me@corp", "host",    "a b/",     0},
	{"sftp://me;fingerprint=x@host/p", "me", "host",         "p",        0},
	{"sftp://[2001:db8::1]:22/p",    NULL,  "2001:db8::1",   "p",        22},
	{"sftp://host:99x/p",            NULL,  NULL,            NULL,       0},
	{"sftp://host:0/p",              NULL,  NULL,            NULL,       0},
	{"sftp://host:65536/p",          NULL,  NULL,            NULL,       0},
	{"sftp://",                      NULL,  NULL,            NULL,       0},
	{"sftp:///p",                    NULL,  NULL,            NULL,       0},
	{"sftp://host/%zz",              NULL,  NULL,            NULL,       0},
	{"sftp://host/a%00b",            NULL,  NULL,            NULL,       0},
	{"sftp://host/a%2",              NULL,  NULL,            NULL,       0},
};
/* clang-format on */

static void assert_text(const char *got, const char *want)
{
	if (want == NULL)
		assert_null(got);
	else
		assert_string_equal(got, want);
}

static void a_destination_is_taken_apart(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_N(cases); i++) {
		const struct dest_case *c = &cases[i];
		struct sftp_dest d = {.port = 7};
		err_t e = sftp_dest_parse(c->text, &d);
		assert_int_equal(e == OK, c->host != NULL);
		if (e != OK) {
			assert_int_equal(d.port, 7); /* untouched */
			continue;
		}
		assert_text(d.user, c->user);
		assert_text(d.host, c->host);
		assert_text(d.path, c->path);
		assert_int_equal(d.port, c->port);
		free(d.user);
		free(d.host);
		free(d.path);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_destination_is_taken_apart),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
