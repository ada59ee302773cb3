/* SPDX-License-Identifier: ISC */
/*
 * dh - finite-field Diffie-Hellman (RFC 4253 8, RFC 4419, RFC 8268)
 *
 * The exponent has twice the wanted strength in bits (a square-root attack on short exponents
 * halves them), at least 512, and always fewer bits than p.
 */
#include <stdlib.h>

#include "crypto/libcrypto/lib.h"

#define DH_P_MIN_BITS 1024
#define DH_P_MAX_BITS 8192
#define DH_X_MIN_BITS 512
#define DH_ONES_MIN                                                                                \
	4 /* a public value with fewer bits set is a sign of a broken or hostile peer              \
	   */

struct dh {
	BIGNUM *p, *g, *x, *p_less_1;
	BN_CTX *bn;
	struct buf p_bytes, g_bytes, pub;
};

void dh_free(struct dh *d)
{
	if (d == NULL)
		return;
	buf_done(&d->pub);
	buf_done(&d->g_bytes);
	buf_done(&d->p_bytes);
	BN_CTX_free(d->bn);
	BN_free(d->p_less_1);
	BN_clear_free(d->x);
	BN_free(d->g);
	BN_free(d->p);
	wipe_free(d, sizeof(*d));
}

/* 1 < v < p - 1 */
static bool in_range(const struct dh *d, const BIGNUM *v)
{
	return BN_cmp(v, BN_value_one()) > 0 && BN_cmp(v, d->p_less_1) < 0;
}

static int ones(const BIGNUM *v)
{
	int n = 0;
	for (int i = BN_num_bits(v) - 1; i >= 0; i--)
		n += BN_is_bit_set(v, i);
	return n;
}

static err_t pick_exponent(struct dh *d, size_t want_bits, struct rng *rng)
{
	size_t p_bits = (size_t)BN_num_bits(d->p);
	size_t bits = num_max(2 * num_min(want_bits, p_bits), DH_X_MIN_BITS);
	bits = num_min(bits, p_bits - 1);
	uint8_t x[DH_P_MAX_BITS / 8];
	size_t n = (bits + 7) / 8;
	rng_fill(rng, x, n);
	x[0] &= (uint8_t)(0xff >> (8 * n - bits));
	x[0] |= (uint8_t)(1 << (bits - 1) % 8); /* exactly `bits` long, so never 0 or 1 */
	d->x = lib_bn(cslice_of(x, n));
	wipe(x, sizeof(x));
	return d->x != NULL ? OK : E_MEM;
}

/* d->p and d->g are set: checks them, makes the key pair. */
static err_t make(struct dh *d, size_t want_bits, struct rng *rng)
{
	if (d->p == NULL || d->g == NULL)
		return E_MEM;
	if (BN_num_bits(d->p) < DH_P_MIN_BITS || BN_num_bits(d->p) > DH_P_MAX_BITS ||
		!BN_is_odd(d->p))
		return E_KEX_VALUE;
	d->bn = BN_CTX_secure_new();
	d->p_less_1 = BN_dup(d->p);
	BIGNUM *pub = BN_new();
	err_t e = OK;
	if (d->bn == NULL || d->p_less_1 == NULL || pub == NULL || BN_sub_word(d->p_less_1, 1) != 1)
		e = E_CRYPTO;
	if (e == OK && !in_range(d, d->g))
		e = E_KEX_VALUE;
	if (e == OK)
		e = pick_exponent(d, want_bits, rng);
	if (e == OK && BN_mod_exp(pub, d->g, d->x, d->p, d->bn) != 1)
		e = E_CRYPTO;
	if (e == OK && !in_range(d, pub))
		e = E_KEX_VALUE; /* g generates next to nothing */
	if (e == OK)
		e = lib_bn_put(pub, &d->pub);
	BN_free(pub);
	if (e == OK)
		e = lib_bn_put(d->p, &d->p_bytes);
	if (e == OK)
		e = lib_bn_put(d->g, &d->g_bytes);
	return e;
}

static err_t new_from(struct dh **out, BIGNUM *p, BIGNUM *g, size_t want_bits, struct rng *rng)
{
	struct dh *d = calloc(1, sizeof(*d));
	if (d == NULL) {
		BN_free(g);
		BN_free(p);
		return E_MEM;
	}
	d->p = p;
	d->g = g;
	buf_init(&d->p_bytes, DH_P_MAX_BITS / 8);
	buf_init(&d->g_bytes, DH_P_MAX_BITS / 8);
	buf_init(&d->pub, DH_P_MAX_BITS / 8);
	err_t e = make(d, want_bits, rng);
	if (e != OK) {
		dh_free(d);
		return lib_fail(e);
	}
	*out = d;
	return OK;
}

err_t dh_new(struct dh **out, struct cslice p, struct cslice g, size_t want_bits, struct rng *rng)
{
	return new_from(out, lib_bn(p), lib_bn(g), want_bits, rng);
}

err_t dh_new_group(struct dh **out, enum dh_group g, size_t want_bits, struct rng *rng)
{
	static BIGNUM *(*const primes[])(BIGNUM *) = {
		[DH_GROUP1] = BN_get_rfc2409_prime_1024,
		[DH_GROUP14] = BN_get_rfc3526_prime_2048,
		[DH_GROUP16] = BN_get_rfc3526_prime_4096,
		[DH_GROUP18] = BN_get_rfc3526_prime_8192,
	};
	static const uint8_t two[] = {2};
	return new_from(out, primes[g](NULL), lib_bn(cslice_of(two, 1)), want_bits, rng);
}

struct cslice dh_public(const struct dh *d)
{
	return buf_bytes(&d->pub);
}

struct cslice dh_p(const struct dh *d)
{
	return buf_bytes(&d->p_bytes);
}

struct cslice dh_g(const struct dh *d)
{
	return buf_bytes(&d->g_bytes);
}

err_t dh_shared(struct dh *d, struct cslice peer, struct buf *out)
{
	if (peer.n > DH_P_MAX_BITS / 8 + 1)
		return E_KEX_VALUE;
	BIGNUM *theirs = lib_bn(peer), *shared = BN_new();
	err_t e = theirs == NULL || shared == NULL ? E_MEM : OK;
	if (e == OK && (!in_range(d, theirs) || ones(theirs) < DH_ONES_MIN))
		e = E_KEX_VALUE; /* RFC 4253 8 */
	if (e == OK && BN_mod_exp(shared, theirs, d->x, d->p, d->bn) != 1)
		e = E_CRYPTO;
	if (e == OK && !in_range(d, shared))
		e = E_KEX_VALUE;
	if (e == OK)
		e = lib_bn_put(shared, out);
	BN_clear_free(shared);
	BN_free(theirs);
	return e == OK ? OK : lib_fail(e);
}
