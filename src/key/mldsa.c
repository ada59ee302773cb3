/* SPDX-License-Identifier: ISC */
/*
 * mldsa - ssh-mldsa44-ed25519@openssh.com: ML-DSA-44 and Ed25519 side by side
 *
 * A composite of the form of draft-ietf-lamps-pq-composite-sigs: both sign, both must verify, and
 * what they sign names the pair, so that neither half can be taken out and used alone.  Keys, seeds
 * and signatures are the ML-DSA part with the Ed25519 part behind it.
 */
#include "key/ops.h"

#define ED_SIG    64
#define SIG_BYTES (MLDSA44_SIG + ED_SIG)

/* M' = prefix || label || length of the context || context || SHA-512(message) */
static const char prefix[] = "CompositeAlgorithmSignatures2025";
static const char label[] = "COMPSIG-MLDSA44-Ed25519-SHA512";

/* Room for M' with the empty context that SSH uses. */
#define M_BYTES (sizeof(prefix) - 1 + sizeof(label) - 1 + 1 + 64)

static err_t composite_message(struct cslice tbs, uint8_t m[M_BYTES])
{
	uint8_t hash[64];
	struct wr w = wr_of((struct slice){m, M_BYTES});

	TRY(hash_once(HASH_SHA512, tbs, hash));
	wr_raw(&w, cslice_str(prefix));
	wr_raw(&w, cslice_str(label));
	wr_u8(&w, 0);
	wr_raw(&w, cslice_of(hash, sizeof(hash)));
	return wr_end(&w);
}

static err_t read_public(struct key *k, struct rd *r)
{
	struct cslice both = rd_str(r);
	struct rd parts = rd_of(both);
	struct cslice mldsa = rd_take(&parts, sizeof(k->mldsa_pub));
	struct cslice ed = rd_take(&parts, sizeof(k->pub));

	if (rd_end(&parts) != OK)
		return E_KEY_FORMAT;
	TRY(key_copy_exact(k->mldsa_pub, sizeof(k->mldsa_pub), mldsa));
	return key_copy_exact(k->pub, sizeof(k->pub), ed);
}

static err_t put_public(const struct key *k, struct buf *out)
{
	buf_put_u32(out, sizeof(k->mldsa_pub) + sizeof(k->pub));
	buf_put(out, k->mldsa_pub, sizeof(k->mldsa_pub));
	buf_put(out, k->pub, sizeof(k->pub));
	return buf_err(out);
}

/* Both public halves from both seeds. */
static err_t derive(const struct key *k, uint8_t mldsa[MLDSA44_PK], uint8_t ed[KEY_ED25519_BYTES])
{
	TRY(ed25519_public(k->seed, ed));
	mldsa44_public(k->mldsa_seed, mldsa);
	return OK;
}

/* string public, string seeds.  As with Ed25519 alone, a public half that is not the seed's would
 * leak the seed on signing. */
static err_t read_private(struct key *k, struct rd *r)
{
	uint8_t mldsa[MLDSA44_PK], ed[KEY_ED25519_BYTES];

	TRY(read_public(k, r));
	struct cslice both = rd_str(r);
	struct rd parts = rd_of(both);
	struct cslice mldsa_seed = rd_take(&parts, sizeof(k->mldsa_seed));
	struct cslice seed = rd_take(&parts, sizeof(k->seed));
	if (rd_end(&parts) != OK)
		return E_KEY_FORMAT;
	TRY(key_copy_exact(k->mldsa_seed, sizeof(k->mldsa_seed), mldsa_seed));
	TRY(key_copy_exact(k->seed, sizeof(k->seed), seed));
	TRY(derive(k, mldsa, ed));
	if (!ct_eq(mldsa, k->mldsa_pub, sizeof(mldsa)) || !ct_eq(ed, k->pub, sizeof(ed)))
		return E_KEY_FORMAT;
	return OK;
}

static err_t put_private(const struct key *k, struct buf *out)
{
	TRY(put_public(k, out));
	buf_put_u32(out, sizeof(k->mldsa_seed) + sizeof(k->seed));
	buf_put(out, k->mldsa_seed, sizeof(k->mldsa_seed));
	buf_put(out, k->seed, sizeof(k->seed));
	return buf_err(out);
}

/* There is one size; another one is accepted and ignored as for Ed25519. */
static err_t generate(struct key *k, uint32_t bits, struct rng *rng)
{
	(void)bits;
	rng_fill(rng, k->mldsa_seed, sizeof(k->mldsa_seed));
	rng_fill(rng, k->seed, sizeof(k->seed));
	return derive(k, k->mldsa_pub, k->pub);
}

static err_t sign(const struct key *k, enum hash_id h, struct cslice tbs, struct buf *raw)
{
	uint8_t m[M_BYTES], sig[SIG_BYTES], rnd[32] = {0};
	struct cslice message = {m, sizeof(m)};

	(void)h;
	TRY(composite_message(tbs, m));
	if (k->rng != NULL)
		rng_fill(k->rng, rnd, sizeof(rnd));
	err_t e = mldsa44_sign(k->mldsa_seed, cslice_str(label), message, rnd, sig);
	wipe(rnd, sizeof(rnd));
	TRY(e);
	TRY(ed25519_sign(k->seed, message, sig + MLDSA44_SIG));
	buf_put(raw, sig, sizeof(sig));
	return buf_err(raw);
}

static err_t verify(const struct key *k, enum hash_id h, struct cslice tbs, struct cslice raw)
{
	uint8_t m[M_BYTES];
	struct cslice message = {m, sizeof(m)};

	(void)h;
	if (raw.n != SIG_BYTES)
		return E_SIGNATURE;
	TRY(composite_message(tbs, m));
	TRY(mldsa44_verify(k->mldsa_pub, cslice_str(label), message, raw.p));
	return ed25519_verify(k->pub, message, raw.p + MLDSA44_SIG);
}

/* The strength of the Ed25519 half, as OpenSSH shows it. */
static uint32_t bits(const struct key *k)
{
	(void)k;
	return 256;
}

const struct key_ops key_ops_mldsa = {
	.read_public = read_public,
	.put_public = put_public,
	.read_private = read_private,
	.put_private = put_private,
	.generate = generate,
	.sign = sign,
	.verify = verify,
	.bits = bits,
};
