/* SPDX-License-Identifier: ISC */
/*
 * rsa - ssh-rsa keys (RFC 4253 6.6), signatures with SHA-1, SHA-256, SHA-512 (RFC 8332)
 *
 * The size of the numbers is bounded before any arithmetic: a hostile key must not cost more than
 * an honest one.
 */
#include "key/ops.h"

#define EXPONENT_BYTES_MAX 8

static uint32_t magnitude_bits(struct cslice m)
{
	if (m.n == 0)
		return 0;
	uint32_t top = 8;
	while (top > 0 && (m.p[0] >> (top - 1)) == 0)
		top--;
	return (uint32_t)(m.n - 1) * 8 + top;
}

static bool is_odd(struct cslice m)
{
	return m.n > 0 && (m.p[m.n - 1] & 1) != 0;
}

static err_t check_public(struct cslice n, struct cslice e)
{
	uint32_t n_bits = magnitude_bits(n);
	if (n_bits < KEY_RSA_BITS_MIN || n_bits > KEY_RSA_BITS_MAX)
		return E_KEY_SIZE;
	bool is_one = e.n == 1 && e.p[0] == 1;
	if (!is_odd(n) || !is_odd(e) || is_one || e.n > EXPONENT_BYTES_MAX)
		return E_KEY_FORMAT;
	return OK;
}

static err_t read_public(struct key *k, struct rd *r)
{
	struct cslice e = rd_mpint(r);
	struct cslice n = rd_mpint(r);
	if (r->bad)
		return E_KEY_FORMAT;
	TRY(check_public(n, e));
	return pkey_rsa_public(&k->pk, n, e);
}

enum { PART_N, PART_E, PART_D, PART_IQMP, PART_P, PART_Q, PARTS };

static void parts_init(struct buf parts[PARTS])
{
	for (size_t i = 0; i < PARTS; i++)
		buf_init(&parts[i], KEY_RSA_BITS_MAX / 8);
}

static void parts_done(struct buf parts[PARTS])
{
	for (size_t i = 0; i < PARTS; i++)
		buf_done(&parts[i]);
}

static err_t put_public(const struct key *k, struct buf *out)
{
	struct buf parts[PARTS];
	parts_init(parts);
	err_t e = pkey_rsa_parts(k->pk, parts);
	if (e == OK) {
		buf_put_mpint(out, buf_bytes(&parts[PART_E]));
		buf_put_mpint(out, buf_bytes(&parts[PART_N]));
		e = buf_err(out);
	}
	parts_done(parts);
	return e;
}

static err_t private_of(struct pkey **out, const struct rsa_parts *p)
{
	if (p->d.n == 0 || p->iqmp.n == 0 || p->p.n == 0 || p->q.n == 0)
		return E_KEY_FORMAT;
	if (p->d.n > p->n.n || p->iqmp.n > p->n.n || p->p.n > p->n.n || p->q.n > p->n.n)
		return E_KEY_FORMAT;
	TRY(check_public(p->n, p->e));
	return pkey_rsa_private(out, p);
}

static err_t read_private(struct key *k, struct rd *r)
{
	struct rsa_parts p = {0};
	p.n = rd_mpint(r);
	p.e = rd_mpint(r);
	p.d = rd_mpint(r);
	p.iqmp = rd_mpint(r);
	p.p = rd_mpint(r);
	p.q = rd_mpint(r);
	if (r->bad)
		return E_KEY_FORMAT;
	return private_of(&k->pk, &p);
}

/* Behind a certificate, which has n and e. */
static err_t read_private_rest(struct key *k, struct rd *r)
{
	struct buf parts[PARTS];
	struct pkey *pk = NULL;
	struct rsa_parts p = {0};
	p.d = rd_mpint(r);
	p.iqmp = rd_mpint(r);
	p.p = rd_mpint(r);
	p.q = rd_mpint(r);
	if (r->bad)
		return E_KEY_FORMAT;
	parts_init(parts);
	err_t e = pkey_rsa_parts(k->pk, parts);
	p.n = buf_bytes(&parts[PART_N]);
	p.e = buf_bytes(&parts[PART_E]);
	if (e == OK)
		e = private_of(&pk, &p);
	parts_done(parts);
	TRY(e);
	pkey_free(k->pk);
	k->pk = pk;
	return OK;
}

static err_t put_fields(const struct key *k, size_t first, struct buf *out)
{
	struct buf parts[PARTS];
	parts_init(parts);
	err_t e = pkey_rsa_parts(k->pk, parts);
	for (size_t i = first; e == OK && i < PARTS; i++)
		buf_put_mpint(out, buf_bytes(&parts[i]));
	if (e == OK)
		e = buf_err(out);
	parts_done(parts);
	return e;
}

static err_t put_private_rest(const struct key *k, struct buf *out)
{
	return put_fields(k, PART_D, out);
}

static err_t put_private(const struct key *k, struct buf *out)
{
	return put_fields(k, PART_N, out);
}

static err_t generate(struct key *k, uint32_t bits, struct rng *rng)
{
	(void)rng; /* the library draws the primes */
	if (bits < KEY_RSA_BITS_MIN || bits > KEY_RSA_BITS_MAX)
		return E_KEY_SIZE;
	return pkey_rsa_generate(&k->pk, bits);
}

static err_t sign(const struct key *k, enum hash_id h, struct cslice tbs, struct buf *raw)
{
	return pkey_rsa_sign(k->pk, h, tbs, raw);
}

/* Some signers drop leading zeros: a shorter signature is filled up on the left, a longer one is
 * wrong. */
static err_t verify(const struct key *k, enum hash_id h, struct cslice tbs, struct cslice raw)
{
	uint8_t full[KEY_RSA_BITS_MAX / 8] = {0};
	size_t want = (pkey_bits(k->pk) + 7) / 8;
	if (raw.n == 0 || raw.n > want || want > sizeof(full))
		return E_SIGNATURE;
	struct wr w = wr_of((struct slice){full + (want - raw.n), raw.n});
	wr_raw(&w, raw);
	TRY(wr_end(&w));
	return pkey_rsa_verify(k->pk, h, tbs, cslice_of(full, want));
}

static uint32_t bits(const struct key *k)
{
	return (uint32_t)pkey_bits(k->pk);
}

const struct key_ops key_ops_rsa = {
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
