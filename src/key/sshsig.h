/* SPDX-License-Identifier: ISC */
/*
 * sshsig - signatures of files, and the file that says whose signatures count (compat 5.5)
 *
 * Pure: the hash of the message, the texts and the time are given.  Every error of a check is a NO.
 */
#ifndef KEY_SSHSIG_H
#define KEY_SSHSIG_H

#include "key/authorized_keys.h"

/* HASH_SHA256, HASH_SHA512; others have no name here: E_NAME. */
MUST err_t sshsig_hash_from_name(struct cslice name, enum hash_id *out);
/* The signature algorithm that a key signs with here. */
struct cslice sshsig_alg(const struct key *k);
/* What is signed: space (the namespace) is not empty; digest is the message's.  Appended. */
MUST err_t sshsig_tbs(
	struct cslice space, enum hash_id hash, const uint8_t *digest, struct buf *out);
/* The armoured text over a signature of those bytes; appended. */
MUST err_t sshsig_put(const struct key *pub, struct cslice space, enum hash_id hash,
	struct cslice sig, struct buf *out);

struct sshsig {
	struct key *pub; /* plain or certificate */
	enum hash_id hash;
	struct cslice space, sig; /* borrowed from body */
	struct buf body;
};
/* The first signature in a text.  E_KEY_FORMAT; E_KEY_TYPE when the type of its key is not built.
 */
MUST err_t sshsig_read(struct sshsig *out, struct cslice text);
void sshsig_done(struct sshsig *s);
/* OK is the only yes.  E_DENIED: made for another namespace; E_SIGNATURE. */
MUST err_t sshsig_verify(const struct sshsig *s, struct cslice space, const uint8_t *digest);

/* ---- allowed_signers ---- */
struct as_query {
	const char *principal;      /* NULL: any */
	const struct key *k;        /* NULL: any */
	const struct cslice *space; /* NULL: any */
	uint64_t when_s; /* the signature must count at this time; not looked at when k is NULL */
	bool (*local_time)(const struct ak_civil *t, uint64_t *out_s); /* as in struct ak_query */
	/* For a query without a principal and with a certificate: room for the names in it that a
	 * line of its authority has. */
	struct buf *names;
};
/*
 * as_next - the next line that fits the query
 *
 *   rest        what is still to be read; stands behind the line after
 *   principals  of that line, without quotes; borrowed from the text, or from q->names
 *
 * A certificate fits a line that holds it, or a cert-authority line of its authority when it is
 * valid at that time and for that principal.
 *
 * E_NOT_FOUND   no further line
 * E_CONFIG      a line for that principal is broken or has an unknown option: nobody is allowed by
 *               this file
 */
MUST err_t as_next(struct cslice *rest, const struct as_query *q, struct cslice *principals);

#endif
