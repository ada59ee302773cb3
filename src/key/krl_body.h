/* SPDX-License-Identifier: ISC */
/* krl_body - how a revocation list looks inside, and its sections on the wire (for src/key/krl*.c
 * only) */
#ifndef KEY_KRL_BODY_H
#define KEY_KRL_BODY_H

#include "key/krl.h"
#include "key/ops.h"

enum krl_section {
	KRL_S_CERTS = 1,
	KRL_S_KEYS = 2,
	KRL_S_SHA1 = 3,
	KRL_S_SIGNATURE = 4,
	KRL_S_SHA256 = 5,
	KRL_S_EXTENSION = 255
};
enum krl_part {
	KRL_P_SERIALS = 0x20,
	KRL_P_RANGE = 0x21,
	KRL_P_BITMAP = 0x22,
	KRL_P_KEY_IDS = 0x23,
	KRL_P_EXTENSION = 0x39
};

#define KRL_MAGIC       0x5353484b524c0a00u
#define KRL_FORMAT      1u
#define KRL_BITMAP_BITS 16384u /* other readers take no longer numbers */

/* Byte strings: sorted and each once when it is settled, as they came before. */
struct krl_set {
	struct slice *v; /* each owned */
	size_t n, cap;
	bool is_loose; /* not settled */
};

struct krl_span {
	uint64_t first, last;
};

/* Certificates of one authority. */
struct krl_ca {
	struct slice blob;      /* owned; empty = any authority */
	struct krl_span *spans; /* sorted, apart by more than one when settled */
	size_t spans_n, spans_cap;
	bool is_loose;
	struct krl_set ids;
};

struct krl {
	uint64_t version, made_s;
	struct buf comment;
	struct krl_ca *cas;
	size_t cas_n, cas_cap;
	struct krl_set keys, sha1, sha256;
};

MUST err_t krl_set_add(struct krl_set *s, struct cslice bytes);
/* The authority's entry, made when there is none; blob empty = any. */
MUST err_t krl_ca_get(struct krl *r, struct cslice blob, struct krl_ca **out);
MUST err_t krl_ca_add(struct krl_ca *ca, uint64_t first, uint64_t last);
/* Everything sorted, doubles gone. */
void krl_settle(struct krl *r);

#endif
