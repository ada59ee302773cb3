/* SPDX-License-Identifier: ISC */
/* What the engine itself answers, passes on or refuses once keys are there; questions and their
 * answers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "pair.h"
#include "transport/tp_int.h"

static void up(struct pair *p)
{
	pair_init(p, 7);
	p->c.policy.kex = "curve25519-sha256";
	p->c.policy.cipher_c2s = p->c.policy.cipher_s2c = "aes128-gcm@openssh.com";
	pair_start(p);
	pair_run(p);
	assert_int_equal(end_count(&p->c, TP_EV_KEYS), 1);
}

/* ---- questions ---- */

static void a_no_to_the_host_key_ends_it_with_its_reason(void **state)
{
	(void)state;
	struct pair p;
	pair_init(&p, 1);
	p.c.hostkey_verdict = E_HOSTKEY;
	pair_start(&p);
	pair_run(&p);
	assert_int_equal(p.c.err, E_HOSTKEY);
	assert_int_equal(tp_error(p.c.tp), E_HOSTKEY);
	assert_int_equal(end_count(&p.c, TP_EV_KEYS), 0);
	assert_int_equal(end_count(&p.s, TP_EV_KEYS), 0);
	assert_int_equal(p.s.err, E_DISCONNECTED);
	assert_true(cslice_eq_str(buf_bytes(&p.s.words), "Host key verification failed.\n"));
	assert_int_equal(tp_session_id(p.c.tp).n, 0); /* nothing of it was believed */
	pair_done(&p);
}

static void every_error_of_the_answer_is_a_no(void **state)
{
	(void)state;
	for (err_t e = 1; e < ERR_N; e++) {
		struct pair p;
		pair_init(&p, 1);
		p.c.policy.kex = "curve25519-sha256";
		p.c.hostkey_verdict = e;
		pair_start(&p);
		pair_run(&p);
		assert_int_not_equal(p.c.err, OK);
		assert_int_equal(p.c.err, e == E_AGAIN ? E_BUG : e);
		assert_int_equal(end_count(&p.c, TP_EV_KEYS), 0);
		pair_done(&p);
	}
}

static void a_wrong_signature_never_reaches_the_question(void **state)
{
	(void)state;
	for (size_t i = 0; i < alg_hostkeys_n; i++) {
		struct pair p;
		if (key_type_is_sk(alg_hostkeys[i].type) || (alg_hostkeys[i].flags & AF_CERT) != 0)
			continue; /* these need a device to sign */
		pair_init(&p, 1);
		pair_add_hostkey(&p, alg_hostkeys[i].type);
		p.c.policy.kex = "curve25519-sha256";
		p.c.policy.hostkey = alg_hostkeys[i].name;
		p.s.wrong_signature = true;
		pair_start(&p);
		pair_run(&p);
		assert_int_equal(p.c.err, E_SIGNATURE);
		assert_int_equal(p.c.asked_hostkey, 0);
		assert_int_equal(end_count(&p.c, TP_EV_KEYS), 0);
		assert_int_equal(p.s.err, E_DISCONNECTED);
		pair_done(&p);
	}
}

static void late_answers_change_nothing(void **state)
{
	(void)state;
	for (int cut = PAIR_WHOLE; cut <= PAIR_RANDOM; cut++) {
		struct pair p;
		pair_init(&p, 1);
		p.cut = (enum pair_cut)cut;
		p.c.is_late = p.s.is_late = true;
		p.c.policy.kex = "diffie-hellman-group-exchange-sha256";
		p.c.policy.cipher_c2s = p.c.policy.cipher_s2c = "aes128-gcm@openssh.com";
		pair_start(&p);
		for (int i = 0; i < 3; i++) { /* group, signature, host key */
			pair_run(&p);
			pair_run(&p);
			assert_int_equal(end_say(&p.c, "x", 1), E_AGAIN);
			assert_true(p.s.is_questioned != p.c.is_questioned);
			end_answer(&p.s);
			end_answer(&p.c);
		}
		pair_run(&p);
		assert_int_equal(end_count(&p.c, TP_EV_KEYS), 1);
		assert_int_equal(end_count(&p.s, TP_EV_KEYS), 1);
		assert_int_equal(p.s.asked_group, 1);
		pair_done(&p);
	}
}

static void only_the_open_question_can_be_answered(void **state)
{
	(void)state;
	struct pair p;
	pair_init(&p, 1);
	p.c.is_late = true;
	pair_start(&p);
	struct cslice none = {NULL, 0};
	assert_int_equal(tp_answer(p.c.tp, 0, OK, none), E_PHASE);
	assert_int_equal(tp_answer(p.c.tp, 1, OK, none), E_PHASE);
	pair_run(&p);
	assert_true(p.c.is_questioned);
	assert_int_equal(tp_answer(p.c.tp, p.c.question.ask + 1, OK, none), E_PHASE);
	assert_int_equal(tp_answer(p.c.tp, p.c.question.ask, OK, none), OK);
	assert_int_equal(tp_answer(p.c.tp, p.c.question.ask, OK, none), E_PHASE);
	pair_run(&p);
	assert_int_equal(p.c.err, OK);
	assert_int_equal(end_count(&p.c, TP_EV_KEYS), 1);
	pair_done(&p);
}

/* Opens the packet at the front of what the server has sent with the client's keys; i: how many
 * came before. */
static struct cslice answer(struct pair *p, struct buf *out, uint32_t i, uint8_t msg)
{
	static uint8_t copy[1024];
	struct tp_way *way = &p->c.tp->in_way;
	struct pktc_at at = {way->seq + i, way->packets + i, way->blocks};
	size_t n = 4 + be32_get(out->p);
	assert_int_equal(way->pktc->open(way->ctx, at, out->p, n), OK);
	assert_int_equal(out->p[5], msg);
	size_t body_n = n - 5 - out->p[4] - 1;
	memcpy(copy + i * 64, out->p + 6, body_n);
	buf_eat(out, n + way->pktc->tag);
	return cslice_of(copy + i * 64, body_n);
}

/* ---- PING ---- */

static void ping_is_answered_with_its_data(void **state)
{
	(void)state;
	struct pair p;
	up(&p);
	pair_open(&p);
	assert_int_equal(tp_put(p.c.tp, ping, .data = cslice_str("PING!")), OK);
	assert_int_equal(tp_put(p.c.tp, ping, .data = cslice_str("")), OK);
	pair_move(&p, &p.c, &p.s);
	struct buf out;
	buf_init(&out, 65536);
	end_take(&p.s, &out);
	struct cslice one = answer(&p, &out, 0, SSH_MSG_pong),
		      two = answer(&p, &out, 1, SSH_MSG_pong);
	assert_int_equal(one.n, 9);
	assert_memory_equal(one.p, "\0\0\0\5PING!", 9);
	assert_int_equal(two.n, 4);
	assert_memory_equal(two.p, "\0\0\0\0", 4);
	assert_int_equal(out.n, 0);
	buf_done(&out);
	pair_done(&p);
}

static void pings_during_a_key_exchange_wait_and_are_bounded(void **state)
{
	(void)state;
	for (int flood = 0; flood < 2; flood++) {
		struct pair p;
		up(&p);
		pair_open(&p);
		assert_int_equal(
			tp_rekey(p.s.tp), OK); /* from here on the server may send no PONG */
		uint32_t n = flood != 0 ? 100000 : 1000;
		uint64_t before = p.c.tp->counts.packets_in;
		for (uint32_t i = 0; i < n && p.s.err == OK; i++) {
			end_force(&p.c, SSH_MSG_ping, "\0\0\0\5PING!", 9);
			if (i % 100 == 99)
				pair_move(&p, &p.c, &p.s);
			assert_true(p.s.tp->pongs.cap <= 2 * TP_PONGS_MAX);
		}
		if (flood != 0) {
			assert_int_equal(p.s.err, E_FLOOD);
		} else {
			pair_run(&p);
			assert_int_equal(p.s.err, OK);
			assert_int_equal(end_count(&p.s, TP_EV_KEYS), 2);
			assert_true(p.c.tp->counts.packets_in >= before + 1000);
			assert_int_equal(p.s.tp->pongs.n, 0);
		}
		pair_done(&p);
	}
}

static void pings_of_a_peer_that_does_not_read_are_bounded(void **state)
{
	(void)state;
	struct pair p;
	up(&p);
	pair_open(&p);
	uint8_t body[1028] = {0, 0, 4, 0};
	for (uint32_t i = 0; i < 10000 && p.s.err == OK; i++) {
		end_force(&p.c, SSH_MSG_ping, body, sizeof(body));
		pair_move(&p, &p.c, &p.s);
	}
	assert_int_equal(p.s.err, E_FLOOD);
	assert_true(tp_unsent(p.s.tp) < TP_HIGH_WATER + 4 * TP_CONTROL_ROOM);
	pair_done(&p);
}

/* ---- UNIMPLEMENTED, DEBUG, DISCONNECT ---- */

static void unknown_messages_are_answered_with_their_number(void **state)
{
	(void)state;
	struct pair p;
	up(&p);
	uint32_t seq = p.c.tp->out_way.seq;
	end_force(&p.c, 19, "hello", 5);
	end_force(&p.c, 200, "", 0);
	pair_move(&p, &p.c, &p.s);
	assert_int_equal(p.s.err, OK);
	assert_int_equal(p.s.msgs_n, 0);
	struct buf out;
	buf_init(&out, 65536);
	end_take(&p.s, &out);
	for (uint32_t i = 0; i < 2; i++) {
		struct cslice body = answer(&p, &out, i, SSH_MSG_unimplemented);
		assert_int_equal(body.n, 4);
		assert_int_equal(be32_get(body.p), seq + i);
	}
	assert_int_equal(out.n, 0);
	buf_done(&out);
	pair_done(&p);
}

static void unknown_messages_to_one_who_does_not_read_are_bounded(void **state)
{
	(void)state;
	struct pair p;
	up(&p);
	for (uint32_t i = 0; i < 200000 && p.s.err == OK; i++) {
		end_force(&p.c, 199, "", 0);
		if (i % 512 == 0)
			pair_move(&p, &p.c, &p.s);
	}
	assert_int_equal(p.s.err, E_FLOOD);
	assert_true(tp_unsent(p.s.tp) < TP_HIGH_WATER + 2 * TP_CONTROL_ROOM);
	pair_done(&p);
}

static void debug_and_ignore_are_no_messages(void **state)
{
	(void)state;
	struct pair p;
	up(&p);
	assert_int_equal(tp_put(p.c.tp, ignore, .data = cslice_str("noise")), OK);
	assert_int_equal(
		tp_put(p.c.tp, debug, .always_display = true, .message = cslice_str("words")), OK);
	end_force(&p.c, SSH_MSG_unimplemented, "\0\0\0\1", 4);
	end_force(&p.c, SSH_MSG_pong, "\0\0\0\0", 4);
	pair_run(&p);
	assert_int_equal(p.s.err, OK);
	assert_int_equal(p.s.msgs_n, 0);
	assert_int_equal(end_count(&p.s, TP_EV_DEBUG), 1);
	assert_true(cslice_eq_str(buf_bytes(&p.s.words), "words\n"));
	pair_done(&p);
}

static void malformed_messages_end_the_connection(void **state)
{
	(void)state;
	static const struct {
		uint8_t msg;
		const char *body;
		size_t n;
		err_t want;
	} rows[] = {
		{SSH_MSG_debug, "\0", 1, E_FORMAT},
		{SSH_MSG_debug, "\0\0\0\0\0\0\0\0\0x", 10, E_TRAILING},
		{SSH_MSG_unimplemented, "\0\0\0", 3, E_FORMAT},
		{SSH_MSG_ping, "", 0, E_FORMAT},
		{SSH_MSG_ping, "\0\0\0\2x", 5, E_FORMAT},
		{SSH_MSG_ping, "\0\0\0\0x", 5, E_TRAILING},
		{SSH_MSG_ext_info, "\0\0\0\1\0\0\0\1a", 9, E_FORMAT},
		{SSH_MSG_kexinit, "short", 5, E_FORMAT},
	};
	for (size_t i = 0; i < ARRAY_N(rows); i++) {
		struct pair p;
		up(&p);
		p.s.tp->ext_infos = 0;
		end_force(&p.c, rows[i].msg, rows[i].body, rows[i].n);
		pair_run(&p);
		assert_int_equal(p.s.err, rows[i].want);
		assert_int_equal(p.c.err, E_DISCONNECTED);
		pair_done(&p);
	}
}

static void a_peer_known_for_bad_debug_is_borne_with(void **state)
{
	(void)state;
	struct pair p;
	pair_init(&p, 1);
	p.c.env.version = "SSH-2.0-Twisted";
	pair_start(&p);
	pair_run(&p);
	end_force(&p.c, SSH_MSG_debug, "\0", 1);
	pair_run(&p);
	assert_int_equal(p.s.err, OK);
	assert_int_equal(end_count(&p.s, TP_EV_DEBUG), 0);
	pair_done(&p);
}

static void disconnect_is_an_event_and_then_an_error(void **state)
{
	(void)state;
	static const struct {
		const char *body;
		size_t n;
		const char *words;
	} rows[] = {
		{"\0\0\0\x0b\0\0\0\3bye\0\0\0\0", 15, "bye\n"},
		{"\0\0\0\x0b\0\0\0\3bye", 11, "bye\n"}, /* without the language */
		{"\0\0\0\x0b", 4, "\n"},
		{"", 0, "\n"},
		{"\0\0\0\x0b\0\0\0\x09x", 9, "\n"},
	};
	for (size_t i = 0; i < ARRAY_N(rows); i++) {
		struct pair p;
		up(&p);
		end_force(&p.c, SSH_MSG_disconnect, rows[i].body, rows[i].n);
		end_force(&p.c, SSH_MSG_service_request, "\0\0\0\0", 4); /* is no more looked at */
		pair_run(&p);
		assert_int_equal(end_count(&p.s, TP_EV_CLOSED), 1);
		assert_true(cslice_eq_str(buf_bytes(&p.s.words), rows[i].words));
		assert_int_equal(p.s.err, E_DISCONNECTED);
		assert_int_equal(p.s.msgs_n, 0);
		assert_int_equal(tp_unsent(p.s.tp), 0); /* no answer to a DISCONNECT */
		assert_int_equal(tp_fed_eof(p.s.tp), E_DISCONNECTED);
		pair_done(&p);
	}
}

static void after_an_error_only_what_is_sealed_goes_out(void **state)
{
	(void)state;
	struct pair p;
	up(&p);
	pair_open(&p);
	assert_int_equal(tp_disconnect(p.c.tp, 11, "enough"), OK);
	struct tp_event ev;
	struct slice s;
	struct buf b;
	struct tp_bulk bulk = {8, 100, 100};
	buf_init(&b, 65536);
	err_t e = E_CANCELLED;
	assert_int_equal(tp_poll(p.c.tp, &ev), e);
	assert_int_equal(tp_fed(p.c.tp, 0, 1), e);
	assert_int_equal(tp_space(p.c.tp).n, 0);
	assert_int_equal(tp_reserve(p.c.tp, 94, 1, &s), e);
	assert_int_equal(tp_reserve_bulk(p.c.tp, 94, &bulk), e);
	assert_int_equal(tp_commit(p.c.tp, 0), e);
	assert_int_equal(tp_commit_bulk(p.c.tp, 0), e);
	assert_int_equal(tp_rekey(p.c.tp), e);
	assert_int_equal(tp_tick(p.c.tp, UINT64_MAX), e);
	assert_int_equal(tp_freeze(p.c.tp, &b), e);
	assert_int_equal(tp_answer(p.c.tp, 1, OK, cslice_of(NULL, 0)), e);
	assert_int_equal(tp_disconnect(p.c.tp, 11, "again"), e);
	assert_int_equal(tp_fed_eof(p.c.tp), e);
	assert_true(tp_deadline(p.c.tp) == UINT64_MAX);
	tp_fail(p.c.tp, E_BUG);
	assert_int_equal(tp_error(p.c.tp), e);
	pair_run(&p);
	assert_true(cslice_eq_str(buf_bytes(&p.s.words), "enough\n"));
	assert_int_equal(tp_unsent(p.c.tp), 0);
	buf_done(&b);
	pair_done(&p);
}

static void an_error_with_an_open_reservation_still_says_goodbye(void **state)
{
	(void)state;
	struct pair p;
	up(&p);
	pair_open(&p);
	struct slice s;
	assert_int_equal(tp_reserve(p.c.tp, 94, 1000, &s), OK);
	memset(s.p, 'x', s.n);
	tp_fail(p.c.tp, E_WINDOW);
	pair_run(&p);
	assert_int_equal(p.s.msgs_n, 0);
	assert_int_equal(p.s.err, E_DISCONNECTED);
	assert_true(cslice_eq_str(buf_bytes(&p.s.words), "channel data exceeds the window\n"));
	pair_done(&p);
}

static void what_was_not_told_before_the_end_is_not_told_after(void **state)
{
	(void)state;
	struct pair p;
	up(&p);
	struct tp_event ev = {.type = TP_EV_NEGOTIATED};
	tp_event_add(p.c.tp, &ev);
	tp_fail(p.c.tp, E_CHANNEL);
	assert_int_equal(tp_poll(p.c.tp, &ev), E_CHANNEL);
	pair_done(&p);
}

/* ---- EXT_INFO ---- */

static void both_ends_know_the_others_extensions(void **state)
{
	(void)state;
	struct pair p;
	pair_init(&p, 1);
	p.s.env.sig_algs = "ssh-ed25519,rsa-sha2-512";
	pair_start(&p);
	pair_run(&p);
	struct cslice v;
	assert_true(cslice_eq_str(tp_peer_sig_algs(p.c.tp), "ssh-ed25519,rsa-sha2-512"));
	assert_true(tp_peer_ext(p.c.tp, "publickey-hostbound@openssh.com", &v) &&
		    cslice_eq_str(v, "0"));
	assert_true(tp_peer_ext(p.c.tp, "ping@openssh.com", &v));
	assert_false(tp_peer_ext(p.c.tp, "ping", &v));
	/* a promise that nothing here keeps */
	assert_false(tp_peer_ext(p.c.tp, "agent-forward", &v));
	assert_true(
		tp_peer_ext(p.s.tp, "ext-info-in-auth@openssh.com", &v) && cslice_eq_str(v, "0"));
	assert_int_equal(tp_peer_sig_algs(p.s.tp).n, 0);
	assert_int_equal(end_count(&p.c, TP_EV_EXT_INFO), 1);
	/* once more, as during authentication: the later list counts, protocol extensions stay as
	 * they were */
	struct buf b;
	buf_init(&b, 1000);
	buf_put_u32(&b, 2);
	buf_put_cstring(&b, "server-sig-algs");
	buf_put_cstring(&b, "rsa-sha2-256");
	buf_put_cstring(&b, "ping@openssh.com");
	buf_put_cstring(&b, "9");
	end_force(&p.s, SSH_MSG_ext_info, b.p, b.n);
	pair_run(&p);
	assert_true(cslice_eq_str(tp_peer_sig_algs(p.c.tp), "rsa-sha2-256"));
	assert_true(tp_peer_ext(p.c.tp, "ping@openssh.com", &v) && cslice_eq_str(v, "0"));
	end_force(&p.s, SSH_MSG_ext_info, b.p, b.n);
	pair_run(&p);
	assert_int_equal(p.c.err, E_UNEXPECTED); /* a third one */
	buf_done(&b);
	pair_done(&p);
}

static err_t ext_info(
	bool to_server, uint32_t count, uint32_t items, const char *name, size_t name_n)
{
	struct pair p;
	up(&p);
	p.c.tp->ext_infos = p.s.tp->ext_infos = 0;
	struct end *from = to_server ? &p.c : &p.s, *to = to_server ? &p.s : &p.c;
	struct buf b;
	buf_init(&b, 65536);
	buf_put_u32(&b, count);
	for (uint32_t i = 0; i < items; i++) {
		buf_put_string(&b, cslice_of(name, name_n));
		buf_put_cstring(&b, "v");
	}
	end_force(from, SSH_MSG_ext_info, b.p, b.n);
	pair_run(&p);
	err_t e = to->err;
	buf_done(&b);
	pair_done(&p);
	return e;
}

static void ext_info_is_read_strictly(void **state)
{
	(void)state;
	for (int to_server = 0; to_server < 2; to_server++) {
		bool s = to_server != 0;
		assert_int_equal(ext_info(s, 0, 0, "x", 1), OK);
		assert_int_equal(ext_info(s, 1, 1, "x", 1), OK);
		assert_int_equal(ext_info(s, 1023, 1023, "x", 1), OK);
		assert_int_equal(ext_info(s, 1024, 1024, "x", 1), E_FORMAT);
		assert_int_equal(ext_info(s, 0xffffffff, 3, "x", 1), E_FORMAT);
		assert_int_equal(ext_info(s, 2, 1, "x", 1), E_FORMAT);
		assert_int_equal(ext_info(s, 1, 2, "x", 1), E_TRAILING);
		assert_int_equal(ext_info(s, 1, 1, "x\0y", 3), E_FORMAT);
	}
}

static void a_server_takes_one_ext_info(void **state)
{
	(void)state;
	struct pair p;
	up(&p);
	end_force(&p.c, SSH_MSG_ext_info, "\0\0\0\0", 4);
	pair_run(&p);
	assert_int_equal(p.s.err, E_UNEXPECTED);
	pair_done(&p);
}

static void a_login_request_after_login_is_dropped(void **state)
{
	(void)state;
	struct pair p;
	up(&p);
	end_force(&p.c, SSH_MSG_userauth_request, "x", 1);
	pair_run(&p);
	assert_int_equal(p.s.msgs_n, 1);
	pair_open(&p);
	end_force(&p.c, SSH_MSG_userauth_request, "x", 1);
	pair_run(&p);
	assert_int_equal(p.s.msgs_n, 1);
	assert_int_equal(p.s.err, OK);
	pair_done(&p);
}

int main(void)
{
	if (crypto_init() != OK)
		return 1;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_no_to_the_host_key_ends_it_with_its_reason),
		cmocka_unit_test(every_error_of_the_answer_is_a_no),
		cmocka_unit_test(a_wrong_signature_never_reaches_the_question),
		cmocka_unit_test(late_answers_change_nothing),
		cmocka_unit_test(only_the_open_question_can_be_answered),
		cmocka_unit_test(ping_is_answered_with_its_data),
		cmocka_unit_test(pings_during_a_key_exchange_wait_and_are_bounded),
		cmocka_unit_test(pings_of_a_peer_that_does_not_read_are_bounded),
		cmocka_unit_test(unknown_messages_are_answered_with_their_number),
		cmocka_unit_test(unknown_messages_to_one_who_does_not_read_are_bounded),
		cmocka_unit_test(debug_and_ignore_are_no_messages),
		cmocka_unit_test(malformed_messages_end_the_connection),
		cmocka_unit_test(a_peer_known_for_bad_debug_is_borne_with),
		cmocka_unit_test(disconnect_is_an_event_and_then_an_error),
		cmocka_unit_test(after_an_error_only_what_is_sealed_goes_out),
		cmocka_unit_test(an_error_with_an_open_reservation_still_says_goodbye),
		cmocka_unit_test(what_was_not_told_before_the_end_is_not_told_after),
		cmocka_unit_test(both_ends_know_the_others_extensions),
		cmocka_unit_test(ext_info_is_read_strictly),
		cmocka_unit_test(a_server_takes_one_ext_info),
		cmocka_unit_test(a_login_request_after_login_is_dropped),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
