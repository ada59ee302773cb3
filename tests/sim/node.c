/* SPDX-License-Identifier: ISC */
/*
 * node - one end: transport, then authentication, then the connection, and answers to their
 * questions
 *
 * It does what a program's pump does: reads into the engine's room, polls, lets the layers flush,
 * and hands what is ready to the link.
 */
#include <assert.h>
#include <stdlib.h>

#include "sim.h"

#define ALGS      "ssh-ed25519"
#define ALL_AUTHS "publickey,password,keyboard-interactive"
#define MAX_TRIES 6

static struct key *hostkey, *key_wrong, *key_right;
static struct buf hostkey_blob, group;
static struct tp_hostkey hostkeys[1];

void sim_global(void)
{
	struct rng_seeded rng;
	struct dh *dh;
	rng_seeded_init(&rng, 4);
	err_t e = crypto_init();
	struct key **const keys[] = {&hostkey, &key_wrong, &key_right};
	for (size_t i = 0; e == OK && i < ARRAY_N(keys); i++)
		e = key_generate(keys[i], KEY_ED25519, 0, &rng.rng);
	buf_init(&hostkey_blob, 4096);
	buf_init(&group, 4096);
	if (e == OK)
		e = key_blob(hostkey, &hostkey_blob);
	hostkeys[0] = (struct tp_hostkey){buf_bytes(&hostkey_blob)};
	if (e == OK)
		e = dh_new_group(&dh, DH_GROUP14, 256, &rng.rng);
	assert(e == OK);
	buf_put_mpint(&group, dh_p(dh));
	buf_put_mpint(&group, dh_g(dh));
	dh_free(dh);
}

void sim_note(struct sim_node *n, uint64_t what)
{
	n->hash = (n->hash ^ what) * 1099511628211u;
}

uint32_t sim_roll(struct sim_node *n, uint32_t bound)
{
	return rng_below(&n->dice.rng, bound);
}

/* ---- life ---- */

static void init_login(struct sim_node *n)
{
	static const char *const methods[] = {[SIM_KEY_SURE] = "publickey",
		[SIM_KEY_SECOND] = "publickey",
		[SIM_KBDINT] = "keyboard-interactive",
		[SIM_PASSWORD] = "password",
		[SIM_PARTIAL] = "publickey,password"};
	bool is_second = n->plan->login == SIM_KEY_SECOND;
	n->ids[0] = (struct au_identity){"first", is_second ? key_wrong : key_right, !is_second};
	n->ids[1] = (struct au_identity){"second", key_right, false};
	n->client_env = (struct au_client_env){.tp = n->tp,
		.user = "me",
		.methods = methods[n->plan->login],
		.ids = n->ids,
		.ids_n = is_second ? 2 : 1,
		.pubkey_algs = ALGS,
		.password_prompts = 3,
		.hostbound = true,
		.rng = &n->rng.rng};
	n->server_env = (struct au_server_env){.tp = n->tp,
		.methods = ALL_AUTHS,
		.pubkey_algs = ALGS,
		.max_tries = MAX_TRIES,
		.banner = cslice_str("welcome\r\n"),
		.fail_delay_us = n->plan->fail_delay_us};
	err_t e = n->role == TP_CLIENT ? au_client_new(&n->client, &n->client_env)
				       : au_server_new(&n->server, &n->server_env);
	assert(e == OK);
}

void sim_node_init(struct sim_node *n, const struct sim_plan *p, enum tp_role role)
{
	*n = (struct sim_node){
		.plan = p, .role = role, .ask_us = SIM_NEVER, .au_ask_us = SIM_NEVER};
	n->app_us = n->rekey_us = n->global_us = SIM_NEVER;
	rng_seeded_init(&n->rng, p->seed * 2 + (uint64_t)role);
	rng_seeded_init(&n->dice, p->seed * 3 + (uint64_t)role);
	rng_seeded_init(&n->freezer, p->seed * 5 + (uint64_t)role);
	chunk_pool_init(&n->pool, 16 * CHUNK_SIZE);
	n->policy = (struct alg_policy){
		p->kex, ALGS, p->cipher, p->cipher, p->mac, p->mac, p->comp, p->comp};
	n->env = (struct tp_env){.role = role,
		.policy = &n->policy,
		.pool = &n->pool,
		.rng = &n->rng.rng,
		.limits = p->limits[role],
		.version = role == TP_SERVER ? "SSH-2.0-Bowline_sim_s" : "SSH-2.0-Bowline_sim_c",
		.hostkeys = hostkeys,
		.hostkeys_n = role == TP_SERVER ? 1 : 0,
		.use_fast = (p->seed + (uint64_t)role) % 3 != 0};
	err_t e = tp_new(&n->tp, &n->env, 0);
	assert(e == OK);
	init_login(n);
}

void sim_node_done(struct sim_node *n)
{
	sim_app_done(n);
	au_client_free(n->client);
	au_server_free(n->server);
	tp_free(n->tp);
	HOLDS(n->pool.used == 0);
	chunk_pool_done(&n->pool);
}

void sim_node_fail(struct sim_node *n, err_t e)
{
	if (e == OK || n->err != OK)
		return;
	n->err = e;
	n->ask_us = n->au_ask_us = n->app_us = n->rekey_us = n->global_us = SIM_NEVER;
	tp_fail(n->tp, e);
	HOLDS(tp_error(n->tp) != OK);
	sim_note(n, (uint64_t)e);
}

void sim_node_hand_over(struct sim_node *n)
{
	struct buf b;
	struct tp *next;
	if (!n->freezes || !n->is_in || n->err != OK || rng_below(&n->freezer.rng, 8) != 0)
		return;
	buf_init(&b, (size_t)64 << 20);
	if (tp_freeze(n->tp, &b) == OK) {
		/* its age is counted up to the time that it was told last */
		err_t e = tp_thaw(&next, &n->env, buf_bytes(&b), n->told_us);
		HOLDS(e == OK);
		if (e == OK) {
			tp_free(n->tp);
			n->tp = next;
			n->freezes_n++;
		}
		if (n->cn != NULL)
			n->cn->tp = n->cn->out.tp = n->tp;
	}
	buf_done(&b);
}

/* ---- questions ---- */

static uint64_t later(struct sim_node *n)
{
	return n->plan->is_late ? n->now_us + sim_roll(n, 30000) : n->now_us;
}

static void answer(struct sim_node *n)
{
	struct buf b;
	struct cslice data = cslice_of(NULL, 0);
	err_t e = OK;
	n->ask_us = SIM_NEVER;
	buf_init(&b, 4096);
	if (n->ask.type == TP_EV_ASK_SIGN) {
		e = key_sign(hostkey, n->ask.alg, cslice_of(n->ask.body.p, n->ask.body.n), &b);
		data = buf_bytes(&b);
	} else if (n->ask.type == TP_EV_ASK_GROUP) {
		data = buf_bytes(&group);
	} else if (!cslice_eq(cslice_of(n->ask.body.p, n->ask.body.n), buf_bytes(&hostkey_blob))) {
		e = E_HOSTKEY;
	}
	sim_node_fail(n, tp_answer(n->tp, n->ask.ask, e, data));
	buf_done(&b);
}

/* The server's side of a login: everything is checked for real. */
static err_t judge_key(struct sim_node *n, const struct au_event *ev)
{
	struct key *k = NULL;
	struct buf tbs;
	err_t e = key_parse_blob(&k, ev->blob);
	if (e == OK && !key_equal_public(k, key_right))
		e = E_DENIED;
	buf_init(&tbs, 65536);
	if (e == OK && ev->type == AU_EV_ASK_VERIFY) {
		struct cslice host = ev->is_hostbound ? tp_hostkey_blob(n->tp) : cslice_of(NULL, 0);
		e = au_pubkey_tbs(
			tp_session_id(n->tp), ev->user, ev->service, ev->alg, ev->blob, host, &tbs);
		if (e == OK)
			e = key_verify(k, ev->alg, buf_bytes(&tbs), ev->data);
		if (e == OK && n->plan->login == SIM_PARTIAL)
			e = E_PARTIAL;
	}
	buf_done(&tbs);
	key_free(k);
	return e;
}

static void answer_server(struct sim_node *n, const struct au_event *ev)
{
	static const uint8_t prompt[] = {
		0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, '?', 0};
	struct cslice data = cslice_of(NULL, 0);
	err_t e = E_DENIED;
	if (ev->type == AU_EV_ASK_USER)
		e = OK;
	else if (ev->type == AU_EV_ASK_KEY || ev->type == AU_EV_ASK_VERIFY)
		e = judge_key(n, ev);
	else if (ev->type == AU_EV_ASK_PASSWORD_CHECK)
		e = cslice_eq_str(ev->data, "secret") ? OK : E_DENIED;
	else if (ev->type == AU_EV_ASK_KBDINT && ev->attempt > 0)
		e = cslice_eq(ev->data, cslice_of("\0\0\0\6secret", 10)) ? OK : E_DENIED;
	else if (ev->type == AU_EV_ASK_KBDINT)
		e = E_AGAIN;
	if (e == E_PARTIAL)
		data = cslice_str("password");
	if (e == E_AGAIN)
		data = cslice_of(prompt, sizeof(prompt));
	bool proves = ev->type != AU_EV_ASK_USER && ev->type != AU_EV_ASK_KEY;
	n->half_in = n->half_in || (proves && e == OK);
	sim_node_fail(n, au_server_answer(n->server, ev->ask, e, data));
}

static void answer_client(struct sim_node *n, const struct au_event *ev)
{
	struct buf b;
	err_t e = OK;
	buf_init(&b, 4096);
	if (ev->type == AU_EV_ASK_SIGN)
		e = key_sign(n->ids[ev->id].pub, ev->alg, ev->data, &b);
	else if (ev->type == AU_EV_ASK_PASSWORD)
		buf_put(&b, n->passwords_n ? "secret" : "wrong!", 6);
	else
		buf_put_cstring(&b, "secret");
	n->passwords_n = n->passwords_n || ev->type == AU_EV_ASK_PASSWORD;
	HOLDS(e == OK);
	sim_node_fail(n, au_client_answer(n->client, ev->ask, e, buf_bytes(&b)));
	buf_done(&b);
}

static void au_answer(struct sim_node *n)
{
	n->au_ask_us = SIM_NEVER;
	if (n->server != NULL)
		answer_server(n, &n->au_ask);
	else
		answer_client(n, &n->au_ask);
}

/* ---- authentication ---- */

/* Logged in: the layer has done its work, the connection begins. */
static void go_in(struct sim_node *n)
{
	HOLDS(tp_is_open(n->tp));
	HOLDS(n->role == TP_CLIENT || n->half_in);
	n->is_in = true;
	n->in_us = n->now_us;
	au_client_free(n->client);
	au_server_free(n->server);
	n->client = NULL;
	n->server = NULL;
	sim_node_hand_over(n);
	sim_app_start(n);
}

static bool au_step(struct sim_node *n)
{
	struct au_event ev;
	if (n->err != OK || (n->client == NULL && n->server == NULL))
		return false;
	if (n->server != NULL && n->now_us >= au_server_deadline(n->server))
		sim_node_fail(n, au_server_tick(n->server, n->now_us));
	if (n->err != OK)
		return false;
	err_t e =
		n->server != NULL ? au_server_poll(n->server, &ev) : au_client_poll(n->client, &ev);
	sim_node_fail(n, e);
	if (e != OK || ev.type == AU_EV_NONE)
		return false;
	sim_note(n, 1000 + (uint64_t)ev.type);
	if (ev.ask != 0) {
		n->au_ask = ev;
		n->au_ask_us = later(n);
	} else if (ev.type == AU_EV_SUCCESS || ev.type == AU_EV_LOGGED_IN) {
		HOLDS(!ev.is_trivial);
		go_in(n);
	} else {
		HOLDS(ev.type != AU_EV_FAILED || n->plan->harm != SIM_HONEST);
		if (ev.type == AU_EV_FAILED)
			sim_node_fail(n, E_AUTH);
	}
	return true;
}

/* ---- the transport ---- */

static void event(struct sim_node *n, struct tp_event *ev)
{
	sim_note(n, (uint64_t)ev->type << 8 | ev->msg);
	if (ev->ask != 0) {
		n->ask = *ev;
		n->ask_us = later(n);
		return;
	}
	if (ev->type == TP_EV_KEYS) {
		n->is_keyed = true;
		n->rekeys_n += !ev->first;
	}
	if (ev->type == TP_EV_CLOSED) {
		HOLDS(tp_error(n->tp) == E_DISCONNECTED);
		n->err = E_DISCONNECTED;
		n->ask_us = n->au_ask_us = n->app_us = n->rekey_us = n->global_us = SIM_NEVER;
	}
	if (ev->type != TP_EV_MSG)
		return;
	struct cslice body = cslice_of(ev->body.p, ev->body.n);
	if (ev->msg >= SSH_MSG_global_request) {
		HOLDS(n->is_in);
		sim_app_message(n, ev->msg, ev->body);
	} else if (n->server != NULL) {
		sim_node_fail(n, au_server_msg(n->server, ev->msg, body, n->now_us));
	} else if (n->client != NULL) {
		sim_node_fail(n, au_client_msg(n->client, ev->msg, body));
	} else {
		sim_node_fail(n, E_UNEXPECTED);
	}
}

static bool poll(struct sim_node *n)
{
	struct tp_event ev;
	if (n->err != OK || (n->server != NULL && au_server_busy(n->server)))
		return false;
	err_t e = tp_poll(n->tp, &ev);
	HOLDS(e == tp_error(n->tp) || (e == OK && ev.type == TP_EV_CLOSED));
	sim_node_fail(n, e);
	if (e != OK)
		return false;
	if (ev.type != TP_EV_NONE) {
		event(n, &ev);
		return true;
	}
	if (n->client != NULL && n->is_keyed && !n->is_started) {
		n->is_started = true;
		sim_node_fail(n, au_client_start(n->client));
		return true;
	}
	return false;
}

static bool receive(struct sim_node *n)
{
	if (n->err != OK || sim_link_due(n->in) > n->now_us) {
		bool is_end = n->in->is_cut && n->in->n == 0 && n->err == OK;
		if (is_end)
			sim_node_fail(n, tp_fed_eof(n->tp));
		return is_end;
	}
	struct slice room = tp_space(n->tp);
	if (room.n == 0)
		return false;
	size_t got = sim_link_take(n->in, room.p, num_min(room.n, SIM_PIECE), n->now_us);
	n->told_us = n->now_us;
	sim_node_fail(n, tp_fed(n->tp, got, n->now_us));
	return true;
}

/* Gathered, so that the ends of the transport's memory are not seen on the wire. */
static bool transmit(struct sim_node *n)
{
	uint8_t bytes[SIM_PIECE];
	struct iovec iov[8];
	size_t room = num_min(sim_link_room(n->out), sizeof(bytes)), used = 0;
	size_t iov_n = tp_ready(n->tp, iov, ARRAY_N(iov));
	for (size_t i = 0; i < iov_n && used < room; i++) {
		size_t take = num_min(room - used, iov[i].iov_len);
		memcpy(bytes + used, iov[i].iov_base, take);
		used += take;
	}
	if (used == 0)
		return false;
	sim_link_put(n->out, cslice_of(bytes, used), n->now_us);
	tp_sent(n->tp, used);
	return true;
}

static void timers(struct sim_node *n)
{
	if (n->ask_us <= n->now_us)
		answer(n);
	if (n->au_ask_us <= n->now_us)
		au_answer(n);
	if (n->err == OK && n->rekey_us <= n->now_us) {
		n->rekey_us = n->now_us + 1 + sim_roll(n, (uint32_t)n->plan->rekey_every_us);
		sim_node_fail(n, tp_rekey(n->tp));
	}
	if (n->err == OK && tp_deadline(n->tp) <= n->now_us) {
		n->told_us = n->now_us;
		sim_node_fail(n, tp_tick(n->tp, n->now_us));
	}
}

void sim_node_step(struct sim_node *n, uint64_t now_us)
{
	bool moved = !n->is_over;
	n->now_us = now_us;
	while (moved) {
		timers(n);
		moved = poll(n);
		moved |= au_step(n);
		moved |= sim_app_step(n);
		moved |= transmit(n);
		sim_node_hand_over(n);
		if (!moved)
			moved = receive(n);
		HOLDS(n->pool.used <= (SIM_CHUNKS + n->kept_n) * CHUNK_SIZE);
	}
	if (n->cn != NULL)
		sim_app_check(n);
	/* after an error the last words go out, then the wire is cut */
	if (n->err != OK && tp_unsent(n->tp) == 0 && !n->is_over) {
		n->is_over = true;
		n->out->is_cut = true;
	}
}

uint64_t sim_node_due(const struct sim_node *n)
{
	if (n->is_over)
		return SIM_NEVER;
	uint64_t at = n->ask_us;
	uint64_t const all[] = {n->au_ask_us, n->rekey_us, n->app_us, n->global_us,
		tp_deadline(n->tp), n->server != NULL ? au_server_deadline(n->server) : SIM_NEVER};
	for (size_t i = 0; i < ARRAY_N(all); i++)
		at = all[i] < at ? all[i] : at;
	return at;
}
