/* SPDX-License-Identifier: ISC */
/*
 * Packets against a hostile sender: every length, every padding, every flipped bit, for every
 * protection.
 *
 * One handshake a protection; then the client is frozen, and each case runs on a thawed copy of it.
 * The server's keys seal the hostile packets.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "pair.h"
#include "transport/tp_int.h"

struct bench { /* a handshake that has been done, the victim frozen */
	struct pair p;
	struct buf frozen;
	uint8_t iv[SECRET_MAX]; /* a chained cipher's, of the next packet */
	bool is_keyed;
};

static void bench_open(struct bench *b, const char *cipher, const char *mac)
{
	pair_init(&b->p, 9);
	buf_init(&b->frozen, (size_t)8 << 20);
	b->p.c.policy.kex = "curve25519-sha256";
	b->p.c.policy.cipher_c2s = b->p.c.policy.cipher_s2c = cipher;
	b->p.c.policy.mac_c2s = b->p.c.policy.mac_s2c = mac;
	pair_start(&b->p);
	pair_run(&b->p);
	pair_open(&b->p);
	assert_int_equal(tp_freeze(b->p.c.tp, &b->frozen), OK);
	const struct tp_way *way = &b->p.s.tp->out_way;
	memcpy(b->iv, way->mat.iv.b, way->mat.iv.n);
	if (way->pktc->chain != NULL)
		way->pktc->chain(
			way->ctx, (struct pktc_at){way->seq, way->packets, way->blocks}, b->iv);
	b->is_keyed = true;
}

static void bench_close(struct bench *b)
{
	buf_done(&b->frozen);
	pair_done(&b->p);
}

/* A fresh victim. */
static void victim(struct bench *b, struct end *e)
{
	*e = b->p.c;
	e->err = OK;
	e->events_n = 0;
	e->msgs_n = 0;
	e->env.pool = &b->p.c.pool; /* its spare chunks serve one victim after the other */
	e->env.policy = &e->policy;
	e->env.rng = &e->rng.rng;
	buf_init(&e->msgs, 1 << 20);
	buf_init(&e->words, 1 << 20);
	assert_int_equal(tp_thaw(&e->tp, &e->env, buf_bytes(&b->frozen), 0), OK);
}

static void victim_done(struct end *e)
{
	tp_free(e->tp);
	buf_done(&e->msgs);
	buf_done(&e->words);
}

/* Seals n bytes (packet_length word included) as the server's next packet, without counting it. */
static void seal(struct bench *b, uint8_t *pkt, size_t n)
{
	struct tp_way *way = &b->p.s.tp->out_way;
	struct pktc_at at = {way->seq, way->packets, way->blocks};
	if ((way->mat.cipher->flags & AF_CHAINED) == 0) {
		way->pktc->seal(way->ctx, at, pkt, n);
		return;
	}
	/* a context that has sealed is in another place: each packet has its own */
	_Alignas(64) uint8_t ctx[256] = {0};
	assert_true(way->pktc->ctx_size <= sizeof(ctx));
	assert_int_equal(
		way->pktc->init(ctx, PKTC_SEAL, cslice_of(way->mat.key.b, way->mat.key.n),
			cslice_of(b->iv, way->mat.iv.n), cslice_of(way->mat.mac.b, way->mat.mac.n)),
		OK);
	way->pktc->seal(ctx, at, pkt, n);
	way->pktc->done(ctx);
}

static size_t tag_of(const struct bench *b)
{
	return b->p.s.tp->out_way.pktc->tag;
}

/* Is every damage answered only after as many bytes as the largest packet has? */
static bool hides_damage(const struct bench *b)
{
	const struct tp_way *way = &b->p.s.tp->out_way;
	return way->pktc->clear_len == 0 && (way->mat.cipher->flags & AF_CHAINED) != 0;
}

/* Nothing is to be seen until as many bytes came as the largest packet has; then a wrong MAC. */
static void assert_hidden(struct bench *b, struct end *e, size_t fed)
{
	static const uint8_t rest[TP_PACKET_FIRST + 256];
	size_t whole = 4 + (size_t)TP_PACKET_FIRST + tag_of(b);
	assert_int_equal(e->err, OK);
	end_feed(e, rest, whole - fed - 1, PAIR_WHOLE);
	assert_int_equal(e->err, OK);
	assert_int_equal(tp_unsent(e->tp), 0);
	end_feed(e, rest, 1, PAIR_WHOLE);
	assert_int_equal(e->err, E_MAC);
	assert_int_equal(e->msgs_n, 0);
}

/* Runs fn on every cipher of the tables with these MACs of each kind, and on one cipher in a chain
 * and one that is not with every MAC. */
static bool is_of_interest(const struct alg_cipher *c, const struct alg_mac *m)
{
	return list_has(cslice_str("aes128-ctr,aes128-cbc"), cslice_str(c->name)) ||
	       list_has(cslice_str("hmac-sha1,hmac-md5-96,hmac-sha2-256-etm@openssh.com,"
				   "umac-64-etm@openssh.com"),
		       cslice_str(m->name));
}

static void each_protection(void (*fn)(struct bench *b))
{
	for (size_t i = 0; i < alg_ciphers_n; i++) {
		bool is_aead = (alg_ciphers[i].flags & AF_AEAD) != 0;
		for (size_t m = 0; m < (is_aead ? 1 : alg_macs_n); m++) {
			if (!is_aead && !is_of_interest(&alg_ciphers[i], &alg_macs[m]))
				continue;
			struct bench b;
			bench_open(&b, alg_ciphers[i].name, alg_macs[m].name);
			fn(&b);
			bench_close(&b);
		}
	}
}

/* ---- packet_length ---- */

static void length_case(struct bench *b, uint32_t packet_length)
{
	const struct pktc *pktc = b->p.s.tp->out_way.pktc;
	bool is_hidden = pktc->clear_len == 0; /* believed only after the MAC */
	struct end e;
	victim(b, &e);
	uint8_t pkt[256] = {0};
	size_t n = 128 + (size_t)pktc->clear_len;
	be32_put(pkt, packet_length);
	pkt[4] = 10;
	seal(b, pkt, n);
	end_feed(&e, pkt, n + tag_of(b), PAIR_BYTES);
	if (!is_hidden) {
		assert_int_equal(e.err, E_LENGTH);
		victim_done(&e);
		return;
	}
	assert_hidden(b, &e, n + tag_of(b));
	victim_done(&e);
}

static void bad_lengths_of(struct bench *b)
{
	static const uint32_t lengths[] = {0, 1, 4, 5, TP_PACKET_FIRST + 1, TP_PACKET_FIRST + 16,
		65536, 0x7fffffff, 0x80000000, 0xfffffff0, 0xffffffff};
	for (size_t i = 0; i < ARRAY_N(lengths); i++)
		length_case(b, lengths[i]);
	for (uint32_t off = 1; off < b->p.s.tp->out_way.pktc->block;
		off++) /* not a multiple of the block */
		length_case(b, 128 - 4 + b->p.s.tp->out_way.pktc->clear_len + off);
}

static void bad_lengths_end_the_connection_and_hidden_ones_look_like_a_wrong_mac(void **state)
{
	(void)state;
	each_protection(bad_lengths_of);
}

static void good_length(struct bench *b, size_t payload_n)
{
	struct end e;
	victim(b, &e);
	const struct pktc *pktc = b->p.s.tp->out_way.pktc;
	size_t unit = 5 - pktc->clear_len + payload_n;
	size_t pad = pktc->block - unit % pktc->block;
	pad += pad < 4 ? pktc->block : 0;
	size_t n = 5 + payload_n + pad;
	uint8_t *pkt = calloc(1, n + 64);
	assert_non_null(pkt);
	be32_put(pkt, (uint32_t)n - 4);
	pkt[4] = (uint8_t)pad;
	pkt[5] = SSH_MSG_channel_data;
	seal(b, pkt, n);
	end_feed(&e, pkt, n + tag_of(b), PAIR_WHOLE);
	if (n - 4 > TP_PACKET_FIRST) {
		assert_int_equal(e.err, pktc->clear_len == 4 ? E_LENGTH : E_MAC);
		assert_int_equal(e.msgs_n, 0);
	} else {
		assert_int_equal(e.err, OK);
		assert_int_equal(e.msgs_n, 1);
		uint8_t number;
		assert_int_equal(end_msg(&e, 0, &number).n, payload_n - 1);
	}
	free(pkt);
	victim_done(&e);
}

static void every_size_to_the_limit_of(struct bench *b)
{
	for (size_t n = 1; n < 70; n++)
		good_length(b, n);
	for (size_t n = TP_PACKET_FIRST - 60; n < TP_PACKET_FIRST + 40; n++)
		good_length(b, n);
}

static void sizes_up_to_the_limit_are_taken_and_none_above(void **state)
{
	(void)state;
	each_protection(every_size_to_the_limit_of);
}

static void raised_limit(struct bench *b)
{
	struct end e;
	victim(b, &e);
	tp_raise_max_packet(e.tp, 1000);
	assert_int_equal(e.tp->max_packet, TP_PACKET_FIRST);
	tp_raise_max_packet(e.tp, UINT32_MAX);
	assert_int_equal(e.tp->max_packet, TP_PACKET_MAX);
	size_t n = TP_PACKET_MAX + b->p.s.tp->out_way.pktc->clear_len;
	n -= b->p.s.tp->out_way.pktc->clear_len == 0 ? 0 : 16; /* packet_length at most 256 KiB */
	uint8_t *pkt = calloc(1, n + 64);
	assert_non_null(pkt);
	be32_put(pkt, (uint32_t)n - 4);
	pkt[4] = 12;
	pkt[5] = SSH_MSG_channel_data;
	seal(b, pkt, n);
	end_feed(&e, pkt, n + tag_of(b), PAIR_WHOLE);
	assert_int_equal(e.err, OK);
	assert_int_equal(e.msgs_n, 1);
	free(pkt);
	victim_done(&e);
}

static void the_limit_can_be_raised_to_256_kib(void **state)
{
	(void)state;
	each_protection(raised_limit);
}

/* ---- padding_length ---- */

static void padding_case(struct bench *b, size_t n, unsigned pad)
{
	struct end e;
	victim(b, &e);
	uint8_t pkt[512] = {0};
	be32_put(pkt, (uint32_t)n - 4);
	pkt[4] = (uint8_t)pad;
	pkt[5] = SSH_MSG_channel_data;
	seal(b, pkt, n);
	end_feed(&e, pkt, n + tag_of(b), PAIR_WHOLE);
	bool is_good =
		pad >= 4 && pad + 1 <= n - 5; /* RFC4253 6: at least 4; a payload has a number */
	assert_int_equal(e.err, is_good ? OK : E_PADDING);
	assert_int_equal(e.msgs_n, is_good ? 1 : 0);
	if (is_good) {
		uint8_t number;
		assert_int_equal(end_msg(&e, 0, &number).n, n - 5 - pad - 1);
	}
	victim_done(&e);
}

static void every_padding_of(struct bench *b)
{
	size_t clear = b->p.s.tp->out_way.pktc->clear_len;
	static const size_t units[] = {16, 32, 48, 256, 272};
	for (size_t i = 0; i < ARRAY_N(units); i++)
		for (unsigned pad = 0; pad < 256; pad++)
			padding_case(b, clear + units[i], pad);
}

static void every_padding_length_has_its_verdict(void **state)
{
	(void)state;
	each_protection(every_padding_of);
}

/* ---- bits ---- */

static void flip_case(struct bench *b, size_t bit)
{
	struct end e;
	victim(b, &e);
	const struct pktc *pktc = b->p.s.tp->out_way.pktc;
	size_t n = 64 + pktc->clear_len;
	uint8_t pkt[192] = {0};
	be32_put(pkt, (uint32_t)n - 4);
	pkt[4] = 20;
	pkt[5] = SSH_MSG_channel_data;
	seal(b, pkt, n);
	pkt[bit / 8] ^= (uint8_t)(1 << bit % 8);
	end_feed(&e, pkt, n + tag_of(b), PAIR_WHOLE);
	assert_int_equal(e.msgs_n, 0);
	if (hides_damage(b)) /* one answer, wherever the damage is */
		assert_hidden(b, &e, n + tag_of(b));
	else if (bit / 8 >= 4)
		assert_int_equal(e.err, E_MAC);
	else /* a longer packet is awaited, or the length is no good */
		assert_true(e.err == OK || e.err == E_LENGTH || e.err == E_MAC);
	victim_done(&e);
}

static void every_bit_of(struct bench *b)
{
	size_t n = 64 + b->p.s.tp->out_way.pktc->clear_len + tag_of(b);
	for (size_t bit = 0; bit < n * 8; bit++)
		flip_case(b, bit);
}

static void no_flipped_bit_gets_through(void **state)
{
	(void)state;
	each_protection(every_bit_of);
}

static void short_tag_of(struct bench *b)
{
	struct end e;
	victim(b, &e);
	size_t n = 64 + b->p.s.tp->out_way.pktc->clear_len;
	uint8_t pkt[192] = {0};
	be32_put(pkt, (uint32_t)n - 4);
	pkt[4] = 20;
	pkt[5] = SSH_MSG_channel_data;
	seal(b, pkt, n);
	end_feed(&e, pkt, n + tag_of(b) - 1, PAIR_BYTES);
	assert_int_equal(e.err, OK);
	assert_int_equal(e.msgs_n, 0);
	uint8_t wrong = (uint8_t)~pkt[n + tag_of(b) - 1];
	end_feed(&e, &wrong, 1, PAIR_WHOLE);
	if (hides_damage(b))
		assert_hidden(b, &e, n + tag_of(b));
	assert_int_equal(e.err, E_MAC);
	victim_done(&e);
}

static void a_tag_is_awaited_to_its_last_byte(void **state)
{
	(void)state;
	each_protection(short_tag_of);
}

/* A packet comes once: again, or out of order, it is refused. */
static void replay_of(struct bench *b)
{
	struct end e;
	victim(b, &e);
	size_t n = 64 + b->p.s.tp->out_way.pktc->clear_len;
	uint8_t pkt[192] = {0};
	be32_put(pkt, (uint32_t)n - 4);
	pkt[4] = 20;
	pkt[5] = SSH_MSG_channel_data;
	seal(b, pkt, n);
	end_feed(&e, pkt, n + tag_of(b), PAIR_WHOLE);
	assert_int_equal(e.msgs_n, 1);
	end_feed(&e, pkt, n + tag_of(b), PAIR_WHOLE);
	assert_int_equal(e.msgs_n, 1);
	/* refused, or its length was read as another one and the rest is awaited */
	assert_true(
		e.err == E_MAC || e.err == E_LENGTH || e.tp->in.discard != 0 || e.tp->in.need > n);
	victim_done(&e);
}

static void a_packet_is_taken_once(void **state)
{
	(void)state;
	each_protection(replay_of);
}

/* ---- without protection ---- */

static err_t clear_case(enum tp_role role, uint32_t packet_length, uint8_t pad)
{
	struct pair p;
	pair_init(&p, 2);
	pair_start(&p);
	struct end *e = role == TP_SERVER ? &p.s : &p.c;
	end_feed(e, "SSH-2.0-x\r\n", 11, PAIR_WHOLE);
	uint8_t pkt[64] = {0};
	be32_put(pkt, packet_length);
	pkt[4] = pad;
	pkt[5] = SSH_MSG_ignore;
	end_feed(e, pkt, num_min(sizeof(pkt), 4 + (size_t)packet_length), PAIR_WHOLE);
	err_t r = e->err;
	pair_done(&p);
	return r;
}

static void before_the_keys_lengths_are_checked_at_once(void **state)
{
	(void)state;
	static const uint32_t bad[] = {
		0, 1, 4, 5, 11, 13, 35000, 35001, 0x7fffffff, 0xffffffff, 0xfffffffc};
	for (int role = TP_CLIENT; role <= TP_SERVER; role++) {
		for (size_t i = 0; i < ARRAY_N(bad); i++)
			assert_int_equal(clear_case((enum tp_role)role, bad[i], 6), E_LENGTH);
		assert_int_equal(clear_case((enum tp_role)role, 12, 6), OK);
		assert_int_equal(clear_case((enum tp_role)role, 34996, 6), OK); /* waits */
		for (unsigned pad = 0; pad < 256; pad++)
			assert_int_equal(clear_case((enum tp_role)role, 60, (uint8_t)pad),
				pad >= 4 && pad <= 58 ? OK : E_PADDING);
	}
}

int main(void)
{
	if (crypto_init() != OK)
		return 1;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			bad_lengths_end_the_connection_and_hidden_ones_look_like_a_wrong_mac),
		cmocka_unit_test(sizes_up_to_the_limit_are_taken_and_none_above),
		cmocka_unit_test(the_limit_can_be_raised_to_256_kib),
		cmocka_unit_test(every_padding_length_has_its_verdict),
		cmocka_unit_test(no_flipped_bit_gets_through),
		cmocka_unit_test(a_tag_is_awaited_to_its_last_byte),
		cmocka_unit_test(a_packet_is_taken_once),
		cmocka_unit_test(before_the_keys_lengths_are_checked_at_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
