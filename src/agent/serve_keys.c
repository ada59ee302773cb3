/* SPDX-License-Identifier: ISC */
/* serve_keys - requests about keys: which there are, more of them, fewer of them */
#include "agent/server_int.h"
#include "base/text.h"

bool ag_is_remote(const struct ag *a)
{
	return a->way.was_tried;
}

bool ag_may(const struct ag *a, const struct ag_key *k, const struct ag_now *now,
	const struct cslice *user)
{
	const struct ag_way_query q = {
		&a->way, &k->to, ag_store_env(a->store)->ca_algs, now->wall_s, user};
	return ag_way_allows(&q, NULL) == AG_WAY_ALLOW;
}

err_t ag_on_identities(struct ag *a, struct cslice body, const struct ag_now *now)
{
	struct agent_request_identities m;
	struct buf list;
	uint32_t count = 0;
	TRY(agent_get_request_identities(body, &m));
	buf_init(&list, AGENT_FRAME_MAX - 1);
	buf_put_u32(&list, 0);
	for (const struct ag_key *k = ag_store_next(a->store, NULL); k != NULL;
		k = ag_store_next(a->store, k)) {
		size_t more = 8 + k->blob.n + k->comment.n;
		if (!ag_may(a, k, now, NULL))
			continue;
		/* A longer answer is understood by nobody: what fits is told. */
		if (more > list.limit - list.n) {
			ag_store_say(a->store, LOG_L_ERROR,
				"there are more keys than fit into an answer: the last ones are "
				"left out");
			break;
		}
		buf_put_string(&list, buf_bytes(&k->blob));
		buf_put_string(&list, buf_bytes(&k->comment));
		count++;
	}
	err_t e = buf_err(&list);
	if (e == OK) {
		be32_put(list.p, count);
		e = ag_reply(a, AGENT_MSG_identities_answer, buf_bytes(&list));
	}
	buf_done(&list);
	return e;
}

/* ---- what is sent behind a key ------------------------------------------------------------------
 */
/* A path that means the same to everyone: from the root, without detours. */
static bool is_straight(struct cslice path)
{
	if (path.n == 0 || path.p[0] != '/')
		return false;
	for (size_t i = 0; i < path.n; i++) {
		struct cslice rest = {path.p + i, path.n - i};
		if (path.p[i] != '/')
			continue;
		for (size_t dots = 0; dots <= 2; dots++) {
			bool is_end = rest.n == 1 + dots ||
				      (rest.n > 1 + dots && rest.p[1 + dots] == '/');
			if (is_end && (dots == 0 || rest.p[1] == '.') &&
				(dots < 2 || rest.p[2] == '.'))
				return false;
		}
	}
	return true;
}

/* May this connection name that library? */
static err_t provider_check(const struct ag *a, struct cslice path)
{
	const struct ag_store_env *env = ag_store_env(a->store);
	if (ag_is_remote(a) && !env->allow_remote) {
		ag_store_say(a->store, LOG_L_ERROR,
			"the library %.*s is refused: it was asked for over a forwarded connection",
			(int)num_min(path.n, 512), (const char *)path.p);
		return E_DENIED;
	}
	bool is_allowed = is_straight(path) && env->providers != NULL &&
			  glob_match_list(cslice_str(env->providers), path) == PATTERN_MATCH;
	if (!is_allowed) {
		ag_store_say(a->store, LOG_L_ERROR,
			"the library %.*s is refused: -P does not allow its path",
			(int)num_min(path.n, 512), (const char *)path.p);
		return E_DENIED;
	}
	return OK;
}

static err_t read_provider(const struct ag *a, struct rd *r, struct ag_key_limits *l)
{
	struct cslice path = rd_text(r);
	if (r->bad || l->provider.n > 0)
		return E_FORMAT;
	if (!cslice_eq_str(path, "internal"))
		TRY(provider_check(a, path));
	l->provider = path;
	return path.n > 0 ? OK : E_FORMAT;
}

static err_t read_destinations(struct rd *r, struct ag_key_limits *l)
{
	struct cslice data = rd_str(r);
	if (r->bad || l->to.n > 0)
		return E_FORMAT;
	return ag_destinations_read(&l->to, data);
}

/* Certificates for the keys of a token. */
static err_t read_certs(struct rd *r)
{
	(void)rd_bool(r);
	struct rd certs = rd_of(rd_str(r));
	for (size_t n = 0; !r->bad && certs.n > 0; n++) {
		struct key *k = NULL;
		struct cslice blob = rd_str(&certs);
		err_t e = certs.bad ? E_FORMAT : n == 1024 ? E_LIMIT : key_parse_any(&k, blob);
		bool is_cert = e == OK && key_cert(k) != NULL;
		key_free(k);
		TRY(e);
		if (!is_cert)
			return E_KEY_TYPE;
	}
	return r->bad ? E_FORMAT : OK;
}

static err_t read_extension(
	const struct ag *a, struct rd *r, bool is_token, struct ag_key_limits *l)
{
	struct cslice name = rd_text(r);
	if (r->bad)
		return E_FORMAT;
	if (cslice_eq_str(name, AGENT_C_DESTINATION))
		return read_destinations(r, l);
	if (cslice_eq_str(name, AGENT_C_SK_PROVIDER) && !is_token)
		return read_provider(a, r, l);
	if (cslice_eq_str(name, AGENT_C_CERTS) && is_token)
		return read_certs(r);
	ag_store_say(a->store, LOG_L_ERROR,
		"a key is refused: its constraint %.*s is not known, so it could not be kept",
		(int)num_min(name.n, 256), (const char *)name.p);
	return E_UNSUPPORTED;
}

err_t ag_constraints_read(
	const struct ag *a, struct cslice rest, bool is_token, struct ag_key_limits *out)
{
	struct rd r = rd_of(rest);
	struct ag_key_limits l = {.to.bytes.limit = AGENT_FRAME_MAX};
	err_t e = OK;
	while (e == OK && r.n > 0) {
		uint8_t kind = rd_u8(&r);
		if (kind == AGENT_CONSTRAIN_lifetime && l.lifetime_s == 0) {
			l.lifetime_s = rd_u32(&r);
			e = r.bad || l.lifetime_s == 0 ? E_FORMAT : OK;
		} else if (kind == AGENT_CONSTRAIN_confirm && !l.confirm)
			l.confirm = true;
		else if (kind == AGENT_CONSTRAIN_extension)
			e = read_extension(a, &r, is_token, &l);
		else
			e = E_UNSUPPORTED; /* a limit that is not known cannot be kept */
	}
	if (e != OK) {
		ag_destinations_done(&l.to);
		return e;
	}
	*out = l;
	return OK;
}

/* ---- more, fewer --------------------------------------------------------------------------------
 */
/* FIDO keys are held by a device, and a provider speaks to it. */
static bool is_of_device(const struct key *k)
{
	return strncmp(key_type_name(key_type_of(k)), "sk-", 3) == 0;
}

/* A key that this connection must not see is not replaced by it either. */
static err_t check_before(const struct ag *a, const struct key *k, const struct ag_now *now)
{
	struct buf blob;
	buf_init(&blob, AGENT_FRAME_MAX);
	err_t e = key_blob_any(k, &blob);
	const struct ag_key *before = e == OK ? ag_store_find(a->store, buf_bytes(&blob)) : NULL;
	if (before != NULL && !ag_may(a, before, now, NULL))
		e = E_DENIED;
	buf_done(&blob);
	return e;
}

static err_t add(struct ag *a, struct cslice body, bool may_have_limits, const struct ag_now *now)
{
	struct rd r = rd_of(body);
	struct key *k = NULL;
	struct ag_key_limits limits = {.to.bytes.limit = AGENT_FRAME_MAX};
	err_t e = key_read_private_fields(&k, &r);
	struct cslice comment = rd_str(&r), rest = rd_rest(&r);
	if (e == OK && (r.bad || (!may_have_limits && rest.n > 0)))
		e = E_FORMAT;
	if (e == OK)
		e = ag_constraints_read(a, rest, false, &limits);
	if (e == OK && is_of_device(k) == (limits.provider.n == 0))
		e = E_KEY_TYPE;
	if (e == OK)
		e = check_before(a, k, now);
	if (e == OK)
		e = ag_store_add(a->store, k, comment, &limits, now->us);
	ag_destinations_done(&limits.to);
	key_free(k);
	if (e != OK)
		ag_store_say(a->store, LOG_L_INFO, "a key was not added: %s", err_text(e));
	return e;
}

err_t ag_on_add(struct ag *a, struct cslice body, const struct ag_now *now)
{
	return add(a, body, false, now);
}

err_t ag_on_add_constrained(struct ag *a, struct cslice body, const struct ag_now *now)
{
	return add(a, body, true, now);
}

err_t ag_on_remove(struct ag *a, struct cslice body, const struct ag_now *now)
{
	struct agent_remove_identity m;
	TRY(agent_get_remove_identity(body, &m));
	const struct ag_key *k = ag_store_find(a->store, m.blob);
	if (k == NULL || !ag_may(a, k, now, NULL))
		return E_NOT_FOUND;
	ag_store_remove(a->store, k);
	return OK;
}

err_t ag_on_remove_all(struct ag *a, struct cslice body, const struct ag_now *now)
{
	struct agent_remove_all_identities m;
	(void)now;
	TRY(agent_get_remove_all_identities(body, &m));
	ag_store_clear(a->store);
	return OK;
}

/* ---- tokens -------------------------------------------------------------------------------------
 */
static err_t token(const struct ag *a, struct cslice provider)
{
	TRY(provider_check(a, provider));
	ag_store_say(a->store, LOG_L_ERROR,
		"%.*s is refused: this agent does not work with PKCS#11 tokens yet",
		(int)num_min(provider.n, 512), (const char *)provider.p);
	return E_UNSUPPORTED;
}

err_t ag_on_smartcard(struct ag *a, struct cslice body, const struct ag_now *now)
{
	struct agent_add_smartcard_key m; /* removing has the same fields */
	(void)now;
	TRY(agent_get_add_smartcard_key(body, &m));
	return token(a, m.provider);
}

err_t ag_on_smartcard_constrained(struct ag *a, struct cslice body, const struct ag_now *now)
{
	struct agent_add_smartcard_key_constrained m;
	struct ag_key_limits limits;
	(void)now;
	TRY(agent_get_add_smartcard_key_constrained(body, &m));
	TRY(ag_constraints_read(a, m.constraints, true, &limits));
	ag_destinations_done(&limits.to);
	return token(a, m.provider);
}
