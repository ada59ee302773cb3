/* SPDX-License-Identifier: ISC */
/* pair - two engines and the wire between them */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "pair.h"
#include "transport/tp_int.h"

static const char all_kex[] =
	"mlkem768x25519-sha256,sntrup761x25519-sha512,sntrup761x25519-sha512@openssh.com,"
	"curve25519-sha256,"
	"curve25519-sha256@libssh.org,ecdh-sha2-nistp256,ecdh-sha2-nistp384,ecdh-sha2-nistp521,"
	"mlkem768nistp256-sha256,diffie-hellman-group-exchange-sha256,diffie-hellman-group-"
	"exchange-sha1,"
	"diffie-hellman-group16-sha512,diffie-hellman-group18-sha512,diffie-hellman-group14-sha256,"
	"diffie-hellman-group14-sha1,diffie-hellman-group1-sha1";
static const char all_hostkeys[] =
	"ssh-ed25519,ecdsa-sha2-nistp256,ecdsa-sha2-nistp384,ecdsa-sha2-nistp521,"
	"ssh-mldsa44-ed25519@openssh.com,rsa-sha2-512,rsa-sha2-256,ssh-rsa";
static const char all_comps[] = "none,zlib@openssh.com";

/* Every row of the table, the default ones first. */
static const char *all_of(enum alg_kind kind)
{
	static char lists[ALG_KIND_N][4096];
	if (lists[kind][0] == '\0') {
		struct buf spec, all;
		struct cslice bad;
		buf_init(&spec, sizeof(lists[kind]));
		buf_init(&all, sizeof(lists[kind]) - 1);
		buf_put_u8(&spec, '+');
		alg_names(kind, false, &spec);
		err_t e = alg_list_apply(kind, false, buf_bytes(&spec), &all, &bad);
		assert(e == OK);
		memcpy(lists[kind], all.p, all.n);
		buf_done(&all);
		buf_done(&spec);
	}
	return lists[kind];
}

/* Chunks go from pair to pair: a fresh megabyte for each would be most of a test's time. */
static struct chunk *stash;
static size_t stash_n;

static void stash_take(struct chunk_pool *pool)
{
	while (stash != NULL && pool->spare_n < 2) {
		struct chunk *c = stash;
		stash = c->next;
		stash_n--;
		c->pool = pool;
		c->next = pool->spare;
		pool->spare = c;
		pool->spare_n++;
	}
}

static void stash_give(struct chunk_pool *pool)
{
	assert(pool->used == 0);
	while (pool->spare != NULL && stash_n < 8) {
		struct chunk *c = pool->spare;
		pool->spare = c->next;
		pool->spare_n--;
		c->next = stash;
		stash = c;
		stash_n++;
	}
	chunk_pool_done(pool);
}

static void end_init(struct end *e, enum tp_role role, uint64_t seed)
{
	*e = (struct end){0};
	chunk_pool_init(&e->pool, 16 * CHUNK_SIZE);
	stash_take(&e->pool);
	rng_seeded_init(&e->rng, seed);
	const char *ciphers = all_of(ALG_CIPHER), *macs = all_of(ALG_MAC);
	e->policy = (struct alg_policy){
		all_kex, all_hostkeys, ciphers, ciphers, macs, macs, all_comps, all_comps};
	buf_init(&e->msgs, (size_t)64 << 20);
	buf_init(&e->words, (size_t)4 << 20);
	for (size_t i = 0; i < ARRAY_N(e->blobs); i++)
		buf_init(&e->blobs[i], 65536);
	e->env.role = role;
	e->env.policy = &e->policy;
	e->env.pool = &e->pool;
	e->env.rng = &e->rng.rng;
	e->env.version =
		role == TP_SERVER ? "SSH-2.0-Bowline_test_s" : "SSH-2.0-Bowline_test_c with words";
	e->env.hostkeys = e->hostkeys;
}

void pair_init(struct pair *p, uint64_t seed)
{
	*p = (struct pair){.cut = PAIR_WHOLE, .now_us = 1000000};
	end_init(&p->c, TP_CLIENT, seed * 2 + 1);
	end_init(&p->s, TP_SERVER, seed * 2 + 2);
	rng_seeded_init(&p->rng, seed);
}

/* Keys are made once a process: RSA takes its time. */
static const struct key *key_of(enum key_type type)
{
	static struct key *made[KEY_TYPE_N];
	if (made[type] == NULL) {
		struct rng_seeded rng;
		rng_seeded_init(&rng, 77 + (uint64_t)type);
		err_t e = key_generate(&made[type], type, type == KEY_RSA ? 2048 : 0, &rng.rng);
		assert(e == OK);
	}
	return made[type];
}

void pair_add_hostkey(struct pair *p, enum key_type type)
{
	struct end *s = &p->s;
	size_t i = s->env.hostkeys_n++;
	assert(i < ARRAY_N(s->hostkeys));
	s->hostkey_of[i] = key_of(type);
	err_t e = key_blob(s->hostkey_of[i], &s->blobs[i]);
	assert(e == OK);
	s->hostkeys[i] = (struct tp_hostkey){buf_bytes(&s->blobs[i])};
}

void pair_start(struct pair *p)
{
	if (p->s.env.hostkeys_n == 0)
		pair_add_hostkey(p, KEY_ED25519);
	p->c.err = tp_new(&p->c.tp, &p->c.env, p->now_us);
	p->s.err = tp_new(&p->s.tp, &p->s.env, p->now_us);
}

static void end_done(struct end *e)
{
	tp_free(e->tp);
	buf_done(&e->msgs);
	buf_done(&e->words);
	for (size_t i = 0; i < ARRAY_N(e->blobs); i++)
		buf_done(&e->blobs[i]);
	stash_give(&e->pool);
}

void pair_done(struct pair *p)
{
	end_done(&p->c);
	end_done(&p->s);
}

/* ---- questions ---- */

/* Group 14, 16 or 18 by what is wished; the smallest does for 3072, to keep tests quick. */
static void group_for(uint32_t want, uint32_t max, struct buf *out)
{
	static struct dh *made[DH_GROUP18 + 1];
	enum dh_group g = want <= 3072 || max < 4096   ? DH_GROUP14
			  : want <= 4096 || max < 8192 ? DH_GROUP16
						       : DH_GROUP18;
	static struct rng_seeded rng;
	rng_seeded_init(&rng, 5);
	if (made[g] == NULL) {
		err_t e = dh_new_group(&made[g], g, 256, &rng.rng);
		if (e != OK)
			return;
	}
	buf_put_mpint(out, dh_p(made[g]));
	buf_put_mpint(out, dh_g(made[g]));
}

static err_t answer_sign(struct end *e, const struct tp_event *ev)
{
	struct buf sig;
	buf_init(&sig, 65536);
	err_t r = key_sign(
		e->hostkey_of[ev->index], ev->alg, cslice_of(ev->body.p, ev->body.n), &sig);
	if (r == OK && e->wrong_signature)
		sig.p[sig.n - 1] ^= 1;
	r = tp_answer(e->tp, ev->ask, r, buf_bytes(&sig));
	buf_done(&sig);
	return r;
}

static err_t answer_group(struct end *e, const struct tp_event *ev)
{
	struct buf group;
	buf_init(&group, 65536);
	group_for(ev->want, ev->max, &group);
	err_t r = tp_answer(e->tp, ev->ask, OK, buf_bytes(&group));
	buf_done(&group);
	return r;
}

void end_answer(struct end *e)
{
	if (!e->is_questioned)
		return;
	e->is_questioned = false;
	struct tp_event ev = e->question;
	err_t r = OK;
	if (ev.type == TP_EV_ASK_HOSTKEY)
		r = tp_answer(e->tp, ev.ask, e->hostkey_verdict, cslice_of(NULL, 0));
	else if (ev.type == TP_EV_ASK_SIGN)
		r = answer_sign(e, &ev);
	else
		r = answer_group(e, &ev);
	if (r != OK)
		e->err = r;
}

static void words(struct end *e, const struct tp_event *ev)
{
	buf_put(&e->words, ev->body.p, ev->body.n);
	buf_put_u8(&e->words, '\n');
}

static void note(struct end *e, const struct tp_event *ev)
{
	if (ev->type == TP_EV_MSG && e->on_msg != NULL) {
		e->on_msg(e, ev);
		return;
	}
	assert(e->events_n < PAIR_EVENTS_MAX);
	e->events[e->events_n++] = (uint8_t)ev->type;
	e->asked_hostkey += ev->type == TP_EV_ASK_HOSTKEY;
	e->asked_sign += ev->type == TP_EV_ASK_SIGN;
	e->asked_group += ev->type == TP_EV_ASK_GROUP;
	switch (ev->type) {
	case TP_EV_MSG:
		buf_put_u8(&e->msgs, ev->msg);
		buf_put_string(&e->msgs, cslice_of(ev->body.p, ev->body.n));
		e->msgs_n++;
		if (e->reopen_on_success && ev->msg == SSH_MSG_userauth_success)
			tp_set_open(e->tp);
		break;
	case TP_EV_DEBUG:
	case TP_EV_CLOSED:
	case TP_EV_PRE_VERSION:
		words(e, ev);
		break;
	case TP_EV_ASK_HOSTKEY:
	case TP_EV_ASK_SIGN:
	case TP_EV_ASK_GROUP:
		e->question = *ev;
		e->is_questioned = true;
		break;
	default:
		break;
	}
}

void end_poll(struct end *e)
{
	for (;;) {
		struct tp_event ev;
		err_t r = tp_poll(e->tp, &ev);
		if (r != OK) {
			e->err = r;
			return;
		}
		if (ev.type == TP_EV_NONE)
			return;
		note(e, &ev);
		if (e->is_questioned && !e->is_late)
			end_answer(e);
	}
}

/* ---- the wire ---- */

static size_t piece(struct pair *p, size_t n)
{
	if (p->cut == PAIR_BYTES)
		return 1;
	if (p->cut == PAIR_RANDOM)
		return num_min(
			n, 1 + rng_below(&p->rng.rng, rng_below(&p->rng.rng, 4) == 0 ? 65536 : 64));
	return n;
}

bool pair_move(struct pair *p, struct end *from, struct end *to)
{
	struct iovec iov;
	bool moved = false;
	while (to->err == OK && tp_ready(from->tp, &iov, 1) > 0) {
		struct slice room = tp_space(to->tp);
		if (room.n == 0) {
			end_poll(to);
			room = tp_space(to->tp);
			if (room.n == 0)
				break;
		}
		size_t n = num_min(piece(p, iov.iov_len), room.n);
		memcpy(room.p, iov.iov_base, n);
		tp_sent(from->tp, n);
		p->moved += n;
		moved = true;
		err_t e = tp_fed(to->tp, n, p->now_us);
		if (e != OK)
			to->err = e;
		end_poll(to);
	}
	return moved;
}

void pair_run(struct pair *p)
{
	bool moved = true;
	while (moved) {
		end_poll(&p->c);
		end_poll(&p->s);
		moved = pair_move(p, &p->c, &p->s);
		moved |= pair_move(p, &p->s, &p->c);
	}
}

void end_feed(struct end *e, const void *bytes, size_t n, enum pair_cut cut)
{
	const uint8_t *at = bytes;
	while (n > 0 && e->err == OK) {
		struct slice room = tp_space(e->tp);
		if (room.n == 0)
			return;
		size_t take = cut == PAIR_BYTES ? 1 : num_min(n, room.n);
		memcpy(room.p, at, take);
		err_t r = tp_fed(e->tp, take, 1000000);
		if (r != OK)
			e->err = r;
		end_poll(e);
		at += take;
		n -= take;
	}
}

void end_take(struct end *e, struct buf *out)
{
	struct iovec iov;
	while (tp_ready(e->tp, &iov, 1) > 0) {
		buf_put(out, iov.iov_base, iov.iov_len);
		tp_sent(e->tp, iov.iov_len);
	}
}

uint32_t end_count(const struct end *e, enum tp_ev_type type)
{
	uint32_t n = 0;
	for (size_t i = 0; i < e->events_n; i++)
		n += e->events[i] == type;
	return n;
}

struct cslice end_msg(const struct end *e, uint32_t i, uint8_t *number)
{
	struct rd r = rd_of(buf_bytes(&e->msgs));
	for (;;) {
		*number = rd_u8(&r);
		struct cslice body = rd_str(&r);
		assert(!r.bad);
		if (i-- == 0)
			return body;
	}
}

err_t end_say(struct end *e, const void *bytes, size_t n)
{
	return tp_put(e->tp, channel_data, .recipient = 0, .data = cslice_of(bytes, n));
}

void end_force(struct end *e, uint8_t msg, const void *body, size_t n)
{
	err_t r = tp_out_msg(e->tp, msg, cslice_of(body, n));
	assert(r == OK);
}

void end_kexinit(struct end *e, const char *pseudo, bool guess)
{
	struct buf names, *b = &e->tp->kex.my_init;
	const struct alg_policy *p = &e->policy;
	buf_init(&names, 65536);
	buf_printf(&names, pseudo != NULL ? "%s,%s" : "%s", p->kex, pseudo);
	buf_clear(b);
	buf_put_u8(b, SSH_MSG_kexinit);
	buf_put(b, "0123456789abcdef", 16);
	buf_put_string(b, buf_bytes(&names));
	const char *lists[] = {p->hostkey, p->cipher_c2s, p->cipher_s2c, p->mac_c2s, p->mac_s2c,
		p->comp_c2s, p->comp_s2c, "", ""};
	for (size_t i = 0; i < ARRAY_N(lists); i++)
		buf_put_cstring(b, lists[i]);
	buf_put_u8(b, guess);
	buf_put_u32(b, 0);
	end_force(e, SSH_MSG_kexinit, b->p + 1, b->n - 1);
	e->tp->kex.is_sent = true;
	buf_done(&names);
}

void pair_open(struct pair *p)
{
	tp_set_open(p->c.tp);
	tp_set_open(p->s.tp);
}
