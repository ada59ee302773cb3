/* SPDX-License-Identifier: ISC */
/*
 * sim - two transport engines on a virtual clock, on lines that delay, cut into pieces, stall, flip
 *bits and break
 *
 *	sim [FIRST [COUNT]]
 *
 * A run is a pure function of its seed.  Each logs in as far as the transport needs it, then both
 *sides stream counted bytes while rekeys, PINGs, hand-overs and late answers happen at random.
 *After every step the rules below are checked; a seed that ever failed stays in `kept`.
 *
 *   - the bytes taken in are a prefix of the bytes sent, in order
 *   - both ends agree on the session id, from the first keys on
 *   - memory stays under its budget
 *   - on an honest line everything arrives; on a hostile one an end that goes on has been told
 *nothing wrong
 *   - nobody waits for ever: when nothing is under way and something is owed, that is a failure (an
 *honest line)
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algorithm/alg.h"
#include "key/key.h"
#include "transport/tp.h"

#define SEGS_MAX  4096
#define STEPS_MAX 400000
#define HOUR_US   ((uint64_t)3600 * 1000000)

static const uint64_t kept[] = {1, 2, 3};

enum harm { HONEST, FLIP, DROP, REPEAT, BREAK, HARM_N };

struct seg {
	uint64_t at_us;
	uint8_t *p;
	size_t n;
};

struct line {
	struct seg v[SEGS_MAX]; /* ring, in order */
	size_t first, n;
	uint64_t delay_us, rate; /* bytes a millisecond */
	uint64_t free_us;        /* when the sender may send again */
	uint64_t carried;
	uint64_t harm_at; /* byte that is harmed; 0 = none */
	enum harm harm;
	bool is_broken;
};

struct side {
	const char *name;
	struct tp *tp;
	struct tp_env env;
	struct chunk_pool pool;
	struct rng_seeded rng;
	struct line *out;
	struct side *peer;
	bool is_server, is_up, is_eof;
	err_t err;
	uint64_t sent, got, want; /* stream bytes */
	uint64_t rekeys_due, pings;
	struct tp_event question;
	uint64_t answer_us; /* 0 = none is open */
};

struct sim {
	uint64_t seed, now_us;
	struct rng_seeded rng;
	struct alg_policy policy;
	struct line lines[2];
	struct side c, s;
	struct buf blob;
	struct tp_hostkey hostkey;
	const char *fault; /* what rule was broken */
};

static struct key *host_key;

static uint32_t dice(struct sim *m, uint32_t n)
{
	return rng_below(&m->rng.rng, n);
}

static void broken(struct sim *m, const char *rule)
{
	if (m->fault == NULL)
		m->fault = rule;
}

static uint8_t stream_byte(uint64_t at, bool from_server)
{
	uint64_t x = at * 0x9e3779b97f4a7c15u + from_server;
	return (uint8_t)(x >> 56);
}

/* ---- the lines ---- */

static void line_push(struct sim *m, struct line *l, const uint8_t *p, size_t n)
{
	struct seg *s = &l->v[(l->first + l->n) % SEGS_MAX];
	uint64_t before = l->n > 0 ? l->v[(l->first + l->n - 1) % SEGS_MAX].at_us : 0;
	uint64_t at = m->now_us + l->delay_us + dice(m, 1000);
	*s = (struct seg){at > before ? at : before, malloc(n), n};
	if (s->p == NULL)
		abort();
	memcpy(s->p, p, n);
	l->n++;
}

/* One piece of an end's output goes on the line, harmed when its time has come. */
static bool line_send(struct sim *m, struct side *from)
{
	struct line *l = from->out;
	struct iovec iov;
	if (l->is_broken || l->n + 2 > SEGS_MAX || m->now_us < l->free_us ||
		tp_ready(from->tp, &iov, 1) == 0)
		return false;
	uint32_t most = dice(m, 8) == 0 ? 16 : dice(m, 3) == 0 ? 1500 : 70000;
	size_t n = num_min(iov.iov_len, 1 + dice(m, most));
	bool is_hit = l->harm_at > l->carried && l->harm_at <= l->carried + n;
	uint8_t *p = iov.iov_base;
	size_t at = is_hit ? (size_t)(l->harm_at - l->carried) - 1 : 0;
	if (is_hit && l->harm == FLIP)
		p[at] ^= (uint8_t)(1 << dice(m, 8));
	if (is_hit && l->harm == BREAK) {
		l->is_broken = true;
		n = at;
	}
	if (n > 0 && !(is_hit && l->harm == DROP))
		line_push(m, l, p, n);
	if (is_hit && l->harm == REPEAT)
		line_push(m, l, p, n);
	l->carried += n;
	l->free_us = m->now_us + n * 1000 / l->rate + (dice(m, 50) == 0 ? dice(m, 3000000) : 0);
	tp_sent(from->tp, n);
	return true;
}

static void seg_pop(struct line *l)
{
	free(l->v[l->first].p);
	l->first = (l->first + 1) % SEGS_MAX;
	l->n--;
}

/* ---- an end ---- */

static void answer(struct sim *m, struct side *e)
{
	struct tp_event *q = &e->question;
	struct buf sig;
	buf_init(&sig, 4096);
	err_t r = OK;
	if (q->type == TP_EV_ASK_SIGN)
		r = key_sign(host_key, q->alg, cslice_of(q->body.p, q->body.n), &sig);
	e->answer_us = 0;
	r = tp_answer(e->tp, q->ask, r, buf_bytes(&sig));
	buf_done(&sig);
	if (r != OK)
		e->err = r;
	(void)m;
}

static void take_data(struct sim *m, struct side *e, struct cslice body)
{
	struct ssh_channel_data d;
	if (ssh_get_channel_data(body, &d) != OK) {
		broken(m, "a message came out that was not put in");
		return;
	}
	for (size_t i = 0; i < d.data.n; i++)
		if (d.data.p[i] != stream_byte(e->got + i, !e->is_server))
			broken(m, "a byte came out that was not put in");
	e->got += d.data.n;
	if (e->got > e->peer->sent)
		broken(m, "more came out than was put in");
}

static void put(struct side *e, err_t r)
{
	if (r != OK && e->err == OK)
		e->err = r;
}

static void take_msg(struct sim *m, struct side *e, const struct tp_event *ev)
{
	struct cslice body = {ev->body.p, ev->body.n};
	switch (ev->msg) {
	case SSH_MSG_service_request:
		put(e, tp_put(e->tp, service_accept, .service = cslice_str("\0\0\0\0")));
		break;
	case SSH_MSG_service_accept:
		put(e, tp_put(e->tp, userauth_request, .user = cslice_str("u"),
			       .service = cslice_str("s"), .method = cslice_str("none")));
		break;
	case SSH_MSG_userauth_request:
		put(e, tp_put(e->tp, userauth_success));
		tp_set_open(e->tp);
		e->is_up = true;
		break;
	case SSH_MSG_userauth_success:
		tp_set_open(e->tp);
		e->is_up = true;
		break;
	case SSH_MSG_channel_data:
		take_data(m, e, body);
		break;
	default:
		broken(m, "a message came out that nobody sent");
		break;
	}
}

static void check_keys(struct sim *m)
{
	struct cslice a = tp_session_id(m->c.tp), b = tp_session_id(m->s.tp);
	if (a.n > 0 && b.n > 0 && !cslice_eq(a, b))
		broken(m, "the session ids differ");
}

static void poll(struct sim *m, struct side *e)
{
	struct tp_event ev;
	while (e->err == OK) {
		err_t r = tp_poll(e->tp, &ev);
		if (r != OK) {
			e->err = r;
			return;
		}
		if (ev.type == TP_EV_NONE)
			return;
		if (ev.type == TP_EV_ASK_HOSTKEY || ev.type == TP_EV_ASK_SIGN) {
			e->question = ev;
			e->answer_us = m->now_us + 1 + (dice(m, 3) == 0 ? dice(m, 500000) : 0);
		} else if (ev.type == TP_EV_MSG) {
			take_msg(m, e, &ev);
		} else if (ev.type == TP_EV_KEYS) {
			check_keys(m);
			if (ev.first && !e->is_server)
				put(e, tp_put(e->tp, service_request,
					       .service = cslice_str("ssh-userauth")));
		}
	}
}

/* What has arrived by now goes in. */
static bool receive(struct sim *m, struct side *e)
{
	struct line *l = e->peer->out;
	if (e->err != OK)
		return false;
	if (l->n == 0) {
		if (!l->is_broken || e->is_eof)
			return false;
		e->is_eof = true;
		put(e, tp_fed_eof(e->tp));
		return true;
	}
	struct seg *s = &l->v[l->first];
	if (s->at_us > m->now_us)
		return false;
	struct slice room = tp_space(e->tp);
	if (room.n == 0) {
		poll(m, e);
		return false;
	}
	size_t n = num_min(room.n, s->n);
	memcpy(room.p, s->p, n);
	put(e, tp_fed(e->tp, n, m->now_us));
	if (n == s->n) {
		seg_pop(l);
	} else {
		memmove(s->p, s->p + n, s->n - n);
		s->n -= n;
	}
	poll(m, e);
	return true;
}

static void fill(struct side *e, uint8_t *p, size_t n, uint64_t at)
{
	for (size_t i = 0; i < n; i++)
		p[i] = stream_byte(at + i, e->is_server);
}

/* Sends a piece of the stream. */
static bool stream(struct sim *m, struct side *e)
{
	if (!e->is_up || e->err != OK || e->sent == e->want)
		return false;
	struct tp_bulk b = {.head_n = 8, .data_max = 1 + dice(m, 32768), .want = e->want - e->sent};
	if (tp_reserve_bulk(e->tp, SSH_MSG_channel_data, &b) != OK)
		return false;
	size_t n = 0;
	for (uint32_t i = 0; i < b.n; i++) {
		be32_put(b.v[i].head, 0);
		be32_put(b.v[i].head + 4, (uint32_t)b.v[i].data_n);
		fill(e, b.v[i].data, b.v[i].data_n, e->sent + n);
		n += b.v[i].data_n;
	}
	e->sent += n; /* before: the commit may already start an exchange */
	put(e, tp_commit_bulk(e->tp, n));
	return true;
}

/* The engine goes into bytes and comes back. */
static void hand_over(struct sim *m, struct side *e)
{
	struct buf b;
	struct tp *tp;
	buf_init(&b, (size_t)64 << 20);
	if (tp_freeze(e->tp, &b) == OK) {
		tp_free(e->tp);
		if (tp_thaw(&tp, &e->env, buf_bytes(&b), m->now_us) != OK)
			abort();
		e->tp = tp;
	}
	buf_done(&b);
}

/* Something that no one expects. */
static void surprise(struct sim *m, struct side *e)
{
	if (!e->is_up || e->err != OK)
		return;
	err_t r = OK;
	switch (dice(m, 40)) {
	case 0:
		r = tp_rekey(e->tp);
		break;
	case 1:
		r = tp_put(e->tp, ping, .data = cslice_str("PING!"));
		break;
	case 2:
		r = tp_put(e->tp, ignore, .data = cslice_str("noise"));
		break;
	case 3:
		hand_over(m, e);
		break;
	case 4:
		r = tp_tick(e->tp, m->now_us);
		break;
	default:
		break;
	}
	put(e, r == E_AGAIN ? OK : r);
}

/* ---- a run ---- */

static void side_init(struct sim *m, struct side *e, bool is_server)
{
	e->name = is_server ? "server" : "client";
	e->is_server = is_server;
	chunk_pool_init(&e->pool, 12 * CHUNK_SIZE);
	rng_seeded_init(&e->rng, m->seed * 2 + is_server);
	e->env.role = is_server ? TP_SERVER : TP_CLIENT;
	e->env.policy = &m->policy;
	e->env.pool = &e->pool;
	e->env.rng = &e->rng.rng;
	e->env.version = is_server ? "SSH-2.0-Bowline_sim" : "SSH-2.0-Bowline_sim c";
	e->env.hostkeys = &m->hostkey;
	e->env.hostkeys_n = is_server ? 1 : 0;
	e->env.lazy_fast = dice(m, 2) == 0;
	e->env.use_fast = (m->seed + is_server) % 3 == 0;
	e->env.wait_version = dice(m, 4) == 0;
	e->env.limits.high_water = (size_t)1 << (12 + dice(m, 10));
	e->env.limits.rekey_bytes = dice(m, 2) == 0 ? 0 : (uint64_t)1 << (10 + dice(m, 12));
	e->env.limits.rekey_us = dice(m, 3) == 0 ? 1000000 + dice(m, 10000000) : 0;
	e->out = &m->lines[is_server];
	e->peer = is_server ? &m->c : &m->s;
	e->want = dice(m, 4) == 0 ? dice(m, 2000) : dice(m, 600000);
	if (tp_new(&e->tp, &e->env, m->now_us) != OK)
		abort();
}

static void line_init(struct sim *m, struct line *l, enum harm harm)
{
	l->delay_us = dice(m, 3) == 0 ? dice(m, 200000) : dice(m, 2000);
	l->rate = 10 + dice(m, dice(m, 2) == 0 ? 100 : 100000);
	l->harm = harm;
	if (harm != HONEST)
		l->harm_at = 1 + dice(m, dice(m, 2) == 0 ? 3000 : 300000);
}

static void sim_init(struct sim *m, uint64_t seed)
{
	*m = (struct sim){.seed = seed, .now_us = 1000000};
	rng_seeded_init(&m->rng, seed);
	static const char *const kexes[] = {
		"curve25519-sha256", "ecdh-sha2-nistp256", "mlkem768x25519-sha256"};
	const struct alg_cipher *cipher = &alg_ciphers[dice(m, (uint32_t)alg_ciphers_n)];
	const struct alg_mac *mac = &alg_macs[dice(m, (uint32_t)alg_macs_n)];
	const char *comp = dice(m, 3) == 0 ? "zlib@openssh.com" : "none";
	m->policy = (struct alg_policy){kexes[dice(m, 3)], "ssh-ed25519", cipher->name,
		cipher->name, mac->name, mac->name, comp, comp};
	buf_init(&m->blob, 4096);
	if (key_blob(host_key, &m->blob) != OK)
		abort();
	m->hostkey = (struct tp_hostkey){buf_bytes(&m->blob)};
	enum harm harm = seed % 2 == 0 ? HONEST : (enum harm)dice(m, HARM_N);
	uint32_t which = dice(m, 2);
	line_init(m, &m->lines[0], which == 0 ? harm : HONEST);
	line_init(m, &m->lines[1], which == 1 ? harm : HONEST);
	side_init(m, &m->c, false);
	side_init(m, &m->s, true);
}

static bool step_side(struct sim *m, struct side *e)
{
	bool moved = false;
	if (e->answer_us != 0 && e->answer_us <= m->now_us && e->err == OK) {
		answer(m, e);
		poll(m, e);
		moved = true;
	}
	moved |= receive(m, e);
	moved |= stream(m, e);
	moved |= line_send(m, e);
	if (moved)
		surprise(m, e);
	if (e->err == OK && tp_deadline(e->tp) <= m->now_us)
		put(e, tp_tick(e->tp, m->now_us));
	if (e->pool.used > e->pool.budget)
		broken(m, "memory beyond the budget");
	return moved;
}

static uint64_t soonest(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* The next moment at which something can happen to this end; UINT64_MAX: none. */
static uint64_t next_of(const struct sim *m, struct side *e)
{
	uint64_t t = UINT64_MAX;
	const struct line *l = e->peer->out;
	struct iovec iov;
	if (e->err == OK && l->n > 0)
		t = soonest(t, l->v[l->first].at_us);
	if (e->err == OK && l->is_broken && l->n == 0 && !e->is_eof)
		t = soonest(t, m->now_us + 1);
	if (e->err == OK && e->answer_us != 0)
		t = soonest(t, e->answer_us);
	if (!e->out->is_broken && tp_ready(e->tp, &iov, 1) > 0)
		t = soonest(t, e->out->free_us);
	return t;
}

static bool is_done(const struct sim *m)
{
	return (m->c.got == m->s.want && m->s.got == m->c.want && m->c.sent == m->c.want &&
		       m->s.sent == m->s.want && m->c.is_up && m->s.is_up) ||
	       (m->c.err != OK && m->s.err != OK);
}

static void sim_loop(struct sim *m)
{
	for (uint32_t steps = 0; steps < STEPS_MAX && m->fault == NULL && !is_done(m); steps++) {
		bool moved = step_side(m, &m->c);
		moved |= step_side(m, &m->s);
		if (moved)
			continue;
		uint64_t t = soonest(next_of(m, &m->c), next_of(m, &m->s));
		if (t == UINT64_MAX)
			return; /* nothing will ever happen again */
		m->now_us = t > m->now_us ? t : m->now_us + 1;
	}
}

/* An end that has nothing more to hear is told so, as a socket would. */
static void sim_end(struct sim *m)
{
	struct side *const sides[] = {&m->c, &m->s};
	for (int i = 0; i < 2; i++)
		if (sides[i]->err == OK)
			put(sides[i], tp_fed_eof(sides[i]->tp));
}

static void sim_free(struct sim *m)
{
	tp_free(m->c.tp);
	tp_free(m->s.tp);
	for (int i = 0; i < 2; i++)
		while (m->lines[i].n > 0)
			seg_pop(&m->lines[i]);
	chunk_pool_done(&m->c.pool);
	chunk_pool_done(&m->s.pool);
	buf_done(&m->blob);
}

static struct {
	uint64_t rekeys, honest, harmed, ended;
} seen;

static bool run(uint64_t seed)
{
	static struct sim m; /* large */
	sim_init(&m, seed);
	sim_loop(&m);
	bool is_honest = m.lines[0].harm == HONEST && m.lines[1].harm == HONEST;
	struct tp_counts counts;
	tp_counts(m.c.tp, &counts);
	seen.rekeys += counts.rekeys;
	*(is_honest ? &seen.honest : &seen.harmed) += 1;
	seen.ended += !is_honest && (m.c.err != OK || m.s.err != OK);
	if (is_honest && (m.c.err != OK || m.s.err != OK))
		broken(&m, "an error on an honest line");
	if (is_honest && !is_done(&m))
		broken(&m, "not everything arrived");
	if (m.fault != NULL)
		printf("seed %llu: %s (client %s %llu of %llu, server %s %llu of %llu, %llu us)\n",
			(unsigned long long)seed, m.fault, err_name(m.c.err),
			(unsigned long long)m.c.got, (unsigned long long)m.s.want,
			err_name(m.s.err), (unsigned long long)m.s.got,
			(unsigned long long)m.c.want, (unsigned long long)m.now_us);
	bool ok = m.fault == NULL;
	sim_end(&m);
	sim_free(&m);
	return ok;
}

int main(int argc, char **argv)
{
	uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000,
		 count = argc > 2 ? strtoull(argv[2], NULL, 10) : 1500;
	struct rng_seeded rng;
	rng_seeded_init(&rng, 7);
	if (crypto_init() != OK || key_generate(&host_key, KEY_ED25519, 0, &rng.rng) != OK)
		return 1;
	unsigned passed = 0, failed = 0;
	for (size_t i = 0; i < ARRAY_N(kept) && argc <= 1; i++)
		*(run(kept[i]) ? &passed : &failed) += 1;
	for (uint64_t seed = first; seed < first + count; seed++)
		*(run(seed) ? &passed : &failed) += 1;
	key_free(host_key);
	printf("%llu rekeys; %llu honest lines; %llu harmed, of which %llu ended by an error\n",
		(unsigned long long)seen.rekeys, (unsigned long long)seen.honest,
		(unsigned long long)seen.harmed, (unsigned long long)seen.ended);
	printf("%u passed, %u failed\n", passed, failed);
	return failed > 0 || passed == 0;
}
