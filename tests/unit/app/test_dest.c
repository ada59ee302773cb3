/* SPDX-License-Identifier: ISC */
/* Destinations, URIs, refused names, names of IPQoS. */
#include <stdarg.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "app/common/qos.h"
#include "app/client/client.h"

struct dest_case {
	const char *text, *user, *host; /* host NULL = refused */
	uint16_t port;
};

/* clang-format off */
static const struct dest_case cases[] = {
	{"host", NULL, "host", 0},
	{"me@host", "me", "host", 0},
	{"me@corp.example@host", "me@corp.example", "host", 0},
	{"user:style@host", "user:style", "host", 0},
	{"2001:db8::1", NULL, "2001:db8::1", 0},
	{"@host", NULL, NULL, 0},
	{"me@", NULL, NULL, 0},
	{"ssh://host", NULL, "host", 0},
	{"ssh://host/", NULL, "host", 0},
	{"ssh://me@host:2222", "me", "host", 2222},
	{"ssh://me@[2001:db8::1]:2222/", "me", "2001:db8::1", 2222},
	{"ssh://a%40b@host", "a@b", "host", 0},
	{"ssh://a;x=y@host", "a", "host", 0},
	{"ssh://host/path", NULL, NULL, 0},
	{"ssh://host:0", NULL, NULL, 0},
	{"ssh://host:65536", NULL, NULL, 0},
	{"ssh://host:22x", NULL, NULL, 0},
	{"ssh://[2001:db8::1", NULL, NULL, 0},
	{"ssh://a%4@host", NULL, NULL, 0},
	{"ssh://a%00b@host", NULL, NULL, 0},
	{"ssh://", NULL, NULL, 0},
	{"ssh://@host", NULL, NULL, 0},
};

static const char *const bad_users[] = {"-l", "a;b", "a`b", "a\nb", "a -b", "a\\", "a'b", "a\"b", "a|b", "a(b", "{a}", "a<b"};
static const char *const good_users[] = {"me", "DOMAIN\\me", "a-b", "a b", "me@corp.example", "user:style", "$u"};
static const char *const bad_hosts[] = {"-oProxyCommand=x", "a b", "a\tb", "$(x)", "a;b", "a\\b", "a`b", "a&b", "a\x7f"};
static const char *const good_hosts[] = {"host", "a-b.example", "2001:db8::1", "fe80::1%eth0", "under_score", "192.0.2.1"};
/* clang-format on */

static void destinations_are_split_or_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_N(cases); i++) {
		const struct dest_case *c = &cases[i];
		struct dest d = {0};
		err_t e = dest_parse(c->text, &d);
		if (c->host == NULL) {
			assert_int_not_equal(e, OK);
			assert_null(d.host);
			continue;
		}
		assert_int_equal(e, OK);
		assert_string_equal(d.host, c->host);
		if (c->user != NULL)
			assert_string_equal(d.user, c->user);
		else
			assert_null(d.user);
		assert_int_equal(d.port, c->port);
		free(d.user);
		free(d.host);
	}
}

static void names_that_a_shell_would_read_are_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_N(bad_users); i++)
		assert_false(dest_user_is_fine(bad_users[i]));
	for (size_t i = 0; i < ARRAY_N(good_users); i++)
		assert_true(dest_user_is_fine(good_users[i]));
	for (size_t i = 0; i < ARRAY_N(bad_hosts); i++)
		assert_false(dest_host_is_fine(bad_hosts[i]));
	for (size_t i = 0; i < ARRAY_N(good_hosts); i++)
		assert_true(dest_host_is_fine(good_hosts[i]));
}

static void qos_names_give_the_byte_of_the_header(void **state)
{
	(void)state;
	assert_int_equal(qos_tos("ef"), 0xb8);
	assert_int_equal(qos_tos("AF21"), 0x48);
	assert_int_equal(qos_tos("cs0"), 0);
	assert_int_equal(qos_tos("16"), 16);
	assert_int_equal(qos_tos("256"), -1);
	assert_int_equal(qos_tos("none"), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(destinations_are_split_or_refused),
		cmocka_unit_test(names_that_a_shell_would_read_are_refused),
		cmocka_unit_test(qos_names_give_the_byte_of_the_header),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
