/* SPDX-License-Identifier: ISC */
/*
 * authorized_keys - may this key log in, and with which limits (compat 5.1)
 *
 * Keys are compared as blobs; only a line with this very key has its options looked at.  Whether
 * the key is a plain one or an authority's is the first of them: neither ever passes for the other.
 */
#include <stdlib.h>

#include "base/text.h"
#include "key/ak_options.h"
#include "key/ops.h"

static void list_free(char **list, size_t n)
{
	while (n > 0)
		free(list[--n]);
	free(list);
}

void ak_done(struct ak_result *r)
{
	free(r->command);
	free(r->principals);
	list_free(r->permitlisten, r->permitlisten_n);
	list_free(r->permitopen, r->permitopen_n);
	list_free(r->environment, r->environment_n);
	*r = (struct ak_result){.verdict = AK_DENY};
}

static void tell(const struct ak_query *q, uint32_t line, const char *text)
{
	if (q->why != NULL)
		q->why(q->arg, line, text);
}

/* Does the line hold exactly this blob, and behind which options? */
static bool line_has_key(
	struct cslice line, struct cslice want, struct buf *blob, struct cslice *options)
{
	struct cslice rest, comment;
	buf_clear(blob);
	*options = cslice_of(line.p, 0);
	err_t e = key_line_blob(line, blob, &comment);
	if (e == E_KEY_FORMAT && ak_options_split(line, options, &rest))
		e = key_line_blob(rest, blob, &comment);
	return e == OK && cslice_eq(buf_bytes(blob), want);
}

/* Is a word of the list among the certificate's principals?  Both are whole names: what holds a
 * comma is no two of them. */
static bool names_one(const char *list, const struct cert *c)
{
	struct cslice words = cslice_str(list), word;
	while (list_next(&words, &word)) {
		struct cslice rest = c->principals, name;
		while (word.n > 0 && cert_next_principal(&rest, &name))
			if (cslice_eq(word, name))
				return true;
	}
	return false;
}

static err_t cert_refused(const struct ak_query *q, uint32_t line, const char *reason)
{
	if (q->refused_cert != NULL)
		q->refused_cert(q->arg, line, reason);
	return E_DENIED;
}

/* The line is the authority's, and its conditions hold. */
static err_t cert_apply(const struct ak_query *q, struct ak_result *r)
{
	const char *reason = "Certificate invalid";
	struct cert_permit permit;
	struct cert_query cq = {.kind = CERT_USER,
		.now_s = q->now_s,
		.name = r->principals == NULL ? q->user : NULL,
		.ca_algs = q->ca_algs,
		.reason = &reason};
	if (r->principals == NULL && q->user == NULL)
		return E_DENIED;
	if (r->principals != NULL && !names_one(r->principals, key_cert(q->k)))
		return cert_refused(
			q, r->line, "Certificate does not contain an authorized principal");
	err_t e = cert_check(q->k, &cq, &permit);
	if (e == OK) {
		e = ak_merge_cert(r, &permit, q->address, &reason);
		cert_permit_done(&permit);
	}
	return e == E_DENIED ? cert_refused(q, r->line, reason) : e;
}

static err_t line_check(
	struct cslice line, uint32_t number, const struct ak_query *q, struct ak_result *out)
{
	struct ak_result r = {.verdict = AK_DENY, .line = number};
	const char *why = NULL;
	bool is_cert = key_cert(q->k) != NULL;
	err_t e = ak_options_apply(line, q, &r, &why);
	if (e == OK && r.is_ca != is_cert) {
		e = E_DENIED;
		why = is_cert ? "not a line of an authority" : "the key is an authority's";
	}
	if (e == OK && is_cert) {
		e = cert_apply(q, &r);
		why = "certificate refused";
	}
	if (e == OK) {
		r.verdict = AK_ALLOW;
		*out = r;
		return OK;
	}
	tell(q, number, why);
	ak_done(&r);
	return e;
}

err_t ak_check(struct cslice file, const struct ak_query *q, struct ak_result *out)
{
	struct buf want, blob;
	struct cslice line, options;
	struct ak_result found = {.verdict = AK_DENY};
	uint32_t number = 0;
	buf_init(&want, KEY_BLOB_MAX);
	buf_init(&blob, KEY_BLOB_MAX);
	const struct cert *c = key_cert(q->k);
	err_t e = key_blob(c != NULL ? c->ca : q->k, &want);
	while (e == OK && found.verdict != AK_ALLOW && key_next_line(&file, &line)) {
		number++;
		line = key_trim(line);
		if (line.n == 0 || line.p[0] == '#')
			continue;
		if (line.n > AK_LINE_MAX) {
			tell(q, number, "line too long");
			continue;
		}
		if (!line_has_key(line, buf_bytes(&want), &blob, &options))
			continue;
		e = line_check(options, number, q, &found);
		if (e == E_CONFIG || e == E_DENIED)
			e = OK; /* this line says no; a later one may say yes */
	}
	buf_done(&blob);
	buf_done(&want);
	if (e != OK) {
		ak_done(&found);
		return e;
	}
	*out = found;
	return OK;
}
