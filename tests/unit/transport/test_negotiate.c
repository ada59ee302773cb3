/* SPDX-License-Identifier: ISC */
/* The two proposals: what is chosen, guesses right and wrong, strictness, and what is no proposal
 * (RFC 4253 7.1). */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "pair.h"
#include "transport/tp_int.h"

#define STRICT_C "ext-info-c,kex-strict-c-v00@openssh.com"
#define STRICT_S "ext-info-s,kex-strict-s-v00@openssh.com"

static void set_all(struct pair *p, const char *kex)
{
	p->c.policy.kex = p->s.policy.kex = kex;
}

static void assert_keys(const struct pair *p, uint32_t n)
{
	assert_int_equal(p->c.err, OK);
	assert_int_equal(p->s.err, OK);
	assert_int_equal(end_count(&p->c, TP_EV_KEYS), n);
	assert_int_equal(end_count(&p->s, TP_EV_KEYS), n);
	assert_true(cslice_eq(tp_session_id(p->c.tp), tp_session_id(p->s.tp)));
}

/* ---- the choice ---- */

static void the_clients_first_common_name_wins(void **state)
{
	(void)state;
	struct pair p;
	pair_init(&p, 1);
	pair_add_hostkey(&p, KEY_ECDSA_P256);
	pair_add_hostkey(&p, KEY_ED25519);
	p.c.policy.kex = "ecdh-sha2-nistp521,curve25519-sha256,ecdh-sha2-nistp256";
	p.s.policy.kex = "ecdh-sha2-nistp256,curve25519-sha256";
	p.c.policy.hostkey = "ssh-ed25519,ecdsa-sha2-nistp256";
	p.c.policy.cipher_c2s = "aes192-ctr,aes128-ctr";
	p.c.policy.cipher_s2c = "aes256-gcm@openssh.com";
	p.s.policy.cipher_c2s = "aes256-ctr,aes128-ctr,aes192-ctr";
	p.c.policy.mac_c2s = "hmac-sha2-512,umac-64@openssh.com";
	p.c.policy.mac_s2c =
		"hmac-sha1"; /* which the server lacks: it does not matter under AES-GCM */
	p.s.policy.mac_s2c = "hmac-sha2-256";
	p.c.policy.comp_s2c = "zlib@openssh.com,none";
	pair_start(&p);
	pair_run(&p);
	assert_keys(&p, 1);
	for (int side = 0; side < 2; side++) {
		const struct alg_choice *c = tp_choice(side == 0 ? p.c.tp : p.s.tp);
		assert_string_equal(c->kex->name, "curve25519-sha256");
		assert_string_equal(c->hostkey->name, "ssh-ed25519");
		assert_string_equal(c->c2s.cipher->name, "aes192-ctr");
		assert_string_equal(c->c2s.mac->name, "hmac-sha2-512");
		assert_string_equal(c->c2s.comp->name, "none");
		assert_string_equal(c->s2c.cipher->name, "aes256-gcm@openssh.com");
		assert_null(c->s2c.mac);
		assert_string_equal(c->s2c.comp->name, "zlib@openssh.com");
	}
	assert_int_equal(p.s.events[1], TP_EV_NEGOTIATED);
	pair_done(&p);
}

/* The reason code of the DISCONNECT that an end said on closing. */
static uint32_t reason_seen(const struct end *e)
{
	for (size_t i = 0; i < e->events_n; i++)
		if (e->events[i] == TP_EV_CLOSED)
			return 1;
	return 0;
}

static void no_match_names_the_kind_and_the_offer(void **state)
{
	(void)state;
	static const struct {
		enum alg_kind kind;
		err_t want;
		size_t at; /* field of alg_policy that the client narrows */
		const char *only;
	} rows[] = {
		{ALG_KEX, E_NO_KEX, offsetof(struct alg_policy, kex), "ecdh-sha2-nistp256"},
		{ALG_HOSTKEY, E_NO_HOSTKEY, offsetof(struct alg_policy, hostkey),
			"ecdsa-sha2-nistp256"},
		{ALG_CIPHER, E_NO_CIPHER, offsetof(struct alg_policy, cipher_c2s), "aes192-ctr"},
		{ALG_CIPHER, E_NO_CIPHER, offsetof(struct alg_policy, cipher_s2c), "aes192-ctr"},
		{ALG_MAC, E_NO_MAC, offsetof(struct alg_policy, mac_c2s), "umac-64@openssh.com"},
		{ALG_MAC, E_NO_MAC, offsetof(struct alg_policy, mac_s2c), "umac-64@openssh.com"},
		{ALG_COMPRESSION, E_NO_COMPRESSION, offsetof(struct alg_policy, comp_c2s),
			"zlib@openssh.com"},
		{ALG_COMPRESSION, E_NO_COMPRESSION, offsetof(struct alg_policy, comp_s2c),
			"zlib@openssh.com"},
	};
	for (size_t i = 0; i < ARRAY_N(rows); i++) {
		struct pair p;
		pair_init(&p, i);
		p.s.policy = (struct alg_policy){"curve25519-sha256", "ssh-ed25519", "aes128-ctr",
			"aes128-ctr", "hmac-sha1", "hmac-sha1", "none", "none"};
		p.c.policy = p.s.policy;
		const char **field = (const char **)(void *)((char *)&p.c.policy + rows[i].at);
		const char *servers = *field;
		*field = rows[i].only;
		pair_start(&p);
		pair_run(&p);
		/* both see the same two lists; whoever is told first by DISCONNECT keeps that */
		assert_true(p.c.err == rows[i].want || p.s.err == rows[i].want);
		assert_true(p.c.err == rows[i].want || reason_seen(&p.c));
		if (p.c.err == rows[i].want) {
			struct cslice offer = tp_peer_offer(p.c.tp, rows[i].kind);
			assert_true(offer.n >= strlen(servers));
			assert_memory_equal(offer.p, servers, strlen(servers));
		}
		if (p.s.err == rows[i].want)
			assert_memory_equal(tp_peer_offer(p.s.tp, rows[i].kind).p, rows[i].only,
				strlen(rows[i].only));
		assert_int_equal(end_count(&p.c, TP_EV_KEYS), 0);
		pair_done(&p);
	}
}

static void a_server_offers_only_what_it_has_a_key_for(void **state)
{
	(void)state;
	struct pair p;
	pair_init(&p, 1);
	pair_add_hostkey(&p, KEY_ECDSA_P384);
	pair_start(&p);
	pair_run(&p);
	assert_keys(&p, 1);
	struct cslice offer = tp_peer_offer(p.c.tp, ALG_HOSTKEY);
	assert_true(cslice_eq_str(offer, "ecdsa-sha2-nistp384"));
	pair_done(&p);
}

static void pseudo_names_are_never_chosen(void **state)
{
	(void)state;
	struct pair p;
	pair_init(&p, 1);
	p.c.env.wait_version = true;
	p.c.policy.kex = "ext-info-s,kex-strict-s-v00@openssh.com"; /* the server's own */
	pair_start(&p);
	end_kexinit(&p.c, NULL, false);
	pair_run(&p);
	assert_int_equal(p.s.err, E_NO_KEX);
	pair_done(&p);
}

/* ---- guesses ---- */

static void start_with_guess(struct pair *p, bool is_right)
{
	p->c.env.wait_version = true;
	p->c.policy.kex = is_right ? "curve25519-sha256,ecdh-sha2-nistp256"
				   : "ecdh-sha2-nistp256,curve25519-sha256";
	p->s.policy.kex = is_right ? "curve25519-sha256" : "curve25519-sha256,ecdh-sha2-nistp256";
	pair_start(p);
	end_kexinit(&p->c, STRICT_C, true);
}

static void a_right_guess_is_taken(void **state)
{
	(void)state;
	struct pair p;
	pair_init(&p, 1);
	start_with_guess(&p, true);
	pair_run(&p); /* the client's next packet is its INIT, which the guess has announced */
	assert_keys(&p, 1);
	pair_done(&p);
}

static void a_wrong_guess_is_skipped_once(void **state)
{
	(void)state;
	for (int junk = 0; junk < 3; junk++) {
		struct pair p;
		pair_init(&p, 1);
		p.cut = (enum pair_cut)junk;
		start_with_guess(&p, false);
		uint8_t number = (uint8_t[]){30, 34, 49}[junk];
		end_force(&p.c, number, "\0\0\0\3abc", 7);
		pair_run(&p);
		assert_keys(&p, 1);
		assert_string_equal(tp_choice(p.s.tp)->kex->name, "ecdh-sha2-nistp256");
		pair_done(&p);
	}
}

static void a_second_guessed_packet_ends_the_connection(void **state)
{
	(void)state;
	struct pair p;
	pair_init(&p, 1);
	start_with_guess(&p, false);
	end_force(&p.c, 30, "\0\0\0\3abc", 7);
	end_force(&p.c, 30, "\0\0\0\3abc", 7);
	pair_run(&p);
	assert_int_equal(p.s.err, E_KEX_VALUE);
	pair_done(&p);
}

static void a_guess_with_another_host_key_is_wrong_too(void **state)
{
	(void)state;
	struct pair p;
	pair_init(&p, 1);
	p.c.env.wait_version = true;
	set_all(&p, "curve25519-sha256");
	pair_add_hostkey(&p, KEY_ED25519);
	pair_add_hostkey(&p, KEY_ECDSA_P256);
	p.c.policy.hostkey = "ecdsa-sha2-nistp256";
	p.s.policy.hostkey = "ssh-ed25519,ecdsa-sha2-nistp256";
	pair_start(&p);
	end_kexinit(&p.c, STRICT_C, true);
	end_force(&p.c, 30, "\0\0\0\3abc", 7);
	pair_run(&p);
	assert_keys(&p, 1);
	pair_done(&p);
}

static void a_client_skips_a_servers_wrong_guess(void **state)
{
	(void)state;
	struct pair p;
	pair_init(&p, 1);
	p.s.env.wait_version = true;
	p.c.policy.kex = "ecdh-sha2-nistp256,curve25519-sha256";
	p.s.policy.kex = "curve25519-sha256,ecdh-sha2-nistp256";
	p.s.policy.hostkey = "ssh-ed25519";
	pair_start(&p);
	end_kexinit(&p.s, STRICT_S, true);
	end_force(&p.s, 31, "junk", 4);
	pair_run(&p);
	assert_keys(&p, 1);
	pair_done(&p);
}

/* At a rekey: the same rules, whoever starts. */
static void guesses_count_at_a_rekey_too(void **state)
{
	(void)state;
	for (int c = 0; c < 8; c++) {
		bool is_right = (c & 1) != 0, by_server = (c & 2) != 0, is_crossing = (c & 4) != 0;
		struct pair p;
		pair_init(&p, (uint64_t)c);
		p.s.policy.hostkey = "ssh-ed25519";
		set_all(&p, "curve25519-sha256,ecdh-sha2-nistp256");
		pair_start(&p);
		pair_run(&p);
		assert_keys(&p, 1);
		pair_open(&p);
		struct end *from = by_server ? &p.s : &p.c, *to = by_server ? &p.c : &p.s;
		if (!is_right)
			from->policy.kex = "ecdh-sha2-nistp256,curve25519-sha256";
		if (is_crossing)
			assert_int_equal(tp_rekey(to->tp), OK);
		bool has_guess =
			by_server ? !is_right : true; /* a server has nothing to guess with */
		end_kexinit(from, NULL, has_guess);
		if (!is_right)
			end_force(from, by_server ? 31 : 30, "\0\0\0\3abc", 7);
		pair_run(&p);
		assert_keys(&p, 2);
		assert_int_equal(end_say(&p.c, "after", 5), OK);
		pair_run(&p);
		assert_int_equal(p.s.msgs_n, 1);
		pair_done(&p);
	}
}

/* ---- strictness ---- */

static void strict_needs_kexinit_first(void **state)
{
	(void)state;
	for (int role = TP_CLIENT; role <= TP_SERVER; role++) {
		for (int strict = 0; strict < 2; strict++) {
			struct pair p;
			pair_init(&p, 1);
			struct end *from = role == TP_CLIENT ? &p.c : &p.s,
				   *to = role == TP_CLIENT ? &p.s : &p.c;
			from->env.wait_version = true;
			set_all(&p, "curve25519-sha256");
			p.s.policy.hostkey = "ssh-ed25519";
			pair_start(&p);
			end_force(from, SSH_MSG_ignore, "", 0);
			const char *pseudo = role == TP_CLIENT ? STRICT_C : STRICT_S;
			end_kexinit(from, strict != 0 ? pseudo : "ext-info-x", false);
			pair_run(&p);
			if (strict != 0)
				assert_int_equal(to->err, E_UNEXPECTED);
			else
				assert_keys(&p, 1);
			pair_done(&p);
		}
	}
}

/* IGNORE, DEBUG, UNIMPLEMENTED and an unknown message in the middle of the first exchange. */
static void strict_takes_nothing_between(void **state)
{
	(void)state;
	static const struct {
		uint8_t msg;
		const char *body;
		size_t n;
	} rows[] = {{2, "x", 1}, {4, "\0\0\0\0\0\0\0\0\0", 9}, {3, "\0\0\0\0", 4}, {25, "", 0},
		{19, "", 0}};
	for (size_t i = 0; i < ARRAY_N(rows) * 4; i++) {
		struct pair p;
		pair_init(&p, 1);
		bool is_strict = (i & 1) != 0, by_server = (i & 2) != 0;
		struct end *from = by_server ? &p.s : &p.c, *to = by_server ? &p.c : &p.s;
		from->env.wait_version = true;
		set_all(&p, "curve25519-sha256");
		p.s.policy.hostkey = "ssh-ed25519";
		pair_start(&p);
		const char *pseudo = by_server ? STRICT_S : STRICT_C;
		end_kexinit(from, is_strict ? pseudo : "ext-info-x", false);
		end_force(from, rows[i / 4].msg, rows[i / 4].body, rows[i / 4].n);
		pair_run(&p);
		if (is_strict)
			assert_int_equal(to->err, E_UNEXPECTED);
		else
			assert_keys(&p, 1);
		pair_done(&p);
	}
}

static void sequence_numbers_start_over_only_when_strict(void **state)
{
	(void)state;
	for (int strict = 0; strict < 2; strict++) {
		struct pair p;
		pair_init(&p, 1);
		p.c.env.wait_version = true;
		set_all(&p, "curve25519-sha256");
		pair_start(&p);
		end_kexinit(&p.c, strict != 0 ? STRICT_C : NULL, false);
		pair_run(&p);
		assert_keys(&p, 1);
		assert_int_equal(p.s.tp->is_strict, strict);
		/* client to server: KEXINIT INIT NEWKEYS, then nothing or EXT_INFO */
		uint32_t base = strict != 0 ? 0 : 3;
		uint32_t ext = strict != 0; /* only the strict client has offered ext-info */
		assert_int_equal(p.s.tp->in_way.seq, base + 1);
		assert_int_equal(p.s.tp->out_way.seq, base + ext);
		pair_open(&p);
		assert_int_equal(tp_rekey(p.c.tp), OK);
		pair_run(&p);
		assert_keys(&p, 2);
		assert_int_equal(p.s.tp->in_way.seq, strict != 0 ? 0 : 3 + 1 + 3);
		pair_done(&p);
	}
}

/* A wrap of the sequence number inside the first exchange is what Terrapin's relatives need. */
static void no_sequence_number_wraps_in_the_first_exchange(void **state)
{
	(void)state;
	for (int out = 0; out < 2; out++) {
		struct pair p;
		pair_init(&p, 1);
		p.c.env.wait_version = true;
		set_all(&p, "curve25519-sha256");
		pair_start(&p);
		end_kexinit(&p.c, NULL, false);
		if (out != 0)
			p.s.tp->out_way.seq = UINT32_MAX;
		else
			p.s.tp->in_way.seq = UINT32_MAX;
		pair_run(&p);
		assert_int_equal(p.s.err, E_WRAP);
		pair_done(&p);
	}
}

static void later_a_wrap_is_no_fault(void **state)
{
	(void)state;
	struct pair p;
	pair_init(&p, 1);
	set_all(&p, "curve25519-sha256");
	p.c.policy.cipher_c2s = "chacha20-poly1305@openssh.com";
	pair_start(&p);
	pair_run(&p);
	pair_open(&p);
	p.c.tp->out_way.seq = p.s.tp->in_way.seq = UINT32_MAX - 1;
	for (int i = 0; i < 4; i++)
		assert_int_equal(end_say(&p.c, "x", 1), OK);
	pair_run(&p);
	assert_keys(&p, 1);
	assert_int_equal(p.s.msgs_n, 4);
	assert_int_equal(p.s.tp->in_way.seq, 2);
	pair_done(&p);
}

/* ---- what is no KEXINIT ---- */

static err_t kexinit_with(size_t cut, const char *more)
{
	struct pair p;
	pair_init(&p, 1);
	pair_start(&p);
	end_feed(&p.s, "SSH-2.0-x\r\n", 11, PAIR_WHOLE);
	struct buf b, pkt;
	buf_init(&b, 65536);
	buf_init(&pkt, 65536);
	buf_put(&b, p.c.tp->kex.my_init.p, p.c.tp->kex.my_init.n - cut);
	buf_put(&b, more, strlen(more));
	size_t pad = 8 - (5 + b.n) % 8 + 8;
	buf_put_u32(&pkt, (uint32_t)(1 + b.n + pad));
	buf_put_u8(&pkt, (uint8_t)pad);
	buf_put(&pkt, b.p, b.n);
	memset(buf_room(&pkt, pad), 0, pad);
	end_feed(&p.s, pkt.p, pkt.n, PAIR_WHOLE);
	err_t e = p.s.err;
	buf_done(&b);
	buf_done(&pkt);
	pair_done(&p);
	return e;
}

static void a_kexinit_is_read_to_its_last_byte(void **state)
{
	(void)state;
	assert_int_equal(kexinit_with(0, ""), OK);
	assert_int_equal(kexinit_with(0, "x"), E_TRAILING);
	assert_int_equal(kexinit_with(1, ""), E_FORMAT);
	for (size_t cut = 1; cut < 900; cut += 7)
		assert_int_equal(kexinit_with(cut, ""), E_FORMAT);
}

static void a_second_kexinit_ends_the_connection(void **state)
{
	(void)state;
	for (int role = TP_CLIENT; role <= TP_SERVER; role++) {
		struct pair p;
		pair_init(&p, 1);
		pair_start(&p);
		struct end *from = role == TP_CLIENT ? &p.c : &p.s,
			   *to = role == TP_CLIENT ? &p.s : &p.c;
		end_force(from, SSH_MSG_kexinit, from->tp->kex.my_init.p + 1,
			from->tp->kex.my_init.n - 1);
		pair_run(&p);
		assert_int_equal(to->err, E_UNEXPECTED);
		pair_done(&p);
	}
}

int main(void)
{
	if (crypto_init() != OK)
		return 1;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_clients_first_common_name_wins),
		cmocka_unit_test(no_match_names_the_kind_and_the_offer),
		cmocka_unit_test(a_server_offers_only_what_it_has_a_key_for),
		cmocka_unit_test(pseudo_names_are_never_chosen),
		cmocka_unit_test(a_right_guess_is_taken),
		cmocka_unit_test(a_wrong_guess_is_skipped_once),
		cmocka_unit_test(a_second_guessed_packet_ends_the_connection),
		cmocka_unit_test(a_guess_with_another_host_key_is_wrong_too),
		cmocka_unit_test(a_client_skips_a_servers_wrong_guess),
		cmocka_unit_test(guesses_count_at_a_rekey_too),
		cmocka_unit_test(strict_needs_kexinit_first),
		cmocka_unit_test(strict_takes_nothing_between),
		cmocka_unit_test(sequence_numbers_start_over_only_when_strict),
		cmocka_unit_test(no_sequence_number_wraps_in_the_first_exchange),
		cmocka_unit_test(later_a_wrap_is_no_fault),
		cmocka_unit_test(a_kexinit_is_read_to_its_last_byte),
		cmocka_unit_test(a_second_kexinit_ends_the_connection),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
