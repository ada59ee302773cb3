/* SPDX-License-Identifier: ISC */
/* command: a program's answer counts only when all of it went well */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "os/command.h"
#include "os/ev.h"

#define TIME_US 10000000u

static char shell[] = "/bin/sh", flag[] = "-c";
static struct os_user self;
static struct buf out;
static struct command_end end;

static err_t run_within(const char *script, uint64_t time_us, int wanted)
{
	char *argv[] = {shell, flag, (char *)(uintptr_t)script, NULL};
	char name[] = "WORD=alone", *env[] = {name, NULL};
	struct command c = {.argv = argv,
		.env = env,
		.as = &self,
		.output_max = 100000,
		.until_us = os_monotonic_us() + time_us,
		.wanted = wanted};
	buf_clear(&out);
	return command_run(&c, &out, &end);
}

static err_t run(const char *script)
{
	return run_within(script, TIME_US, -1);
}

static void assert_end(enum command_fate fate, int number)
{
	assert_int_equal(end.fate, fate);
	assert_int_equal(end.number, number);
}

static void assert_out(const char *text)
{
	assert_int_equal(out.n, strlen(text));
	assert_memory_equal(out.p, text, out.n);
}

static void what_it_prints_is_appended(void **state)
{
	(void)state;
	assert_int_equal(run("echo one; echo hidden >&2; echo two"), OK);
	assert_end(COMMAND_EXITED, 0);
	assert_out("one\ntwo\n");
}

static void it_has_nothing_of_ours(void **state)
{
	(void)state;
	int fds[2];
	assert_int_equal(setenv("SECRET", "leaks", 1), 0);
	assert_int_equal(pipe(fds), 0); /* without close-on-exec */
	assert_int_equal(run("echo $WORD $SECRET; pwd; cat; cd /proc/self/fd; echo *"), OK);
	/* the last is the shell's own, of the directory that it reads */
	assert_out("alone\n/\n0 1 2 3\n");
	(void)close(fds[0]);
	(void)close(fds[1]);
}

static void only_status_0_is_good(void **state)
{
	(void)state;
	assert_int_equal(run("echo x; exit 7"), E_IO);
	assert_end(COMMAND_EXITED, 7);
	assert_int_equal(run("echo x; kill -9 $$"), E_IO);
	assert_end(COMMAND_KILLED, SIGKILL);
}

static void an_end_that_nobody_saw_is_not_good(void **state)
{
	(void)state;
	assert_true(signal(SIGCHLD, SIG_IGN) != SIG_ERR);
	assert_int_equal(run("echo x"), E_IO);
	assert_end(COMMAND_NOT_STARTED, ECHILD);
	assert_true(signal(SIGCHLD, SIG_DFL) != SIG_ERR);
}

static void what_cannot_run_is_told(void **state)
{
	(void)state;
	char path[] = "/no/such/program", *argv[] = {path, NULL}, *env[] = {NULL};
	struct command c = {.argv = argv,
		.env = env,
		.as = &self,
		.output_max = 1,
		.until_us = os_monotonic_us() + TIME_US,
		.wanted = -1};
	assert_int_equal(command_run(&c, &out, &end), E_IO);
	assert_end(COMMAND_NOT_STARTED, ENOENT);
}

static void size_and_time_are_limits(void **state)
{
	(void)state;
	assert_int_equal(run("yes"), E_IO);
	assert_end(COMMAND_TOO_MUCH, 0);
	assert_int_equal(run_within("echo x; sleep 60", 200000, -1), E_IO);
	assert_end(COMMAND_TOO_LONG, 0);
	/* also when it prints no more, */
	assert_int_equal(run_within("echo x; exec >&-; sleep 60", 200000, -1), E_IO);
	assert_end(COMMAND_TOO_LONG, 0);
	/* and when what it has left behind holds its output */
	assert_int_equal(run_within("sleep 60 & echo x", 200000, -1), E_IO);
	assert_end(COMMAND_TOO_LONG, 0);
}

static void it_ends_with_who_wants_it(void **state)
{
	(void)state;
	int fds[2];
	assert_int_equal(pipe(fds), 0);
	(void)close(fds[1]);
	assert_int_equal(run_within("echo x; sleep 60", TIME_US, fds[0]), E_IO);
	assert_end(COMMAND_NOT_WANTED, 0);
	(void)close(fds[0]);
}

static void it_ends_with_us(void **state)
{
	(void)state;
	sigset_t term, before;
	int got;
	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	assert_int_equal(sigprocmask(SIG_BLOCK, &term, &before), 0);
	assert_int_equal(raise(SIGTERM), 0);
	assert_int_equal(run("echo x; sleep 60"), E_IO);
	assert_end(COMMAND_NOT_WANTED, 0);
	assert_int_equal(sigwait(&term, &got), 0);
	assert_int_equal(sigprocmask(SIG_SETMASK, &before, NULL), 0);
}

static int set_up(void **state)
{
	(void)state;
	buf_init(&out, 1 << 20);
	return user_find_uid(getuid(), &self) == OK ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	user_done(&self);
	buf_done(&out);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_it_prints_is_appended),
		cmocka_unit_test(it_has_nothing_of_ours),
		cmocka_unit_test(only_status_0_is_good),
		cmocka_unit_test(an_end_that_nobody_saw_is_not_good),
		cmocka_unit_test(what_cannot_run_is_told),
		cmocka_unit_test(size_and_time_are_limits),
		cmocka_unit_test(it_ends_with_who_wants_it),
		cmocka_unit_test(it_ends_with_us),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
