/* SPDX-License-Identifier: ISC */
/*
 * client_publickey - RFC 4252 7: keys in order, each asked about or signed with at once
 *
 * The algorithm of an RSA key depends on what the server takes (RFC 8308 server-sig-algs).  The
 * first request may leave before that is known; a key refused in ignorance is tried again when
 * knowledge or a second algorithm gives reason to.
 */
#include "auth/au_client.h"
#include "base/log.h"
#include "key/cert.h"
#include "transport/peer.h"

#define BODY_MAX ((size_t)256 << 10)

/* compat 7.2: these know only ssh-rsa (before 7.2), and this one takes more than it lists. */
#define PEER_OLD_RSA                                                                               \
	"OpenSSH_2.*,OpenSSH_3.*,OpenSSH_4.*,OpenSSH_5.*,OpenSSH_6.*,OpenSSH_7.0*,OpenSSH_7.1*"
#define PEER_HIDES_SHA2 "OpenSSH_7.4*"

static bool is_sha2(struct cslice alg)
{
	return cslice_eq_str(alg, "rsa-sha2-512") || cslice_eq_str(alg, "rsa-sha2-256");
}

static bool rsa_may(const struct au_client *au, struct cslice name, bool was_refused)
{
	struct cslice alg = key_alg_sig(name, NULL);
	struct cslice listed = tp_peer_sig_algs(au->env.tp), version = tp_peer_version(au->env.tp);
	if (is_sha2(alg) && peer_is(version, PEER_HIDES_SHA2))
		return true;
	if (listed.n > 0)
		return list_has(listed, alg);
	if (!is_sha2(alg))
		return true;
	return !was_refused && !peer_is(version, PEER_OLD_RSA);
}

/* The algorithm to try key `i` with: the first accepted by us that fits, may work, and has not been
 * refused. */
static bool alg_choose(struct au_client *au, size_t i)
{
	const struct au_key_try *t = &au->pk.tries[i];
	const struct key *k = au->env.ids[i].pub;
	struct cslice rest = cslice_str(au->env.pubkey_algs), alg;
	for (uint64_t bit = 1; bit != 0 && list_next(&rest, &alg); bit <<= 1) {
		if ((t->refused & bit) != 0 || !key_alg_fits_key(k, alg))
			continue;
		if (key_type_of(k) == KEY_RSA && !rsa_may(au, alg, t->refused != 0))
			continue;
		au->pk.alg = alg;
		au->pk.alg_bit = bit;
		return true;
	}
	return false;
}

static bool hostbound_may(const struct au_client *au)
{
	struct cslice value;
	return au->env.hostbound && tp_peer_ext(au->env.tp, AU_EXT_HOSTBOUND, &value) &&
	       cslice_eq_str(value, "0");
}

static struct cslice hostkey_of(const struct au_client *au)
{
	return au->pk.is_hostbound ? tp_hostkey_blob(au->env.tp) : cslice_of(NULL, 0);
}

static err_t send_key(struct au_client *au, struct cslice sig)
{
	struct buf more, body;
	buf_init(&more, BODY_MAX);
	buf_init(&body, BODY_MAX);
	if (au->pk.is_hostbound)
		buf_put_string(&more, hostkey_of(au));
	if (sig.n > 0)
		buf_put_string(&more, sig);
	err_t e = buf_err(&more);
	struct ssh_auth_publickey m = {
		sig.n > 0, au->pk.alg, buf_bytes(&au->pk.blob), buf_bytes(&more), 0};
	size_t n = ssh_size_auth_publickey(&m);
	uint8_t *p = e == OK ? buf_room(&body, n) : NULL;
	if (p != NULL) {
		struct wr w = wr_of((struct slice){p, n});
		ssh_put_auth_publickey(&w, &m);
		e = wr_end(&w);
	} else if (e == OK) {
		e = buf_err(&body);
	}
	if (e == OK)
		e = au_client_request(au,
			au->pk.is_hostbound ? AU_PUBLICKEY_HOSTBOUND : AU_PUBLICKEY,
			buf_bytes(&body), sig.n > 0 ? AU_OUT_SIGNED : AU_OUT_QUERY);
	buf_done(&body);
	buf_done(&more);
	return e;
}

static err_t ask_sign(struct au_client *au)
{
	buf_clear(&au->question);
	struct au_tbs tbs = {.session_id = tp_session_id(au->env.tp),
		.user = cslice_str(au->env.user),
		.service = cslice_str(AU_NEXT_SERVICE),
		.alg = au->pk.alg,
		.blob = buf_bytes(&au->pk.blob),
		.hostkey = hostkey_of(au)};
	TRY(au_tbs_put(&tbs, &au->question));
	return au_client_ask(au, (struct au_event){.type = AU_EV_ASK_SIGN,
					 .id = (uint32_t)au->pk.at,
					 .alg = au->pk.alg,
					 .blob = buf_bytes(&au->pk.blob),
					 .data = buf_bytes(&au->question),
					 .is_hostbound = au->pk.is_hostbound});
}

static err_t offer(struct au_client *au, size_t i)
{
	const struct au_identity *id = &au->env.ids[i];
	au->pk.at = i;
	au->pk.is_accepted = false;
	au->pk.is_hostbound = hostbound_may(au);
	au->pk.knew_algs = tp_peer_sig_algs(au->env.tp).n > 0;
	buf_clear(&au->pk.blob);
	TRY(key_blob_any(id->pub, &au->pk.blob));
	log_debug1("Offering public key: %s", id->name);
	return id->is_sure ? ask_sign(au) : send_key(au, cslice_of(NULL, 0));
}

static err_t publickey_next(struct au_client *au, bool *did)
{
	for (size_t i = 0; i < au->env.ids_n; i++) {
		struct au_key_try *t = &au->pk.tries[i];
		if (t->is_spent)
			continue;
		if (alg_choose(au, i)) {
			TRY(offer(au, i));
			*did = true;
			return OK;
		}
		/* Not for ever: a second EXT_INFO tells what counts for the user. */
		if (t->fate == AU_KEY_NOT_TRIED) {
			log_debug1("send_pubkey_test: no mutual signature algorithm");
			t->fate = AU_KEY_NO_ALG;
		}
	}
	return OK;
}

/* PK_OK must name the very key of the outstanding query. */
static err_t publickey_message(struct au_client *au, struct cslice body)
{
	struct ssh_pk_ok m;
	const struct au_identity *id = &au->env.ids[au->pk.at];
	if (au->outstanding != AU_OUT_QUERY)
		return E_UNEXPECTED;
	TRY(ssh_get_pk_ok(body, &m));
	if (!cslice_eq(m.blob, buf_bytes(&au->pk.blob)) || !key_alg_fits_key(id->pub, m.alg))
		return E_UNEXPECTED;
	au->outstanding = AU_OUT_NOTHING;
	au->pk.is_accepted = true;
	log_debug1("Server accepts key: %s", id->name);
	return ask_sign(au);
}

static err_t publickey_answer(struct au_client *au, err_t verdict, struct cslice data)
{
	struct au_key_try *t = &au->pk.tries[au->pk.at];
	if (verdict == OK && data.n > 0)
		return send_key(au, data);
	t->fate = AU_KEY_SIGN_FAILED;
	/* An agent may refuse to sign what is not bound to the host; now we may know better. */
	t->is_spent = au->pk.is_hostbound || !hostbound_may(au);
	return au_client_next(au);
}

static void publickey_refused(struct au_client *au)
{
	struct au_key_try *t = &au->pk.tries[au->pk.at];
	t->fate = au->pk.is_accepted ? AU_KEY_SIG_REFUSED : AU_KEY_REFUSED;
	/* Its method's turn has not come (the first request is a guess): that says nothing of the
	 * key. */
	if (au->methods_known && !list_has(buf_bytes(&au->methods), cslice_str(AU_PUBLICKEY)))
		return;
	t->refused |= au->pk.alg_bit;
	struct cslice listed = tp_peer_sig_algs(au->env.tp);
	t->is_spent = au->pk.knew_algs || list_has(listed, au->pk.alg);
}

const struct au_client_method au_client_publickey = {
	AU_PUBLICKEY, publickey_next, publickey_message, publickey_answer, publickey_refused};
