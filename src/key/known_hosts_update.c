/* SPDX-License-Identifier: ISC */
/*
 * known_hosts_update - what changes in known_hosts when a host has said which keys it has
 *
 * Keys are compared as blobs, as everywhere in known_hosts.  What is kept is copied byte by byte:
 * comments, hashes, CRLF, lines that nobody understands.
 */
#include <arpa/inet.h>

#include "base/text.h"
#include "key/known_hosts_update.h"
#include "key/ops.h"

#define NAME_ROOM 1024

struct reader {
	struct cslice rest, raw; /* raw: the line with its end */
	struct kh_entry entry;
	struct buf name, blob;
	bool is_match;
};

static err_t reader_init(struct reader *r, struct cslice file, const struct kh_offer *o)
{
	*r = (struct reader){.rest = file};
	buf_init(&r->name, NAME_ROOM);
	buf_init(&r->blob, KEY_BLOB_MAX);
	kh_name(o->host, o->port, &r->name);
	return o->n > KH_OFFER_MAX ? E_LIMIT : buf_err(&r->name);
}

static void reader_done(struct reader *r)
{
	buf_done(&r->name);
	buf_done(&r->blob);
}

/* The next line, whatever it is; blob is empty where it has no key that is known to us. */
static err_t reader_next(struct reader *r, bool *is_end)
{
	struct cslice before = r->rest, unused;
	*is_end = !kh_next(&r->rest, &r->entry);
	r->raw = cslice_of(before.p, before.n - r->rest.n);
	r->is_match = false;
	buf_clear(&r->blob);
	enum kh_kind kind = r->entry.kind;
	if (*is_end || (kind != KH_LINE_KEY && kind != KH_LINE_UNKNOWN))
		return OK;
	TRY(kh_hosts_match(r->entry.hosts, buf_bytes(&r->name), &r->is_match));
	return kind == KH_LINE_KEY ? key_line_blob(r->entry.key, &r->blob, &unused) : OK;
}

static bool is_address(struct cslice name)
{
	char text[64];
	uint8_t room[sizeof(struct in6_addr)];
	if (name.n > 0 && name.p[0] == '[') { /* [address]:port */
		const uint8_t *end = memchr(name.p, ']', name.n);
		name = cslice_of(name.p + 1, end != NULL ? (size_t)(end - name.p) - 1 : 0);
	}
	if (name.n == 0 || name.n >= sizeof(text))
		return false;
	memcpy(text, name.p, name.n);
	text[name.n] = '\0';
	return inet_pton(AF_INET, text, room) == 1 || inet_pton(AF_INET6, text, room) == 1;
}

/* "name", "name,address" (as older clients wrote it), or a hash: a line for this host alone. */
static bool is_of_one_host(struct cslice hosts, struct cslice name)
{
	struct cslice one;
	size_t others = 0;
	if (kh_is_hashed(hosts))
		return true;
	for (size_t i = 0; i < hosts.n; i++)
		if (memchr("*?!", hosts.p[i], 3) != NULL)
			return false;
	while (list_next(&hosts, &one)) {
		bool is_own = false;
		if (kh_hosts_match(one, name, &is_own) != OK || (!is_own && !is_address(one)))
			return false;
		others += !is_own;
	}
	return others <= 1;
}

static size_t find(const struct cslice *blobs, size_t n, struct cslice blob)
{
	size_t i = 0;
	while (i < n && !cslice_eq(blobs[i], blob))
		i++;
	return i;
}

static size_t find_old(const struct kh_survey *sv, struct cslice blob)
{
	size_t i = 0;
	while (i < sv->old_n && !cslice_eq(buf_bytes(&sv->old[i]), blob))
		i++;
	return i;
}

static err_t add_old(struct kh_survey *sv, struct cslice blob)
{
	if (find_old(sv, blob) < sv->old_n)
		return OK;
	if (sv->old_n == KH_OFFER_MAX) {
		sv->is_complex = true; /* whoever wrote this knows why */
		return OK;
	}
	struct buf *one = &sv->old[sv->old_n++];
	buf_init(one, KEY_BLOB_MAX);
	buf_put(one, blob.p, blob.n);
	return buf_err(one);
}

static err_t survey_line(const struct reader *r, const struct kh_offer *o, struct kh_survey *sv)
{
	struct cslice blob = buf_bytes(&r->blob);
	size_t i = blob.n > 0 ? find(o->blobs, o->n, blob) : o->n;
	if (!r->is_match) {
		sv->is_elsewhere |= i < o->n;
		return OK;
	}
	if (r->entry.marker != KH_MARK_NONE ||
		!is_of_one_host(r->entry.hosts, buf_bytes(&r->name))) {
		sv->is_complex = true;
		return OK;
	}
	if (blob.n == 0) /* a type that this build does not know is no business of its */
		return OK;
	if (i == o->n)
		return add_old(sv, blob);
	sv->is_known[i] = true;
	return OK;
}

err_t kh_survey(struct cslice file, const struct kh_offer *o, struct kh_survey *sv)
{
	struct reader r;
	bool is_end = false;
	err_t e = reader_init(&r, file, o);
	while (e == OK && (e = reader_next(&r, &is_end)) == OK && !is_end)
		e = survey_line(&r, o, sv);
	reader_done(&r);
	return e;
}

void kh_survey_done(struct kh_survey *sv)
{
	for (size_t i = 0; i < sv->old_n; i++)
		buf_done(&sv->old[i]);
	sv->old_n = 0;
}

err_t kh_old_elsewhere(
	struct cslice file, const struct kh_offer *o, const struct kh_survey *sv, bool *is)
{
	struct reader r;
	bool is_end = false, found = false;
	err_t e = reader_init(&r, file, o);
	while (e == OK && (e = reader_next(&r, &is_end)) == OK && !is_end)
		found |=
			!r.is_match && r.blob.n > 0 && find_old(sv, buf_bytes(&r.blob)) < sv->old_n;
	reader_done(&r);
	if (e == OK && found)
		*is = true;
	return e;
}

err_t kh_without_old(struct cslice file, const struct kh_offer *o, const struct kh_survey *sv,
	struct buf *out, size_t *removed)
{
	struct reader r;
	bool is_end = false;
	size_t start = out->n, n = 0;
	err_t e = reader_init(&r, file, o);
	while (e == OK && (e = reader_next(&r, &is_end)) == OK && !is_end) {
		bool is_old = r.is_match && r.blob.n > 0 && r.entry.marker == KH_MARK_NONE &&
			      find_old(sv, buf_bytes(&r.blob)) < sv->old_n;
		n += is_old;
		if (!is_old)
			buf_put(out, r.raw.p, r.raw.n);
	}
	if (e == OK)
		e = buf_err(out);
	if (e == OK)
		*removed = n;
	else
		out->n = start;
	reader_done(&r);
	return e;
}
