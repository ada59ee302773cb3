/* SPDX-License-Identifier: ISC */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "os/title.h"

extern char **environ;

struct start {
	struct title title;
	char **argv;      /* the copy */
	char first[4096]; /* argv[0] before */
	char **old_env;
};

/* What ps reads: up to the first NUL. */
static void shown(char *out, size_t n)
{
	int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	ssize_t got = read(fd, out, n - 1);
	assert_true(got >= 0);
	out[got] = 0;
	close(fd);
}

static void arguments_and_environment_live_on(void **state)
{
	const struct start *s = *state;
	title_set(&s->title, "%s", "a title");
	assert_string_equal(s->argv[0], s->first);
	assert_null(s->argv[1]);
	assert_ptr_not_equal(environ, s->old_env);
	assert_string_equal(getenv("TITLE_TEST"), "still here");
}

static void short_and_long_titles_are_shown(void **state)
{
	const struct start *s = *state;
	char text[8192], is[8192];
	title_set(&s->title, "sshd: %s", "u");
	shown(is, sizeof(is));
	assert_string_equal(is, "sshd: u");
	/* longer than the arguments: on into the environment's place */
	size_t n = strlen(s->first) + 40;
	assert_true(n < s->title.n && n < sizeof(text));
	memset(text, 'x', n);
	text[n] = 0;
	title_set(&s->title, "%s", text);
	shown(is, sizeof(is));
	assert_string_equal(is, text);
	title_set(&s->title, "sshd: %s", "again");
	shown(is, sizeof(is));
	assert_string_equal(is, "sshd: again");
}

static void a_title_never_leaves_its_place(void **state)
{
	char room[16] = "0123456789abcde";
	struct title t = {room, 8};
	(void)state;
	title_set(&t, "%s", "a long one that is cut");
	assert_memory_equal(room,
		"a long \0"
		"89abcde",
		16);
	title_set(&t, "b");
	assert_memory_equal(room,
		"b\0\0\0\0\0\0\0"
		"89abcde",
		16);
	title_set(&(struct title){NULL, 0}, "nowhere");
}

int main(int argc, char **argv)
{
	static struct start s;
	(void)argc;
	if (getenv("TITLE_TEST") == NULL) {
		/* again, with an environment that the kernel has put where titles go */
		if (setenv("TITLE_TEST", "still here", 1) != 0)
			return 1;
		char filler[512];
		memset(filler, 'f', sizeof(filler) - 1);
		filler[sizeof(filler) - 1] = 0;
		if (setenv("TITLE_FILL", filler, 1) != 0)
			return 1;
		(void)execv("/proc/self/exe", argv);
		return 1;
	}
	s.argv = argv;
	s.old_env = environ;
	strncpy(s.first, argv[0], sizeof(s.first) - 1);
	if (title_take(&s.title, &s.argv) != OK)
		return 1;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_prestate(arguments_and_environment_live_on, &s),
		cmocka_unit_test_prestate(short_and_long_titles_are_shown, &s),
		cmocka_unit_test_prestate(a_title_never_leaves_its_place, &s),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
