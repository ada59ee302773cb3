/* SPDX-License-Identifier: ISC */
/* Socket and engine: events, questions, partial writes, the end.  The transport engine is a double.
 */
#include <stdarg.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <sys/socket.h>
#include <unistd.h>

#include "run/pump.h"

#define OUT_MAX ((size_t)4 << 20)

/* Every byte fed is an event of its own; 'D' is a message that ends the connection. */
static struct {
	uint8_t in[4096], out[OUT_MAX];
	size_t in_n, in_at, out_n, out_at;
	err_t error;
	uint64_t deadline, ticked;
	size_t feeds;
	bool is_full;
} engine;

struct slice tp_space(struct tp *tp)
{
	(void)tp;
	return (struct slice){
		engine.in + engine.in_n, engine.is_full ? 0 : sizeof(engine.in) - engine.in_n};
}

err_t tp_fed(struct tp *tp, size_t n, uint64_t now_us)
{
	(void)tp, (void)now_us;
	engine.in_n += n;
	engine.feeds++;
	return OK;
}

err_t tp_fed_eof(struct tp *tp)
{
	(void)tp;
	engine.error = E_CLOSED;
	return E_CLOSED;
}

err_t tp_poll(struct tp *tp, struct tp_event *ev)
{
	(void)tp;
	if (engine.error != OK)
		return engine.error;
	*ev = (struct tp_event){.type = TP_EV_NONE};
	if (engine.in_at < engine.in_n)
		*ev = (struct tp_event){.type = TP_EV_MSG, .msg = engine.in[engine.in_at++]};
	return OK;
}

size_t tp_ready(struct tp *tp, struct iovec *iov, size_t max)
{
	(void)tp;
	size_t n = 0;
	for (size_t at = engine.out_at; at < engine.out_n && n < max; n++) {
		size_t take = num_min(engine.out_n - at, 30000);
		iov[n] = (struct iovec){engine.out + at, take};
		at += take;
	}
	return n;
}

size_t tp_unsent(const struct tp *tp)
{
	(void)tp;
	return engine.out_n - engine.out_at;
}

void tp_sent(struct tp *tp, size_t n)
{
	(void)tp;
	engine.out_at += n;
	assert_true(engine.out_at <= engine.out_n);
}

static void say(const char *text)
{
	memcpy(engine.out + engine.out_n, text, strlen(text));
	engine.out_n += strlen(text);
}

void tp_fail(struct tp *tp, err_t e)
{
	(void)tp;
	if (engine.error != OK)
		return;
	engine.error = e;
	say("bye");
}

err_t tp_error(const struct tp *tp)
{
	(void)tp;
	return engine.error;
}

uint64_t tp_deadline(const struct tp *tp)
{
	(void)tp;
	return engine.deadline;
}

err_t tp_tick(struct tp *tp, uint64_t now_us)
{
	(void)tp;
	engine.ticked = now_us;
	engine.deadline = UINT64_MAX;
	return OK;
}

struct rig {
	struct ev *ev;
	struct pump pump;
	struct ev_timer timer;
	int far;
	char seen[64];
	size_t seen_n, sends, closed;
	err_t why;
};

static err_t on_event(void *arg, struct tp_event *e)
{
	struct rig *r = arg;
	r->seen[r->seen_n++] = (char)e->msg;
	if (e->msg == 'Q')
		return E_AGAIN;
	return e->msg == 'D' ? E_FORMAT : OK;
}

static err_t before_send(void *arg)
{
	((struct rig *)arg)->sends++;
	return OK;
}

static void on_closed(void *arg, err_t why)
{
	struct rig *r = arg;
	r->closed++;
	r->why = why;
	ev_stop(r->ev);
}

static void stop_now(struct ev_timer *t, uint64_t now_us)
{
	(void)now_us;
	ev_stop(((struct rig *)t->arg)->ev);
}

static void turn(struct rig *r)
{
	r->timer = (struct ev_timer){.on = stop_now, .arg = r};
	ev_timer_set(r->ev, &r->timer, os_monotonic_us() + 20000);
	assert_int_equal(ev_run(r->ev), OK);
	ev_timer_stop(r->ev, &r->timer);
}

static int setup(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));
	int ends[2];
	memset(&engine, 0, sizeof(engine));
	engine.deadline = UINT64_MAX;
	os_sigpipe_ignore();
	if (r == NULL || ev_new(&r->ev) != OK || socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
		return -1;
	r->far = ends[1];
	r->pump = (struct pump){.ev = r->ev,
		.tp = (struct tp *)(void *)&engine,
		.fd_in = ends[0],
		.fd_out = ends[0],
		.arg = r,
		.on_event = on_event,
		.before_send = before_send,
		.on_closed = on_closed};
	*state = r;
	return 0;
}

static int teardown(void **state)
{
	struct rig *r = *state;
	pump_stop(&r->pump);
	close(r->pump.fd_in);
	if (r->far >= 0)
		close(r->far);
	ev_free(r->ev);
	free(r);
	return 0;
}

static void send_text(struct rig *r, const char *text)
{
	assert_int_equal(write(r->far, text, strlen(text)), strlen(text));
}

static void what_the_engine_has_ready_goes_out_at_the_start(void **state)
{
	struct rig *r = *state;
	char b[8];
	say("hi");
	assert_int_equal(pump_start(&r->pump), OK);
	assert_int_equal(read(r->far, b, sizeof(b)), 2);
	assert_memory_equal(b, "hi", 2);
}

static void every_event_is_handed_out_before_anything_is_sent(void **state)
{
	struct rig *r = *state;
	assert_int_equal(pump_start(&r->pump), OK);
	r->sends = 0;
	send_text(r, "abc");
	turn(r);
	assert_int_equal(r->seen_n, 3);
	assert_memory_equal(r->seen, "abc", 3);
	assert_int_equal(r->sends, 1);
}

static void an_open_question_stops_the_events_until_the_kick(void **state)
{
	struct rig *r = *state;
	assert_int_equal(pump_start(&r->pump), OK);
	send_text(r, "aQb");
	turn(r);
	assert_int_equal(r->seen_n, 2);
	pump_kick(&r->pump);
	assert_int_equal(r->seen_n, 3);
	assert_int_equal(r->seen[2], 'b');
}

static void a_fault_is_told_to_the_peer_and_then_once_to_the_owner(void **state)
{
	struct rig *r = *state;
	char b[8];
	assert_int_equal(pump_start(&r->pump), OK);
	send_text(r, "aDb");
	turn(r);
	assert_int_equal(r->seen_n, 2);
	assert_int_equal(r->closed, 1);
	assert_int_equal(r->why, E_FORMAT);
	assert_int_equal(read(r->far, b, sizeof(b)), 3);
	assert_memory_equal(b, "bye", 3);
	turn(r);
	assert_int_equal(r->closed, 1);
}

static void what_came_before_the_end_is_handed_out_first(void **state)
{
	struct rig *r = *state;
	assert_int_equal(pump_start(&r->pump), OK);
	send_text(r, "ab");
	close(r->far);
	r->far = -1;
	turn(r);
	assert_int_equal(r->seen_n, 2);
	assert_int_equal(r->closed, 1);
	assert_int_equal(r->why, E_CLOSED);
}

static void much_goes_out_in_pieces_without_loss(void **state)
{
	struct rig *r = *state;
	static uint8_t b[OUT_MAX];
	for (size_t i = 0; i < OUT_MAX; i++)
		engine.out[i] = (uint8_t)(i ^ i >> 9);
	engine.out_n = OUT_MAX;
	assert_int_equal(pump_start(&r->pump), OK);
	size_t got = 0;
	while (got < OUT_MAX) {
		ssize_t n = recv(r->far, b + got, 100000, MSG_DONTWAIT);
		if (n > 0)
			got += (size_t)n;
		else
			turn(r);
	}
	assert_memory_equal(b, engine.out, OUT_MAX);
	assert_int_equal(tp_unsent(NULL), 0);
}

static void the_deadline_is_kept(void **state)
{
	struct rig *r = *state;
	engine.deadline = os_monotonic_us() + 5000;
	assert_int_equal(pump_start(&r->pump), OK);
	uint64_t wanted = engine.deadline;
	turn(r);
	assert_true(engine.ticked >= wanted);
}

static void without_space_nothing_is_read(void **state)
{
	struct rig *r = *state;
	engine.is_full = true;
	assert_int_equal(pump_start(&r->pump), OK);
	send_text(r, "a");
	turn(r);
	assert_int_equal(r->seen_n, 0);
	engine.is_full = false;
	pump_kick(&r->pump);
	turn(r);
	assert_int_equal(r->seen_n, 1);
}

static bool is_reading(const struct rig *r)
{
	return (r->pump.in.want & EV_IN) != 0;
}

/* A sink that takes its time: what the far side says is read once in a while, not as it comes. */
static void a_held_pump_reads_once_in_a_while(void **state)
{
	struct rig *r = *state;
	assert_int_equal(pump_start(&r->pump), OK);
	turn(r);
	uint64_t begin = ev_now(r->ev);
	pump_hold(&r->pump, true);
	pump_kick(&r->pump);
	assert_false(is_reading(r));
	size_t sent = 0;
	while (os_monotonic_us() - begin < 4 * PUMP_HOLD_US || sent < 8) {
		send_text(r, "x");
		sent++;
		turn(r);
		size_t most = (size_t)((ev_now(r->ev) - begin) / PUMP_HOLD_US);
		assert_in_range(engine.feeds, 0, most);
	}
	/* held, not stopped: nothing is lost, and all comes without the release */
	for (int i = 0; i < 200 && r->seen_n < sent; i++)
		turn(r);
	assert_int_equal(r->seen_n, sent);
	assert_true(engine.feeds < sent);
}

static void a_held_pump_still_writes(void **state)
{
	struct rig *r = *state;
	char b[8];
	assert_int_equal(pump_start(&r->pump), OK);
	turn(r);
	pump_hold(&r->pump, true);
	say("hi");
	pump_kick(&r->pump);
	assert_false(is_reading(r));
	assert_int_equal(read(r->far, b, sizeof(b)), 2);
	/* and what finds the socket full goes out when it is not */
	memset(engine.out, 'o', OUT_MAX);
	engine.out_n = OUT_MAX;
	pump_kick(&r->pump);
	while (tp_unsent(NULL) > 0) {
		static uint8_t sink[100000];
		if (recv(r->far, sink, sizeof(sink), MSG_DONTWAIT) < 0)
			turn(r);
	}
}

static void a_released_pump_reads_at_once(void **state)
{
	struct rig *r = *state;
	assert_int_equal(pump_start(&r->pump), OK);
	turn(r);
	pump_hold(&r->pump, true);
	pump_kick(&r->pump);
	assert_false(is_reading(r));
	pump_hold(&r->pump, false);
	pump_kick(&r->pump);
	assert_true(is_reading(r));
	/* the end of the peer is seen while held, too */
	pump_hold(&r->pump, true);
	pump_kick(&r->pump);
	close(r->far);
	r->far = -1;
	for (int i = 0; i < 200 && r->closed == 0; i++)
		turn(r);
	assert_int_equal(r->closed, 1);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(what_the_engine_has_ready_goes_out_at_the_start),
		T(every_event_is_handed_out_before_anything_is_sent),
		T(an_open_question_stops_the_events_until_the_kick),
		T(a_fault_is_told_to_the_peer_and_then_once_to_the_owner),
		T(what_came_before_the_end_is_handed_out_first),
		T(much_goes_out_in_pieces_without_loss),
		T(the_deadline_is_kept),
		T(without_space_nothing_is_read),
		T(a_held_pump_reads_once_in_a_while),
		T(a_held_pump_still_writes),
		T(a_released_pump_reads_at_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
