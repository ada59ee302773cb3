/* SPDX-License-Identifier: ISC */
/*
 * keys - from the shared secret to working packet protections (RFC 4253 7.2, 7.3, 8)
 *
 * The key material in use is kept (wiped with the direction): the hand-over between processes needs
 * it, and so does the change to a quicker implementation of the same protection in mid-stream.
 */
#include <stdlib.h>

#include "base/log.h"
#include "transport/tp_int.h"

static void put_public(struct buf *b, const struct kex *k, const struct buf *value)
{
	if (kex_is_mpint(k))
		buf_put_mpint(b, buf_bytes(value));
	else
		buf_put_string(b, buf_bytes(value));
}

/* V_C V_S I_C I_S K_S [group] Q_C Q_S K */
static void put_transcript(struct tp *tp, struct buf *b)
{
	struct tp_kex *x = &tp->kex;
	struct cslice mine = cslice_str(tp->my_version), theirs = buf_bytes(&tp->peer_version);
	struct cslice i_mine = buf_bytes(&x->my_init), i_theirs = buf_bytes(&x->peer_init);
	buf_put_string(b, tp->is_server ? theirs : mine);
	buf_put_string(b, tp->is_server ? mine : theirs);
	buf_put_string(b, tp->is_server ? i_theirs : i_mine);
	buf_put_string(b, tp->is_server ? i_mine : i_theirs);
	buf_put_string(b, buf_bytes(&x->hostkey));
	if (tp->choice.kex->family == KEX_DHGEX) { /* RFC4419 3, 5 */
		if (!x->gex_old)
			buf_put_u32(b, x->gex_min);
		buf_put_u32(b, x->gex_n);
		if (!x->gex_old)
			buf_put_u32(b, x->gex_max);
		buf_put_mpint(b, buf_bytes(&x->gex_p));
		buf_put_mpint(b, buf_bytes(&x->gex_g));
	}
	put_public(b, x->k, &x->qc);
	put_public(b, x->k, &x->qs);
	buf_put(b, x->k_encoded.p, x->k_encoded.n);
}

err_t tp_exchange_hash(struct tp *tp)
{
	struct tp_kex *x = &tp->kex;
	enum hash_id hash = tp->choice.kex->hash;
	buf_clear(&x->transcript);
	put_transcript(tp, &x->transcript);
	TRY(buf_err(&x->transcript));
	TRY(hash_once(hash, buf_bytes(&x->transcript), x->h));
	x->h_n = hash_size(hash);
	return OK;
}

struct cslice tp_transcript(const struct tp *tp, enum hash_id *hash)
{
	bool is_asked = tp->ask == TP_EV_ASK_SIGN;
	if (is_asked)
		*hash = tp->choice.kex->hash;
	return is_asked ? buf_bytes(&tp->kex.transcript) : (struct cslice){NULL, 0};
}

err_t tp_derive(const struct tp_derivation *d, char letter, size_t n, struct secret *out)
{
	size_t step = hash_size(d->hash);
	if (n > SECRET_MAX - HASH_MAX)
		return E_LIMIT;
	struct secret s = {.n = n};
	/* K1 = HASH(K | H | letter | session_id), Kn = HASH(K | H | K1 | ... | Kn-1) */
	struct cslice first[] = {d->k_encoded, d->h, {(const uint8_t *)&letter, 1}, d->session_id};
	err_t e = hash_parts(d->hash, first, ARRAY_N(first), s.b);
	for (size_t have = step; e == OK && have < n; have += step) {
		struct cslice more[] = {d->k_encoded, d->h, {s.b, have}};
		e = hash_parts(d->hash, more, ARRAY_N(more), s.b + have);
	}
	if (e == OK) {
		wipe(s.b + n, SECRET_MAX - n);
		*out = s;
	}
	secret_done(&s);
	return e;
}

/* ---- a direction ---- */

static void ctx_free(const struct pktc *p, void *ctx)
{
	p->done(ctx);
	wipe_free(ctx, p->ctx_size);
}

void tp_way_done(struct tp_way *way)
{
	if (way->ctx != NULL)
		ctx_free(way->pktc, way->ctx);
	compress_free(way->z);
	secret_done(&way->mat.iv);
	secret_done(&way->mat.key);
	secret_done(&way->mat.mac);
	*way = (struct tp_way){.pktc = &pktc_none};
}

struct pktc_at tp_way_at(const struct tp_way *way)
{
	return (struct pktc_at){way->seq, way->packets, way->blocks};
}

void tp_way_iv(const struct tp_way *way, struct secret *iv)
{
	*iv = way->mat.iv;
	if (way->ctx != NULL && way->pktc->chain != NULL)
		way->pktc->chain(way->ctx, tp_way_at(way), iv->b);
}

/* A context of row p for the packet that comes next. */
static err_t ctx_new(const struct tp_way *way, const struct pktc *p, enum pktc_dir dir, void **out)
{
	const struct tp_keymat *m = &way->mat;
	size_t n = ((size_t)p->ctx_size + 63) / 64 * 64;
	void *ctx = aligned_alloc(64, num_max(n, 64));
	if (ctx == NULL)
		return E_MEM;
	memset(ctx, 0, num_max(n, 64));
	struct secret iv;
	tp_way_iv(way, &iv);
	err_t e = p->init(ctx, dir, cslice_of(m->key.b, m->key.n), cslice_of(iv.b, iv.n),
		cslice_of(m->mac.b, m->mac.n));
	secret_done(&iv);
	if (e != OK) {
		p->done(ctx); /* it may be half made */
		wipe_free(ctx, n);
		return e;
	}
	*out = ctx;
	return OK;
}

err_t tp_way_init(struct tp_way *way, enum pktc_dir dir, bool fast)
{
	const struct pktc *p = pktc_for(way->mat.cipher, way->mat.mac_row, fast);
	if (p == NULL)
		return E_UNSUPPORTED;
	void *ctx;
	TRY(ctx_new(way, p, dir, &ctx));
	if (way->ctx != NULL)
		ctx_free(way->pktc, way->ctx);
	way->pktc = p;
	way->ctx = ctx;
	way->is_fast = fast;
	return OK;
}

struct pktc_at tp_at_after(const struct pktc *p, struct pktc_at at, size_t n)
{
	return (struct pktc_at){
		at.seq + 1, at.packet + 1, at.block + (n - p->clear_len) / p->block};
}

err_t tp_way_seal_again(const struct tp_way *way, uint8_t *pkt, size_t packets)
{
	void *ctx;
	TRY(ctx_new(way, way->pktc, PKTC_SEAL, &ctx));
	struct pktc_at at = tp_way_at(way);
	for (; packets > 0; packets--) {
		size_t n = 4 + (size_t)be32_get(pkt);
		way->pktc->seal(ctx, at, pkt, n);
		at = tp_at_after(way->pktc, at, n);
		pkt += n + way->pktc->tag;
	}
	ctx_free(way->pktc, ctx);
	return OK;
}

void tp_way_count(struct tp_way *way, size_t n)
{
	const struct pktc *p = way->pktc;
	size_t unit = n - p->clear_len, cost_block = num_max(p->cost_block, 1);
	struct pktc_at next = tp_at_after(p, tp_way_at(way), n);
	way->seq = next.seq;
	way->packets = next.packet;
	way->blocks = next.block;
	way->cost += (unit + cost_block - 1) / cost_block;
	way->bytes += n + p->tag;
}

void tp_way_hurry(struct tp *tp, struct tp_way *way, enum pktc_dir dir)
{
	if (!tp->env->lazy_fast || way->is_fast || way->mat.cipher == NULL ||
		way->bytes < TP_FAST_AFTER)
		return;
	if (pktc_for(way->mat.cipher, way->mat.mac_row, true) == way->pktc) {
		way->is_fast = true;
		return;
	}
	if (tp_way_init(way, dir, true) != OK)
		log_debug2("the quick packet protection cannot be set up, the other one stays");
	way->is_fast = true; /* no second try */
}

/* ---- NEWKEYS ---- */

static err_t derive(struct tp *tp, char letter, size_t n, struct secret *out)
{
	struct tp_kex *x = &tp->kex;
	struct tp_derivation d = {
		tp->choice.kex->hash, buf_bytes(&x->k_encoded), {x->h, x->h_n}, tp_session_id(tp)};
	return tp_derive(&d, letter, n, out);
}

/* RFC4253 7.2: letters A C E towards the server, B D F towards the client. */
static err_t derive_way(struct tp *tp, bool to_server, struct tp_keymat *m)
{
	size_t mac_n = m->mac_row != NULL ? m->mac_row->key : 0;
	char shift = to_server ? 0 : 1;
	TRY(derive(tp, (char)('A' + shift), m->cipher->iv, &m->iv));
	TRY(derive(tp, (char)('C' + shift), m->cipher->key, &m->key));
	return derive(tp, (char)('E' + shift), mac_n, &m->mac);
}

static err_t install(struct tp *tp, struct tp_way *way, bool is_out)
{
	bool to_server = is_out != tp->is_server;
	const struct alg_choice *c = &tp->choice;
	struct tp_way next = {.pktc = &pktc_none};
	next.mat.cipher = to_server ? c->c2s.cipher : c->s2c.cipher;
	next.mat.mac_row = to_server ? c->c2s.mac : c->s2c.mac;
	next.mat.comp = to_server ? c->c2s.comp : c->s2c.comp;
	err_t e = derive_way(tp, to_server, &next.mat);
	bool fast = tp->env->use_fast || way->is_fast;
	if (e == OK)
		e = tp_way_init(&next, is_out ? PKTC_SEAL : PKTC_OPEN, fast);
	if (e != OK) {
		tp_way_done(&next);
		return e;
	}
	next.seq = tp->is_strict ? 0 : way->seq; /* compat 7.1 kex-strict */
	next.is_keyed = true;
	next.z_on = tp->is_open && next.mat.comp->comp == COMP_ZLIB;
	tp_way_done(way);
	*way = next;
	secret_done(&next.mat.iv); /* the copy on the stack */
	secret_done(&next.mat.key);
	secret_done(&next.mat.mac);
	return OK;
}

static void set_session_id(struct tp *tp)
{
	if (tp->session_id_n > 0)
		return;
	memcpy(tp->session_id, tp->kex.h, tp->kex.h_n);
	tp->session_id_n = tp->kex.h_n;
}

err_t tp_newkeys_send(struct tp *tp)
{
	set_session_id(tp);
	TRY(tp_out_msg(tp, SSH_MSG_newkeys, (struct cslice){NULL, 0}));
	log_debug1("SSH2_MSG_NEWKEYS sent");
	TRY(install(tp, &tp->out_way, true));
	tp->kex.is_out_done = true;
	tp->kex.step = TP_STEP_NEWKEYS;
	log_debug1("expecting SSH2_MSG_NEWKEYS");
	/* RFC8308 2.4: the next packet after the first NEWKEYS */
	return !tp->is_first_done && tp->peer_wants_ext ? tp_ext_info_send(tp) : OK;
}

err_t tp_newkeys_got(struct tp *tp)
{
	log_debug1("SSH2_MSG_NEWKEYS received");
	/* what was opened ahead with the keys that end here is not to be believed any more: as it
	 * came, the new ones will refuse it */
	struct tp_in *in = &tp->in;
	if (in->ahead > 0)
		TRY(tp_way_seal_again(&tp->in_way, in->c->p + in->at, in->ahead));
	in->ahead = 0;
	TRY(install(tp, &tp->in_way, false));
	struct tp_event ev = {.type = TP_EV_KEYS, .first = !tp->is_first_done};
	tp->counts.rekeys += tp->is_first_done;
	tp->is_first_done = true;
	tp->keyed_us = tp->now_us;
	tp_kex_clear(tp);
	tp_event_add(tp, &ev);
	return OK;
}
