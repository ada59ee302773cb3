/* SPDX-License-Identifier: ISC */
/* server_fx - a server engine over the double, requests to put into it, and the keys of the tests
 */
#ifndef TESTS_SERVER_FX_H
#define TESTS_SERVER_FX_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "auth/au.h"
#include "base/rng.h"
#include "tp_double.h"

#define ALGS       "ssh-ed25519,rsa-sha2-512"
#define METHODS    "publickey,password,keyboard-interactive"
#define SERVICE    "\0\0\0\14ssh-userauth"
#define CONNECTION "ssh-connection"

static struct key *ed_a, *ed_b, *rsa, *ecdsa;

struct fx {
	struct tp *tp;
	struct au_server_env env;
	struct au_server *au;
	uint64_t now;
	struct buf b, body; /* for building */
};

static void fx_init(struct fx *f)
{
	*f = (struct fx){.tp = dbl_new(), .now = 1000000};
	f->env = (struct au_server_env){
		.tp = f->tp, .methods = METHODS, .pubkey_algs = ALGS, .max_tries = 6};
	buf_init(&f->b, 1 << 16);
	buf_init(&f->body, 1 << 16);
}

static err_t say(struct fx *f, uint8_t msg, const void *p, size_t n)
{
	return au_server_msg(f->au, msg, cslice_of(p, n), f->now);
}

static void fx_start(struct fx *f)
{
	assert_int_equal(au_server_new(&f->au, &f->env), OK);
	assert_int_equal(say(f, SSH_MSG_service_request, SERVICE, 16), OK);
	struct cslice got = dbl_take(f->tp, SSH_MSG_service_accept);
	assert_int_equal(got.n, 16);
	assert_memory_equal(got.p, SERVICE, 16);
}

static void fx_done(struct fx *f)
{
	au_server_free(f->au);
	buf_done(&f->b);
	buf_done(&f->body);
	dbl_free(f->tp);
}

static struct au_event poll_for(struct fx *f, enum au_ev_type type)
{
	struct au_event ev;
	assert_int_equal(au_server_poll(f->au, &ev), OK);
	assert_int_equal(ev.type, type);
	return ev;
}

static err_t request_by(struct fx *f, const char *user, const char *service, const char *method)
{
	buf_clear(&f->b);
	buf_put_cstring(&f->b, user);
	buf_put_cstring(&f->b, service);
	buf_put_cstring(&f->b, method);
	buf_put(&f->b, f->body.p, f->body.n);
	err_t e = au_server_msg(f->au, SSH_MSG_userauth_request, buf_bytes(&f->b), f->now);
	memset(f->b.p, 0xEE, f->b.n); /* the engine must have copied what it needs */
	return e;
}

static err_t request(struct fx *f, const char *method)
{
	return request_by(f, "alice", CONNECTION, method);
}

/* The first request also asks for the user. */
static err_t first_request(struct fx *f, const char *method)
{
	TRY(request(f, method));
	struct au_event ev = poll_for(f, AU_EV_ASK_USER);
	assert_true(cslice_eq_str(ev.user, "alice") && cslice_eq_str(ev.service, CONNECTION));
	return au_server_answer(f->au, ev.ask, OK, cslice_of(NULL, 0));
}

static void body_password(struct fx *f, const char *password)
{
	buf_clear(&f->body);
	buf_put_u8(&f->body, 0);
	buf_put_cstring(&f->body, password);
}

static void body_kbdint(struct fx *f)
{
	buf_clear(&f->body);
	buf_put_u64(&f->body, 0);
}

/* signer NULL = a query; host NULL = the plain form. */
static void body_key(struct fx *f, const char *alg, const struct key *k, const struct key *signer,
	const char *host)
{
	struct buf blob, sig, tbs;
	struct cslice hostkey = host != NULL ? cslice_str(host) : cslice_of(NULL, 0);
	buf_init(&blob, 4096);
	buf_init(&sig, 4096);
	buf_init(&tbs, 8192);
	assert_int_equal(key_blob(k, &blob), OK);
	buf_clear(&f->body);
	buf_put_u8(&f->body, signer != NULL);
	buf_put_cstring(&f->body, alg);
	buf_put_string(&f->body, buf_bytes(&blob));
	if (host != NULL)
		buf_put_string(&f->body, hostkey);
	if (signer != NULL) {
		assert_int_equal(au_pubkey_tbs(f->tp->session_id, cslice_str("alice"),
					 cslice_str(CONNECTION), cslice_str(alg), buf_bytes(&blob),
					 hostkey, &tbs),
			OK);
		const char *sig_alg =
			key_type_of(signer) == KEY_RSA ? alg : key_type_name(key_type_of(signer));
		assert_int_equal(key_sign(signer, cslice_str(sig_alg), buf_bytes(&tbs), &sig), OK);
		buf_put_string(&f->body, buf_bytes(&sig));
	}
	buf_done(&tbs);
	buf_done(&sig);
	buf_done(&blob);
}

/* What a real monitor does with AU_EV_ASK_VERIFY: the signature must hold, and the key must be
 * authorized. */
static err_t verify(struct fx *f, const struct au_event *ev, const struct key *authorized)
{
	struct key *k = NULL;
	struct buf tbs;
	buf_init(&tbs, 8192);
	err_t e = key_parse_blob(&k, ev->blob);
	if (e == OK)
		e = au_pubkey_tbs(f->tp->session_id, ev->user, ev->service, ev->alg, ev->blob,
			ev->is_hostbound ? f->tp->hostkey : cslice_of(NULL, 0), &tbs);
	if (e == OK)
		e = key_verify(k, ev->alg, buf_bytes(&tbs), ev->data);
	if (e == OK && !key_equal_public(k, authorized))
		e = E_DENIED;
	key_free(k);
	buf_done(&tbs);
	return au_server_answer(f->au, ev->ask, e, cslice_of(NULL, 0));
}

static void failure_taken(struct fx *f, const char *methods, bool partial)
{
	struct ssh_userauth_failure m;
	assert_int_equal(
		ssh_get_userauth_failure(dbl_take(f->tp, SSH_MSG_userauth_failure), &m), OK);
	assert_true(cslice_eq_str(m.methods, methods));
	assert_int_equal(m.partial, partial);
	assert_false(f->tp->is_open);
}

static struct au_event refused(struct fx *f, uint32_t failures)
{
	struct au_event ev = poll_for(f, AU_EV_REFUSED);
	assert_int_equal(ev.attempt, failures);
	assert_int_equal(au_server_failures(f->au), failures);
	failure_taken(f, METHODS, false);
	return ev;
}

static struct au_event logged_in(struct fx *f, const char *method)
{
	assert_int_equal(dbl_take(f->tp, SSH_MSG_userauth_success).n, 0);
	struct au_event ev = poll_for(f, AU_EV_LOGGED_IN);
	assert_true(cslice_eq_str(ev.data, method));
	assert_true(f->tp->is_open);
	return ev;
}

static int make_keys(void **state)
{
	struct rng_seeded r;
	(void)state;
	rng_seeded_init(&r, 1);
	return key_generate(&ed_a, KEY_ED25519, 0, &r.rng) != OK ||
	       key_generate(&ed_b, KEY_ED25519, 0, &r.rng) != OK ||
	       key_generate(&rsa, KEY_RSA, 2048, &r.rng) != OK ||
	       key_generate(&ecdsa, KEY_ECDSA_P256, 0, &r.rng) != OK;
}

static int free_keys(void **state)
{
	(void)state;
	key_free(ed_a);
	key_free(ed_b);
	key_free(rsa);
	key_free(ecdsa);
	return 0;
}

#endif
