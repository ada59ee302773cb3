/* SPDX-License-Identifier: ISC */
/* New exchanges in a running session: what starts them, what may be sent meanwhile, and that no
 * byte is lost. */
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
	pair_open(p);
}

static void up(struct pair *p)
{
	up_with(p, "aes128-gcm@openssh.com", "hmac-sha1");
}

static void assert_rekeys(const struct pair *p, uint32_t n)
{
	assert_int_equal(p->c.err, OK);
	assert_int_equal(p->s.err, OK);
	assert_int_equal(end_count(&p->c, TP_EV_KEYS), n + 1);
	assert_int_equal(end_count(&p->s, TP_EV_KEYS), n + 1);
	struct tp_counts c;
	tp_counts(p->c.tp, &c);
	assert_int_equal(c.rekeys, n);
	assert_false(tp_is_rekeying(p->c.tp));
	assert_false(tp_is_rekeying(p->s.tp));
}

static void either_side_may_start_or_both(void **state)
{
	(void)state;
	for (int who = 1; who < 4; who++) {
		struct pair p;
		pair_init(&p, (uint64_t)who);
		up(&p);
		uint8_t id[HASH_MAX];
		size_t id_n = tp_session_id(p.c.tp).n;
		memcpy(id, tp_session_id(p.c.tp).p, id_n);
		if ((who & 1) != 0)
			assert_int_equal(tp_rekey(p.c.tp), OK);
		if ((who & 2) != 0)
			assert_int_equal(tp_rekey(p.s.tp), OK);
		assert_int_equal(
			tp_rekey((who & 1) != 0 ? p.c.tp : p.s.tp), OK); /* one is under way */
		pair_run(&p);
		assert_rekeys(&p, 1);
		assert_int_equal(p.c.asked_hostkey, 1); /* the same key is not asked about again */
		assert_int_equal(p.s.asked_sign, 2);
		assert_int_equal(tp_session_id(p.s.tp).n, id_n);
		assert_memory_equal(tp_session_id(p.c.tp).p, id, id_n);
		assert_memory_equal(tp_session_id(p.s.tp).p, id, id_n);
		assert_int_equal(end_say(&p.c, "x", 1), OK);
		assert_int_equal(end_say(&p.s, "y", 1), OK);
		pair_run(&p);
		assert_int_equal(p.s.msgs_n, 1);
		assert_int_equal(p.c.msgs_n, 1);
		pair_done(&p);
	}
}

static void never_before_login(void **state)
{
	(void)state;
	struct pair p;
	pair_init(&p, 1);
	p.c.env.limits.rekey_bytes = 16;
	p.c.env.limits.rekey_us = 1;
	pair_start(&p);
	assert_int_equal(tp_rekey(p.c.tp), OK); /* the first one is under way */
	pair_run(&p);
	assert_int_equal(tp_rekey(p.c.tp), E_PHASE);
	assert_true(tp_deadline(p.c.tp) == UINT64_MAX);
	for (int i = 0; i < 20; i++)
		assert_int_equal(
			tp_put(p.c.tp, service_request, .service = cslice_str("ssh-userauth")), OK);
	pair_run(&p);
	assert_int_equal(p.s.msgs_n, 20);
	assert_rekeys(&p, 0);
	pair_done(&p);
}

/* While ours is out nothing is sent, and everything that is in flight towards us is taken (E6 72).
 */
static void what_is_in_flight_is_taken_and_nothing_is_sent(void **state)
{
	(void)state;
	struct pair p;
	pair_init(&p, 1);
	p.s.env.limits.high_water = (size_t)8 << 20;
	up(&p);
	assert_int_equal(tp_rekey(p.c.tp), OK);
	assert_int_equal(end_say(&p.c, "x", 1), E_AGAIN);
	struct tp_bulk bulk = {8, 100, 100};
	assert_int_equal(tp_reserve_bulk(p.c.tp, 94, &bulk), E_AGAIN);
	static uint8_t data[2000];
	for (int i = 0; i < 2000; i++) {
		memset(data, i, sizeof(data));
		assert_int_equal(end_say(&p.s, data, sizeof(data)), OK);
	}
	p.c.events_n = 0;
	pair_move(&p, &p.s, &p.c);
	assert_int_equal(p.c.err, OK);
	assert_int_equal(p.c.msgs_n, 2000);
	assert_int_equal(end_say(&p.c, "x", 1), E_AGAIN);
	pair_run(&p);
	assert_int_equal(p.c.err, OK);
	assert_int_equal(end_count(&p.c, TP_EV_KEYS), 1);
	assert_int_equal(end_say(&p.c, "x", 1), OK);
	for (uint32_t i = 0; i < 2000; i++) {
		if (i % 97 != 0)
			continue;
		uint8_t number;
		struct cslice body = end_msg(&p.c, i, &number);
		assert_int_equal(body.n, 8 + sizeof(data));
		assert_int_equal(body.p[8], (uint8_t)i);
	}
	pair_done(&p);
}

/* RFC 4253 7.1 forbids a peer to send data between its KEXINIT and its NEWKEYS; some do, and lose
 * nothing by it. */
static void data_after_a_kexinit_is_borne_with(void **state)
{
	(void)state;
	for (int by_server = 0; by_server < 2; by_server++) {
		struct pair p;
		pair_init(&p, 1);
		up(&p);
		struct end *from = by_server != 0 ? &p.s : &p.c, *to = by_server != 0 ? &p.c : &p.s;
		assert_int_equal(tp_rekey(from->tp), OK);
		for (int i = 0; i < 300; i++)
			end_force(from, SSH_MSG_channel_data, "\0\0\0\0\0\0\0\0", 8);
		pair_run(&p);
		assert_rekeys(&p, 1);
		assert_int_equal(to->msgs_n, 300);
		pair_done(&p);
	}
}

static void say_much(struct pair *p, struct end *from, size_t bytes)
{
	static uint8_t data[8192];
	memset(data, 'x', sizeof(data));
	for (size_t sent = 0; sent < bytes; sent += sizeof(data)) {
		err_t e = end_say(from, data, sizeof(data));
		if (e == E_AGAIN || sent % 65536 == 0) {
			pair_run(p);
			if (e == OK)
				continue;
			e = end_say(from, data, sizeof(data));
		}
		assert_int_equal(e, OK);
	}
	pair_run(p);
}

static void bytes_start_one_in_either_direction(void **state)
{
	(void)state;
	static const char *const ciphers[] = {
		"aes128-gcm@openssh.com", "chacha20-poly1305@openssh.com", "aes256-ctr"};
	for (size_t i = 0; i < ARRAY_N(ciphers) * 4; i++) {
		struct pair p;
		pair_init(&p, i);
		bool limit_at_server = (i & 1) != 0, send_by_server = (i & 2) != 0;
		(limit_at_server ? &p.s : &p.c)->env.limits.rekey_bytes = 100000;
		up_with(&p, ciphers[i / 4], "hmac-sha2-256-etm@openssh.com");
		struct end *from = send_by_server ? &p.s : &p.c, *to = send_by_server ? &p.c : &p.s;
		say_much(&p, from, 90112);
		assert_rekeys(&p, 0);
		say_much(&p, from, 16384);
		assert_rekeys(&p, 1);
		say_much(&p, from, 90112);
		assert_rekeys(&p, 1);
		say_much(&p, from, 1000000);
		assert_true(end_count(&p.c, TP_EV_KEYS) >= 10);
		assert_int_equal(p.c.err, OK);
		assert_int_equal(to->msgs_n, (90112 * 2 + 16384 + 1007616) / 8192);
		pair_done(&p);
	}
}

static void even_a_limit_of_a_byte_lets_messages_through(void **state)
{
	(void)state;
	struct pair p;
	pair_init(&p, 1);
	p.c.env.limits.rekey_bytes = p.s.env.limits.rekey_bytes = 1;
	up(&p);
	for (uint32_t i = 0; i < 20; i++) {
		assert_int_equal(end_say(&p.c, "x", 1), OK);
		pair_run(&p);
		assert_int_equal(p.s.msgs_n, i + 1);
	}
	assert_int_equal(p.c.err, OK);
	assert_true(end_count(&p.c, TP_EV_KEYS) > 15);
	assert_true(end_count(&p.c, TP_EV_KEYS) < 30); /* not without a message between */
	pair_done(&p);
}

static void packets_start_one(void **state)
{
	(void)state;
	struct pair p;
	pair_init(&p, 1);
	p.s.env.limits.rekey_packets = 10;
	up(&p);
	for (int i = 0; i < 9; i++)
		assert_int_equal(end_say(&p.c, "x", 1), OK);
	pair_run(&p); /* and the client's EXT_INFO: ten */
	assert_rekeys(&p, 0);
	assert_int_equal(end_say(&p.c, "x", 1), OK);
	pair_run(&p);
	assert_rekeys(&p, 1);
	pair_done(&p);
}

static void the_default_limits_are_those_of_the_ciphers(void **state)
{
	(void)state;
	static const struct {
		const char *cipher;
		uint64_t blocks;
	} rows[] = {{"aes128-ctr", (uint64_t)1 << 32},
		{"aes256-gcm@openssh.com", (uint64_t)1 << 32},
		{"aes256-cbc", (uint64_t)1 << 32}, /* small blocks: 1 GiB */
		{"3des-cbc", (uint64_t)1 << 27}, {"blowfish-cbc", (uint64_t)1 << 27},
		{"cast128-cbc", (uint64_t)1 << 27}, {"arcfour", (uint64_t)1 << 27},
		{"chacha20-poly1305@openssh.com", (uint64_t)1 << 27}};
	for (size_t i = 0; i < ARRAY_N(rows) * 4; i++) {
		struct pair p;
		pair_init(&p, i);
		up_with(&p, rows[i / 4].cipher, "hmac-sha1");
		struct tp_way *way = (i & 1) != 0 ? &p.c.tp->in_way : &p.c.tp->out_way;
		bool by_packets = (i & 2) != 0;
		way->cost = by_packets ? 0 : rows[i / 4].blocks;
		way->packets = by_packets ? (uint64_t)1 << 31 : 1;
		assert_false(tp_rekey_due(p.c.tp));
		way->cost += !by_packets;
		way->packets += by_packets;
		assert_true(tp_rekey_due(p.c.tp));
		pair_done(&p);
	}
}

static void time_starts_one_without_traffic(void **state)
{
	(void)state;
	for (int who = 0; who < 2; who++) {
		struct pair p;
		pair_init(&p, 1);
		struct end *e = who != 0 ? &p.s : &p.c;
		e->env.limits.rekey_us = 5000000;
		up(&p);
		for (uint32_t i = 1; i <= 3; i++) {
			uint64_t due = tp_deadline(e->tp);
			assert_true(due == p.now_us + 5000000);
			p.now_us = due - 1;
			assert_int_equal(tp_tick(e->tp, p.now_us), OK);
			pair_run(&p);
			assert_rekeys(&p, i - 1);
			p.now_us = due;
			assert_int_equal(tp_tick(e->tp, p.now_us), OK);
			pair_run(&p);
			assert_rekeys(&p, i);
		}
		pair_done(&p);
	}
}

static void an_open_reservation_is_finished_first(void **state)
{
	(void)state;
	struct pair p;
	pair_init(&p, 1);
	up(&p);
	struct slice s;
	assert_int_equal(tp_reserve(p.c.tp, 94, 100, &s), OK);
	assert_int_equal(tp_rekey(p.c.tp), OK);
	assert_false(tp_is_rekeying(p.c.tp));
	assert_int_equal(tp_rekey(p.s.tp), OK);
	pair_run(&p); /* the server's KEXINIT waits unread */
	assert_false(tp_is_rekeying(p.c.tp));
	memset(s.p, 0, s.n);
	assert_int_equal(tp_commit(p.c.tp, 60), OK);
	assert_true(tp_is_rekeying(p.c.tp));
	pair_run(&p);
	assert_rekeys(&p, 1);
	assert_int_equal(p.s.msgs_n, 1);
	pair_done(&p);
}

static void other_algorithms_may_come_out_of_a_rekey(void **state)
{
	(void)state;
	struct pair p;
	pair_init(&p, 1);
	pair_add_hostkey(&p, KEY_ED25519);
	pair_add_hostkey(&p, KEY_ECDSA_P256);
	p.c.policy.hostkey = "ssh-ed25519,ecdsa-sha2-nistp256";
	up(&p);
	for (size_t i = 0; i < alg_ciphers_n; i++) {
		p.c.policy.kex = i % 2 == 0 ? "ecdh-sha2-nistp384" : "sntrup761x25519-sha512";
		p.c.policy.cipher_c2s = alg_ciphers[i].name;
		p.c.policy.cipher_s2c = alg_ciphers[alg_ciphers_n - 1 - i].name;
		p.c.policy.hostkey = i % 2 == 0 ? "ecdsa-sha2-nistp256" : "ssh-ed25519";
		p.c.policy.mac_c2s = alg_macs[i].name;
		assert_int_equal(tp_rekey(p.c.tp), OK);
		pair_run(&p);
		assert_rekeys(&p, (uint32_t)i + 1);
		assert_string_equal(tp_choice(p.s.tp)->c2s.cipher->name, alg_ciphers[i].name);
		assert_int_equal(
			p.c.asked_hostkey, i + 2); /* another key each time: asked each time */
		assert_int_equal(end_say(&p.c, "x", 1), OK);
		assert_int_equal(end_say(&p.s, "x", 1), OK);
		pair_run(&p);
		assert_int_equal(p.s.msgs_n, i + 1);
		assert_int_equal(p.c.msgs_n, i + 1);
	}
	pair_done(&p);
}

static void a_changed_host_key_can_be_refused_at_a_rekey(void **state)
{
	(void)state;
	struct pair p;
	pair_init(&p, 1);
	pair_add_hostkey(&p, KEY_ED25519);
	pair_add_hostkey(&p, KEY_ECDSA_P256);
	p.c.policy.hostkey = "ssh-ed25519,ecdsa-sha2-nistp256";
	up(&p);
	struct cslice before = tp_hostkey_blob(p.c.tp);
	uint8_t copy[200];
	memcpy(copy, before.p, before.n);
	p.c.policy.hostkey = "ecdsa-sha2-nistp256";
	p.c.hostkey_verdict = E_HOSTKEY;
	assert_int_equal(tp_rekey(p.c.tp), OK);
	pair_run(&p);
	assert_int_equal(p.c.err, E_HOSTKEY);
	assert_int_equal(p.c.asked_hostkey, 2);
	assert_memory_equal(tp_hostkey_blob(p.c.tp).p, copy, before.n); /* the accepted one stays */
	pair_done(&p);
}

static void a_peer_that_cannot_is_never_asked(void **state)
{
	(void)state;
	struct pair p;
	pair_init(&p, 1);
	p.s.env.version = "SSH-2.0-Sun_SSH_1.0.1";
	p.c.env.limits.rekey_bytes = 16;
	p.c.env.limits.rekey_us = 16;
	up(&p);
	assert_int_equal(tp_rekey(p.c.tp), E_UNSUPPORTED);
	say_much(&p, &p.c, 100000);
	assert_int_equal(tp_tick(p.c.tp, p.now_us + 1000000000), OK);
	pair_run(&p);
	assert_rekeys(&p, 0);
	pair_done(&p);
}

/* Both directions full of data, many exchanges, cut at random: every byte arrives, in order. */
static void streams_survive_many_rekeys(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 6; seed++) {
		struct pair p;
		pair_init(&p, seed);
		p.c.env.limits.rekey_bytes = 40000;
		p.s.env.limits.rekey_bytes = seed % 2 == 0 ? 0 : 30000;
		up_with(&p, alg_ciphers[seed % alg_ciphers_n].name, "umac-64-etm@openssh.com");
		p.cut = PAIR_RANDOM;
		uint32_t sent_c = 0, sent_s = 0;
		uint8_t data[1500];
		for (uint32_t i = 0; i < 600; i++) {
			be32_put(data, sent_c);
			if (end_say(&p.c, data, 4 + rng_below(&p.rng.rng, 1400)) == OK)
				sent_c++;
			be32_put(data, sent_s);
			if (end_say(&p.s, data, 4 + rng_below(&p.rng.rng, 1400)) == OK)
				sent_s++;
			if (i % 3 == 0)
				pair_move(&p, &p.c, &p.s);
			if (i % 5 == 0)
				pair_move(&p, &p.s, &p.c);
			end_poll(&p.c);
			end_poll(&p.s);
		}
		pair_run(&p);
		assert_int_equal(p.c.err, OK);
		assert_int_equal(p.s.err, OK);
		assert_int_equal(p.s.msgs_n, sent_c);
		assert_int_equal(p.c.msgs_n, sent_s);
		assert_true(sent_c > 100 && sent_s > 100);
		assert_true(end_count(&p.c, TP_EV_KEYS) > 5);
		for (uint32_t i = 0; i < sent_c; i += 50) {
			uint8_t number;
			assert_int_equal(be32_get(end_msg(&p.s, i, &number).p + 8), i);
		}
		pair_done(&p);
	}
}

int main(void)
{
	if (crypto_init() != OK)
		return 1;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(either_side_may_start_or_both),
		cmocka_unit_test(never_before_login),
		cmocka_unit_test(what_is_in_flight_is_taken_and_nothing_is_sent),
		cmocka_unit_test(data_after_a_kexinit_is_borne_with),
		cmocka_unit_test(bytes_start_one_in_either_direction),
		cmocka_unit_test(even_a_limit_of_a_byte_lets_messages_through),
		cmocka_unit_test(packets_start_one),
		cmocka_unit_test(the_default_limits_are_those_of_the_ciphers),
		cmocka_unit_test(time_starts_one_without_traffic),
		cmocka_unit_test(an_open_reservation_is_finished_first),
		cmocka_unit_test(other_algorithms_may_come_out_of_a_rekey),
		cmocka_unit_test(a_changed_host_key_can_be_refused_at_a_rekey),
		cmocka_unit_test(a_peer_that_cannot_is_never_asked),
		cmocka_unit_test(streams_survive_many_rekeys),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
