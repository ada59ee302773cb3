/* SPDX-License-Identifier: ISC */
/*
 * freeze - the engine as bytes, and back: one process hands a connection to another between two
 * packets
 *
 * What stands in the environment (policy, limits, randomness, memory) is given again and not
 * carried.  Compression streams are not carried either: at the hand-over, right after login, they
 * have not begun.  The receiving side trusts nothing: every field is read through the codec, every
 * name looked up, every size checked against its row.
 */
#include <stdlib.h>

#include "transport/tp_int.h"

#define MAGIC      0x42575450u /* "BWTP" */
#define EDITION    1u
#define UNSENT_MAX (64u << 20)

/* ---- freeze ---- */

static void put_way(struct buf *b, const struct tp_way *way)
{
	const struct tp_keymat *m = &way->mat;
	buf_put_cstring(b, m->cipher->name);
	buf_put_cstring(b, m->mac_row != NULL ? m->mac_row->name : "");
	buf_put_cstring(b, m->comp->name);
	struct secret iv;
	tp_way_iv(way, &iv); /* where the chain stands, not where it began */
	buf_put_string(b, cslice_of(iv.b, iv.n));
	secret_done(&iv);
	buf_put_string(b, cslice_of(m->key.b, m->key.n));
	buf_put_string(b, cslice_of(m->mac.b, m->mac.n));
	buf_put_u32(b, way->seq);
	buf_put_u64(b, way->packets);
	buf_put_u64(b, way->blocks);
	buf_put_u64(b, way->cost);
	buf_put_u64(b, way->bytes);
	buf_put_u8(b, way->z_on);
}

static void put_state(struct buf *b, const struct tp *tp)
{
	buf_put_u8(b, tp->is_server);
	buf_put_u8(b, tp->is_open);
	buf_put_u8(b, tp->is_strict);
	buf_put_u8(b, tp->want_rekey);
	buf_put_cstring(b, tp->my_version);
	buf_put_string(b, buf_bytes(&tp->peer_version));
	buf_put_string(b, tp_session_id(tp));
	buf_put_string(b, buf_bytes(&tp->hostkey));
	buf_put_cstring(b, tp->choice.kex->name);
	buf_put_cstring(b, tp->choice.hostkey->name);
	buf_put_u32(b, tp->max_packet);
	buf_put_u32(b, tp->ext_infos);
	buf_put_string(b, buf_bytes(&tp->ext));
	buf_put_string(b, buf_bytes(&tp->pongs));
	buf_put_u64(b, tp->now_us - tp->keyed_us);
	buf_put_u64(b, tp->counts.bytes_in);
	buf_put_u64(b, tp->counts.bytes_out);
	buf_put_u64(b, tp->counts.packets_in);
	buf_put_u64(b, tp->counts.packets_out);
	buf_put_u64(b, tp->counts.rekeys);
}

/* What was opened ahead goes over as it came: the other side may open one by one. */
static err_t put_unread(struct buf *b, const struct tp *tp)
{
	const struct tp_in *in = &tp->in;
	struct cslice unread = {NULL, 0};
	if (in->c != NULL)
		unread = cslice_of(in->c->p + in->at, in->end - in->at);
	buf_put_string(b, unread);
	TRY(buf_err(b));
	return in->ahead == 0 ? OK
			      : tp_way_seal_again(&tp->in_way, b->p + b->n - unread.n, in->ahead);
}

static void put_unsent(struct buf *b, const struct tp_out *o)
{
	buf_put_u32(b, (uint32_t)o->unsent);
	for (size_t i = 0; i < o->n; i++) {
		const struct tp_seg *seg = &o->v[(o->first + i) % TP_SEGS];
		buf_put(b, seg->c->p + seg->at, seg->end - seg->at);
	}
}

static err_t may_freeze(const struct tp *tp)
{
	TRY(tp->err);
	if (!tp->is_first_done || tp_kex_is_active(tp) || tp->out.rsv != NULL ||
		tp->ask != TP_EV_NONE || tp->pending_n > 0 || tp->in.discard != 0)
		return E_PHASE;
	if (tp->in_way.z != NULL || tp->out_way.z != NULL)
		return E_PHASE;
	return OK;
}

err_t tp_freeze(struct tp *tp, struct buf *out)
{
	TRY(may_freeze(tp));
	TRY(buf_err(out));
	size_t before = out->n;
	buf_put_u32(out, MAGIC);
	buf_put_u32(out, EDITION);
	put_state(out, tp);
	put_way(out, &tp->in_way);
	put_way(out, &tp->out_way);
	err_t e = put_unread(out, tp);
	put_unsent(out, &tp->out);
	if (e == OK)
		e = buf_err(out);
	if (e != OK) {
		wipe(out->p + before, out->n - before);
		out->n = before;
	}
	return e;
}

/* ---- thaw ---- */

static bool get_secret(struct rd *r, size_t want, struct secret *out)
{
	struct cslice s = rd_str(r);
	if (r->bad || s.n != want || s.n > SECRET_MAX)
		return false;
	out->n = s.n;
	memcpy(out->b, s.p, s.n);
	return true;
}

static err_t get_keymat(struct rd *r, struct tp_keymat *m)
{
	m->cipher = alg_cipher_find(rd_text(r));
	struct cslice mac = rd_text(r);
	m->mac_row = mac.n > 0 ? alg_mac_find(mac) : NULL;
	m->comp = alg_comp_find(rd_text(r));
	if (r->bad || m->cipher == NULL || m->comp == NULL || (mac.n > 0) != (m->mac_row != NULL))
		return E_FORMAT;
	bool is_aead = (m->cipher->flags & AF_AEAD) != 0;
	if (is_aead != (m->mac_row == NULL))
		return E_FORMAT;
	bool ok = get_secret(r, m->cipher->iv, &m->iv) && get_secret(r, m->cipher->key, &m->key) &&
		  get_secret(r, is_aead ? 0 : m->mac_row->key, &m->mac);
	return ok ? OK : E_FORMAT;
}

static bool get_flag(struct rd *r, bool *out)
{
	uint8_t v = rd_u8(r);
	*out = v == 1;
	return v <= 1;
}

static err_t get_way(struct rd *r, struct tp *tp, struct tp_way *way, enum pktc_dir dir)
{
	TRY(get_keymat(r, &way->mat));
	way->seq = rd_u32(r);
	way->packets = rd_u64(r);
	way->blocks = rd_u64(r);
	way->cost = rd_u64(r);
	way->bytes = rd_u64(r);
	if (!get_flag(r, &way->z_on) || r->bad)
		return E_FORMAT;
	if (way->z_on && (!tp->is_open || way->mat.comp->comp != COMP_ZLIB))
		return E_FORMAT;
	way->is_keyed = true;
	return tp_way_init(way, dir, tp->env->use_fast);
}

static err_t get_buf(struct rd *r, struct buf *b)
{
	struct cslice s = rd_str(r);
	buf_put(b, s.p, s.n);
	return r->bad ? E_FORMAT : buf_err(b);
}

static err_t get_session_id(struct rd *r, struct tp *tp)
{
	struct cslice s = rd_str(r);
	if (r->bad || s.n < 20 || s.n > sizeof(tp->session_id)) /* SHA-1 is the shortest */
		return E_FORMAT;
	memcpy(tp->session_id, s.p, s.n);
	tp->session_id_n = s.n;
	return OK;
}

static err_t get_pongs(struct rd *r, struct tp *tp)
{
	TRY(get_buf(r, &tp->pongs));
	struct rd each = rd_of(buf_bytes(&tp->pongs));
	while (each.n > 0 && !each.bad)
		(void)rd_str(&each);
	return rd_end(&each);
}

static err_t get_version(struct rd *r, struct tp *tp)
{
	struct cslice mine = rd_text(r);
	if (r->bad || !cslice_eq_str(mine, tp->my_version)) /* it is part of every exchange hash */
		return E_FORMAT;
	TRY(get_buf(r, &tp->peer_version));
	if (tp->peer_version.n < 5 || memcmp(tp->peer_version.p, "SSH-", 4) != 0)
		return E_FORMAT;
	tp->peer_flags = tp_peer_flags_of(buf_bytes(&tp->peer_version));
	tp->has_peer_version = true;
	return OK;
}

static err_t get_times(struct rd *r, struct tp *tp)
{
	uint64_t age = rd_u64(r);
	tp->keyed_us = tp->now_us > age ? tp->now_us - age : 0;
	tp->counts.bytes_in = rd_u64(r);
	tp->counts.bytes_out = rd_u64(r);
	tp->counts.packets_in = rd_u64(r);
	tp->counts.packets_out = rd_u64(r);
	tp->counts.rekeys = rd_u64(r);
	return r->bad ? E_FORMAT : OK;
}

static err_t get_state(struct rd *r, struct tp *tp)
{
	bool is_server;
	if (!get_flag(r, &is_server) || is_server != tp->is_server || !get_flag(r, &tp->is_open) ||
		!get_flag(r, &tp->is_strict) || !get_flag(r, &tp->want_rekey))
		return E_FORMAT;
	TRY(get_version(r, tp));
	TRY(get_session_id(r, tp));
	TRY(get_buf(r, &tp->hostkey));
	tp->choice.kex = alg_kex_find(rd_text(r));
	tp->choice.hostkey = alg_hostkey_find(rd_text(r));
	if (r->bad || tp->choice.kex == NULL || tp->choice.hostkey == NULL)
		return E_FORMAT;
	tp->max_packet = rd_u32(r);
	if (tp->max_packet < TP_PACKET_FIRST || tp->max_packet > TP_PACKET_MAX)
		return E_FORMAT;
	tp->ext_infos = rd_u32(r);
	TRY(get_buf(r, &tp->ext));
	TRY(get_pongs(r, tp));
	return get_times(r, tp);
}

static err_t get_unread(struct rd *r, struct tp *tp)
{
	struct cslice s = rd_str(r);
	if (r->bad || s.n > TP_CHUNK_ROOM)
		return E_FORMAT;
	if (s.n == 0)
		return OK;
	TRY(chunk_get(tp->env->pool, &tp->in.c));
	memcpy(tp->in.c->p + TP_FRONT, s.p, s.n);
	tp->in.at = TP_FRONT;
	tp->in.end = TP_FRONT + s.n;
	return OK;
}

static err_t get_unsent(struct rd *r, struct tp *tp)
{
	struct cslice s = rd_str(r);
	if (r->bad || s.n > UNSENT_MAX)
		return E_FORMAT;
	while (s.n > 0) {
		size_t n = num_min(s.n, TP_CHUNK_ROOM);
		TRY(tp_out_raw(tp, cslice_of(s.p, n)));
		s.p += n;
		s.n -= n;
	}
	return OK;
}

static void set_choice(struct tp *tp)
{
	const struct tp_keymat *c2s = tp->is_server ? &tp->in_way.mat : &tp->out_way.mat;
	const struct tp_keymat *s2c = tp->is_server ? &tp->out_way.mat : &tp->in_way.mat;
	tp->choice.c2s.cipher = c2s->cipher;
	tp->choice.c2s.mac = c2s->mac_row;
	tp->choice.c2s.comp = c2s->comp;
	tp->choice.s2c.cipher = s2c->cipher;
	tp->choice.s2c.mac = s2c->mac_row;
	tp->choice.s2c.comp = s2c->comp;
}

static err_t thaw(struct tp *tp, struct cslice frozen)
{
	struct rd r = rd_of(frozen);
	if (rd_u32(&r) != MAGIC || rd_u32(&r) != EDITION)
		return E_FORMAT;
	TRY(get_state(&r, tp));
	TRY(get_way(&r, tp, &tp->in_way, PKTC_OPEN));
	TRY(get_way(&r, tp, &tp->out_way, PKTC_SEAL));
	TRY(get_unread(&r, tp));
	TRY(get_unsent(&r, tp));
	TRY(rd_end(&r));
	set_choice(tp);
	tp->is_first_done = true;
	return OK;
}

err_t tp_thaw(struct tp **out, const struct tp_env *env, struct cslice frozen, uint64_t now_us)
{
	struct tp *tp;
	TRY(tp_alloc(&tp, env, now_us));
	err_t e = thaw(tp, frozen);
	if (e != OK) {
		tp_free(tp);
		return e == E_AGAIN ? E_MEM : e;
	}
	*out = tp;
	return OK;
}
