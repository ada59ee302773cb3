/* SPDX-License-Identifier: ISC */
/*
 * kex - one key exchange method's mathematics, apart from messages and hashing of transcripts
 *
 * The transport engine drives: client start -> Q_C; server reply(Q_C) -> Q_S, K; client finish(Q_S)
 * -> K. DH, ECDH and KEM hybrids have the same face; for group exchange the engine first settles p
 * and g and passes them. DH values go over the wire as mpint, the others as string: `is_mpint` says
 * which.  K is given as it is hashed: already encoded as mpint or string with its length word
 * (hybrids: string of a hash; others: mpint). A wrong length, a low-order point, a value out of
 * range: E_KEX_VALUE, nothing kept.
 *
 * Source: RFC 4253 8, RFC 4419, RFC 5656 4, RFC 8731, draft-ietf-sshm-mlkem-hybrid-kex,
 * draft-ietf-sshm-ntruprime-ssh.
 */
#ifndef ALGORITHM_KEX_H
#define ALGORITHM_KEX_H

#include "algorithm/alg.h"

struct kex;

struct kex_group {
	struct cslice p, g; /* magnitudes */
};

/* rng is borrowed for the life of the object.  group: only for KEX_DHGEX, else NULL.  want_bits:
 * kex_dh_want_bits. */
MUST err_t kex_new(struct kex **out, const struct alg_kex *row, struct rng *rng,
	const struct kex_group *group, size_t want_bits);
void kex_free(struct kex *k); /* wipes */
bool kex_is_mpint(const struct kex *k);

/* Client: appends Q_C (magnitude or string content, without length word). */
MUST err_t kex_start(struct kex *k, struct buf *qc);
/* Server: from Q_C makes Q_S and K. */
MUST err_t kex_reply(struct kex *k, struct cslice qc, struct buf *qs, struct buf *k_encoded);
/* Client: from Q_S makes K. */
MUST err_t kex_finish(struct kex *k, struct cslice qs, struct buf *k_encoded);

/* Bits of a magnitude, leading zeros not counted. */
uint32_t kex_mpint_bits(struct cslice magnitude);

/* Bits that a DH exponent or group should have for a choice of algorithms (RFC 4419 3; compat
 * regress 2.2). */
uint32_t kex_dh_want_bits(const struct alg_choice *c, uint32_t *want_group_bits);

#endif
