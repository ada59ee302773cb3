/* SPDX-License-Identifier: ISC */
/*
 * alg - the algorithm tables, the policy chosen from them, and the choice between two proposals
 *
 * A row is the only place to add an algorithm: proposals, `+a,-b,^c` lists, -Q, -G, the interop
 * matrix and the vector coverage follow from it.
 */
#ifndef ALGORITHM_ALG_H
#define ALGORITHM_ALG_H

#include "algorithm/pktc.h"
#include "base/buf.h"
#include "base/text.h"
#include "crypto/crypto.h"
#include "key/key.h"

enum alg_flags {
	AF_AEAD = 1,     /* the MAC slot is not used */
	AF_PARALLEL = 2, /* packets are independent */
	AF_CHAINED = 4,  /* packets run in order, state is in ctx */
	AF_ETM = 8,      /* encrypt-then-MAC */
	AF_LEGACY = 16,  /* off by default, one warning when negotiated */
	AF_PQ = 32,      /* post-quantum */
	AF_SERVER = 64,  /* in the server's default proposal (KEX only) */
	AF_CERT = 128    /* of a key with a certificate (host keys only) */
};

enum prot_id {
	PROT_AES128_CTR,
	PROT_AES192_CTR,
	PROT_AES256_CTR,
	PROT_AES128_GCM,
	PROT_AES256_GCM,
	PROT_CHACHAPOLY,
	PROT_AES_CBC,
	PROT_3DES_CBC,
	PROT_BLOWFISH_CBC,
	PROT_CAST128_CBC,
	PROT_ARCFOUR,
	PROT_ARCFOUR_1536, /* RFC 4345 */
	PROT_N
};
enum mac_id {
	MACI_NONE,
	MACI_HMAC_SHA1,
	MACI_HMAC_SHA256,
	MACI_HMAC_SHA512,
	MACI_HMAC_SHA1_96,
	MACI_HMAC_MD5,
	MACI_HMAC_MD5_96,
	MACI_HMAC_RIPEMD160,
	MACI_UMAC64,
	MACI_UMAC128,
	MACI_N
};
enum comp_id { COMP_NONE, COMP_ZLIB };
enum kex_family {
	KEX_DH,
	KEX_DHGEX,
	KEX_ECDH,
	KEX_X25519,
	KEX_MLKEM_X25519,
	KEX_MLKEM_P256,
	KEX_SNTRUP_X25519
};

struct alg_cipher {
	const char *name;
	enum prot_id prot;
	uint16_t key, iv, block;
	uint32_t flags;
	uint16_t rank, bits;
	const char *source;
};
struct alg_mac {
	const char *name;
	enum mac_id mac;
	uint16_t key, tag;
	uint32_t flags;
	uint16_t rank;
	const char *source;
};
struct alg_comp {
	const char *name;
	enum comp_id comp;
	const char *source;
};
struct alg_kex {
	const char *name;
	enum kex_family family;
	int parameter; /* enum dh_group, enum ec_curve */
	enum hash_id hash;
	uint32_t flags;
	uint16_t rank;
	const char *source;
};
struct alg_hostkey {
	const char *name;
	enum key_type type;
	enum hash_id hash;
	uint32_t flags;
	uint16_t rank;
	const char *source;
};

/* The tables, in -Q order. */
extern const struct alg_cipher alg_ciphers[];
extern const struct alg_mac alg_macs[];
extern const struct alg_comp alg_comps[];
extern const struct alg_kex alg_kexes[];
extern const struct alg_hostkey alg_hostkeys[];
extern const size_t alg_ciphers_n, alg_macs_n, alg_comps_n, alg_kexes_n, alg_hostkeys_n;

enum alg_kind {
	ALG_KEX,
	ALG_HOSTKEY,
	ALG_CIPHER,
	ALG_MAC,
	ALG_COMPRESSION,
	ALG_SIGNATURE, /* the rows of ALG_HOSTKEY that are no certificates */
	ALG_KIND_N
};

/* What the lists need of a row, whatever its kind.  False after the last one. */
struct alg_name {
	const char *name;
	uint32_t flags;
	uint16_t rank; /* 0 = not in the default */
};
bool alg_name_at(enum alg_kind kind, size_t i, struct alg_name *out);
/* Appends the names of a kind in -Q order, one a line (with '\n') or comma separated. */
void alg_names(enum alg_kind kind, bool lines, struct buf *out);
/* Appends the default proposal of a kind, comma separated, in rank order. is_server matters for
 * KEX. */
void alg_default(enum alg_kind kind, bool is_server, struct buf *out);
bool alg_known(enum alg_kind kind, struct cslice name);
/*
 * alg_list_apply - a user's list (Ciphers, MACs ...) over the defaults
 *
 * spec: a plain list replaces; +list appends; -list removes (wildcards); ^list puts in front.
 * Patterns are allowed for HOSTKEY and SIGNATURE lists.  out: appended, comma separated, no name
 * twice. E_NAME: a name is not known; *bad is set to it (borrowed from spec).
 */
MUST err_t alg_list_apply(enum alg_kind kind, bool is_server, struct cslice spec, struct buf *out,
	struct cslice *bad);

/* The name that was meant by an unknown one: near in letters (hyphens of typesetting are plain
 * ones), or begun by it; NULL = none. */
const char *alg_nearest(enum alg_kind kind, struct cslice name);
/* Does this system's libcrypto have what the row needs?  It may have been built without the oldest
 * ones; true for unknown names. */
bool alg_is_there(enum alg_kind kind, struct cslice name);

const struct alg_cipher *alg_cipher_find(struct cslice name);
const struct alg_mac *alg_mac_find(struct cslice name);
const struct alg_comp *alg_comp_find(struct cslice name);
const struct alg_kex *alg_kex_find(struct cslice name);
const struct alg_hostkey *alg_hostkey_find(struct cslice name);

/* What may be offered: comma-separated names in order of preference, resolved by config; borrowed
 * by the engine. */
struct alg_policy {
	const char *kex, *hostkey, *cipher_c2s, *cipher_s2c, *mac_c2s, *mac_s2c, *comp_c2s,
		*comp_s2c;
};

/* Appends the names of a list that are no certificate's: what signatures go by. */
void alg_plain_names(const char *list, struct buf *out);

/* The client's cipher order when the user set none: AES-GCM first on a CPU with AES instructions
 * (architecture). */
void alg_client_cipher_default(struct buf *out);

/* Outcome of a negotiation (RFC 4253 7.1), one direction each. */
struct alg_choice {
	const struct alg_kex *kex;
	const struct alg_hostkey *hostkey;
	struct {
		const struct alg_cipher *cipher;
		const struct alg_mac *mac; /* NULL with an AEAD cipher */
		const struct alg_comp *comp;
	} c2s, s2c;
};

/* Appends what is AF_LEGACY in a choice, for the user: "cipher arcfour, MAC hmac-md5"; nothing when
 * nothing is. */
void alg_legacy_names(const struct alg_choice *c, struct buf *out);

/*
 * pktc_for - the packet protection of a cipher and a MAC
 *
 * Gives the row that fits, with the fastest implementation for this CPU and build (crypto/pick.h).
 * use_fast: may libipsec-mb be used (it is initialised on the first use; a short session does
 * without).
 */
const struct pktc *pktc_for(
	const struct alg_cipher *cipher, const struct alg_mac *mac, bool use_fast);

#endif
