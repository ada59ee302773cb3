/* SPDX-License-Identifier: ISC */
/* A channel on descriptors: order, windows, slow and broken sinks, room, the filter.  The
 * connection engine is a double. */
#include <stdarg.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <fcntl.h>
#include <unistd.h>

#include "run/chanio.h"

#define PIPE_BYTES 4096

static struct {
	uint8_t room[TP_BULK_MAX][32768], sent[1 << 20];
	size_t sent_n, consumed, commits;
	bool is_eof, is_discarded, is_held;
	size_t channels;
	uint32_t window;
	err_t reserve_answer;
} engine;

err_t cn_reserve_room(
	struct cn *cn, const struct cn_want *want, struct iovec iov[TP_BULK_MAX], size_t *niov)
{
	(void)cn;
	if (engine.reserve_answer != OK)
		return engine.reserve_answer;
	size_t n = 0, left = want->n;
	for (; n < TP_BULK_MAX && left > 0; n++) {
		size_t take = num_min(left, sizeof(engine.room[n]));
		iov[n] = (struct iovec){engine.room[n], take};
		left -= take;
	}
	*niov = n;
	return OK;
}

err_t cn_commit(struct cn *cn, size_t used)
{
	(void)cn;
	engine.commits++;
	for (size_t i = 0; used > 0; i++) {
		size_t n = num_min(used, sizeof(engine.room[i]));
		memcpy(engine.sent + engine.sent_n, engine.room[i], n);
		engine.sent_n += n;
		used -= n;
	}
	return OK;
}

void cn_consumed(struct cn *cn, uint32_t chan, size_t n)
{
	(void)cn, (void)chan;
	engine.consumed += n;
}

void cn_eof(struct cn *cn, uint32_t chan)
{
	(void)cn, (void)chan;
	engine.is_eof = true;
}

void cn_discard_input(struct cn *cn, uint32_t chan)
{
	(void)cn, (void)chan;
	engine.is_discarded = true;
}

void pump_kick(struct pump *p)
{
	(void)p;
}

void pump_hold(struct pump *p, bool hold)
{
	(void)p;
	engine.is_held = hold;
}

size_t cn_channels(const struct cn *cn)
{
	(void)cn;
	return engine.channels;
}

uint32_t cn_window_out(const struct cn *cn, uint32_t chan)
{
	(void)cn, (void)chan;
	return engine.window;
}

struct rig {
	struct ev *ev;
	struct chunk_pool pool;
	struct chunk *chunk;
	struct chanio io;
	struct ev_timer timer;
	int in[2], out[2];
	size_t drained;
};

static void stop_now(struct ev_timer *t, uint64_t now_us)
{
	(void)now_us;
	ev_stop(((struct rig *)t->arg)->ev);
}

static void turn(struct rig *r)
{
	r->timer.on = stop_now;
	r->timer.arg = r;
	ev_timer_set(r->ev, &r->timer, os_monotonic_us() + 10000);
	assert_int_equal(ev_run(r->ev), OK);
}

static void note_drained(void *arg)
{
	((struct rig *)arg)->drained++;
}

static int setup(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));
	memset(&engine, 0, sizeof(engine));
	engine.channels = 1;
	engine.window = 1 << 20;
	if (r == NULL || ev_new(&r->ev) != OK || pipe(r->in) != 0 || pipe(r->out) != 0)
		return -1;
	chunk_pool_init(&r->pool, 4 * CHUNK_SIZE);
	if (chunk_get(&r->pool, &r->chunk) != OK)
		return -1;
	for (size_t i = 0; i < CHUNK_SIZE; i++)
		r->chunk->p[i] = (uint8_t)(i * 7 + i / 256);
	(void)fcntl(r->out[1], F_SETPIPE_SZ, PIPE_BYTES);
	os_sigpipe_ignore();
	r->io = (struct chanio){
		.ev = r->ev, .in = r->in[0], .in2 = -1, .on_drained = note_drained, .arg = r};
	r->io.out.fd = r->out[1];
	r->io.out.is_pipe_grown = true;
	r->io.err.fd = -1;
	*state = r;
	return chanio_start(&r->io) == OK ? 0 : -1;
}

static void close_one(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static int teardown(void **state)
{
	struct rig *r = *state;
	chanio_stop(&r->io);
	chunk_drop(r->chunk);
	chunk_pool_done(&r->pool);
	ev_free(r->ev);
	for (int i = 0; i < 2; i++) {
		close_one(&r->in[i]);
		close_one(&r->out[i]);
	}
	free(r);
	return 0;
}

static void give(struct rig *r, size_t at, size_t n)
{
	struct cn_event e = {.type = CN_EV_DATA, .span = {r->chunk, r->chunk->p + at, n}};
	assert_int_equal(chanio_event(&r->io, &e), OK);
}

/* Reads what is in the pipe and compares it with the chunk from *at on. */
static void take(struct rig *r, size_t *at)
{
	static uint8_t b[1 << 20];
	(void)fcntl(r->out[0], F_SETFL, O_NONBLOCK);
	for (ssize_t n; (n = read(r->out[0], b, sizeof(b))) > 0; *at += (size_t)n)
		assert_memory_equal(b, r->chunk->p + *at, n);
}

static void several_packets_go_out_in_order_and_are_consumed_when_written(void **state)
{
	struct rig *r = *state;
	size_t at = 0;
	give(r, 0, 1000);
	give(r, 1000, 1);
	give(r, 1001, 2000);
	assert_int_equal(engine.consumed, 0);
	assert_int_equal(chanio_flush(&r->io), OK);
	assert_int_equal(engine.consumed, 3001);
	assert_true(chanio_is_drained(&r->io));
	take(r, &at);
	assert_int_equal(at, 3001);
	assert_int_equal(r->chunk->refs, 1);
}

static void without_a_flush_the_loop_writes(void **state)
{
	struct rig *r = *state;
	size_t at = 0;
	give(r, 0, 500);
	turn(r);
	take(r, &at);
	assert_int_equal(at, 500);
}

static void the_window_never_opens_before_the_sink_has_the_bytes(void **state)
{
	struct rig *r = *state;
	size_t at = 0;
	for (size_t i = 0; i < 8; i++)
		give(r, i * 32768, 32768);
	assert_int_equal(chanio_flush(&r->io), OK);
	while (at < 8 * 32768) {
		size_t before = at;
		assert_true(engine.consumed <= at + (size_t)fcntl(r->out[1], F_GETPIPE_SZ));
		take(r, &at);
		turn(r);
		assert_true(at > before);
	}
	assert_int_equal(engine.consumed, 8 * 32768);
	assert_true(chanio_is_drained(&r->io));
}

static void small_packets_for_a_slow_sink_are_copied_and_keep_their_order(void **state)
{
	struct rig *r = *state;
	size_t at = 0, given = 0;
	give(r, 0, 300000);
	given = 300000;
	assert_int_equal(chanio_flush(&r->io), OK);
	assert_false(chanio_is_drained(&r->io));
	uint32_t refs = r->chunk->refs;
	for (int i = 0; i < 2000; i++, given += 3)
		give(r, given, 3);
	give(r, given, 32768); /* a large one behind copies */
	given += 32768;
	assert_int_equal(r->chunk->refs, refs);
	for (int i = 0; i < 400 && at < given; i++) {
		take(r, &at);
		turn(r);
	}
	assert_int_equal(at, given);
	assert_int_equal(engine.consumed, given);
}

static void more_packets_than_the_ring_holds_are_kept(void **state)
{
	struct rig *r = *state;
	size_t at = 0;
	for (size_t i = 0; i < SPANQ_SPANS + 100; i++)
		give(r, i * 10, 10);
	assert_true(r->chunk->refs <= SPANQ_SPANS + 1);
	for (int i = 0; i < 20; i++) {
		assert_int_equal(chanio_flush(&r->io), OK);
		take(r, &at);
	}
	assert_int_equal(at, (SPANQ_SPANS + 100) * 10);
}

static void a_broken_sink_drops_and_acknowledges(void **state)
{
	struct rig *r = *state;
	close_one(&r->out[0]);
	give(r, 0, 1000);
	give(r, 1000, 1000);
	assert_int_equal(chanio_flush(&r->io), OK);
	assert_true(engine.is_discarded);
	assert_int_equal(engine.consumed, 2000);
	give(r, 2000, 500);
	assert_int_equal(engine.consumed, 2500);
	assert_int_equal(r->chunk->refs, 1);
}

static void input_is_read_into_the_packets_and_its_end_is_told(void **state)
{
	struct rig *r = *state;
	assert_int_equal(write(r->in[1], "hello", 5), 5);
	turn(r);
	assert_int_equal(engine.sent_n, 5);
	assert_memory_equal(engine.sent, "hello", 5);
	assert_false(engine.is_eof);
	close_one(&r->in[1]);
	turn(r);
	assert_true(engine.is_eof);
}

static void without_room_nothing_is_read_until_room_comes(void **state)
{
	struct rig *r = *state;
	engine.reserve_answer = E_AGAIN;
	assert_int_equal(write(r->in[1], "hello", 5), 5);
	turn(r);
	assert_int_equal(engine.sent_n, 0);
	engine.reserve_answer = OK;
	turn(r);
	assert_int_equal(engine.sent_n, 0);
	struct cn_event e = {.type = CN_EV_ROOM};
	assert_int_equal(chanio_event(&r->io, &e), OK);
	turn(r);
	assert_int_equal(engine.sent_n, 5);
}

static size_t double_first(void *arg, uint8_t *p, size_t n)
{
	(void)arg;
	memmove(p + 1, p, n);
	return n + 1;
}

static void the_filter_may_add_a_byte(void **state)
{
	struct rig *r = *state;
	r->io.filter = double_first;
	assert_int_equal(write(r->in[1], "abc", 3), 3);
	turn(r);
	assert_int_equal(engine.sent_n, 4);
	assert_memory_equal(engine.sent, "aabc", 4);
}

static void drained_is_told_once_after_the_peers_end(void **state)
{
	struct rig *r = *state;
	struct cn_event e = {.type = CN_EV_EOF};
	size_t at = 0;
	give(r, 0, 100);
	assert_int_equal(chanio_event(&r->io, &e), OK);
	assert_int_equal(r->drained, 0);
	assert_int_equal(chanio_flush(&r->io), OK);
	assert_int_equal(chanio_flush(&r->io), OK);
	assert_int_equal(r->drained, 1);
	take(r, &at);
}

/* The peer has no reason to widen a window for data that will never come. */
static void an_end_needs_no_window(void **state)
{
	struct rig *r = *state;
	engine.reserve_answer = E_AGAIN;
	engine.window = 0;
	turn(r);
	assert_false(engine.is_eof); /* it is only silent */
	close_one(&r->in[1]);
	turn(r);
	assert_true(engine.is_eof);
	assert_int_equal(engine.commits, 0);
}

static void an_end_behind_data_waits_for_the_window(void **state)
{
	struct rig *r = *state;
	engine.reserve_answer = E_AGAIN;
	engine.window = 0;
	assert_int_equal(write(r->in[1], "rest", 4), 4);
	close_one(&r->in[1]);
	turn(r);
	assert_false(engine.is_eof);
	engine.reserve_answer = OK;
	engine.window = 4;
	struct cn_event e = {.type = CN_EV_ROOM};
	assert_int_equal(chanio_event(&r->io, &e), OK);
	turn(r);
	assert_int_equal(engine.sent_n, 4);
	assert_true(engine.is_eof);
}

static void an_end_waits_for_an_exchange_of_keys(void **state)
{
	struct rig *r = *state;
	engine.reserve_answer = E_AGAIN; /* with a window: what holds it back is over soon */
	close_one(&r->in[1]);
	turn(r);
	assert_false(engine.is_eof);
}

static void a_long_backlog_holds_the_pump_until_it_is_short(void **state)
{
	struct rig *r = *state;
	size_t at = 0;
	for (size_t i = 0; i < 31; i++)
		give(r, i * 32768, 32768);
	assert_int_equal(chanio_flush(&r->io), OK);
	assert_false(engine.is_held);
	for (size_t i = 0; i < 4; i++) /* what is given again is only counted here */
		give(r, 0, 32768);
	assert_int_equal(chanio_flush(&r->io), OK);
	assert_true(engine.is_held);
	for (int i = 0; i < 400 && engine.is_held; i++) {
		take(r, &at);
		turn(r);
	}
	assert_false(engine.is_held);
	assert_true(at > 500000);
}

static void other_channels_are_never_made_to_wait(void **state)
{
	struct rig *r = *state;
	engine.channels = 2;
	for (size_t i = 0; i < 40; i++)
		give(r, 0, 32768);
	assert_int_equal(chanio_flush(&r->io), OK);
	assert_false(engine.is_held);
}

static void descriptors_get_their_flags_back(void **state)
{
	struct rig *r = *state;
	assert_true(fcntl(r->out[1], F_GETFL) & O_NONBLOCK);
	assert_true(fcntl(r->in[0], F_GETFL) & O_NONBLOCK);
	chanio_stop(&r->io);
	assert_false(fcntl(r->out[1], F_GETFL) & O_NONBLOCK);
	assert_false(fcntl(r->in[0], F_GETFL) & O_NONBLOCK);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(several_packets_go_out_in_order_and_are_consumed_when_written),
		T(without_a_flush_the_loop_writes),
		T(the_window_never_opens_before_the_sink_has_the_bytes),
		T(small_packets_for_a_slow_sink_are_copied_and_keep_their_order),
		T(more_packets_than_the_ring_holds_are_kept),
		T(a_broken_sink_drops_and_acknowledges),
		T(input_is_read_into_the_packets_and_its_end_is_told),
		T(without_room_nothing_is_read_until_room_comes),
		T(an_end_needs_no_window),
		T(an_end_behind_data_waits_for_the_window),
		T(an_end_waits_for_an_exchange_of_keys),
		T(the_filter_may_add_a_byte),
		T(drained_is_told_once_after_the_peers_end),
		T(a_long_backlog_holds_the_pump_until_it_is_short),
		T(other_channels_are_never_made_to_wait),
		T(descriptors_get_their_flags_back),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
