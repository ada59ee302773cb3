/* SPDX-License-Identifier: ISC */
/*
 * krl - what a revocation list holds, and the question whether a key is in it
 *
 * Entries are appended as they come and sorted once (settled): a list of a million lines costs a
 * sort, no million insertions.  A question to a list that is not settled looks at every entry.
 */
#include <stdlib.h>

#include "key/krl_body.h"

/* ---- sets of byte strings
 * ----------------------------------------------------------------------------------------
 */
static int bytes_order(struct cslice a, struct cslice b)
{
	size_t n = num_min(a.n, b.n);
	int d = n > 0 ? memcmp(a.p, b.p, n) : 0;
	if (d != 0)
		return d;
	return a.n < b.n ? -1 : a.n > b.n;
}

static int item_order(const void *a, const void *b)
{
	return bytes_order(
		slice_const(*(const struct slice *)a), slice_const(*(const struct slice *)b));
}

/* Room for one element more of `size` bytes. */
static err_t grow(void **v, size_t n, size_t *cap, size_t size)
{
	size_t want, bytes;
	if (n < *cap)
		return OK;
	want = *cap == 0 ? 8 : *cap;
	TRY(num_mul(want, *cap == 0 ? 1 : 2, &want));
	TRY(num_mul(want, size, &bytes));
	void *bigger = realloc(*v, bytes);
	if (bigger == NULL)
		return E_MEM;
	*v = bigger;
	*cap = want;
	return OK;
}

static err_t bytes_dup(struct cslice s, struct slice *out)
{
	uint8_t *p = malloc(s.n + 1);
	if (p == NULL)
		return E_MEM;
	if (s.n > 0)
		memmove(p, s.p, s.n);
	out->p = p;
	out->n = s.n;
	return OK;
}

err_t krl_set_add(struct krl_set *s, struct cslice bytes)
{
	struct slice item;
	void *v = s->v;
	TRY(grow(&v, s->n, &s->cap, sizeof(*s->v)));
	s->v = v;
	TRY(bytes_dup(bytes, &item));
	s->v[s->n++] = item;
	s->is_loose = true;
	return OK;
}

static void set_settle(struct krl_set *s)
{
	size_t kept = 0;
	if (s->is_loose && s->n > 1)
		qsort(s->v, s->n, sizeof(*s->v), item_order);
	for (size_t i = 0; s->is_loose && i < s->n; i++) {
		if (kept > 0 && item_order(&s->v[kept - 1], &s->v[i]) == 0)
			free(s->v[i].p);
		else
			s->v[kept++] = s->v[i];
	}
	if (s->is_loose)
		s->n = kept;
	s->is_loose = false;
}

static bool set_has(const struct krl_set *s, struct cslice bytes)
{
	size_t low = 0, high = s->n;
	for (size_t i = 0; s->is_loose && i < s->n; i++)
		if (cslice_eq(slice_const(s->v[i]), bytes))
			return true;
	while (!s->is_loose && low < high) {
		size_t middle = low + (high - low) / 2;
		int d = bytes_order(bytes, slice_const(s->v[middle]));
		if (d == 0)
			return true;
		if (d < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return false;
}

static void set_done(struct krl_set *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->v[i].p);
	free(s->v);
}

/* ---- serials
 * -----------------------------------------------------------------------------------------------------
 */
static int span_order(const void *a, const void *b)
{
	const struct krl_span *x = a, *y = b;
	return x->first < y->first ? -1 : x->first > y->first;
}

err_t krl_ca_add(struct krl_ca *ca, uint64_t first, uint64_t last)
{
	void *v = ca->spans;
	if (first == 0 || first > last)
		return E_FORMAT;
	TRY(grow(&v, ca->spans_n, &ca->spans_cap, sizeof(*ca->spans)));
	ca->spans = v;
	ca->spans[ca->spans_n++] = (struct krl_span){first, last};
	ca->is_loose = true;
	return OK;
}

static void spans_settle(struct krl_ca *ca)
{
	size_t kept = 0;
	if (!ca->is_loose)
		return;
	if (ca->spans_n > 1)
		qsort(ca->spans, ca->spans_n, sizeof(*ca->spans), span_order);
	for (size_t i = 0; i < ca->spans_n; i++) {
		struct krl_span *before = kept > 0 ? &ca->spans[kept - 1] : NULL;
		/* They overlap or touch; first is never 0. */
		if (before != NULL && ca->spans[i].first - 1 <= before->last) {
			if (ca->spans[i].last > before->last)
				before->last = ca->spans[i].last;
		} else {
			ca->spans[kept++] = ca->spans[i];
		}
	}
	ca->spans_n = kept;
	ca->is_loose = false;
}

static bool has_serial(const struct krl_ca *ca, uint64_t serial)
{
	size_t low = 0, high = ca->spans_n;
	for (size_t i = 0; ca->is_loose && i < ca->spans_n; i++)
		if (serial >= ca->spans[i].first && serial <= ca->spans[i].last)
			return true;
	while (!ca->is_loose && low < high) {
		size_t middle = low + (high - low) / 2;
		if (serial < ca->spans[middle].first)
			high = middle;
		else if (serial > ca->spans[middle].last)
			low = middle + 1;
		else
			return true;
	}
	return false;
}

/* ---- the list
 * ----------------------------------------------------------------------------------------------------
 */
err_t krl_new(struct krl **out)
{
	struct krl *r = calloc(1, sizeof(*r));
	if (r == NULL)
		return E_MEM;
	buf_init(&r->comment, KRL_MAX);
	*out = r;
	return OK;
}

void krl_free(struct krl *r)
{
	if (r == NULL)
		return;
	for (size_t i = 0; i < r->cas_n; i++) {
		free(r->cas[i].blob.p);
		free(r->cas[i].spans);
		set_done(&r->cas[i].ids);
	}
	free(r->cas);
	set_done(&r->keys);
	set_done(&r->sha1);
	set_done(&r->sha256);
	buf_done(&r->comment);
	free(r);
}

err_t krl_ca_get(struct krl *r, struct cslice blob, struct krl_ca **out)
{
	struct krl_ca ca = {.spans = NULL};
	void *v = r->cas;
	for (size_t i = 0; i < r->cas_n; i++)
		if (cslice_eq(slice_const(r->cas[i].blob), blob)) {
			*out = &r->cas[i];
			return OK;
		}
	TRY(grow(&v, r->cas_n, &r->cas_cap, sizeof(*r->cas)));
	r->cas = v;
	TRY(bytes_dup(blob, &ca.blob));
	r->cas[r->cas_n] = ca;
	*out = &r->cas[r->cas_n++];
	return OK;
}

void krl_settle(struct krl *r)
{
	for (size_t i = 0; i < r->cas_n; i++) {
		spans_settle(&r->cas[i]);
		set_settle(&r->cas[i].ids);
	}
	set_settle(&r->keys);
	set_settle(&r->sha1);
	set_settle(&r->sha256);
}

void krl_set_version(struct krl *r, uint64_t version)
{
	r->version = version;
}

uint64_t krl_version(const struct krl *r)
{
	return r->version;
}

uint64_t krl_made_s(const struct krl *r)
{
	return r->made_s;
}

/* ---- the question
 * ------------------------------------------------------------------------------------------------
 */
/* Every way to KRL_FINE leads through all of it: what fails on the way is revoked. */
static enum krl_verdict check_blob(const struct krl *r, struct cslice blob)
{
	uint8_t sha1[HASH_MAX], sha256[HASH_MAX];
	if (hash_once(HASH_SHA1, blob, sha1) != OK || hash_once(HASH_SHA256, blob, sha256) != OK)
		return KRL_REVOKED;
	if (set_has(&r->keys, blob) || set_has(&r->sha1, cslice_of(sha1, hash_size(HASH_SHA1))) ||
		set_has(&r->sha256, cslice_of(sha256, hash_size(HASH_SHA256))))
		return KRL_REVOKED;
	return KRL_FINE;
}

static enum krl_verdict check_plain(const struct krl *r, const struct key *k)
{
	struct buf blob;
	buf_init(&blob, KEY_BLOB_MAX);
	enum krl_verdict v =
		key_blob(k, &blob) == OK ? check_blob(r, buf_bytes(&blob)) : KRL_REVOKED;
	buf_done(&blob);
	return v;
}

static bool names_cert(const struct krl_ca *ca, const struct cert *c)
{
	return set_has(&ca->ids, c->key_id) || (c->serial != 0 && has_serial(ca, c->serial));
}

static enum krl_verdict check_cert(const struct krl *r, const struct cert *c)
{
	struct buf ca;
	buf_init(&ca, KEY_BLOB_MAX);
	enum krl_verdict v = KRL_REVOKED;
	if (key_blob(c->ca, &ca) == OK)
		v = check_blob(r, buf_bytes(&ca));
	for (size_t i = 0; v == KRL_FINE && i < r->cas_n; i++) {
		struct cslice of = slice_const(r->cas[i].blob);
		if ((of.n == 0 || cslice_eq(of, buf_bytes(&ca))) && names_cert(&r->cas[i], c))
			v = KRL_REVOKED;
	}
	buf_done(&ca);
	return v;
}

enum krl_verdict krl_check(const struct krl *r, const struct key *k)
{
	if (check_plain(r, k) != KRL_FINE)
		return KRL_REVOKED;
	return key_cert(k) == NULL ? KRL_FINE : check_cert(r, key_cert(k));
}

enum krl_verdict krl_check_text(struct cslice bytes, const struct key *k, err_t *why)
{
	struct krl *r = NULL;
	err_t e = krl_parse(&r, bytes);
	enum krl_verdict v = e == OK ? krl_check(r, k) : KRL_REVOKED;
	krl_free(r);
	if (why != NULL)
		*why = e;
	return v;
}
