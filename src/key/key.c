/* SPDX-License-Identifier: ISC */
/* key - the key types as a table, blobs, and what is the same for all types */
#include <stdlib.h>

#include "base/text.h"
#include "key/ops.h"

struct key_row {
	const char *name, *cert, *shown, *cert_shown;
	uint32_t bits;
	const struct key_ops *ops;
};

#define KT(id, name, cert, shown, arg, file, bits, ops)                                            \
	[id] = {name, cert, shown, shown "-CERT", bits, &ops},
static const struct key_row rows[KEY_TYPE_N] = {
#include "key/types.def"
};
#undef KT

const struct key_ops *key_ops_of(enum key_type t)
{
	return rows[t].ops;
}

const char *key_type_name(enum key_type t)
{
	return rows[t].name;
}

const char *key_type_cert_name(enum key_type t)
{
	return rows[t].cert;
}

bool key_type_from_cert_name(struct cslice name, enum key_type *out)
{
	for (size_t t = 0; t < KEY_TYPE_N; t++) {
		if (cslice_eq_str(name, rows[t].cert)) {
			*out = (enum key_type)t;
			return true;
		}
	}
	return false;
}

const char *key_type_shown(enum key_type t)
{
	return rows[t].shown;
}

const char *key_type_cert_shown(enum key_type t)
{
	return rows[t].cert_shown;
}

bool key_type_from_name(struct cslice name, enum key_type *out)
{
	for (size_t t = 0; t < KEY_TYPE_N; t++) {
		if (cslice_eq_str(name, rows[t].name)) {
			*out = (enum key_type)t;
			return true;
		}
	}
	return false;
}

err_t key_new(struct key **out, enum key_type t)
{
	struct key *k = calloc(1, sizeof(*k));
	if (k == NULL)
		return E_MEM;
	k->type = t;
	*out = k;
	return OK;
}

void key_free(struct key *k)
{
	if (k == NULL)
		return;
	pkey_free(k->pk);
	cert_free(k->cert);
	key_sk_free(k->sk);
	wipe_free(k, sizeof(*k));
}

enum key_type key_type_of(const struct key *k)
{
	return k->type;
}

bool key_is_private(const struct key *k)
{
	return k->is_private;
}

void key_set_rng(struct key *k, struct rng *rng)
{
	k->rng = rng;
}

uint32_t key_bits(const struct key *k)
{
	return rows[k->type].ops->bits(k);
}

struct cslice key_blob_type(struct cslice blob)
{
	struct rd r = rd_of(blob);
	return rd_str(&r);
}

err_t key_parse_blob(struct key **out, struct cslice blob)
{
	struct rd r = rd_of(blob);
	enum key_type t;
	struct key *k = NULL;
	struct cslice name = rd_str(&r);
	if (r.bad)
		return E_KEY_FORMAT;
	if (!key_type_from_name(name, &t))
		return E_KEY_TYPE;
	TRY(key_new(&k, t));
	err_t e = rows[t].ops->read_public(k, &r);
	if (e == OK && rd_end(&r) != OK)
		e = E_KEY_FORMAT;
	if (e != OK) {
		key_free(k);
		return e;
	}
	*out = k;
	return OK;
}

err_t key_blob(const struct key *k, struct buf *out)
{
	size_t start = out->n;
	buf_put_cstring(out, rows[k->type].name);
	err_t e = rows[k->type].ops->put_public(k, out);
	if (e == OK)
		e = buf_err(out);
	if (e != OK)
		out->n = start;
	return e;
}

bool key_equal_public(const struct key *a, const struct key *b)
{
	struct buf x, y;
	if (a->type != b->type)
		return false;
	buf_init(&x, KEY_BLOB_MAX);
	buf_init(&y, KEY_BLOB_MAX);
	bool same = key_blob(a, &x) == OK && key_blob(b, &y) == OK &&
		    cslice_eq(buf_bytes(&x), buf_bytes(&y));
	buf_done(&y);
	buf_done(&x);
	return same;
}

err_t key_public_copy(struct key **out, const struct key *k)
{
	struct key *copy = NULL;
	struct buf blob;
	buf_init(&blob, KEY_BLOB_MAX);
	err_t e = key_blob(k, &blob);
	if (e == OK)
		e = key_parse_blob(&copy, buf_bytes(&blob));
	buf_done(&blob);
	if (e == OK && k->cert != NULL)
		e = cert_copy(&copy->cert, k->cert);
	if (e != OK) {
		key_free(copy);
		return e;
	}
	*out = copy;
	return OK;
}

err_t key_generate(struct key **out, enum key_type t, uint32_t bits, struct rng *rng)
{
	struct key *k = NULL;
	TRY(key_new(&k, t));
	err_t e = rows[t].ops->generate(k, bits != 0 ? bits : rows[t].bits, rng);
	if (e != OK) {
		key_free(k);
		return e;
	}
	k->is_private = true;
	*out = k;
	return OK;
}

/* A certificate and the private fields that it does not hold. */
static err_t read_private_certified(struct key **out, struct rd *r)
{
	struct key *pub = NULL, *k = NULL;
	struct cslice blob = rd_str(r);
	if (r->bad)
		return E_KEY_FORMAT;
	TRY(key_parse_any(&pub, blob));
	const struct key_ops *ops = rows[pub->type].ops;
	bool has_rest = ops->read_private_rest != NULL;
	err_t e = pub->cert == NULL ? E_KEY_FORMAT : OK;
	if (e == OK)
		e = has_rest ? key_public_copy(&k, pub) : key_new(&k, pub->type);
	if (e == OK)
		e = has_rest ? ops->read_private_rest(k, r) : ops->read_private(k, r);
	if (e == OK && r->bad)
		e = E_KEY_FORMAT;
	if (e == OK && !key_equal_public(k, pub))
		e = E_KEY_FORMAT;
	if (e == OK && k->cert == NULL)
		e = key_take_cert(k, pub);
	key_free(pub);
	if (e != OK) {
		key_free(k);
		return e;
	}
	k->is_private = true;
	*out = k;
	return OK;
}

static err_t read_private_plain(struct key **out, enum key_type t, struct rd *r)
{
	struct key *k = NULL;
	TRY(key_new(&k, t));
	err_t e = rows[t].ops->read_private(k, r);
	if (e == OK && r->bad)
		e = E_KEY_FORMAT;
	if (e != OK) {
		key_free(k);
		return e;
	}
	k->is_private = true;
	*out = k;
	return OK;
}

err_t key_read_private_fields(struct key **out, struct rd *r)
{
	enum key_type t;
	struct cslice name = rd_str(r);
	if (r->bad)
		return E_KEY_FORMAT;
	if (key_type_from_cert_name(name, &t)) {
		struct key *k = NULL;
		TRY(read_private_certified(&k, r));
		if (k->type != t) {
			key_free(k);
			return E_KEY_FORMAT;
		}
		*out = k;
		return OK;
	}
	if (!key_type_from_name(name, &t))
		return E_KEY_TYPE;
	return read_private_plain(out, t, r);
}

err_t key_put_private_fields(const struct key *k, struct buf *out)
{
	const struct key_ops *ops = rows[k->type].ops;
	if (!k->is_private)
		return E_KEY_PUBLIC;
	buf_put_cstring(out, key_name(k));
	if (k->cert == NULL) {
		TRY(ops->put_private(k, out));
		return buf_err(out);
	}
	buf_put_string(out, buf_bytes(&k->cert->blob));
	TRY(ops->put_private_rest != NULL ? ops->put_private_rest(k, out)
					  : ops->put_private(k, out));
	return buf_err(out);
}
