/* SPDX-License-Identifier: ISC */
/*
 * mlkem768 - ML-KEM-768 (FIPS 203)
 *
 * Keys and ciphertexts as bytes:
 *	ek = t (3 x 384) || rho (32)
 *	dk = s (3 x 384) || ek || H(ek) (32) || z (32)
 *	ct = u (3 x 320) || v (128)
 * The matrix is made again for each use from the public rho, one row at a time.
 */
#include "crypto/crypto.h"
#include "crypto/own/ct.h"
#include "crypto/own/keccak.h"
#include "crypto/own/mlkem_poly.h"

#define VEC_12 ((size_t)MLKEM_K * MLKEM_POLY_12)
#define VEC_10 ((size_t)MLKEM_K * MLKEM_POLY_10)

_Static_assert(MLKEM768_EK == VEC_12 + 32, "ek");
_Static_assert(MLKEM768_DK == VEC_12 + MLKEM768_EK + 64, "dk");
_Static_assert(MLKEM768_CT == VEC_10 + MLKEM_POLY_4, "ct");

/* G = SHA3-512 of two parts, H = SHA3-256 (4.1) */
static void hash_g(uint8_t out[64], struct cslice a, struct cslice b)
{
	sha3_512(out, (const struct cslice[]){a, b}, 2);
}

static void hash_h(uint8_t out[32], const uint8_t ek[MLKEM768_EK])
{
	sha3_256(out, &(struct cslice){ek, MLKEM768_EK}, 1);
}

enum matrix { MATRIX, MATRIX_TRANSPOSED };

static void matrix_row(struct polyvec *row, const uint8_t rho[32], size_t i, enum matrix which)
{
	for (size_t j = 0; j < MLKEM_K; j++) {
		if (which == MATRIX)
			poly_sample_uniform(&row->v[j], rho, (uint8_t)j, (uint8_t)i);
		else
			poly_sample_uniform(&row->v[j], rho, (uint8_t)i, (uint8_t)j);
	}
}

/* K polynomials of noise with nonces from `nonce` on, in the NTT domain. */
static void noise_ntt(struct polyvec *out, const uint8_t seed[32], uint8_t nonce)
{
	for (size_t i = 0; i < MLKEM_K; i++) {
		poly_sample_noise(&out->v[i], seed, (uint8_t)(nonce + i));
		poly_ntt(&out->v[i]);
	}
}

static void vec_pack12(uint8_t out[VEC_12], struct polyvec *p)
{
	for (size_t i = 0; i < MLKEM_K; i++) {
		poly_canonical(&p->v[i]);
		poly_pack12(out + i * MLKEM_POLY_12, &p->v[i]);
	}
}

static err_t vec_unpack12(struct polyvec *out, const uint8_t in[VEC_12])
{
	for (size_t i = 0; i < MLKEM_K; i++)
		TRY(poly_unpack12(&out->v[i], in + i * MLKEM_POLY_12));
	return OK;
}

/* Algorithm 13, K-PKE.KeyGen: fills ek, and the first part of dk. */
static void pke_keypair(const uint8_t d[32], uint8_t ek[MLKEM768_EK], uint8_t s_packed[VEC_12])
{
	struct {
		uint8_t seeds[64]; /* rho, sigma */
		struct polyvec row, s, e, t;
	} w;
	const uint8_t k = MLKEM_K;

	hash_g(w.seeds, cslice_of(d, 32), cslice_of(&k, 1));
	CT_PUBLIC(w.seeds, 32);
	noise_ntt(&w.s, w.seeds + 32, 0);
	noise_ntt(&w.e, w.seeds + 32, MLKEM_K);
	for (size_t i = 0; i < MLKEM_K; i++) {
		matrix_row(&w.row, w.seeds, i, MATRIX);
		polyvec_dot(&w.t.v[i], &w.row, &w.s);
		poly_unscale(&w.t.v[i]);
		poly_add(&w.t.v[i], &w.e.v[i]);
	}
	vec_pack12(ek, &w.t);
	memcpy(ek + VEC_12, w.seeds, 32);
	vec_pack12(s_packed, &w.s);
	wipe(&w, sizeof(w));
}

/* Algorithm 14, K-PKE.Encrypt; t is the unpacked first part of the key. */
static void pke_encrypt(const struct polyvec *t, const uint8_t rho[32], const uint8_t m[32],
	const uint8_t r[32], uint8_t ct[MLKEM768_CT])
{
	struct {
		struct polyvec row, y;
		struct poly u, noise;
	} w;

	noise_ntt(&w.y, r, 0);
	for (size_t i = 0; i < MLKEM_K; i++) {
		matrix_row(&w.row, rho, i, MATRIX_TRANSPOSED);
		polyvec_dot(&w.u, &w.row, &w.y);
		poly_ntt_inverse(&w.u);
		poly_sample_noise(&w.noise, r, (uint8_t)(MLKEM_K + i));
		poly_add(&w.u, &w.noise);
		poly_canonical(&w.u);
		poly_pack10(ct + i * MLKEM_POLY_10, &w.u);
	}
	polyvec_dot(&w.u, t, &w.y);
	poly_ntt_inverse(&w.u);
	poly_sample_noise(&w.noise, r, 2 * MLKEM_K);
	poly_add(&w.u, &w.noise);
	poly_unpack1(&w.noise, m);
	poly_add(&w.u, &w.noise);
	poly_canonical(&w.u);
	poly_pack4(ct + VEC_10, &w.u);
	wipe(&w, sizeof(w));
}

/* Algorithm 15, K-PKE.Decrypt. */
static void pke_decrypt(const struct polyvec *s, const uint8_t ct[MLKEM768_CT], uint8_t m[32])
{
	struct {
		struct polyvec u;
		struct poly v, us;
	} w;

	for (size_t i = 0; i < MLKEM_K; i++) {
		poly_unpack10(&w.u.v[i], ct + i * MLKEM_POLY_10);
		poly_ntt(&w.u.v[i]);
	}
	poly_unpack4(&w.v, ct + VEC_10);
	polyvec_dot(&w.us, s, &w.u);
	poly_ntt_inverse(&w.us);
	for (size_t i = 0; i < MLKEM_N; i++)
		w.v.c[i] = (int16_t)(w.v.c[i] - w.us.c[i]);
	poly_canonical(&w.v);
	poly_pack1(m, &w.v);
	wipe(&w, sizeof(w));
}

err_t mlkem768_keypair(
	const uint8_t d[32], const uint8_t z[32], uint8_t ek[MLKEM768_EK], uint8_t dk[MLKEM768_DK])
{
	pke_keypair(d, ek, dk);
	memcpy(dk + VEC_12, ek, MLKEM768_EK);
	hash_h(dk + VEC_12 + MLKEM768_EK, ek);
	memcpy(dk + MLKEM768_DK - 32, z, 32);
	return OK;
}

err_t mlkem768_encaps(
	const uint8_t ek[MLKEM768_EK], const uint8_t m[32], uint8_t ct[MLKEM768_CT], uint8_t ss[32])
{
	struct polyvec t;
	uint8_t h[32], kr[64]; /* K, r */

	/* 7.2, modulus check: the bytes must be what the coefficients encode to */
	TRY(vec_unpack12(&t, ek));
	hash_h(h, ek);
	hash_g(kr, cslice_of(m, 32), cslice_of(h, 32));
	pke_encrypt(&t, ek + VEC_12, m, kr + 32, ct);
	memcpy(ss, kr, 32);
	wipe(kr, sizeof(kr));
	return OK;
}

/* Algorithm 18 after the checks: dk's parts are s, ek, h, z. */
static err_t decaps(const uint8_t dk[MLKEM768_DK], const uint8_t ct[MLKEM768_CT], uint8_t ss[32])
{
	const uint8_t *ek = dk + VEC_12, *h = ek + MLKEM768_EK, *z = h + 32;
	struct {
		struct polyvec s, t;
		uint8_t m[32], kr[64], rejected[32], ct[MLKEM768_CT];
	} w;
	err_t e;

	if ((e = vec_unpack12(&w.s, dk)) == OK && (e = vec_unpack12(&w.t, ek)) == OK) {
		pke_decrypt(&w.s, ct, w.m);
		hash_g(w.kr, cslice_of(w.m, 32), cslice_of(h, 32));
		shake256(w.rejected, 32, (const struct cslice[]){{z, 32}, {ct, MLKEM768_CT}}, 2);
		pke_encrypt(&w.t, ek + VEC_12, w.m, w.kr + 32, w.ct);
		ct_copy(w.kr, w.rejected, 32, ct_differ(ct, w.ct, MLKEM768_CT));
		memcpy(ss, w.kr, 32);
	}
	wipe(&w, sizeof(w));
	return e;
}

err_t mlkem768_decaps(const uint8_t dk[MLKEM768_DK], const uint8_t ct[MLKEM768_CT], uint8_t ss[32])
{
	const uint8_t *ek = dk + VEC_12;
	uint8_t h[32];

	/* 7.3, hash check: ek and its hash are public */
	hash_h(h, ek);
	if (!ct_eq(h, ek + MLKEM768_EK, sizeof(h)))
		return E_KEX_VALUE;
	return decaps(dk, ct, ss);
}
