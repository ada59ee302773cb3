/* SPDX-License-Identifier: ISC */
/* ec - ECDSA keys and signatures over the NIST curves (RFC 5656 3) */
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/param_build.h>

#include "crypto/libcrypto/lib.h"

/* DER of two numbers of 66 bytes: two heads of 4, two sign bytes, one head of 3. */
#define DER_MAX (2 * (EC_FIELD_MAX + 5) + 4)

/* d NULL = public. */
static EVP_PKEY *from_numbers(enum ec_curve c, struct cslice point, const BIGNUM *d)
{
	EVP_PKEY *k = NULL;
	OSSL_PARAM *params = NULL;
	OSSL_PARAM_BLD *bld = OSSL_PARAM_BLD_new();
	EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_name(NULL, "EC", NULL);
	if (bld != NULL &&
		OSSL_PARAM_BLD_push_utf8_string(
			bld, OSSL_PKEY_PARAM_GROUP_NAME, lib_curve_name(c), 0) == 1 &&
		OSSL_PARAM_BLD_push_octet_string(bld, OSSL_PKEY_PARAM_PUB_KEY, point.p, point.n) ==
			1 &&
		(d == NULL || OSSL_PARAM_BLD_push_BN(bld, OSSL_PKEY_PARAM_PRIV_KEY, d) == 1))
		params = OSSL_PARAM_BLD_to_param(bld);
	if (params != NULL && ctx != NULL && EVP_PKEY_fromdata_init(ctx) == 1 &&
		EVP_PKEY_fromdata(
			ctx, &k, d == NULL ? EVP_PKEY_PUBLIC_KEY : EVP_PKEY_KEYPAIR, params) != 1)
		k = NULL;
	OSSL_PARAM_free(params);
	OSSL_PARAM_BLD_free(bld);
	EVP_PKEY_CTX_free(ctx);
	return k;
}

/* Uncompressed, exact length; that it is on the curve is seen when the library reads it. */
static bool has_form(enum ec_curve c, struct cslice point)
{
	return point.n == ec_point_size(c) && point.p[0] == 4;
}

err_t pkey_ec_public(struct pkey **out, enum ec_curve c, struct cslice point)
{
	if (!has_form(c, point))
		return E_KEY_FORMAT;
	EVP_PKEY *k = from_numbers(c, point, NULL);
	if (k == NULL)
		return lib_fail(E_KEY_FORMAT);
	return lib_pkey_wrap(out, k, &(struct pkey){.curve = c});
}

bool lib_ec_is_pair(EVP_PKEY *k)
{
	EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new(k, NULL);
	bool yes = ctx != NULL && EVP_PKEY_private_check(ctx) == 1 &&
		   EVP_PKEY_pairwise_check(ctx) == 1;
	EVP_PKEY_CTX_free(ctx);
	return yes;
}

err_t pkey_ec_private(struct pkey **out, enum ec_curve c, struct cslice point, struct cslice d)
{
	if (!has_form(c, point))
		return E_KEY_FORMAT;
	BIGNUM *number = lib_bn(d);
	EVP_PKEY *k = number != NULL ? from_numbers(c, point, number) : NULL;
	BN_clear_free(number);
	if (k == NULL || !lib_ec_is_pair(k)) {
		EVP_PKEY_free(k);
		return lib_fail(E_KEY_FORMAT);
	}
	return lib_pkey_wrap(out, k, &(struct pkey){.curve = c, .is_private = true});
}

err_t pkey_ec_generate(struct pkey **out, enum ec_curve c)
{
	EVP_PKEY *k = EVP_EC_gen(lib_curve_name(c));
	if (k == NULL)
		return lib_fail(E_CRYPTO);
	return lib_pkey_wrap(out, k, &(struct pkey){.curve = c, .is_private = true});
}

err_t pkey_ec_parts(const struct pkey *k, enum ec_curve *c, struct buf *point, struct buf *d)
{
	if (k->is_rsa)
		return E_KEY_TYPE;
	if (d != NULL && !k->is_private)
		return E_KEY_PUBLIC;
	/* Not the "encoded" parameter: that one follows the form in which a file had the point. */
	BIGNUM *x = NULL, *y = NULL, *number = NULL;
	int field = (int)ec_field_size(k->curve);
	uint8_t bytes[EC_POINT_MAX] = {4};
	err_t e = E_CRYPTO;
	if (EVP_PKEY_get_bn_param(k->k, OSSL_PKEY_PARAM_EC_PUB_X, &x) == 1 &&
		EVP_PKEY_get_bn_param(k->k, OSSL_PKEY_PARAM_EC_PUB_Y, &y) == 1 &&
		BN_bn2binpad(x, bytes + 1, field) == field &&
		BN_bn2binpad(y, bytes + 1 + field, field) == field &&
		(d == NULL || EVP_PKEY_get_bn_param(k->k, OSSL_PKEY_PARAM_PRIV_KEY, &number) == 1))
		e = OK;
	if (e == OK && d != NULL)
		e = lib_bn_put(number, d);
	if (e == OK) {
		buf_put(point, bytes, ec_point_size(k->curve));
		e = buf_err(point);
	}
	if (e == OK)
		*c = k->curve;
	BN_clear_free(number);
	BN_free(y);
	BN_free(x);
	return e == OK ? OK : lib_fail(e);
}

err_t pkey_ecdsa_sign(
	const struct pkey *k, enum hash_id h, struct cslice msg, uint8_t *r, uint8_t *s)
{
	if (k->is_rsa)
		return E_KEY_TYPE;
	if (!k->is_private)
		return E_KEY_PUBLIC;
	uint8_t der[DER_MAX], numbers[2 * EC_FIELD_MAX];
	size_t der_n = sizeof(der);
	TRY(lib_sign(k->k, lib_hash_name(h), msg, der, &der_n));
	const uint8_t *at = der;
	ECDSA_SIG *sig = d2i_ECDSA_SIG(NULL, &at, (long)der_n);
	int field = (int)ec_field_size(k->curve);
	bool done = sig != NULL && BN_bn2binpad(ECDSA_SIG_get0_r(sig), numbers, field) == field &&
		    BN_bn2binpad(ECDSA_SIG_get0_s(sig), numbers + field, field) == field;
	ECDSA_SIG_free(sig);
	if (!done)
		return lib_fail(E_CRYPTO);
	memcpy(r, numbers, (size_t)field);
	memcpy(s, numbers + field, (size_t)field);
	return OK;
}

/* DER of a signature; E_SIGNATURE when a number cannot be one. */
static err_t to_der(struct cslice r, struct cslice s, uint8_t der[DER_MAX], size_t *der_n)
{
	BIGNUM *rn = lib_bn(r), *sn = lib_bn(s);
	ECDSA_SIG *sig = ECDSA_SIG_new();
	if (rn == NULL || sn == NULL || sig == NULL || ECDSA_SIG_set0(sig, rn, sn) != 1) {
		ECDSA_SIG_free(sig);
		BN_free(sn);
		BN_free(rn);
		return E_MEM;
	}
	err_t e = E_SIGNATURE;
	if (BN_num_bytes(rn) <= EC_FIELD_MAX && BN_num_bytes(sn) <= EC_FIELD_MAX) {
		uint8_t *at = der;
		int n = i2d_ECDSA_SIG(sig, &at);
		e = n > 0 ? OK : E_CRYPTO;
		if (e == OK)
			*der_n = (size_t)n;
	}
	ECDSA_SIG_free(sig); /* with both numbers */
	return e;
}

err_t pkey_ecdsa_verify(
	const struct pkey *k, enum hash_id h, struct cslice msg, struct cslice r, struct cslice s)
{
	if (k->is_rsa)
		return E_KEY_TYPE;
	uint8_t der[DER_MAX];
	size_t der_n = 0;
	err_t e = to_der(r, s, der, &der_n);
	if (e != OK)
		return lib_fail(e);
	return lib_verify(k->k, lib_hash_name(h), msg, cslice_of(der, der_n));
}
