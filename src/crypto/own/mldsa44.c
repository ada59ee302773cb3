/* SPDX-License-Identifier: ISC */
/*
 * mldsa44 - ML-DSA-44 (FIPS 204)
 *
 * Keys and signatures as bytes:
 *	private = the seed of the key pair (32)
 *	pk      = rho (32) || t1 (4 x 320)
 *	sig     = c~ (32) || z (4 x 576) || hints (84)
 * The private key is grown from its seed for each signature, which costs about as much as one of
 * the four tries that a signature takes on average.
 *
 * A try that would show something of the key is thrown away.  Which tries were thrown away, and the
 * challenge of each, is no secret (FIPS 204 3.2; the challenge is a hash over bits that nobody
 * else knows); everything else of such a try is.
 */
#include "crypto/crypto.h"
#include "crypto/own/ct.h"
#include "crypto/own/keccak.h"
#include "crypto/own/mldsa_poly.h"

#define CONTEXT_MAX 255
#define W1_BYTES    ((size_t)DSA_K * DSA_POLY_W1)
#define Z_BYTES     ((size_t)DSA_K * DSA_POLY_Z)

_Static_assert(MLDSA44_PK == 32 + DSA_K * DSA_POLY_T1, "pk");
_Static_assert(MLDSA44_SIG == DSA_CHALLENGE + Z_BYTES + DSA_HINT, "sig");

struct grown {
	uint8_t rho[32], rho2[64], k[32]; /* in the order of the stream */
	uint8_t tr[64];
	struct dsa_vec a[DSA_K];   /* rows of the matrix */
	struct dsa_vec s1, s2, t0; /* in the NTT domain, |c| < q */
};

static void vec_ntt(struct dsa_vec *v)
{
	for (size_t i = 0; i < DSA_K; i++) {
		dsa_ntt(&v->v[i]);
		dsa_reduce(&v->v[i]);
	}
}

static void matrix_row(struct dsa_vec *row, const uint8_t rho[32], size_t i)
{
	for (size_t j = 0; j < DSA_K; j++)
		dsa_sample_uniform(&row->v[j], rho, (uint8_t)i, (uint8_t)j);
}

/* Algorithm 6, KeyGen_internal; s2 and t0 are not in the NTT domain yet. */
static void grow_pair(struct grown *g, const uint8_t seed[32], uint8_t pk[MLDSA44_PK])
{
	static const uint8_t sizes[2] = {DSA_K, DSA_K};
	struct dsa_poly t, t1;
	struct keccak k;

	keccak_shake256(&k);
	keccak_absorb(&k, seed, 32);
	keccak_absorb(&k, sizes, 2);
	keccak_squeeze(&k, g->rho, sizeof(g->rho));
	keccak_squeeze(&k, g->rho2, sizeof(g->rho2));
	keccak_squeeze(&k, g->k, sizeof(g->k));
	keccak_done(&k);
	CT_PUBLIC(g->rho, sizeof(g->rho));
	for (uint16_t i = 0; i < DSA_K; i++) {
		matrix_row(&g->a[i], g->rho, i);
		dsa_sample_small(&g->s1.v[i], g->rho2, i);
		dsa_sample_small(&g->s2.v[i], g->rho2, (uint16_t)(DSA_K + i));
	}
	vec_ntt(&g->s1);
	memcpy(pk, g->rho, sizeof(g->rho));
	for (size_t i = 0; i < DSA_K; i++) {
		dsa_dot(&t, &g->a[i], &g->s1);
		dsa_ntt_inverse(&t);
		dsa_add(&t, &g->s2.v[i]);
		dsa_canonical(&t);
		dsa_power2round(&t1, &g->t0.v[i], &t);
		dsa_pack_t1(pk + 32 + i * DSA_POLY_T1, &t1);
	}
	wipe(&t, sizeof(t));
}

static void grow(struct grown *g, const uint8_t seed[32])
{
	uint8_t pk[MLDSA44_PK];

	grow_pair(g, seed, pk);
	shake256(g->tr, sizeof(g->tr), &(struct cslice){pk, sizeof(pk)}, 1);
	vec_ntt(&g->s2);
	vec_ntt(&g->t0);
}

/* What is signed: 0 || length of the context || context || message, hashed behind the hash of the
 * public key (Algorithms 2 and 7). */
static err_t message_hash(
	uint8_t mu[64], const uint8_t tr[64], struct cslice context, struct cslice msg)
{
	const uint8_t head[2] = {0, (uint8_t)context.n};
	const struct cslice parts[] = {{tr, 64}, {head, 2}, context, msg};

	if (context.n > CONTEXT_MAX)
		return E_USAGE;
	shake256(mu, 64, parts, ARRAY_N(parts));
	return OK;
}

struct attempt {
	struct dsa_vec y, z, w, hint;
	struct dsa_poly c, product, high, low;
	uint8_t w1[W1_BYTES], challenge[DSA_CHALLENGE];
};

/* y, then w = A y, its high bits and the challenge that comes from them. */
static void commit(struct attempt *t, const struct grown *g, const uint8_t mu[64],
	const uint8_t seed[64], uint16_t nonce)
{
	for (size_t i = 0; i < DSA_K; i++)
		dsa_sample_mask(&t->y.v[i], seed, (uint16_t)(nonce + i));
	t->z = t->y;
	for (size_t i = 0; i < DSA_K; i++)
		dsa_ntt(&t->z.v[i]);
	for (size_t i = 0; i < DSA_K; i++) {
		dsa_dot(&t->w.v[i], &g->a[i], &t->z);
		dsa_ntt_inverse(&t->w.v[i]);
		dsa_canonical(&t->w.v[i]);
		dsa_decompose(&t->high, &t->low, &t->w.v[i]);
		dsa_pack_w1(t->w1 + i * DSA_POLY_W1, &t->high);
	}
	shake256(t->challenge, DSA_CHALLENGE, (const struct cslice[]){{mu, 64}, {t->w1, W1_BYTES}},
		2);
	CT_PUBLIC(t->challenge, DSA_CHALLENGE);
	dsa_sample_challenge(&t->c, t->challenge);
	dsa_ntt(&t->c);
}

static void times_challenge(struct attempt *t, const struct dsa_poly *secret)
{
	dsa_mul(&t->product, secret, &t->c);
	dsa_ntt_inverse(&t->product);
}

/* z = y + c s1 and the low bits of w - c s2 must not be large: would they show the key?  w becomes
 * w - c s2. */
static bool answer_shows(struct attempt *t, const struct grown *g)
{
	uint32_t shows = 0;

	for (size_t i = 0; i < DSA_K; i++) {
		times_challenge(t, &g->s1.v[i]);
		t->z.v[i] = t->y.v[i];
		dsa_add(&t->z.v[i], &t->product);
		dsa_centre(&t->z.v[i]);
		shows |= dsa_reaches(&t->z.v[i], DSA_GAMMA1 - DSA_BETA);
		times_challenge(t, &g->s2.v[i]);
		dsa_sub(&t->w.v[i], &t->product);
		dsa_canonical(&t->w.v[i]);
		dsa_decompose(&t->high, &t->low, &t->w.v[i]);
		shows |= dsa_reaches(&t->low, DSA_GAMMA2 - DSA_BETA);
	}
	CT_PUBLIC(&shows, sizeof(shows));
	return shows != 0;
}

/* The verifier knows t1 only: hints say where c t0 carries into the high bits.  False when there
 * would be too many. */
static bool hints_fit(struct attempt *t, const struct grown *g)
{
	uint32_t bad = 0, ones = 0;

	for (size_t i = 0; i < DSA_K; i++) {
		times_challenge(t, &g->t0.v[i]);
		dsa_centre(&t->product);
		bad |= dsa_reaches(&t->product, DSA_GAMMA2);
		ones += dsa_make_hint(&t->hint.v[i], &t->w.v[i], &t->product);
	}
	bad |= (DSA_OMEGA - ones) >> 31;
	CT_PUBLIC(&bad, sizeof(bad));
	return bad == 0;
}

static void signature_pack(uint8_t sig[MLDSA44_SIG], struct attempt *t)
{
	memcpy(sig, t->challenge, DSA_CHALLENGE);
	for (size_t i = 0; i < DSA_K; i++)
		dsa_pack_z(sig + DSA_CHALLENGE + i * DSA_POLY_Z, &t->z.v[i]);
	CT_PUBLIC(&t->hint, sizeof(t->hint));
	dsa_pack_hint(sig + DSA_CHALLENGE + Z_BYTES, &t->hint);
}

/* Algorithm 7, Sign_internal.  The nonces never come around: that many tries do not happen. */
static void sign(const struct grown *g, const uint8_t mu[64], const uint8_t rnd[32],
	uint8_t sig[MLDSA44_SIG])
{
	struct attempt t;
	uint8_t seed[64];
	uint16_t nonce = 0;

	shake256(seed, sizeof(seed), (const struct cslice[]){{g->k, 32}, {rnd, 32}, {mu, 64}}, 3);
	do {
		commit(&t, g, mu, seed, nonce);
		nonce = (uint16_t)(nonce + DSA_K);
	} while (answer_shows(&t, g) || !hints_fit(&t, g));
	signature_pack(sig, &t);
	wipe(&t, sizeof(t));
	wipe(seed, sizeof(seed));
}

void mldsa44_public(const uint8_t seed[32], uint8_t pk[MLDSA44_PK])
{
	struct grown g;

	grow_pair(&g, seed, pk);
	CT_PUBLIC(pk, MLDSA44_PK);
	wipe(&g, sizeof(g));
}

err_t mldsa44_sign(const uint8_t seed[32], struct cslice context, struct cslice msg,
	const uint8_t rnd[32], uint8_t sig[MLDSA44_SIG])
{
	struct grown g;
	uint8_t mu[64];

	grow(&g, seed);
	err_t e = message_hash(mu, g.tr, context, msg);
	if (e == OK)
		sign(&g, mu, rnd, sig);
	wipe(mu, sizeof(mu));
	wipe(&g, sizeof(g));
	return e;
}

void mldsa44_sign_mu(const uint8_t seed[32], const uint8_t mu[64], const uint8_t rnd[32],
	uint8_t sig[MLDSA44_SIG])
{
	struct grown g;

	grow(&g, seed);
	sign(&g, mu, rnd, sig);
	wipe(&g, sizeof(g));
}

/* w' = A z - c t1 2^13, its high bits corrected by the hints. */
static void recommit(uint8_t w1[W1_BYTES], const uint8_t pk[MLDSA44_PK], const struct dsa_poly *c,
	const struct dsa_vec *z, const struct dsa_vec *hint)
{
	struct dsa_vec row;
	struct dsa_poly w, t1, product;

	for (size_t i = 0; i < DSA_K; i++) {
		matrix_row(&row, pk, i);
		dsa_dot(&w, &row, z);
		dsa_unpack_t1(&t1, pk + 32 + i * DSA_POLY_T1);
		for (size_t j = 0; j < DSA_N; j++)
			t1.c[j] *= 1 << DSA_DROPPED;
		dsa_ntt(&t1);
		dsa_reduce(&t1);
		dsa_mul(&product, &t1, c);
		dsa_sub(&w, &product);
		dsa_reduce(&w);
		dsa_ntt_inverse(&w);
		dsa_canonical(&w);
		dsa_use_hint(&w, &hint->v[i]);
		dsa_pack_w1(w1 + i * DSA_POLY_W1, &w);
	}
}

/* Algorithm 8, Verify_internal; all of it is public. */
err_t mldsa44_verify(const uint8_t pk[MLDSA44_PK], struct cslice context, struct cslice msg,
	const uint8_t sig[MLDSA44_SIG])
{
	struct dsa_vec z, hint;
	struct dsa_poly c;
	uint8_t tr[64], mu[64], w1[W1_BYTES], challenge[DSA_CHALLENGE];

	for (size_t i = 0; i < DSA_K; i++) {
		dsa_unpack_z(&z.v[i], sig + DSA_CHALLENGE + i * DSA_POLY_Z);
		if (dsa_reaches(&z.v[i], DSA_GAMMA1 - DSA_BETA) != 0)
			return E_SIGNATURE;
		dsa_ntt(&z.v[i]);
	}
	TRY(dsa_unpack_hint(&hint, sig + DSA_CHALLENGE + Z_BYTES));
	shake256(tr, sizeof(tr), &(struct cslice){pk, MLDSA44_PK}, 1);
	TRY(message_hash(mu, tr, context, msg));
	dsa_sample_challenge(&c, sig);
	dsa_ntt(&c);
	recommit(w1, pk, &c, &z, &hint);
	shake256(challenge, DSA_CHALLENGE, (const struct cslice[]){{mu, 64}, {w1, W1_BYTES}}, 2);
	return ct_eq(challenge, sig, DSA_CHALLENGE) ? OK : E_SIGNATURE;
}
