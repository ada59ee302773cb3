/* SPDX-License-Identifier: ISC */
/*
 * krl - key revocation lists (compat 5.4), and plain lists of keys, which do the same work
 *
 * Bytes in, verdict out.  A list that cannot be read revokes everything.
 */
#ifndef KEY_KRL_H
#define KEY_KRL_H

#include "key/cert.h"

struct krl;

MUST err_t krl_new(struct krl **out);
void krl_free(struct krl *r);
/* A KRL, or public keys one a line (`#` comments).  E_FORMAT, E_KEY_FORMAT, E_LIMIT, E_UNSUPPORTED
 * (a critical extension, a signed list). */
MUST err_t krl_parse(struct krl **out, struct cslice bytes);

/* Zero is the yes to "revoked?": only KRL_FINE lets a key be used. */
enum krl_verdict { KRL_REVOKED = 0, KRL_FINE };
/* k: plain or certificate; of a certificate its serial, key id, plain key and CA are asked too. */
enum krl_verdict krl_check(const struct krl *r, const struct key *k);
/* The same over a file's text, parsed now: what cannot be parsed revokes. */
enum krl_verdict krl_check_text(struct cslice bytes, const struct key *k);

/* Making and changing; ca NULL = certificates of any CA. */
MUST err_t krl_add_serials(struct krl *r, const struct key *ca, uint64_t first, uint64_t last);
MUST err_t krl_add_key_id(struct krl *r, const struct key *ca, struct cslice id);
MUST err_t krl_add_key(struct krl *r, const struct key *k);
MUST err_t krl_add_hash(struct krl *r, enum hash_id h, struct cslice digest); /* sha1, sha256 */
MUST err_t krl_put(const struct krl *r, uint64_t now_s, struct buf *out);
void krl_set_version(struct krl *r, uint64_t version);
uint64_t krl_version(const struct krl *r);
/* As `ssh-keygen -Ql` prints it; appended. */
MUST err_t krl_dump(const struct krl *r, struct buf *out);

#endif
