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

/* Something that cannot happen did (the library failed in the middle of a packet): nothing of it
 * may be sent. */
static inline void pktc_spoil(uint8_t *pkt, size_t n, size_t tag)
{
	wipe(pkt, n + tag);
}

#endif
