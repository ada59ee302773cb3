/* SPDX-License-Identifier: ISC */
/* hops - the way that a request has come, and the ways that a key allows (compat 7.6) */
#include <stdlib.h>

#include "agent/hops.h"
#include "base/text.h"
#include "wire/agent.h"

#define USERAUTH_REQUEST 50
#define DATA_MAX         AGENT_FRAME_MAX

/* ---- what a key allows --------------------------------------------------------------------------
 */
static err_t keys_read(struct ag_hop *hop, struct cslice rest)
{
	struct agent_dest_hop_key one;
	struct ag_host_key *keys = NULL;
	size_t n = 0;
	while (rest.n > 0) {
		struct key *k = NULL;
		err_t e = n < AG_HOP_KEYS_MAX ? agent_next_dest_hop_key(&rest, &one) : E_LIMIT;
		if (e == OK)
			e = key_parse_blob(&k, one.blob);
		key_free(k);
		struct ag_host_key *more = e == OK ? realloc(keys, (n + 1) * sizeof(*keys)) : NULL;
		if (more == NULL) {
			free(keys);
			return e != OK ? e : E_MEM;
		}
		keys = more;
		keys[n++] = (struct ag_host_key){one.blob, one.is_ca};
	}
	hop->keys = keys;
	hop->keys_n = n;
	return OK;
}

static err_t hop_read(struct ag_hop *out, struct cslice data)
{
	struct agent_dest_hop h;
	TRY(agent_get_dest_hop(data, &h));
	if (h.reserved.n > 0)
		return E_UNSUPPORTED;
	if (h.user.n > AG_USER_MAX)
		return E_LIMIT;
	*out = (struct ag_hop){.user = h.user, .host = h.host};
	return keys_read(out, h.keys);
}

static void destination_done(struct ag_destination *d)
{
	free((void *)(uintptr_t)d->from.keys); /* ours: made by keys_read */
	free((void *)(uintptr_t)d->to.keys);
}

static err_t destination_read(struct ag_destination *out, struct cslice data)
{
	struct agent_dest_constraint c;
	struct ag_destination d = {0};
	TRY(agent_get_dest_constraint(data, &c));
	err_t e = c.reserved.n > 0 ? E_UNSUPPORTED : OK;
	if (e == OK)
		e = hop_read(&d.from, c.from);
	if (e == OK)
		e = hop_read(&d.to, c.to);
	bool is_here = d.from.host.n == 0;
	if (e == OK && (d.from.user.n > 0 || is_here != (d.from.keys_n == 0) || d.to.host.n == 0 ||
			       d.to.keys_n == 0))
		e = E_FORMAT;
	if (e != OK) {
		destination_done(&d);
		return e;
	}
	*out = d;
	return OK;
}

void ag_destinations_done(struct ag_destinations *d)
{
	for (size_t i = 0; i < d->n; i++)
		destination_done(&d->v[i]);
	free(d->v);
	buf_done(&d->bytes);
	d->v = NULL;
	d->n = 0;
}

err_t ag_destinations_read(struct ag_destinations *out, struct cslice data)
{
	struct ag_destinations d = {0};
	buf_init(&d.bytes, DATA_MAX);
	buf_put(&d.bytes, data.p, data.n);
	err_t e = buf_err(&d.bytes);
	struct rd r = rd_of(buf_bytes(&d.bytes));
	while (e == OK && r.n > 0) {
		struct cslice one = rd_str(&r);
		struct ag_destination *more = NULL;
		if (r.bad || d.n == AG_DESTINATIONS_MAX)
			e = r.bad ? E_FORMAT : E_LIMIT;
		else
			more = realloc(d.v, (d.n + 1) * sizeof(*d.v));
		if (more != NULL)
			d.v = more;
		else if (e == OK)
			e = E_MEM;
		if (e == OK)
			e = destination_read(&d.v[d.n], one);
		if (e == OK)
			d.n++;
	}
	if (e == OK && d.n == 0)
		e = E_FORMAT; /* a limit that allows nothing was not meant */
	if (e != OK) {
		ag_destinations_done(&d);
		return e;
	}
	*out = d;
	return OK;
}

/* ---- where a connection has come from -----------------------------------------------------------
 */
static void binding_done(struct ag_binding_known *b)
{
	key_free(b->host);
	buf_done(&b->hostkey);
	buf_done(&b->session);
	b->host = NULL;
}

void ag_way_done(struct ag_way *w)
{
	for (size_t i = 0; i < w->n; i++)
		binding_done(&w->v[i]);
	w->n = 0;
}

/* E_AGAIN: known already. */
static err_t fits(const struct ag_way *w, struct cslice session, struct cslice hostkey)
{
	for (size_t i = 0; i < w->n; i++) {
		/* Where one logs in the way ends. */
		if (!w->v[i].is_forwarding)
			return E_DENIED;
		if (!cslice_eq(buf_bytes(&w->v[i].session), session))
			continue;
		/* A session has one host. */
		return cslice_eq(buf_bytes(&w->v[i].hostkey), hostkey) ? E_AGAIN : E_DENIED;
	}
	return w->n < AG_BINDINGS_MAX ? OK : E_LIMIT;
}

static err_t bind_one(struct ag_way *w, struct cslice body)
{
	struct agent_session_bind m;
	struct ag_binding_known b = {0};
	TRY(agent_get_session_bind(body, &m));
	if (m.session_id.n == 0 || m.session_id.n > AG_SESSION_ID_MAX)
		return E_LIMIT;
	TRY(key_parse_any(&b.host, m.hostkey));
	buf_init(&b.hostkey, DATA_MAX);
	buf_init(&b.session, AG_SESSION_ID_MAX);
	buf_put(&b.session, m.session_id.p, m.session_id.n);
	b.is_forwarding = m.is_forwarding;
	err_t e = key_verify(b.host, cslice_of(NULL, 0), m.session_id, m.signature);
	if (e == OK)
		e = key_blob_any(b.host, &b.hostkey);
	if (e == OK)
		e = buf_err(&b.session);
	if (e == OK)
		e = fits(w, m.session_id, buf_bytes(&b.hostkey));
	if (e != OK) {
		binding_done(&b);
		return e == E_AGAIN ? OK : e;
	}
	w->v[w->n++] = b;
	return OK;
}

err_t ag_way_bind(struct ag_way *w, struct cslice body)
{
	w->was_tried = true;
	err_t e = bind_one(w, body);
	if (e != OK)
		w->has_failed = true;
	return e;
}

/* ---- does the way fit to what a key allows? -----------------------------------------------------
 */
static bool is_host(
	const struct ag_way_query *q, const struct ag_binding_known *b, const struct ag_hop *hop)
{
	const struct cert *c = key_cert(b->host);
	struct buf ca;
	char *name = NULL;
	bool is_it = false;
	if (c == NULL) {
		for (size_t i = 0; i < hop->keys_n && !is_it; i++)
			is_it = !hop->keys[i].is_ca &&
				cslice_eq(hop->keys[i].blob, buf_bytes(&b->hostkey));
		return is_it;
	}
	buf_init(&ca, DATA_MAX);
	if (key_blob(c->ca, &ca) == OK && text_dup(hop->host, &name) == OK) {
		ascii_lower(name);
		const struct cert_query check = {
			.kind = CERT_HOST, .now_s = q->wall_s, .name = name, .ca_algs = q->ca_algs};
		for (size_t i = 0; i < hop->keys_n && !is_it; i++)
			is_it = hop->keys[i].is_ca &&
				cslice_eq(hop->keys[i].blob, buf_bytes(&ca)) &&
				cert_check(b->host, &check, NULL) == OK;
	}
	free(name);
	buf_done(&ca);
	return is_it;
}

/*
 * One step: from NULL = where the agent is.  to NULL: is there any host that one may go on to from
 * there?  user NULL: any.
 */
static const struct ag_destination *step(const struct ag_way_query *q,
	const struct ag_binding_known *from, const struct ag_binding_known *to,
	const struct cslice *user)
{
	for (size_t i = 0; i < q->to->n; i++) {
		const struct ag_destination *d = &q->to->v[i];
		bool is_from = from == NULL ? d->from.keys_n == 0 : is_host(q, from, &d->from);
		if (!is_from || (to != NULL && !is_host(q, to, &d->to)))
			continue;
		if (user != NULL && d->to.user.n > 0 && !glob_match(d->to.user, *user))
			continue;
		return d;
	}
	return NULL;
}

enum ag_way_verdict ag_way_allows(const struct ag_way_query *q, struct cslice *host)
{
	const struct ag_way *w = q->way;
	const struct ag_destination *d = NULL;
	if (q->to->n == 0)
		return AG_WAY_ALLOW;
	if (w->has_failed)
		return AG_WAY_DENY;
	if (w->n == 0) /* a program of this machine: it may see, but has nobody to log in to */
		return q->user == NULL ? AG_WAY_ALLOW : AG_WAY_DENY;
	for (size_t i = 0; i < w->n; i++) {
		bool is_last = i + 1 == w->n;
		if (!is_last && !w->v[i].is_forwarding)
			return AG_WAY_DENY;
		if (is_last && w->v[i].is_forwarding && q->user != NULL)
			return AG_WAY_DENY;
		d = step(q, i > 0 ? &w->v[i - 1] : NULL, &w->v[i], is_last ? q->user : NULL);
		if (d == NULL)
			return AG_WAY_DENY;
	}
	/* Who asks from a host that forwards sees only what can be used from there. */
	const struct ag_binding_known *last = &w->v[w->n - 1];
	if (last->is_forwarding && step(q, last, NULL, NULL) == NULL)
		return AG_WAY_DENY;
	if (host != NULL)
		*host = d->to.host;
	return AG_WAY_ALLOW;
}

/* ---- what a login signs -------------------------------------------------------------------------
 */
static err_t login_read(struct agent_signed_login *m, struct cslice data, struct cslice *hostkey)
{
	TRY(agent_get_signed_login(data, m));
	bool is_bound = cslice_eq_str(m->method, "publickey-hostbound-v00@openssh.com");
	if (!is_bound && !cslice_eq_str(m->method, "publickey"))
		return E_FORMAT;
	if (m->session_id.n == 0 || m->message != USERAUTH_REQUEST || !m->has_signature ||
		!cslice_eq_str(m->service, "ssh-connection"))
		return E_FORMAT;
	struct rd r = rd_of(m->hostkey);
	struct cslice host = is_bound ? rd_str(&r) : cslice_of(NULL, 0);
	TRY(rd_end(&r));
	if (is_bound && host.n == 0)
		return E_FORMAT;
	*hostkey = host;
	return OK;
}

err_t ag_way_login(
	const struct ag_way *w, struct cslice data, struct cslice blob, struct cslice *user)
{
	struct agent_signed_login m;
	struct cslice hostkey;
	TRY(login_read(&m, data, &hostkey));
	if (!cslice_eq(m.blob, blob) || w->n == 0)
		return E_DENIED;
	const struct ag_binding_known *last = &w->v[w->n - 1];
	if (!cslice_eq(m.session_id, buf_bytes(&last->session)))
		return E_DENIED;
	/* Only the first step may be a login that does not name its host: of a client that cannot.
	 */
	if (hostkey.n == 0 && w->n > 1)
		return E_DENIED;
	if (hostkey.n > 0 && !cslice_eq(hostkey, buf_bytes(&last->hostkey)))
		return E_DENIED;
	*user = m.user;
	return OK;
}
