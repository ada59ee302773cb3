/* SPDX-License-Identifier: ISC */
/* lines: how the listener bears warm processes that cannot be started */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "app/sshd/lines.h"

struct fx {
	struct lines lines;
	struct ev_timer until;
	struct ev *ev;
	size_t calls, errors;
	char last[512];
};

static void on_ready(void *arg)
{
	((struct fx *)arg)->calls++;
}

static void on_signal(void *arg, int signo)
{
	struct fx *f = arg;
	int status;
	pid_t pid;
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		lines_reaped(&f->lines, pid, status);
}

static void on_until(struct ev_timer *t, uint64_t now_us)
{
	ev_stop(((struct fx *)t->arg)->ev);
}

static void sink(void *arg, enum log_level level, const char *text)
{
	struct fx *f = arg;
	f->errors += level == LOG_L_ERROR;
	if (level == LOG_L_ERROR)
		strncpy(f->last, text, sizeof(f->last) - 1);
}

static void run(struct fx *f, uint64_t us)
{
	ev_timer_set(f->ev, &f->until, os_monotonic_us() + us);
	assert_int_equal(ev_run(f->ev), OK);
}

static void the_delay_doubles_up_to_half_a_minute(void **state)
{
	static const uint32_t ms[] = {100, 200, 400, 800, 1600, 3200, 6400, 12800, 25600, 30000};
	for (uint32_t i = 0; i < 10; i++)
		assert_int_equal(lines_delay_us(i + 1), (uint64_t)ms[i] * 1000);
	assert_int_equal(lines_delay_us(UINT32_MAX), 30000000);
}

static void a_program_that_ends_at_once_is_tried_less_and_less(void **state)
{
	static const int signals[] = {SIGCHLD};
	char name[] = "false";
	char *argv[] = {name, NULL};
	struct fx f = {.calls = 0};
	assert_int_equal(ev_new(&f.ev), OK);
	f.until = (struct ev_timer){.at_us = UINT64_MAX, .on = on_until, .arg = &f};
	assert_int_equal(ev_signals(f.ev, signals, 1, on_signal, &f), OK);
	log_set(sink, &f, LOG_L_ERROR);
	f.lines = (struct lines){.ev = f.ev,
		.argv = argv,
		.self = open("/bin/false", O_RDONLY | O_CLOEXEC),
		.setup = open("/dev/null", O_RDONLY | O_CLOEXEC),
		.forks = 16,
		.on_ready = on_ready,
		.arg = &f};
	buf_init(&f.lines.keys, 16);
	buf_put_u8(&f.lines.keys, 0);
	lines_start(&f.lines);
	run(&f, 1000000);
	for (size_t i = 0; i < LINES;
		i++) { /* after 0, 0.1, 0.3, 0.7 s; later ones on a busy machine */
		assert_in_range(f.lines.line[i].failures, 2, 4);
		assert_string_equal(f.lines.line[i].cause, "ended with status 1");
	}
	assert_false(lines_ready(&f.lines));
	assert_int_equal(f.errors, LINES); /* one line each, however often it happens */
	assert_non_null(strstr(f.last, "ended with status 1"));
	/* The cause changes: that is news. */
	(void)close(f.lines.self);
	f.lines.self = open("/dev/null", O_RDONLY | O_CLOEXEC);
	run(&f, 2500000);
	assert_int_equal(f.errors, 2 * LINES);
	assert_non_null(strstr(f.last, "exec: Permission denied"));
	log_set(NULL, NULL, LOG_L_QUIET);
	lines_done(&f.lines);
	(void)close(f.lines.self);
	(void)close(f.lines.setup);
	ev_free(f.ev);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_delay_doubles_up_to_half_a_minute),
		cmocka_unit_test(a_program_that_ends_at_once_is_tried_less_and_less),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
