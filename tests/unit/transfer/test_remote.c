/* SPDX-License-Identifier: ISC */
/* The remote file system over a child: the installed sftp-server and ours; and children that are
 * none. */
#include <pwd.h>

#include "remote_fx.h"

static const char *servers[2];
static size_t servers_n;

/* Every test below runs with each server. */
#define EACH_SERVER(x)                                                                             \
	for (size_t server_ = 0; server_ < servers_n; server_++)                                   \
		for (bool once_ = begin_with(x, server_); once_; once_ = end_with(x))

static bool begin_with(struct rx *x, size_t server)
{
	*x = (struct rx){0};
	rx_dir(x);
	assert_int_equal(rx_start(x, NULL, servers[server]), OK);
	return true;
}

static bool end_with(struct rx *x)
{
	rx_end(x);
	return false;
}

static void expect_status(const struct rx *x, err_t e, uint32_t code)
{
	assert_int_equal(e, E_STATUS);
	assert_int_equal(x->r.code, code);
}

static void files_can_be_looked_at_and_changed(void **state)
{
	(void)state;
	struct rx x;
	EACH_SERVER(&x)
	{
		struct sf_attr a = {0};
		char *text = NULL;
		rx_file(&x, "one", "hello");
		assert_int_equal(remote_stat(&x.r, "one", false, &a), OK);
		assert_int_equal(a.size, 5);
		expect_status(&x, remote_stat(&x.r, "none", false, &a), SF_no_such_file);
		assert_string_equal(remote_words(&x.r, E_STATUS), "No such file or directory");
		assert_int_equal(a.size, 5); /* untouched */
		assert_int_equal(remote_realpath(&x.r, ".", &text), OK);
		assert_non_null(strstr(text, "bowline-remote-"));
		free(text);
		assert_int_equal(remote_mkdir(&x.r, "d", 0700), OK);
		assert_int_equal(remote_stat(&x.r, "d", false, &a), OK);
		assert_int_equal(a.mode & 07777, 0700);
		assert_int_equal(remote_symlink(&x.r, "one", "link"), OK);
		assert_int_equal(remote_readlink(&x.r, "link", &text), OK);
		assert_string_equal(text, "one");
		free(text);
		assert_int_equal(remote_stat(&x.r, "link", true, &a), OK);
		assert_int_equal(a.mode & S_IFMT, S_IFLNK);
		struct sf_attr mode = {.flags = SF_A_MODE, .mode = 0600};
		assert_int_equal(remote_setstat(&x.r, "one", false, &mode), OK);
		assert_int_equal(remote_stat(&x.r, "one", false, &a), OK);
		assert_int_equal(a.mode & 07777, 0600);
		assert_int_equal(remote_hardlink(&x.r, "one", "two"), OK);
		assert_int_equal(remote_rename(&x.r, "two", "three", false), OK);
		rx_file(&x, "four", "x");
		assert_int_equal(remote_rename(&x.r, "three", "four", false), OK);
		rx_file(&x, "five", "x");
		expect_status(&x, remote_rename(&x.r, "four", "five", true), SF_failure);
		assert_int_equal(remote_remove(&x.r, "five"), OK);
		assert_int_equal(remote_rmdir(&x.r, "d"), OK);
		struct sf_vfs vfs = {0};
		assert_int_equal(remote_statvfs(&x.r, ".", &vfs), OK);
		assert_true(vfs.blocks > 0 && vfs.namemax > 0);
	}
}

static void a_copy_is_the_same_and_a_copy_onto_itself_does_no_harm(void **state)
{
	(void)state;
	struct rx x;
	EACH_SERVER(&x)
	{
		struct sf_attr a = {0};
		rx_file(&x, "from", "short");
		rx_file(&x, "to", "something longer");
		assert_int_equal(remote_copy(&x.r, "from", "to"), OK);
		assert_int_equal(remote_stat(&x.r, "to", false, &a), OK);
		assert_int_equal(a.size, 5);
		assert_int_equal(remote_copy(&x.r, "from", "new"), OK);
		assert_int_equal(remote_stat(&x.r, "new", false, &a), OK);
		assert_int_equal(a.size, 5);
		(void)!remote_copy(&x.r, "from", "from");
		assert_int_equal(remote_stat(&x.r, "from", false, &a), OK);
		assert_int_equal(a.size, 5);
		assert_int_equal(remote_mkdir(&x.r, "d", 0700), OK);
		assert_int_equal(remote_copy(&x.r, "d", "e"), E_STATUS);
		assert_string_equal(remote_words(&x.r, E_STATUS), "not a regular file");
	}
}

static void names_of_users_come_in_order(void **state)
{
	(void)state;
	struct rx x;
	EACH_SERVER(&x)
	{
		static uint32_t ids[1500];
		static char *names[1500];
		for (size_t i = 0; i < ARRAY_N(ids); i++)
			ids[i] = i % 3 == 0 ? 0 : 3999999999u;
		assert_int_equal(remote_names(&x.r, ids, ARRAY_N(ids), false, names), OK);
		for (size_t i = 0; i < ARRAY_N(ids); i++) {
			assert_string_equal(names[i], i % 3 == 0 ? "root" : "");
			free(names[i]);
		}
		assert_int_equal(remote_names(&x.r, ids, 1, true, names), OK);
		assert_string_equal(names[0], "root");
		free(names[0]);
	}
}

static void homes_are_expanded(void **state)
{
	(void)state;
	static const char *const v[][2] = {{"~", "."}, {"~/", "."}, {"~/x/y", "x/y"}, {"~//x", "x"},
		{"plain", "plain"}, {"", "."}, {"a~b", "a~b"}};
	struct rx x;
	EACH_SERVER(&x)
	{
		char *text = NULL;
		for (size_t i = 0; i < ARRAY_N(v); i++) {
			assert_int_equal(remote_expand(&x.r, v[i][0], &text), OK);
			assert_string_equal(text, v[i][1]);
			free(text);
		}
		assert_int_equal(remote_expand(&x.r, "~root/x", &text), OK);
		const struct passwd *root = getpwnam("root");
		assert_non_null(root);
		size_t n = strlen(root->pw_dir);
		assert_true(strncmp(text, root->pw_dir, n) == 0 && strcmp(text + n, "/x") == 0);
		free(text);
	}
}

/* ---- directories ------------------------------------------------------------------------------
 */
#define MANY 1201

static void a_directory_of_any_size_is_whole(void **state)
{
	(void)state;
	struct rx x;
	EACH_SERVER(&x)
	{
		struct remote_dir d = {0};
		for (int n = 0; n <= MANY; n += MANY) {
			char name[32];
			bool seen[MANY] = {false};
			for (int i = 0; i < n; i++) {
				(void)snprintf(name, sizeof(name), "f%d", i);
				rx_file(&x, name, "");
			}
			assert_int_equal(remote_list(&x.r, ".", &d), OK);
			assert_int_equal(d.n, (size_t)n + 2);
			for (size_t i = 0; i < d.n; i++) {
				int k = d.v[i].name[0] == 'f' ? atoi(d.v[i].name + 1) : -1;
				if (k < 0)
					continue;
				assert_true(k < n && !seen[k]);
				seen[k] = true;
				assert_non_null(strstr(d.v[i].longname, d.v[i].name));
				assert_true((d.v[i].a.flags & SF_A_MODE) != 0);
			}
			remote_dir_free(&d);
		}
		expect_status(&x, remote_list(&x.r, "none", &d), SF_no_such_file);
		/* every handle was closed: there is room for more of them than can be open */
		for (int i = 0; i < 300; i++) {
			assert_int_equal(remote_list(&x.r, "/", &d), OK);
			remote_dir_free(&d);
		}
	}
}

/* ---- patterns ---------------------------------------------------------------------------------
 */
static void expect_paths(
	struct rx *x, const char *pattern, bool is_literal_ok, const char *expected)
{
	struct remote_paths p = {0};
	char all[1024] = "";
	assert_int_equal(remote_glob(&x->r, pattern, is_literal_ok, &p), OK);
	for (size_t i = 0; i < p.n; i++) {
		size_t at = strlen(all);
		(void)snprintf(all + at, sizeof(all) - at, "%s%s", i > 0 ? " " : "", p.v[i]);
	}
	if (strcmp(all, expected) != 0)
		fail_msg("%s: \"%s\", not \"%s\"", pattern, all, expected);
	remote_paths_free(&p);
}

static void patterns_find_what_is_there(void **state)
{
	(void)state;
	struct rx x;
	EACH_SERVER(&x)
	{
		static const char *const dirs[] = {"a", "b", ".h", "a/sub", "b/sub"};
		static const char *const files[] = {"a/1.c", "a/2.c", "b/1.c", "b/3.h", ".h/1.c",
			"a/sub/x", "b/sub/y", "plain", "a*b", "c[d]", "zz", ".dot"};
		for (size_t i = 0; i < ARRAY_N(dirs); i++)
			rx_mkdir(&x, dirs[i]);
		for (size_t i = 0; i < ARRAY_N(files); i++)
			rx_file(&x, files[i], "");
		expect_paths(&x, "*", false, "a a*b b c[d] plain zz");
		expect_paths(&x, "*/*.c", false, "a/1.c a/2.c b/1.c");
		expect_paths(&x, "*/sub/*", false, "a/sub/x b/sub/y");
		expect_paths(&x, "*/1.c", false, "a/1.c b/1.c");
		expect_paths(&x, "./[ab]/?.[ch]", false, "./a/1.c ./a/2.c ./b/1.c ./b/3.h");
		expect_paths(&x, "a//*.c", false, "a//1.c a//2.c");
		expect_paths(&x, ".*", false, ".dot .h");
		expect_paths(&x, "*/", false, "a/ b/");
		expect_paths(&x, "a\\*b", false, "a*b");
		expect_paths(&x, "c\\[d\\]", false, "c[d]");
		expect_paths(&x, "c[d]", false, "c[d]"); /* no match: that file itself */
		expect_paths(&x, "plain", false, "plain");
		expect_paths(&x, "none", false, "");
		expect_paths(&x, "none", true, "none");
		expect_paths(&x, "non*e\\x", true, "non*ex");
		expect_paths(&x, "none/*", false, "");
		expect_paths(&x, "plain/*", false, "");
		expect_paths(&x, "", true, "");
		char absolute[128], expected[256];
		(void)snprintf(absolute, sizeof(absolute), "%s/z*", x.dir);
		(void)snprintf(expected, sizeof(expected), "%s/zz", x.dir);
		expect_paths(&x, absolute, false, expected);
	}
}

/* ---- children that are no servers -------------------------------------------------------------
 */
static void print_and_wait(int in, int out)
{
	static const char text[] = "\r\nWelcome to \033[1mthis\033[0m machine\r\nMore\r\n\0\0\0\5";
	char c;
	(void)!write(out, text, sizeof(text) - 1);
	(void)!read(in, &c, 1);
	while (read(in, &c, 1) > 0)
		;
}

static void what_a_login_script_prints_is_named(void **state)
{
	(void)state;
	struct rx x = {0};
	assert_int_equal(rx_start(&x, print_and_wait, NULL), E_LENGTH);
	assert_string_equal(remote_words(&x.r, E_LENGTH),
		"Received message too long 218781541: the login scripts of the account print "
		"text, beginning with: Welcome to \\033[1mthis\\033[0m machine");
	rx_end(&x);
}

static void end_at_once(int in, int out)
{
	(void)in, (void)out;
}

static void an_end_is_told(void **state)
{
	(void)state;
	struct rx x = {0};
	struct sf_attr a;
	assert_int_equal(rx_start(&x, end_at_once, NULL), E_CLOSED);
	assert_string_equal(remote_words(&x.r, E_CLOSED), "Connection closed");
	assert_int_equal(remote_stat(&x.r, ".", false, &a), E_CLOSED);
	rx_end(&x);
}

/* VERSION; then an answer each time that something came, as long as there is one; then silence. */
#define SAYS 4
static struct cslice said[SAYS];
static size_t said_n;

static void say_after_version(int in, int out)
{
	char bytes[4096];
	size_t i = 0;
	(void)!write(out, "\0\0\0\5\2\0\0\0\3", 9);
	(void)!read(in, bytes, 9); /* INIT */
	while (read(in, bytes, sizeof(bytes)) > 0) {
		if (i < said_n)
			(void)!write(out, said[i].p, said[i].n);
		i++;
	}
}

#define SAY(text)                                                                                  \
	do {                                                                                       \
		assert_true(said_n < SAYS);                                                        \
		said[said_n++] = cslice_of(text, sizeof(text) - 1);                                \
	} while (0)

static void on_alarm(struct ev_timer *t, uint64_t now_us)
{
	(void)now_us;
	remote_interrupt(t->arg);
}

static void a_wait_can_be_interrupted(void **state)
{
	(void)state;
	struct rx x = {0};
	struct sf_attr a;
	struct remote_dir d;
	struct remote_paths p;
	said_n = 0;
	assert_int_equal(rx_start(&x, say_after_version, NULL), OK);
	struct ev_timer t = {.on = on_alarm, .arg = &x.r};
	ev_timer_set(x.ev, &t, os_monotonic_us() + 10000);
	assert_int_equal(remote_stat(&x.r, ".", false, &a), E_INTERRUPTED);
	ev_timer_set(x.ev, &t, os_monotonic_us() + 10000);
	assert_int_equal(remote_list(&x.r, ".", &d), E_INTERRUPTED);
	ev_timer_set(x.ev, &t, os_monotonic_us() + 10000);
	assert_int_equal(remote_glob(&x.r, "*", false, &p), E_INTERRUPTED);
	remote_interrupt(&x.r); /* before the wait */
	assert_int_equal(remote_stat(&x.r, ".", false, &a), E_INTERRUPTED);
	assert_int_equal(sf_client_pending(x.r.sf), 4);
	rx_end(&x); /* what is still under way is freed */
}

static void answers_that_do_not_fit_end_the_connection(void **state)
{
	(void)state;
	struct rx x = {0};
	struct sf_attr a;
	char *text = NULL;
	said_n = 0;
	SAY("\0\0\0\11\145\0\0\0\1\0\0\0\0"); /* the wrong number */
	assert_int_equal(rx_start(&x, say_after_version, NULL), OK);
	assert_int_equal(remote_stat(&x.r, ".", false, &a), E_UNEXPECTED);
	assert_string_equal(remote_words(&x.r, E_UNEXPECTED),
		"the server broke the SFTP protocol: message not allowed in this state");
	rx_end(&x);
	said_n = 0;
	SAY("\0\0\0\11\150\0\0\0\0\0\0\0\0"); /* REALPATH: no name */
	assert_int_equal(rx_start(&x, say_after_version, NULL), OK);
	assert_int_equal(remote_realpath(&x.r, ".", &text), E_FORMAT);
	assert_int_equal(x.r.end, E_FORMAT);
	rx_end(&x);
	said_n = 0;
	SAY("\0\0\0\32\150\0\0\0\0\0\0\0\1\0\0\0\1x\0\0\0\0\0\0\0\0\0\0\0\1"); /* more than said */
	assert_int_equal(rx_start(&x, say_after_version, NULL), OK);
	assert_int_equal(remote_realpath(&x.r, ".", &text), OK);
	assert_string_equal(text, "x");
	free(text);
	rx_end(&x);
}

static void bad_names_are_left_out(void **state)
{
	(void)state;
	struct rx x = {0};
	struct remote_dir d = {0};
	said_n = 0;
	SAY("\0\0\0\12\146\0\0\0\0\0\0\0\1h");
	SAY("\0\0\0\116\150\0\0\0\1\0\0\0\5"
	    "\0\0\0\2ok\0\0\0\0\0\0\0\0"
	    "\0\0\0\3a/b\0\0\0\0\0\0\0\0"
	    "\0\0\0\0\0\0\0\0\0\0\0\0"
	    "\0\0\0\3x\0y\0\0\0\0\0\0\0\0"
	    "\0\0\0\1/\0\0\0\0\0\0\0\0"
	    "\0\0\0\11\145\0\0\0\2\0\0\0\1"
	    "\0\0\0\11\145\0\0\0\3\0\0\0\1"
	    "\0\0\0\11\145\0\0\0\4\0\0\0\1");
	SAY("\0\0\0\11\145\0\0\0\5\0\0\0\1"
	    "\0\0\0\11\145\0\0\0\6\0\0\0\1");
	assert_int_equal(rx_start(&x, say_after_version, NULL), OK);
	assert_int_equal(remote_list(&x.r, "d", &d), OK);
	assert_int_equal(d.n, 1);
	assert_string_equal(d.v[0].name, "ok");
	assert_string_equal(d.v[0].longname, "");
	remote_dir_free(&d);
	rx_end(&x);
}

int main(int argc, char **argv)
{
	if (access(DEBIAN_SERVER, X_OK) == 0)
		servers[servers_n++] = DEBIAN_SERVER;
	if (argc > 1)
		servers[servers_n++] = argv[1];
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_can_be_looked_at_and_changed),
		cmocka_unit_test(a_copy_is_the_same_and_a_copy_onto_itself_does_no_harm),
		cmocka_unit_test(names_of_users_come_in_order),
		cmocka_unit_test(homes_are_expanded),
		cmocka_unit_test(a_directory_of_any_size_is_whole),
		cmocka_unit_test(patterns_find_what_is_there),
		cmocka_unit_test(what_a_login_script_prints_is_named),
		cmocka_unit_test(an_end_is_told),
		cmocka_unit_test(a_wait_can_be_interrupted),
		cmocka_unit_test(answers_that_do_not_fit_end_the_connection),
		cmocka_unit_test(bad_names_are_left_out),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
