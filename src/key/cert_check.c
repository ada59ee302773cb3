/* SPDX-License-Identifier: ISC */
/*
 * cert_check - may this certificate be used for that, now (compat 5.3)?
 *
 * Everything that is not understood among the critical options is a no.  Extensions give rights: a
 * name that is not known gives none and is passed over.
 */
#include <stdlib.h>

#include "base/text.h"
#include "key/ops.h"

void cert_permit_done(struct cert_permit *p)
{
	free(p->command);
	free(p->source_address);
	*p = (struct cert_permit){0};
}

static err_t deny(const struct cert_query *q, const char *reason)
{
	if (q->reason != NULL)
		*q->reason = reason;
	return E_DENIED;
}

/* ---- options
 * --------------------------------------------------------------------------------------------------
 */
/* A value is a string inside of the data. */
static err_t value_read(struct cslice data, char **at)
{
	struct rd r = rd_of(data);
	struct cslice value = rd_text(&r);
	if (*at != NULL || rd_end(&r) != OK)
		return E_DENIED;
	return text_dup(value, at);
}

static err_t opt_command(struct cert_permit *p, struct cslice data)
{
	return value_read(data, &p->command);
}

static err_t opt_source(struct cert_permit *p, struct cslice data)
{
	TRY(value_read(data, &p->source_address));
	struct cslice list = cslice_str(p->source_address);
	return addr_match_cidr(list, NULL) == ADDR_BAD_LIST ? E_DENIED : OK;
}

#define AT(member) offsetof(struct cert_permit, member)
/* clang-format off */
static const struct option {
	const char *name;
	bool is_critical;
	size_t flag; /* when value is NULL */
	err_t (*value)(struct cert_permit *p, struct cslice data);
} options[] = {
	/* name                     critical  flag                         value        */
	{"force-command",           true,     0,                           opt_command},
	{"source-address",          true,     0,                           opt_source},
	{"verify-required",         true,     AT(verify_required),         NULL},
	{"no-touch-required",       false,    AT(no_touch_required),       NULL},
	{"permit-X11-forwarding",   false,    AT(permit.x11_forwarding),   NULL},
	{"permit-agent-forwarding", false,    AT(permit.agent_forwarding), NULL},
	{"permit-port-forwarding",  false,    AT(permit.port_forwarding),  NULL},
	{"permit-pty",              false,    AT(permit.pty),              NULL},
	{"permit-user-rc",          false,    AT(permit.user_rc),          NULL},
};
/* clang-format on */

static const struct option *option_find(struct cslice name, bool is_critical)
{
	for (size_t i = 0; i < ARRAY_N(options); i++)
		if (options[i].is_critical == is_critical && cslice_eq_str(name, options[i].name))
			return &options[i];
	return NULL;
}

/* E_DENIED: an option that is not known though it must be, is there twice or has the wrong data. */
static err_t options_apply(struct cert_permit *p, struct cslice rest, bool is_critical)
{
	struct cslice name, data;
	while (cert_next_option(&rest, &name, &data)) {
		const struct option *o = option_find(name, is_critical);
		if (o == NULL && is_critical)
			return E_DENIED;
		if (o == NULL)
			continue;
		if (o->value != NULL) {
			TRY(o->value(p, data));
			continue;
		}
		if (data.n != 0)
			return E_DENIED;
		*(bool *)((char *)p + o->flag) = true;
	}
	return OK;
}

/* ---- names, time, algorithm
 * -----------------------------------------------------------------------------------
 */
static bool is_listed(const struct cert *c, const struct cert_query *q)
{
	struct cslice rest = c->principals, one, name = cslice_str(q->name);
	while (cert_next_principal(&rest, &one)) {
		bool is_same = q->kind == CERT_HOST ? glob_match(one, name) : cslice_eq(one, name);
		if (is_same)
			return true;
	}
	return false;
}

static bool is_alg_allowed(const struct cert *c, const char *list)
{
	struct rd r = rd_of(c->signature);
	struct cslice alg = rd_str(&r);
	return !r.bad && key_alg_fits(key_type_of(c->ca), alg) &&
	       (list == NULL || list_has(cslice_str(list), alg));
}

static const char *refusal(const struct cert *c, const struct cert_query *q)
{
	if (c->kind != q->kind)
		return q->kind == CERT_USER ? "Certificate invalid: not a user certificate"
					    : "Certificate invalid: not a host certificate";
	if (q->now_s < c->valid_after)
		return "Certificate invalid: not yet valid";
	if (q->now_s >= c->valid_before)
		return "Certificate invalid: expired";
	if (c->principals_n == 0)
		return "Certificate lacks principal list";
	if (q->name != NULL && !is_listed(c, q))
		return "Certificate invalid: name is not a listed principal";
	if (!is_alg_allowed(c, q->ca_algs))
		return "Certificate invalid: signature algorithm is not allowed";
	return NULL;
}

err_t cert_check(const struct key *k, const struct cert_query *q, struct cert_permit *out)
{
	struct cert_permit p = {0};
	const struct cert *c = key_cert(k);
	if (c == NULL)
		return deny(q, "Certificate invalid: a plain key");
	const char *why = refusal(c, q);
	if (why != NULL)
		return deny(q, why);
	if (q->kind == CERT_HOST && c->critical.n > 0)
		return deny(q, "Certificate contains unsupported critical options(s)");
	err_t e = options_apply(&p, c->critical, true);
	if (e == OK)
		e = options_apply(&p, c->extensions, false);
	if (e != OK || out == NULL)
		cert_permit_done(&p);
	if (e == E_DENIED || e == E_FORMAT)
		return deny(q, "Certificate contains unsupported critical options(s)");
	TRY(e);
	if (out != NULL)
		*out = p;
	return OK;
}
