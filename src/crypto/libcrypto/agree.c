/* SPDX-License-Identifier: ISC */
/*
 * agree - X25519 and ECDH over the NIST curves
 *
 * Private values come from the caller's rng.  A peer's value that is not a proper point is
 * E_KEX_VALUE.
 */
#include <openssl/ec.h>

#include "crypto/libcrypto/lib.h"

err_t x25519_keypair(struct rng *rng, uint8_t priv[32], uint8_t pub[32])
{
	uint8_t mine[32], shown[32];
	size_t n = sizeof(shown);
	rng_fill(rng, mine, sizeof(mine));
	EVP_PKEY *k = EVP_PKEY_new_raw_private_key(EVP_PKEY_X25519, NULL, mine, sizeof(mine));
	err_t e = E_CRYPTO;
	if (k != NULL && EVP_PKEY_get_raw_public_key(k, shown, &n) == 1 && n == sizeof(shown)) {
		memcpy(priv, mine, sizeof(mine));
		memcpy(pub, shown, sizeof(shown));
		e = OK;
	}
	EVP_PKEY_free(k);
	wipe(mine, sizeof(mine));
	return e == OK ? OK : lib_fail(e);
}

err_t x25519_shared(const uint8_t priv[32], const uint8_t peer[32], uint8_t shared[32])
{
	static const uint8_t zero[32];
	uint8_t secret[32];
	size_t n = sizeof(secret);
	EVP_PKEY *mine = EVP_PKEY_new_raw_private_key(EVP_PKEY_X25519, NULL, priv, 32);
	EVP_PKEY *theirs = EVP_PKEY_new_raw_public_key(EVP_PKEY_X25519, NULL, peer, 32);
	EVP_PKEY_CTX *ctx = mine != NULL ? EVP_PKEY_CTX_new(mine, NULL) : NULL;
	err_t e = E_CRYPTO;
	if (ctx != NULL && theirs != NULL && EVP_PKEY_derive_init(ctx) == 1 &&
		EVP_PKEY_derive_set_peer(ctx, theirs) == 1) {
		/* The library refuses an all-zero result by itself; RFC 7748 6.1 wants the check,
		 * so it is here too. */
		e = E_KEX_VALUE;
		if (EVP_PKEY_derive(ctx, secret, &n) == 1 && n == sizeof(secret) &&
			!ct_eq(secret, zero, sizeof(zero))) {
			memcpy(shared, secret, sizeof(secret));
			e = OK;
		}
	}
	wipe(secret, sizeof(secret));
	EVP_PKEY_CTX_free(ctx);
	EVP_PKEY_free(theirs);
	EVP_PKEY_free(mine);
	return e == OK ? OK : lib_fail(e);
}

static const size_t field_sizes[EC_CURVE_N] = {32, 48, 66};

size_t ec_field_size(enum ec_curve c)
{
	return field_sizes[c];
}

size_t ec_point_size(enum ec_curve c)
{
	return 1 + 2 * field_sizes[c];
}

/* What each computation on a curve needs, made and freed together. */
struct work {
	EC_GROUP *group;
	BN_CTX *bn;
	EC_POINT *point, *result;
	BIGNUM *d, *x;
};

static void work_done(struct work *w)
{
	BN_clear_free(w->x);
	BN_clear_free(w->d);
	EC_POINT_clear_free(w->result);
	EC_POINT_clear_free(w->point);
	BN_CTX_free(w->bn);
	EC_GROUP_free(w->group);
}

static bool work_init(struct work *w, enum ec_curve c, struct cslice d)
{
	*w = (struct work){
		.group = EC_GROUP_new_by_curve_name(lib_curve_nid(c)), .bn = BN_CTX_secure_new()};
	if (w->group == NULL || w->bn == NULL)
		return false;
	w->point = EC_POINT_new(w->group);
	w->result = EC_POINT_new(w->group);
	w->d = lib_bn(d);
	w->x = BN_new();
	return w->point != NULL && w->result != NULL && w->d != NULL && w->x != NULL;
}

/* 0 < d < order. */
static bool scalar_fits(const struct work *w)
{
	return !BN_is_zero(w->d) && BN_cmp(w->d, EC_GROUP_get0_order(w->group)) < 0;
}

err_t ecdh_keypair(enum ec_curve c, struct rng *rng, struct secret *priv, uint8_t *pub)
{
	size_t field = field_sizes[c];
	struct secret d = {.n = field};
	struct work w;
	bool fits = false;
	do { /* uniform by trying again: each try succeeds with more than one half */
		rng_fill(rng, d.b, field);
		if (c == EC_P521)
			d.b[0] &= 1; /* 521 bits in 66 bytes */
		if (!work_init(&w, c, cslice_of(d.b, field)))
			break;
		fits = scalar_fits(&w);
		if (!fits)
			work_done(&w);
	} while (!fits);
	uint8_t point[EC_POINT_MAX];
	err_t e = E_CRYPTO;
	if (fits && EC_POINT_mul(w.group, w.result, w.d, NULL, NULL, w.bn) == 1 &&
		EC_POINT_point2oct(w.group, w.result, POINT_CONVERSION_UNCOMPRESSED, point,
			sizeof(point), w.bn) == ec_point_size(c)) {
		memcpy(pub, point, ec_point_size(c));
		*priv = d;
		e = OK;
	}
	work_done(&w);
	secret_done(&d);
	return e == OK ? OK : lib_fail(e);
}

err_t ecdh_shared(enum ec_curve c, const struct secret *priv, struct cslice peer, uint8_t *shared)
{
	/* RFC 5656 4: the uncompressed form; SEC 1 3.2.2: on the curve and not infinity (the
	 * cofactor is 1). */
	if (peer.n != ec_point_size(c) || peer.p[0] != 4)
		return E_KEX_VALUE;
	if (priv->n != field_sizes[c])
		return E_BUG;
	struct work w;
	uint8_t secret[EC_FIELD_MAX];
	int field = (int)field_sizes[c];
	err_t e = E_CRYPTO;
	if (work_init(&w, c, cslice_of(priv->b, priv->n)) && scalar_fits(&w)) {
		e = E_KEX_VALUE;
		if (EC_POINT_oct2point(w.group, w.point, peer.p, peer.n, w.bn) == 1 &&
			!EC_POINT_is_at_infinity(w.group, w.point) &&
			EC_POINT_is_on_curve(w.group, w.point, w.bn) == 1)
			e = OK;
	}
	if (e == OK &&
		(EC_POINT_mul(w.group, w.result, NULL, w.point, w.d, w.bn) != 1 ||
			EC_POINT_is_at_infinity(w.group, w.result) ||
			EC_POINT_get_affine_coordinates(w.group, w.result, w.x, NULL, w.bn) != 1 ||
			BN_bn2binpad(w.x, secret, field) != field))
		e = E_CRYPTO;
	if (e == OK)
		memcpy(shared, secret, (size_t)field);
	wipe(secret, sizeof(secret));
	work_done(&w);
	return e == OK ? OK : lib_fail(e);
}
