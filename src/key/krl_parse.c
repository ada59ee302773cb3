/* SPDX-License-Identifier: ISC */
/*
 * krl_parse - revocation lists from bytes: sections (compat 5.4), or one public key a line
 *
 * What is not understood is an error: a list that is only half read would let through what the
 * other half revokes.
 */
#include "base/text.h"
#include "key/krl_body.h"

#define BITMAP_MAX ((size_t)1 << 21)

/* ---- certificates
 * ------------------------------------------------------------------------------------------------
 */
static err_t serials_read(struct krl_ca *ca, struct rd *r)
{
	while (r->n > 0) {
		uint64_t serial = rd_u64(r);
		if (r->bad)
			return E_FORMAT;
		TRY(krl_ca_add(ca, serial, serial));
	}
	return OK;
}

static err_t range_read(struct krl_ca *ca, struct rd *r)
{
	uint64_t first = rd_u64(r), last = rd_u64(r);
	if (r->bad)
		return E_FORMAT;
	return krl_ca_add(ca, first, last);
}

/* Bit i of the number stands for offset + i; runs of bits become one span. */
static err_t bitmap_read(struct krl_ca *ca, struct rd *r)
{
	uint64_t offset = rd_u64(r);
	struct cslice bits = rd_str(r); /* OpenSSH writes longer ones than mpints are */
	if (r->bad || bits.n > BITMAP_MAX || (bits.n > 0 && (bits.p[0] & 0x80) != 0) ||
		bits.n * 8 > UINT64_MAX - offset)
		return E_FORMAT;
	for (uint64_t i = 0, n = bits.n * 8, from; i < n;) {
		if ((bits.p[bits.n - 1 - i / 8] >> i % 8 & 1) == 0) {
			i++;
			continue;
		}
		for (from = i; i < n && (bits.p[bits.n - 1 - i / 8] >> i % 8 & 1) != 0; i++)
			continue;
		TRY(krl_ca_add(ca, offset + from, offset + i - 1));
	}
	return OK;
}

static err_t ids_read(struct krl_ca *ca, struct rd *r)
{
	while (r->n > 0) {
		struct cslice id = rd_str(r);
		if (r->bad)
			return E_FORMAT;
		TRY(krl_set_add(&ca->ids, id));
	}
	return OK;
}

static err_t extension_read(struct rd *r)
{
	(void)rd_str(r); /* name: none is known */
	bool is_critical = rd_bool(r);
	(void)rd_str(r);
	if (r->bad)
		return E_FORMAT;
	return is_critical ? E_UNSUPPORTED : OK;
}

static err_t part_read(struct krl_ca *ca, uint8_t part, struct rd *r)
{
	switch (part) {
	case KRL_P_SERIALS:
		return serials_read(ca, r);
	case KRL_P_RANGE:
		return range_read(ca, r);
	case KRL_P_BITMAP:
		return bitmap_read(ca, r);
	case KRL_P_KEY_IDS:
		return ids_read(ca, r);
	case KRL_P_EXTENSION:
		return extension_read(r);
	default:
		return E_UNSUPPORTED;
	}
}

/* A key of a type that is built must be one; of others only the form is known. */
static err_t blob_check(struct cslice blob)
{
	struct key *k = NULL;
	if (key_blob_type(blob).n == 0)
		return E_KEY_FORMAT;
	err_t e = key_parse_blob(&k, blob);
	key_free(k);
	return e == E_KEY_TYPE || e == E_KEY_SIZE ? OK : e;
}

static err_t certs_read(struct krl *k, struct rd *r)
{
	struct krl_ca *ca;
	struct cslice blob = rd_str(r);
	(void)rd_str(r); /* reserved */
	if (r->bad)
		return E_FORMAT;
	if (blob.n > 0)
		TRY(blob_check(blob));
	TRY(krl_ca_get(k, blob, &ca));
	while (r->n > 0) {
		uint8_t part = rd_u8(r);
		struct rd body = rd_of(rd_str(r));
		if (r->bad)
			return E_FORMAT;
		TRY(part_read(ca, part, &body));
		if (rd_end(&body) != OK)
			return E_FORMAT;
	}
	return OK;
}

/* ---- sections
 * ----------------------------------------------------------------------------------------------------
 */
/* size 0: public keys of any length. */
static err_t strings_read(struct krl_set *set, size_t size, struct rd *r)
{
	while (r->n > 0) {
		struct cslice s = rd_str(r);
		if (r->bad || s.n == 0 || (size != 0 && s.n != size))
			return E_FORMAT;
		TRY(krl_set_add(set, s));
	}
	return OK;
}

static err_t section_read(struct krl *k, uint8_t section, struct rd *r)
{
	switch (section) {
	case KRL_S_CERTS:
		return certs_read(k, r);
	case KRL_S_KEYS:
		return strings_read(&k->keys, 0, r);
	case KRL_S_SHA1:
		return strings_read(&k->sha1, hash_size(HASH_SHA1), r);
	case KRL_S_SHA256:
		return strings_read(&k->sha256, hash_size(HASH_SHA256), r);
	case KRL_S_EXTENSION:
		return extension_read(r);
	default: /* KRL_S_SIGNATURE too: nobody says whose signature would count */
		return E_UNSUPPORTED;
	}
}

static err_t sections_read(struct krl *k, struct cslice bytes)
{
	struct rd r = rd_of(bytes);
	(void)rd_u64(&r); /* magic */
	uint32_t format = rd_u32(&r);
	k->version = rd_u64(&r);
	k->made_s = rd_u64(&r);
	(void)rd_u64(&r); /* flags: none is known */
	(void)rd_str(&r); /* reserved */
	struct cslice comment = rd_str(&r);
	if (r.bad)
		return E_FORMAT;
	if (format != KRL_FORMAT)
		return E_UNSUPPORTED;
	buf_put(&k->comment, comment.p, comment.n);
	TRY(buf_err(&k->comment));
	while (r.n > 0) {
		uint8_t section = rd_u8(&r);
		struct rd body = rd_of(rd_str(&r));
		if (r.bad)
			return E_FORMAT;
		TRY(section_read(k, section, &body));
		if (rd_end(&body) != OK)
			return E_FORMAT;
	}
	return OK;
}

/* ---- lists of keys
 * -----------------------------------------------------------------------------------------------
 */
static err_t line_read(struct krl *k, struct cslice line)
{
	struct buf blob;
	struct cslice comment;
	struct key *key = NULL;
	buf_init(&blob, CERT_BLOB_MAX);
	err_t e = key_line_words(line, &blob, &comment);
	if (e == OK)
		e = key_parse_any(&key, buf_bytes(&blob));
	if (e == OK)
		e = krl_add_key(k, key);
	else if (e == E_KEY_TYPE || e == E_KEY_SIZE)
		e = OK; /* no key that can be used here is meant by it */
	key_free(key);
	buf_done(&blob);
	return e;
}

static err_t lines_read(struct krl *k, struct cslice text)
{
	struct cslice line;
	while (key_next_line(&text, &line)) {
		line = key_trim(line);
		if (line.n > 0 && line.p[0] != '#')
			TRY(line_read(k, line));
	}
	return OK;
}

bool krl_is_binary(struct cslice bytes)
{
	return bytes.n >= 8 && be64_get(bytes.p) == KRL_MAGIC;
}

err_t krl_parse(struct krl **out, struct cslice bytes)
{
	struct krl *k = NULL;
	if (bytes.n > KRL_MAX)
		return E_LIMIT;
	TRY(krl_new(&k));
	err_t e = krl_is_binary(bytes) ? sections_read(k, bytes) : lines_read(k, bytes);
	if (e != OK) {
		krl_free(k);
		return e;
	}
	krl_settle(k);
	*out = k;
	return OK;
}
