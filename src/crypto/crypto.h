/* SPDX-License-Identifier: ISC */
/*
 * crypto - one face for every primitive
 *
 * Implementations live in libcrypto/ (default), ipsecmb/ (x86-64, bulk ciphers) and own/ (what no
 * library of the platform has); pick.h says which one runs.  All sizes are bytes.  Objects are made
 * once a key and reused: nothing here allocates per packet.  Every context is wiped by its free.
 * E_CRYPTO means that the library refused.
 */
#ifndef CRYPTO_CRYPTO_H
#define CRYPTO_CRYPTO_H

#include "base/buf.h"
#include "base/rng.h"
#include "base/secret.h"

/* Once a process, before anything else (loads no configuration file). */
MUST err_t crypto_init(void);
/* Text of the library's version for -V, borrowed for ever. */
const char *crypto_version(void);

/* ---- hashes ---- */
/* HASH_RIPEMD160 is for MACs alone and stands first: what keys and fingerprints may use begins at
 * HASH_MD5. */
enum hash_id { HASH_RIPEMD160, HASH_MD5, HASH_SHA1, HASH_SHA256, HASH_SHA384, HASH_SHA512, HASH_N };
#define HASH_MAX 64

size_t hash_size(enum hash_id id);
/* Does this system's library have it?  It may have been built without the old ones; whatever needs
 * such a hash gives E_UNSUPPORTED then. */
bool hash_is_there(enum hash_id id);
size_t hash_block(enum hash_id id);
const char *hash_name(enum hash_id id); /* "sha256" */
/* Letters of either case.  False, and nothing in *out: no such hash. */
bool hash_from_name(struct cslice name, enum hash_id *out);
/* Hash of the parts in order; out has hash_size(id) bytes. */
MUST err_t hash_parts(enum hash_id id, const struct cslice *parts, size_t parts_n, uint8_t *out);
static inline MUST err_t hash_once(enum hash_id id, struct cslice in, uint8_t *out)
{
	return hash_parts(id, &in, 1, out);
}

struct hash; /* incremental */
MUST err_t hash_new(struct hash **out, enum hash_id id);
void hash_free(struct hash *h);
MUST err_t hash_update(struct hash *h, struct cslice in);
/* The hash so far: takes a copy, so updates may go on (exchange hash, PBKDF). */
MUST err_t hash_peek(const struct hash *h, uint8_t *out);

/* ---- HMAC: keyed once, then any number of messages ---- */
struct hmac;
MUST err_t hmac_new(struct hmac **out, enum hash_id id, struct cslice key);
void hmac_free(struct hmac *h);
/* Tag over the parts; out has hash_size bytes.  Cheap per call: the keyed state is copied. */
MUST err_t hmac_tag(struct hmac *h, const struct cslice *parts, size_t parts_n, uint8_t *out);

/* ---- UMAC (RFC 4418), own/ ---- */
struct umac;
MUST err_t umac_new(struct umac **out, size_t tag_n /* 8 or 16 */, const uint8_t key[16]);
void umac_free(struct umac *u);
/* nonce: 8 bytes big-endian (the sequence number in SSH). */
MUST err_t umac_tag(struct umac *u, const uint8_t nonce[8], const struct cslice *parts,
	size_t parts_n, uint8_t *out);

/* ---- stream and block ciphers for packets, key files ---- */
enum cipher_id {
	CIPHER_AES128_CTR,
	CIPHER_AES192_CTR,
	CIPHER_AES256_CTR,
	CIPHER_AES128_CBC,
	CIPHER_AES192_CBC,
	CIPHER_AES256_CBC,
	CIPHER_3DES_CBC,
	CIPHER_BLOWFISH_CBC,
	CIPHER_CAST128_CBC,
	CIPHER_ARCFOUR,
	CIPHER_ID_N
};
struct cipher;
bool cipher_is_there(enum cipher_id id); /* as hash_is_there */
/* iv: the first counter block or CBC IV, none for arcfour.  E_UNSUPPORTED when the library lacks
 * it. */
MUST err_t cipher_new(
	struct cipher **out, enum cipher_id id, struct cslice key, struct cslice iv, bool encrypt);
void cipher_free(struct cipher *c);
/* n: a multiple of the block for CBC; any for CTR and arcfour.  in may equal out.  State goes on
 * from call to call. */
MUST err_t cipher_crypt(struct cipher *c, const uint8_t *in, uint8_t *out, size_t n);
/* CTR only: set the position to `block` blocks after iv. */
MUST err_t cipher_seek(struct cipher *c, uint64_t block);
const char *cipher_name(enum cipher_id id); /* "aes-128-ctr" */
size_t cipher_key_size(enum cipher_id id);  /* arcfour: the smaller one of 16 and 32 */
size_t cipher_block(enum cipher_id id);
size_t cipher_iv_size(enum cipher_id id);

/* AES-GCM one packet a call, 12-byte nonce, 16-byte tag.  open: E_MAC, out wiped. */
struct gcm;
MUST err_t gcm_new(struct gcm **out, struct cslice key /* 16 or 32 */);
void gcm_free(struct gcm *g);
MUST err_t gcm_seal(struct gcm *g, const uint8_t nonce[12], struct cslice aad, struct slice data,
	uint8_t tag[16]);
MUST err_t gcm_open(struct gcm *g, const uint8_t nonce[12], struct cslice aad, struct slice data,
	const uint8_t tag[16]);

/* ChaCha20 (original form: 64-bit nonce, 64-bit block counter), keyed once; in place from block
 * `block` on. */
struct chacha;
MUST err_t chacha_new(struct chacha **out, const uint8_t key[32]);
void chacha_free(struct chacha *c);
MUST err_t chacha_crypt(
	struct chacha *c, const uint8_t nonce[8], uint64_t block, uint8_t *data, size_t n);
/* Poly1305: a new key for each message (RFC 8439 2.5). */
struct poly1305;
MUST err_t poly1305_new(struct poly1305 **out);
void poly1305_free(struct poly1305 *p);
MUST err_t poly1305_tag(
	struct poly1305 *p, const uint8_t key[32], struct cslice msg, uint8_t tag[16]);

/* ---- key agreement: private values come from the injected rng ---- */
#define X25519_SIZE 32
MUST err_t x25519_keypair(struct rng *rng, uint8_t priv[32], uint8_t pub[32]);
/* E_KEX_VALUE when the result is all zero (low-order point, RFC 7748 6.1). */
MUST err_t x25519_shared(const uint8_t priv[32], const uint8_t peer[32], uint8_t shared[32]);

enum ec_curve { EC_P256, EC_P384, EC_P521, EC_CURVE_N };
#define EC_POINT_MAX 133
#define EC_FIELD_MAX 66
size_t ec_point_size(enum ec_curve c); /* uncompressed: 65 97 133 */
size_t ec_field_size(enum ec_curve c); /* 32 48 66 */
MUST err_t ecdh_keypair(enum ec_curve c, struct rng *rng, struct secret *priv, uint8_t *pub);
/* Checks the point (on the curve, not infinity, uncompressed, exact length): E_KEX_VALUE.  shared:
 * x, ec_field_size. */
MUST err_t ecdh_shared(
	enum ec_curve c, const struct secret *priv, struct cslice peer, uint8_t *shared);

/* Finite-field Diffie-Hellman.  p, g: big-endian magnitudes.  want_bits: the strength wished; the
 * private exponent gets twice as many bits.  E_KEX_VALUE: p not odd or outside 1024..8192 bits, g
 * not in 2..p-2. */
struct dh;
MUST err_t dh_new(
	struct dh **out, struct cslice p, struct cslice g, size_t want_bits, struct rng *rng);
enum dh_group { DH_GROUP1, DH_GROUP14, DH_GROUP16, DH_GROUP18 };
MUST err_t dh_new_group(struct dh **out, enum dh_group g, size_t want_bits, struct rng *rng);
void dh_free(struct dh *d);
struct cslice dh_public(const struct dh *d); /* borrowed, big-endian magnitude */
struct cslice dh_p(const struct dh *d);
struct cslice dh_g(const struct dh *d);
/* 1 < peer < p-1 and enough bits set, else E_KEX_VALUE.  shared: magnitude, appended to out (a
 * secret buf). */
MUST err_t dh_shared(struct dh *d, struct cslice peer, struct buf *out);

/* KEMs, own/: constant time.  Randomness is passed in so that vectors can be run. */
#define MLKEM768_EK  1184
#define MLKEM768_DK  2400
#define MLKEM768_CT  1088
#define SNTRUP761_PK 1158
#define SNTRUP761_SK 1763
#define SNTRUP761_CT 1039
MUST err_t mlkem768_keypair(
	const uint8_t d[32], const uint8_t z[32], uint8_t ek[MLKEM768_EK], uint8_t dk[MLKEM768_DK]);
/* E_KEX_VALUE when ek is not canonical (FIPS 203 7.2). */
MUST err_t mlkem768_encaps(const uint8_t ek[MLKEM768_EK], const uint8_t m[32],
	uint8_t ct[MLKEM768_CT], uint8_t ss[32]);
/* E_KEX_VALUE when the hash inside dk does not fit (FIPS 203 7.3); a wrong ct gives the
 * implicit-rejection secret. */
MUST err_t mlkem768_decaps(
	const uint8_t dk[MLKEM768_DK], const uint8_t ct[MLKEM768_CT], uint8_t ss[32]);
MUST err_t sntrup761_keypair(struct rng *rng, uint8_t pk[SNTRUP761_PK], uint8_t sk[SNTRUP761_SK]);
MUST err_t sntrup761_encaps(
	struct rng *rng, const uint8_t pk[SNTRUP761_PK], uint8_t ct[SNTRUP761_CT], uint8_t ss[32]);
MUST err_t sntrup761_decaps(
	const uint8_t sk[SNTRUP761_SK], const uint8_t ct[SNTRUP761_CT], uint8_t ss[32]);

/* ---- signatures: raw forms, key/ packs them into SSH blobs ---- */
MUST err_t ed25519_public(const uint8_t seed[32], uint8_t pub[32]);
MUST err_t ed25519_sign(const uint8_t seed[32], struct cslice msg, uint8_t sig[64]);
MUST err_t ed25519_verify(
	const uint8_t pub[32], struct cslice msg, const uint8_t sig[64]); /* E_SIGNATURE */

/*
 * ML-DSA-44 (FIPS 204), own/: constant time in the seed and rnd.  The private key is its 32-byte
 * seed.
 *
 *   context  at most 255 bytes, else E_USAGE; may be empty
 *   rnd      32 fresh random bytes; all zero gives the deterministic form of the standard, which
 *            is as safe but for an attacker who can disturb the computer while it signs
 *
 * sign_mu takes the hash of the message that the standard calls mu.  verify: E_SIGNATURE.
 */
#define MLDSA44_PK  1312
#define MLDSA44_SIG 2420
void mldsa44_public(const uint8_t seed[32], uint8_t pk[MLDSA44_PK]);
MUST err_t mldsa44_sign(const uint8_t seed[32], struct cslice context, struct cslice msg,
	const uint8_t rnd[32], uint8_t sig[MLDSA44_SIG]);
void mldsa44_sign_mu(const uint8_t seed[32], const uint8_t mu[64], const uint8_t rnd[32],
	uint8_t sig[MLDSA44_SIG]);
MUST err_t mldsa44_verify(const uint8_t pk[MLDSA44_PK], struct cslice context, struct cslice msg,
	const uint8_t sig[MLDSA44_SIG]);

struct pkey; /* an RSA or EC key of libcrypto, public or private */
void pkey_free(struct pkey *k);
MUST err_t pkey_ec_public(
	struct pkey **out, enum ec_curve c, struct cslice point); /* E_KEY_FORMAT */
MUST err_t pkey_ec_private(
	struct pkey **out, enum ec_curve c, struct cslice point, struct cslice d);
MUST err_t pkey_ec_generate(struct pkey **out, enum ec_curve c);
MUST err_t pkey_ec_parts(const struct pkey *k, enum ec_curve *c, struct buf *point,
	struct buf *d /* NULL = not wanted */);
MUST err_t pkey_rsa_public(struct pkey **out, struct cslice n, struct cslice e);
struct rsa_parts {
	struct cslice n, e, d, iqmp, p, q;
}; /* magnitudes */
MUST err_t pkey_rsa_private(struct pkey **out, const struct rsa_parts *parts);
MUST err_t pkey_rsa_generate(struct pkey **out, uint32_t bits);
MUST err_t pkey_rsa_parts(const struct pkey *k,
	struct buf out[6]); /* n e d iqmp p q; the last four empty if public */
size_t pkey_bits(const struct pkey *k);
bool pkey_is_rsa(const struct pkey *k);
/* ECDSA: r and s as magnitudes of ec_field_size bytes each, appended to out. */
MUST err_t pkey_ecdsa_sign(
	const struct pkey *k, enum hash_id h, struct cslice msg, uint8_t *r, uint8_t *s);
MUST err_t pkey_ecdsa_verify(
	const struct pkey *k, enum hash_id h, struct cslice msg, struct cslice r, struct cslice s);
/* RSASSA-PKCS1-v1_5; sig has pkey_bits/8 (rounded up) bytes; verify refuses any other length. */
MUST err_t pkey_rsa_sign(const struct pkey *k, enum hash_id h, struct cslice msg, struct buf *sig);
MUST err_t pkey_rsa_verify(
	const struct pkey *k, enum hash_id h, struct cslice msg, struct cslice sig);
/* PEM and PKCS#8 private keys (also encrypted).  E_PASSPHRASE on a wrong or missing one, E_KEY_TYPE
 * when it is none of RSA, Ed25519 and the three curves, E_KEY_FORMAT else.  Exactly one of the
 * outputs is set: *k (RSA, EC), or is_ed25519 with seed. */
struct pem_key {
	struct pkey *k;
	bool is_rsa;
	bool is_ed25519;
	uint8_t seed[32];
};
MUST err_t pem_private_read(struct pem_key *out, struct cslice text, struct cslice passphrase);
/* The same forms written, appended: PEM_OLD is PKCS #1 or SEC 1.  With a passphrase the key is
 * encrypted by AES-128-CBC. */
enum pem_form { PEM_OLD, PEM_PKCS8 };
MUST err_t pem_private_write(
	const struct pkey *k, enum pem_form form, struct cslice passphrase, struct buf *out);
/* Public keys: PEM_PKCS8 is "PUBLIC KEY", PEM_OLD is "RSA PUBLIC KEY" or, for curves, "PUBLIC KEY".
 * read takes both; E_KEY_TYPE when it is neither RSA nor one of the three curves, E_KEY_FORMAT. */
MUST err_t pem_public_write(const struct pkey *k, enum pem_form form, struct buf *out);
MUST err_t pem_public_read(struct pkey **out, struct cslice text);

/* ---- numbers of groups, for making moduli.  n: a big-endian magnitude ---- */
/* n modulo one divisor, or modulo each of them. */
MUST err_t prime_remainder(struct cslice n, uint32_t divisor, uint32_t *out);
MUST err_t prime_remainders(
	struct cslice n, const uint32_t *divisors, size_t divisors_n, uint32_t *out);
/* At least `tests` tests of Miller and Rabin, for numbers that an enemy may have chosen. */
MUST err_t prime_test(struct cslice n, uint32_t tests, bool *is_prime);

/* ---- passwords ---- */
MUST err_t bcrypt_pbkdf(struct cslice pass, struct cslice salt, uint32_t rounds, uint8_t *key,
	size_t key_n); /* own/ */

/*
 * Argon2 (RFC 9106), version 19, without secret and associated data.  E_LIMIT: a cost out of the
 * bounds below, told before memory is taken; E_KEY_FORMAT: a salt of less than 8 bytes or too long;
 * E_UNSUPPORTED: a build without libargon2.
 */
enum argon2_kind { ARGON2_KIND_D, ARGON2_KIND_I, ARGON2_KIND_ID };
struct argon2_cost {
	enum argon2_kind kind;
	uint32_t memory_kib, passes, lanes;
};
#define ARGON2_MEMORY_MOST ((uint32_t)1 << 20) /* KiB */
#define ARGON2_WORK_MOST   ((uint64_t)1 << 24) /* KiB x passes: some ten seconds */
#define ARGON2_LANES_MOST  64u
#define ARGON2_SALT_MOST   1024u
bool argon2_is_there(void);
MUST err_t argon2_derive(
	const struct argon2_cost *cost, struct cslice pass, struct cslice salt, struct slice out);

#endif
