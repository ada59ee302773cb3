/* SPDX-License-Identifier: ISC */
/*
 * kex_hybrid - a KEM and an elliptic curve together: broken only when both are
 *
 * Q_C = KEM public key | curve point;  Q_S = KEM ciphertext | curve point;  K = string HASH(KEM
 * secret | curve secret). All lengths are fixed by the method, so the halves are cut by position
 * and the whole must fit exactly.
 *
 * Source: draft-ietf-sshm-mlkem-hybrid-kex, draft-ietf-sshm-ntruprime-ssh, compat 6.2.
 */
#include <stdlib.h>

#include "algorithm/kex_int.h"

#define KEM_SS     32
#define KEM_PK_MAX MLKEM768_EK

struct kem {
	size_t pk, sk, ct;
	err_t (*keypair)(struct rng *rng, uint8_t *pk, uint8_t *sk);
	err_t (*encaps)(struct rng *rng, const uint8_t *pk, uint8_t *ct, uint8_t *ss);
	err_t (*decaps)(const uint8_t *sk, const uint8_t *ct, uint8_t *ss);
};

static err_t mlkem_keypair(struct rng *rng, uint8_t *pk, uint8_t *sk)
{
	uint8_t seed[64];
	rng_fill(rng, seed, sizeof(seed));
	err_t e = mlkem768_keypair(seed, seed + 32, pk, sk);
	wipe(seed, sizeof(seed));
	return e;
}

static err_t mlkem_encaps(struct rng *rng, const uint8_t *pk, uint8_t *ct, uint8_t *ss)
{
	uint8_t m[32];
	rng_fill(rng, m, sizeof(m));
	err_t e = mlkem768_encaps(pk, m, ct, ss);
	wipe(m, sizeof(m));
	return e;
}

static err_t mlkem_decaps(const uint8_t *sk, const uint8_t *ct, uint8_t *ss)
{
	return mlkem768_decaps(sk, ct, ss);
}

static err_t sntrup_keypair(struct rng *rng, uint8_t *pk, uint8_t *sk)
{
	return sntrup761_keypair(rng, pk, sk);
}

static err_t sntrup_encaps(struct rng *rng, const uint8_t *pk, uint8_t *ct, uint8_t *ss)
{
	return sntrup761_encaps(rng, pk, ct, ss);
}

static err_t sntrup_decaps(const uint8_t *sk, const uint8_t *ct, uint8_t *ss)
{
	return sntrup761_decaps(sk, ct, ss);
}

static const struct kem mlkem = {
	MLKEM768_EK, MLKEM768_DK, MLKEM768_CT, mlkem_keypair, mlkem_encaps, mlkem_decaps};
static const struct kem sntrup = {
	SNTRUP761_PK, SNTRUP761_SK, SNTRUP761_CT, sntrup_keypair, sntrup_encaps, sntrup_decaps};

static const struct kem *kem_of(const struct kex *k)
{
	return k->row->family == KEX_SNTRUP_X25519 ? &sntrup : &mlkem;
}

static err_t hybrid_start(struct kex *k, struct buf *qc)
{
	const struct kem *kem = kem_of(k);
	uint8_t pk[KEM_PK_MAX], point[EC_POINT_MAX];
	k->kem_sk = malloc(kem->sk);
	if (k->kem_sk == NULL)
		return E_MEM;
	k->kem_sk_n = kem->sk;
	TRY(kem->keypair(k->rng, pk, k->kem_sk));
	TRY(kex_curve_keypair(k, point));
	buf_put(qc, pk, kem->pk);
	buf_put(qc, point, kex_curve_public_size(k));
	return buf_err(qc);
}

/* K = HASH(KEM secret | curve secret), encoded as a string. */
static err_t combine(
	const struct kex *k, const uint8_t *kem_ss, const uint8_t *curve_ss, struct buf *k_encoded)
{
	uint8_t digest[HASH_MAX];
	struct cslice parts[] = {{kem_ss, KEM_SS}, {curve_ss, kex_curve_shared_size(k)}};
	err_t e = hash_parts(k->row->hash, parts, ARRAY_N(parts), digest);
	if (e == OK) {
		buf_put_string(k_encoded, cslice_of(digest, hash_size(k->row->hash)));
		e = buf_err(k_encoded);
	}
	wipe(digest, sizeof(digest));
	return e;
}

static err_t reply_secrets(
	struct kex *k, struct cslice qc, uint8_t *ct, uint8_t *kem_ss, uint8_t *curve_ss)
{
	const struct kem *kem = kem_of(k);
	TRY(kex_curve_shared(k, cslice_of(qc.p + kem->pk, qc.n - kem->pk), curve_ss));
	return kem->encaps(k->rng, qc.p, ct, kem_ss);
}

static err_t hybrid_reply(struct kex *k, struct cslice qc, struct buf *qs, struct buf *k_encoded)
{
	const struct kem *kem = kem_of(k);
	if (qc.n != kem->pk + kex_curve_public_size(k))
		return E_KEX_VALUE;
	uint8_t ct[MLKEM768_CT], point[EC_POINT_MAX], kem_ss[KEM_SS], curve_ss[EC_FIELD_MAX];
	TRY(kex_curve_keypair(k, point));
	err_t e = reply_secrets(k, qc, ct, kem_ss, curve_ss);
	if (e == OK)
		e = combine(k, kem_ss, curve_ss, k_encoded);
	wipe(kem_ss, sizeof(kem_ss));
	wipe(curve_ss, sizeof(curve_ss));
	TRY(e);
	buf_put(qs, ct, kem->ct);
	buf_put(qs, point, kex_curve_public_size(k));
	return buf_err(qs);
}

static err_t hybrid_finish(struct kex *k, struct cslice qs, struct buf *k_encoded)
{
	const struct kem *kem = kem_of(k);
	if (qs.n != kem->ct + kex_curve_public_size(k))
		return E_KEX_VALUE;
	uint8_t kem_ss[KEM_SS], curve_ss[EC_FIELD_MAX];
	err_t e = kex_curve_shared(k, cslice_of(qs.p + kem->ct, qs.n - kem->ct), curve_ss);
	if (e == OK)
		e = kem->decaps(k->kem_sk, qs.p, kem_ss);
	if (e == OK)
		e = combine(k, kem_ss, curve_ss, k_encoded);
	wipe(kem_ss, sizeof(kem_ss));
	wipe(curve_ss, sizeof(curve_ss));
	return e;
}

const struct kex_ops kex_ops_hybrid = {hybrid_start, hybrid_reply, hybrid_finish};
