/* SPDX-License-Identifier: ISC */
/*
 * pktc_rows - where pktc_for finds its rows
 *
 * Internal to algorithm/.  Each row exists once an implementation of the bulk primitive
 * (crypto/pick.h).  All rows of one cipher and MAC make the same bytes, and take the same key
 * material, so that the engine can build the context of another row from the keys that it has and
 * go on with that at any packet boundary.
 */
#ifndef ALGORITHM_PKTC_ROWS_H
#define ALGORITHM_PKTC_ROWS_H

#include "algorithm/alg.h"
#include "crypto/pick.h"

const struct pktc *pktc_gcm_row(enum pick_impl impl);
const struct pktc *pktc_chacha_row(enum pick_impl impl);
/* NULL for MACI_NONE. */
const struct pktc *pktc_ctr_row(enum pick_impl impl, enum mac_id mac, bool is_etm);

/* The rows with AF_CHAINED; NULL for MACI_NONE and for any other cipher. */
const struct pktc *pktc_chained_row(enum prot_id prot, enum mac_id mac, bool is_etm);
/* AES in CBC mode, encrypt-then-MAC, by libipsec-mb: only where that runs. */
const struct pktc *pktc_cbc_row(enum mac_id mac);

/* MAC id, tag, how many packets together are the quickest by libipsec-mb (0: it has no way), name;
 * then whatever the user of the rows adds. */
#define PKTC_MACS(X, ...)                                                                          \
	X(HMAC_SHA1, 20, 16, "hmac-sha1", ##__VA_ARGS__)                                           \
	X(HMAC_SHA256, 32, 8, "hmac-sha2-256", ##__VA_ARGS__)                                      \
	X(HMAC_SHA512, 64, 8, "hmac-sha2-512", ##__VA_ARGS__)                                      \
	X(HMAC_SHA1_96, 12, 16, "hmac-sha1-96", ##__VA_ARGS__)                                     \
	X(HMAC_MD5, 16, 0, "hmac-md5", ##__VA_ARGS__)                                              \
	X(HMAC_MD5_96, 12, 0, "hmac-md5-96", ##__VA_ARGS__)                                        \
	X(HMAC_RIPEMD160, 20, 0, "hmac-ripemd160", ##__VA_ARGS__)                                  \
	X(UMAC64, 8, 0, "umac-64", ##__VA_ARGS__)                                                  \
	X(UMAC128, 16, 0, "umac-128", ##__VA_ARGS__)

/* Something that cannot happen did (the library failed in the middle of a packet): nothing of it
 * may be sent. */
static inline void pktc_spoil(uint8_t *pkt, size_t n, size_t tag)
{
	wipe(pkt, n + tag);
}

#endif
