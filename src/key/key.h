/* SPDX-License-Identifier: ISC */
/*
 * key - public and private keys, signatures, fingerprints; who signs
 *
 * Pure: bytes in, bytes out; files are read by os/ and app/.  Every error of a check is a NO.
 */
#ifndef KEY_KEY_H
#define KEY_KEY_H

#include "base/buf.h"
#include "crypto/crypto.h"

#define KT(id, name, cert, shown, arg, file, bits, ops) id,
enum key_type {
#include "key/types.def"
	KEY_TYPE_N
};
#undef KT

struct key; /* public or private; private parts are wiped by key_free */

void key_free(struct key *k); /* NULL is fine */
enum key_type key_type_of(const struct key *k);
const char *key_type_name(enum key_type t);                      /* "ssh-ed25519" */
const char *key_type_shown(enum key_type t);                     /* "ED25519" */
bool key_type_from_name(struct cslice name, enum key_type *out); /* blob name */
/* FIDO: the private half lives in a device, a file only says where.  Making such a key and signing
 * with it give E_KEY_DEVICE. */
static inline bool key_type_is_sk(enum key_type t)
{
	return t == KEY_SK_ED25519 || t == KEY_SK_ECDSA;
}
bool key_is_private(const struct key *k);
uint32_t key_bits(const struct key *k);
bool key_equal_public(const struct key *a, const struct key *b);

/* Public blob (RFC 4253 6.6).  parse refuses trailing bytes, points off the curve, RSA outside
 * 1024..16384 bits (E_KEY_SIZE), unknown types (E_KEY_TYPE). */
MUST err_t key_parse_blob(struct key **out, struct cslice blob);
MUST err_t key_blob(const struct key *k, struct buf *out);
/* Type name inside a blob without parsing the rest; empty when malformed. */
struct cslice key_blob_type(struct cslice blob);

/* Type name and private fields as openssh-key-v1 and the agent protocol have them (compat 5.6; of a
 * key with a certificate the certificate and the rest); appended.  read: the reader stands behind
 * them after, what follows is the caller's affair. */
struct rd;
MUST err_t key_read_private_fields(struct key **out, struct rd *r);
MUST err_t key_put_private_fields(const struct key *k, struct buf *out);

/* bits 0 = default of the type.  ecdsa: the type says the curve.  ed25519 and
 * mldsa44-ed25519 draw their seeds from rng. */
MUST err_t key_generate(struct key **out, enum key_type t, uint32_t bits, struct rng *rng);
MUST err_t key_public_copy(struct key **out, const struct key *k);
/* Signatures of this key may draw fresh bytes from rng (borrowed as long as the key lives). Without
 * it ML-DSA signs in its deterministic form; the other types do not look at it. */
void key_set_rng(struct key *k, struct rng *rng);

/*
 * Signatures: alg is the algorithm name (rsa-sha2-512 ...), must fit the key.  sig: string alg,
 * string blob appended. verify: want_alg, when not empty, must equal the name inside sig (RFC 8332
 * 3); OK is the only yes.
 */
MUST err_t key_sign(const struct key *k, struct cslice alg, struct cslice tbs, struct buf *sig);
MUST err_t key_verify(
	const struct key *k, struct cslice want_alg, struct cslice tbs, struct cslice sig);
/* The same, and what a FIDO device says about how it signed.  key_verify does not look at that: who
 * decides about a login asks here.  info is untouched on failure. */
#define KEY_SK_TOUCH    0x01 /* flags of a signature, and of a key file: what it wants */
#define KEY_SK_PIN      0x04
#define KEY_SK_RESIDENT 0x20 /* of a key file */
struct key_sig_info {
	bool is_device;   /* else the rest says nothing */
	bool has_touch;   /* somebody touched the device (user presence) */
	bool has_pin;     /* it asked for a PIN or a finger (user verification) */
	uint8_t flags;    /* as signed */
	uint32_t counter; /* of the device */
};
MUST err_t key_verify_info(const struct key *k, struct cslice want_alg, struct cslice tbs,
	struct cslice sig, struct key_sig_info *info);
/* Of a FIDO key: its application ("ssh:"), borrowed; the KEY_SK_ flags of its file. */
struct cslice key_sk_application(const struct key *k);
uint8_t key_sk_flags(const struct key *k);
void key_sk_set_flags(struct key *k, uint8_t flags);
/* Does the signature algorithm belong to the key type? */
bool key_alg_fits(enum key_type t, struct cslice alg);
/* A certificate's algorithm ("rsa-sha2-512-cert-v01@openssh.com") names the kind of the key and how
 * it signs ("rsa-sha2-512"): the latter, borrowed for ever; of a plain name itself.  Empty: it is
 * no known name; is_cert (may be NULL) is untouched then. */
struct cslice key_alg_sig(struct cslice alg, bool *is_cert);
/* Does the algorithm belong to this very kind: a certificate's to a key with a certificate, a plain
 * one to a key without one?  Of a blob its type name counts. */
bool key_alg_fits_key(const struct key *k, struct cslice alg);
bool key_alg_fits_blob(struct cslice blob, struct cslice alg);

/* "SHA256:base64" or "MD5:aa:bb"; appended. */
MUST err_t key_fingerprint(const struct key *k, enum hash_id h, struct buf *out);
/* Five-letter groups ("xubop-rekyd-..."), without the hash name; appended. */
MUST err_t key_fingerprint_babble(const struct key *k, enum hash_id h, struct buf *out);
MUST err_t key_randomart(
	const struct key *k, enum hash_id h, struct buf *out); /* lines with '\n' */

/* One-line public form "type base64[ comment]" (no line end).  parse: comment may be NULL; appended
 * without escape. */
MUST err_t key_public_line(const struct key *k, const char *comment, struct buf *out);
MUST err_t key_parse_public_line(struct key **out, struct cslice line, struct buf *comment);

/*
 * Private key files: openssh-key-v1 (compat 5.6), PEM, PKCS#8, PuTTY.  CRLF, a missing last newline
 * and text around are read. passphrase empty = none.  E_PASSPHRASE: it is encrypted and the
 * passphrase is missing or wrong. Defects have their own errors (E_KEY_NO_END, E_KEY_TRUNCATED,
 * E_KEY_DAMAGED, E_KEY_LINES, E_KEY_PUBLIC, E_KEY_FORMAT). comment: appended when the format has
 * one; may be NULL.
 */
MUST err_t key_read_private(
	struct key **out, struct cslice file, struct cslice passphrase, struct buf *comment);
/* The form of a private key file by its first lines. */
enum key_form key_form_of(struct cslice file);
/* Only the public half, without a passphrase: openssh-key-v1 and PuTTY show it (the comment only
 * when the file is not encrypted); E_PASSPHRASE when the format hides it. */
MUST err_t key_read_private_public(struct key **out, struct cslice file, struct buf *comment);
/* May the name be a cipher of a key file (ssh-keygen -Z)? */
bool key_write_cipher_known(const char *name);
#define KEY_ROUNDS_MAX                                                                             \
	65536u /* more are neither written nor read: a file must not make its reader work for ever \
		*/
/* KEY_FORM_PEM (PKCS #1, SEC 1) and KEY_FORM_PKCS8 are for rsa and ecdsa; they have no place for a
 * comment, and other types are written as openssh-key-v1 all the same.  Their passphrase must have
 * five bytes or more: E_PASSPHRASE_SHORT. */
/* KEY_FORM_PPK: a PuTTY file of version 3 (Argon2, whose passes are `rounds`), PPK2 one of version
 * 2; for rsa, ecdsa, ed25519: E_KEY_TYPE else. */
enum key_form { KEY_FORM_OPENSSH, KEY_FORM_PEM, KEY_FORM_PKCS8, KEY_FORM_PPK, KEY_FORM_PPK2 };
struct key_write_opts {
	const char *comment;      /* NULL = none */
	struct cslice passphrase; /* empty = not encrypted */
	const char *cipher;       /* NULL = aes256-ctr; not looked at without a passphrase */
	uint32_t rounds;          /* bcrypt, 0 = 24 */
	struct rng *rng;          /* salt and check words */
	enum key_form form;
};
/* Appended. */
MUST err_t key_write_private(
	const struct key *k, const struct key_write_opts *opts, struct buf *out);
/* "PUBLIC KEY" or, for rsa in KEY_FORM_PEM, "RSA PUBLIC KEY"; E_KEY_TYPE for other types than rsa
 * and ecdsa.  parse takes both; CRLF and text around are read. */
MUST err_t key_public_pem(const struct key *k, enum key_form form, struct buf *out);
MUST err_t key_parse_public_pem(struct key **out, struct cslice text);
/* RFC 4716.  is: does the text have its first line?  parse: headers are left out. */
bool key_rfc4716_is(struct cslice text);
MUST err_t key_public_rfc4716(const struct key *k, const char *comment, struct buf *out);
MUST err_t key_parse_rfc4716(struct key **out, struct cslice text);
/* A private file of ssh.com's programs; key_read_private reads it when it is RSA and not encrypted.
 */
bool key_sshcom_is(struct cslice text);

/* ---- who signs: file, agent, monitor, test: one face
 * --------------------------------------------------------- */
struct sign_req {
	struct cslice alg, tbs; /* borrowed until done */
	struct buf *sig;        /* appended: the SSH signature blob */
	void (*done)(struct sign_req *req, err_t e);
};
struct signer;
struct signer_ops {
	void (*sign)(struct signer *s,
		struct sign_req *req); /* calls req->done now or later, exactly once */
	void (*free)(struct signer *s);
};
struct signer {
	const struct signer_ops *ops;
	const struct key *pub; /* borrowed from the signer */
};
/* A signer over a private key; takes the key. */
MUST err_t signer_from_key(struct signer **out, struct key *k);

#endif
