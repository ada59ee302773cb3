/* SPDX-License-Identifier: ISC */
/* The event loop: descriptors, files, timers, signals, removal in the middle of a turn. */
#include <stdarg.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>
#include <fcntl.h>
#include <unistd.h>

#include "os/ev.h"

struct rig {
	struct ev *ev;
	struct ev_io io, other;
	struct ev_timer timer, late;
	int pipe[2];
	char order[16];
	size_t order_n, calls;
	int signo;
};

static int setup(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));
	if (r == NULL || ev_new(&r->ev) != OK || pipe(r->pipe) != 0)
		return -1;
	r->io.arg = r->other.arg = r->timer.arg = r->late.arg = r;
	*state = r;
	return 0;
}

static int teardown(void **state)
{
	struct rig *r = *state;
	ev_free(r->ev);
	close(r->pipe[0]);
	close(r->pipe[1]);
	free(r);
	return 0;
}

static void on_read(struct ev_io *io, unsigned happened)
{
	struct rig *r = io->arg;
	char c;
	assert_true(happened & EV_IN);
	assert_int_equal(read(io->fd, &c, 1), 1);
	r->order[r->order_n++] = c;
	if (c == 'z')
		ev_stop(r->ev);
}

static void a_readable_descriptor_is_reported_until_it_is_empty(void **state)
{
	struct rig *r = *state;
	r->io.fd = r->pipe[0];
	r->io.want = EV_IN;
	r->io.on = on_read;
	assert_int_equal(ev_io_add(r->ev, &r->io), OK);
	assert_int_equal(write(r->pipe[1], "abz", 3), 3);
	assert_int_equal(ev_run(r->ev), OK);
	assert_memory_equal(r->order, "abz", 3);
	assert_int_equal(r->order_n, 3);
	ev_io_remove(r->ev, &r->io);
	ev_io_remove(r->ev, &r->io); /* harmless */
}

static void stop_soon(struct ev_timer *t, uint64_t now_us)
{
	struct rig *r = t->arg;
	(void)now_us;
	r->order[r->order_n++] = 't';
	ev_stop(r->ev);
}

static void count(struct ev_io *io, unsigned happened)
{
	struct rig *r = io->arg;
	(void)happened;
	r->calls++;
}

static void a_descriptor_without_interest_is_silent_even_when_hung_up(void **state)
{
	struct rig *r = *state;
	r->io.fd = r->pipe[0];
	r->io.want = EV_IN;
	r->io.on = count;
	assert_int_equal(ev_io_add(r->ev, &r->io), OK);
	close(r->pipe[1]);
	r->pipe[1] = -1;
	ev_io_want(r->ev, &r->io, 0);
	r->timer.on = stop_soon;
	ev_timer_set(r->ev, &r->timer, os_monotonic_us() + 20000);
	assert_int_equal(ev_run(r->ev), OK);
	assert_int_equal(r->calls, 0);
	/* and is heard again once it is wanted */
	ev_io_want(r->ev, &r->io, EV_IN);
	ev_timer_set(r->ev, &r->timer, os_monotonic_us() + 20000);
	assert_int_equal(ev_run(r->ev), OK);
	assert_true(r->calls > 0);
	ev_io_remove(r->ev, &r->io);
}

static void on_file(struct ev_io *io, unsigned happened)
{
	struct rig *r = io->arg;
	assert_int_equal(happened, EV_IN);
	if (++r->calls == 3)
		ev_stop(r->ev);
}

static void a_regular_file_is_always_ready(void **state)
{
	struct rig *r = *state;
	char name[] = "/tmp/bowline-ev-XXXXXX";
	r->io.fd = mkstemp(name);
	assert_true(r->io.fd >= 0);
	unlink(name);
	r->io.want = EV_IN;
	r->io.on = on_file;
	assert_int_equal(ev_io_add(r->ev, &r->io), OK);
	assert_int_equal(ev_run(r->ev), OK);
	assert_int_equal(r->calls, 3);
	ev_io_want(r->ev, &r->io, 0);
	r->timer.on = stop_soon;
	ev_timer_set(r->ev, &r->timer, os_monotonic_us() + 5000);
	assert_int_equal(ev_run(r->ev), OK);
	assert_int_equal(r->calls, 3);
	ev_io_remove(r->ev, &r->io);
	close(r->io.fd);
}

static void note_early(struct ev_timer *t, uint64_t now_us)
{
	struct rig *r = t->arg;
	assert_true(now_us > 0);
	r->order[r->order_n++] = 'e';
}

static void timers_come_in_the_order_of_their_time_and_never_early(void **state)
{
	struct rig *r = *state;
	uint64_t start = os_monotonic_us();
	r->timer.on = stop_soon;
	r->late.on = note_early;
	ev_timer_set(r->ev, &r->timer, start + 30000);
	ev_timer_set(r->ev, &r->late, start + 50000);
	ev_timer_set(r->ev, &r->late, start + 10000); /* set again: moved, not doubled */
	assert_int_equal(ev_run(r->ev), OK);
	assert_int_equal(r->order_n, 2);
	assert_memory_equal(r->order, "et", 2);
	assert_true(os_monotonic_us() - start >= 30000);
	ev_timer_stop(r->ev, &r->late);
	assert_true(r->late.at_us == UINT64_MAX);
}

static void set_into_the_past(struct ev_timer *t, uint64_t now_us)
{
	struct rig *r = t->arg;
	if (++r->calls < 1000000)
		ev_timer_set(r->ev, t, now_us > 1000 ? now_us - 1000 : 0);
}

static void a_timer_that_is_always_due_starves_no_other(void **state)
{
	struct rig *r = *state;
	r->late.on = set_into_the_past;
	r->timer.on = stop_soon;
	ev_timer_set(r->ev, &r->late, 0);
	ev_timer_set(r->ev, &r->timer, os_monotonic_us() + 5000);
	assert_int_equal(ev_run(r->ev), OK);
	assert_true(r->calls < 1000000);
	ev_timer_stop(r->ev, &r->late);
}

static void remove_other(struct ev_io *io, unsigned happened)
{
	struct rig *r = io->arg;
	(void)happened;
	r->calls++;
	ev_io_remove(r->ev, io == &r->io ? &r->other : &r->io);
	ev_io_want(r->ev, io, 0);
	r->timer.on = stop_soon;
	ev_timer_set(r->ev, &r->timer, os_monotonic_us() + 5000);
}

static void a_removed_descriptor_gets_no_event_of_the_same_turn(void **state)
{
	struct rig *r = *state;
	assert_int_equal(write(r->pipe[1], "x", 1), 1);
	r->io = (struct ev_io){.fd = r->pipe[0], .want = EV_IN, .on = remove_other, .arg = r};
	r->other = (struct ev_io){.fd = r->pipe[1], .want = EV_OUT, .on = remove_other, .arg = r};
	assert_int_equal(ev_io_add(r->ev, &r->io), OK);
	assert_int_equal(ev_io_add(r->ev, &r->other), OK);
	assert_int_equal(ev_run(r->ev), OK);
	assert_int_equal(r->calls, 1);
	ev_io_remove(r->ev, &r->io);
	ev_io_remove(r->ev, &r->other);
}

static void on_signal(void *arg, int signo)
{
	struct rig *r = arg;
	r->signo = signo;
	ev_stop(r->ev);
}

static void a_signal_comes_as_an_event(void **state)
{
	struct rig *r = *state;
	const int set[] = {SIGUSR1, SIGTERM};
	assert_int_equal(ev_signals(r->ev, set, ARRAY_N(set), on_signal, r), OK);
	kill(getpid(), SIGUSR1);
	assert_int_equal(ev_run(r->ev), OK);
	assert_int_equal(r->signo, SIGUSR1);
	os_signals_reset();
}

static void a_stop_from_before_the_run_counts(void **state)
{
	struct rig *r = *state;
	ev_stop(r->ev);
	assert_int_equal(ev_run(r->ev), OK);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(a_readable_descriptor_is_reported_until_it_is_empty),
		T(a_descriptor_without_interest_is_silent_even_when_hung_up),
		T(a_regular_file_is_always_ready),
		T(timers_come_in_the_order_of_their_time_and_never_early),
		T(a_timer_that_is_always_due_starves_no_other),
		T(a_removed_descriptor_gets_no_event_of_the_same_turn),
		T(a_signal_comes_as_an_event),
		T(a_stop_from_before_the_run_counts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
