/* SPDX-License-Identifier: ISC */
/* auth_stage - an authentication engine over a stage, either role, with a model of what it may do
 */
#include "auth_stage.h"
#include "auth/au_client.h"
#include "crypto/crypto.h"

#define MAX_TRIES 6
#define PROMPTS   3
#define ALGS      "ssh-ed25519,rsa-sha2-512,rsa-sha2-256,ecdsa-sha2-nistp256"

static struct au_identity ids[3];

void auth_global(void)
{
	static const enum key_type types[] = {KEY_ED25519, KEY_RSA, KEY_ECDSA_P256};
	struct rng_seeded rng;
	stage_global();
	rng_seeded_init(&rng, 2);
	for (size_t i = 0; i < ARRAY_N(ids); i++) {
		struct key *k;
		PROMISE(key_generate(&k, types[i], types[i] == KEY_RSA ? 2048 : 0, &rng.rng) == OK);
		ids[i] = (struct au_identity){"id", k, i == 0};
	}
}

static struct auth *auth_of(struct stage *s)
{
	return s->layer;
}

/* ---- what is promised ---- */

static void check_open(const struct auth *a)
{
	bool is_open = tp_is_open(a->s.tp);
	if (a->server != NULL)
		PROMISE(!is_open || (a->is_admitted && a->err == OK));
	else
		PROMISE(!is_open || a->may_succeed);
}

void auth_check_end(struct auth *a)
{
	struct au_event ev;
	check_open(a);
	if (a->err == OK)
		return;
	struct cslice none = cslice_of(NULL, 0);
	if (a->server != NULL) {
		PROMISE(au_server_poll(a->server, &ev) == a->err);
		PROMISE(au_server_msg(a->server, SSH_MSG_service_request, none, a->s.now_us) ==
			a->err);
		PROMISE(au_server_answer(a->server, a->ask.ask, OK, none) == a->err);
		PROMISE(au_server_tick(a->server, UINT64_MAX / 2) == a->err);
	} else {
		PROMISE(au_client_poll(a->client, &ev) == a->err);
		PROMISE(au_client_msg(a->client, SSH_MSG_userauth_success, none) == a->err);
		PROMISE(au_client_answer(a->client, a->ask.ask, OK, none) == a->err);
	}
	PROMISE(!tp_is_open(a->s.tp) || a->server == NULL);
}

static void fail(struct auth *a, err_t e)
{
	if (e == OK || a->err != OK)
		return;
	a->err = e;
	a->is_asked = false;
	tp_fail(a->s.tp, e);
	PROMISE(tp_error(a->s.tp) != OK);
}

static void hash_of(struct cslice s, uint8_t out[32])
{
	PROMISE(hash_once(HASH_SHA256, s, out) == OK);
}

static void touch(struct cslice s)
{
	volatile uint8_t sum = 0;
	for (size_t i = 0; i < s.n; i++)
		sum = (uint8_t)(sum + s.p[i]);
}

static void touch_all(const struct au_event *ev)
{
	touch(ev->user);
	touch(ev->service);
	touch(ev->method);
	touch(ev->alg);
	touch(ev->blob);
	touch(ev->data);
	touch(ev->info.name);
	touch(ev->info.instruction);
	touch(ev->info.prompts);
}

/* ---- answers ---- */

static bool is_proof(enum au_ev_type type)
{
	return type == AU_EV_ASK_NONE || type == AU_EV_ASK_VERIFY ||
	       type == AU_EV_ASK_PASSWORD_CHECK || type == AU_EV_ASK_KBDINT;
}

static void answer_server(struct auth *a, err_t verdict, struct cslice data)
{
	static const uint8_t one_prompt[] = {
		0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, '?', 0};
	if (verdict == E_AGAIN && data.n == 0)
		data = cslice_of(one_prompt, sizeof(one_prompt));
	if (verdict == OK && is_proof(a->ask.type)) {
		a->is_admitted = true;
		a->is_key_proof = a->ask.type == AU_EV_ASK_VERIFY;
		hash_of(a->ask.blob, a->proof);
	}
	fail(a, au_server_answer(a->server, a->ask.ask, verdict, data));
}

static void answer_client(struct auth *a, err_t verdict, struct cslice data)
{
	struct buf b;
	buf_init(&b, (size_t)1 << 20);
	if (verdict == OK && a->ask.type == AU_EV_ASK_INFO) {
		for (uint32_t i = 0; i < a->ask.info.prompts_n; i++)
			buf_put_u32(&b, 0);
		data = buf_bytes(&b);
	} else if (verdict == OK && a->ask.type == AU_EV_ASK_NEW_PASSWORD) {
		buf_put_cstring(&b, "old");
		buf_put_cstring(&b, "new");
		data = buf_bytes(&b);
	} else if (verdict == OK && data.n == 0) {
		data = cslice_str("a password or a signature");
	}
	PROMISE(buf_err(&b) == OK);
	fail(a, au_client_answer(a->client, a->ask.ask, verdict, data));
	buf_done(&b);
}

void auth_answer(struct auth *a, err_t verdict, struct cslice data)
{
	if (!a->is_asked)
		return;
	a->is_asked = false;
	touch_all(&a->ask); /* a question stays as it is until it is answered */
	if (a->server != NULL)
		answer_server(a, verdict, data);
	else
		answer_client(a, verdict, data);
}

/* ---- events ---- */

static void server_event(struct auth *a, const struct au_event *ev)
{
	uint8_t blob[32];
	switch (ev->type) {
	case AU_EV_LOGGED_IN:
		PROMISE(a->is_admitted && !a->is_logged_in && tp_is_open(a->s.tp));
		hash_of(ev->blob, blob);
		PROMISE(a->is_key_proof == cslice_eq_str(ev->data, "publickey"));
		PROMISE(!a->is_key_proof || memcmp(blob, a->proof, sizeof(blob)) == 0);
		a->is_logged_in = true;
		break;
	case AU_EV_REFUSED:
		PROMISE(!a->is_admitted && ev->attempt < MAX_TRIES);
		break;
	case AU_EV_KBDINT_STOPPED:
		PROMISE(!a->is_admitted);
		break;
	default:
		PROMISE(ev->ask != 0 && !a->is_asked && !a->is_admitted && !tp_is_open(a->s.tp));
		PROMISE(ev->type == AU_EV_ASK_USER || ev->type == AU_EV_ASK_KEY ||
			is_proof(ev->type));
		PROMISE((a->asks++ == 0) == (ev->type == AU_EV_ASK_USER));
	}
}

/* What is signed begins with the session's id, and asks for nothing but a login. */
static void check_tbs(const struct auth *a, const struct au_event *ev)
{
	struct rd r = rd_of(ev->data);
	PROMISE(cslice_eq(rd_str(&r), tp_session_id(a->s.tp)));
	PROMISE(rd_u8(&r) == SSH_MSG_userauth_request);
	PROMISE(cslice_eq_str(rd_str(&r), "me") && cslice_eq_str(rd_str(&r), "ssh-connection"));
	PROMISE(!r.bad && ev->id < ARRAY_N(ids));
}

static void client_event(struct auth *a, const struct au_event *ev)
{
	PROMISE((!a->is_failed || ev->type == AU_EV_BANNER) && !a->is_logged_in);
	switch (ev->type) {
	case AU_EV_SUCCESS:
		PROMISE(tp_is_open(a->s.tp));
		a->is_logged_in = true;
		break;
	case AU_EV_FAILED:
		a->is_failed = true;
		break;
	case AU_EV_BANNER:
	case AU_EV_PARTIAL:
		break;
	default:
		a->asks++;
		PROMISE(ev->ask != 0 && !a->is_asked && !tp_is_open(a->s.tp));
		PROMISE(ev->type == AU_EV_ASK_SIGN || ev->type == AU_EV_ASK_PASSWORD ||
			ev->type == AU_EV_ASK_NEW_PASSWORD || ev->type == AU_EV_ASK_INFO);
		if (ev->type == AU_EV_ASK_SIGN)
			check_tbs(a, ev);
		if (ev->type == AU_EV_ASK_PASSWORD)
			PROMISE(++a->passwords <= PROMPTS);
	}
}

static bool poll_one(struct auth *a)
{
	struct au_event ev;
	if (a->err != OK || tp_error(a->s.tp) != OK)
		return false;
	err_t e =
		a->server != NULL ? au_server_poll(a->server, &ev) : au_client_poll(a->client, &ev);
	if (e != OK)
		fail(a, e);
	if (e != OK || ev.type == AU_EV_NONE)
		return false;
	touch_all(&ev);
	if (a->server != NULL)
		server_event(a, &ev);
	else
		client_event(a, &ev);
	if (ev.ask != 0) {
		a->ask = ev;
		a->is_asked = true;
		if (!a->is_late)
			auth_answer(
				a, ev.type == AU_EV_ASK_USER ? OK : a->verdict, cslice_of(NULL, 0));
	}
	return true;
}

static void settle(struct stage *s)
{
	struct auth *a = auth_of(s);
	if (a->client != NULL && s->is_keyed && !a->is_started && tp_error(s->tp) == OK) {
		a->is_started = true;
		fail(a, au_client_start(a->client));
	}
	while (poll_one(a))
		;
	check_open(a);
}

static void message(struct stage *s, const struct tp_event *ev)
{
	struct auth *a = auth_of(s);
	if (ev->type != TP_EV_MSG || a->err != OK)
		return;
	struct cslice body = cslice_of(ev->body.p, ev->body.n);
	if (ev->msg >= SSH_MSG_global_request)
		return; /* the connection's */
	if (a->server != NULL) {
		fail(a, au_server_msg(a->server, ev->msg, body, s->now_us));
	} else {
		a->may_succeed =
			a->may_succeed || (ev->msg == SSH_MSG_userauth_success &&
						  a->client->outstanding != AU_OUT_NOTHING);
		fail(a, au_client_msg(a->client, ev->msg, body));
	}
	while (poll_one(a))
		;
}

static bool busy(struct stage *s)
{
	struct auth *a = auth_of(s);
	return a->server != NULL && a->err == OK && au_server_busy(a->server);
}

/* ---- life ---- */

void auth_start(struct auth *a)
{
	struct stage *s = &a->s;
	s->layer = a;
	s->event = message;
	s->busy = busy;
	s->settle = settle;
	if (s->env.role == TP_SERVER) {
		a->server_env = (struct au_server_env){.tp = s->tp,
			.methods = "publickey,password,keyboard-interactive",
			.pubkey_algs = ALGS,
			.max_tries = MAX_TRIES};
		PROMISE(au_server_new(&a->server, &a->server_env) == OK);
		return;
	}
	a->client_env = (struct au_client_env){.tp = s->tp,
		.user = "me",
		.methods = "publickey,keyboard-interactive,password",
		.ids = ids,
		.ids_n = ARRAY_N(ids),
		.pubkey_algs = ALGS,
		.password_prompts = PROMPTS,
		.hostbound = true,
		.rng = &s->rng.rng};
	PROMISE(au_client_new(&a->client, &a->client_env) == OK);
}

void auth_done(struct auth *a)
{
	au_server_free(a->server);
	au_client_free(a->client);
	stage_done(&a->s);
}

static void tick(struct auth *a)
{
	if (a->server == NULL || a->err != OK)
		return;
	if (a->s.now_us >= au_server_deadline(a->server))
		fail(a, au_server_tick(a->server, a->s.now_us));
}

void auth_step(struct auth *a, const struct script_step *step)
{
	struct cslice d = step->data;
	if (!stage_step(&a->s, step) && step->kind == SCRIPT_ANSWER) {
		err_t verdict = stage_verdict(fuzz_u8(&d));
		if (a->s.is_asked)
			stage_answer(&a->s, verdict, d);
		else
			auth_answer(a, verdict, d);
	} else if (step->kind == SCRIPT_OWN) {
		a->s.is_stalled = !a->s.is_stalled;
	}
	tick(a);
	stage_pump(&a->s);
}
