/* SPDX-License-Identifier: ISC */
/*
 * kex_client - the client's half of an exchange (RFC 4253 8, RFC 4419, RFC 5656 4)
 *
 * The signature over the exchange hash is verified first; only then is the host key asked about,
 * and only after a yes does NEWKEYS go out.
 */
#include "base/log.h"
#include "key/cert.h"
#include "transport/tp_int.h"

static err_t send_init(struct tp *tp, uint8_t msg)
{
	struct tp_kex *x = &tp->kex;
	TRY(kex_start(x->k, &x->qc));
	struct buf b;
	buf_init(&b, TP_PACKET_MAX);
	if (kex_is_mpint(x->k))
		buf_put_mpint(&b, buf_bytes(&x->qc));
	else
		buf_put_string(&b, buf_bytes(&x->qc));
	err_t e = buf_err(&b);
	if (e == OK)
		e = tp_out_msg(tp, msg, buf_bytes(&b));
	buf_done(&b);
	return e;
}

static err_t send_gex_request(struct tp *tp, uint32_t want)
{
	struct tp_kex *x = &tp->kex;
	x->gex_min = TP_GEX_MIN;
	x->gex_max = (tp->peer_flags & TP_PEER_GEX_4096) != 0 ? 4096 : TP_GEX_MAX;
	x->gex_n = (uint32_t)num_min(want, x->gex_max);
	uint8_t body[12];
	be32_put(body, x->gex_min);
	be32_put(body + 4, x->gex_n);
	be32_put(body + 8, x->gex_max);
	TRY(tp_out_msg(tp, SSH_MSG_gex_request, cslice_of(body, sizeof(body))));
	log_debug1("SSH2_MSG_KEX_DH_GEX_REQUEST(%u<%u<%u) sent", x->gex_min, x->gex_n, x->gex_max);
	x->step = TP_STEP_GEX_GROUP;
	return OK;
}

err_t tp_client_start(struct tp *tp)
{
	struct tp_kex *x = &tp->kex;
	uint32_t group_bits;
	uint32_t bits = kex_dh_want_bits(&tp->choice, &group_bits);
	if (tp->choice.kex->family == KEX_DHGEX)
		return send_gex_request(tp, group_bits);
	TRY(kex_new(&x->k, tp->choice.kex, tp->env->rng, NULL, bits));
	TRY(send_init(tp, SSH_MSG_kex_init));
	x->step = TP_STEP_REPLY;
	log_debug1("expecting SSH2_MSG_KEX_%s_REPLY", kex_is_mpint(x->k) ? "DH" : "ECDH");
	return OK;
}

static err_t take_group(struct tp *tp, struct cslice body)
{
	struct tp_kex *x = &tp->kex;
	struct ssh_kex_group m;
	TRY(ssh_get_kex_group(body, &m));
	uint32_t bits = kex_mpint_bits(m.p);
	if (bits < x->gex_min || bits > x->gex_max)
		return E_KEX_VALUE;
	log_debug1("SSH2_MSG_KEX_DH_GEX_GROUP received");
	uint32_t group_bits;
	size_t want = kex_dh_want_bits(&tp->choice, &group_bits);
	TRY(kex_new(&x->k, tp->choice.kex, tp->env->rng, &(struct kex_group){m.p, m.g}, want));
	buf_put(&x->gex_p, m.p.p, m.p.n);
	buf_put(&x->gex_g, m.g.p, m.g.n);
	TRY(buf_err(&x->gex_p));
	TRY(buf_err(&x->gex_g));
	TRY(send_init(tp, SSH_MSG_gex_init));
	x->step = TP_STEP_GEX_REPLY;
	log_debug1("SSH2_MSG_KEX_DH_GEX_INIT sent");
	return OK;
}

/* ---- the reply ---- */

static err_t parse_reply(struct tp *tp, struct cslice body, struct ssh_kex_reply *out)
{
	if (!kex_is_mpint(tp->kex.k))
		return ssh_get_kex_reply(body, out);
	struct ssh_kex_reply_mpint m;
	TRY(ssh_get_kex_reply_mpint(body, &m));
	*out = (struct ssh_kex_reply){.hostkey = m.hostkey, .qs = m.f, .signature = m.signature};
	return OK;
}

static err_t verify(struct tp *tp, struct cslice signature)
{
	struct cslice alg = cslice_str(tp->choice.hostkey->name);
	struct key *k;
	err_t e = key_parse_any(&k, buf_bytes(&tp->kex.hostkey));
	if (e != OK) /* an unreadable host key is the peer's fault, whatever the reader calls it */
		return err_kind_of(e) == ERR_KIND_LOCAL ? e : E_KEX;
	if (!key_alg_fits_key(k, alg))
		e = E_KEX;
	else
		e = key_verify(
			k, key_alg_sig(alg, NULL), cslice_of(tp->kex.h, tp->kex.h_n), signature);
	key_free(k);
	if (e == OK || err_kind_of(e) == ERR_KIND_LOCAL)
		return e;
	return E_SIGNATURE;
}

static err_t ask_hostkey(struct tp *tp)
{
	struct tp_kex *x = &tp->kex;
	if (tp->is_first_done && cslice_eq(buf_bytes(&tp->hostkey), buf_bytes(&x->hostkey)))
		return tp_client_hostkey_ok(tp);
	struct tp_event *ev = tp_ask_event(tp, TP_EV_ASK_HOSTKEY);
	ev->body = (struct span){NULL, x->hostkey.p, x->hostkey.n};
	ev->alg = cslice_str(tp->choice.hostkey->name);
	x->step = TP_STEP_ASK;
	return OK;
}

/* Of the first exchange: its hash is the session id. */
static err_t keep_proof(struct tp *tp, struct cslice signature)
{
	if (tp->session_id_n > 0)
		return OK;
	buf_put(&tp->first_hostkey, tp->kex.hostkey.p, tp->kex.hostkey.n);
	buf_put(&tp->first_signature, signature.p, signature.n);
	TRY(buf_err(&tp->first_hostkey));
	return buf_err(&tp->first_signature);
}

static err_t take_reply(struct tp *tp, struct cslice body)
{
	struct tp_kex *x = &tp->kex;
	struct ssh_kex_reply m;
	TRY(parse_reply(tp, body, &m));
	log_debug1("SSH2_MSG_KEX_%sREPLY received", x->step == TP_STEP_GEX_REPLY ? "DH_GEX_"
						    : kex_is_mpint(x->k)         ? "DH_"
										 : "ECDH_");
	buf_put(&x->hostkey, m.hostkey.p, m.hostkey.n);
	buf_put(&x->qs, m.qs.p, m.qs.n);
	TRY(buf_err(&x->hostkey));
	TRY(buf_err(&x->qs));
	TRY(kex_finish(x->k, m.qs, &x->k_encoded));
	TRY(tp_exchange_hash(tp));
	TRY(verify(tp, m.signature));
	TRY(keep_proof(tp, m.signature));
	return ask_hostkey(tp);
}

err_t tp_client_hostkey_ok(struct tp *tp)
{
	struct buf *b = &tp->hostkey;
	buf_clear(b);
	buf_put(b, tp->kex.hostkey.p, tp->kex.hostkey.n);
	TRY(buf_err(b));
	return tp_newkeys_send(tp);
}

err_t tp_client_message(struct tp *tp, uint8_t msg, struct cslice body)
{
	enum tp_step step = tp->kex.step;
	if (step == TP_STEP_REPLY && msg == SSH_MSG_kex_reply)
		return take_reply(tp, body);
	if (step == TP_STEP_GEX_GROUP && msg == SSH_MSG_kex_reply)
		return take_group(tp, body);
	if (step == TP_STEP_GEX_REPLY && msg == SSH_MSG_gex_reply)
		return take_reply(tp, body);
	return E_UNEXPECTED;
}
