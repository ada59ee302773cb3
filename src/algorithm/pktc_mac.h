/* SPDX-License-Identifier: ISC */
/*
 * pktc_mac - HMAC and UMAC with one face, for the packet protections that have a MAC of their own
 *
 * HMAC covers the sequence number and the packet (RFC 4253 6.4); UMAC has the sequence number as
 * its nonce and covers the packet alone.  Nothing is allocated after make.
 */
#ifndef ALGORITHM_PKTC_MAC_H
#define ALGORITHM_PKTC_MAC_H

#include "algorithm/alg.h"

#define PKTC_MAC_MAX HASH_MAX

struct pktc_mac {
	size_t size;   /* of the tag */
	bool is_short; /* the tag is only the beginning of the hash (RFC 2104 5) */
	struct hmac *hmac;
	struct umac *umac;
};

MUST err_t pktc_mac_make(struct pktc_mac *m, enum mac_id id, struct cslice key);
void pktc_mac_done(struct pktc_mac *m);
/* tag has m->size bytes and may stand right behind the packet. */
MUST err_t pktc_mac_tag(
	struct pktc_mac *m, uint32_t seq, const uint8_t *pkt, size_t n, uint8_t *tag);
/* E_MAC when the tag is not the right one; takes the same time wherever it differs. */
MUST err_t pktc_mac_check(
	struct pktc_mac *m, uint32_t seq, const uint8_t *pkt, size_t n, const uint8_t *tag);

#endif
