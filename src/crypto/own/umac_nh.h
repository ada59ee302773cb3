/* SPDX-License-Identifier: ISC */
/*
 * umac_nh - NH, the hash of UMAC that every byte goes through (RFC 4418 5.2.2)
 *
 * A message is worked on in chunks of 32 bytes, with 8 words of the key; each further stream starts
 * 4 words later in the key.
 */
#ifndef CRYPTO_OWN_UMAC_NH_H
#define CRYPTO_OWN_UMAC_NH_H

#include "base/slice.h"

#define UMAC_CHUNK ((size_t)32)

/* Adds the NH of n bytes, a multiple of UMAC_CHUNK, to sum[0], sum[1] ... of each stream. */
typedef void umac_nh_fn(uint64_t *sum, const uint32_t *key, const uint8_t *m, size_t n);

/* Plain C for 2 or 4 streams. */
umac_nh_fn *umac_nh_plain(size_t streams);
/* The quickest on this CPU. */
umac_nh_fn *umac_nh_pick(size_t streams);

#endif
