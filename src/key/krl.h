/* SPDX-License-Identifier: ISC */
/*
 * krl - key revocation lists (compat 5.4), and plain lists of keys, which do the same work
 *
 * Bytes in, verdict out.  A list that cannot be read revokes everything.
 */
#ifndef KEY_KRL_H
#define KEY_KRL_H

#include "key/cert.h"

#define KRL_MAX ((size_t)64 << 20) /* bytes of a file */

struct krl;

MUST err_t krl_new(struct krl **out);
void krl_free(struct krl *r);
/* A KRL, or public keys one a line (`#` comments; a certificate stands for its key).  E_FORMAT,
 * E_KEY_FORMAT, E_LIMIT, E_UNSUPPORTED (a critical extension, a signed list, a section that is not
 * known).  A list that ends behind a whole section is a shorter list: the format has no count. */
MUST err_t krl_parse(struct krl **out, struct cslice bytes);
/* Does it begin as a KRL does? */
bool krl_is_binary(struct cslice bytes);

/* Zero is the yes to "revoked?": only KRL_FINE lets a key be used. */
enum krl_verdict { KRL_REVOKED = 0, KRL_FINE };
/* k: plain or certificate; of a certificate its serial, key id, plain key and CA are asked too.
 * Serial 0 says that the authority counts none: only the key id names such a certificate. */
enum krl_verdict krl_check(const struct krl *r, const struct key *k);
/* The same over a file's text, parsed now: what cannot be parsed revokes, and why (may be NULL)
 * says that it was so; OK else. */
enum krl_verdict krl_check_text(struct cslice bytes, const struct key *k, err_t *why);

/* Making and changing; ca NULL = certificates of any CA.  Serials run from 1: E_FORMAT for 0 and
 * for a range that runs backwards. */
MUST err_t krl_add_serials(struct krl *r, const struct key *ca, uint64_t first, uint64_t last);
MUST err_t krl_add_key_id(struct krl *r, const struct key *ca, struct cslice id);
MUST err_t krl_add_key(struct krl *r, const struct key *k); /* the plain key inside */
MUST err_t krl_add_hash(struct krl *r, enum hash_id h, struct cslice digest); /* sha1, sha256 */
/* A certificate by its serial, or by its key id where it has none; another key as krl_add_key. */
MUST err_t krl_add_any(struct krl *r, const struct key *k);
/* Appended.  Each kind sorted and without doubles; serials as list, ranges or bitmaps, whichever is
 * short. */
MUST err_t krl_put(struct krl *r, uint64_t now_s, struct buf *out);
void krl_set_version(struct krl *r, uint64_t version);
uint64_t krl_version(const struct krl *r);
uint64_t krl_made_s(const struct krl *r); /* when it was put; 0 = never */
/* What `ssh-keygen -Ql` prints behind version and time; appended. */
MUST err_t krl_dump(struct krl *r, struct buf *out);

#endif
