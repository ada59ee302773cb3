/* SPDX-License-Identifier: ISC */
/* The client engine: what goes out in which order, and which answers of a server are believed */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "auth/au.h"
#include "base/rng.h"
#include "tp_double.h"

#define ALGS          "ssh-ed25519,rsa-sha2-512,rsa-sha2-256"
#define HOSTBOUND_EXT "publickey-hostbound@openssh.com"

static struct key *ed_a, *ed_b, *rsa;

struct fx {
	struct tp *tp;
	struct au_identity ids[4];
	struct au_client_env env;
	struct au_client *au;
};

static void fx_init(struct fx *f, const char *methods)
{
	*f = (struct fx){.tp = dbl_new()};
	f->ids[0] = (struct au_identity){"id_a", ed_a, true};
	f->ids[1] = (struct au_identity){"id_b", ed_b, false};
	f->ids[2] = (struct au_identity){"id_rsa", rsa, true};
	f->env = (struct au_client_env){.tp = f->tp,
		.user = "alice",
		.methods = methods,
		.ids = f->ids,
		.pubkey_algs = ALGS,
		.password_prompts = 3};
}

static void fx_start(struct fx *f)
{
	assert_int_equal(au_client_new(&f->au, &f->env), OK);
	assert_int_equal(au_client_start(f->au), OK);
	struct ssh_service_request m;
	assert_int_equal(ssh_get_service_request(dbl_take(f->tp, SSH_MSG_service_request), &m), OK);
	assert_true(cslice_eq_str(m.service, "ssh-userauth"));
}

static void fx_done(struct fx *f)
{
	au_client_free(f->au);
	dbl_free(f->tp);
}

static struct au_event poll_for(struct fx *f, enum au_ev_type type)
{
	struct au_event ev;
	assert_int_equal(au_client_poll(f->au, &ev), OK);
	assert_int_equal(ev.type, type);
	return ev;
}

static err_t say(struct fx *f, uint8_t msg, const void *p, size_t n)
{
	return au_client_msg(f->au, msg, cslice_of(p, n));
}

static void accept_service(struct fx *f)
{
	assert_int_equal(say(f, SSH_MSG_service_accept, "\0\0\0\14ssh-userauth", 16), OK);
}

static err_t say_failure(struct fx *f, const char *methods, bool partial)
{
	struct buf b;
	buf_init(&b, 4096);
	buf_put_cstring(&b, methods);
	buf_put_u8(&b, partial);
	err_t e = au_client_msg(f->au, SSH_MSG_userauth_failure, buf_bytes(&b));
	buf_done(&b);
	return e;
}

static struct ssh_userauth_request take_request(struct fx *f, const char *method)
{
	struct ssh_userauth_request m;
	assert_int_equal(
		ssh_get_userauth_request(dbl_take(f->tp, SSH_MSG_userauth_request), &m), OK);
	assert_true(cslice_eq_str(m.user, "alice"));
	assert_true(cslice_eq_str(m.service, "ssh-connection"));
	if (!cslice_eq_str(m.method, method))
		fail_msg("method %.*s, expected %s", (int)m.method.n, (const char *)m.method.p,
			method);
	return m;
}

static void sign(struct fx *f, const struct au_event *ev, const struct key *k)
{
	struct buf sig;
	buf_init(&sig, 4096);
	assert_int_equal(key_sign(k, ev->alg, ev->data, &sig), OK);
	assert_int_equal(au_client_answer(f->au, ev->ask, OK, buf_bytes(&sig)), OK);
	buf_done(&sig);
}

static void say_pk_ok(struct fx *f, const char *alg, const struct key *k, err_t expected)
{
	struct buf b, blob;
	buf_init(&b, 4096);
	buf_init(&blob, 4096);
	assert_int_equal(key_blob(k, &blob), OK);
	buf_put_cstring(&b, alg);
	buf_put_string(&b, buf_bytes(&blob));
	assert_int_equal(au_client_msg(f->au, SSH_MSG_userauth_60, buf_bytes(&b)), expected);
	buf_done(&blob);
	buf_done(&b);
}

/* The signature in a request covers exactly what RFC 4252 7 says. */
static void check_signed(
	struct fx *f, struct ssh_userauth_request m, const struct key *k, bool is_hostbound)
{
	struct ssh_auth_publickey pk;
	struct cslice host = {NULL, 0};
	struct buf tbs;
	assert_int_equal(ssh_get_auth_publickey(m.body, &pk), OK);
	assert_true(pk.has_signature);
	struct rd r = rd_of(pk.more);
	if (is_hostbound)
		host = rd_str(&r);
	struct cslice sig = rd_str(&r);
	assert_int_equal(rd_end(&r), OK);
	if (is_hostbound)
		assert_true(cslice_eq(host, f->tp->hostkey));
	buf_init(&tbs, 8192);
	assert_int_equal(
		au_pubkey_tbs(f->tp->session_id, m.user, m.service, pk.alg, pk.blob, host, &tbs),
		OK);
	assert_int_equal(key_verify(k, pk.alg, buf_bytes(&tbs), sig), OK);
	buf_done(&tbs);
}

static void a_sure_key_is_signed_with_in_the_first_flight(void **state)
{
	struct fx f;
	(void)state;
	fx_init(&f, "gssapi-with-mic,publickey,password");
	f.env.ids_n = 1;
	fx_start(&f);
	struct au_event ev = poll_for(&f, AU_EV_ASK_SIGN);
	assert_int_equal(ev.id, 0);
	sign(&f, &ev, ed_a);
	/* before the service was accepted: one flight */
	check_signed(&f, take_request(&f, "publickey"), ed_a, false);
	dbl_take_none(f.tp);
	accept_service(&f);
	assert_false(f.tp->is_open);
	assert_int_equal(say(&f, SSH_MSG_userauth_success, "", 0), OK);
	ev = poll_for(&f, AU_EV_SUCCESS);
	assert_true(cslice_eq_str(ev.data, "publickey"));
	assert_int_equal(ev.id, 0);
	assert_false(ev.is_trivial);
	assert_true(f.tp->is_open);
	assert_int_equal(au_client_fate(f.au, 0), AU_KEY_TAKEN);
	fx_done(&f);
}

static void without_pipelining_the_first_request_waits_for_the_service(void **state)
{
	struct fx f;
	(void)state;
	fx_init(&f, "publickey");
	f.env.ids_n = 1;
	f.env.no_pipeline = true;
	fx_start(&f);
	poll_for(&f, AU_EV_NONE);
	accept_service(&f);
	struct au_event ev = poll_for(&f, AU_EV_ASK_SIGN);
	sign(&f, &ev, ed_a);
	take_request(&f, "publickey");
	fx_done(&f);
}

static void a_key_that_needs_a_question_is_offered_first(void **state)
{
	struct fx f;
	struct ssh_auth_publickey pk;
	(void)state;
	fx_init(&f, "publickey");
	f.env.ids = &f.ids[1];
	f.env.ids_n = 1;
	fx_start(&f);
	assert_int_equal(ssh_get_auth_publickey(take_request(&f, "publickey").body, &pk), OK);
	assert_false(pk.has_signature);
	assert_int_equal(pk.more.n, 0);
	accept_service(&f);
	say_pk_ok(&f, "ssh-ed25519", ed_b, OK);
	struct au_event ev = poll_for(&f, AU_EV_ASK_SIGN);
	sign(&f, &ev, ed_b);
	check_signed(&f, take_request(&f, "publickey"), ed_b, false);
	assert_int_equal(say_failure(&f, "publickey", false), OK);
	assert_int_equal(au_client_fate(f.au, 0), AU_KEY_SIG_REFUSED);
	/* none has not been tried: the last resort */
	take_request(&f, "none");
	assert_int_equal(say_failure(&f, "publickey", false), OK);
	ev = poll_for(&f, AU_EV_FAILED);
	assert_true(cslice_eq_str(ev.data, "publickey"));
	assert_true(cslice_eq_str(au_client_methods(f.au), "publickey"));
	fx_done(&f);
}

static void pk_ok_for_another_key_or_algorithm_is_a_fault(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		struct fx f;
		fx_init(&f, "publickey");
		f.env.ids = &f.ids[1];
		f.env.ids_n = 1;
		fx_start(&f);
		accept_service(&f);
		say_pk_ok(&f, i == 0 ? "ssh-ed25519" : "rsa-sha2-512", i == 0 ? ed_a : ed_b,
			E_UNEXPECTED);
		fx_done(&f);
	}
}

static void keys_are_tried_in_order_and_their_fates_told(void **state)
{
	struct fx f;
	(void)state;
	fx_init(&f, "publickey");
	f.env.ids_n = 3;
	f.env.pubkey_algs = "ssh-ed25519"; /* nothing for the RSA key */
	fx_start(&f);
	accept_service(&f);
	struct au_event ev = poll_for(&f, AU_EV_ASK_SIGN);
	assert_int_equal(au_client_answer(f.au, ev.ask, E_CANCELLED, cslice_of(NULL, 0)), OK);
	take_request(&f, "publickey"); /* the second one, unsure */
	assert_int_equal(say_failure(&f, "publickey", false), OK);
	take_request(&f, "none");
	assert_int_equal(say_failure(&f, "publickey", false), OK);
	poll_for(&f, AU_EV_FAILED);
	assert_int_equal(au_client_fate(f.au, 0), AU_KEY_SIGN_FAILED);
	assert_int_equal(au_client_fate(f.au, 1), AU_KEY_REFUSED);
	assert_int_equal(au_client_fate(f.au, 2), AU_KEY_NO_ALG);
	assert_int_equal(au_client_fate(f.au, 9), AU_KEY_NOT_TRIED);
	fx_done(&f);
}

/* Which algorithms an RSA key is tried with, one after the other, when each is refused
 * (compat 7.2). */
static void rsa_algorithms_follow_what_the_server_takes(void **state)
{
	(void)state;
#define NEW "SSH-2.0-OpenSSH_9.2"
#define ALL "rsa-sha2-512,rsa-sha2-256,ssh-rsa"
	/* clang-format off */
	static const struct { const char *version, *sig_algs, *ours, *expected; } rows[] = {
		{NEW,                     "rsa-sha2-256,rsa-sha2-512", ALL,            "rsa-sha2-512"},
		{NEW,                     "rsa-sha2-256,ssh-ed25519",  ALL,            "rsa-sha2-256"},
		{NEW,                     "ssh-ed25519",               ALL,            ""},
		{NEW,                     "ssh-rsa",                   "rsa-sha2-512", ""},
		{NEW,                     "ssh-rsa",                   ALL,            "ssh-rsa"},
		{"SSH-2.0-other",         "",                          ALL,            "rsa-sha2-512,ssh-rsa"},
		{"SSH-2.0-other",         "",                          "rsa-sha2-256", "rsa-sha2-256"},
		{"SSH-2.0-OpenSSH_6.6.1", "",                          ALL,            "ssh-rsa"},
		{"SSH-2.0-OpenSSH_7.1",   "",                          "rsa-sha2-512", ""},
		{"SSH-2.0-OpenSSH_7.4",   "ssh-rsa",                   ALL,            "rsa-sha2-512"},
	};
	/* clang-format on */
	for (size_t i = 0; i < ARRAY_N(rows); i++) {
		struct fx f;
		fx_init(&f, "publickey");
		f.env.ids = &f.ids[2];
		f.env.ids_n = 1;
		f.env.pubkey_algs = rows[i].ours;
		f.tp->version = cslice_str(rows[i].version);
		f.tp->sig_algs = cslice_str(rows[i].sig_algs);
		fx_start(&f);
		accept_service(&f);
		struct cslice rest = cslice_str(rows[i].expected), alg;
		while (list_next(&rest, &alg)) {
			struct au_event ev = poll_for(&f, AU_EV_ASK_SIGN);
			if (!cslice_eq(ev.alg, alg))
				fail_msg("row %zu: %.*s", i, (int)ev.alg.n, (const char *)ev.alg.p);
			sign(&f, &ev, rsa);
			check_signed(&f, take_request(&f, "publickey"), rsa, false);
			assert_int_equal(say_failure(&f, "publickey", false), OK);
		}
		take_request(&f, "none");
		fx_done(&f);
	}
}

static void knowledge_that_comes_late_gives_an_rsa_key_its_chance(void **state)
{
	struct fx f;
	(void)state;
	fx_init(&f, "publickey");
	f.env.ids = &f.ids[2];
	f.env.ids_n = 1;
	fx_start(&f);
	accept_service(&f);
	struct au_event ev = poll_for(&f, AU_EV_ASK_SIGN);
	sign(&f, &ev, rsa);
	take_request(&f, "publickey");
	f.tp->sig_algs = cslice_str("rsa-sha2-256");
	assert_int_equal(say_failure(&f, "publickey", false), OK);
	ev = poll_for(&f, AU_EV_ASK_SIGN);
	assert_true(cslice_eq_str(ev.alg, "rsa-sha2-256"));
	fx_done(&f);
}

/* The first list is for everybody; the second, for the user, comes before the first answer. */
static void a_second_list_of_algorithms_gives_a_key_its_chance(void **state)
{
	struct fx f;
	(void)state;
	fx_init(&f, "publickey");
	f.env.ids = &f.ids[2];
	f.env.ids_n = 1;
	f.tp->sig_algs = cslice_str("ssh-ed25519");
	fx_start(&f);
	accept_service(&f);
	take_request(&f, "none");
	f.tp->sig_algs = cslice_str("ssh-ed25519,rsa-sha2-256");
	assert_int_equal(say_failure(&f, "publickey", false), OK);
	struct au_event ev = poll_for(&f, AU_EV_ASK_SIGN);
	assert_true(cslice_eq_str(ev.alg, "rsa-sha2-256"));
	sign(&f, &ev, rsa);
	take_request(&f, "publickey");
	assert_int_equal(say_failure(&f, "publickey", false), OK);
	poll_for(&f, AU_EV_FAILED);
	assert_int_equal(au_client_fate(f.au, 0), AU_KEY_REFUSED);
	fx_done(&f);
}

static void the_host_bound_form_is_used_only_where_announced_and_wished(void **state)
{
	(void)state;
	/* clang-format off */
	static const struct { const char *value; bool wished, bound; } rows[] = {
		{"0", true, true}, {"0", false, false}, {"1", true, false}, {NULL, true, false},
	};
	/* clang-format on */
	for (size_t i = 0; i < ARRAY_N(rows); i++) {
		struct fx f;
		fx_init(&f, "publickey");
		f.env.ids_n = 1;
		f.env.hostbound = rows[i].wished;
		if (rows[i].value != NULL) {
			f.tp->exts[0].name = HOSTBOUND_EXT;
			f.tp->exts[0].value = rows[i].value;
		}
		fx_start(&f);
		struct au_event ev = poll_for(&f, AU_EV_ASK_SIGN);
		assert_int_equal(ev.is_hostbound, rows[i].bound);
		sign(&f, &ev, ed_a);
		const char *name =
			rows[i].bound ? "publickey-hostbound-v00@openssh.com" : "publickey";
		check_signed(&f, take_request(&f, name), ed_a, rows[i].bound);
		fx_done(&f);
	}
}

static void a_signer_that_refuses_unbound_requests_is_asked_again_when_binding_is_known(
	void **state)
{
	struct fx f;
	(void)state;
	fx_init(&f, "publickey");
	f.env.ids_n = 1;
	f.env.hostbound = true;
	fx_start(&f);
	struct au_event ev = poll_for(&f, AU_EV_ASK_SIGN);
	assert_false(ev.is_hostbound);
	f.tp->exts[0].name = HOSTBOUND_EXT;
	f.tp->exts[0].value = "0";
	assert_int_equal(au_client_answer(f.au, ev.ask, E_DENIED, cslice_of(NULL, 0)), OK);
	ev = poll_for(&f, AU_EV_ASK_SIGN);
	assert_true(ev.is_hostbound);
	assert_true(ev.data.n > 0);
	assert_int_equal(au_client_answer(f.au, ev.ask, E_DENIED, cslice_of(NULL, 0)), OK);
	take_request(&f, "none");
	fx_done(&f);
}

static void passwords_are_asked_for_as_often_as_configured(void **state)
{
	struct fx f;
	struct ssh_auth_password pw;
	(void)state;
	fx_init(&f, "password");
	fx_start(&f);
	take_request(&f, "none");
	assert_int_equal(dbl_pad(f.tp), 0);
	accept_service(&f);
	assert_int_equal(say_failure(&f, "publickey,password", false), OK);
	for (uint32_t i = 0; i < 3; i++) {
		struct au_event ev = poll_for(&f, AU_EV_ASK_PASSWORD);
		assert_int_equal(ev.attempt, i);
		assert_int_equal(au_client_answer(f.au, ev.ask + 1, OK, cslice_str("x")), E_PHASE);
		assert_int_equal(au_client_answer(f.au, ev.ask, OK, cslice_str("secret")), OK);
		assert_int_equal(au_client_answer(f.au, ev.ask, OK, cslice_str("secret")), E_PHASE);
		assert_int_equal(ssh_get_auth_password(take_request(&f, "password").body, &pw), OK);
		assert_true(!pw.change && cslice_eq_str(pw.password, "secret") && pw.more.n == 0);
		assert_int_equal(dbl_pad(f.tp), 64);
		assert_int_equal(say_failure(&f, "publickey,password", false), OK);
	}
	poll_for(&f, AU_EV_FAILED);
	fx_done(&f);
}

static void none_is_the_last_resort_after_keys_and_not_after_a_secret(void **state)
{
	struct fx f;
	(void)state;
	fx_init(&f, "publickey,password");
	f.env.ids_n = 1;
	f.env.password_prompts = 1;
	fx_start(&f);
	struct au_event ev = poll_for(&f, AU_EV_ASK_SIGN);
	sign(&f, &ev, ed_a);
	take_request(&f, "publickey");
	accept_service(&f);
	assert_int_equal(say_failure(&f, "publickey,password", false), OK);
	ev = poll_for(&f, AU_EV_ASK_PASSWORD);
	assert_int_equal(au_client_answer(f.au, ev.ask, OK, cslice_str("wrong")), OK);
	take_request(&f, "password");
	assert_int_equal(say_failure(&f, "publickey,password", false), OK);
	dbl_take_none(f.tp);
	poll_for(&f, AU_EV_FAILED);
	fx_done(&f);
}

static void a_password_change_sends_old_and_new(void **state)
{
	struct fx f;
	struct ssh_auth_password pw;
	(void)state;
	fx_init(&f, "password");
	fx_start(&f);
	accept_service(&f);
	assert_int_equal(say_failure(&f, "password", false), OK);
	struct au_event ev = poll_for(&f, AU_EV_ASK_PASSWORD);
	assert_int_equal(au_client_answer(f.au, ev.ask, OK, cslice_str("old")), OK);
	take_request(&f, "none");
	take_request(&f, "password");
	assert_int_equal(say(&f, SSH_MSG_userauth_60, "\0\0\0\4stal\0\0\0\0", 12), OK);
	ev = poll_for(&f, AU_EV_ASK_NEW_PASSWORD);
	assert_true(cslice_eq_str(ev.data, "stal"));
	assert_int_equal(au_client_answer(f.au, ev.ask, OK, cslice_of("\0\0\0\1a", 5)), E_USAGE);
	assert_int_equal(
		au_client_answer(f.au, ev.ask, OK, cslice_of("\0\0\0\1a\0\0\0\2bc", 11)), OK);
	assert_int_equal(ssh_get_auth_password(take_request(&f, "password").body, &pw), OK);
	assert_true(pw.change && cslice_eq_str(pw.password, "a"));
	assert_int_equal(pw.more.n, 6);
	assert_memory_equal(pw.more.p, "\0\0\0\2bc", 6);
	assert_int_equal(say(&f, SSH_MSG_userauth_success, "", 0), OK);
	assert_false(poll_for(&f, AU_EV_SUCCESS).is_trivial);
	fx_done(&f);
}

static void a_cancelled_question_skips_its_method(void **state)
{
	struct fx f;
	(void)state;
	fx_init(&f, "password,keyboard-interactive");
	fx_start(&f);
	accept_service(&f);
	take_request(&f, "none");
	assert_int_equal(say_failure(&f, "password,keyboard-interactive", false), OK);
	struct au_event ev = poll_for(&f, AU_EV_ASK_PASSWORD);
	assert_int_equal(au_client_answer(f.au, ev.ask, E_CANCELLED, cslice_of(NULL, 0)), OK);
	take_request(&f, "keyboard-interactive");
	assert_int_equal(
		say(&f, SSH_MSG_userauth_60, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0\1?\0", 22),
		OK);
	ev = poll_for(&f, AU_EV_ASK_INFO);
	assert_int_equal(au_client_answer(f.au, ev.ask, E_CANCELLED, cslice_of(NULL, 0)), OK);
	poll_for(&f, AU_EV_FAILED);
	fx_done(&f);
}

#define INFO_TWO  "\0\0\0\1N\0\0\0\1I\0\0\0\0\0\0\0\2\0\0\0\1a\1\0\0\0\1b\0"
#define INFO_ZERO "\0\0\0\1N\0\0\0\1I\0\0\0\0\0\0\0\0"

static void keyboard_interactive_answers_each_round_with_its_count(void **state)
{
	struct fx f;
	(void)state;
	fx_init(&f, "keyboard-interactive");
	fx_start(&f);
	accept_service(&f);
	take_request(&f, "none");
	assert_int_equal(say_failure(&f, "keyboard-interactive", false), OK);
	take_request(&f, "keyboard-interactive");
	assert_int_equal(say(&f, SSH_MSG_userauth_60, INFO_TWO, sizeof(INFO_TWO) - 1), OK);
	struct au_event ev = poll_for(&f, AU_EV_ASK_INFO);
	assert_true(cslice_eq_str(ev.info.name, "N") && cslice_eq_str(ev.info.instruction, "I"));
	assert_int_equal(ev.info.prompts_n, 2);
	/* while we think, the server has nothing to answer */
	assert_int_equal(au_client_answer(f.au, ev.ask, OK, cslice_of("\0\0\0\1x", 5)), E_USAGE);
	assert_int_equal(au_client_answer(f.au, ev.ask, OK, cslice_of("\0\0\0\1x\0\0\0\0", 9)), OK);
	struct ssh_userauth_info_response m;
	assert_int_equal(
		ssh_get_userauth_info_response(dbl_take(f.tp, SSH_MSG_userauth_info_response), &m),
		OK);
	assert_int_equal(m.count, 2);
	assert_int_equal(dbl_pad(f.tp), 64);
	assert_int_equal(m.responses.n, 9);
	assert_int_equal(say(&f, SSH_MSG_userauth_60, INFO_ZERO, sizeof(INFO_ZERO) - 1), OK);
	ev = poll_for(&f, AU_EV_ASK_INFO);
	assert_int_equal(ev.info.prompts_n, 0);
	assert_int_equal(au_client_answer(f.au, ev.ask, OK, cslice_of(NULL, 0)), OK);
	(void)dbl_take(f.tp, SSH_MSG_userauth_info_response);
	assert_int_equal(say(&f, SSH_MSG_userauth_success, "", 0), OK);
	ev = poll_for(&f, AU_EV_SUCCESS);
	assert_true(cslice_eq_str(ev.data, "keyboard-interactive") && ev.id == UINT32_MAX);
	assert_false(ev.is_trivial);
	fx_done(&f);
}

static void a_server_without_devices_is_asked_once(void **state)
{
	struct fx f;
	(void)state;
	fx_init(&f, "keyboard-interactive");
	fx_start(&f);
	accept_service(&f);
	take_request(&f, "none");
	assert_int_equal(say_failure(&f, "keyboard-interactive", false), OK);
	take_request(&f, "keyboard-interactive");
	assert_int_equal(say_failure(&f, "keyboard-interactive", false), OK);
	poll_for(&f, AU_EV_FAILED);
	dbl_take_none(f.tp);
	fx_done(&f);
}

/* CVE-2021-36368: granted though nothing was asked. */
static void a_grant_without_proof_is_told_apart(void **state)
{
	struct fx f;
	(void)state;
	fx_init(&f, "keyboard-interactive");
	fx_start(&f);
	accept_service(&f);
	assert_int_equal(say(&f, SSH_MSG_userauth_success, "", 0), OK);
	assert_true(poll_for(&f, AU_EV_SUCCESS).is_trivial); /* none */
	fx_done(&f);

	fx_init(&f, "keyboard-interactive");
	fx_start(&f);
	accept_service(&f);
	assert_int_equal(say_failure(&f, "keyboard-interactive", false), OK);
	assert_int_equal(say(&f, SSH_MSG_userauth_60, INFO_ZERO, sizeof(INFO_ZERO) - 1), OK);
	struct au_event ev = poll_for(&f, AU_EV_ASK_INFO);
	assert_int_equal(au_client_answer(f.au, ev.ask, OK, cslice_of(NULL, 0)), OK);
	assert_int_equal(say(&f, SSH_MSG_userauth_success, "", 0), OK);
	assert_true(poll_for(&f, AU_EV_SUCCESS).is_trivial);
	fx_done(&f);

	fx_init(&f, "publickey");
	f.env.ids = &f.ids[1];
	f.env.ids_n = 1;
	fx_start(&f);
	accept_service(&f);
	assert_int_equal(say(&f, SSH_MSG_userauth_success, "", 0), OK); /* to a query */
	assert_true(poll_for(&f, AU_EV_SUCCESS).is_trivial);
	fx_done(&f);
}

static void a_key_refused_before_its_turn_is_tried_again(void **state)
{
	struct fx f;
	(void)state;
	fx_init(&f, "publickey,password");
	f.env.ids_n = 1;
	fx_start(&f);
	accept_service(&f);
	struct au_event ev = poll_for(&f, AU_EV_ASK_SIGN);
	sign(&f, &ev, ed_a);
	take_request(&f, "publickey");
	assert_int_equal(say_failure(&f, "password", false), OK);
	ev = poll_for(&f, AU_EV_ASK_PASSWORD);
	assert_int_equal(au_client_answer(f.au, ev.ask, OK, cslice_str("pw")), OK);
	take_request(&f, "password");
	assert_int_equal(say_failure(&f, "publickey", true), OK);
	(void)poll_for(&f, AU_EV_PARTIAL);
	ev = poll_for(&f, AU_EV_ASK_SIGN);
	sign(&f, &ev, ed_a);
	take_request(&f, "publickey");
	assert_int_equal(say_failure(&f, "publickey", false), OK);
	(void)poll_for(&f, AU_EV_FAILED); /* now it was its turn */
	fx_done(&f);
}

static void partial_success_goes_on_with_what_is_left(void **state)
{
	struct fx f;
	(void)state;
	fx_init(&f, "publickey,password");
	f.env.ids_n = 2;
	fx_start(&f);
	accept_service(&f);
	struct au_event ev = poll_for(&f, AU_EV_ASK_SIGN);
	sign(&f, &ev, ed_a);
	take_request(&f, "publickey");
	assert_int_equal(say_failure(&f, "publickey,password", true), OK);
	ev = poll_for(&f, AU_EV_PARTIAL);
	assert_true(cslice_eq_str(ev.data, "publickey,password"));
	assert_true(cslice_eq_str(ev.method, "publickey"));
	/* another key, never the same again */
	struct ssh_auth_publickey pk;
	assert_int_equal(ssh_get_auth_publickey(take_request(&f, "publickey").body, &pk), OK);
	assert_int_equal(say_failure(&f, "password", false), OK);
	ev = poll_for(&f, AU_EV_ASK_PASSWORD);
	assert_int_equal(au_client_answer(f.au, ev.ask, OK, cslice_str("pw")), OK);
	assert_int_equal(say(&f, SSH_MSG_userauth_success, "", 0), OK);
	ev = poll_for(&f, AU_EV_SUCCESS);
	assert_true(cslice_eq_str(ev.data, "password") && !ev.is_trivial);
	assert_int_equal(au_client_fate(f.au, 0), AU_KEY_TAKEN);
	assert_int_equal(au_client_fate(f.au, 1), AU_KEY_REFUSED);
	fx_done(&f);
}

/* ---- every answer in every situation: only the fitting ones are believed ---- */
enum situation { S_NEW, S_NO_SERVICE, S_SIGNING, S_NONE, S_QUERY, S_SIGNED, S_THINKING, S_IN, S_N };

static void put_in(struct fx *f, enum situation s)
{
	struct au_event ev;
	fx_init(f, "publickey,password");
	f->env.ids = s == S_QUERY ? &f->ids[1] : f->ids;
	f->env.ids_n = s == S_NONE || s == S_THINKING || s == S_IN ? 0 : 1;
	if (s == S_NEW) {
		assert_int_equal(au_client_new(&f->au, &f->env), OK);
		return;
	}
	fx_start(f);
	if (s == S_NO_SERVICE) {
		ev = poll_for(f, AU_EV_ASK_SIGN);
		sign(f, &ev, ed_a);
		return;
	}
	accept_service(f);
	if (s == S_SIGNED) {
		ev = poll_for(f, AU_EV_ASK_SIGN);
		sign(f, &ev, ed_a);
	}
	if (s == S_THINKING)
		assert_int_equal(say_failure(f, "password", false), OK);
	if (s == S_IN)
		assert_int_equal(say(f, SSH_MSG_userauth_success, "", 0), OK);
}

static void answers_count_only_against_an_outstanding_request(void **state)
{
	(void)state;
	/* clang-format off */
	static const struct { uint8_t msg; const char *body; size_t n; bool fits[S_N]; } rows[] = {
		/*                                                          new no-svc signing none query signed thinking in */
		{SSH_MSG_service_accept,   "\0\0\0\14ssh-userauth", 16,   {0,  1,     0,      0,   0,    0,     0,       0}},
		{SSH_MSG_userauth_success, "", 0,                         {0,  0,     0,      1,   1,    1,     0,       0}},
		{SSH_MSG_userauth_failure, "\0\0\0\1x\0", 6,              {0,  0,     0,      1,   1,    1,     0,       0}},
		{SSH_MSG_userauth_60,      "\0\0\0\0\0\0\0\0", 8,         {0,  0,     0,      0,   0,    0,     0,       0}},
		{SSH_MSG_userauth_banner,  "\0\0\0\0\0\0\0\0", 8,         {0,  1,     1,      1,   1,    1,     1,       0}},
		{SSH_MSG_userauth_request, "", 0,                         {0,  0,     0,      0,   0,    0,     0,       0}},
		{SSH_MSG_service_request,  "", 0,                         {0,  0,     0,      0,   0,    0,     0,       0}},
		{SSH_MSG_userauth_info_response, "", 0,                   {0,  0,     0,      0,   0,    0,     0,       0}},
		{70,                       "", 0,                         {0,  0,     0,      0,   0,    0,     0,       0}},
	};
	/* clang-format on */
	for (size_t i = 0; i < ARRAY_N(rows); i++) {
		for (int s = 0; s < S_N; s++) {
			struct fx f;
			put_in(&f, (enum situation)s);
			bool was_open = f.tp->is_open;
			err_t e = say(&f, rows[i].msg, rows[i].body, rows[i].n);
			if ((e == OK) != rows[i].fits[s])
				fail_msg("message %u in situation %d: %s", rows[i].msg, s,
					err_name(e));
			if (e != OK) {
				struct au_event ev;
				assert_int_equal(f.tp->is_open, was_open);
				assert_int_equal(au_client_poll(f.au, &ev), e); /* sticky */
			}
			fx_done(&f);
		}
	}
}

static void malformed_messages_end_it(void **state)
{
	(void)state;
	/* clang-format off */
	static const struct { uint8_t msg; const char *body; size_t n; } rows[] = {
		{SSH_MSG_userauth_success, "x", 1},
		{SSH_MSG_userauth_failure, "\0\0\0\1x", 5},
		{SSH_MSG_userauth_failure, "\0\0\0\2,x\0", 7},
		{SSH_MSG_userauth_failure, "\0\0\0\1x\0\0", 7},
		{SSH_MSG_userauth_banner,  "\0\0\0\2x", 5},
	};
	/* clang-format on */
	for (size_t i = 0; i < ARRAY_N(rows); i++) {
		struct fx f;
		put_in(&f, S_NONE);
		assert_int_not_equal(say(&f, rows[i].msg, rows[i].body, rows[i].n), OK);
		assert_false(f.tp->is_open);
		fx_done(&f);
	}
	/* more prompts than there are bytes for */
	struct fx f;
	fx_init(&f, "keyboard-interactive");
	fx_start(&f);
	accept_service(&f);
	assert_int_equal(say_failure(&f, "keyboard-interactive", false), OK);
	static const char info[] = "\0\0\0\0\0\0\0\0\0\0\0\0\377\377\377\377\0\0\0\1?\0";
	assert_int_equal(say(&f, SSH_MSG_userauth_60, info, sizeof(info) - 1), E_FORMAT);
	fx_done(&f);
}

static void the_service_name_may_be_missing_but_not_wrong(void **state)
{
	struct fx f;
	(void)state;
	fx_init(&f, "password");
	fx_start(&f);
	assert_int_equal(say(&f, SSH_MSG_service_accept, "", 0), OK);
	fx_done(&f);
	fx_init(&f, "password");
	fx_start(&f);
	assert_int_equal(say(&f, SSH_MSG_service_accept, "\0\0\0\3abc", 7), E_SERVICE);
	fx_done(&f);
}

static void requests_wait_for_the_end_of_a_key_exchange(void **state)
{
	struct fx f;
	(void)state;
	fx_init(&f, "password");
	fx_start(&f);
	take_request(&f, "none");
	accept_service(&f);
	f.tp->is_rekeying = true;
	assert_int_equal(say_failure(&f, "password", false), OK);
	struct au_event ev = poll_for(&f, AU_EV_ASK_PASSWORD);
	assert_int_equal(au_client_answer(f.au, ev.ask, OK, cslice_str("pw")), OK);
	dbl_take_none(f.tp);
	f.tp->is_rekeying = false;
	poll_for(&f, AU_EV_NONE);
	take_request(&f, "password");
	assert_int_equal(dbl_pad(f.tp), 64);
	fx_done(&f);
}

static void banners_come_through_as_sent(void **state)
{
	struct fx f;
	(void)state;
	put_in(&f, S_NONE);
	assert_int_equal(say(&f, SSH_MSG_userauth_banner, "\0\0\0\3a\0b\0\0\0\0", 11), OK);
	struct au_event ev = poll_for(&f, AU_EV_BANNER);
	assert_int_equal(ev.data.n, 3);
	assert_memory_equal(ev.data.p, "a\0b", 3);
	fx_done(&f);
}

/* A login by key after a refused one, each allocation failing in turn: an error comes out, and
 * never a success. */
static err_t login(struct fx *f, const struct cslice sig, bool *is_in)
{
	struct au_event ev;
	*is_in = false;
	TRY(au_client_new(&f->au, &f->env));
	TRY(au_client_start(f->au));
	TRY(au_client_poll(f->au, &ev));
	TRY(au_client_answer(f->au, ev.ask, OK, sig));
	TRY(say(f, SSH_MSG_service_accept, "", 0));
	TRY(say(f, SSH_MSG_userauth_failure, "\0\0\0\11publickey\0", 14));
	TRY(say(f, SSH_MSG_userauth_success, "", 0));
	TRY(au_client_poll(f->au, &ev));
	*is_in = ev.type == AU_EV_SUCCESS;
	return OK;
}

static void no_failed_allocation_reads_as_success(void **state)
{
	size_t n = 0;
	(void)state;
	for (bool hit = true; hit; n++) {
		struct fx f;
		bool is_in;
		fx_init(&f, "publickey");
		f.env.ids_n = 2;
		f.tp->is_rekeying = true; /* so that what is sent must be kept, too */
		fault_after(n);
		err_t e = login(&f, cslice_str("sig"), &is_in);
		hit = fault_off();
		assert_int_equal(e == OK, !hit);
		assert_int_equal(is_in, !hit);
		assert_int_equal(f.tp->is_open, !hit);
		fx_done(&f);
	}
	assert_true(n > 8);
}

static int make_keys(void **state)
{
	struct rng_seeded r;
	(void)state;
	rng_seeded_init(&r, 1);
	return key_generate(&ed_a, KEY_ED25519, 0, &r.rng) != OK ||
	       key_generate(&ed_b, KEY_ED25519, 0, &r.rng) != OK ||
	       key_generate(&rsa, KEY_RSA, 2048, &r.rng) != OK;
}

static int free_keys(void **state)
{
	(void)state;
	key_free(ed_a);
	key_free(ed_b);
	key_free(rsa);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sure_key_is_signed_with_in_the_first_flight),
		cmocka_unit_test(without_pipelining_the_first_request_waits_for_the_service),
		cmocka_unit_test(a_key_that_needs_a_question_is_offered_first),
		cmocka_unit_test(pk_ok_for_another_key_or_algorithm_is_a_fault),
		cmocka_unit_test(keys_are_tried_in_order_and_their_fates_told),
		cmocka_unit_test(rsa_algorithms_follow_what_the_server_takes),
		cmocka_unit_test(a_second_list_of_algorithms_gives_a_key_its_chance),
		cmocka_unit_test(knowledge_that_comes_late_gives_an_rsa_key_its_chance),
		cmocka_unit_test(the_host_bound_form_is_used_only_where_announced_and_wished),
		cmocka_unit_test(
			a_signer_that_refuses_unbound_requests_is_asked_again_when_binding_is_known),
		cmocka_unit_test(passwords_are_asked_for_as_often_as_configured),
		cmocka_unit_test(none_is_the_last_resort_after_keys_and_not_after_a_secret),
		cmocka_unit_test(a_password_change_sends_old_and_new),
		cmocka_unit_test(a_cancelled_question_skips_its_method),
		cmocka_unit_test(keyboard_interactive_answers_each_round_with_its_count),
		cmocka_unit_test(a_server_without_devices_is_asked_once),
		cmocka_unit_test(a_grant_without_proof_is_told_apart),
		cmocka_unit_test(a_key_refused_before_its_turn_is_tried_again),
		cmocka_unit_test(partial_success_goes_on_with_what_is_left),
		cmocka_unit_test(answers_count_only_against_an_outstanding_request),
		cmocka_unit_test(malformed_messages_end_it),
		cmocka_unit_test(the_service_name_may_be_missing_but_not_wrong),
		cmocka_unit_test(requests_wait_for_the_end_of_a_key_exchange),
		cmocka_unit_test(banners_come_through_as_sent),
		cmocka_unit_test(no_failed_allocation_reads_as_success),
	};
	return cmocka_run_group_tests(tests, make_keys, free_keys);
}
