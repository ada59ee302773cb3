/* SPDX-License-Identifier: ISC */
/*
 * kex - one key exchange method's mathematics: choice of the family, finite-field DH, and the
 * elliptic curves
 *
 * Hybrids stand in kex_hybrid.c.  Nothing is appended to an output before every check has passed.
 */
#include <stdlib.h>

#include "algorithm/kex.h"
#include "algorithm/kex_int.h"
#include "base/log.h"

static const struct kex_ops *const family_ops[] = {
	[KEX_DH] = &kex_ops_dh,
	[KEX_DHGEX] = &kex_ops_dh,
	[KEX_ECDH] = &kex_ops_curve,
	[KEX_X25519] = &kex_ops_curve,
	[KEX_MLKEM_X25519] = &kex_ops_hybrid,
	[KEX_MLKEM_P256] = &kex_ops_hybrid,
	[KEX_SNTRUP_X25519] = &kex_ops_hybrid,
};

/* ---- finite-field Diffie-Hellman (RFC 4253 8, RFC 4419) ---- */

static err_t dh_start(struct kex *k, struct buf *qc)
{
	struct cslice pub = dh_public(k->dh);
	buf_put(qc, pub.p, pub.n);
	return buf_err(qc);
}

uint32_t kex_mpint_bits(struct cslice m)
{
	while (m.n > 0 && m.p[0] == 0) {
		m.p++;
		m.n--;
	}
	if (m.n == 0)
		return 0;
	return (uint32_t)(m.n * 8) - (uint32_t)(__builtin_clz(m.p[0]) - 24);
}

static uint32_t bits_set(struct cslice m)
{
	uint32_t n = 0;
	for (size_t i = 0; i < m.n; i++)
		for (uint8_t b = m.p[i]; b != 0; b &= (uint8_t)(b - 1))
			n++;
	return n;
}

static err_t dh_secret(struct kex *k, struct cslice peer, struct buf *k_encoded)
{
	log_debug2("bits set: %u/%u", bits_set(peer), kex_mpint_bits(dh_p(k->dh)));
	struct buf shared;
	buf_init(&shared, 4096);
	err_t e = dh_shared(k->dh, peer, &shared);
	if (e == OK) {
		buf_put_mpint(k_encoded, buf_bytes(&shared));
		e = buf_err(k_encoded);
	}
	buf_done(&shared);
	return e;
}

static err_t dh_reply(struct kex *k, struct cslice qc, struct buf *qs, struct buf *k_encoded)
{
	TRY(dh_secret(k, qc, k_encoded));
	return dh_start(k, qs);
}

const struct kex_ops kex_ops_dh = {dh_start, dh_reply, dh_secret};

/* ---- elliptic curves (RFC 5656 4, RFC 8731) ---- */

static bool curve_of(const struct kex *k, enum ec_curve *c)
{
	*c = k->row->family == KEX_ECDH ? (enum ec_curve)k->row->parameter : EC_P256;
	return k->row->family == KEX_ECDH || k->row->family == KEX_MLKEM_P256;
}

size_t kex_curve_public_size(const struct kex *k)
{
	enum ec_curve c;
	return curve_of(k, &c) ? ec_point_size(c) : X25519_SIZE;
}

size_t kex_curve_shared_size(const struct kex *k)
{
	enum ec_curve c;
	return curve_of(k, &c) ? ec_field_size(c) : X25519_SIZE;
}

err_t kex_curve_keypair(struct kex *k, uint8_t pub[EC_POINT_MAX])
{
	enum ec_curve c;
	if (curve_of(k, &c))
		return ecdh_keypair(c, k->rng, &k->ec_priv, pub);
	return x25519_keypair(k->rng, k->x_priv, pub);
}

err_t kex_curve_shared(struct kex *k, struct cslice peer, uint8_t shared[EC_FIELD_MAX])
{
	if (peer.n != kex_curve_public_size(k))
		return E_KEX_VALUE;
	enum ec_curve c;
	if (curve_of(k, &c))
		return ecdh_shared(c, &k->ec_priv, peer, shared);
	return x25519_shared(k->x_priv, peer.p, shared);
}

static err_t curve_start(struct kex *k, struct buf *qc)
{
	uint8_t pub[EC_POINT_MAX];
	TRY(kex_curve_keypair(k, pub));
	buf_put(qc, pub, kex_curve_public_size(k));
	return buf_err(qc);
}

static err_t curve_finish(struct kex *k, struct cslice qs, struct buf *k_encoded)
{
	uint8_t shared[EC_FIELD_MAX];
	err_t e = kex_curve_shared(k, qs, shared);
	if (e == OK) {
		buf_put_mpint(k_encoded, cslice_of(shared, kex_curve_shared_size(k)));
		e = buf_err(k_encoded);
	}
	wipe(shared, sizeof(shared));
	return e;
}

static err_t curve_reply(struct kex *k, struct cslice qc, struct buf *qs, struct buf *k_encoded)
{
	uint8_t pub[EC_POINT_MAX];
	TRY(kex_curve_keypair(k, pub));
	TRY(curve_finish(k, qc, k_encoded));
	buf_put(qs, pub, kex_curve_public_size(k));
	return buf_err(qs);
}

const struct kex_ops kex_ops_curve = {curve_start, curve_reply, curve_finish};

/* ---- the face ---- */

static err_t dh_make(struct kex *k, const struct kex_group *group, size_t want_bits)
{
	if (k->row->family == KEX_DHGEX)
		return dh_new(&k->dh, group->p, group->g, want_bits, k->rng);
	if (k->row->family == KEX_DH)
		return dh_new_group(&k->dh, (enum dh_group)k->row->parameter, want_bits, k->rng);
	return OK;
}

err_t kex_new(struct kex **out, const struct alg_kex *row, struct rng *rng,
	const struct kex_group *group, size_t want_bits)
{
	if (row->family == KEX_DHGEX && group == NULL)
		return E_BUG;
	struct kex *k = calloc(1, sizeof(*k));
	if (k == NULL)
		return E_MEM;
	k->row = row;
	k->ops = family_ops[row->family];
	k->rng = rng;
	err_t e = dh_make(k, group, want_bits);
	if (e != OK) {
		kex_free(k);
		return e;
	}
	*out = k;
	return OK;
}

void kex_free(struct kex *k)
{
	if (k == NULL)
		return;
	wipe_free(k->kem_sk, k->kem_sk_n);
	secret_done(&k->ec_priv);
	dh_free(k->dh);
	wipe_free(k, sizeof(*k));
}

bool kex_is_mpint(const struct kex *k)
{
	return k->row->family == KEX_DH || k->row->family == KEX_DHGEX;
}

err_t kex_start(struct kex *k, struct buf *qc)
{
	if (k->is_started)
		return E_PHASE;
	TRY(k->ops->start(k, qc));
	k->is_started = true;
	return OK;
}

err_t kex_reply(struct kex *k, struct cslice qc, struct buf *qs, struct buf *k_encoded)
{
	if (k->is_started)
		return E_PHASE;
	k->is_started = true;
	return k->ops->reply(k, qc, qs, k_encoded);
}

err_t kex_finish(struct kex *k, struct cslice qs, struct buf *k_encoded)
{
	if (!k->is_started)
		return E_PHASE;
	return k->ops->finish(k, qs, k_encoded);
}

static void need_of(const struct alg_cipher *cipher, const struct alg_mac *mac, uint32_t *bytes)
{
	size_t n = num_max((size_t)(cipher->bits + 7) / 8, num_max(cipher->block, cipher->iv));
	if (mac != NULL)
		n = num_max(n, mac->key);
	*bytes = (uint32_t)num_max(n, *bytes);
}

uint32_t kex_dh_want_bits(const struct alg_choice *c, uint32_t *want_group_bits)
{
	/* The strongest of all that is derived decides: secret, block, IV and MAC key, both
	 * directions. */
	uint32_t bytes = 0;
	need_of(c->c2s.cipher, c->c2s.mac, &bytes);
	need_of(c->s2c.cipher, c->s2c.mac, &bytes);
	uint32_t bits = bytes * 8;
	/* NIST SP 800-57 table 2: modulus sizes that match a symmetric strength. */
	static const struct {
		uint32_t strength, modulus;
	} match[] = {{112, 2048}, {128, 3072}, {192, 7680}, {UINT32_MAX, 8192}};
	size_t i = 0;
	while (bits > match[i].strength)
		i++;
	*want_group_bits = match[i].modulus;
	return bits;
}
