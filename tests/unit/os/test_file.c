/* SPDX-License-Identifier: ISC */
/* Small files: whole, too long, missing, a directory; lines appended. */
#include <stdarg.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/file.h"

static char path[] = "/tmp/bowline-file-XXXXXX";

static void write_text(const char *text)
{
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static int setup(void **state)
{
	(void)state;
	strcpy(path + strlen(path) - 6, "XXXXXX");
	int fd = mkstemp(path);
	return fd < 0 ? -1 : close(fd);
}

static int teardown(void **state)
{
	(void)state;
	return unlink(path);
}

static void a_file_is_read_whole_with_its_owner_and_mode(void **state)
{
	(void)state;
	struct buf out;
	struct os_file info;
	write_text("hello");
	assert_int_equal(chmod(path, 0640), 0);
	buf_init(&out, 5);
	assert_int_equal(os_file_read(path, &out, &info), OK);
	assert_int_equal(out.n, 5);
	assert_memory_equal(out.p, "hello", 5);
	assert_int_equal(info.mode, 0640);
	assert_int_equal(info.uid, getuid());
	buf_done(&out);
}

static void a_longer_file_than_allowed_is_an_error_and_gives_nothing(void **state)
{
	(void)state;
	struct buf out;
	write_text("hello!");
	buf_init(&out, 5);
	assert_int_equal(os_file_read(path, &out, NULL), E_LIMIT);
	assert_int_equal(out.n, 0);
	buf_done(&out);
}

static void failures_say_which(void **state)
{
	(void)state;
	struct buf out;
	struct os_file info;
	buf_init(&out, 100);
	assert_int_equal(os_file_read("/tmp/bowline-none/x", &out, &info), E_NOT_FOUND);
	assert_int_equal(info.why, ENOENT);
	assert_int_equal(os_file_read("/tmp", &out, &info), E_FORMAT);
	assert_int_equal(info.why, EISDIR);
	assert_int_equal(os_file_read("/dev/null", &out, &info), OK);
	assert_int_equal(out.n, 0);
	buf_done(&out);
}

static void an_appended_line_starts_at_a_line_of_its_own(void **state)
{
	(void)state;
	struct buf out;
	int why = 0;
	write_text("one");
	assert_int_equal(os_file_append(path, cslice_str("two\n"), 0600, &why), OK);
	assert_int_equal(os_file_append(path, cslice_str("three\n"), 0600, &why), OK);
	buf_init(&out, 100);
	assert_int_equal(os_file_read(path, &out, NULL), OK);
	assert_int_equal(out.n, 14);
	assert_memory_equal(out.p, "one\ntwo\nthree\n", 14);
	buf_done(&out);
}

/* A limit of the file's size stands for a full disk: a write takes what fits, the next one fails.
 */
static void a_line_that_does_not_fit_leaves_the_file_as_it_was(void **state)
{
	(void)state;
	struct buf out;
	write_text("one\n");
	pid_t pid = fork();
	if (pid == 0) {
		const struct rlimit limit = {10, 10};
		int why = 0;
		(void)signal(SIGXFSZ, SIG_IGN);
		if (setrlimit(RLIMIT_FSIZE, &limit) != 0)
			_exit(1);
		err_t e = os_file_append(path, cslice_str("a longer line\n"), 0600, &why);
		_exit(e == E_IO && why == EFBIG ? 0 : 2);
	}
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	buf_init(&out, 100);
	assert_int_equal(os_file_read(path, &out, NULL), OK);
	assert_int_equal(out.n, 4);
	buf_done(&out);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(a_file_is_read_whole_with_its_owner_and_mode),
		T(a_longer_file_than_allowed_is_an_error_and_gives_nothing),
		T(failures_say_which),
		T(an_appended_line_starts_at_a_line_of_its_own),
		T(a_line_that_does_not_fit_leaves_the_file_as_it_was),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
