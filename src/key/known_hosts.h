/* SPDX-License-Identifier: ISC */
/*
 * known_hosts - text in, verdict out (compat 5.2)
 *
 * Broken lines, unknown key types and comments are skipped, never fatal, never a match.
 */
#ifndef KEY_KNOWN_HOSTS_H
#define KEY_KNOWN_HOSTS_H

#include "key/key.h"

enum kh_verdict {
	KH_NEW = 0, /* no key of this host is known */
	KH_OTHER,   /* other keys of other types are known for this host, none of this type */
	KH_CHANGED, /* a key of this type is known and differs */
	KH_OK,      /* this very key is known */
	KH_REVOKED  /* this very key is marked @revoked: refuse whatever else matches */
};

struct kh_found {
	enum kh_verdict verdict;
	uint32_t line;      /* of the deciding line, from 1 */
	enum key_type type; /* of that line (CHANGED, OTHER) */
};

/* host: lower case; port 22 is looked up bare, others as "[host]:port".  file: the text of one
 * known_hosts file.  KH_NEW on no match. out is merged over several files by kh_merge (REVOKED > OK
 * > CHANGED > OTHER > NEW). */
MUST err_t kh_check(struct cslice file, const char *host, uint16_t port, const struct key *k,
	struct kh_found *out);
/* A certificate's authority: KH_OK, a line of the host marked @cert-authority has it (whether the
 * certificate holds is cert_check's affair); KH_REVOKED, the authority or the key inside is marked
 * so; else KH_NEW.  kh_check looks at the plain key inside only. */
MUST err_t kh_check_ca(struct cslice file, const char *host, uint16_t port, const struct key *k,
	struct kh_found *out);
/* Has the host a line marked @cert-authority? */
MUST err_t kh_has_ca(struct cslice file, const char *host, uint16_t port, bool *has_ca);
void kh_merge(struct kh_found *into, const struct kh_found *one);

/* Types known for the host, as a bit set by enum key_type: to order HostKeyAlgorithms. */
MUST err_t kh_types(struct cslice file, const char *host, uint16_t port, uint32_t *types);

/* A new line (with '\n') for host; hashed with a fresh salt from rng, or plain when rng is NULL.
 * E_NAME: a name that may not be recorded (compat 5.2). */
MUST err_t kh_line(const char *host, uint16_t port, const struct key *k, struct rng *hash_rng,
	struct buf *out);
/* The name as it is looked up: "host" or "[host]:port". */
void kh_name(const char *host, uint16_t port, struct buf *out);

/*
 * One line after the other, for programs that rewrite the file.  text is the whole line without its
 * end; hosts, key and comment are borrowed parts of it.
 */
enum kh_marker { KH_MARK_NONE, KH_MARK_CA, KH_MARK_REVOKED };
enum kh_kind {
	KH_LINE_BROKEN = 0, /* cannot be understood */
	KH_LINE_BLANK,      /* empty or a comment */
	KH_LINE_UNKNOWN, /* well-formed, but of a key type that is not built: no match, no damage */
	KH_LINE_KEY
};
struct kh_entry {
	uint32_t line;
	enum kh_kind kind;
	enum kh_marker marker;
	struct cslice text, hosts, key /* "type base64" */, comment;
};
/* Takes the next line off *file; entry->line counts up and starts at 0.  False at the end. */
bool kh_next(struct cslice *file, struct kh_entry *entry);
/* Does the host field of a line name `name` (as given by kh_name)?  Plain names, patterns, `!`,
 * hashes. */
MUST err_t kh_hosts_match(struct cslice hosts, struct cslice name, bool *is_match);
bool kh_is_hashed(struct cslice hosts);
/* "|1|salt|hash" of a name, with a fresh salt; appended. */
MUST err_t kh_hash_name(struct cslice name, struct rng *rng, struct buf *out);

/* Every line that names host (plain, pattern or hashed), in order; for -F, -R and the "other names"
 * list. */
typedef void kh_line_fn(void *arg, const struct kh_entry *entry, const struct key *k);
MUST err_t kh_each(struct cslice file, const char *host, uint16_t port, kh_line_fn *fn, void *arg);

#endif
