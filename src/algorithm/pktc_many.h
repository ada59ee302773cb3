/* SPDX-License-Identifier: ISC */
/*
 * pktc_many - HMAC over several packets at once, for the batch forms of packet protections
 *
 * What is multi-buffer about it is crypto/pick.h's; here is what SSH adds: the MAC begins with the
 * sequence number (RFC 4253 6.4), but a job has one piece of memory.  So the number is written into
 * the four bytes in front of each packet, which pktc.h lends for that, and they are put back before
 * anyone can look.  In a run those are the end of the packet before: its tag.
 */
#ifndef ALGORITHM_PKTC_MANY_H
#define ALGORITHM_PKTC_MANY_H

#include "algorithm/pktc_mac.h"
#include "crypto/pick.h"

struct pktc_many { /* all zero: packets are done one by one */
	const struct pick_hmacs *impl;
	void *hmacs;
};

/* OK and nothing set up when there is no quicker way for this MAC. */
MUST err_t pktc_many_make(
	struct pktc_many *m, enum pick_impl impl, enum mac_id id, struct cslice key);
void pktc_many_done(struct pktc_many *m);
/* The tags of n packets, at most PKTC_MANY, written behind them.  mac: the same MAC, for what is
 * quicker one by one. */
MUST err_t pktc_many_tag(
	struct pktc_many *m, struct pktc_mac *mac, const struct pktc_one *v, size_t n);
/* How many packets at the beginning have the right tag; packets stay as they are. */
size_t pktc_many_check(
	struct pktc_many *m, struct pktc_mac *mac, const struct pktc_one *v, size_t n);

#endif
