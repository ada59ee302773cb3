/* SPDX-License-Identifier: ISC */
/*
 * ops - what a key type must be able to do, and how a key looks inside (for src/key only)
 *
 * Outside of this folder a key is opaque.  Each type is one file with one table of this shape;
 * types.def names it.
 */
#ifndef KEY_OPS_H
#define KEY_OPS_H

#include "key/cert.h"
#include "wire/codec.h"

#define KEY_BLOB_MAX                                                                               \
	((size_t)8 << 10) /* a 16,384-bit RSA public key needs 2,070 bytes and its exponent */
#define KEY_SIG_MAX       ((size_t)8 << 10)
#define KEY_FILE_MAX      ((size_t)1 << 20)
#define KEY_COMMENT_MAX   ((size_t)64 << 10)
#define KEY_RSA_BITS_MIN  1024u
#define KEY_RSA_BITS_MAX  16384u
#define KEY_ED25519_BYTES 32

struct key {
	enum key_type type;
	bool is_private;
	struct rng *rng;                 /* borrowed for good; NULL: signatures draw nothing */
	struct pkey *pk;                 /* rsa, ecdsa */
	uint8_t pub[KEY_ED25519_BYTES];  /* ed25519, and that half of mldsa44-ed25519 */
	uint8_t seed[KEY_ED25519_BYTES]; /* the same, when private */
	uint8_t mldsa_pub[MLDSA44_PK];   /* the other half of mldsa44-ed25519 */
	uint8_t mldsa_seed[32];
	struct cert *cert; /* owned; NULL: a plain key */
	struct key_sk *sk; /* sk-ssh-ed25519, sk-ecdsa: what comes behind the plain public half */
};

/* All of them work on a key whose type is set.  On failure key_free is called by the caller. */
struct key_ops {
	/* The fields behind the type name of a public blob. */
	err_t (*read_public)(struct key *k, struct rd *r);
	err_t (*put_public)(const struct key *k, struct buf *out);
	/* The fields behind the type name in openssh-key-v1 (compat 5.6); sets the public half too.
	 */
	err_t (*read_private)(struct key *k, struct rd *r);
	err_t (*put_private)(const struct key *k, struct buf *out);
	/* What of them stands behind a certificate; the public half of k is set.  NULL: all of them
	 * do. */
	err_t (*read_private_rest)(struct key *k, struct rd *r);
	err_t (*put_private_rest)(const struct key *k, struct buf *out);
	err_t (*generate)(struct key *k, uint32_t bits, struct rng *rng);
	/* raw: the second string of a signature, appended / given. */
	err_t (*sign)(const struct key *k, enum hash_id h, struct cslice tbs, struct buf *raw);
	err_t (*verify)(const struct key *k, enum hash_id h, struct cslice tbs, struct cslice raw);
	uint32_t (*bits)(const struct key *k);
};

extern const struct key_ops key_ops_ed25519, key_ops_mldsa, key_ops_ecdsa, key_ops_rsa, key_ops_sk;

/* A signature of a FIDO device: string name, string raw, and the rest that only these have. */
struct key_sk_signature {
	struct cslice name, tbs, raw, rest;
};
MUST err_t key_sk_verify(
	const struct key *k, const struct key_sk_signature *s, struct key_sig_info *info);
void key_sk_free(struct key_sk *sk); /* NULL is fine */

const struct key_ops *key_ops_of(enum key_type t);
MUST err_t key_new(struct key **out, enum key_type t);
enum key_type key_ecdsa_of(enum ec_curve c);

/* A certificate that was parsed once is copied without a look at its signature. */
MUST err_t cert_copy(struct cert **out, const struct cert *c);
void cert_free(struct cert *c);
const char *key_type_cert_shown(enum key_type t); /* "ED25519-CERT" */

/* s has exactly n bytes: E_KEY_FORMAT. */
static inline MUST err_t key_copy_exact(uint8_t *out, size_t n, struct cslice s)
{
	struct wr w = wr_of((struct slice){out, n});
	if (s.n != n)
		return E_KEY_FORMAT;
	wr_raw(&w, s);
	return wr_end(&w);
}

/* Text helpers of the line formats (authorized_keys, known_hosts, .pub): blanks are space and tab.
 */
static inline bool key_is_blank(uint8_t c)
{
	return c == ' ' || c == '\t';
}
/* The next line without LF or CRLF; false at the end. */
bool key_next_line(struct cslice *rest, struct cslice *line);
struct cslice key_trim(struct cslice s); /* blanks and stray CR at both ends */
/* The next word ended by a blank; empty at the end.  *rest stands behind the blanks that follow. */
struct cslice key_next_word(struct cslice *rest);
/*
 * "type base64[ comment]": the decoded blob, appended.  E_KEY_TYPE: well-formed, but a type that is
 * not built; E_KEY_FORMAT else.  comment: borrowed from line.
 */
MUST err_t key_line_blob(struct cslice line, struct buf *blob, struct cslice *comment);

/* The same for any type, known or not. */
MUST err_t key_line_words(struct cslice line, struct buf *blob, struct cslice *comment);

/* openssh-key-v1; body: the decoded base64. */
MUST err_t key_v1_write(const struct key *k, const struct key_write_opts *opts, struct buf *out);
MUST err_t key_v1_read(
	struct key **out, struct cslice body, struct cslice passphrase, struct buf *comment);
MUST err_t key_v1_read_public(struct key **out, struct cslice body, struct buf *comment);

/* PuTTY's files; text: from their first byte on.  write: E_KEY_TYPE for what PuTTY does not know.
 */
bool key_ppk_is(struct cslice text);
MUST err_t key_ppk_write(const struct key *k, const struct key_write_opts *opts, struct buf *out);
MUST err_t key_ppk_read(
	struct key **out, struct cslice text, struct cslice passphrase, struct buf *comment);
/* The base64 between the armour lines of RFC 4716, appended.  E_KEY_NO_END, E_KEY_FORMAT. */
MUST err_t key_ssh2_body(
	struct cslice text, const char *begin, const char *end, struct buf *base64);
MUST err_t key_sshcom_read(struct key **out, struct cslice text);
MUST err_t key_ppk_read_public(struct key **out, struct cslice text, struct buf *comment);

#endif
