/* SPDX-License-Identifier: ISC */
/*
 * hops - the way that a request has come, and the ways that a key allows
 *
 * Each ssh that hands a connection to an agent on first tells it which host it talks to
 * (session-bind).  So a connection of the agent knows the hosts behind it, nearest first: all but
 * the last one forward, the last one forwards or is logged in to.  A restricted key names pairs of
 * hosts; every step of the way must be one of them.
 */
#ifndef AGENT_HOPS_H
#define AGENT_HOPS_H

#include "agent/ask.h"
#include "base/buf.h"
#include "key/cert.h"

#define AG_BINDINGS_MAX     16
#define AG_SESSION_ID_MAX   128
#define AG_DESTINATIONS_MAX 1024
#define AG_HOP_KEYS_MAX     1024
#define AG_USER_MAX         256

/* ---- what a key allows --------------------------------------------------------------------------
 */
struct ag_destinations {
	struct buf bytes; /* the slices below point into it */
	struct ag_destination *v;
	size_t n;
};
/* The data of restrict-destination-v00@openssh.com.  Refused: users of `from`, a `to` without host
 * or keys, keys that are certificates or unknown, anything in a reserved field, no pair at all. */
MUST err_t ag_destinations_read(struct ag_destinations *out, struct cslice data);
void ag_destinations_done(struct ag_destinations *d);

/* ---- where a connection has come from -----------------------------------------------------------
 */
struct ag_binding_known {
	struct buf hostkey, session; /* hostkey: of the certificate where there is one */
	struct key *host;
	bool is_forwarding;
};
struct ag_way {
	struct ag_binding_known v[AG_BINDINGS_MAX];
	size_t n;
	bool was_tried;  /* a binding came, good or not: the peer is not simply a program here */
	bool has_failed; /* one was refused: which hosts are behind is not known any more */
};
void ag_way_done(struct ag_way *w);
/* Checks the host's signature and that the binding fits to those before; a repetition is fine. */
MUST err_t ag_way_bind(struct ag_way *w, struct cslice body);

struct ag_way_query {
	const struct ag_way *way;
	const struct ag_destinations *to;
	const char *ca_algs;
	uint64_t wall_s;
	/* Who logs in; NULL: may the key be seen? */
	const struct cslice *user;
};
enum ag_way_verdict { AG_WAY_DENY = 0, AG_WAY_ALLOW };
/* Is every step of the way one of the key's?  A key without limits goes everywhere.  host: the last
 * one's name as the key's limits call it; may be NULL. */
enum ag_way_verdict ag_way_allows(const struct ag_way_query *q, struct cslice *host);

/* Is that what a login signs with this key, and on the way's last connection, to its host? */
MUST err_t ag_way_login(
	const struct ag_way *w, struct cslice data, struct cslice blob, struct cslice *user);

#endif
