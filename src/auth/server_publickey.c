/* SPDX-License-Identifier: ISC */
/*
 * server_publickey - RFC 4252 7, and its host-bound form (compat 7.3)
 *
 * A query and a signed request are two requests that share nothing: what a client was told about a
 * key it offered has no weight when it signs.  The verdict is about the alg, blob and signature of
 * this very request.
 */
#include "auth/au_server.h"

struct pk_request {
	struct ssh_auth_publickey m;
	struct cslice hostkey, sig;
};

static err_t pk_parse(struct pk_request *out, struct cslice body, bool is_hostbound)
{
	struct pk_request q = {0};
	TRY(ssh_get_auth_publickey(body, &q.m));
	struct rd r = rd_of(q.m.more);
	if (is_hostbound)
		q.hostkey = rd_str(&r);
	if (q.m.has_signature)
		q.sig = rd_str(&r);
	TRY(rd_end(&r));
	*out = q;
	return OK;
}

/* The algorithm is accepted by its own name, belongs to the blob's type, and (RFC8332 3) is the one
 * inside the signature. */
static bool pk_fits(const struct au_server *au, const struct pk_request *q)
{
	if (!list_has(cslice_str(au->env->pubkey_algs), q->m.alg))
		return false;
	if (!key_alg_fits_blob(q->m.blob, q->m.alg))
		return false;
	if (!q->m.has_signature)
		return true;
	struct rd r = rd_of(q->sig);
	struct cslice name = rd_str(&r);
	(void)rd_rest(&r);
	return rd_end(&r) == OK && cslice_eq(name, key_alg_sig(q->m.alg, NULL));
}

static err_t publickey_request(struct au_server *au, struct cslice body)
{
	struct pk_request q;
	bool is_hostbound = au->method->is_hostbound;
	TRY(pk_parse(&q, body, is_hostbound));
	au->alg = q.m.alg;
	au->blob = q.m.blob;
	bool is_our_host = !is_hostbound || cslice_eq(q.hostkey, tp_hostkey_blob(au->env->tp));
	if (!pk_fits(au, &q) || !is_our_host)
		return au_server_end(au, AU_REFUSED, cslice_of(NULL, 0));
	return au_server_ask(
		au, (struct au_event){.type = q.m.has_signature ? AU_EV_ASK_VERIFY : AU_EV_ASK_KEY,
			    .alg = q.m.alg,
			    .blob = q.m.blob,
			    .data = q.sig,
			    .is_hostbound = is_hostbound});
}

static err_t send_pk_ok(struct au_server *au)
{
	struct ssh_pk_ok m = {.alg = au->alg, .blob = au->blob};
	struct slice room;
	TRY(tq_begin(&au->out, TQ_OWN, SSH_MSG_userauth_60, ssh_size_pk_ok(&m), &room));
	struct wr w = wr_of(room);
	ssh_put_pk_ok(&w, &m);
	return tq_end(&au->out, &w);
}

static err_t publickey_answer(struct au_server *au, err_t verdict, struct cslice data)
{
	if (au->ask_type == AU_EV_ASK_VERIFY)
		return au_server_judge(au, verdict, data);
	if (verdict == OK) /* the key would do: that admits nobody */
		return send_pk_ok(au);
	return au_server_end(au, AU_REFUSED, cslice_of(NULL, 0));
}

const struct au_server_method au_server_publickey = {
	AU_PUBLICKEY, AU_PUBLICKEY, false, publickey_request, publickey_answer};
const struct au_server_method au_server_hostbound = {
	AU_PUBLICKEY_HOSTBOUND, AU_PUBLICKEY, true, publickey_request, publickey_answer};
