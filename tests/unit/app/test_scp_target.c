/* SPDX-License-Identifier: ISC */
/* What scp takes for a local path, for a host and path, and for a URI; names and joined paths. */
#include <stdarg.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "app/scp/scp.h"

struct target_case {
	const char *text, *user, *host, *path; /* host NULL = local; path NULL = refused */
	uint16_t port;
};

/* clang-format off */
static const struct target_case cases[] = {
	{"file", NULL, NULL, "file", 0},
	{"", NULL, NULL, "", 0},
	{"dir/file", NULL, NULL, "dir/file", 0},
	{"./a:b", NULL, NULL, "./a:b", 0},
	{"/a:b", NULL, NULL, "/a:b", 0},
	{"dir/a:b", NULL, NULL, "dir/a:b", 0},
	{":file", NULL, NULL, ":file", 0},
	{"me@host", NULL, NULL, "me@host", 0},
	{"[::1]", NULL, NULL, "[::1]", 0},
	{"host:", NULL, "host", ".", 0},
	{"host:file", NULL, "host", "file", 0},
	{"host:a:b", NULL, "host", "a:b", 0},
	{"host:/a b/'c'", NULL, "host", "/a b/'c'", 0},
	{"host:~other/x", NULL, "host", "~other/x", 0},
	{"me@host:file", "me", "host", "file", 0},
	{"me@corp.example@host:file", "me@corp.example", "host", "file", 0},
	{"@host:file", NULL, "host", "file", 0},
	{"[::1]:file", NULL, "::1", "file", 0},
	{"[2001:db8::1]:/a]:b", NULL, "2001:db8::1", "/a]:b", 0},
	{"me@[fe80::1%eth0]:", "me", "fe80::1%eth0", ".", 0},
	{"[host]:file", NULL, "host", "file", 0},
	{"me@:file", NULL, NULL, NULL, 0},
	{"scp://host", NULL, "host", ".", 0},
	{"scp://host/", NULL, "host", ".", 0},
	{"scp://host/file", NULL, "host", "file", 0},
	{"scp://host//abs/file", NULL, "host", "/abs/file", 0},
	{"scp://me@host:2222/a%20b%2fc", "me", "host", "a b/c", 2222},
	{"scp://me@[2001:db8::1]:2222/x", "me", "2001:db8::1", "x", 2222},
	{"scp://a%40b@host/x@y", "a@b", "host", "x@y", 0},
	{"scp://me;x=y@host/x", "me", "host", "x", 0},
	{"scp://host:x/y", NULL, NULL, NULL, 0},
	{"scp://host:65536/y", NULL, NULL, NULL, 0},
	{"scp://host/a%00b", NULL, NULL, NULL, 0},
	{"scp://host/a%4", NULL, NULL, NULL, 0},
	{"scp:///x", NULL, NULL, NULL, 0},
	{"scp://@host/x", NULL, NULL, NULL, 0},
	{"sftp://host/x", NULL, "sftp", "//host/x", 0},
};

static const struct {
	const char *path, *name, *joined; /* joined: behind "d" */
} names[] = {
	{"file", "file", "d/file"},
	{"a/b", "b", "d/b"},
	{"/a/b//", "b", "d/b"},
	{"/", "", "d"},
	{"", "", "d"},
	{".", "", "d"},
	{"a/..", "", "d"},
	{"a/../", "", "d"},
	{"...", "...", "d/..."},
	{".hidden", ".hidden", "d/.hidden"},
};
/* clang-format on */

static void assert_text(const char *is, const char *wanted)
{
	if (wanted == NULL)
		assert_null(is);
	else
		assert_string_equal(is, wanted);
}

static void words_are_paths_hosts_or_uris(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_N(cases); i++) {
		const struct target_case *c = &cases[i];
		struct target t = {0};
		err_t e = target_parse(c->text, &t);
		if (c->path == NULL) {
			assert_int_equal(e, E_FORMAT);
			assert_null(t.path);
			continue;
		}
		assert_int_equal(e, OK);
		assert_text(t.user, c->user);
		assert_text(t.host, c->host);
		assert_string_equal(t.path, c->path);
		assert_int_equal(t.port, c->port);
		target_done(&t);
	}
}

static void the_last_part_of_a_path_is_its_name(void **state)
{
	(void)state;
	static const char *const dirs[] = {"d", "d/"};
	for (size_t i = 0; i < 2 * ARRAY_N(names); i++) {
		struct cslice name = target_name(names[i / 2].path);
		char *joined;
		assert_true(cslice_eq_str(name, names[i / 2].name));
		assert_int_equal(target_join(dirs[i % 2], name, &joined), OK);
		if (name.n > 0)
			assert_string_equal(joined, names[i / 2].joined);
		else
			assert_string_equal(joined, dirs[i % 2]);
		free(joined);
	}
	char *joined;
	assert_int_equal(target_join("/", cslice_str("x"), &joined), OK);
	assert_string_equal(joined, "/x");
	free(joined);
	assert_int_equal(target_join("", cslice_str("x"), &joined), OK);
	assert_string_equal(joined, "x");
	free(joined);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_are_paths_hosts_or_uris),
		cmocka_unit_test(the_last_part_of_a_path_is_its_name),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
