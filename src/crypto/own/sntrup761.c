/* SPDX-License-Identifier: ISC */
/*
 * sntrup761 - the KEM of Streamlined NTRU Prime (round 3 of the NIST project), with the encodings
 *that sntrup761x25519-sha512 uses in SSH
 *
 *	pk = h                                   (1158 bytes; h = g / 3f in R/q)
 *	sk = f (191) || 1/g in R/3 (191) || pk || rho (191) || Hash4(pk) (32)
 *	ct = c (1007; h*r rounded to multiples of 3) || confirmation (32)
 * HashN(x) is the first half of SHA-512(byte N || x).  A wrong ciphertext gives a secret made from
 *rho.
 */
#include "crypto/crypto.h"
#include "crypto/own/ct.h"
#include "crypto/own/sntrup_code.h"

#define P     SNTRUP_P
#define SMALL SNTRUP_SMALL_BYTES
#define HALF  32

#define SK_GINV SMALL
#define SK_PK   ((size_t)2 * SMALL)
#define SK_RHO  (SK_PK + SNTRUP761_PK)
#define SK_HASH (SK_RHO + SMALL)

_Static_assert(SNTRUP761_PK == SNTRUP_RQ_BYTES, "pk");
_Static_assert(SNTRUP761_SK == SK_HASH + HALF, "sk");
_Static_assert(SNTRUP761_CT == SNTRUP_ROUNDED_BYTES + HALF, "ct");

static err_t hash_prefix(uint8_t out[HALF], uint8_t prefix, struct cslice a, struct cslice b)
{
	uint8_t full[HASH_MAX];

	TRY(hash_parts(HASH_SHA512, (const struct cslice[]){{&prefix, 1}, a, b}, 3, full));
	memcpy(out, full, HALF);
	wipe(full, sizeof(full));
	return OK;
}

static inline uint32_t le32_get(const uint8_t *p)
{
	return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* Every coefficient uniform in -1, 0, 1 (up to 2^-30). */
static void draw_small(struct small *out, struct rng *rng)
{
	uint8_t bytes[4 * P];

	rng_fill(rng, bytes, sizeof(bytes));
	memset(out, 0, sizeof(*out));
	for (size_t i = 0; i < P; i++) {
		uint32_t v = le32_get(bytes + 4 * i) & 0x3fffffff;
		out->c[i] = (int8_t)((int)(v * 3 >> 30) - 1);
	}
	wipe(bytes, sizeof(bytes));
}

/* Exactly w coefficients are 1 or -1: random numbers whose low bits are the coefficients, sorted.
 */
static void draw_short(struct small *out, struct rng *rng)
{
	uint8_t bytes[4 * P];
	uint32_t v[P];

	rng_fill(rng, bytes, sizeof(bytes));
	for (size_t i = 0; i < P; i++) {
		uint32_t low = i < SNTRUP_W ? 0 : 1;
		v[i] = (le32_get(bytes + 4 * i) & ~(i < SNTRUP_W ? 1U : 3U)) | low;
	}
	ct_sort_u32(v, P);
	memset(out, 0, sizeof(*out));
	for (size_t i = 0; i < P; i++)
		out->c[i] = (int8_t)((int)(v[i] & 3) - 1);
	wipe(bytes, sizeof(bytes));
	wipe(v, sizeof(v));
}

err_t sntrup761_keypair(struct rng *rng, uint8_t pk[SNTRUP761_PK], uint8_t sk[SNTRUP761_SK])
{
	struct {
		struct small f, g, ginv;
		struct rq finv, h;
		uint8_t pk[SNTRUP761_PK], rho[SMALL], hash[HALF];
	} w;
	uint32_t bad;

	do {
		draw_small(&w.g, rng);
		bad = small_inverse(&w.ginv, &w.g);
		CT_PUBLIC(&bad, sizeof(bad)); /* tells of a g that is thrown away */
	} while (bad != 0);
	draw_short(&w.f, rng);
	rq_inverse_3(&w.finv, &w.f);
	rq_mul_small(&w.h, &w.finv, &w.g);
	rq_encode(w.pk, &w.h);
	CT_PUBLIC(w.pk, sizeof(w.pk));
	rng_fill(rng, w.rho, sizeof(w.rho));
	err_t e = hash_prefix(w.hash, 4, cslice_of(w.pk, sizeof(w.pk)), cslice_of(NULL, 0));
	if (e == OK) {
		memcpy(pk, w.pk, sizeof(w.pk));
		small_encode(sk, &w.f);
		small_encode(sk + SK_GINV, &w.ginv);
		memcpy(sk + SK_PK, w.pk, sizeof(w.pk));
		memcpy(sk + SK_RHO, w.rho, sizeof(w.rho));
		memcpy(sk + SK_HASH, w.hash, sizeof(w.hash));
	}
	wipe(&w, sizeof(w));
	return e;
}

/* The ciphertext of r under h, and y = Hash3(r), which the session key needs too. */
static err_t hide(const struct rq *h, const uint8_t pk_hash[HALF], const struct small *r,
	uint8_t ct[SNTRUP761_CT], uint8_t y[HALF])
{
	struct {
		struct rq hr;
		uint8_t r[SMALL];
	} w;

	rq_mul_small(&w.hr, h, r);
	for (size_t i = 0; i < P; i++)
		w.hr.c[i] = (int16_t)(w.hr.c[i] - sntrup_mod_3(w.hr.c[i]));
	rounded_encode(ct, &w.hr);
	small_encode(w.r, r);
	err_t e = hash_prefix(y, 3, cslice_of(w.r, sizeof(w.r)), cslice_of(NULL, 0));
	if (e == OK)
		e = hash_prefix(
			ct + SNTRUP_ROUNDED_BYTES, 2, cslice_of(y, HALF), cslice_of(pk_hash, HALF));
	wipe(&w, sizeof(w));
	return e;
}

err_t sntrup761_encaps(
	struct rng *rng, const uint8_t pk[SNTRUP761_PK], uint8_t ct[SNTRUP761_CT], uint8_t ss[32])
{
	struct {
		struct small r;
		struct rq h;
		uint8_t ct[SNTRUP761_CT], pk_hash[HALF], y[HALF], ss[32];
	} w;
	err_t e = hash_prefix(w.pk_hash, 4, cslice_of(pk, SNTRUP761_PK), cslice_of(NULL, 0));

	if (e == OK) {
		rq_decode(&w.h, pk);
		draw_short(&w.r, rng);
		e = hide(&w.h, w.pk_hash, &w.r, w.ct, w.y);
	}
	if (e == OK)
		e = hash_prefix(w.ss, 1, cslice_of(w.y, HALF), cslice_of(w.ct, sizeof(w.ct)));
	if (e == OK) {
		memcpy(ct, w.ct, sizeof(w.ct));
		memcpy(ss, w.ss, sizeof(w.ss));
	}
	wipe(&w, sizeof(w));
	return e;
}

/* r from c; when the weight is wrong, a fixed polynomial of the right weight. */
static void recover(
	struct small *r, const struct rq *c, const struct small *f, const struct small *ginv)
{
	struct rq cf;
	struct small e;
	int weight = 0;

	rq_mul_small(&cf, c, f);
	memset(&e, 0, sizeof(e));
	for (size_t i = 0; i < P; i++)
		e.c[i] = sntrup_mod_3(sntrup_mod_q(3 * cf.c[i]));
	small_mul(r, &e, ginv);
	for (size_t i = 0; i < P; i++)
		weight += r->c[i] & 1;
	int8_t right = (int8_t)~ct_nonzero32((uint32_t)(weight ^ SNTRUP_W));
	for (size_t i = 0; i < P; i++) {
		int8_t otherwise = i < SNTRUP_W;
		r->c[i] = (int8_t)(otherwise ^ ((r->c[i] ^ otherwise) & right));
	}
	wipe(&cf, sizeof(cf));
	wipe(&e, sizeof(e));
}

err_t sntrup761_decaps(
	const uint8_t sk[SNTRUP761_SK], const uint8_t ct[SNTRUP761_CT], uint8_t ss[32])
{
	struct {
		struct small f, ginv, r;
		struct rq c, h;
		uint8_t ct[SNTRUP761_CT], y[HALF], y_rho[HALF], ss[32];
	} w;

	small_decode(&w.f, sk);
	small_decode(&w.ginv, sk + SK_GINV);
	rounded_decode(&w.c, ct);
	recover(&w.r, &w.c, &w.f, &w.ginv);
	rq_decode(&w.h, sk + SK_PK);
	err_t e = hide(&w.h, sk + SK_HASH, &w.r, w.ct, w.y);
	if (e == OK)
		e = hash_prefix(w.y_rho, 3, cslice_of(sk + SK_RHO, SMALL), cslice_of(NULL, 0));
	if (e == OK) {
		uint32_t wrong = ct_differ(ct, w.ct, sizeof(w.ct));
		ct_copy(w.y, w.y_rho, HALF, wrong);
		e = hash_prefix(w.ss, (uint8_t)(1 + wrong), cslice_of(w.y, HALF),
			cslice_of(ct, SNTRUP761_CT));
	}
	if (e == OK)
		memcpy(ss, w.ss, sizeof(w.ss));
	wipe(&w, sizeof(w));
	return e;
}
