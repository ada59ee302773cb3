/* SPDX-License-Identifier: ISC */
/*
 * Packets that are opened ahead: nobody can tell.  Two servers go on from the same frozen one, of
 * which one opens runs of packets together and the other each by itself; whatever they are fed,
 * they tell, count and refuse the same.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "crypto/pick.h"
#include "pair.h"
#include "transport/tp_int.h"

struct twins {
	struct pair p, q; /* client and server that opens runs; of q only the server: one by one */
	struct buf wire;  /* what the client has sent and nobody got */
	size_t at[64], n; /* where its packets begin */
};

static const char *const ciphers[] = {"aes128-ctr", "aes256-cbc", "aes256-ctr"};
static const char *const macs[] = {"hmac-sha1-etm@openssh.com", "hmac-sha2-256-etm@openssh.com",
	"hmac-sha2-512-etm@openssh.com"};

/* After the handshake, logged in or not. */
static void twins_init(struct twins *t, uint64_t seed, bool is_open)
{
	struct buf frozen;
	*t = (struct twins){0};
	buf_init(&t->wire, (size_t)16 << 20);
	buf_init(&frozen, 1 << 20);
	pair_init(&t->p, seed);
	pair_init(&t->q, seed);
	t->p.c.policy.kex = "curve25519-sha256";
	t->p.c.policy.cipher_c2s = t->p.c.policy.cipher_s2c =
		ciphers[(seed + seed / 3) % ARRAY_N(ciphers)];
	t->p.c.policy.mac_c2s = t->p.c.policy.mac_s2c = macs[seed % ARRAY_N(macs)];
	t->p.c.policy.comp_c2s = t->p.c.policy.comp_s2c = "none";
	pair_add_hostkey(&t->q, KEY_ED25519);
	pair_start(&t->p);
	pair_run(&t->p);
	assert_int_equal(end_count(&t->p.c, TP_EV_KEYS), 1);
	t->p.s.events_n = 0;
	t->p.c.tp->max_packet = TP_PACKET_MAX;
	if (is_open)
		pair_open(&t->p);
	assert_int_equal(tp_freeze(t->p.s.tp, &frozen), OK);
	tp_free(t->p.s.tp);
	t->p.s.env.use_fast = true;
	t->q.s.rng = t->p.s.rng;
	assert_int_equal(tp_thaw(&t->p.s.tp, &t->p.s.env, buf_bytes(&frozen), 1), OK);
	assert_int_equal(tp_thaw(&t->q.s.tp, &t->q.s.env, buf_bytes(&frozen), 1), OK);
	assert_true(pick_hmacs(PICK_IPSECMB) == NULL || t->p.s.tp->in_way.pktc->open_many != NULL);
	assert_null(t->q.s.tp->in_way.pktc->open_many);
	buf_done(&frozen);
}

static void twins_done(struct twins *t)
{
	buf_done(&t->wire);
	pair_done(&t->p);
	pair_done(&t->q);
}

/* The client says it, whatever it is. */
static void say(struct twins *t, uint8_t msg, const void *body, size_t n)
{
	assert_in_range(t->n, 0, ARRAY_N(t->at) - 1);
	t->at[t->n++] = t->wire.n;
	end_force(&t->p.c, msg, body, n);
	end_take(&t->p.c, &t->wire);
}

static void say_data(struct twins *t, size_t n)
{
	static uint8_t body[70000];
	be32_put(body, 0);
	be32_put(body + 4, (uint32_t)n);
	for (size_t i = 0; i < n; i++)
		body[8 + i] = (uint8_t)(i * 3 + t->n);
	say(t, SSH_MSG_channel_data, body, n + 8);
}

static void check_same(const struct end *a, const struct end *b)
{
	const struct tp_way *x = &a->tp->in_way, *y = &b->tp->in_way;
	struct tp_counts ca, cb;
	tp_counts(a->tp, &ca);
	tp_counts(b->tp, &cb);
	assert_memory_equal(&ca, &cb, sizeof(ca));
	assert_string_equal(err_name(a->err), err_name(b->err));
	assert_string_equal(err_name(tp_error(a->tp)), err_name(tp_error(b->tp)));
	assert_int_equal(a->events_n, b->events_n);
	assert_memory_equal(a->events, b->events, a->events_n);
	assert_int_equal(a->msgs.n, b->msgs.n);
	if (a->msgs.n > 0)
		assert_memory_equal(a->msgs.p, b->msgs.p, a->msgs.n);
	assert_int_equal(tp_unsent(a->tp), tp_unsent(b->tp));
	assert_true(x->seq == y->seq && x->packets == y->packets && x->blocks == y->blocks &&
		    x->cost == y->cost && x->bytes == y->bytes);
	assert_int_equal(a->tp->in.end - a->tp->in.at, b->tp->in.end - b->tp->in.at);
}

/* All that is on the wire to both, in pieces of up to `most` bytes; they poll after each. */
static void feed(struct twins *t, size_t most)
{
	struct end *ends[] = {&t->p.s, &t->q.s};
	size_t at = 0;
	while (at < t->wire.n) {
		size_t n = num_min(t->wire.n - at, 1 + rng_below(&t->p.rng.rng, (uint32_t)most));
		for (size_t i = 0; i < 2; i++)
			n = num_min(n, tp_space(ends[i]->tp).n);
		for (size_t i = 0; i < 2 && n > 0; i++) {
			memcpy(tp_space(ends[i]->tp).p, t->wire.p + at, n);
			if (tp_fed(ends[i]->tp, n, 1) == OK)
				end_poll(ends[i]);
		}
		check_same(ends[0], ends[1]);
		if (n == 0)
			break; /* they have failed */
		at += n;
	}
	buf_clear(&t->wire);
	t->n = 0;
}

/* ---- tests ---- */

static void runs_are_opened_together_and_told_one_by_one(void **state)
{
	(void)state;
	if (pick_hmacs(PICK_IPSECMB) == NULL)
		skip(); /* nothing opens runs here */
	for (uint64_t seed = 0; seed < 6; seed++) {
		struct twins t;
		struct tp_event ev;
		twins_init(&t, seed, true);
		for (size_t i = 0; i < 12; i++)
			say_data(&t, 100 + 700 * i);
		struct tp *tp = t.p.s.tp;
		uint64_t told = tp->counts.packets_in;
		memcpy(tp_space(tp).p, t.wire.p, t.wire.n);
		assert_int_equal(tp_fed(tp, t.wire.n, 1), OK);
		for (size_t i = 0; i < 12; i++) {
			assert_int_equal(tp_poll(tp, &ev), OK);
			assert_int_equal(ev.msg, SSH_MSG_channel_data);
			assert_int_equal(ev.body.n, 8 + 100 + 700 * i);
			assert_int_equal(tp->in.ahead, 11 - i);
			assert_int_equal(tp->counts.packets_in, told + i + 1);
		}
		twins_done(&t);
	}
}

static void any_pieces_give_the_same(void **state)
{
	(void)state;
	static const size_t most[] = {1 << 20, 1 << 20, 40000, 5000, 100, 1};
	for (uint64_t seed = 0; seed < 18; seed++) {
		struct twins t;
		twins_init(&t, seed, true);
		for (size_t round = 0; round < 4; round++) {
			size_t small = most[seed % ARRAY_N(most)] < 1000 ? 1 : 0;
			for (size_t i = 0; i < 20; i++)
				say_data(&t, rng_below(&t.p.rng.rng, small ? 300 : 33000));
			feed(&t, most[seed % ARRAY_N(most)]);
			assert_int_equal(t.p.s.msgs_n, 20 * (round + 1));
		}
		assert_int_equal(t.p.s.err, OK);
		twins_done(&t);
	}
}

/* One bit anywhere in the fifth or another packet of a run. */
static void damage_is_told_in_its_turn(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 160; seed++) {
		struct twins t;
		twins_init(&t, seed, true);
		for (size_t i = 0; i < 10; i++)
			say_data(&t, 40 + 50 * i);
		size_t hit = seed % 10, from = t.at[hit],
		       end = hit + 1 < t.n ? t.at[hit + 1] : t.wire.n;
		/* the length, the middle, the tag by turns */
		size_t where = seed / 10 % 4 == 0   ? from + seed / 40 % 4
			       : seed / 10 % 4 == 1 ? end - 1 - seed % 20
						    : from + 4 + seed % 40;
		t.wire.p[where] ^= (uint8_t)(1 << seed % 8);
		feed(&t, seed % 3 == 0 ? 700 : 1 << 20);
		assert_true(t.p.s.msgs_n == hit);
		assert_true(t.p.s.err != OK || t.p.s.tp->in.need > t.wire.n); /* or still waits */
		twins_done(&t);
	}
}

static void other_messages_among_them_have_their_turn(void **state)
{
	(void)state;
	static const uint8_t disconnect[] = {0, 0, 0, 11, 0, 0, 0, 3, 'b', 'y', 'e', 0, 0, 0, 0},
			     nothing[4] = {0}, debug[] = {1, 0, 0, 0, 1, 'x', 0, 0, 0, 0};
	static const struct {
		uint8_t msg;
		const uint8_t *body;
		size_t n;
		err_t want;
	} rows[] = {
		{SSH_MSG_disconnect, disconnect, sizeof(disconnect), E_DISCONNECTED},
		{SSH_MSG_ignore, nothing, 4, OK},
		{SSH_MSG_debug, debug, sizeof(debug), OK},
		{SSH_MSG_ping, nothing, 4, OK},
		{200, nothing, 4, OK},                       /* unknown: answered */
		{SSH_MSG_newkeys, nothing, 0, E_UNEXPECTED}, /* no exchange is under way */
		{SSH_MSG_kexinit, nothing, 4, E_FORMAT},
		{SSH_MSG_userauth_success, nothing, 0, E_UNEXPECTED},
	};
	for (size_t i = 0; i < ARRAY_N(rows) * 6; i++) {
		struct twins t;
		size_t row = i % ARRAY_N(rows), place = i / ARRAY_N(rows) * 2;
		twins_init(&t, i, true);
		for (size_t k = 0; k < 12; k++) {
			if (k == place)
				say(&t, rows[row].msg, rows[row].body, rows[row].n);
			say_data(&t, 500);
		}
		feed(&t, 1 << 20);
		assert_string_equal(err_name(t.p.s.err), err_name(rows[row].want));
		assert_int_equal(t.p.s.msgs_n, rows[row].want == OK ? 12 : place);
		twins_done(&t);
	}
}

/* What both servers have ready is the same; the client gets it, once. */
static void answer_to_client(struct twins *t)
{
	struct buf a, b;
	buf_init(&a, 1 << 20);
	buf_init(&b, 1 << 20);
	end_take(&t->p.s, &a);
	end_take(&t->q.s, &b);
	assert_int_equal(a.n, b.n);
	if (a.n > 0)
		assert_memory_equal(a.p, b.p, a.n);
	end_feed(&t->p.c, a.p, a.n, PAIR_WHOLE);
	buf_done(&a);
	buf_done(&b);
}

/* A rekey whose messages stand among data: the old keys end in the middle of what has been read. */
static void new_keys_begin_in_the_middle_of_a_run(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 12; seed++) {
		struct twins t;
		size_t before = seed % 4, after = 1 + seed % 5;
		twins_init(&t, seed, true);
		say_data(&t, 20000);
		assert_int_equal(tp_rekey(t.p.c.tp), OK);
		end_take(&t.p.c, &t.wire);
		for (size_t i = 0; i < before; i++)
			say_data(&t, 300); /* late data, which is borne with */
		feed(&t, 1 << 20);
		answer_to_client(&t); /* KEXINIT: gives ECDH_INIT */
		end_take(&t.p.c, &t.wire);
		feed(&t, 1 << 20);
		for (size_t i = 0; i < before; i++)
			say_data(&t, 400);
		answer_to_client(&t); /* the reply, NEWKEYS: gives NEWKEYS */
		assert_int_equal(end_count(&t.p.c, TP_EV_KEYS), 2);
		for (size_t i = 0; i < after; i++)
			say_data(&t, 2000);
		if (seed >= 6)
			t.wire.p[t.wire.n - 1] ^= 1;
		feed(&t, 1 << 20);
		assert_int_equal(t.p.s.err, seed >= 6 ? E_MAC : OK);
		assert_int_equal(end_count(&t.p.s, TP_EV_KEYS), 1);
		assert_int_equal(t.p.s.msgs_n, 1 + 2 * before + after - (seed >= 6 ? 1 : 0));
		twins_done(&t);
	}
}

/* A peer that goes on with the old keys after its NEWKEYS: their time is over. */
static void old_keys_are_refused_after_newkeys(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 6; seed++) {
		struct twins t;
		twins_init(&t, seed, true);
		assert_int_equal(tp_rekey(t.p.c.tp), OK);
		end_take(&t.p.c, &t.wire);
		feed(&t, 1 << 20);
		answer_to_client(&t);
		end_take(&t.p.c, &t.wire); /* ECDH_INIT; the client never sees the reply */
		for (size_t i = 0; i < seed % 3; i++)
			say_data(&t, 100);
		say(&t, SSH_MSG_newkeys, NULL, 0);
		say_data(&t, 100);
		say_data(&t, 100);
		feed(&t, 1 << 20);
		assert_int_equal(t.p.s.err, E_MAC);
		assert_int_equal(t.p.s.msgs_n, seed % 3);
		twins_done(&t);
	}
}

static void before_login_nothing_is_opened_ahead(void **state)
{
	(void)state;
	struct twins t;
	struct tp_event ev;
	twins_init(&t, 1, false);
	uint8_t body[20000] = {0};
	be32_put(body, sizeof(body) - 4);
	for (size_t i = 0; i < 8; i++)
		say(&t, i == 0 ? SSH_MSG_debug : SSH_MSG_ignore,
			i == 0 ? (const uint8_t *)"\0\0\0\0\0\0\0\0\0" : body,
			i == 0 ? 9 : sizeof(body));
	struct tp *tp = t.p.s.tp;
	memcpy(tp_space(tp).p, t.wire.p, t.wire.n);
	assert_int_equal(tp_fed(tp, t.wire.n, 1), OK);
	assert_int_equal(tp_poll(tp, &ev), OK);
	assert_int_equal(ev.type, TP_EV_DEBUG);
	assert_int_equal(tp->in.ahead, 0);
	twins_done(&t);
}

/* In the middle of a run both servers freeze to the same bytes: the sealed ones. */
static void a_hand_over_carries_nothing_that_was_opened_ahead(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 12; seed++) {
		struct twins t;
		struct buf frozen[2];
		twins_init(&t, seed, true);
		for (size_t i = 0; i < 12; i++)
			say_data(&t, 100 + 100 * i);
		struct end *ends[] = {&t.p.s, &t.q.s};
		size_t part = t.wire.n - seed; /* the last one not whole */
		for (size_t k = 0; k < 2; k++) {
			struct tp *tp = ends[k]->tp;
			struct tp_event ev;
			memcpy(tp_space(tp).p, t.wire.p, part);
			assert_int_equal(tp_fed(tp, part, 1), OK);
			for (size_t i = 0; i < 1 + seed % 11; i++)
				assert_int_equal(tp_poll(tp, &ev), OK);
			buf_init(&frozen[k], 1 << 20);
			assert_int_equal(tp_freeze(tp, &frozen[k]), OK);
		}
		assert_int_equal(frozen[0].n, frozen[1].n);
		assert_memory_equal(frozen[0].p, frozen[1].p, frozen[0].n);
		tp_free(t.p.s.tp);
		assert_int_equal(tp_thaw(&t.p.s.tp, &t.p.s.env, buf_bytes(&frozen[0]), 1), OK);
		memmove(t.wire.p, t.wire.p + part, t.wire.n - part);
		t.wire.n -= part;
		say_data(&t, 10);
		feed(&t, 1 << 20);
		assert_int_equal(t.p.s.msgs_n, 12 - seed % 11);
		buf_done(&frozen[0]);
		buf_done(&frozen[1]);
		twins_done(&t);
	}
}

int main(void)
{
	if (crypto_init() != OK)
		return 1;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(runs_are_opened_together_and_told_one_by_one),
		cmocka_unit_test(any_pieces_give_the_same),
		cmocka_unit_test(damage_is_told_in_its_turn),
		cmocka_unit_test(other_messages_among_them_have_their_turn),
		cmocka_unit_test(new_keys_begin_in_the_middle_of_a_run),
		cmocka_unit_test(old_keys_are_refused_after_newkeys),
		cmocka_unit_test(before_login_nothing_is_opened_ahead),
		cmocka_unit_test(a_hand_over_carries_nothing_that_was_opened_ahead),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
