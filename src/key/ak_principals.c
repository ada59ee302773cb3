/* SPDX-License-Identifier: ISC */
/*
 * ak_principals - certificates of users: AuthorizedPrincipalsFile, TrustedUserCAKeys, and the
 * rights of a line and of a certificate joined (compat 5.1)
 */
#include <stdlib.h>

#include "base/text.h"
#include "key/ak_options.h"
#include "key/ops.h"

bool ak_lists_key(struct cslice file, const struct key *k)
{
	struct buf want, blob;
	struct cslice line, comment;
	bool is_there = false;
	buf_init(&want, KEY_BLOB_MAX);
	buf_init(&blob, KEY_BLOB_MAX);
	err_t e = key_blob(k, &want);
	while (e == OK && !is_there && key_next_line(&file, &line)) {
		line = key_trim(line);
		if (line.n == 0 || line.p[0] == '#')
			continue;
		buf_clear(&blob);
		is_there = key_line_blob(line, &blob, &comment) == OK &&
			   cslice_eq(buf_bytes(&blob), buf_bytes(&want));
	}
	buf_done(&blob);
	buf_done(&want);
	return is_there;
}

/* ---- principals ---- */
/* `[options] principal`: the last word is the name. */
static struct cslice split(struct cslice line, struct cslice *options)
{
	size_t n = line.n;
	while (n > 0 && !key_is_blank(line.p[n - 1]))
		n--;
	*options = key_trim(cslice_of(line.p, n));
	return cslice_of(line.p + n, line.n - n);
}

static struct cslice without_comment(struct cslice line)
{
	const uint8_t *hash = line.n > 0 ? memchr(line.p, '#', line.n) : NULL;
	return key_trim(hash != NULL ? cslice_of(line.p, (size_t)(hash - line.p)) : line);
}

static bool is_principal(const struct cert *c, struct cslice name)
{
	struct cslice rest = c->principals, one;
	while (cert_next_principal(&rest, &one))
		if (cslice_eq(one, name))
			return true;
	return false;
}

static void tell(const struct ak_query *q, uint32_t line, const char *text)
{
	if (q->why != NULL)
		q->why(q->arg, line, text);
}

/* E_CONFIG: the line says nothing that could be understood; the next one is looked at. */
static err_t line_apply(struct cslice options, const struct ak_query *q, struct ak_result *r)
{
	const char *why = NULL;
	err_t e = ak_options_apply(options, q, r, &why);
	if (e == OK && r->is_ca) {
		e = E_CONFIG;
		why = "\"cert-authority\" has no meaning here";
	}
	if (e != OK)
		tell(q, r->line, why);
	return e;
}

err_t ak_check_principals(struct cslice file, const struct ak_query *q, struct ak_result *out)
{
	const struct cert *c = key_cert(q->k);
	struct cslice line, options;
	uint32_t number = 0;
	err_t e = E_CONFIG;
	struct ak_result r = {.verdict = AK_DENY};
	if (c == NULL)
		return E_BUG;
	while (e == E_CONFIG && key_next_line(&file, &line)) {
		number++;
		line = without_comment(line);
		if (line.n == 0 || line.n > AK_LINE_MAX || !is_principal(c, split(line, &options)))
			continue;
		ak_done(&r);
		r.line = number;
		e = line_apply(options, q, &r);
	}
	if (e == OK) {
		r.verdict = AK_ALLOW;
		*out = r;
		return OK;
	}
	ak_done(&r);
	if (e != E_CONFIG && e != E_DENIED)
		return e;
	*out = r;
	return OK;
}

/* ---- joined rights ---- */
err_t ak_merge_cert(
	struct ak_result *r, const struct cert_permit *p, const char *address, const char **reason)
{
	if (p->source_address != NULL &&
		(address == NULL ||
			addr_match_cidr(cslice_str(p->source_address), address) != ADDR_MATCH)) {
		*reason = "Certificate is not valid from this address (source-address)";
		return E_DENIED;
	}
	if (p->command != NULL && r->command != NULL && strcmp(p->command, r->command) != 0) {
		*reason = "forced command options do not match";
		return E_DENIED;
	}
	if (p->command != NULL && r->command == NULL)
		TRY(text_dup(cslice_str(p->command), &r->command));
	r->permit.pty &= p->permit.pty;
	r->permit.port_forwarding &= p->permit.port_forwarding;
	r->permit.agent_forwarding &= p->permit.agent_forwarding;
	r->permit.x11_forwarding &= p->permit.x11_forwarding;
	r->permit.user_rc &= p->permit.user_rc;
	r->no_touch_required &= p->no_touch_required;
	r->verify_required |= p->verify_required;
	return OK;
}
