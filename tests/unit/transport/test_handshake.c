/* SPDX-License-Identifier: ISC */
/* Handshakes between two engines: every method, every key type, every protection, cut in every way.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "pair.h"

static void assert_agreed(struct pair *p)
{
	assert_int_equal(p->c.err, OK);
	assert_int_equal(p->s.err, OK);
	assert_int_equal(end_count(&p->c, TP_EV_KEYS), 1);
	assert_int_equal(end_count(&p->s, TP_EV_KEYS), 1);
	struct cslice a = tp_session_id(p->c.tp), b = tp_session_id(p->s.tp);
	assert_true(a.n >= 20);
	assert_true(cslice_eq(a, b));
	assert_true(cslice_eq(tp_hostkey_blob(p->c.tp), tp_hostkey_blob(p->s.tp)));
	assert_int_equal(p->c.asked_hostkey, 1);
	assert_int_equal(p->s.asked_sign, 1);
}

/* A message each way, then bulk. */
static void assert_talks(struct pair *p)
{
	static uint8_t big[30000];
	for (size_t i = 0; i < sizeof(big); i++)
		big[i] = (uint8_t)(i * 7 + i / 251);
	pair_open(p);
	uint32_t before_c = p->c.msgs_n, before_s = p->s.msgs_n;
	assert_int_equal(end_say(&p->c, "hello", 5), OK);
	assert_int_equal(end_say(&p->c, big, sizeof(big)), OK);
	assert_int_equal(end_say(&p->s, big, 1), OK);
	assert_int_equal(end_say(&p->s, "", 0), OK);
	pair_run(p);
	assert_int_equal(p->s.msgs_n, before_s + 2);
	assert_int_equal(p->c.msgs_n, before_c + 2);
	uint8_t number;
	struct cslice body = end_msg(&p->s, before_s + 1, &number);
	assert_int_equal(number, SSH_MSG_channel_data);
	assert_int_equal(body.n, 8 + sizeof(big));
	assert_memory_equal(body.p + 8, big, sizeof(big));
	body = end_msg(&p->s, before_s, &number);
	assert_memory_equal(body.p + 8, "hello", 5);
}

static void run_one(struct pair *p, enum pair_cut cut)
{
	p->cut = cut;
	pair_start(p);
	pair_run(p);
	assert_agreed(p);
	assert_talks(p);
	pair_done(p);
}

static void every_kex_method_in_every_cut(void **state)
{
	(void)state;
	for (size_t i = 0; i < alg_kexes_n; i++) {
		for (int cut = PAIR_WHOLE; cut <= PAIR_RANDOM; cut++) {
			struct pair p;
			pair_init(&p, i * 3 + (uint64_t)cut);
			p.c.policy.kex = alg_kexes[i].name;
			p.c.policy.cipher_c2s = p.c.policy.cipher_s2c = "aes128-gcm@openssh.com";
			run_one(&p, (enum pair_cut)cut);
		}
	}
}

static void every_host_key_algorithm(void **state)
{
	(void)state;
	for (size_t i = 0; i < alg_hostkeys_n; i++) {
		struct pair p;
		if (key_type_is_sk(alg_hostkeys[i].type) || (alg_hostkeys[i].flags & AF_CERT) != 0)
			continue; /* these need a device to sign */
		pair_init(&p, i);
		pair_add_hostkey(&p, KEY_ED25519);
		if (alg_hostkeys[i].type != KEY_ED25519)
			pair_add_hostkey(&p, alg_hostkeys[i].type);
		p.c.policy.kex = "curve25519-sha256";
		p.c.policy.hostkey = alg_hostkeys[i].name;
		pair_start(&p);
		pair_run(&p);
		assert_agreed(&p);
		assert_string_equal(tp_choice(p.c.tp)->hostkey->name, alg_hostkeys[i].name);
		pair_done(&p);
	}
}

static void every_cipher_and_mac_in_every_cut(void **state)
{
	(void)state;
	for (size_t i = 0; i < alg_ciphers_n; i++) {
		bool is_aead = (alg_ciphers[i].flags & AF_AEAD) != 0;
		for (size_t m = 0; m < (is_aead ? 1 : alg_macs_n); m++) {
			struct pair p;
			pair_init(&p, i * 20 + m);
			p.c.policy.kex = "curve25519-sha256";
			p.c.policy.cipher_c2s = alg_ciphers[i].name;
			p.s.policy.cipher_s2c = alg_ciphers[i].name;
			p.c.policy.mac_c2s = alg_macs[m].name;
			p.s.policy.mac_s2c = alg_macs[m].name;
			run_one(&p, (enum pair_cut)(m % 3));
		}
	}
}

int main(void)
{
	if (crypto_init() != OK)
		return 1;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_kex_method_in_every_cut),
		cmocka_unit_test(every_host_key_algorithm),
		cmocka_unit_test(every_cipher_and_mac_in_every_cut),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
