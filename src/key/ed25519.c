/* SPDX-License-Identifier: ISC */
/* ed25519 - ssh-ed25519 (RFC 8709): 32-byte public keys, 64-byte signatures, a seed as the private
 * part */
#include "key/ops.h"

#define SIG_BYTES 64

static err_t read_public(struct key *k, struct rd *r)
{
	struct cslice pub = rd_str(r);
	return key_copy_exact(k->pub, sizeof(k->pub), pub);
}

static err_t put_public(const struct key *k, struct buf *out)
{
	buf_put_string(out, cslice_of(k->pub, sizeof(k->pub)));
	return buf_err(out);
}

/* string public, string seed || public.  A public half that is not the seed's would leak the seed
 * on signing. */
static err_t read_private(struct key *k, struct rd *r)
{
	TRY(read_public(k, r));
	struct cslice both = rd_str(r);
	struct rd parts = rd_of(both);
	struct cslice seed = rd_take(&parts, sizeof(k->seed));
	struct cslice again = rd_take(&parts, sizeof(k->pub));
	uint8_t derived[KEY_ED25519_BYTES];
	if (rd_end(&parts) != OK)
		return E_KEY_FORMAT;
	TRY(key_copy_exact(k->seed, sizeof(k->seed), seed));
	TRY(ed25519_public(k->seed, derived));
	if (!ct_eq(derived, k->pub, sizeof(derived)) || !ct_eq(derived, again.p, sizeof(derived)))
		return E_KEY_FORMAT;
	return OK;
}

static err_t put_private(const struct key *k, struct buf *out)
{
	TRY(put_public(k, out));
	buf_put_u32(out, sizeof(k->seed) + sizeof(k->pub));
	buf_put(out, k->seed, sizeof(k->seed));
	buf_put(out, k->pub, sizeof(k->pub));
	return buf_err(out);
}

/* A size is accepted and ignored, as `ssh-keygen -b 512 -t ed25519` is in use. */
static err_t generate(struct key *k, uint32_t bits, struct rng *rng)
{
	(void)bits;
	rng_fill(rng, k->seed, sizeof(k->seed));
	return ed25519_public(k->seed, k->pub);
}

static err_t sign(const struct key *k, enum hash_id h, struct cslice tbs, struct buf *raw)
{
	uint8_t sig[SIG_BYTES];
	(void)h;
	TRY(ed25519_sign(k->seed, tbs, sig));
	buf_put(raw, sig, sizeof(sig));
	return buf_err(raw);
}

static err_t verify(const struct key *k, enum hash_id h, struct cslice tbs, struct cslice raw)
{
	(void)h;
	if (raw.n != SIG_BYTES)
		return E_SIGNATURE;
	return ed25519_verify(k->pub, tbs, raw.p);
}

static uint32_t bits(const struct key *k)
{
	(void)k;
	return 256;
}

const struct key_ops key_ops_ed25519 = {
	.read_public = read_public,
	.put_public = put_public,
	.read_private = read_private,
	.put_private = put_private,
	.generate = generate,
	.sign = sign,
	.verify = verify,
	.bits = bits,
};
