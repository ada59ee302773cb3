/* SPDX-License-Identifier: ISC */
/* kex_int - what kex.c and the families share */
#ifndef ALGORITHM_KEX_INT_H
#define ALGORITHM_KEX_INT_H

#include "algorithm/kex.h"

struct kex {
	const struct alg_kex *row;
	const struct kex_ops *ops;
	struct rng *rng;
	struct dh *dh;         /* KEX_DH, KEX_DHGEX */
	uint8_t x_priv[32];    /* X25519 part */
	struct secret ec_priv; /* NIST curve part */
	uint8_t *kem_sk;       /* KEM part: the client's private key */
	size_t kem_sk_n;
	bool is_started;
};

struct kex_ops {
	err_t (*start)(struct kex *k, struct buf *qc);
	err_t (*reply)(struct kex *k, struct cslice qc, struct buf *qs, struct buf *k_encoded);
	err_t (*finish)(struct kex *k, struct cslice qs, struct buf *k_encoded);
};

extern const struct kex_ops kex_ops_dh, kex_ops_curve, kex_ops_hybrid;

/* The elliptic half, X25519 or a NIST curve by the row: a fresh pair; the shared value (E_KEX_VALUE
 * on a bad point). */
size_t kex_curve_public_size(const struct kex *k);
size_t kex_curve_shared_size(const struct kex *k);
MUST err_t kex_curve_keypair(struct kex *k, uint8_t pub[EC_POINT_MAX]);
MUST err_t kex_curve_shared(struct kex *k, struct cslice peer, uint8_t shared[EC_FIELD_MAX]);

#endif
