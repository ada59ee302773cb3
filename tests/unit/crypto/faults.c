/* SPDX-License-Identifier: ISC */
/* faults - the wrappers, one row a function of the library that our code calls */
#include <stdio.h>
#include <stdlib.h>

#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>
#include <openssl/sha.h>

#include "faults.h"
#include "help.h"

#define NAMES_MAX 128

static size_t calls, fail_at;
static bool gives_negative;
static const char *hit;
static const char *seen[NAMES_MAX]; /* functions that failed at least once */
static size_t seen_n;
static size_t allocations;

void faults_arm(size_t n, bool negative)
{
	calls = 0;
	fail_at = n;
	gives_negative = negative;
	hit = NULL;
}

const char *faults_hit(void)
{
	return hit;
}

static bool fails(const char *name)
{
	if (strcmp(name, "malloc") == 0 || strcmp(name, "calloc") == 0)
		allocations++;
	if (fail_at == 0 || ++calls != fail_at)
		return false;
	hit = name;
	size_t i = 0;
	while (i < seen_n && strcmp(seen[i], name) != 0)
		i++;
	if (i == seen_n && seen_n < NAMES_MAX)
		seen[seen_n++] = name;
	return true;
}

#define POINTER(type, name, parameters, arguments)                                                 \
	type __real_##name parameters;                                                             \
	type __wrap_##name parameters;                                                             \
	type __wrap_##name parameters                                                              \
	{                                                                                          \
		return fails(#name) ? NULL : __real_##name arguments;                              \
	}
#define INT(name, parameters, arguments)                                                           \
	int __real_##name parameters;                                                              \
	int __wrap_##name parameters;                                                              \
	int __wrap_##name parameters                                                               \
	{                                                                                          \
		return fails(#name) ? (gives_negative ? -1 : 0) : __real_##name arguments;         \
	}
#define LONG(name, parameters, arguments)                                                          \
	long __real_##name parameters;                                                             \
	long __wrap_##name parameters;                                                             \
	long __wrap_##name parameters                                                              \
	{                                                                                          \
		return fails(#name) ? (gives_negative ? -1 : 0) : __real_##name arguments;         \
	}
#define SIZE(name, parameters, arguments)                                                          \
	size_t __real_##name parameters;                                                           \
	size_t __wrap_##name parameters;                                                           \
	size_t __wrap_##name parameters                                                            \
	{                                                                                          \
		return fails(#name) ? 0 : __real_##name arguments;                                 \
	}

/* clang-format off */
POINTER(EVP_CIPHER_CTX *, EVP_CIPHER_CTX_new, (void), ())
INT(EVP_CipherInit_ex2, (EVP_CIPHER_CTX *c, const EVP_CIPHER *t, const unsigned char *k, const unsigned char *iv, int enc, const OSSL_PARAM p[]), (c, t, k, iv, enc, p))
INT(EVP_CipherUpdate, (EVP_CIPHER_CTX *c, unsigned char *o, int *on, const unsigned char *i, int n), (c, o, on, i, n))
INT(EVP_CipherFinal_ex, (EVP_CIPHER_CTX *c, unsigned char *o, int *on), (c, o, on))
INT(EVP_CIPHER_CTX_ctrl, (EVP_CIPHER_CTX *c, int t, int a, void *p), (c, t, a, p))
INT(EVP_CIPHER_CTX_set_padding, (EVP_CIPHER_CTX *c, int pad), (c, pad))
POINTER(EVP_MAC_CTX *, EVP_MAC_CTX_new, (EVP_MAC *m), (m))
INT(EVP_MAC_init, (EVP_MAC_CTX *c, const unsigned char *k, size_t n, const OSSL_PARAM p[]), (c, k, n, p))
INT(EVP_MAC_update, (EVP_MAC_CTX *c, const unsigned char *d, size_t n), (c, d, n))
INT(EVP_MAC_final, (EVP_MAC_CTX *c, unsigned char *o, size_t *on, size_t cap), (c, o, on, cap))
POINTER(EVP_PKEY *, EVP_PKEY_new_raw_private_key, (int t, ENGINE *e, const unsigned char *k, size_t n), (t, e, k, n))
POINTER(EVP_PKEY *, EVP_PKEY_new_raw_public_key, (int t, ENGINE *e, const unsigned char *k, size_t n), (t, e, k, n))
INT(EVP_PKEY_get_raw_public_key, (const EVP_PKEY *k, unsigned char *p, size_t *n), (k, p, n))
INT(EVP_PKEY_get_raw_private_key, (const EVP_PKEY *k, unsigned char *p, size_t *n), (k, p, n))
POINTER(EVP_PKEY_CTX *, EVP_PKEY_CTX_new, (EVP_PKEY *k, ENGINE *e), (k, e))
POINTER(EVP_PKEY_CTX *, EVP_PKEY_CTX_new_from_name, (OSSL_LIB_CTX *l, const char *name, const char *q), (l, name, q))
INT(EVP_PKEY_derive_init, (EVP_PKEY_CTX *c), (c))
INT(EVP_PKEY_derive_set_peer, (EVP_PKEY_CTX *c, EVP_PKEY *peer), (c, peer))
INT(EVP_PKEY_derive, (EVP_PKEY_CTX *c, unsigned char *k, size_t *n), (c, k, n))
INT(EVP_PKEY_fromdata_init, (EVP_PKEY_CTX *c), (c))
INT(EVP_PKEY_fromdata, (EVP_PKEY_CTX *c, EVP_PKEY **k, int sel, OSSL_PARAM p[]), (c, k, sel, p))
INT(EVP_PKEY_get_bn_param, (const EVP_PKEY *k, const char *name, BIGNUM **bn), (k, name, bn))
INT(EVP_PKEY_get_utf8_string_param, (const EVP_PKEY *k, const char *name, char *s, size_t cap, size_t *n), (k, name, s, cap, n))
INT(EVP_PKEY_private_check, (EVP_PKEY_CTX *c), (c))
INT(EVP_PKEY_pairwise_check, (EVP_PKEY_CTX *c), (c))
POINTER(EVP_MD_CTX *, EVP_MD_CTX_new, (void), ())
INT(EVP_DigestSignInit_ex, (EVP_MD_CTX *c, EVP_PKEY_CTX **pc, const char *md, OSSL_LIB_CTX *l, const char *q, EVP_PKEY *k, const OSSL_PARAM p[]), (c, pc, md, l, q, k, p))
INT(EVP_DigestSign, (EVP_MD_CTX *c, unsigned char *s, size_t *sn, const unsigned char *m, size_t mn), (c, s, sn, m, mn))
INT(EVP_DigestVerifyInit_ex, (EVP_MD_CTX *c, EVP_PKEY_CTX **pc, const char *md, OSSL_LIB_CTX *l, const char *q, EVP_PKEY *k, const OSSL_PARAM p[]), (c, pc, md, l, q, k, p))
INT(EVP_DigestVerify, (EVP_MD_CTX *c, const unsigned char *s, size_t sn, const unsigned char *m, size_t mn), (c, s, sn, m, mn))
INT(SHA256_Init, (SHA256_CTX *c), (c))
INT(SHA256_Update, (SHA256_CTX *c, const void *d, size_t n), (c, d, n))
INT(SHA256_Final, (unsigned char *o, SHA256_CTX *c), (o, c))
POINTER(EC_GROUP *, EC_GROUP_new_by_curve_name, (int nid), (nid))
POINTER(EC_POINT *, EC_POINT_new, (const EC_GROUP *g), (g))
INT(EC_POINT_mul, (const EC_GROUP *g, EC_POINT *r, const BIGNUM *n, const EC_POINT *q, const BIGNUM *m, BN_CTX *b), (g, r, n, q, m, b))
INT(EC_POINT_oct2point, (const EC_GROUP *g, EC_POINT *p, const unsigned char *o, size_t n, BN_CTX *b), (g, p, o, n, b))
INT(EC_POINT_is_on_curve, (const EC_GROUP *g, const EC_POINT *p, BN_CTX *b), (g, p, b))
INT(EC_POINT_get_affine_coordinates, (const EC_GROUP *g, const EC_POINT *p, BIGNUM *x, BIGNUM *y, BN_CTX *b), (g, p, x, y, b))
SIZE(EC_POINT_point2oct, (const EC_GROUP *g, const EC_POINT *p, point_conversion_form_t f, unsigned char *o, size_t n, BN_CTX *b), (g, p, f, o, n, b))
POINTER(ECDSA_SIG *, d2i_ECDSA_SIG, (ECDSA_SIG **s, const unsigned char **p, long n), (s, p, n))
INT(i2d_ECDSA_SIG, (const ECDSA_SIG *s, unsigned char **p), (s, p))
INT(ECDSA_SIG_set0, (ECDSA_SIG *s, BIGNUM *r, BIGNUM *v), (s, r, v))
POINTER(ECDSA_SIG *, ECDSA_SIG_new, (void), ())
POINTER(BIGNUM *, BN_bin2bn, (const unsigned char *s, int n, BIGNUM *r), (s, n, r))
POINTER(BIGNUM *, BN_new, (void), ())
POINTER(BIGNUM *, BN_secure_new, (void), ())
POINTER(BIGNUM *, BN_dup, (const BIGNUM *a), (a))
INT(BN_bn2binpad, (const BIGNUM *a, unsigned char *o, int n), (a, o, n))
INT(BN_sub_word, (BIGNUM *a, BN_ULONG w), (a, w))
INT(BN_mod_exp, (BIGNUM *r, const BIGNUM *a, const BIGNUM *p, const BIGNUM *m, BN_CTX *b), (r, a, p, m, b))
INT(BN_mul, (BIGNUM *r, const BIGNUM *a, const BIGNUM *c, BN_CTX *b), (r, a, c, b))
INT(BN_div, (BIGNUM *q, BIGNUM *r, const BIGNUM *a, const BIGNUM *d, BN_CTX *b), (q, r, a, d, b))
INT(BN_mod_mul, (BIGNUM *r, const BIGNUM *a, const BIGNUM *c, const BIGNUM *m, BN_CTX *b), (r, a, c, m, b))
POINTER(BN_CTX *, BN_CTX_secure_new, (void), ())
POINTER(OSSL_PARAM_BLD *, OSSL_PARAM_BLD_new, (void), ())
INT(OSSL_PARAM_BLD_push_BN, (OSSL_PARAM_BLD *l, const char *k, const BIGNUM *n), (l, k, n))
INT(OSSL_PARAM_BLD_push_octet_string, (OSSL_PARAM_BLD *l, const char *k, const void *p, size_t n), (l, k, p, n))
INT(OSSL_PARAM_BLD_push_utf8_string, (OSSL_PARAM_BLD *l, const char *k, const char *s, size_t n), (l, k, s, n))
POINTER(OSSL_PARAM *, OSSL_PARAM_BLD_to_param, (OSSL_PARAM_BLD *l), (l))
POINTER(BIO *, BIO_new_mem_buf, (const void *p, int n), (p, n))
POINTER(EVP_PKEY *, PEM_read_bio_PrivateKey, (BIO *b, EVP_PKEY **k, pem_password_cb *cb, void *u), (b, k, cb, u))
POINTER(BIO *, BIO_new, (const BIO_METHOD *m), (m))
LONG(BIO_ctrl, (BIO *b, int what, long n, void *p), (b, what, n, p))
POINTER(PKCS8_PRIV_KEY_INFO *, EVP_PKEY2PKCS8, (const EVP_PKEY *k), (k))
POINTER(X509_SIG *, PKCS8_encrypt, (int nid, const EVP_CIPHER *c, const char *pass, int n, unsigned char *salt, int salt_n, int rounds, PKCS8_PRIV_KEY_INFO *k), (nid, c, pass, n, salt, salt_n, rounds, k))
INT(PEM_write_bio_PKCS8, (BIO *b, const X509_SIG *s), (b, s))
INT(PEM_write_bio_PKCS8_PRIV_KEY_INFO, (BIO *b, const PKCS8_PRIV_KEY_INFO *k), (b, k))
INT(PEM_write_bio_PrivateKey_traditional, (BIO *b, const EVP_PKEY *k, const EVP_CIPHER *c, const unsigned char *pass, int n, pem_password_cb *cb, void *u), (b, k, c, pass, n, cb, u))
INT(PEM_write_bio_PUBKEY, (BIO *b, const EVP_PKEY *k), (b, k))
INT(PEM_write_bio, (BIO *b, const char *name, const char *head, const unsigned char *p, long n), (b, name, head, p, n))
INT(i2d_PublicKey, (const EVP_PKEY *k, unsigned char **p), (k, p))
INT(PEM_bytes_read_bio, (unsigned char **p, long *n, char **found, const char *name, BIO *b, pem_password_cb *cb, void *u), (p, n, found, name, b, cb, u))
POINTER(EVP_PKEY *, d2i_PublicKey, (int type, EVP_PKEY **k, const unsigned char **p, long n), (type, k, p, n))
POINTER(EVP_PKEY *, PEM_read_bio_PUBKEY, (BIO *b, EVP_PKEY **k, pem_password_cb *cb, void *u), (b, k, cb, u))
POINTER(void *, malloc, (size_t n), (n))
POINTER(void *, calloc, (size_t m, size_t n), (m, n))
/* clang-format on */

size_t faults_allocations(void)
{
	return allocations;
}

size_t faults_seen(size_t *all)
{
	*all = FAULT_NAMES_N;
	return seen_n;
}

void faults_sweep(const char *name, fault_op *op)
{
	for (int negative = 0; negative < 2; negative++)
		for (size_t n = 1;; n++) {
			faults_arm(n, negative == 1);
			err_t e = op();
			const char *what = faults_hit();
			faults_arm(0, false);
			if (what == NULL) { /* it made fewer than n calls */
				if (e != OK)
					print_error("%s: %s without a fault\n", name, err_name(e));
				assert_int_equal(e, OK);
				break;
			}
			if (e == OK)
				print_error("%s: success although call %zu, %s, failed\n", name, n,
					what);
			assert_int_not_equal(e, OK);
		}
}
