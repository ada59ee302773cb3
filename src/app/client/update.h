/* SPDX-License-Identifier: ISC */
/*
 * update - UpdateHostKeys: known_hosts follows what a known host says about its keys
 *
 * After the login the server names all its keys (hostkeys-00@openssh.com).  Those that are new have
 * to be proved, by a signature over this session, before they are written; those that are gone go.
 * Nothing is done unless the key of this very connection came out of the user's known_hosts, or the
 * person has just said yes to it.
 */
#ifndef APP_CLIENT_UPDATE_H
#define APP_CLIENT_UPDATE_H

#include "connection/cn.h"
#include "key/known_hosts_update.h"

struct ssh;
struct key;

struct host_update {
	struct buf own; /* blob of this connection's key, where it is known that well; else empty */
	struct buf offer; /* what was offered, as strings */
	struct cslice blobs[KH_OFFER_MAX];
	size_t n;
	bool is_new[KH_OFFER_MAX]; /* a proof was asked for */
	bool has_offer, is_waiting;
	uint32_t asked, answered; /* global requests with a reply: answers come in order */
	uint32_t waits_for;
};

/* hostkey.c: the key of this connection is in the user's known_hosts. */
void update_trust(struct ssh *s, const struct key *k);
void update_distrust(struct ssh *s);
/* Every event first; *is_ours: nobody else needs it. */
MUST err_t update_event(struct ssh *s, const struct cn_event *e, bool *is_ours);
void update_again(struct ssh *s); /* before another connection of this run */
void update_done(struct ssh *s);

#endif
