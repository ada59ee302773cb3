/* SPDX-License-Identifier: ISC */
/* What stands in RFC 4253 7.2 and RFC 4419 about an exchange: letters of the keys, groups, the
 * older request. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "pair.h"
#include "transport/tp_int.h"

static void assert_secret(
	const struct secret *s, const struct tp_derivation *d, char letter, size_t n)
{
	struct secret want = {0};
	assert_int_equal(tp_derive(d, letter, n, &want), OK);
	assert_int_equal(s->n, n);
	assert_memory_equal(s->b, want.b, n);
}

/* A C E towards the server, B D F towards the client (RFC 4253 7.2). */
static void each_key_has_its_letter(void **state)
{
	(void)state;
	struct pair p;
	pair_init(&p, 1);
	p.c.policy.cipher_c2s = "aes128-ctr";
	p.c.policy.cipher_s2c = "aes256-ctr";
	p.c.policy.mac_c2s = "hmac-sha2-512";
	p.c.policy.mac_s2c = "hmac-sha1";
	p.s.is_late = true;
	pair_start(&p);
	pair_run(&p);
	assert_true(p.s.is_questioned);
	struct buf k;
	uint8_t h[HASH_MAX];
	size_t h_n = p.s.tp->kex.h_n;
	buf_init(&k, 4096);
	buf_put(&k, p.s.tp->kex.k_encoded.p, p.s.tp->kex.k_encoded.n);
	memcpy(h, p.s.tp->kex.h, h_n);
	end_answer(&p.s);
	pair_run(&p);
	assert_int_equal(end_count(&p.c, TP_EV_KEYS), 1);
	struct tp_derivation d = {tp_choice(p.c.tp)->kex->hash, buf_bytes(&k), {h, h_n}, {h, h_n}};
	const struct tp_keymat *c2s[] = {&p.c.tp->out_way.mat, &p.s.tp->in_way.mat};
	const struct tp_keymat *s2c[] = {&p.c.tp->in_way.mat, &p.s.tp->out_way.mat};
	for (int i = 0; i < 2; i++) {
		assert_secret(&c2s[i]->iv, &d, 'A', 16);
		assert_secret(&s2c[i]->iv, &d, 'B', 16);
		assert_secret(&c2s[i]->key, &d, 'C', 16);
		assert_secret(&s2c[i]->key, &d, 'D', 32);
		assert_secret(&c2s[i]->mac, &d, 'E', 64);
		assert_secret(&s2c[i]->mac, &d, 'F', 20);
	}
	buf_done(&k);
	pair_done(&p);
}

/* Whoever signs may hash by himself: the bytes are there as long as the question is open. */
static void the_transcript_is_what_was_hashed(void **state)
{
	(void)state;
	for (size_t i = 0; i < alg_kexes_n; i++) {
		struct pair p;
		pair_init(&p, i);
		p.c.policy.kex = alg_kexes[i].name;
		p.c.policy.cipher_c2s = p.c.policy.cipher_s2c = "aes128-gcm@openssh.com";
		p.s.is_late = true;
		pair_start(&p);
		pair_run(&p);
		if (p.s.question.type == TP_EV_ASK_GROUP) {
			enum hash_id none;
			assert_int_equal(tp_transcript(p.s.tp, &none).n, 0);
			end_answer(&p.s);
			pair_run(&p);
		}
		enum hash_id hash = HASH_N;
		struct cslice t = tp_transcript(p.s.tp, &hash);
		uint8_t h[HASH_MAX];
		assert_true(t.n > 500);
		assert_int_equal(hash_once(hash, t, h), OK);
		assert_int_equal(p.s.question.body.n, hash_size(hash));
		assert_memory_equal(p.s.question.body.p, h, hash_size(hash));
		end_answer(&p.s);
		assert_int_equal(tp_transcript(p.s.tp, &hash).n, 0);
		pair_run(&p);
		assert_int_equal(tp_transcript(p.c.tp, &hash).n, 0);
		assert_int_equal(end_count(&p.c, TP_EV_KEYS), 1);
		pair_done(&p);
	}
}

/* At a rekey the new hash goes in, and the session id stays that of the first exchange. */
static void later_keys_are_bound_to_the_first_exchange(void **state)
{
	(void)state;
	struct pair p;
	pair_init(&p, 1);
	p.c.policy.kex = "ecdh-sha2-nistp256";
	p.c.policy.cipher_c2s = "aes128-ctr";
	p.c.policy.mac_c2s = "hmac-sha1";
	pair_start(&p);
	pair_run(&p);
	pair_open(&p);
	p.s.is_late = true;
	assert_int_equal(tp_rekey(p.c.tp), OK);
	pair_run(&p);
	struct buf k;
	uint8_t h[HASH_MAX];
	buf_init(&k, 4096);
	buf_put(&k, p.s.tp->kex.k_encoded.p, p.s.tp->kex.k_encoded.n);
	memcpy(h, p.s.tp->kex.h, 32);
	end_answer(&p.s);
	pair_run(&p);
	assert_int_equal(end_count(&p.c, TP_EV_KEYS), 2);
	struct cslice id = tp_session_id(p.c.tp);
	assert_memory_not_equal(id.p, h, 32);
	struct tp_derivation d = {HASH_SHA256, buf_bytes(&k), {h, 32}, id};
	assert_secret(&p.c.tp->out_way.mat.key, &d, 'C', 16);
	assert_secret(&p.s.tp->in_way.mat.mac, &d, 'E', 20);
	buf_done(&k);
	pair_done(&p);
}

static void derivation_has_its_limit(void **state)
{
	(void)state;
	struct tp_derivation d = {HASH_SHA256, {(const uint8_t *)"k", 1}, {(const uint8_t *)"h", 1},
		{(const uint8_t *)"s", 1}};
	struct secret s = {0};
	assert_int_equal(tp_derive(&d, 'A', SECRET_MAX, &s), E_LIMIT);
	assert_int_equal(s.n, 0);
	assert_int_equal(tp_derive(&d, 'A', 192, &s), OK);
	assert_int_equal(s.n, 192);
	assert_int_equal(tp_derive(&d, 'A', 0, &s), OK);
	assert_int_equal(s.n, 0);
}

/* ---- group exchange ---- */

static void gex_start(struct pair *p)
{
	pair_init(p, 1);
	p->c.policy.kex = "diffie-hellman-group-exchange-sha256";
	p->c.policy.cipher_c2s = p->c.policy.cipher_s2c = "aes128-gcm@openssh.com";
	p->s.is_late = true;
	pair_start(p);
	pair_run(p);
	assert_int_equal(p->s.question.type, TP_EV_ASK_GROUP);
}

static void a_server_is_asked_for_what_the_client_wishes(void **state)
{
	(void)state;
	struct pair p;
	gex_start(&p);
	assert_int_equal(p.s.question.min, 2048);
	assert_int_equal(p.s.question.want, 3072);
	assert_int_equal(p.s.question.max, 8192);
	end_answer(&p.s);
	pair_run(&p);
	end_answer(&p.s);
	pair_run(&p);
	assert_int_equal(end_count(&p.c, TP_EV_KEYS), 1);
	pair_done(&p);
}

static void put_group(struct buf *b, size_t bytes, uint8_t top)
{
	uint8_t p[2000] = {0};
	p[0] = top;
	p[bytes - 1] = 1;
	buf_put_mpint(b, cslice_of(p, bytes));
	buf_put_mpint(b, cslice_of("\2", 1));
}

static void groups_of_a_wrong_size_are_not_sent(void **state)
{
	(void)state;
	static const struct {
		size_t bytes;
		uint8_t top;
		err_t want;
	} rows[] = {{255, 0x80, E_KEX}, {256, 0x7f, E_KEX}, {1025, 1, E_KEX}, {256, 0x80, OK},
		{1024, 0xff, OK}};
	for (size_t i = 0; i < ARRAY_N(rows); i++) {
		struct pair p;
		struct buf b;
		gex_start(&p);
		buf_init(&b, 4096);
		put_group(&b, rows[i].bytes, rows[i].top);
		assert_int_equal(
			tp_answer(p.s.tp, p.s.question.ask, OK, buf_bytes(&b)), rows[i].want);
		buf_done(&b);
		pair_done(&p);
	}
	struct pair p;
	gex_start(&p);
	assert_int_equal(
		tp_answer(p.s.tp, p.s.question.ask, OK, cslice_of("nonsense", 8)), E_FORMAT);
	pair_done(&p);
}

/* The client does not believe the server: the group must be one that it has asked for. */
static void groups_of_a_wrong_size_are_not_taken(void **state)
{
	(void)state;
	static const struct {
		size_t bytes;
		uint8_t top;
		err_t want;
	} rows[] = {{128, 0xff, E_KEX_VALUE}, {256, 0x7f, E_KEX_VALUE}, {1025, 1, E_KEX_VALUE},
		{256, 0xff, OK}};
	for (size_t i = 0; i < ARRAY_N(rows); i++) {
		struct pair p;
		struct buf b;
		gex_start(&p);
		buf_init(&b, 4096);
		put_group(&b, rows[i].bytes, rows[i].top);
		end_force(&p.s, SSH_MSG_kex_reply, b.p, b.n);
		pair_move(&p, &p.s, &p.c);
		assert_int_equal(p.c.err, rows[i].want);
		buf_done(&b);
		pair_done(&p);
	}
}

static void raw_packet(struct buf *out, uint8_t msg, const void *body, size_t n)
{
	size_t pad = 8 - (6 + n) % 8 + 8;
	buf_put_u32(out, (uint32_t)(2 + n + pad));
	buf_put_u8(out, (uint8_t)pad);
	buf_put_u8(out, msg);
	buf_put(out, body, n);
	memset(buf_room(out, pad), 0, pad);
}

/* The client's request is taken off the line and another put in its place. */
static void with_request(struct pair *p, uint8_t msg, const void *body, size_t n)
{
	struct buf b;
	buf_init(&b, 65536);
	pair_init(p, 1);
	p->c.policy.kex = "diffie-hellman-group-exchange-sha256";
	p->c.policy.cipher_c2s = p->c.policy.cipher_s2c = "aes128-gcm@openssh.com";
	p->s.is_late = true;
	pair_start(p);
	pair_move(p, &p->c, &p->s); /* version, KEXINIT */
	pair_move(p, &p->s, &p->c);
	end_take(&p->c, &b);
	assert_int_equal(b.p[5], SSH_MSG_gex_request);
	buf_clear(&b);
	raw_packet(&b, msg, body, n);
	end_feed(&p->s, b.p, b.n, PAIR_WHOLE);
	buf_done(&b);
}

static void requests_make_sense_or_end_it(void **state)
{
	(void)state;
	static const struct {
		uint32_t min, n, max;
		err_t want;
		uint32_t ask_min, ask_want, ask_max;
	} rows[] = {
		{1024, 1024, 8192, OK, 2048, 2048, 8192},
		{1024, 4096, 16384, OK, 2048, 4096, 8192},
		{3072, 16000, 16384, OK, 3072, 8192, 8192},
		{8192, 8192, 8192, OK, 8192, 8192, 8192},
		{4096, 2048, 8192, E_KEX_VALUE, 0, 0, 0},
		{2048, 8192, 4096, E_KEX_VALUE, 0, 0, 0},
		{512, 1024, 1536, E_KEX_VALUE, 0, 0, 0},
		{8193, 9000, 9001, E_KEX_VALUE, 0, 0, 0},
		{0, 0, 0, E_KEX_VALUE, 0, 0, 0},
	};
	for (size_t i = 0; i < ARRAY_N(rows); i++) {
		struct pair p;
		uint8_t body[12];
		be32_put(body, rows[i].min);
		be32_put(body + 4, rows[i].n);
		be32_put(body + 8, rows[i].max);
		with_request(&p, SSH_MSG_gex_request, body, 12);
		assert_int_equal(p.s.err, rows[i].want);
		if (rows[i].want == OK) {
			assert_int_equal(p.s.question.type, TP_EV_ASK_GROUP);
			assert_int_equal(p.s.question.min, rows[i].ask_min);
			assert_int_equal(p.s.question.want, rows[i].ask_want);
			assert_int_equal(p.s.question.max, rows[i].ask_max);
		}
		pair_done(&p);
	}
}

/* RFC 4419 5: number 30 and one size; the hash then has that size only. */
static void the_older_request_is_understood(void **state)
{
	(void)state;
	struct pair p;
	uint8_t body[4];
	be32_put(body, 2048);
	with_request(&p, SSH_MSG_kex_init, body, 4);
	assert_int_equal(p.s.err, OK);
	assert_int_equal(p.s.question.type, TP_EV_ASK_GROUP);
	assert_int_equal(p.s.question.want, 2048);
	p.c.tp->kex.gex_old = true; /* as if the client had asked so */
	p.c.tp->kex.gex_n = 2048;
	end_answer(&p.s);
	pair_run(&p);
	end_answer(&p.s);
	pair_run(&p);
	assert_int_equal(p.c.err, OK);
	assert_int_equal(end_count(&p.c, TP_EV_KEYS), 1);
	assert_int_equal(end_count(&p.s, TP_EV_KEYS), 1);
	pair_done(&p);
	with_request(&p, SSH_MSG_kex_init, "\0\0\x08\0x", 5);
	assert_int_equal(p.s.err, E_TRAILING);
	pair_done(&p);
}

static void a_peer_of_small_groups_is_asked_for_small_ones(void **state)
{
	(void)state;
	struct pair p;
	pair_init(&p, 1);
	p.s.env.version = "SSH-2.0-Cisco-1.25";
	p.c.policy.kex = "diffie-hellman-group-exchange-sha256";
	p.c.policy.cipher_c2s = p.c.policy.cipher_s2c = "aes256-gcm@openssh.com";
	pair_start(&p);
	p.s.is_late = true;
	pair_run(&p);
	assert_int_equal(p.s.question.want, 4096);
	assert_int_equal(p.s.question.max, 4096);
	pair_done(&p);
}

/* ---- a reply that is wrong ---- */

/* The server's reply is taken off the line; `change` works on its fields. */
static err_t with_reply(void (*change)(struct ssh_kex_reply *m, struct buf *b))
{
	struct pair p;
	struct buf out, b;
	buf_init(&out, 65536);
	buf_init(&b, 65536);
	pair_init(&p, 1);
	p.c.policy.kex = "curve25519-sha256";
	p.s.is_late = true;
	pair_start(&p);
	pair_run(&p);
	end_answer(&p.s);
	end_take(&p.s, &out);
	size_t n = 4 + be32_get(out.p);
	struct ssh_kex_reply m;
	assert_int_equal(ssh_get_kex_reply(cslice_of(out.p + 6, n - 6 - out.p[4]), &m), OK);
	struct buf copy;
	buf_init(&copy, 65536);
	change(&m, &copy);
	buf_put_string(&b, m.hostkey);
	buf_put_string(&b, m.qs);
	buf_put_string(&b, m.signature);
	struct buf pkt;
	buf_init(&pkt, 65536);
	raw_packet(&pkt, SSH_MSG_kex_reply, b.p, b.n);
	end_feed(&p.c, pkt.p, pkt.n, PAIR_WHOLE);
	assert_int_equal(p.c.asked_hostkey, p.c.err == OK ? 1 : 0);
	err_t e = p.c.err;
	buf_done(&pkt);
	buf_done(&copy);
	buf_done(&out);
	buf_done(&b);
	pair_done(&p);
	return e;
}

static void as_it_is(struct ssh_kex_reply *m, struct buf *b)
{
	(void)m;
	(void)b;
}

static void other_point(struct ssh_kex_reply *m, struct buf *b)
{
	uint8_t v[32] = {9};
	buf_put(b, v, 32);
	m->qs = buf_bytes(b);
}

static void other_key(struct ssh_kex_reply *m, struct buf *b)
{
	buf_put(b, m->hostkey.p, m->hostkey.n);
	b->p[b->n - 1] ^= 1;
	m->hostkey = buf_bytes(b);
}

static void other_type(struct ssh_kex_reply *m, struct buf *b)
{
	uint8_t v[32] = {9};
	buf_put_cstring(b, "ssh-unknown");
	buf_put_string(b, cslice_of(v, 32));
	m->hostkey = buf_bytes(b);
}

static void no_key(struct ssh_kex_reply *m, struct buf *b)
{
	(void)b;
	m->hostkey.n = 0;
}

static void no_signature(struct ssh_kex_reply *m, struct buf *b)
{
	(void)b;
	m->signature.n = 0;
}

static void short_point(struct ssh_kex_reply *m, struct buf *b)
{
	(void)b;
	m->qs.n = 31;
}

static void a_reply_is_taken_whole_or_not_at_all(void **state)
{
	(void)state;
	assert_int_equal(with_reply(as_it_is), OK);
	assert_int_equal(with_reply(other_point), E_SIGNATURE);
	assert_int_equal(with_reply(other_type), E_KEX);
	assert_int_equal(with_reply(no_key), E_KEX);
	assert_int_equal(with_reply(no_signature), E_SIGNATURE);
	assert_int_equal(with_reply(short_point), E_KEX_VALUE);
	err_t e = with_reply(other_key);
	assert_true(e == E_SIGNATURE || e == E_KEX);
}

int main(void)
{
	if (crypto_init() != OK)
		return 1;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_key_has_its_letter),
		cmocka_unit_test(later_keys_are_bound_to_the_first_exchange),
		cmocka_unit_test(the_transcript_is_what_was_hashed),
		cmocka_unit_test(derivation_has_its_limit),
		cmocka_unit_test(a_server_is_asked_for_what_the_client_wishes),
		cmocka_unit_test(groups_of_a_wrong_size_are_not_sent),
		cmocka_unit_test(groups_of_a_wrong_size_are_not_taken),
		cmocka_unit_test(requests_make_sense_or_end_it),
		cmocka_unit_test(the_older_request_is_understood),
		cmocka_unit_test(a_peer_of_small_groups_is_asked_for_small_ones),
		cmocka_unit_test(a_reply_is_taken_whole_or_not_at_all),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
