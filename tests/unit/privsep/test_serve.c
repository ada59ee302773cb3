/* SPDX-License-Identifier: ISC */
/* Both sides over a real socket pair: replies, verdicts, descriptors, and what ends a connection.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sys/socket.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/rng.h"
#include "os/fdpass.h"
#include "privsep/ask.h"
#include "privsep/serve.h"

struct fake {
	unsigned calls;
	err_t verdict;
	bool lies; /* sets ok in the reply whatever the verdict */
	size_t state_n;
};

#define HANDLER(name)                                                                              \
	static err_t on_##name(                                                                    \
		void *arg, const struct ps_req_##name *req, struct ps_rep_##name *rep)

HANDLER(start)
{
	((struct fake *)arg)->calls++;
	rep->version = cslice_str("SSH-2.0-x");
	return OK;
}
HANDLER(moduli)
{
	((struct fake *)arg)->calls++;
	return OK;
}
HANDLER(sign_host)
{
	((struct fake *)arg)->calls++;
	rep->ok = true;
	rep->sig = req->transcript;
	return OK;
}
HANDLER(pwnam)
{
	((struct fake *)arg)->calls++;
	return cslice_eq_str(req->user, "bad") ? E_FORMAT : OK;
}
HANDLER(auth_none)
{
	return E_DENIED;
}
HANDLER(auth_password)
{
	struct fake *f = arg;
	f->calls++;
	rep->ok = f->lies;
	return f->verdict;
}
HANDLER(key_allowed)
{
	rep->ok = true;
	rep->token = 1;
	return OK;
}
HANDLER(key_verify)
{
	struct fake *f = arg;
	rep->ok = f->lies;
	return f->verdict;
}
HANDLER(kbdint)
{
	struct fake *f = arg;
	rep->asks = f->verdict == E_AGAIN;
	return f->verdict;
}
HANDLER(state)
{
	((struct fake *)arg)->state_n = req->frozen.n;
	return OK;
}
HANDLER(log)
{
	((struct fake *)arg)->calls++;
	return OK;
}
HANDLER(ended)
{
	return OK;
}
HANDLER(pty)
{
	return OK;
}
HANDLER(pty_end)
{
	return OK;
}
HANDLER(prove_host)
{
	return OK;
}

static const struct ps_handlers handlers = {
#define M(name, no, by, phase, flags) .name = on_##name,
#include "privsep/monitor.def"
#undef M
};

struct pair {
	int fds[2];
	struct ps_server s;
	struct ps_client c;
	struct fake f;
	pthread_t thread;
	err_t end;
};

static void open_pair(struct pair *p)
{
	*p = (struct pair){.f.verdict = E_DENIED};
	assert_int_equal(fdpass_pair(p->fds), OK);
	ps_server_init(&p->s, p->fds[0], &handlers, &p->f);
	p->s.rules.max_tries = 3;
	ps_client_init(&p->c, p->fds[1]);
}

static void close_pair(struct pair *p)
{
	ps_server_done(&p->s);
	ps_client_done(&p->c);
	close(p->fds[0]);
	close(p->fds[1]);
}

/* The monitor's loop, in a thread because the asker waits; the write end's close ends it. */
static void *serve(void *arg)
{
	struct pair *p = arg;
	uint8_t byte;
	do {
		(void)!recv(p->fds[0], &byte, 1, MSG_PEEK);
		p->end = ps_server_read(&p->s);
	} while (p->end == OK || p->end == E_AGAIN);
	shutdown(p->fds[0], SHUT_RDWR);
	return NULL;
}

static void run(struct pair *p, enum ps_phase phase)
{
	p->s.rules.phase = phase;
	assert_int_equal(pthread_create(&p->thread, NULL, serve, p), 0);
}

static err_t stop(struct pair *p)
{
	shutdown(p->fds[1], SHUT_WR);
	pthread_join(p->thread, NULL);
	return p->end;
}

static void a_reply_comes_back_and_logs_do_not_disturb_it(void **state)
{
	struct pair p;
	struct ps_rep_sign_host rep;
	struct ps_rep_log none;
	uint8_t hash[32] = {1, 2, 3};
	open_pair(&p);
	run(&p, PS_PH_KEX);
	assert_int_equal(ps_ask_sign_host(&p.c,
				 &(struct ps_req_sign_host){
					 .alg = cslice_str("x"), .transcript = cslice_of(hash, 32)},
				 &rep),
		OK);
	assert_int_equal(
		ps_ask_log(&p.c, &(struct ps_req_log){.line = cslice_str("words")}, &none), OK);
	assert_true(rep.ok);
	assert_true(cslice_eq(rep.sig, cslice_of(hash, 32)));
	assert_int_equal(stop(&p), E_CLOSED);
	assert_int_equal(p.f.calls, 2);
	close_pair(&p);
}

static void the_verdict_not_the_field_decides(void **state)
{
	struct pair p;
	struct ps_rep_auth_password rep;
	open_pair(&p);
	p.f.lies = true;
	run(&p, PS_PH_TRIES);
	assert_int_equal(ps_ask_auth_password(&p.c,
				 &(struct ps_req_auth_password){.password = cslice_str("x")}, &rep),
		OK);
	assert_false(rep.ok);
	assert_int_equal(stop(&p), E_CLOSED);
	assert_false(ps_rules_is_in(&p.s.rules));
	close_pair(&p);

	open_pair(&p);
	p.f.verdict = OK;
	run(&p, PS_PH_TRIES);
	assert_int_equal(ps_ask_auth_password(&p.c,
				 &(struct ps_req_auth_password){.password = cslice_str("x")}, &rep),
		OK);
	assert_true(rep.ok);
	assert_int_equal(stop(&p), E_CLOSED);
	assert_true(ps_rules_is_in(&p.s.rules));
	close_pair(&p);
}

/* Every error of a handler but the three verdicts ends the connection: none is read as yes. */
static void no_error_is_read_as_yes(void **state)
{
	for (int e = 1; e < ERR_N; e++) {
		struct pair p;
		struct ps_rep_auth_password rep = {.ok = false};
		open_pair(&p);
		p.f.verdict = (err_t)e;
		p.f.lies = true;
		run(&p, PS_PH_TRIES);
		err_t asked = ps_ask_auth_password(
			&p.c, &(struct ps_req_auth_password){.password = cslice_str("x")}, &rep);
		err_t end = stop(&p);
		assert_false(ps_rules_is_in(&p.s.rules));
		assert_false(rep.ok);
		if (e != E_DENIED && e != E_AGAIN && e != E_PARTIAL) {
			assert_int_not_equal(asked, OK);
			assert_int_equal(end, e);
		}
		close_pair(&p);
	}
}

static void descriptors_come_with_their_reply(void **state)
{
	struct pair p;
	struct ps_rep_start rep;
	open_pair(&p);
	int pipe_fds[2];
	assert_int_equal(pipe(pipe_fds), 0);
	p.s.fds[0] = pipe_fds[1];
	p.s.fds_n = 1;
	run(&p, PS_PH_NEW);
	assert_int_equal(ps_ask_start(&p.c, &(struct ps_req_start){0}, &rep), OK);
	assert_int_equal(p.c.fds_n, 1);
	assert_int_equal(write(p.c.fds[0], "x", 1), 1);
	char byte;
	assert_int_equal(read(pipe_fds[0], &byte, 1), 1);
	assert_int_equal(stop(&p), E_CLOSED);
	close(p.c.fds[0]);
	close(pipe_fds[0]);
	close(pipe_fds[1]);
	close_pair(&p);
}

static void a_large_state_arrives_whole_and_other_rows_may_not_be_large(void **state)
{
	struct pair p;
	struct ps_rep_state none;
	static uint8_t frozen[PS_BIG_MAX - 16];
	open_pair(&p);
	run(&p, PS_PH_IN);
	assert_int_equal(
		ps_ask_state(&p.c,
			&(struct ps_req_state){.frozen = cslice_of(frozen, sizeof(frozen))}, &none),
		OK);
	assert_int_equal(stop(&p), E_CLOSED);
	assert_int_equal(p.f.state_n, sizeof(frozen));
	close_pair(&p);

	open_pair(&p);
	p.s.rules.phase = PS_PH_TRIES;
	uint8_t head[PS_HEAD] = {0, 0x10, 0, 0, PS_auth_password};
	assert_int_equal(ps_server_fed(&p.s, cslice_of(head, sizeof(head))), E_LENGTH);
	close_pair(&p);
}

static void early_repeated_malformed_and_unknown_requests_end_it(void **state)
{
	static const struct {
		enum ps_phase phase;
		uint8_t frame[16];
		size_t n;
		err_t want;
	} bad[] = {
		{PS_PH_NEW, {0, 0, 0, 1, PS_state}, 5, E_UNEXPECTED},
		{PS_PH_NEW, {0, 0, 0, 1, PS_pty}, 5, E_UNEXPECTED},
		{PS_PH_NEW, {0, 0, 0, 1, 0}, 5, E_UNEXPECTED},
		{PS_PH_NEW, {0, 0, 0, 1, 99}, 5, E_UNEXPECTED},
		{PS_PH_NEW, {0, 0, 0, 1, 255}, 5, E_UNEXPECTED},
		{PS_PH_NEW, {0, 0, 0, 0, PS_start}, 5, E_LENGTH},
		{PS_PH_NEW, {0, 0, 0, 2, PS_start, 0}, 6, E_TRAILING},
		{PS_PH_AUTH, {0, 0, 0, 3, PS_pwnam, 0, 0}, 7, E_FORMAT},
		{PS_PH_TRIES, {0, 0, 0, 6, PS_auth_password, 0xff, 0xff, 0xff, 0xff, 0}, 10,
			E_FORMAT},
		{PS_PH_AUTH, {0, 0, 0, 12, PS_pwnam, 0, 0, 0, 3, 'b', 'a', 'd', 0, 0, 0, 0}, 16,
			E_FORMAT},
		{PS_PH_SESSION, {0, 0, 0, 1, PS_auth_none}, 5, E_UNEXPECTED},
	};
	for (size_t i = 0; i < ARRAY_N(bad); i++) {
		struct pair p;
		open_pair(&p);
		p.s.rules.phase = bad[i].phase;
		err_t e = ps_server_fed(&p.s, cslice_of(bad[i].frame, bad[i].n));
		if (e != bad[i].want)
			fail_msg("case %zu: %s", i, err_name(e));
		assert_int_equal(p.f.calls, bad[i].want == E_FORMAT && bad[i].n == 16 ? 1 : 0);
		close_pair(&p);
	}
}

static void bytes_may_come_one_by_one(void **state)
{
	static const uint8_t frames[] = {0, 0, 0, 14, PS_log, 0, 0, 0, 2, 0, 0, 0, 5, 'w', 'o', 'r',
		'd', 's', 0, 0, 0, 9, PS_log, 0, 0, 0, 2, 0, 0, 0, 0};
	struct pair p;
	open_pair(&p);
	for (size_t i = 0; i < sizeof(frames); i++)
		assert_int_equal(ps_server_fed(&p.s, cslice_of(frames + i, 1)), OK);
	assert_int_equal(p.f.calls, 2);
	close_pair(&p);
}

/* Noise never gets in. */
static void random_bytes_never_log_in(void **state)
{
	struct rng_seeded rng;
	rng_seeded_init(&rng, 42);
	for (int i = 0; i < 20000; i++) {
		struct pair p = {.f.verdict = E_DENIED};
		uint8_t frame[64];
		rng_fill(&rng.rng, frame, sizeof(frame));
		frame[0] = frame[1] = frame[2] = 0;
		frame[3] &= 0x3f;
		frame[4] &= 0x0f;
		ps_server_init(&p.s, -1, &handlers, &p.f);
		p.s.rules.phase = (enum ps_phase)(1 << (i % 4));
		(void)!ps_server_fed(&p.s, cslice_of(frame, sizeof(frame)));
		assert_false(ps_rules_is_in(&p.s.rules));
		ps_server_done(&p.s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_reply_comes_back_and_logs_do_not_disturb_it),
		cmocka_unit_test(the_verdict_not_the_field_decides),
		cmocka_unit_test(no_error_is_read_as_yes),
		cmocka_unit_test(descriptors_come_with_their_reply),
		cmocka_unit_test(a_large_state_arrives_whole_and_other_rows_may_not_be_large),
		cmocka_unit_test(early_repeated_malformed_and_unknown_requests_end_it),
		cmocka_unit_test(bytes_may_come_one_by_one),
		cmocka_unit_test(random_bytes_never_log_in),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
