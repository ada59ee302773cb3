/* SPDX-License-Identifier: ISC */
/* ask - the client's half of the agent protocol: requests built, replies judged */
#include "agent/ask.h"
#include "base/text.h"
#include "wire/agent.h"

/* Of agents that say no as other programs once did. */
enum { SSH2_FAILURE = 30, COM_FAILURE = 102 };

/* ---- requests -----------------------------------------------------------------------------------
 */

static void frame_begin(struct buf *body, uint8_t number)
{
	buf_init(body, AG_FRAME_MAX);
	buf_put_u8(body, number);
}

/* The frame goes out whole, or nothing of it. */
static err_t frame_end(struct buf *body, err_t e, struct buf *out)
{
	if (e == OK)
		e = buf_err(body);
	if (e == OK) {
		buf_put_string(out, buf_bytes(body));
		e = buf_err(out);
	}
	buf_done(body);
	return e;
}

static err_t ask_number(struct buf *out, uint8_t number)
{
	struct buf body;
	frame_begin(&body, number);
	return frame_end(&body, OK, out);
}

err_t ag_ask_list(struct buf *out)
{
	return ask_number(out, AGENT_MSG_request_identities);
}

err_t ag_ask_remove_all(struct buf *out)
{
	return ask_number(out, AGENT_MSG_remove_all_identities);
}

/* The name of a signature: what a certificate's algorithm stands for. */
static struct cslice plain_of(struct cslice alg)
{
	static const char end[] = "-cert-v01@openssh.com";
	const size_t n = sizeof(end) - 1;
	if (alg.n > n && memcmp(alg.p + alg.n - n, end, n) == 0)
		alg.n -= n;
	return alg;
}

static uint32_t flags_of(struct cslice alg)
{
	alg = plain_of(alg);
	if (cslice_eq_str(alg, "rsa-sha2-256"))
		return AGENT_SIGN_RSA_SHA256;
	return cslice_eq_str(alg, "rsa-sha2-512") ? AGENT_SIGN_RSA_SHA512 : 0;
}

err_t ag_ask_sign(struct buf *out, struct cslice blob, struct cslice tbs, struct cslice alg)
{
	struct buf body;
	frame_begin(&body, AGENT_MSG_sign_request);
	buf_put_string(&body, blob);
	buf_put_string(&body, tbs);
	buf_put_u32(&body, flags_of(alg));
	return frame_end(&body, OK, out);
}

static void put_hop(struct buf *out, const struct ag_hop *hop)
{
	struct buf b;
	buf_init(&b, AG_FRAME_MAX);
	buf_put_string(&b, hop->user);
	buf_put_string(&b, hop->host);
	buf_put_cstring(&b, ""); /* reserved */
	for (size_t i = 0; i < hop->keys_n; i++) {
		buf_put_string(&b, hop->keys[i].blob);
		buf_put_u8(&b, hop->keys[i].is_ca ? 1 : 0);
	}
	if (buf_err(&b) == OK)
		buf_put_string(out, buf_bytes(&b));
	else
		out->err = buf_err(&b);
	buf_done(&b);
}

static void put_destinations(struct buf *out, const struct ag_limits *l)
{
	struct buf all, one;
	buf_init(&all, AG_FRAME_MAX);
	buf_init(&one, AG_FRAME_MAX);
	for (size_t i = 0; i < l->destinations_n; i++) {
		buf_clear(&one);
		put_hop(&one, &l->destinations[i].from);
		put_hop(&one, &l->destinations[i].to);
		buf_put_cstring(&one, ""); /* reserved */
		if (buf_err(&one) == OK)
			buf_put_string(&all, buf_bytes(&one));
		else
			all.err = buf_err(&one);
	}
	buf_put_u8(out, AGENT_CONSTRAIN_extension);
	buf_put_cstring(out, AGENT_C_DESTINATION);
	if (buf_err(&all) == OK)
		buf_put_string(out, buf_bytes(&all));
	else
		out->err = buf_err(&all);
	buf_done(&one);
	buf_done(&all);
}

static void put_limits(struct buf *out, const struct ag_limits *l)
{
	if (l->lifetime_s != 0) {
		buf_put_u8(out, AGENT_CONSTRAIN_lifetime);
		buf_put_u32(out, l->lifetime_s);
	}
	if (l->confirm)
		buf_put_u8(out, AGENT_CONSTRAIN_confirm);
	if (l->destinations_n > 0)
		put_destinations(out, l);
	if (l->sk_provider != NULL) {
		buf_put_u8(out, AGENT_CONSTRAIN_extension);
		buf_put_cstring(out, AGENT_C_SK_PROVIDER);
		buf_put_cstring(out, l->sk_provider);
	}
}

err_t ag_ask_add(
	struct buf *out, const struct key *k, struct cslice comment, const struct ag_limits *limits)
{
	struct ag_limits l = limits != NULL ? *limits : (struct ag_limits){0};
	struct buf body;
	if (l.destinations_n > AG_HOPS_MAX)
		return E_LIMIT;
	if (!key_type_is_sk(key_type_of(k)))
		l.sk_provider = NULL;
	bool is_limited =
		l.lifetime_s != 0 || l.confirm || l.destinations_n > 0 || l.sk_provider != NULL;
	frame_begin(&body, is_limited ? AGENT_MSG_add_id_constrained : AGENT_MSG_add_identity);
	err_t e = key_put_private_fields(k, &body);
	buf_put_string(&body, comment);
	put_limits(&body, &l);
	return frame_end(&body, e, out);
}

err_t ag_ask_remove(struct buf *out, struct cslice blob)
{
	struct buf body;
	frame_begin(&body, AGENT_MSG_remove_identity);
	buf_put_string(&body, blob);
	return frame_end(&body, OK, out);
}

err_t ag_ask_lock(struct buf *out, bool is_lock, struct cslice passphrase)
{
	struct buf body;
	frame_begin(&body, is_lock ? AGENT_MSG_lock : AGENT_MSG_unlock);
	buf_put_string(&body, passphrase);
	return frame_end(&body, OK, out);
}

err_t ag_ask_extensions(struct buf *out)
{
	struct buf body;
	frame_begin(&body, AGENT_MSG_extension);
	buf_put_cstring(&body, AGENT_X_QUERY);
	return frame_end(&body, OK, out);
}

err_t ag_ask_bind(struct buf *out, const struct ag_binding *b)
{
	struct buf body;
	frame_begin(&body, AGENT_MSG_extension);
	buf_put_cstring(&body, AGENT_X_SESSION_BIND);
	buf_put_string(&body, b->hostkey);
	buf_put_string(&body, b->session);
	buf_put_string(&body, b->signature);
	buf_put_u8(&body, b->is_forwarding ? 1 : 0);
	return frame_end(&body, OK, out);
}

/* ---- replies ------------------------------------------------------------------------------------
 */
err_t ag_take_length(const uint8_t head[4], size_t *n)
{
	uint32_t said = be32_get(head);
	if (said == 0 || said > AG_FRAME_MAX)
		return E_FORMAT;
	*n = said;
	return OK;
}

/* Takes the number off.  E_DENIED for those that say no; what else is not `wanted` is out of step.
 */
static err_t begin(struct cslice *body, uint8_t wanted)
{
	if (body->n == 0)
		return E_FORMAT;
	uint8_t number = body->p[0];
	*body = cslice_of(body->p + 1, body->n - 1);
	if (number == wanted)
		return OK;
	if (number == AGENT_MSG_failure || number == AGENT_MSG_extension_failure ||
		number == SSH2_FAILURE || number == COM_FAILURE)
		return E_DENIED;
	return E_UNEXPECTED;
}

err_t ag_take_done(struct cslice body)
{
	return begin(&body, AGENT_MSG_success);
}

err_t ag_take_list(struct cslice body, ag_entry_fn *fn, void *arg)
{
	struct agent_identities_answer answer;
	struct agent_identity one;
	TRY(begin(&body, AGENT_MSG_identities_answer));
	TRY(agent_get_identities_answer(body, &answer));
	if (answer.count > AG_KEYS_MAX)
		return E_LIMIT;
	struct cslice rest = answer.identities;
	for (uint32_t i = 0; i < answer.count; i++)
		TRY(agent_next_identity(&rest, &one));
	if (rest.n > 0)
		return E_TRAILING;
	rest = answer.identities;
	for (uint32_t i = 0; i < answer.count; i++) {
		TRY(agent_next_identity(&rest, &one));
		fn(arg, one.blob, one.comment);
	}
	return OK;
}

err_t ag_take_signature(struct cslice body, struct cslice alg, struct buf *sig)
{
	struct agent_sign_response answer;
	TRY(begin(&body, AGENT_MSG_sign_response));
	TRY(agent_get_sign_response(body, &answer));
	/* An old agent answers an rsa-sha2 request with an ssh-rsa signature: nothing that was
	 * asked for. */
	struct rd inner = rd_of(answer.signature);
	struct cslice name = rd_str(&inner);
	if (inner.bad)
		return E_FORMAT;
	if (!cslice_eq(name, plain_of(alg)))
		return E_UNSUPPORTED;
	buf_put(sig, answer.signature.p, answer.signature.n);
	return buf_err(sig);
}

err_t ag_take_extensions(struct cslice body, ag_name_fn *fn, void *arg)
{
	struct agent_extension_response answer;
	TRY(begin(&body, AGENT_MSG_extension_response));
	TRY(agent_get_extension_response(body, &answer));
	if (!cslice_eq_str(answer.name, AGENT_X_QUERY))
		return E_UNEXPECTED;
	struct rd check = rd_of(answer.body), r = check;
	while (check.n > 0 && !check.bad)
		(void)rd_str(&check);
	TRY(rd_end(&check));
	while (r.n > 0)
		fn(arg, rd_str(&r));
	return OK;
}
