/* SPDX-License-Identifier: ISC */
/* Channels joined to sockets: ends of each direction, the peer's close with bytes under way, slow
 * and lost sockets, refusals.  The connection engine is a double. */
#include <stdarg.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "run/joint.h"

#define CHANS 3

struct told {
	uint8_t sent[65536];
	size_t sent_n, consumed;
	bool is_eof, is_closed, is_held, is_discarded;
	uint32_t refusals, noes, yeses;
};

static struct {
	struct told chan[CHANS];
	uint8_t room[TP_BULK_MAX][32768];
	uint32_t reserved, next_id;
	err_t open_answer, accept_answer, reserve_answer;
} engine;

err_t cn_reserve_room(
	struct cn *cn, const struct cn_want *want, struct iovec iov[TP_BULK_MAX], size_t *niov)
{
	(void)cn;
	if (engine.reserve_answer != OK)
		return engine.reserve_answer;
	engine.reserved = want->chan;
	iov[0] = (struct iovec){engine.room[0], num_min(want->n, sizeof(engine.room[0]))};
	*niov = 1;
	return OK;
}

err_t cn_commit(struct cn *cn, size_t used)
{
	(void)cn;
	struct told *t = &engine.chan[engine.reserved];
	assert_false(t->is_eof || t->is_closed); /* no data behind an end */
	memcpy(t->sent + t->sent_n, engine.room[0], used);
	t->sent_n += used;
	return OK;
}

err_t cn_open(struct cn *cn, const char *type, struct cslice extra, uint32_t *chan)
{
	(void)cn, (void)extra;
	assert_string_equal(type, "auth-agent@openssh.com");
	if (engine.open_answer != OK)
		return engine.open_answer;
	*chan = engine.next_id++;
	return OK;
}

err_t cn_accept(struct cn *cn, uint32_t chan)
{
	(void)cn, (void)chan;
	return engine.accept_answer;
}

err_t cn_refuse(struct cn *cn, uint32_t chan, uint32_t reason, const char *text)
{
	(void)cn, (void)reason, (void)text;
	engine.chan[chan].refusals++;
	return OK;
}

err_t cn_reply(struct cn *cn, uint32_t chan, bool ok)
{
	(void)cn;
	if (ok)
		engine.chan[chan].yeses++;
	else
		engine.chan[chan].noes++;
	return OK;
}

void cn_consumed(struct cn *cn, uint32_t chan, size_t n)
{
	(void)cn;
	engine.chan[chan].consumed += n;
}

void cn_eof(struct cn *cn, uint32_t chan)
{
	(void)cn;
	assert_false(engine.chan[chan].is_eof);
	engine.chan[chan].is_eof = true;
}

void cn_close(struct cn *cn, uint32_t chan)
{
	(void)cn;
	engine.chan[chan].is_closed = true;
}

void cn_hold_close(struct cn *cn, uint32_t chan)
{
	(void)cn;
	engine.chan[chan].is_held = true;
}

void cn_discard_input(struct cn *cn, uint32_t chan)
{
	(void)cn;
	engine.chan[chan].is_discarded = true;
}

size_t cn_channels(const struct cn *cn)
{
	(void)cn;
	return CHANS;
}

uint32_t cn_window_out(const struct cn *cn, uint32_t chan)
{
	(void)cn, (void)chan;
	return 1 << 20;
}

void pump_kick(struct pump *p)
{
	(void)p;
}

void pump_hold(struct pump *p, bool hold)
{
	(void)p, (void)hold;
}

/* ---- one connection, and the far ends of its sockets ---- */

struct rig {
	struct joints js;
	struct chunk_pool pool;
	struct chunk *chunk;
	struct ev_timer timer;
	int far[CHANS];
};

static void stop_now(struct ev_timer *t, uint64_t now_us)
{
	(void)now_us;
	ev_stop(((struct rig *)t->arg)->js.ev);
}

static void turn(struct rig *r)
{
	r->timer = (struct ev_timer){.on = stop_now, .arg = r};
	ev_timer_set(r->js.ev, &r->timer, os_monotonic_us() + 5000);
	assert_int_equal(ev_run(r->js.ev), OK);
}

static int setup(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));
	memset(&engine, 0, sizeof(engine));
	if (r == NULL || ev_new(&r->js.ev) != OK)
		return -1;
	os_sigpipe_ignore();
	joints_init(&r->js);
	chunk_pool_init(&r->pool, 4 * CHUNK_SIZE);
	if (chunk_get(&r->pool, &r->chunk) != OK)
		return -1;
	for (size_t i = 0; i < CHUNK_SIZE; i++)
		r->chunk->p[i] = (uint8_t)(i * 7 + i / 256);
	for (size_t i = 0; i < CHANS; i++)
		r->far[i] = -1;
	*state = r;
	return 0;
}

static void close_far(struct rig *r, uint32_t chan)
{
	if (r->far[chan] >= 0)
		(void)close(r->far[chan]);
	r->far[chan] = -1;
}

static int teardown(void **state)
{
	struct rig *r = *state;
	joints_done(&r->js);
	for (uint32_t i = 0; i < CHANS; i++)
		close_far(r, i);
	assert_int_equal(r->chunk->refs, 1);
	chunk_drop(r->chunk);
	chunk_pool_done(&r->pool);
	ev_free(r->js.ev);
	free(r);
	return 0;
}

/* A pair with little room; the far end stays here. */
static int pair_of(struct rig *r, uint32_t chan)
{
	int fd[2], few = 4096;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
	assert_int_equal(setsockopt(fd[0], SOL_SOCKET, SO_SNDBUF, &few, sizeof(few)), 0);
	assert_int_equal(fcntl(fd[1], F_SETFL, O_NONBLOCK), 0);
	r->far[chan] = fd[1];
	return fd[0];
}

static void accept_one(struct rig *r, uint32_t chan)
{
	assert_int_equal(joints_accept(&r->js, chan, pair_of(r, chan)), OK);
}

static bool tell(struct rig *r, struct cn_event e)
{
	bool is_ours = false;
	assert_int_equal(joints_event(&r->js, &e, &is_ours), OK);
	return is_ours;
}

static void tell_type(struct rig *r, uint32_t chan, enum cn_ev_type type)
{
	assert_true(tell(r, (struct cn_event){.type = type, .chan = chan}));
}

static void give(struct rig *r, uint32_t chan, size_t at, size_t n)
{
	assert_true(tell(r, (struct cn_event){.type = CN_EV_DATA,
				    .chan = chan,
				    .span = {r->chunk, r->chunk->p + at, n}}));
}

/* What has come to the far end, compared with the chunk from *at on; true: its end too. */
static bool take(struct rig *r, uint32_t chan, size_t *at)
{
	uint8_t b[8192];
	ssize_t n;
	while ((n = read(r->far[chan], b, sizeof(b))) > 0) {
		assert_memory_equal(b, r->chunk->p + *at, n);
		*at += (size_t)n;
	}
	return n == 0 || errno == ECONNRESET; /* the latter: what we said was not read */
}

static bool is_shut(struct rig *r, uint32_t chan)
{
	size_t at = 0;
	return take(r, chan, &at);
}

static void say(struct rig *r, uint32_t chan, const char *text)
{
	assert_int_equal(write(r->far[chan], text, strlen(text)), strlen(text));
	turn(r);
}

static void assert_sent(uint32_t chan, const char *text)
{
	assert_int_equal(engine.chan[chan].sent_n, strlen(text));
	assert_memory_equal(engine.chan[chan].sent, text, strlen(text));
}

/* ---- ends ---- */

static void the_end_of_the_peer_is_half_an_end(void **state)
{
	struct rig *r = *state;
	size_t at = 0;
	accept_one(r, 0);
	assert_true(engine.chan[0].is_held);
	give(r, 0, 0, 100);
	tell_type(r, 0, CN_EV_EOF);
	assert_int_equal(joints_flush(&r->js), OK);
	assert_true(take(r, 0, &at));
	assert_int_equal(at, 100);
	assert_false(engine.chan[0].is_closed);
	say(r, 0, "an answer");
	assert_sent(0, "an answer");
	assert_false(engine.chan[0].is_closed);
	close_far(r, 0);
	turn(r);
	assert_true(engine.chan[0].is_eof && engine.chan[0].is_closed);
	tell_type(r, 0, CN_EV_CLOSED);
	assert_true(joints_is_empty(&r->js));
}

static void the_end_of_the_socket_is_half_an_end(void **state)
{
	struct rig *r = *state;
	size_t at = 0;
	accept_one(r, 0);
	assert_int_equal(write(r->far[0], "last", 4), 4);
	assert_int_equal(shutdown(r->far[0], SHUT_WR), 0);
	turn(r);
	assert_sent(0, "last");
	assert_true(engine.chan[0].is_eof);
	assert_false(engine.chan[0].is_closed);
	give(r, 0, 0, 3000);
	assert_int_equal(joints_flush(&r->js), OK);
	assert_false(take(r, 0, &at));
	assert_int_equal(at, 3000);
	assert_false(engine.chan[0].is_closed);
	tell_type(r, 0, CN_EV_EOF);
	assert_int_equal(joints_flush(&r->js), OK);
	assert_true(engine.chan[0].is_closed);
}

/* The end comes while the socket is full: it stands behind the bytes. */
static void an_end_waits_behind_bytes_that_have_no_room(void **state)
{
	struct rig *r = *state;
	size_t at = 0;
	accept_one(r, 0);
	for (size_t i = 0; i < 8; i++)
		give(r, 0, i * 32768, 32768);
	tell_type(r, 0, CN_EV_EOF);
	assert_int_equal(shutdown(r->far[0], SHUT_WR), 0);
	assert_int_equal(joints_flush(&r->js), OK);
	turn(r);
	assert_true(engine.chan[0].is_eof);
	assert_false(engine.chan[0].is_closed);
	assert_true(engine.chan[0].consumed < 65536);
	for (int i = 0; i < 400 && !take(r, 0, &at); i++)
		turn(r);
	assert_int_equal(at, 8 * 32768);
	assert_int_equal(engine.chan[0].consumed, 8 * 32768);
	assert_true(engine.chan[0].is_closed);
}

static void a_close_of_the_peer_waits_for_its_bytes(void **state)
{
	struct rig *r = *state;
	size_t at = 0;
	accept_one(r, 0);
	for (size_t i = 0; i < 4; i++)
		give(r, 0, i * 32768, 32768);
	tell_type(r, 0, CN_EV_EOF);
	assert_int_equal(joints_flush(&r->js), OK);
	tell_type(r, 0, CN_EV_CLOSING);
	turn(r);
	assert_false(engine.chan[0].is_closed);
	for (int i = 0; i < 400 && !engine.chan[0].is_closed; i++) {
		(void)take(r, 0, &at);
		turn(r);
	}
	(void)take(r, 0, &at);
	assert_int_equal(at, 4 * 32768);
	assert_true(engine.chan[0].is_closed);
}

/* Nobody reads it: what the socket says after the peer's close is not sent, and ends nothing. */
static void a_close_of_the_peer_needs_no_end_of_the_socket(void **state)
{
	struct rig *r = *state;
	accept_one(r, 0);
	tell_type(r, 0, CN_EV_EOF);
	tell_type(r, 0, CN_EV_CLOSING);
	assert_true(engine.chan[0].is_closed);
	say(r, 0, "too late");
	assert_int_equal(engine.chan[0].sent_n, 0);
	tell_type(r, 0, CN_EV_CLOSED);
	assert_true(joints_is_empty(&r->js));
	assert_true(is_shut(r, 0));
}

static void a_lost_socket_drops_what_comes_and_closes(void **state)
{
	struct rig *r = *state;
	accept_one(r, 0);
	close_far(r, 0);
	give(r, 0, 0, 1000);
	assert_int_equal(joints_flush(&r->js), OK);
	assert_true(engine.chan[0].is_discarded);
	assert_int_equal(engine.chan[0].consumed, 1000);
	turn(r);
	assert_true(engine.chan[0].is_eof && engine.chan[0].is_closed);
	give(r, 0, 1000, 500); /* was under way */
	assert_int_equal(engine.chan[0].consumed, 1500);
}

/* Its end was told before; that nobody is there shows at the next bytes only. */
static void a_socket_lost_after_its_end_closes_too(void **state)
{
	struct rig *r = *state;
	accept_one(r, 0);
	assert_int_equal(shutdown(r->far[0], SHUT_WR), 0);
	turn(r);
	assert_true(engine.chan[0].is_eof);
	close_far(r, 0);
	assert_false(engine.chan[0].is_closed);
	give(r, 0, 0, 1000);
	assert_int_equal(joints_flush(&r->js), OK);
	assert_true(engine.chan[0].is_closed);
	assert_int_equal(engine.chan[0].consumed, 1000);
}

static void without_room_the_socket_waits(void **state)
{
	struct rig *r = *state;
	accept_one(r, 0);
	engine.reserve_answer = E_AGAIN;
	say(r, 0, "patience");
	assert_int_equal(engine.chan[0].sent_n, 0);
	engine.reserve_answer = OK;
	turn(r);
	assert_int_equal(engine.chan[0].sent_n, 0);
	tell_type(r, 0, CN_EV_ROOM);
	turn(r);
	assert_sent(0, "patience");
}

/* ---- beginnings ---- */

static void nothing_is_read_before_the_peer_agrees(void **state)
{
	struct rig *r = *state;
	assert_int_equal(
		joints_open(&r->js, "auth-agent@openssh.com", cslice_of(NULL, 0), pair_of(r, 0)),
		OK);
	say(r, 0, "early");
	assert_int_equal(engine.chan[0].sent_n, 0);
	give(r, 0, 0, 10); /* a peer that does not wait: dropped, and nothing of the window lost */
	assert_int_equal(engine.chan[0].consumed, 10);
	tell_type(r, 0, CN_EV_ROOM);
	tell_type(r, 0, CN_EV_EOF);
	assert_int_equal(engine.chan[0].sent_n, 0);
	tell_type(r, 0, CN_EV_OPENED);
	turn(r);
	assert_sent(0, "early");
}

static void a_refused_channel_closes_its_socket(void **state)
{
	struct rig *r = *state;
	assert_int_equal(
		joints_open(&r->js, "auth-agent@openssh.com", cslice_of(NULL, 0), pair_of(r, 0)),
		OK);
	assert_false(is_shut(r, 0));
	assert_true(tell(
		r, (struct cn_event){.type = CN_EV_OPEN_FAILED, .data = cslice_str("no agent")}));
	assert_true(is_shut(r, 0));
	assert_true(joints_is_empty(&r->js));
}

static void the_socket_is_taken_also_on_failure(void **state)
{
	struct rig *r = *state;
	engine.open_answer = E_LIMIT;
	assert_int_equal(
		joints_open(&r->js, "auth-agent@openssh.com", cslice_of(NULL, 0), pair_of(r, 0)),
		E_LIMIT);
	assert_true(is_shut(r, 0));
	engine.accept_answer = E_MEM;
	assert_int_equal(joints_accept(&r->js, 1, pair_of(r, 1)), E_MEM);
	assert_true(is_shut(r, 1));
	assert_true(joints_is_empty(&r->js));
}

/* ---- several ---- */

static void each_channel_has_its_own_socket(void **state)
{
	struct rig *r = *state;
	size_t at[CHANS] = {0, 1000, 2000};
	for (uint32_t i = 0; i < CHANS; i++)
		accept_one(r, i);
	for (uint32_t i = CHANS; i-- > 0;)
		give(r, i, i * 1000, 10 + i);
	assert_int_equal(joints_flush(&r->js), OK);
	say(r, 1, "one");
	say(r, 2, "two");
	assert_int_equal(engine.chan[0].sent_n, 0);
	assert_sent(1, "one");
	assert_sent(2, "two");
	close_far(r, 1);
	turn(r);
	assert_true(engine.chan[1].is_eof);
	assert_false(engine.chan[0].is_eof || engine.chan[2].is_eof);
	tell_type(r, 1, CN_EV_CLOSED);
	assert_false(tell(r, (struct cn_event){.type = CN_EV_DATA, .chan = 1}));
	for (uint32_t i = 0; i < CHANS; i += 2) {
		assert_false(take(r, i, &at[i]));
		assert_int_equal(at[i], i * 1000 + 10 + i);
	}
	joints_done(&r->js);
	assert_true(is_shut(r, 0) && is_shut(r, 2));
	assert_true(joints_is_empty(&r->js));
}

/* One socket that takes nothing stops none of the others. */
static void a_full_socket_is_alone(void **state)
{
	struct rig *r = *state;
	size_t at = 0;
	accept_one(r, 0);
	accept_one(r, 1);
	for (size_t i = 0; i < 8; i++)
		give(r, 0, i * 32768, 32768);
	give(r, 1, 0, 100);
	tell_type(r, 1, CN_EV_EOF);
	assert_int_equal(joints_flush(&r->js), OK);
	assert_true(take(r, 1, &at));
	assert_int_equal(at, 100);
	assert_int_equal(engine.chan[1].consumed, 100);
	assert_true(engine.chan[0].consumed < 65536);
}

static void other_events_are_not_ours(void **state)
{
	struct rig *r = *state;
	accept_one(r, 0);
	assert_false(tell(r, (struct cn_event){.type = CN_EV_GLOBAL, .chan = 0}));
	assert_false(tell(r, (struct cn_event){.type = CN_EV_GLOBAL_REPLY, .chan = 0}));
	assert_false(tell(r, (struct cn_event){.type = CN_EV_OPEN, .chan = 0}));
	assert_false(tell(r, (struct cn_event){.type = CN_EV_DATA, .chan = 2}));
	assert_false(tell(r, (struct cn_event){.type = CN_EV_CLOSED, .chan = 2}));
}

static void requests_are_answered_with_no(void **state)
{
	struct rig *r = *state;
	accept_one(r, 0);
	tell_type(r, 0, CN_EV_REQUEST);
	assert_int_equal(engine.chan[0].noes, 0);
	assert_true(
		tell(r, (struct cn_event){.type = CN_EV_REQUEST, .chan = 0, .want_reply = true}));
	assert_int_equal(engine.chan[0].noes, 1);
	assert_int_equal(engine.chan[0].yeses, 0);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(the_end_of_the_peer_is_half_an_end),
		T(the_end_of_the_socket_is_half_an_end),
		T(an_end_waits_behind_bytes_that_have_no_room),
		T(a_close_of_the_peer_waits_for_its_bytes),
		T(a_close_of_the_peer_needs_no_end_of_the_socket),
		T(a_lost_socket_drops_what_comes_and_closes),
		T(a_socket_lost_after_its_end_closes_too),
		T(without_room_the_socket_waits),
		T(nothing_is_read_before_the_peer_agrees),
		T(a_refused_channel_closes_its_socket),
		T(the_socket_is_taken_also_on_failure),
		T(each_channel_has_its_own_socket),
		T(a_full_socket_is_alone),
		T(other_events_are_not_ours),
		T(requests_are_answered_with_no),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
