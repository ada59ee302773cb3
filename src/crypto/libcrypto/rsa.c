/* SPDX-License-Identifier: ISC */
/*
 * rsa - RSA keys and PKCS #1 v1.5 signatures (RFC 4253 6.6, RFC 8332)
 *
 * SSH files hold d and iqmp but not the two CRT exponents: those are computed here.  A private key
 * whose numbers do not fit together is refused, since a wrong CRT number would give away a factor
 * of n in the first bad signature.
 */
#include <openssl/core_names.h>
#include <openssl/param_build.h>
#include <openssl/rsa.h>

#include "crypto/libcrypto/lib.h"

#define RSA_MAX_BYTES 2048 /* 16384 bits */

enum { N, E, D, IQMP, P, Q, DP, DQ, NUMBER_N };

/* clang-format off */
static const char *const param_names[NUMBER_N] = {
	[N]  = OSSL_PKEY_PARAM_RSA_N,         [E]    = OSSL_PKEY_PARAM_RSA_E,
	[D]  = OSSL_PKEY_PARAM_RSA_D,         [IQMP] = OSSL_PKEY_PARAM_RSA_COEFFICIENT1,
	[P]  = OSSL_PKEY_PARAM_RSA_FACTOR1,   [Q]    = OSSL_PKEY_PARAM_RSA_FACTOR2,
	[DP] = OSSL_PKEY_PARAM_RSA_EXPONENT1, [DQ]   = OSSL_PKEY_PARAM_RSA_EXPONENT2,
};
/* clang-format on */

static void numbers_done(BIGNUM *v[NUMBER_N])
{
	for (size_t i = 0; i < NUMBER_N; i++)
		BN_clear_free(v[i]);
}

static EVP_PKEY *from_numbers(BIGNUM *const v[NUMBER_N], size_t n)
{
	EVP_PKEY *k = NULL;
	OSSL_PARAM *params = NULL;
	OSSL_PARAM_BLD *bld = OSSL_PARAM_BLD_new();
	EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_name(NULL, "RSA", NULL);
	bool pushed = bld != NULL;
	for (size_t i = 0; i < n && pushed; i++)
		pushed = OSSL_PARAM_BLD_push_BN(bld, param_names[i], v[i]) == 1;
	if (pushed)
		params = OSSL_PARAM_BLD_to_param(bld);
	if (params != NULL && ctx != NULL && EVP_PKEY_fromdata_init(ctx) == 1 &&
		EVP_PKEY_fromdata(
			ctx, &k, n == 2 ? EVP_PKEY_PUBLIC_KEY : EVP_PKEY_KEYPAIR, params) != 1)
		k = NULL;
	OSSL_PARAM_free(params);
	OSSL_PARAM_BLD_free(bld);
	EVP_PKEY_CTX_free(ctx);
	return k;
}

/* Reads n and e and refuses what can not be a public key. */
static err_t read_public(BIGNUM *v[NUMBER_N], struct cslice n, struct cslice e)
{
	if (n.n > RSA_MAX_BYTES + 1 || e.n > RSA_MAX_BYTES)
		return E_KEY_SIZE;
	v[N] = lib_bn(n);
	v[E] = lib_bn(e);
	if (v[N] == NULL || v[E] == NULL)
		return E_MEM;
	if (!BN_is_odd(v[N]) || !BN_is_odd(v[E]) || BN_is_one(v[E]) || BN_cmp(v[E], v[N]) >= 0)
		return E_KEY_FORMAT;
	return OK;
}

err_t pkey_rsa_public(struct pkey **out, struct cslice n, struct cslice e)
{
	BIGNUM *v[NUMBER_N] = {NULL};
	err_t err = read_public(v, n, e);
	EVP_PKEY *k = err == OK ? from_numbers(v, 2) : NULL;
	numbers_done(v);
	if (err == OK && k == NULL)
		err = E_KEY_FORMAT;
	if (err != OK)
		return lib_fail(err);
	return lib_pkey_wrap(out, k, &(struct pkey){.is_rsa = true});
}

/* out = d mod (prime - 1), and e * out must be 1 there; t: scratch. */
static bool crt_exponent(BIGNUM *const v[NUMBER_N], size_t prime, size_t out, BIGNUM *t, BN_CTX *bn)
{
	BIGNUM *less = BN_dup(v[prime]);
	bool fits = less != NULL && BN_sub_word(less, 1) == 1;
	if (fits) {
		BN_set_flags(less, BN_FLG_CONSTTIME);
		fits = BN_mod(v[out], v[D], less, bn) == 1 &&
		       BN_mod_mul(t, v[out], v[E], less, bn) == 1 && BN_is_one(t);
	}
	BN_clear_free(less);
	return fits;
}

/* p * q = n, q * iqmp = 1 mod p, e * d = 1 mod p-1 and q-1: then every CRT signature is right. */
static bool fits_together(BIGNUM *const v[NUMBER_N])
{
	BN_CTX *bn = BN_CTX_secure_new();
	BIGNUM *t = BN_secure_new();
	bool fits = bn != NULL && t != NULL && !BN_is_zero(v[D]) &&
		    BN_cmp(v[P], BN_value_one()) > 0 && BN_cmp(v[Q], BN_value_one()) > 0 &&
		    BN_mul(t, v[P], v[Q], bn) == 1 && BN_cmp(t, v[N]) == 0 &&
		    BN_mod_mul(t, v[Q], v[IQMP], v[P], bn) == 1 && BN_is_one(t) &&
		    crt_exponent(v, P, DP, t, bn) && crt_exponent(v, Q, DQ, t, bn);
	BN_clear_free(t);
	BN_CTX_free(bn);
	return fits;
}

err_t pkey_rsa_private(struct pkey **out, const struct rsa_parts *parts)
{
	BIGNUM *v[NUMBER_N] = {NULL};
	const struct cslice secrets[] = {parts->d, parts->iqmp, parts->p, parts->q};
	err_t err = read_public(v, parts->n, parts->e);
	for (size_t i = 0; i < ARRAY_N(secrets) && err == OK; i++) {
		if (secrets[i].n > RSA_MAX_BYTES + 1)
			err = E_KEY_FORMAT;
		else if ((v[D + i] = lib_bn(secrets[i])) == NULL)
			err = E_MEM;
	}
	if (err == OK) {
		v[DP] = BN_secure_new();
		v[DQ] = BN_secure_new();
		if (v[DP] == NULL || v[DQ] == NULL)
			err = E_MEM;
	}
	if (err == OK && !fits_together(v))
		err = E_KEY_FORMAT;
	EVP_PKEY *k = err == OK ? from_numbers(v, NUMBER_N) : NULL;
	numbers_done(v);
	if (err == OK && k == NULL)
		err = E_KEY_FORMAT;
	if (err != OK)
		return lib_fail(err);
	return lib_pkey_wrap(out, k, &(struct pkey){.is_rsa = true, .is_private = true});
}

err_t pkey_rsa_generate(struct pkey **out, uint32_t bits)
{
	if (bits > RSA_MAX_BYTES * 8)
		return E_KEY_SIZE;
	EVP_PKEY *k = EVP_RSA_gen((size_t)bits);
	if (k == NULL)
		return lib_fail(E_CRYPTO);
	return lib_pkey_wrap(out, k, &(struct pkey){.is_rsa = true, .is_private = true});
}

err_t pkey_rsa_parts(const struct pkey *k, struct buf out[6])
{
	if (!k->is_rsa)
		return E_KEY_TYPE;
	err_t e = OK;
	for (size_t i = N; i <= Q && e == OK && (i <= E || k->is_private); i++) {
		BIGNUM *v = NULL;
		e = EVP_PKEY_get_bn_param(k->k, param_names[i], &v) == 1 ? lib_bn_put(v, &out[i])
									 : E_CRYPTO;
		BN_clear_free(v);
	}
	return e == OK ? OK : lib_fail(e);
}

err_t pkey_rsa_sign(const struct pkey *k, enum hash_id h, struct cslice msg, struct buf *sig)
{
	if (!k->is_rsa)
		return E_KEY_TYPE;
	if (!k->is_private)
		return E_KEY_PUBLIC;
	uint8_t made[RSA_MAX_BYTES];
	size_t n = sizeof(made), want = (pkey_bits(k) + 7) / 8;
	if (want == 0 || want > sizeof(made))
		return E_KEY_SIZE;
	TRY(lib_sign(k->k, lib_hash_name(h), msg, made, &n));
	if (n != want)
		return E_CRYPTO;
	buf_put(sig, made, n);
	return buf_err(sig);
}

err_t pkey_rsa_verify(const struct pkey *k, enum hash_id h, struct cslice msg, struct cslice sig)
{
	if (!k->is_rsa)
		return E_KEY_TYPE;
	if (sig.n != (pkey_bits(k) + 7) / 8)
		return E_SIGNATURE;
	return lib_verify(k->k, lib_hash_name(h), msg, sig);
}
