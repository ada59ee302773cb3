/* SPDX-License-Identifier: ISC */
/*
 * cert - OpenSSH certificates (compat 5.3): a public key, what it may be used for, and a signature
 * of an authority over both
 *
 * A certificate is a struct key that carries a struct cert.  key_parse_blob never gives one: code
 * that does not expect a certificate cannot meet it.  key_parse_any gives both kinds; a certificate
 * that it gives has a good signature of its own CA key, but that says nothing about whether the
 * authority is trusted: cert_check does, and its OK is the only yes.
 *
 * key_blob, key_fingerprint and key_equal_public look at the plain key inside.
 */
#ifndef KEY_CERT_H
#define KEY_CERT_H

#include "key/authorized_keys.h"
#include "key/key.h"

#define CERT_PRINCIPALS_MAX 256
#define CERT_BLOB_MAX       ((size_t)256 << 10)
#define CERT_FOREVER        UINT64_MAX /* valid_before that never comes */

enum cert_kind { CERT_USER = 1, CERT_HOST = 2 }; /* as on the wire */

struct cert {
	struct buf blob; /* whole, as received; the slices below point into it */
	enum cert_kind kind;
	uint64_t serial;
	uint64_t valid_after, valid_before; /* seconds, wall clock; after <= now < before */
	struct cslice key_id;
	struct cslice principals; /* packed strings */
	uint32_t principals_n;
	struct cslice critical, extensions; /* packed (string name, string data)... */
	struct cslice signature;            /* string alg, string blob */
	struct key *ca;                     /* plain; owned */
};

/* Plain key or certificate.  As key_parse_blob, and: E_SIGNATURE when the CA's signature is bad,
 * E_KEY_FORMAT for a CA key that is a certificate, a kind that is neither, options out of form. */
MUST err_t key_parse_any(struct key **out, struct cslice blob);
/* NULL for a plain key; lives as long as k. */
const struct cert *key_cert(const struct key *k);
/* "ssh-ed25519-cert-v01@openssh.com" of a certificate, else key_type_name. */
const char *key_name(const struct key *k);
/* "ED25519-CERT" or "ED25519". */
const char *key_shown(const struct key *k);
/* "ssh-ed25519-cert-v01@openssh.com" of a type. */
const char *key_type_cert_name(enum key_type t);
bool key_type_from_cert_name(struct cslice name, enum key_type *out);
/* The blob that goes over the wire: the certificate's, or the plain one; appended. */
MUST err_t key_blob_any(const struct key *k, struct buf *out);
/* Makes k (private or public) carry the certificate of `from`, whose plain key must be equal:
 * E_KEY_TYPE else.  key_public_copy keeps a certificate; key_drop_cert takes it away. */
MUST err_t key_take_cert(struct key *k, const struct key *from);
void key_drop_cert(struct key *k);
/* The one-line forms ("type base64 comment") of both kinds; as key_public_line and
 * key_parse_public_line. */
MUST err_t key_line_any(const struct key *k, const char *comment, struct buf *out);
MUST err_t key_parse_line_any(struct key **out, struct cslice line, struct buf *comment);

/* Walks packed strings / options.  False at the end; the form was checked when it was parsed. */
bool cert_next_principal(struct cslice *rest, struct cslice *name);
bool cert_next_option(struct cslice *rest, struct cslice *name, struct cslice *data);

/* What a certificate that passed allows. */
struct cert_permit {
	struct ak_permit permit;                 /* of the extensions */
	char *command;                           /* force-command, NULL = none; owned */
	char *source_address;                    /* CIDR list, NULL = none; owned */
	bool verify_required, no_touch_required; /* for FIDO keys */
};
void cert_permit_done(struct cert_permit *p);

struct cert_query {
	enum cert_kind kind;
	uint64_t now_s;
	/* Who must be among the principals: a user name (literal), or a host name, lower case
	 * (patterns in the certificate).  NULL: the caller checks names itself (principals= and
	 * AuthorizedPrincipalsFile); an empty list is refused all the same. */
	const char *name;
	const char *ca_algs; /* CASignatureAlgorithms, resolved; NULL = any that is built */
	/* Filled on a no, when it is there: one of the sentences of compat 5.3; borrowed for ever.
	 */
	const char **reason;
};
/* Time, kind, principals, signature algorithm, critical options (an unknown one refuses; a host
 * certificate may have none).  Does not ask whether the CA is trusted: the caller looked that up
 * with cert->ca.  out may be NULL (host certificates); untouched on a no.  E_DENIED. */
MUST err_t cert_check(const struct key *k, const struct cert_query *q, struct cert_permit *out);

/* Making one: everything but the signature. */
struct cert_draft {
	enum cert_kind kind;
	uint64_t serial, valid_after, valid_before;
	struct cslice key_id;
	const struct cslice *principals;
	size_t principals_n;
	struct cslice critical, extensions; /* packed, names ascending */
};
/* Signs with `ca` (at once or later is the signer's affair; this waits for it: only signers that
 * answer at once, or that block).  alg: of the signature; empty = the CA type's own (rsa:
 * sha2-512). k becomes a certificate. */
MUST err_t cert_sign(struct key *k, const struct cert_draft *d, struct signer *ca,
	struct cslice alg, struct rng *rng);

#endif
