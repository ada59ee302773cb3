/* SPDX-License-Identifier: ISC */
/*
 * The three engines of both ends in one process, over a wire in memory: log in, run a command, move
 * data both ways while keys are exchanged anew, and end in order
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "auth/au.h"
#include "connection/cn.h"
#include "pair.h"
#include "transport/tq.h"

#define AMOUNT ((uint64_t)8 << 20)
#define KEPT   4096

struct side {
	struct pair *pair;
	struct end *end;
	struct au_client *client; /* one of the two */
	struct au_server *server;
	struct au_server_env server_env;
	struct cn *cn;
	bool wait_room, is_in, has_chan, is_started, is_closed, peer_eof, is_lazy, eof_said;
	uint32_t chan, status;
	uint64_t sent, got;
	char command[32];
	/* what a lazy sink holds back */
	struct span kept[KEPT];
	size_t kept_n;
};

struct world {
	struct pair pair;
	struct side c, s;
	struct key *key;
	struct au_identity id;
};

/* The byte at a place of the stream: each direction has its own. */
static uint8_t byte_at(const struct side *from, uint64_t at)
{
	uint64_t z = (at + (from->client != NULL)) * 0x9e3779b97f4a7c15u;
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	return (uint8_t)(z >> 56); /* nothing that compresses */
}

/* ---- log in ---- */
static void client_events(struct side *d, const struct key *key)
{
	struct au_event ev;
	for (;;) {
		assert_int_equal(au_client_poll(d->client, &ev), OK);
		if (ev.type == AU_EV_NONE)
			return;
		if (ev.type == AU_EV_SUCCESS) {
			d->is_in = true;
			assert_false(ev.is_trivial);
			continue;
		}
		assert_int_equal(ev.type, AU_EV_ASK_SIGN);
		struct buf sig;
		buf_init(&sig, 4096);
		assert_int_equal(key_sign(key, ev.alg, ev.data, &sig), OK);
		assert_int_equal(au_client_answer(d->client, ev.ask, OK, buf_bytes(&sig)), OK);
		buf_done(&sig);
	}
}

static err_t verify(const struct side *d, const struct au_event *ev, const struct key *authorized)
{
	struct tp *tp = d->end->tp;
	struct cslice host = ev->is_hostbound ? tp_hostkey_blob(tp) : cslice_of(NULL, 0);
	struct key *k = NULL;
	struct buf tbs;
	buf_init(&tbs, 8192);
	err_t e = key_parse_blob(&k, ev->blob);
	if (e == OK)
		e = au_pubkey_tbs(
			tp_session_id(tp), ev->user, ev->service, ev->alg, ev->blob, host, &tbs);
	if (e == OK)
		e = key_verify(k, ev->alg, buf_bytes(&tbs), ev->data);
	if (e == OK && !key_equal_public(k, authorized))
		e = E_DENIED;
	key_free(k);
	buf_done(&tbs);
	return e;
}

static void server_events(struct side *d, const struct key *key)
{
	struct au_event ev;
	for (;;) {
		assert_int_equal(au_server_poll(d->server, &ev), OK);
		if (ev.type == AU_EV_NONE)
			return;
		err_t verdict = ev.type == AU_EV_ASK_VERIFY ? verify(d, &ev, key) : OK;
		if (ev.type == AU_EV_LOGGED_IN)
			d->is_in = true;
		else
			assert_int_equal(
				au_server_answer(d->server, ev.ask, verdict, cslice_of(NULL, 0)),
				OK);
	}
}

/* ---- the session ---- */
static void data_came(struct side *d, const struct side *from, struct cn_event *ev)
{
	for (size_t i = 0; i < ev->span.n; i++)
		if (ev->span.p[i] != byte_at(from, d->got + i))
			fail_msg("byte %llu is wrong", (unsigned long long)(d->got + i));
	d->got += ev->span.n;
	if (!d->is_lazy) {
		cn_consumed(d->cn, d->chan, ev->span.n);
		return;
	}
	assert_true(d->kept_n < KEPT);
	span_keep(&ev->span);
	d->kept[d->kept_n++] = ev->span;
}

/* The lazy sink lets go of everything at once, after a pause. */
static void release(struct side *d)
{
	for (size_t i = 0; i < d->kept_n; i++) {
		cn_consumed(d->cn, d->chan, d->kept[i].n);
		span_drop(&d->kept[i]);
	}
	d->kept_n = 0;
}

static void on_request(struct side *d, const struct cn_event *ev)
{
	if (cslice_eq_str(ev->name, "exec")) {
		struct ssh_exec m;
		assert_int_equal(ssh_get_exec(ev->data, &m), OK);
		assert_true(m.command.n < sizeof(d->command));
		memcpy(d->command, m.command.p, m.command.n);
		assert_true(ev->want_reply);
		assert_int_equal(cn_reply(d->cn, d->chan, true), OK);
		d->is_started = true;
	} else {
		struct ssh_exit_status m;
		assert_true(cslice_eq_str(ev->name, "exit-status"));
		assert_int_equal(ssh_get_exit_status(ev->data, &m), OK);
		d->status = m.status;
	}
}

static void on_event(struct side *d, const struct side *other, struct cn_event *ev)
{
	switch (ev->type) {
	case CN_EV_OPEN:
		d->chan = ev->chan;
		d->has_chan = true;
		assert_int_equal(cn_accept(d->cn, ev->chan), OK);
		break;
	case CN_EV_OPENED: {
		static const uint8_t exec[] = "\0\0\0\3cat";
		assert_int_equal(
			cn_request(d->cn, d->chan, "exec", true, cslice_of(exec, sizeof(exec) - 1)),
			OK);
		break;
	}
	case CN_EV_REPLY:
		assert_true(ev->ok);
		d->is_started = true;
		break;
	case CN_EV_REQUEST:
		on_request(d, ev);
		break;
	case CN_EV_DATA:
		data_came(d, other, ev);
		break;
	case CN_EV_EOF:
		d->peer_eof = true;
		break;
	case CN_EV_CLOSED:
		d->is_closed = true;
		break;
	default:
		assert_int_equal(ev->type, CN_EV_ROOM);
		d->wait_room = false;
	}
}

static void session_events(struct side *d, const struct side *other)
{
	struct cn_event ev;
	for (;;) {
		assert_int_equal(cn_poll(d->cn, &ev), OK);
		if (ev.type == CN_EV_NONE)
			return;
		on_event(d, other, &ev);
	}
}

static struct world *world_of(const struct side *d)
{
	return (struct world *)(void *)((char *)d->pair - offsetof(struct world, pair));
}

static void on_msg(struct end *e, const struct tp_event *ev)
{
	struct side *d = e->arg;
	struct world *w = world_of(d);
	if (ev->msg >= 80) {
		assert_int_equal(cn_msg(d->cn, ev->msg, ev->body), OK);
		session_events(d, d == &w->c ? &w->s : &w->c);
	} else if (d->client != NULL) {
		assert_int_equal(
			au_client_msg(d->client, ev->msg, cslice_of(ev->body.p, ev->body.n)), OK);
		client_events(d, w->key);
	} else {
		assert_int_equal(
			au_server_msg(d->server, ev->msg, cslice_of(ev->body.p, ev->body.n), 0),
			OK);
		server_events(d, w->key);
	}
}

/* Sends what there is room for; true when something went. */
static bool pump(struct side *d)
{
	struct iovec iov[TP_BULK_MAX];
	size_t niov, used = 0;
	if (!d->is_started || d->wait_room || d->sent == AMOUNT)
		return false;
	err_t e = cn_reserve(
		d->cn, d->chan, 0, (size_t)num_min(AMOUNT - d->sent, 100000), iov, &niov);
	d->wait_room = e == E_AGAIN; /* and then it comes only when called */
	if (d->wait_room)
		return false;
	assert_int_equal(e, OK);
	for (size_t i = 0; i < niov; i++)
		for (size_t k = 0; k < iov[i].iov_len; k++)
			((uint8_t *)iov[i].iov_base)[k] = byte_at(d, d->sent + used++);
	assert_int_equal(cn_commit(d->cn, used), OK);
	d->sent += used;
	return true;
}

static void finish(struct side *d)
{
	if (d->sent < AMOUNT || d->eof_said)
		return;
	cn_eof(d->cn, d->chan);
	d->eof_said = true;
}

static bool step(struct side *d, const struct side *other)
{
	bool moved = pump(d);
	session_events(d, other);
	finish(d);
	if (d->server != NULL && d->peer_eof && d->eof_said && d->kept_n == 0 &&
		cn_is_open(d->cn, d->chan)) {
		assert_int_equal(
			cn_request(d->cn, d->chan, "exit-status", false, cslice_of("\0\0\0\7", 4)),
			OK);
		cn_close(d->cn, d->chan);
		moved = true;
	}
	assert_int_equal(cn_flush(d->cn), OK);
	return moved;
}

/* ---- the world ---- */
static void world_init(struct world *w, uint64_t seed)
{
	*w = (struct world){0};
	pair_init(&w->pair, seed);
	w->c = (struct side){.pair = &w->pair, .end = &w->pair.c};
	w->s = (struct side){.pair = &w->pair, .end = &w->pair.s};
	struct rng_seeded rng;
	rng_seeded_init(&rng, seed);
	assert_int_equal(key_generate(&w->key, KEY_ED25519, 0, &rng.rng), OK);
	w->id = (struct au_identity){"id", w->key, true};
}

static void world_keys(struct world *w)
{
	pair_start(&w->pair);
	pair_run(&w->pair);
	assert_int_equal(end_count(&w->pair.c, TP_EV_KEYS), 1);
	struct au_client_env env = {.tp = w->pair.c.tp,
		.user = "alice",
		.methods = "publickey",
		.ids = &w->id,
		.ids_n = 1,
		.pubkey_algs = "ssh-ed25519",
		.hostbound = true};
	assert_int_equal(au_client_new(&w->c.client, &env), OK);
	w->s.server_env = (struct au_server_env){.tp = w->pair.s.tp,
		.methods = "publickey",
		.pubkey_algs = "ssh-ed25519",
		.max_tries = 3};
	assert_int_equal(au_server_new(&w->s.server, &w->s.server_env), OK);
	w->pair.c.on_msg = w->pair.s.on_msg = on_msg;
	w->pair.c.arg = &w->c;
	w->pair.s.arg = &w->s;
	assert_int_equal(cn_new(&w->c.cn, &(struct cn_env){.tp = w->pair.c.tp}), OK);
	assert_int_equal(cn_new(&w->s.cn, &(struct cn_env){.tp = w->pair.s.tp}), OK);
}

static void world_done(struct world *w)
{
	cn_free(w->c.cn);
	cn_free(w->s.cn);
	au_client_free(w->c.client);
	au_server_free(w->s.server);
	pair_done(&w->pair);
	key_free(w->key);
}

static void login_takes_one_round_trip_after_the_keys(void **state)
{
	struct world w;
	(void)state;
	world_init(&w, 1);
	world_keys(&w);
	assert_int_equal(au_client_start(w.c.client), OK);
	client_events(&w.c, w.key);
	assert_true(pair_move(&w.pair, &w.pair.c, &w.pair.s));
	assert_true(w.s.is_in && tp_is_open(w.pair.s.tp));
	assert_true(pair_move(&w.pair, &w.pair.s, &w.pair.c));
	assert_true(w.c.is_in && tp_is_open(w.pair.c.tp));
	world_done(&w);
}

/* compat 7.3: packets with a password come in few sizes, whatever the cipher. */
static void a_password_does_not_show_its_length(void **state)
{
	static const char *const ciphers[] = {
		"chacha20-poly1305@openssh.com", "aes128-gcm@openssh.com", "aes256-ctr"};
	static const char *const macs[] = {"hmac-sha2-256-etm@openssh.com", "hmac-sha2-256"};
	static const char password[] = "0123456789012345678901234567890123456789";
	(void)state;
	for (size_t i = 0; i < ARRAY_N(ciphers) * ARRAY_N(macs); i++) {
		size_t sizes[2] = {0};
		struct world w;
		world_init(&w, 2);
		w.pair.c.policy.cipher_c2s = ciphers[i % ARRAY_N(ciphers)];
		w.pair.c.policy.mac_c2s = macs[i / ARRAY_N(ciphers)];
		world_keys(&w);
		for (size_t n = 1; n < sizeof(password); n++) {
			struct tq q;
			size_t before = tp_unsent(w.pair.c.tp);
			tq_init(&q, w.pair.c.tp, 1000);
			assert_int_equal(tq_put(&q, TQ_PADDED, userauth_info_response, .count = 1,
						 .responses = cslice_of(password, n)),
				OK);
			size_t size = tp_unsent(w.pair.c.tp) - before;
			tq_done(&q);
			size_t at = sizes[0] == 0 || sizes[0] == size ? 0 : 1;
			if (sizes[at] != 0)
				assert_int_equal(sizes[at], size);
			sizes[at] = size;
		}
		assert_int_equal(sizes[0] % 64, sizes[1] == 0 ? sizes[0] % 64 : sizes[1] % 64);
		/* the peer can open it */
		w.pair.s.on_msg = NULL;
		end_poll(&w.pair.s);
		assert_true(pair_move(&w.pair, &w.pair.c, &w.pair.s));
		assert_int_equal(w.pair.s.err, OK);
		assert_int_equal(w.pair.s.msgs_n, sizeof(password) - 1);
		world_done(&w);
	}
}

static void run_session(struct world *w)
{
	world_keys(w);
	assert_int_equal(au_client_start(w->c.client), OK);
	client_events(&w->c, w->key);
	pair_run(&w->pair);
	assert_true(w->c.is_in && w->s.is_in);
	assert_int_equal(cn_open(w->c.cn, "session", cslice_of(NULL, 0), &w->c.chan), OK);
	for (int i = 0; i < 100000 && !(w->c.is_closed && w->s.is_closed); i++) {
		bool moved = step(&w->c, &w->s);
		moved |= step(&w->s, &w->c);
		end_poll(&w->pair.c);
		end_poll(&w->pair.s);
		moved |= pair_move(&w->pair, &w->pair.c, &w->pair.s);
		moved |= pair_move(&w->pair, &w->pair.s, &w->pair.c);
		if (!moved || i % 64 == 63) {
			release(&w->c);
			release(&w->s);
		}
	}
	assert_true(w->c.is_closed && w->s.is_closed);
	assert_int_equal(w->pair.c.err, OK);
	assert_int_equal(w->pair.s.err, OK);
	assert_string_equal(w->s.command, "cat");
	assert_true(w->c.got == AMOUNT && w->s.got == AMOUNT);
	assert_int_equal(w->c.status, 7);
	assert_int_equal(cn_channels(w->c.cn), 0);
	assert_int_equal(cn_channels(w->s.cn), 0);
}

static void a_session_moves_data_both_ways_through_rekeys(void **state)
{
	(void)state;
	/* clang-format off */
	static const struct { const char *cipher, *comp; uint64_t rekey; enum pair_cut cut; bool lazy_c, lazy_s; } rows[] = {
		{"aes128-gcm@openssh.com",        "none",             0,        PAIR_WHOLE,  false, false},
		{"aes128-gcm@openssh.com",        "none",             1 << 20,  PAIR_WHOLE,  false, false},
		{"chacha20-poly1305@openssh.com", "none",             1 << 20,  PAIR_RANDOM, true,  false},
		{"aes256-ctr",                    "none",             2 << 20,  PAIR_RANDOM, true,  true},
		{"aes128-gcm@openssh.com",        "zlib@openssh.com", 1 << 20,  PAIR_WHOLE,  false, true},
	};
	/* clang-format on */
	for (size_t i = 0; i < ARRAY_N(rows); i++) {
		struct world w;
		struct tp_counts counts;
		world_init(&w, i + 10);
		w.pair.cut = rows[i].cut;
		w.pair.c.policy.cipher_c2s = w.pair.c.policy.cipher_s2c = rows[i].cipher;
		w.pair.c.policy.comp_c2s = w.pair.c.policy.comp_s2c = rows[i].comp;
		w.pair.c.policy.kex = "curve25519-sha256";
		w.pair.c.env.limits.rekey_bytes = w.pair.s.env.limits.rekey_bytes = rows[i].rekey;
		w.c.is_lazy = rows[i].lazy_c;
		w.s.is_lazy = rows[i].lazy_s;
		run_session(&w);
		tp_counts(w.pair.c.tp, &counts);
		if (rows[i].rekey == 0 ? counts.rekeys > 1 : counts.rekeys < 3)
			fail_msg("row %zu: %llu rekeys", i, (unsigned long long)counts.rekeys);
		world_done(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(login_takes_one_round_trip_after_the_keys),
		cmocka_unit_test(a_password_does_not_show_its_length),
		cmocka_unit_test(a_session_moves_data_both_ways_through_rekeys),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
