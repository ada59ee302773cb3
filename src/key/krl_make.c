/* SPDX-License-Identifier: ISC */
/*
 * krl_make - revocation lists are added to, written and shown
 *
 * Serials go into the shortest of three forms: a list costs 8 bytes a serial, a range 21, a bitmap
 * 22 and an eighth of what it spans.  A bitmap is begun where the runs ahead are so dense that it
 * is the shortest for them together.
 */
#include "base/text.h"
#include "key/krl_body.h"

#define HEAD_BYTES   5u /* of each part: what it is, and its length */
#define SERIAL_BYTES 8u
#define RANGE_BYTES  (HEAD_BYTES + 16u)
#define BITMAP_BYTES (HEAD_BYTES + 8u + 4u + 1u)

/* ---- adding
 * ------------------------------------------------------------------------------------------------------
 */
static err_t ca_of(struct krl *r, const struct key *ca, struct krl_ca **out)
{
	struct buf blob;
	err_t e = OK;
	buf_init(&blob, KEY_BLOB_MAX);
	if (ca != NULL)
		e = key_blob(ca, &blob);
	if (e == OK)
		e = krl_ca_get(r, buf_bytes(&blob), out);
	buf_done(&blob);
	return e;
}

err_t krl_add_serials(struct krl *r, const struct key *ca, uint64_t first, uint64_t last)
{
	struct krl_ca *of;
	if (first == 0 || first > last)
		return E_FORMAT;
	TRY(ca_of(r, ca, &of));
	return krl_ca_add(of, first, last);
}

err_t krl_add_key_id(struct krl *r, const struct key *ca, struct cslice id)
{
	struct krl_ca *of;
	TRY(ca_of(r, ca, &of));
	return krl_set_add(&of->ids, id);
}

err_t krl_add_key(struct krl *r, const struct key *k)
{
	struct buf blob;
	buf_init(&blob, KEY_BLOB_MAX);
	err_t e = key_blob(k, &blob);
	if (e == OK)
		e = krl_set_add(&r->keys, buf_bytes(&blob));
	buf_done(&blob);
	return e;
}

err_t krl_add_hash(struct krl *r, enum hash_id h, struct cslice digest)
{
	if ((h != HASH_SHA1 && h != HASH_SHA256) || digest.n != hash_size(h))
		return E_FORMAT;
	return krl_set_add(h == HASH_SHA1 ? &r->sha1 : &r->sha256, digest);
}

err_t krl_add_any(struct krl *r, const struct key *k)
{
	const struct cert *c = key_cert(k);
	if (c == NULL)
		return krl_add_key(r, k);
	if (c->serial == 0)
		return krl_add_key_id(r, c->ca, c->key_id);
	return krl_add_serials(r, c->ca, c->serial, c->serial);
}

/* ---- writing
 * -----------------------------------------------------------------------------------------------------
 */
/* The length of a section or part is filled in when its end is known. */
static size_t open_section(struct buf *out, uint8_t kind)
{
	buf_put_u8(out, kind);
	buf_put_u32(out, 0);
	return out->n;
}

static void close_section(struct buf *out, size_t begin)
{
	size_t n = out->n - begin;
	if (n > UINT32_MAX && out->err == OK)
		out->err = E_LIMIT;
	if (out->err == OK)
		be32_put(out->p + begin - 4, (uint32_t)n);
}

static size_t other_bytes(const struct krl_span *s)
{
	uint64_t more = s->last - s->first;
	return more >= 2 ? RANGE_BYTES : (size_t)(more + 1) * SERIAL_BYTES;
}

/* How many spans from v on are shorter as one bitmap; 0 = none. */
static size_t bitmap_run(const struct krl_span *v, size_t n)
{
	size_t others = 0, best = 0;
	if (v->first > UINT64_MAX - KRL_BITMAP_BITS)
		return 0; /* its numbers would run over the end */
	for (size_t i = 0; i < n && v[i].last - v->first < KRL_BITMAP_BITS; i++) {
		size_t bits = (size_t)(v[i].last - v->first) + 1;
		others += other_bytes(&v[i]);
		if (BITMAP_BYTES + bits / 8 > others + (size_t)RANGE_BYTES * 4)
			break; /* the gap is too long to be made up for */
		if (BITMAP_BYTES + (bits + 7) / 8 < others)
			best = i + 1;
	}
	return best;
}

static void put_bitmap(const struct krl_span *v, size_t n, struct buf *out)
{
	uint8_t bytes[KRL_BITMAP_BITS / 8] = {0};
	uint64_t offset = v[0].first;
	for (size_t i = 0; i < n; i++)
		for (uint64_t at = v[i].first - offset; at <= v[i].last - offset; at++)
			bytes[sizeof(bytes) - 1 - at / 8] |= (uint8_t)(1u << at % 8);
	size_t used = (size_t)((v[n - 1].last - offset) / 8) + 1;
	size_t begin = open_section(out, KRL_P_BITMAP);
	buf_put_u64(out, offset);
	buf_put_mpint(out, cslice_of(bytes + sizeof(bytes) - used, used));
	close_section(out, begin);
}

static void put_spans(const struct krl_ca *ca, struct buf *out)
{
	size_t list = 0; /* where the open list begins; 0 = none is open */
	for (size_t i = 0; i < ca->spans_n;) {
		const struct krl_span *s = &ca->spans[i];
		size_t run = bitmap_run(s, ca->spans_n - i);
		bool is_range = run == 0 && s->last - s->first >= 2;
		if ((run > 0 || is_range) && list != 0) {
			close_section(out, list);
			list = 0;
		}
		if (run > 0) {
			put_bitmap(s, run, out);
		} else if (is_range) {
			size_t begin = open_section(out, KRL_P_RANGE);
			buf_put_u64(out, s->first);
			buf_put_u64(out, s->last);
			close_section(out, begin);
		} else {
			if (list == 0)
				list = open_section(out, KRL_P_SERIALS);
			buf_put_u64(out, s->first);
			if (s->last != s->first)
				buf_put_u64(out, s->last);
		}
		i += run > 0 ? run : 1;
	}
	if (list != 0)
		close_section(out, list);
}

static void put_set(uint8_t section, const struct krl_set *set, struct buf *out)
{
	if (set->n == 0)
		return;
	size_t begin = open_section(out, section);
	for (size_t i = 0; i < set->n; i++)
		buf_put_string(out, slice_const(set->v[i]));
	close_section(out, begin);
}

static void put_ca(const struct krl_ca *ca, struct buf *out)
{
	if (ca->spans_n == 0 && ca->ids.n == 0)
		return;
	size_t begin = open_section(out, KRL_S_CERTS);
	buf_put_string(out, slice_const(ca->blob));
	buf_put_string(out, cslice_of(NULL, 0)); /* reserved */
	put_spans(ca, out);
	put_set(KRL_P_KEY_IDS, &ca->ids, out);
	close_section(out, begin);
}

err_t krl_put(struct krl *r, uint64_t now_s, struct buf *out)
{
	size_t start = out->n;
	krl_settle(r);
	r->made_s = now_s;
	buf_put_u64(out, KRL_MAGIC);
	buf_put_u32(out, KRL_FORMAT);
	buf_put_u64(out, r->version);
	buf_put_u64(out, now_s);
	buf_put_u64(out, 0);                     /* flags */
	buf_put_string(out, cslice_of(NULL, 0)); /* reserved */
	buf_put_string(out, buf_bytes(&r->comment));
	for (size_t i = 0; i < r->cas_n; i++)
		put_ca(&r->cas[i], out);
	put_set(KRL_S_KEYS, &r->keys, out);
	put_set(KRL_S_SHA1, &r->sha1, out);
	put_set(KRL_S_SHA256, &r->sha256, out);
	if (buf_err(out) != OK)
		out->n = start;
	return buf_err(out);
}

/* ---- showing
 * -----------------------------------------------------------------------------------------------------
 */
static void put_hex(struct buf *out, struct cslice s)
{
	for (size_t i = 0; i < s.n; i++)
		buf_printf(out, "%02x", s.p[i]);
}

/* "SHA256:..." of a blob of any type. */
static err_t put_fingerprint(struct buf *out, struct cslice blob)
{
	uint8_t d[HASH_MAX];
	TRY(hash_once(HASH_SHA256, blob, d));
	buf_printf(out, "SHA256:");
	base64_encode(out, cslice_of(d, hash_size(HASH_SHA256)));
	while (out->err == OK && out->p[out->n - 1] == '=')
		out->n--;
	return buf_err(out);
}

static err_t dump_ca(const struct krl_ca *ca, struct buf *out)
{
	if (ca->blob.n == 0) {
		buf_printf(out, "\n# Wildcard CA\n");
	} else {
		buf_printf(out, "\n# CA key ");
		vis_put(out, key_blob_type(slice_const(ca->blob)));
		buf_put_u8(out, ' ');
		TRY(put_fingerprint(out, slice_const(ca->blob)));
		buf_put_u8(out, '\n');
	}
	for (size_t i = 0; i < ca->spans_n; i++) {
		const struct krl_span *s = &ca->spans[i];
		buf_printf(out, "serial: %llu", (unsigned long long)s->first);
		if (s->first != s->last)
			buf_printf(out, "-%llu", (unsigned long long)s->last);
		buf_put_u8(out, '\n');
	}
	for (size_t i = 0; i < ca->ids.n; i++) {
		buf_printf(out, "id: ");
		vis_put(out, slice_const(ca->ids.v[i]));
		buf_put_u8(out, '\n');
	}
	return buf_err(out);
}

static err_t dump(const struct krl *r, struct buf *out)
{
	if (r->comment.n > 0) {
		buf_printf(out, "# Comment: ");
		vis_put(out, buf_bytes(&r->comment));
		buf_put_u8(out, '\n');
	}
	buf_put_u8(out, '\n');
	for (size_t i = 0; i < r->keys.n; i++) {
		struct cslice blob = slice_const(r->keys.v[i]);
		buf_printf(out, "hash: ");
		TRY(put_fingerprint(out, blob));
		buf_printf(out, " # ");
		vis_put(out, key_blob_type(blob));
		buf_put_u8(out, '\n');
	}
	for (size_t i = 0; i < r->sha256.n; i++) {
		buf_printf(out, "hash: SHA256:");
		put_hex(out, slice_const(r->sha256.v[i]));
		buf_put_u8(out, '\n');
	}
	/* A remark only: such a line would not be read back. */
	for (size_t i = 0; i < r->sha1.n; i++) {
		buf_printf(out, "# hash SHA1:");
		put_hex(out, slice_const(r->sha1.v[i]));
		buf_put_u8(out, '\n');
	}
	for (size_t i = 0; i < r->cas_n; i++)
		TRY(dump_ca(&r->cas[i], out));
	return buf_err(out);
}

err_t krl_dump(struct krl *r, struct buf *out)
{
	size_t start = out->n;
	krl_settle(r);
	err_t e = dump(r, out);
	if (e != OK)
		out->n = start;
	return e;
}
