/* SPDX-License-Identifier: ISC */
/* serve_sign - signatures, the lock, and where a connection comes from */
#include "agent/server_int.h"
#include "base/text.h"

/* ---- asking the person --------------------------------------------------------------------------
 */
static err_t put_fingerprint(
	const struct ag *a, struct buf *q, const char *words, struct cslice blob)
{
	struct key *k = NULL;
	TRY(key_parse_any(&k, blob));
	buf_printf(q, "%s", words);
	err_t e = key_fingerprint(k, ag_store_env(a->store)->hash, q);
	key_free(k);
	return e;
}

struct use { /* of a restricted key: for whom, where */
	struct cslice user, host;
};

static err_t question_make(struct ag *a, const struct ag_key *k, const struct use *use)
{
	struct buf *q = &a->question;
	buf_clear(q);
	buf_printf(q, "Allow use of key ");
	vis_put(q, buf_bytes(&k->comment));
	TRY(put_fingerprint(a, q, "?\nKey fingerprint ", buf_bytes(&k->blob)));
	buf_printf(q, ".");
	if (use->host.n > 0) {
		buf_printf(q, "\nTo log in as ");
		vis_put(q, use->user);
		buf_printf(q, " at ");
		vis_put(q, use->host);
		buf_printf(q, ".");
	}
	for (size_t i = 0; i < a->way.n; i++) {
		if (!a->way.v[i].is_forwarding)
			continue;
		TRY(put_fingerprint(a, q, "\nAsked for through the host with the key ",
			buf_bytes(&a->way.v[i].hostkey)));
		buf_printf(q, ".");
	}
	buf_put_u8(q, 0);
	return buf_err(q);
}

/* OK: yes.  E_AGAIN: asked now. */
static err_t confirm(struct ag *a, const struct ag_key *k, const struct use *use)
{
	if (a->is_answered)
		return a->verdict == OK ? OK : E_DENIED;
	TRY(question_make(a, k, use));
	a->ask = ++a->asks != 0 ? a->asks : ++a->asks;
	a->is_told = false;
	return E_AGAIN;
}

/* ---- signing ------------------------------------------------------------------------------------
 */
/* A restricted key signs nothing but a login to a host that it may be used for. */
static err_t check_use(const struct ag *a, const struct ag_key *k,
	const struct agent_sign_request *m, const struct ag_now *now, struct use *use)
{
	const struct ag_way_query q = {
		&a->way, &k->to, ag_store_env(a->store)->ca_algs, now->wall_s, &use->user};
	if (k->to.n == 0)
		return OK;
	TRY(ag_way_login(&a->way, m->data, m->blob, &use->user));
	return ag_way_allows(&q, &use->host) == AG_WAY_ALLOW ? OK : E_DENIED;
}

static const char *alg_of(enum key_type t, uint32_t flags)
{
	if (t != KEY_RSA)
		return key_type_name(t);
	if ((flags & AGENT_SIGN_RSA_SHA256) != 0)
		return "rsa-sha2-256";
	return (flags & AGENT_SIGN_RSA_SHA512) != 0 ? "rsa-sha2-512" : "ssh-rsa";
}

static err_t sign(struct ag *a, const struct ag_key *k, const struct agent_sign_request *m)
{
	struct key *clear = NULL;
	struct buf sig, body;
	buf_init(&sig, AGENT_FRAME_MAX);
	buf_init(&body, AGENT_FRAME_MAX);
	err_t e = ag_store_unshield(a->store, k, &clear);
	if (e == OK)
		e = key_sign(clear, cslice_str(alg_of(k->type, m->flags)), m->data, &sig);
	key_free(clear);
	if (e == OK) {
		buf_put_string(&body, buf_bytes(&sig));
		e = buf_err(&body);
	}
	if (e == OK)
		e = ag_reply(a, AGENT_MSG_sign_response, buf_bytes(&body));
	buf_done(&body);
	buf_done(&sig);
	return e;
}

static void say_refused(struct ag *a, const struct ag_key *k, const char *why)
{
	ag_store_say(a->store, LOG_L_INFO, "a signature with the key %.*s is refused: %s",
		(int)num_min(k->comment.n, 256), (const char *)k->comment.p, why);
}

err_t ag_on_sign(struct ag *a, struct cslice body, const struct ag_now *now)
{
	struct agent_sign_request m;
	struct use use = {0};
	TRY(agent_get_sign_request(body, &m));
	const struct ag_key *k = ag_store_find(a->store, m.blob);
	if (k == NULL)
		return E_NOT_FOUND;
	if (k->provider.n > 0) {
		say_refused(a, k, "FIDO devices are not built yet");
		return E_UNSUPPORTED;
	}
	err_t e = check_use(a, k, &m, now, &use);
	if (e != OK) {
		say_refused(a, k, "its destination constraints do not allow it");
		return e;
	}
	if (k->confirm)
		e = confirm(a, k, &use);
	if (e == E_AGAIN)
		return e;
	if (e == OK)
		e = sign(a, k, &m);
	if (e != OK)
		say_refused(a, k, e == E_DENIED ? "it was not confirmed" : err_text(e));
	return e;
}

/* ---- the lock -----------------------------------------------------------------------------------
 */
err_t ag_on_lock(struct ag *a, struct cslice body, const struct ag_now *now)
{
	struct agent_lock m;
	(void)now;
	TRY(agent_get_lock(body, &m));
	return ag_store_lock(a->store, m.passphrase);
}

err_t ag_on_unlock(struct ag *a, struct cslice body, const struct ag_now *now)
{
	struct agent_unlock m;
	uint64_t again_us = 0;
	TRY(agent_get_unlock(body, &m));
	err_t e = ag_store_unlock(a->store, m.passphrase, now->us, &again_us);
	if (e != E_AGAIN && e != E_DENIED)
		return e;
	/* A wrong guess is told as late as the next one may be made, whoever makes it. */
	a->is_late = e == E_DENIED;
	a->until_us = again_us;
	return E_AGAIN;
}

/* ---- extensions ---------------------------------------------------------------------------------
 */
static err_t query(struct ag *a, struct cslice body)
{
	struct buf out;
	if (body.n > 0)
		return E_TRAILING;
	buf_init(&out, 1024);
	buf_put_cstring(&out, AGENT_X_QUERY);
	buf_put_cstring(&out, AGENT_X_SESSION_BIND);
	err_t e = buf_err(&out);
	if (e == OK)
		e = ag_reply(a, AGENT_MSG_extension_response, buf_bytes(&out));
	buf_done(&out);
	return e;
}

err_t ag_on_extension(struct ag *a, struct cslice body, const struct ag_now *now)
{
	struct agent_extension m;
	(void)now;
	TRY(agent_get_extension(body, &m));
	if (cslice_eq_str(m.name, AGENT_X_SESSION_BIND)) {
		err_t e = ag_way_bind(&a->way, m.body);
		if (e != OK)
			ag_store_say(a->store, LOG_L_ERROR,
				"a session could not be bound to its host: %s", err_text(e));
		return e;
	}
	if (cslice_eq_str(m.name, AGENT_X_QUERY))
		return ag_store_is_locked(a->store) ? E_DENIED : query(a, m.body);
	return E_NAME;
}
