/* SPDX-License-Identifier: ISC */
/* The hand-over: an engine as bytes and back goes on byte for byte; damaged bytes make no engine.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "pair.h"
#include "transport/tp_int.h"

static void up_with(struct pair *p, const char *cipher, const char *mac)
{
	p->c.policy.kex = "curve25519-sha256";
	p->c.policy.cipher_c2s = p->c.policy.cipher_s2c = cipher;
	p->c.policy.mac_c2s = p->c.policy.mac_s2c = mac;
	pair_start(p);
	pair_run(p);
	assert_int_equal(end_count(&p->c, TP_EV_KEYS), 1);
}

static void swap(struct end *e, uint64_t now_us)
{
	struct buf b;
	buf_init(&b, (size_t)64 << 20);
	assert_int_equal(tp_freeze(e->tp, &b), OK);
	tp_free(e->tp);
	e->tp = NULL;
	assert_int_equal(tp_thaw(&e->tp, &e->env, buf_bytes(&b), now_us), OK);
	buf_done(&b);
}

static void hand_overs_are_invisible(void **state)
{
	(void)state;
	for (size_t i = 0; i < alg_ciphers_n * 2; i++) {
		struct pair p;
		pair_init(&p, i);
		p.c.env.limits.rekey_bytes = 60000;
		up_with(&p, alg_ciphers[i / 2].name, alg_macs[i % alg_macs_n].name);
		swap(&p.s, p.now_us); /* before login too */
		swap(&p.c, p.now_us);
		pair_open(&p);
		uint32_t sent = 0, swaps = 0;
		uint8_t data[3000];
		p.cut = PAIR_RANDOM;
		for (uint32_t k = 0; k < 200; k++) {
			be32_put(data, sent);
			if (end_say(&p.c, data, 4 + rng_below(&p.rng.rng, 2900)) == OK)
				sent++;
			if (k % 3 == 0) {
				pair_move(&p, &p.c, &p.s);
				pair_move(&p, &p.s, &p.c);
			}
			struct end *e = k % 2 == 0 ? &p.c : &p.s;
			if (!tp_kex_is_active(e->tp)) {
				swap(e, p.now_us);
				swaps++;
			}
		}
		pair_run(&p);
		assert_int_equal(p.c.err, OK);
		assert_int_equal(p.s.err, OK);
		assert_int_equal(p.s.msgs_n, sent);
		assert_true(swaps > 50);
		assert_true(end_count(&p.c, TP_EV_KEYS) > 2);
		for (uint32_t k = 0; k < sent; k += 20) {
			uint8_t number;
			assert_int_equal(be32_get(end_msg(&p.s, k, &number).p + 8), k);
		}
		pair_done(&p);
	}
}

/* What waits in the engine goes along: half a packet unread, sealed bytes unsent, owed PONGs. */
static void waiting_case(const char *cipher)
{
	struct pair p;
	pair_init(&p, 1);
	up_with(&p, cipher, "hmac-sha2-256");
	pair_open(&p);
	assert_int_equal(end_say(&p.s, "unsent", 6), OK);
	assert_int_equal(end_say(&p.c, "first", 5), OK);
	struct buf out;
	buf_init(&out, 65536);
	end_take(&p.c, &out);
	end_feed(&p.s, out.p, out.n - 10,
		PAIR_WHOLE); /* its length is known, its end has not come */
	assert_true(p.s.tp->in.need > 0);
	buf_put_string(&p.s.tp->pongs, cslice_str("owed"));
	size_t unsent = tp_unsent(p.s.tp);
	swap(&p.s, p.now_us);
	assert_int_equal(tp_unsent(p.s.tp), unsent);
	end_feed(&p.s, out.p + out.n - 10, 10, PAIR_WHOLE);
	pair_run(&p);
	assert_int_equal(p.s.msgs_n, 1);
	assert_int_equal(p.c.msgs_n, 1);
	assert_int_equal(
		p.c.tp->counts.packets_in, 3 + 1 + 1 + 1); /* exchange, EXT_INFO, data, PONG */
	buf_done(&out);
	pair_done(&p);
}

static void what_waits_goes_along(void **state)
{
	(void)state;
	for (size_t i = 0; i < alg_ciphers_n; i++)
		if ((alg_ciphers[i].flags & AF_AEAD) == 0)
			waiting_case(alg_ciphers[i].name);
}

static void what_was_agreed_is_still_known(void **state)
{
	(void)state;
	struct pair p;
	pair_init(&p, 1);
	p.c.env.limits.rekey_us = 1000;
	up_with(&p, "aes128-ctr", "umac-64-etm@openssh.com");
	pair_open(&p);
	tp_raise_max_packet(p.c.tp, 100000);
	uint64_t due = tp_deadline(p.c.tp);
	assert_int_equal(tp_tick(p.c.tp, due - 10), OK);
	swap(&p.c, 5000000);
	assert_true(tp_deadline(p.c.tp) == 5000010);
	assert_true(tp_is_open(p.c.tp));
	assert_int_equal(p.c.tp->max_packet, 100000);
	assert_true(cslice_eq(tp_session_id(p.c.tp), tp_session_id(p.s.tp)));
	assert_true(cslice_eq(tp_hostkey_blob(p.c.tp), tp_hostkey_blob(p.s.tp)));
	assert_true(cslice_eq_str(tp_peer_version(p.c.tp), p.s.env.version));
	assert_string_equal(tp_choice(p.c.tp)->kex->name, "curve25519-sha256");
	assert_string_equal(tp_choice(p.c.tp)->c2s.cipher->name, "aes128-ctr");
	assert_string_equal(tp_choice(p.c.tp)->s2c.mac->name, "umac-64-etm@openssh.com");
	assert_true(tp_peer_sig_algs(p.c.tp).n > 0);
	assert_true(p.c.tp->is_strict);
	pair_done(&p);
}

static void only_between_packets_and_exchanges(void **state)
{
	(void)state;
	struct pair p;
	struct buf b;
	pair_init(&p, 1);
	buf_init(&b, 1 << 20);
	p.c.policy.comp_c2s = p.c.policy.comp_s2c = "zlib@openssh.com";
	pair_start(&p);
	assert_int_equal(tp_freeze(p.c.tp, &b), E_PHASE);
	pair_run(&p);
	struct slice s;
	assert_int_equal(tp_reserve(p.c.tp, 5, 10, &s), OK);
	assert_int_equal(tp_freeze(p.c.tp, &b), E_PHASE);
	tp_cancel(p.c.tp);
	assert_int_equal(tp_freeze(p.c.tp, &b), OK);
	size_t n = b.n;
	pair_open(&p);
	assert_int_equal(
		tp_freeze(p.c.tp, &b), OK); /* compression is on, nothing was compressed yet */
	assert_int_equal(end_say(&p.c, "x", 1), OK);
	size_t before = b.n;
	assert_int_equal(tp_freeze(p.c.tp, &b), E_PHASE);
	assert_int_equal(b.n, before);
	assert_int_equal(tp_rekey(p.s.tp), OK);
	assert_int_equal(tp_freeze(p.s.tp, &b), E_PHASE);
	struct buf small;
	buf_init(&small, n / 2);
	pair_run(&p);
	p.c.tp->out_way.z_on = false;
	assert_int_equal(tp_freeze(p.c.tp, &small), E_LIMIT);
	assert_int_equal(small.n, 0);
	buf_done(&small);
	buf_done(&b);
	pair_done(&p);
}

/* Every prefix, and every byte changed: an error or an engine, never a crash; most must be errors.
 */
static void damaged_bytes_are_refused(void **state)
{
	(void)state;
	struct pair p;
	struct buf b;
	pair_init(&p, 1);
	up_with(&p, "aes128-ctr", "hmac-sha1");
	pair_open(&p);
	buf_init(&b, 1 << 20);
	assert_int_equal(end_say(&p.c, "unsent", 6), OK);
	assert_int_equal(tp_freeze(p.c.tp, &b), OK);
	struct tp *tp = NULL;
	for (size_t n = 0; n < b.n; n++)
		assert_int_equal(tp_thaw(&tp, &p.c.env, cslice_of(b.p, n), 1), E_FORMAT);
	buf_put_u8(&b, 0);
	assert_int_equal(tp_thaw(&tp, &p.c.env, buf_bytes(&b), 1), E_TRAILING);
	b.n--;
	uint32_t taken = 0;
	for (size_t i = 0; i < b.n; i++) {
		for (int bit = 0; bit < 8; bit++) {
			b.p[i] ^= (uint8_t)(1 << bit);
			if (tp_thaw(&tp, &p.c.env, buf_bytes(&b), 1) == OK) {
				tp_free(tp);
				taken++;
				assert_true(i >= 9); /* magic, edition, role and flags */
			}
			b.p[i] ^= (uint8_t)(1 << bit);
		}
	}
	/* keys, counters, texts may have any value */
	assert_true(taken < b.n * 8);
	assert_int_equal(tp_thaw(&tp, &p.s.env, buf_bytes(&b), 1), E_FORMAT); /* the other role */
	assert_int_equal(tp_thaw(&tp, &p.c.env, buf_bytes(&b), 1), OK);
	tp_free(tp);
	buf_done(&b);
	pair_done(&p);
}

/* Every size is that of the row that the name says. */
static void key_material_of_a_wrong_size_is_refused(void **state)
{
	(void)state;
	for (int i = 0; i < 6; i++) {
		struct pair p;
		struct buf b;
		struct tp *tp = NULL;
		pair_init(&p, 1);
		up_with(&p, "aes128-ctr", "hmac-sha1");
		buf_init(&b, 1 << 20);
		struct tp_keymat *m = i < 3 ? &p.c.tp->in_way.mat : &p.c.tp->out_way.mat;
		struct secret *s = (struct secret *[]){&m->iv, &m->key, &m->mac}[i % 3];
		s->n += i % 2 == 0 ? 1 : (size_t)-1;
		assert_int_equal(tp_freeze(p.c.tp, &b), OK);
		assert_int_equal(tp_thaw(&tp, &p.c.env, buf_bytes(&b), 1), E_FORMAT);
		buf_done(&b);
		pair_done(&p);
	}
}

int main(void)
{
	if (crypto_init() != OK)
		return 1;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hand_overs_are_invisible),
		cmocka_unit_test(what_waits_goes_along),
		cmocka_unit_test(what_was_agreed_is_still_known),
		cmocka_unit_test(only_between_packets_and_exchanges),
		cmocka_unit_test(damaged_bytes_are_refused),
		cmocka_unit_test(key_material_of_a_wrong_size_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
