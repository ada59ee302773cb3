/* SPDX-License-Identifier: ISC */
/* ecdsa - ecdsa-sha2-nistp256, -384, -521 (RFC 5656): the type names the curve, the blob repeats it
 */
#include "key/ops.h"

static const struct {
	enum ec_curve curve;
	const char *name; /* RFC5656 10.1 */
} curves[KEY_TYPE_N] = {
	[KEY_ECDSA_P256] = {EC_P256, "nistp256"},
	[KEY_ECDSA_P384] = {EC_P384, "nistp384"},
	[KEY_ECDSA_P521] = {EC_P521, "nistp521"},
	[KEY_SK_ECDSA] = {EC_P256, "nistp256"}, /* the public half and the signature (sk.c) */
};

enum key_type key_ecdsa_of(enum ec_curve c)
{
	return c == EC_P256 ? KEY_ECDSA_P256 : c == EC_P384 ? KEY_ECDSA_P384 : KEY_ECDSA_P521;
}

/* string curve, string point */
static err_t read_point(const struct key *k, struct rd *r, struct cslice *point)
{
	struct cslice name = rd_str(r);
	struct cslice p = rd_str(r);
	if (r->bad || !cslice_eq_str(name, curves[k->type].name))
		return E_KEY_FORMAT;
	/* RFC5656 3.1: compressed points may be left out; only 04 || x || y is read. */
	if (p.n != ec_point_size(curves[k->type].curve) || p.p[0] != 0x04)
		return E_KEY_FORMAT;
	*point = p;
	return OK;
}

static err_t read_public(struct key *k, struct rd *r)
{
	struct cslice point;
	TRY(read_point(k, r, &point));
	return pkey_ec_public(&k->pk, curves[k->type].curve, point);
}

static err_t put_parts(const struct key *k, struct buf *out, struct buf *d)
{
	enum ec_curve c;
	struct buf point;
	buf_init(&point, EC_POINT_MAX);
	err_t e = pkey_ec_parts(k->pk, &c, &point, d);
	if (e == OK) {
		buf_put_cstring(out, curves[k->type].name);
		buf_put_string(out, buf_bytes(&point));
		e = buf_err(out);
	}
	buf_done(&point);
	return e;
}

static err_t put_public(const struct key *k, struct buf *out)
{
	return put_parts(k, out, NULL);
}

static err_t read_private(struct key *k, struct rd *r)
{
	struct cslice point;
	TRY(read_point(k, r, &point));
	struct cslice d = rd_mpint(r);
	if (r->bad || d.n == 0 || d.n > ec_field_size(curves[k->type].curve))
		return E_KEY_FORMAT;
	return pkey_ec_private(&k->pk, curves[k->type].curve, point, d);
}

/* Behind a certificate, which has the point. */
static err_t read_private_rest(struct key *k, struct rd *r)
{
	struct buf point;
	struct pkey *pk = NULL;
	enum ec_curve c;
	struct cslice d = rd_mpint(r);
	if (r->bad || d.n == 0 || d.n > ec_field_size(curves[k->type].curve))
		return E_KEY_FORMAT;
	buf_init(&point, EC_POINT_MAX);
	err_t e = pkey_ec_parts(k->pk, &c, &point, NULL);
	if (e == OK)
		e = pkey_ec_private(&pk, c, buf_bytes(&point), d);
	buf_done(&point);
	TRY(e);
	pkey_free(k->pk);
	k->pk = pk;
	return OK;
}

static err_t put_private_rest(const struct key *k, struct buf *out)
{
	enum ec_curve c;
	struct buf point, d;
	buf_init(&point, EC_POINT_MAX);
	buf_init(&d, EC_FIELD_MAX);
	err_t e = pkey_ec_parts(k->pk, &c, &point, &d);
	if (e == OK) {
		buf_put_mpint(out, buf_bytes(&d));
		e = buf_err(out);
	}
	buf_done(&d);
	buf_done(&point);
	return e;
}

static err_t put_private(const struct key *k, struct buf *out)
{
	struct buf d;
	buf_init(&d, EC_FIELD_MAX);
	err_t e = put_parts(k, out, &d);
	if (e == OK) {
		buf_put_mpint(out, buf_bytes(&d));
		e = buf_err(out);
	}
	buf_done(&d);
	return e;
}

static uint32_t curve_bits(enum key_type t)
{
	return t == KEY_ECDSA_P256 ? 256 : t == KEY_ECDSA_P384 ? 384 : 521;
}

static err_t generate(struct key *k, uint32_t bits, struct rng *rng)
{
	(void)rng; /* the library draws the scalar */
	if (bits != curve_bits(k->type))
		return E_KEY_SIZE;
	return pkey_ec_generate(&k->pk, curves[k->type].curve);
}

/* RFC5656 3.1.2: mpint r, mpint s */
static err_t sign(const struct key *k, enum hash_id h, struct cslice tbs, struct buf *raw)
{
	uint8_t r[EC_FIELD_MAX], s[EC_FIELD_MAX];
	size_t n = ec_field_size(curves[k->type].curve);
	TRY(pkey_ecdsa_sign(k->pk, h, tbs, r, s));
	buf_put_mpint(raw, cslice_of(r, n));
	buf_put_mpint(raw, cslice_of(s, n));
	return buf_err(raw);
}

static err_t verify(const struct key *k, enum hash_id h, struct cslice tbs, struct cslice raw)
{
	struct rd rd = rd_of(raw);
	struct cslice r = rd_mpint(&rd);
	struct cslice s = rd_mpint(&rd);
	size_t n = ec_field_size(curves[k->type].curve);
	if (rd_end(&rd) != OK || r.n == 0 || s.n == 0 || r.n > n || s.n > n)
		return E_SIGNATURE;
	return pkey_ecdsa_verify(k->pk, h, tbs, r, s);
}

static uint32_t bits(const struct key *k)
{
	return curve_bits(k->type);
}

const struct key_ops key_ops_ecdsa = {
	.read_public = read_public,
	.put_public = put_public,
	.read_private = read_private,
	.put_private = put_private,
	.read_private_rest = read_private_rest,
	.put_private_rest = put_private_rest,
	.generate = generate,
	.sign = sign,
	.verify = verify,
	.bits = bits,
};
