/* SPDX-License-Identifier: ISC */
/* One transfer, with a connection engine that is played here: what is counted, and what ends it. */
#include <stdarg.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "app/ssh-speed/job.h"

#define CHAN 7
#define ROOM 1000

/* ---- the engine ---- */
static struct {
	uint32_t requests, replies;
	bool is_eof, is_closed, is_full;
	uint64_t sent, consumed;
	uint8_t memory[ROOM];
} engine;

err_t cn_open(struct cn *cn, const char *type, struct cslice extra, uint32_t *chan)
{
	assert_string_equal(type, "session");
	*chan = CHAN;
	return OK;
}

err_t cn_request(
	struct cn *cn, uint32_t chan, const char *name, bool want_reply, struct cslice body)
{
	assert_int_equal(chan, CHAN);
	assert_string_equal(name, "exec");
	assert_true(want_reply);
	engine.requests++;
	return OK;
}

err_t cn_reserve_room(
	struct cn *cn, const struct cn_want *want, struct iovec iov[TP_BULK_MAX], size_t *niov)
{
	if (engine.is_full)
		return E_AGAIN;
	iov[0] = (struct iovec){engine.memory, num_min(want->n, ROOM)};
	*niov = 1;
	engine.is_full = true; /* once a turn */
	return OK;
}

err_t cn_commit(struct cn *cn, size_t used)
{
	engine.sent += used;
	return OK;
}

void cn_consumed(struct cn *cn, uint32_t chan, size_t n)
{
	engine.consumed += n;
}

void cn_eof(struct cn *cn, uint32_t chan)
{
	engine.is_eof = true;
}

void cn_close(struct cn *cn, uint32_t chan)
{
	engine.is_closed = true;
}

err_t cn_reply(struct cn *cn, uint32_t chan, bool ok)
{
	engine.replies++;
	return OK;
}

err_t cn_refuse(struct cn *cn, uint32_t chan, uint32_t reason, const char *text)
{
	return OK;
}

err_t cn_global_reply(struct cn *cn, bool ok, struct cslice body)
{
	return OK;
}

void pump_kick(struct pump *p)
{
}

/* ---- helpers ---- */
static struct ssh *new_ssh(void)
{
	struct ssh *s = calloc(1, sizeof(*s));
	assert_non_null(s);
	assert_int_equal(ev_new(&s->ev), OK);
	memset(&engine, 0, sizeof(engine));
	return s;
}

static void free_ssh(struct ssh *s)
{
	ev_free(s->ev);
	free(s);
}

static void happens(struct job *j, struct ssh *s, struct cn_event e)
{
	e.chan = CHAN;
	assert_int_equal(job_event(j, s, &e), OK);
}

static void comes(struct job *j, struct ssh *s, uint32_t ext, const char *text)
{
	struct cn_event e = {.type = CN_EV_DATA, .ext = ext};
	char copy[256];
	e.span.n = strlen(text);
	memcpy(copy, text, e.span.n);
	e.span.p = (uint8_t *)copy;
	happens(j, s, e);
}

static void status_comes(struct job *j, struct ssh *s, uint8_t status)
{
	const uint8_t body[4] = {0, 0, 0, status};
	happens(j, s,
		(struct cn_event){.type = CN_EV_REQUEST,
			.name = cslice_str("exit-status"),
			.data = cslice_of(body, 4)});
}

static void push(struct job *j, struct ssh *s)
{
	engine.is_full = false;
	assert_int_equal(job_push(j, s), OK);
}

static void start(struct job *j, struct ssh *s, enum job_way way, uint64_t want)
{
	job_init(j, way, "command", want);
	assert_int_equal(job_start(j, s), OK);
	happens(j, s, (struct cn_event){.type = CN_EV_OPENED});
	assert_int_equal(engine.requests, 1);
}

#define REPLY(ok_)                                                                                 \
	(struct cn_event)                                                                          \
	{                                                                                          \
		.type = CN_EV_REPLY, .ok = ok_                                                     \
	}
#define CLOSED                                                                                     \
	(struct cn_event)                                                                          \
	{                                                                                          \
		.type = CN_EV_CLOSED                                                               \
	}

/* ---- up ---- */
static void up_waits_for_ready_and_counts_until_done(void **state)
{
	struct ssh *s = new_ssh();
	struct job j;
	start(&j, s, JOB_UP, 2500);
	happens(&j, s, REPLY(true));
	push(&j, s);
	assert_int_equal(engine.sent, 0);
	comes(&j, s, 0, "Welcome!\r\nbowline-re");
	comes(&j, s, 0, "ady\n");
	for (int i = 0; i < 5; i++)
		push(&j, s);
	assert_int_equal(engine.sent, 2500);
	assert_true(engine.is_eof);
	assert_int_equal(j.state, JOB_MOVING);
	comes(&j, s, 0, "bowline-done\n");
	assert_int_equal(j.state, JOB_ENDING);
	status_comes(&j, s, 0);
	happens(&j, s, CLOSED);
	assert_int_equal(j.state, JOB_OK);
	assert_int_equal(j.moved, 2500);
	job_done(&j);
	free_ssh(s);
}

/* Some servers run the command before they say that they will. */
static void what_the_command_says_may_overtake_the_reply(void **state)
{
	struct ssh *s = new_ssh();
	struct job j;
	start(&j, s, JOB_UP, 10);
	comes(&j, s, 0, "bowline-ready\n");
	happens(&j, s, REPLY(true));
	push(&j, s);
	assert_int_equal(engine.sent, 10);
	job_done(&j);
	start(&j, (engine.requests = 0, s), JOB_DOWN, 4);
	comes(&j, s, 0, "1234");
	happens(&j, s, REPLY(true));
	comes(&j, s, 0, "5678");
	assert_int_equal(j.state, JOB_ENDING);
	job_done(&j);
	free_ssh(s);
}

/* Both words in a message that came before anything was sent prove nothing. */
static void done_counts_only_when_all_was_sent(void **state)
{
	struct ssh *s = new_ssh();
	struct job j;
	start(&j, s, JOB_UP, 3000);
	happens(&j, s, REPLY(true));
	comes(&j, s, 0, "bad: bowline-ready bowline-done\n");
	assert_int_equal(j.state, JOB_MOVING);
	push(&j, s);
	comes(&j, s, 0, "more words\n");
	assert_int_equal(j.state, JOB_MOVING);
	status_comes(&j, s, 127);
	comes(&j, s, 1, "sh: 1: \033[1mcat: not found\nsecond line\n");
	happens(&j, s, CLOSED);
	assert_int_equal(j.state, JOB_FAILED);
	assert_string_equal(j.why, "the remote command ended with status 127 (not found): sh: 1: "
				   "\\033[1mcat: not found");
	job_done(&j);
	free_ssh(s);
}

static void long_noise_is_taken_and_forgotten(void **state)
{
	struct ssh *s = new_ssh();
	struct job j;
	start(&j, s, JOB_UP, 10);
	happens(&j, s, REPLY(true));
	for (int i = 0; i < 1000; i++)
		comes(&j, s, 0,
			"a login script that has much to say, line after line after line\n");
	comes(&j, s, 0, "bowline-ready\n");
	assert_int_equal(j.state, JOB_MOVING);
	assert_true(engine.consumed > 60000);
	job_done(&j);
	free_ssh(s);
}

/* ---- down ---- */
static void down_counts_behind_the_first_piece(void **state)
{
	struct ssh *s = new_ssh();
	struct job j;
	start(&j, s, JOB_DOWN, 8);
	happens(&j, s, REPLY(true));
	comes(&j, s, 0, "first");
	assert_int_equal(j.moved, 0);
	comes(&j, s, 0, "12345");
	assert_int_equal(j.state, JOB_MOVING);
	comes(&j, s, 0, "678");
	assert_int_equal(j.state, JOB_ENDING);
	assert_int_equal(engine.consumed, 13);
	assert_false(engine.is_closed); /* it ends by itself */
	happens(&j, s, CLOSED);
	assert_int_equal(j.state, JOB_OK);
	job_done(&j);
	free_ssh(s);
}

static void a_command_without_end_is_closed(void **state)
{
	struct ssh *s = new_ssh();
	struct job j;
	start(&j, s, JOB_DOWN, 4);
	j.is_endless = true;
	happens(&j, s, REPLY(true));
	comes(&j, s, 0, "first");
	comes(&j, s, 0, "1234");
	assert_true(engine.is_closed);
	job_done(&j);
	free_ssh(s);
}

static void too_little_is_a_failure(void **state)
{
	struct ssh *s = new_ssh();
	struct job j;
	start(&j, s, JOB_DOWN, 100);
	happens(&j, s, REPLY(true));
	comes(&j, s, 0, "first");
	comes(&j, s, 0, "1234");
	happens(&j, s, CLOSED);
	assert_int_equal(j.state, JOB_FAILED);
	assert_string_equal(j.why, "the remote command ended early");
	job_done(&j);
	free_ssh(s);
}

/* ---- no command, no session, no connection ---- */
static void a_refused_command_is_told_from_a_lost_channel(void **state)
{
	struct ssh *s = new_ssh();
	struct job j;
	start(&j, s, JOB_UP, 10);
	happens(&j, s, REPLY(false));
	assert_int_equal(j.state, JOB_FAILED);
	assert_true(j.is_refused && engine.is_closed);
	job_done(&j);

	job_init(&j, JOB_UP, "command", 10);
	assert_int_equal(job_start(&j, s), OK);
	happens(&j, s,
		(struct cn_event){
			.type = CN_EV_OPEN_FAILED, .data = cslice_str("no more\nsessions")});
	assert_int_equal(j.state, JOB_LOST);
	assert_string_equal(j.why, "the server opens no session: no more\\012sessions");
	job_done(&j);
	free_ssh(s);
}

static void a_cut_connection_fails_what_had_begun(void **state)
{
	struct ssh *s = new_ssh();
	struct job j;
	job_init(&j, JOB_DOWN, "command", 4);
	assert_int_equal(job_start(&j, s), OK);
	job_cut(&j, "cut");
	assert_int_equal(j.state, JOB_LOST); /* had no channel: may be tried again */
	job_done(&j);
	start(&j, (engine.requests = 0, s), JOB_DOWN, 4);
	happens(&j, s, REPLY(true));
	comes(&j, s, 0, "first");
	job_cut(&j, "cut");
	assert_int_equal(j.state, JOB_FAILED);
	job_done(&j);
	start(&j, (engine.requests = 0, s), JOB_DOWN, 4);
	comes(&j, s, 0, "first");
	comes(&j, s, 0, "1234");
	job_cut(&j, "cut"); /* all was there */
	assert_int_equal(j.state, JOB_OK);
	job_done(&j);
	free_ssh(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(up_waits_for_ready_and_counts_until_done),
		cmocka_unit_test(what_the_command_says_may_overtake_the_reply),
		cmocka_unit_test(done_counts_only_when_all_was_sent),
		cmocka_unit_test(long_noise_is_taken_and_forgotten),
		cmocka_unit_test(down_counts_behind_the_first_piece),
		cmocka_unit_test(a_command_without_end_is_closed),
		cmocka_unit_test(too_little_is_a_failure),
		cmocka_unit_test(a_refused_command_is_told_from_a_lost_channel),
		cmocka_unit_test(a_cut_connection_fails_what_had_begun),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
