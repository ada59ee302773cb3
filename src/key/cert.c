/* SPDX-License-Identifier: ISC */
/*
 * cert - certificates as bytes (compat 5.3): parse, keep, show, take along
 *
 * The blob is kept whole and every field points into it, so what is sent on is what was signed.
 * The form of all packed lists is checked here once; the walkers need not doubt it again.
 */
#include <stdlib.h>

#include "base/text.h"
#include "key/ops.h"

void cert_free(struct cert *c)
{
	if (c == NULL)
		return;
	key_free(c->ca);
	buf_done(&c->blob);
	free(c);
}

/* ---- packed lists
 * ---------------------------------------------------------------------------------------------
 */
bool cert_next_principal(struct cslice *rest, struct cslice *name)
{
	struct rd r = rd_of(*rest);
	struct cslice s = rd_text(&r);
	if (r.bad)
		return false;
	*rest = cslice_of(r.p, r.n);
	*name = s;
	return true;
}

bool cert_next_option(struct cslice *rest, struct cslice *name, struct cslice *data)
{
	struct rd r = rd_of(*rest);
	struct cslice s = rd_text(&r);
	struct cslice d = rd_str(&r);
	if (r.bad)
		return false;
	*rest = cslice_of(r.p, r.n);
	*name = s;
	*data = d;
	return true;
}

static err_t principals_check(struct cert *c)
{
	struct cslice rest = c->principals, name;
	uint32_t n = 0;
	while (cert_next_principal(&rest, &name))
		if (++n > CERT_PRINCIPALS_MAX)
			return E_KEY_FORMAT;
	if (rest.n > 0)
		return E_KEY_FORMAT;
	c->principals_n = n;
	return OK;
}

static err_t options_check(struct cslice options)
{
	struct cslice name, data;
	while (cert_next_option(&options, &name, &data))
		continue;
	return options.n == 0 ? OK : E_KEY_FORMAT;
}

/* ---- parse
 * ----------------------------------------------------------------------------------------------------
 */
/* Behind the public fields; *ca: the blob of the authority's key. */
static err_t fields_read(struct cert *c, struct rd *r, struct cslice *ca)
{
	c->serial = rd_u64(r);
	uint32_t kind = rd_u32(r);
	c->key_id = rd_text(r);
	c->principals = rd_str(r);
	c->valid_after = rd_u64(r);
	c->valid_before = rd_u64(r);
	c->critical = rd_str(r);
	c->extensions = rd_str(r);
	(void)rd_str(r); /* reserved */
	*ca = rd_str(r);
	if (r->bad || (kind != CERT_USER && kind != CERT_HOST))
		return E_KEY_FORMAT;
	c->kind = (enum cert_kind)kind;
	TRY(principals_check(c));
	TRY(options_check(c->critical));
	return options_check(c->extensions);
}

/* E_KEY_FORMAT for a CA that is itself a certificate; E_KEY_TYPE only for what is not built. */
static err_t ca_read(struct cert *c, struct cslice blob)
{
	enum key_type t;
	if (key_type_from_cert_name(key_blob_type(blob), &t))
		return E_KEY_FORMAT;
	return key_parse_blob(&c->ca, blob);
}

/* Fills k and its certificate, whose blob is set.  may_trust: the signature was checked before. */
static err_t cert_read(struct key *k, struct cert *c, bool may_trust)
{
	struct rd r = rd_of(buf_bytes(&c->blob));
	struct cslice ca;
	(void)rd_str(&r); /* type name */
	(void)rd_str(&r); /* nonce */
	if (r.bad)
		return E_KEY_FORMAT;
	TRY(key_ops_of(k->type)->read_public(k, &r));
	TRY(fields_read(c, &r, &ca));
	struct cslice tbs = {c->blob.p, (size_t)(r.p - c->blob.p)};
	c->signature = rd_str(&r);
	if (rd_end(&r) != OK)
		return E_KEY_FORMAT;
	TRY(ca_read(c, ca));
	if (may_trust)
		return OK;
	return key_verify(c->ca, cslice_of(NULL, 0), tbs, c->signature) == OK ? OK : E_SIGNATURE;
}

static err_t cert_parse(struct key **out, enum key_type t, struct cslice blob, bool may_trust)
{
	struct key *k = NULL;
	if (blob.n > CERT_BLOB_MAX)
		return E_KEY_FORMAT;
	TRY(key_new(&k, t));
	err_t e = E_MEM;
	k->cert = calloc(1, sizeof(*k->cert));
	if (k->cert != NULL) {
		buf_init(&k->cert->blob, CERT_BLOB_MAX);
		buf_put(&k->cert->blob, blob.p, blob.n);
		e = buf_err(&k->cert->blob);
	}
	if (e == OK)
		e = cert_read(k, k->cert, may_trust);
	if (e != OK) {
		key_free(k);
		return e;
	}
	*out = k;
	return OK;
}

err_t key_parse_any(struct key **out, struct cslice blob)
{
	enum key_type t;
	if (!key_type_from_cert_name(key_blob_type(blob), &t))
		return key_parse_blob(out, blob);
	return cert_parse(out, t, blob, false);
}

err_t cert_copy(struct cert **out, const struct cert *c)
{
	struct key *k = NULL;
	enum key_type t;
	struct cslice blob = buf_bytes(&c->blob);
	if (!key_type_from_cert_name(key_blob_type(blob), &t))
		return E_BUG;
	TRY(cert_parse(&k, t, blob, true));
	*out = k->cert;
	k->cert = NULL;
	key_free(k);
	return OK;
}

/* ---- keys with and without
 * ------------------------------------------------------------------------------------
 */
const struct cert *key_cert(const struct key *k)
{
	return k->cert;
}

const char *key_name(const struct key *k)
{
	return k->cert != NULL ? key_type_cert_name(k->type) : key_type_name(k->type);
}

const char *key_shown(const struct key *k)
{
	return k->cert != NULL ? key_type_cert_shown(k->type) : key_type_shown(k->type);
}

err_t key_blob_any(const struct key *k, struct buf *out)
{
	size_t start = out->n;
	if (k->cert == NULL)
		return key_blob(k, out);
	buf_put(out, k->cert->blob.p, k->cert->blob.n);
	if (buf_err(out) != OK)
		out->n = start;
	return buf_err(out);
}

err_t key_take_cert(struct key *k, const struct key *from)
{
	struct cert *c = NULL;
	if (from->cert == NULL || !key_equal_public(k, from))
		return E_KEY_TYPE;
	TRY(cert_copy(&c, from->cert));
	key_drop_cert(k);
	k->cert = c;
	return OK;
}

void key_drop_cert(struct key *k)
{
	cert_free(k->cert);
	k->cert = NULL;
}
