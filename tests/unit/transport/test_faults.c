/* SPDX-License-Identifier: ISC */
/*
 * Every allocation and every call of the library fails in turn, through a whole session of two
 * engines: version exchange, key exchange, compressed data, rekey, hand-over.  Whatever fails, the
 * connection ends with an error or goes on rightly; never do keys come out of it that the other end
 * does not have, and never is a host key asked about whose signature was not verified.
 *
 * Built with the wrappers of tests/unit/crypto/faults.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "faults.h"
#include "pair.h"
#include "transport/tp_int.h"

static const struct mix {
	const char *kex, *hostkey, *cipher, *mac, *comp;
	enum key_type type;
} mixes[] = {
	{"curve25519-sha256", "ssh-ed25519", "chacha20-poly1305@openssh.com", "hmac-sha1", "none",
		KEY_ED25519},
	{"ecdh-sha2-nistp256", "ecdsa-sha2-nistp256", "aes128-ctr", "hmac-sha2-256",
		"zlib@openssh.com", KEY_ECDSA_P256},
	{"mlkem768x25519-sha256", "rsa-sha2-512", "aes256-gcm@openssh.com", "hmac-sha1", "none",
		KEY_RSA},
	{"diffie-hellman-group-exchange-sha256", "ssh-ed25519", "aes128-gcm@openssh.com",
		"hmac-sha1", "zlib@openssh.com", KEY_ED25519},
};

static uint32_t survived;

/* Freezes and thaws; on failure the old engine stays. */
static void hand_over(struct end *e)
{
	struct buf b;
	struct tp *tp = NULL;
	buf_init(&b, (size_t)4 << 20);
	err_t r = tp_freeze(e->tp, &b);
	if (r == OK)
		r = tp_thaw(&tp, &e->env, buf_bytes(&b), 1);
	if (r == OK) {
		tp_free(e->tp);
		e->tp = tp;
	} else {
		e->err = r;
		tp_fail(e->tp, r);
	}
	buf_done(&b);
}

static bool is_up(const struct pair *p, uint32_t keys)
{
	return p->c.err == OK && p->s.err == OK && end_count(&p->c, TP_EV_KEYS) == keys &&
	       end_count(&p->s, TP_EV_KEYS) == keys;
}

static void keep(struct end *e, err_t r)
{
	if (r != OK && e->err == OK)
		e->err = r;
}

/* The whole session; true when it went through. */
static bool session(struct pair *p)
{
	static const uint8_t data[5000] = {1, 2, 3};
	pair_start(p);
	if (p->c.err != OK || p->s.err != OK)
		return false;
	pair_run(p);
	if (!is_up(p, 1))
		return false;
	hand_over(&p->s);
	if (p->s.err != OK)
		return false;
	pair_open(p);
	keep(&p->c, end_say(&p->c, data, sizeof(data)));
	keep(&p->s, end_say(&p->s, data, sizeof(data)));
	pair_run(p);
	keep(&p->c, tp_rekey(p->c.tp));
	pair_run(p);
	if (!is_up(p, 2))
		return false;
	keep(&p->c, tp_put(p->c.tp, ping, .data = cslice_str("PING!")));
	keep(&p->c, end_say(&p->c, data, sizeof(data)));
	keep(&p->s, end_say(&p->s, data, sizeof(data)));
	pair_run(p);
	return is_up(p, 2) && p->c.msgs_n == 2 && p->s.msgs_n == 2;
}

static void check_sane(const struct pair *p, const char *hit, bool is_through)
{
	bool is_error = p->c.err != OK || p->s.err != OK;
	if (!is_through && !is_error)
		fail_msg("%s: neither went on nor ended", hit);
	if (end_count(&p->c, TP_EV_KEYS) > 0 && end_count(&p->s, TP_EV_KEYS) > 0)
		assert_true(cslice_eq(tp_session_id(p->c.tp), tp_session_id(p->s.tp)));
	/* a question about the host key means that its holder has signed */
	assert_true(p->c.asked_hostkey == 0 || p->s.asked_sign > 0);
	if (is_through && strcmp(hit, "malloc") != 0 && strcmp(hit, "calloc") != 0)
		fail_msg("%s failed and nobody noticed", hit);
	survived += is_through;
}

static void one_mix(const struct mix *m, bool negative)
{
	size_t n = 1;
	for (;; n++) {
		struct pair p;
		pair_init(&p, 5);
		pair_add_hostkey(&p, m->type);
		p.c.policy = (struct alg_policy){
			m->kex, m->hostkey, m->cipher, m->cipher, m->mac, m->mac, m->comp, m->comp};
		faults_arm(n, negative);
		bool is_through = session(&p);
		const char *hit = faults_hit();
		faults_arm(0, false);
		if (hit == NULL)
			assert_true(is_through);
		else
			check_sane(&p, hit, is_through);
		pair_done(&p);
		if (hit == NULL)
			break;
	}
	assert_true(n > 100);
}

static void every_call_fails_in_turn(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_N(mixes); i++) {
		one_mix(&mixes[i], i % 2 == 1);
	}
	print_message("went through without a block of memory: %u\n", survived);
	assert_true(survived < 200); /* the frame's own notes, and look-ups that come again */
}

/* One way from the client's reservation to the server's event: 200,000 bytes. */
static void flow(struct pair *p)
{
	struct tp_bulk b = {.head_n = 8, .data_max = 32768, .want = 200000};
	struct iovec iov;
	struct tp_event ev;
	size_t room = 0, got = 0;
	assert_int_equal(tp_reserve_bulk(p->c.tp, 94, &b), OK);
	for (uint32_t i = 0; i < b.n; i++) {
		memset(b.v[i].head, 0, 8);
		room += b.v[i].data_n;
	}
	assert_int_equal(tp_commit_bulk(p->c.tp, room), OK);
	while (tp_ready(p->c.tp, &iov, 1) > 0) {
		struct slice space = tp_space(p->s.tp);
		size_t n = num_min(space.n, iov.iov_len);
		memcpy(space.p, iov.iov_base, n);
		tp_sent(p->c.tp, n);
		assert_int_equal(tp_fed(p->s.tp, n, 1), OK);
	}
	do {
		assert_int_equal(tp_poll(p->s.tp, &ev), OK);
		got += ev.type != TP_EV_NONE ? ev.body.n - 8 : 0;
	} while (ev.type != TP_EV_NONE);
	assert_int_equal(got, room);
}

static void flow_without_memory(const char *cipher, const char *mac, bool use_fast)
{
	struct pair p;
	pair_init(&p, 5);
	pair_add_hostkey(&p, KEY_ED25519);
	p.c.policy.kex = "curve25519-sha256";
	p.c.policy.cipher_c2s = cipher;
	p.c.policy.mac_c2s = mac;
	p.c.env.use_fast = p.s.env.use_fast = use_fast;
	pair_start(&p);
	pair_run(&p);
	pair_open(&p);
	for (int k = 0; k < 5; k++)
		flow(&p);
	size_t before = faults_allocations();
	for (int k = 0; k < 25; k++)
		flow(&p);
	if (faults_allocations() != before)
		fail_msg("%s, %s: memory is asked for", cipher, mac);
	pair_done(&p);
}

/* The bulk path has no memory to wait for, whichever the protection. */
static void nothing_is_allocated_while_data_flows(void **state)
{
	(void)state;
	for (size_t i = 0; i < alg_ciphers_n; i++)
		for (size_t k = 0; k < alg_macs_n; k++) {
			bool is_aead = (alg_ciphers[i].flags & AF_AEAD) != 0;
			if (k > 0 && (is_aead || i > 0)) /* all MACs with the first cipher */
				continue;
			flow_without_memory(alg_ciphers[i].name, alg_macs[k].name, false);
			flow_without_memory(alg_ciphers[i].name, alg_macs[k].name, true);
		}
}

int main(void)
{
	if (crypto_init() != OK)
		return 1;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_call_fails_in_turn),
		cmocka_unit_test(nothing_is_allocated_while_data_flows),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
