/* SPDX-License-Identifier: ISC */
/*
 * known_hosts - which keys a host is known by (compat 5.2)
 *
 * One reader of lines (kh_next) serves every question.  Keys are compared as blobs: a damaged or
 * unknown key can then never match, and a file with thousands of lines costs no curve arithmetic.
 */
#include "base/text.h"
#include "key/known_hosts.h"
#include "key/ops.h"

#define HASH_MARK  "|1|"
#define SALT_BYTES 20 /* the size of a SHA-1 value */
#define NAME_MAX_  1024

void kh_name(const char *host, uint16_t port, struct buf *out)
{
	size_t start = out->n;
	if (port == 22 || port == 0)
		buf_printf(out, "%s", host);
	else
		buf_printf(out, "[%s]:%u", host, port);
	for (size_t i = start; out->err == OK && i < out->n; i++)
		if (out->p[i] >= 'A' && out->p[i] <= 'Z')
			out->p[i] = (uint8_t)(out->p[i] - 'A' + 'a');
}

static enum kh_kind kind_of_key(struct cslice key_and_comment, struct kh_entry *e)
{
	struct buf blob;
	struct cslice rest = key_and_comment;
	struct cslice type = key_next_word(&rest);
	struct cslice base64 = key_next_word(&rest);
	if (base64.n == 0)
		return KH_LINE_BROKEN;
	e->key = cslice_of(type.p, (size_t)(base64.p + base64.n - type.p));
	e->comment = rest;
	buf_init(&blob, KEY_BLOB_MAX);
	struct cslice unused;
	err_t err = key_line_blob(e->key, &blob, &unused);
	buf_done(&blob);
	return err == OK ? KH_LINE_KEY : err == E_KEY_TYPE ? KH_LINE_UNKNOWN : KH_LINE_BROKEN;
}

bool kh_next(struct cslice *file, struct kh_entry *entry)
{
	struct cslice text;
	if (!key_next_line(file, &text))
		return false;
	*entry = (struct kh_entry){.line = entry->line + 1, .kind = KH_LINE_BLANK, .text = text};
	struct cslice rest = key_trim(text);
	if (rest.n == 0 || rest.p[0] == '#')
		return true;
	entry->kind = KH_LINE_BROKEN;
	if (rest.p[0] == '@') {
		struct cslice word = key_next_word(&rest);
		if (cslice_eq_str(word, "@cert-authority"))
			entry->marker = KH_MARK_CA;
		else if (cslice_eq_str(word, "@revoked"))
			entry->marker = KH_MARK_REVOKED;
		else
			return true;
	}
	entry->hosts = key_next_word(&rest);
	entry->kind = kind_of_key(rest, entry);
	return true;
}

bool kh_is_hashed(struct cslice hosts)
{
	return hosts.n > 0 && hosts.p[0] == '|';
}

static err_t hash_of(struct cslice name, struct cslice salt, uint8_t mac[SALT_BYTES])
{
	struct hmac *h = NULL;
	TRY(hmac_new(&h, HASH_SHA1, salt));
	err_t e = hmac_tag(h, &name, 1, mac);
	hmac_free(h);
	return e;
}

/* |1|base64(salt)|base64(HMAC-SHA1(salt, name)); anything else starting with '|' matches nothing.
 */
static err_t hashed_match(struct cslice hosts, struct cslice name, bool *is_match)
{
	uint8_t mac[SALT_BYTES];
	struct buf salt, want;
	bool hit = false;
	size_t mark_n = strlen(HASH_MARK);
	if (hosts.n < mark_n || memcmp(hosts.p, HASH_MARK, mark_n) != 0)
		return *is_match = false, OK;
	struct cslice rest = {hosts.p + mark_n, hosts.n - mark_n};
	const uint8_t *bar = memchr(rest.p, '|', rest.n);
	if (bar == NULL)
		return *is_match = false, OK;
	buf_init(&salt, 64);
	buf_init(&want, 64);
	size_t salt_n = (size_t)(bar - rest.p);
	err_t e = OK;
	bool is_ok = base64_decode(&salt, cslice_of(rest.p, salt_n), false) == OK &&
		     base64_decode(&want, cslice_of(bar + 1, rest.n - salt_n - 1), false) == OK &&
		     salt.n == SALT_BYTES && want.n == SALT_BYTES;
	if (is_ok) {
		e = hash_of(name, buf_bytes(&salt), mac);
		hit = e == OK && ct_eq(mac, want.p, SALT_BYTES);
	}
	buf_done(&want);
	buf_done(&salt);
	if (e == OK)
		*is_match = hit;
	return e;
}

static bool pattern_match(struct cslice pattern, struct cslice name)
{
	uint8_t low[NAME_MAX_];
	if (pattern.n > sizeof(low))
		return false;
	for (size_t i = 0; i < pattern.n; i++) {
		uint8_t c = pattern.p[i];
		low[i] = c >= 'A' && c <= 'Z' ? (uint8_t)(c - 'A' + 'a') : c;
	}
	return glob_match(cslice_of(low, pattern.n), name);
}

err_t kh_hosts_match(struct cslice hosts, struct cslice name, bool *is_match)
{
	bool hit = false;
	struct cslice one;
	if (kh_is_hashed(hosts))
		return hashed_match(hosts, name, is_match);
	while (list_next(&hosts, &one)) {
		bool is_negated = one.n > 0 && one.p[0] == '!';
		if (is_negated)
			one = cslice_of(one.p + 1, one.n - 1);
		if (one.n == 0 || !pattern_match(one, name))
			continue;
		if (is_negated)
			return *is_match = false, OK;
		hit = true;
	}
	*is_match = hit;
	return OK;
}

/* Walks the entries that name a host; step is called with the blob of each usable key line. */
typedef void step_fn(void *arg, const struct kh_entry *e, struct cslice blob);

static err_t walk(struct cslice file, const char *host, uint16_t port, step_fn *step, void *arg)
{
	struct kh_entry entry = {0};
	struct buf name, blob;
	struct cslice unused;
	buf_init(&name, NAME_MAX_);
	buf_init(&blob, KEY_BLOB_MAX);
	kh_name(host, port, &name);
	err_t e = buf_err(&name);
	while (e == OK && kh_next(&file, &entry)) {
		bool is_match = false;
		if (entry.kind != KH_LINE_KEY)
			continue;
		e = kh_hosts_match(entry.hosts, buf_bytes(&name), &is_match);
		if (e != OK || !is_match)
			continue;
		buf_clear(&blob);
		e = key_line_blob(entry.key, &blob, &unused);
		if (e == OK)
			step(arg, &entry, buf_bytes(&blob));
	}
	buf_done(&blob);
	buf_done(&name);
	return e;
}

void kh_merge(struct kh_found *into, const struct kh_found *one)
{
	if (one->verdict > into->verdict)
		*into = *one;
}

struct check {
	struct cslice blob;
	enum key_type type;
	struct kh_found found;
};

static void check_step(void *arg, const struct kh_entry *entry, struct cslice blob)
{
	struct check *c = arg;
	struct kh_found one = {.line = entry->line};
	bool is_same = cslice_eq(blob, c->blob);
	/* The type is known: KH_LINE_KEY says so. */
	if (!key_type_from_name(key_blob_type(blob), &one.type))
		return;
	switch (entry->marker) {
	case KH_MARK_CA: /* speaks about certificates only */
		return;
	case KH_MARK_REVOKED:
		if (!is_same)
			return;
		one.verdict = KH_REVOKED;
		break;
	case KH_MARK_NONE:
		one.verdict = is_same ? KH_OK : one.type == c->type ? KH_CHANGED : KH_OTHER;
		break;
	}
	kh_merge(&c->found, &one);
}

err_t kh_check(struct cslice file, const char *host, uint16_t port, const struct key *k,
	struct kh_found *out)
{
	struct check c = {.type = k->type};
	struct buf blob;
	buf_init(&blob, KEY_BLOB_MAX);
	err_t e = key_blob(k, &blob);
	c.blob = buf_bytes(&blob);
	if (e == OK)
		e = walk(file, host, port, check_step, &c);
	buf_done(&blob);
	if (e == OK)
		*out = c.found;
	return e;
}

struct check_ca {
	struct cslice ca, blob;
	struct kh_found found;
};

static void ca_step(void *arg, const struct kh_entry *entry, struct cslice blob)
{
	struct check_ca *c = arg;
	struct kh_found one = {.line = entry->line};
	bool is_ca = cslice_eq(blob, c->ca);
	if (entry->marker == KH_MARK_CA && is_ca)
		one.verdict = KH_OK;
	else if (entry->marker == KH_MARK_REVOKED && (is_ca || cslice_eq(blob, c->blob)))
		one.verdict = KH_REVOKED;
	else
		return;
	kh_merge(&c->found, &one);
}

err_t kh_check_ca(struct cslice file, const char *host, uint16_t port, const struct key *k,
	struct kh_found *out)
{
	struct check_ca c = {.found = {.verdict = KH_NEW}};
	struct buf blob, ca;
	if (key_cert(k) == NULL)
		return E_BUG;
	buf_init(&blob, KEY_BLOB_MAX);
	buf_init(&ca, KEY_BLOB_MAX);
	err_t e = key_blob(k, &blob);
	if (e == OK)
		e = key_blob(key_cert(k)->ca, &ca);
	c.blob = buf_bytes(&blob);
	c.ca = buf_bytes(&ca);
	if (e == OK)
		e = walk(file, host, port, ca_step, &c);
	buf_done(&ca);
	buf_done(&blob);
	if (e == OK)
		*out = c.found;
	return e;
}

static void has_ca_step(void *arg, const struct kh_entry *entry, struct cslice blob)
{
	bool *has_ca = arg;
	(void)blob;
	*has_ca = *has_ca || entry->marker == KH_MARK_CA;
}

err_t kh_has_ca(struct cslice file, const char *host, uint16_t port, bool *has_ca)
{
	bool found = false;
	TRY(walk(file, host, port, has_ca_step, &found));
	*has_ca = found;
	return OK;
}

static void types_step(void *arg, const struct kh_entry *entry, struct cslice blob)
{
	uint32_t *types = arg;
	enum key_type t;
	if (entry->marker == KH_MARK_NONE && key_type_from_name(key_blob_type(blob), &t))
		*types |= 1u << t;
}

err_t kh_types(struct cslice file, const char *host, uint16_t port, uint32_t *types)
{
	uint32_t found = 0;
	TRY(walk(file, host, port, types_step, &found));
	*types = found;
	return OK;
}

err_t kh_hash_name(struct cslice name, struct rng *rng, struct buf *out)
{
	uint8_t salt[SALT_BYTES], mac[SALT_BYTES];
	rng_fill(rng, salt, sizeof(salt));
	TRY(hash_of(name, cslice_of(salt, sizeof(salt)), mac));
	buf_printf(out, HASH_MARK);
	base64_encode(out, cslice_of(salt, sizeof(salt)));
	buf_put_u8(out, '|');
	base64_encode(out, cslice_of(mac, sizeof(mac)));
	return buf_err(out);
}

err_t kh_line(
	const char *host, uint16_t port, const struct key *k, struct rng *hash_rng, struct buf *out)
{
	struct buf name;
	size_t start = out->n;
	/* Such a name would not be read back as what it is (compat 5.2). */
	if (host[0] == '\0' || strpbrk(host, "@?*#[]|'\"\\ ,!\t\r\n") != NULL)
		return E_NAME;
	buf_init(&name, NAME_MAX_);
	kh_name(host, port, &name);
	err_t e = buf_err(&name);
	if (e == OK && hash_rng != NULL)
		e = kh_hash_name(buf_bytes(&name), hash_rng, out);
	else if (e == OK)
		buf_put(out, name.p, name.n);
	buf_put_u8(out, ' ');
	if (e == OK)
		e = key_public_line(k, NULL, out);
	buf_put_u8(out, '\n');
	if (e == OK)
		e = buf_err(out);
	if (e != OK)
		out->n = start;
	buf_done(&name);
	return e;
}

struct each {
	kh_line_fn *fn;
	void *arg;
};

static void each_step(void *arg, const struct kh_entry *entry, struct cslice blob)
{
	const struct each *each = arg;
	struct key *k = NULL;
	if (key_parse_blob(&k, blob) != OK)
		return; /* a key that may not be used */
	each->fn(each->arg, entry, k);
	key_free(k);
}

err_t kh_each(struct cslice file, const char *host, uint16_t port, kh_line_fn *fn, void *arg)
{
	struct each each = {fn, arg};
	return walk(file, host, port, each_step, &each);
}
