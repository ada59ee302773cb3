/* SPDX-License-Identifier: ISC */
/*
 * kex_server - the server's half of an exchange (RFC 4253 8, RFC 4419, RFC 5656 4)
 *
 * The engine holds no private host key: it asks for a signature over the exchange hash, and for a
 * group.
 */
#include "base/log.h"
#include "transport/tp_int.h"

err_t tp_server_start(struct tp *tp)
{
	bool is_gex = tp->choice.kex->family == KEX_DHGEX;
	tp->kex.step = is_gex ? TP_STEP_GEX_REQUEST : TP_STEP_INIT;
	return OK;
}

static err_t new_kex(struct tp *tp, const struct kex_group *group)
{
	uint32_t group_bits;
	uint32_t bits = kex_dh_want_bits(&tp->choice, &group_bits);
	return kex_new(&tp->kex.k, tp->choice.kex, tp->env->rng, group, bits);
}

/* Q_C is known: the shared secret, the exchange hash, and the question for its signature. */
static err_t take_public(struct tp *tp, struct cslice qc)
{
	struct tp_kex *x = &tp->kex;
	const struct tp_hostkey *hostkey = &tp->env->hostkeys[tp->hostkey_index];
	buf_put(&x->qc, qc.p, qc.n);
	buf_put(&x->hostkey, hostkey->blob.p, hostkey->blob.n);
	TRY(buf_err(&x->qc));
	TRY(buf_err(&x->hostkey));
	TRY(kex_reply(x->k, qc, &x->qs, &x->k_encoded));
	TRY(tp_exchange_hash(tp));
	struct tp_event *ev = tp_ask_event(tp, TP_EV_ASK_SIGN);
	ev->body = (struct span){NULL, x->h, x->h_n};
	ev->alg = cslice_str(tp->choice.hostkey->name);
	ev->index = tp->hostkey_index;
	x->step = TP_STEP_ASK;
	return OK;
}

static err_t take_init(struct tp *tp, struct cslice body)
{
	TRY(new_kex(tp, NULL));
	if (kex_is_mpint(tp->kex.k)) {
		struct ssh_kex_init_mpint m;
		TRY(ssh_get_kex_init_mpint(body, &m));
		return take_public(tp, m.e);
	}
	struct ssh_kex_init m;
	TRY(ssh_get_kex_init(body, &m));
	return take_public(tp, m.qc);
}

/* ---- group exchange ---- */

static err_t ask_group(struct tp *tp)
{
	struct tp_kex *x = &tp->kex;
	if (x->gex_min > x->gex_n || x->gex_n > x->gex_max)
		return E_KEX_VALUE;
	if (x->gex_max < TP_GEX_MIN || x->gex_min > TP_GEX_MAX)
		return E_KEX_VALUE;
	struct tp_event *ev = tp_ask_event(tp, TP_EV_ASK_GROUP);
	ev->min = (uint32_t)num_max(x->gex_min, TP_GEX_MIN);
	ev->max = (uint32_t)num_min(x->gex_max, TP_GEX_MAX);
	ev->want = (uint32_t)num_min(num_max(x->gex_n, ev->min), ev->max);
	x->step = TP_STEP_ASK;
	return OK;
}

static err_t take_request(struct tp *tp, struct cslice body)
{
	struct tp_kex *x = &tp->kex;
	struct ssh_gex_request m;
	TRY(ssh_get_gex_request(body, &m));
	log_debug1("SSH2_MSG_KEX_DH_GEX_REQUEST received");
	x->gex_min = m.min;
	x->gex_n = m.n;
	x->gex_max = m.max;
	return ask_group(tp);
}

/* RFC4419 5: the older form names one size only. */
static err_t take_old_request(struct tp *tp, struct cslice body)
{
	struct tp_kex *x = &tp->kex;
	struct rd r = rd_of(body);
	x->gex_n = rd_u32(&r);
	TRY(rd_end(&r));
	log_debug1("SSH2_MSG_KEX_DH_GEX_REQUEST_OLD received");
	x->gex_old = true;
	x->gex_min = (uint32_t)num_min(x->gex_n, TP_GEX_MIN);
	x->gex_max = TP_GEX_MAX;
	return ask_group(tp);
}

err_t tp_server_group(struct tp *tp, struct cslice data)
{
	struct tp_kex *x = &tp->kex;
	struct ssh_kex_group m;
	TRY(ssh_get_kex_group(data, &m));
	uint32_t bits = kex_mpint_bits(m.p);
	if (bits < num_max(x->gex_min, TP_GEX_MIN) || bits > num_min(x->gex_max, TP_GEX_MAX))
		return E_KEX;
	TRY(new_kex(tp, &(struct kex_group){m.p, m.g}));
	buf_put(&x->gex_p, m.p.p, m.p.n);
	buf_put(&x->gex_g, m.g.p, m.g.n);
	TRY(buf_err(&x->gex_p));
	TRY(buf_err(&x->gex_g));
	TRY(tp_out_msg(tp, SSH_MSG_kex_reply, data));
	log_debug1("SSH2_MSG_KEX_DH_GEX_GROUP sent");
	x->step = TP_STEP_GEX_INIT;
	return OK;
}

static err_t take_gex_init(struct tp *tp, struct cslice body)
{
	struct ssh_gex_init m;
	TRY(ssh_get_gex_init(body, &m));
	return take_public(tp, m.e);
}

/* ---- the reply ---- */

err_t tp_server_signed(struct tp *tp, struct cslice signature)
{
	struct tp_kex *x = &tp->kex;
	bool is_gex = tp->choice.kex->family == KEX_DHGEX;
	struct buf b;
	buf_init(&b, TP_PACKET_MAX);
	buf_put_string(&b, buf_bytes(&x->hostkey));
	if (kex_is_mpint(x->k))
		buf_put_mpint(&b, buf_bytes(&x->qs));
	else
		buf_put_string(&b, buf_bytes(&x->qs));
	buf_put_string(&b, signature);
	err_t e = buf_err(&b);
	if (e == OK)
		e = tp_out_msg(tp, is_gex ? SSH_MSG_gex_reply : SSH_MSG_kex_reply, buf_bytes(&b));
	buf_done(&b);
	TRY(e);
	buf_clear(&tp->hostkey);
	buf_put(&tp->hostkey, x->hostkey.p, x->hostkey.n);
	TRY(buf_err(&tp->hostkey));
	return tp_newkeys_send(tp);
}

err_t tp_server_message(struct tp *tp, uint8_t msg, struct cslice body)
{
	enum tp_step step = tp->kex.step;
	if (step == TP_STEP_INIT && msg == SSH_MSG_kex_init)
		return take_init(tp, body);
	if (step == TP_STEP_GEX_REQUEST && msg == SSH_MSG_gex_request)
		return take_request(tp, body);
	if (step == TP_STEP_GEX_REQUEST && msg == SSH_MSG_kex_init)
		return take_old_request(tp, body);
	if (step == TP_STEP_GEX_INIT && msg == SSH_MSG_gex_init)
		return take_gex_init(tp, body);
	return E_UNEXPECTED;
}
