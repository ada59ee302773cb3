/* SPDX-License-Identifier: ISC */
/*
 * pick - which implementation of a bulk primitive runs here
 *
 * Bulk primitives exist twice: by libcrypto (always) and by libipsec-mb (x86-64, when built in and
 * when the CPU has the vector instructions that make it faster).  Both make the same bytes, and
 * their state is only the key and the position that each call names.  So a connection may change
 * from one to the other at any packet.  libipsec-mb is started at the first question about it,
 * never before: a short session does not pay for it.
 */
#ifndef CRYPTO_PICK_H
#define CRYPTO_PICK_H

#include "crypto/crypto.h"

enum pick_impl { PICK_LIBCRYPTO, PICK_IPSECMB, PICK_N };

/* Does this CPU have AES instructions? */
bool cpu_has_aes(void);
/* The instruction sets of this CPU that an implementation may make use of, by name, blanks between;
 * appended. */
void cpu_features(struct buf *out);

/* "libcrypto", "ipsec-mb" */
const char *pick_impl_name(enum pick_impl impl);

/* AES-GCM as gcm_* of crypto.h has it. */
struct pick_gcm {
	err_t (*make)(void **out, struct cslice key);
	void (*free)(void *g);
	err_t (*seal)(void *g, const uint8_t nonce[12], struct cslice aad, struct slice data,
		uint8_t tag[16]);
	err_t (*open)(void *g, const uint8_t nonce[12], struct cslice aad, struct slice data,
		const uint8_t tag[16]);
};

/* AES-CTR at a position: data is worked on in place from `block` blocks after iv. */
struct pick_ctr {
	err_t (*make)(void **out, struct cslice key /* 16, 24, 32 */, const uint8_t iv[16]);
	void (*free)(void *c);
	err_t (*crypt)(void *c, uint64_t block, uint8_t *data, size_t n);
};

/* Decryption of AES-CBC, in place; libcrypto's is struct cipher. */
struct pick_cbc {
	err_t (*make)(void **out, struct cslice key /* 16, 24, 32 */);
	void (*free)(void *c);
	err_t (*decrypt)(void *c, const uint8_t iv[16], uint8_t *data, size_t n);
};

/* Poly1305 with a key a message. */
struct pick_poly1305 {
	err_t (*make)(void **out);
	void (*free)(void *p);
	err_t (*tag)(void *p, const uint8_t key[32], struct cslice msg, uint8_t tag[16]);
};

/*
 * HMAC of several messages together, which is quicker than one after the other; libcrypto has no
 * such form.  Messages may differ in length.  Each tag has hash_size bytes, and may not lie in any
 * of the messages.
 *
 * make: E_UNSUPPORTED for a hash that it does not know.
 * tags: E_AGAIN when another way is quicker or another thread is at it: nothing was done.
 */
struct pick_hmac_one {
	struct cslice msg;
	uint8_t *tag;
};
#define PICK_HMACS_MAX 16 /* messages a call */
struct pick_hmacs {
	err_t (*make)(void **out, enum hash_id id, struct cslice key);
	void (*free)(void *h);
	err_t (*tags)(void *h, const struct pick_hmac_one *v, size_t n);
};

/* NULL: that implementation does not run here. */
const struct pick_gcm *pick_gcm(enum pick_impl impl);
const struct pick_ctr *pick_ctr(enum pick_impl impl);
const struct pick_cbc *pick_cbc(enum pick_impl impl);
const struct pick_poly1305 *pick_poly1305(enum pick_impl impl);
const struct pick_hmacs *pick_hmacs(enum pick_impl impl);

/* The implementation that is the fastest on this CPU.  Starts libipsec-mb where it is built in. */
enum pick_what { PICK_GCM, PICK_CTR, PICK_POLY1305 };
enum pick_impl pick_fastest(enum pick_what what);

/* For tests only: pick_fastest gives `impl` where that runs, from now on; PICK_N gives the choice
 * back to the CPU. */
void pick_force_impl(enum pick_impl impl);

#endif
