/* SPDX-License-Identifier: ISC */
/* A link over two pipes: room, order, ends, spans that are kept, a slow reader; and the depth. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "transfer/link.h"
#include "transfer/remote.h"

#define KEEP_MAX 4096

struct lx {
	struct ev *ev;
	struct link_fds *fds;
	struct link *l;
	int their_in, their_out; /* the child's ends */
	size_t came, rooms, ends;
	err_t why;
	bool keep, stop_at_bytes;
	struct span kept[KEEP_MAX];
	size_t kept_n;
	uint8_t next; /* bytes count up */
};

static void on_bytes(void *arg, struct span in)
{
	struct lx *x = arg;
	for (size_t i = 0; i < in.n; i++)
		assert_int_equal(in.p[i], x->next++);
	x->came += in.n;
	if (x->keep) {
		assert_true(x->kept_n < KEEP_MAX);
		span_keep(&in);
		x->kept[x->kept_n++] = in;
	}
	if (x->stop_at_bytes)
		ev_stop(x->ev);
}

static void on_room(void *arg)
{
	struct lx *x = arg;
	x->rooms++;
}

static void on_end(void *arg, err_t why)
{
	struct lx *x = arg;
	x->ends++;
	x->why = why;
	ev_stop(x->ev);
}

static void start(struct lx *x)
{
	int in[2], out[2];
	*x = (struct lx){.why = E_BUG};
	os_sigpipe_ignore();
	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	assert_int_equal(ev_new(&x->ev), OK);
	assert_int_equal(link_fds_new(&x->fds, x->ev, in[0], out[1]), OK);
	x->their_out = in[1];
	x->their_in = out[0];
	x->l = link_fds_face(x->fds);
	x->l->arg = x;
	x->l->on_bytes = on_bytes;
	x->l->on_room = on_room;
	x->l->on_end = on_end;
}

static void end(struct lx *x)
{
	link_fds_free(x->fds);
	ev_free(x->ev);
	if (x->their_in >= 0)
		close(x->their_in);
	if (x->their_out >= 0)
		close(x->their_out);
}

static void put_counting(struct lx *x, uint8_t *from, size_t n)
{
	uint8_t bytes[4096];
	while (n > 0) {
		size_t part = num_min(n, sizeof(bytes));
		for (size_t i = 0; i < part; i++)
			bytes[i] = (uint8_t)(*from)++;
		ssize_t done = write(x->their_out, bytes, part);
		assert_int_equal(done, part);
		n -= part;
	}
}

static void on_timer(struct ev_timer *t, uint64_t now_us)
{
	(void)now_us;
	ev_stop(t->arg);
}

static void run_for(struct lx *x, uint64_t us)
{
	struct ev_timer t = {.at_us = UINT64_MAX, .on = on_timer, .arg = x->ev};
	ev_timer_set(x->ev, &t, os_monotonic_us() + us);
	assert_int_equal(ev_run(x->ev), OK);
	ev_timer_stop(x->ev, &t);
}

static void bytes_come_in_order_and_the_end_once(void **state)
{
	(void)state;
	struct lx x;
	uint8_t from = 0;
	start(&x);
	put_counting(&x, &from, 50000);
	close(x.their_out);
	x.their_out = -1;
	while (x.ends == 0)
		assert_int_equal(ev_run(x.ev), OK);
	assert_int_equal(x.came, 50000);
	assert_int_equal(x.why, OK);
	assert_true(x.rooms > 0);
	run_for(&x, 1000);
	assert_int_equal(x.ends, 1);
	struct iovec iov[TP_BULK_MAX];
	size_t niov;
	assert_int_equal(x.l->ops->reserve(x.l, 10, iov, &niov), E_CLOSED);
	end(&x);
}

static void spans_that_are_kept_stay_as_they_are(void **state)
{
	(void)state;
	struct lx x;
	uint8_t from = 0, check = 0;
	size_t n = 0;
	start(&x);
	x.keep = x.stop_at_bytes = true;
	for (int i = 0; i < 60; i++) { /* more than a chunk */
		put_counting(&x, &from, 50000);
		size_t want = x.came + 50000;
		while (x.came < want)
			assert_int_equal(ev_run(x.ev), OK);
	}
	for (size_t i = 0; i < x.kept_n; i++) {
		for (size_t k = 0; k < x.kept[i].n; k++)
			assert_int_equal(x.kept[i].p[k], check++);
		n += x.kept[i].n;
		span_drop(&x.kept[i]);
	}
	assert_int_equal(n, 3000000);
	end(&x);
}

static void room_is_bounded_and_comes_back(void **state)
{
	(void)state;
	struct lx x;
	static uint8_t data[100000], sink[100000];
	size_t put = 0, got = 0;
	err_t e;
	start(&x);
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)i;
	while ((e = link_put(x.l, cslice_of(data, sizeof(data)))) == OK) {
		put += sizeof(data);
		x.l->ops->kick(x.l);
	}
	assert_int_equal(e, E_AGAIN);
	assert_true(put >= 200000 && put <= (2 << 20)); /* the pipe's, and ours */
	size_t rooms = x.rooms;
	while (got < put) {
		ssize_t n = read(x.their_in, sink, num_min(sizeof(sink), put - got));
		assert_true(n > 0);
		for (ssize_t i = 0; i < n; i++)
			assert_int_equal(sink[i], (uint8_t)((got + (size_t)i) % sizeof(data)));
		got += (size_t)n;
		run_for(&x, 500);
	}
	assert_true(x.rooms > rooms);
	assert_int_equal(link_put(x.l, cslice_of(data, sizeof(data))), OK);
	end(&x);
}

static void finish_sends_all_and_then_the_end(void **state)
{
	(void)state;
	struct lx x;
	static uint8_t data[200000], sink[200000];
	size_t got = 0;
	ssize_t n;
	start(&x);
	assert_int_equal(link_put(x.l, cslice_of(data, sizeof(data))), OK);
	x.l->ops->finish(x.l);
	assert_int_equal(link_put(x.l, cslice_of(data, 1)), E_CLOSED);
	int flags = fcntl(x.their_in, F_GETFL);
	assert_int_equal(fcntl(x.their_in, F_SETFL, flags | O_NONBLOCK), 0);
	while ((n = read(x.their_in, sink, sizeof(sink))) != 0) {
		if (n < 0) {
			assert_int_equal(errno, EAGAIN);
			run_for(&x, 500);
			continue;
		}
		got += (size_t)n;
	}
	assert_int_equal(got, sizeof(data));
	end(&x);
}

static void a_reader_that_is_gone_may_have_said_why(void **state)
{
	(void)state;
	struct lx x;
	uint8_t from = 0;
	start(&x);
	close(x.their_in);
	x.their_in = -1;
	put_counting(&x, &from, 100);
	assert_int_equal(link_put(x.l, cslice_of("x", 1)), OK);
	x.l->ops->kick(x.l);
	x.stop_at_bytes = true;
	assert_int_equal(ev_run(x.ev), OK);
	assert_int_equal(x.came, 100);
	close(x.their_out);
	x.their_out = -1;
	while (x.ends == 0)
		assert_int_equal(ev_run(x.ev), OK);
	end(&x);
}

static void on_bytes_free(void *arg, struct span in)
{
	struct lx *x = arg;
	(void)in;
	link_fds_free(x->fds);
	x->fds = NULL;
	ev_stop(x->ev);
}

static void a_link_may_be_freed_from_within(void **state)
{
	(void)state;
	struct lx x;
	uint8_t from = 0;
	start(&x);
	x.l->on_bytes = on_bytes_free;
	put_counting(&x, &from, 100);
	assert_int_equal(ev_run(x.ev), OK);
	assert_null(x.fds);
	end(&x);
}

/* ---- the depth --------------------------------------------------------------------------------
 */
/* A path on which `rate` bytes a microsecond are delivered at most, after rtt_us; what is under way
 * is as much as depth allows.  Gives the depth after so many microseconds. */
static uint64_t depth_after(uint32_t rtt_us, uint64_t rate, uint64_t us)
{
	struct remote r = {0};
	remote_rate_sample(&r, rtt_us);
	uint64_t step = rtt_us > 20000 ? rtt_us : 20000, moved = 0;
	for (uint64_t now = 1; now < us; now += step) {
		remote_rate_turn(&r, now, moved);
		uint64_t most = rate * step, have = r.depth * step / rtt_us;
		moved += have < most ? have : most;
	}
	return r.depth;
}

static void the_depth_fills_a_long_path_and_stays_small_on_a_short_one(void **state)
{
	(void)state;
	/* 200 ms: 20 MB/s need 4 MB, 220 MB/s need 44 MB */
	uint64_t slow = depth_after(200000, 20, 10000000);
	assert_true(slow >= 4000000 && slow <= 12000000);
	uint64_t fast = depth_after(200000, 220, 10000000);
	assert_true(fast >= 44000000 && fast <= 64 << 20);
	/* within two seconds there is enough for nine tenths */
	assert_true(depth_after(200000, 220, 2500000) >= 40000000);
	/* loopback: 2,000 MB/s at 100 us */
	uint64_t near = depth_after(100, 2000, 2000000);
	assert_true(near >= 1 << 20 && near <= 2 << 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_come_in_order_and_the_end_once),
		cmocka_unit_test(spans_that_are_kept_stay_as_they_are),
		cmocka_unit_test(room_is_bounded_and_comes_back),
		cmocka_unit_test(finish_sends_all_and_then_the_end),
		cmocka_unit_test(a_reader_that_is_gone_may_have_said_why),
		cmocka_unit_test(a_link_may_be_freed_from_within),
		cmocka_unit_test(the_depth_fills_a_long_path_and_stays_small_on_a_short_one),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
