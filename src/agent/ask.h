/* SPDX-License-Identifier: ISC */
/*
 * ask - the client's half of the agent protocol (compat 7.6): requests built, replies judged
 *
 * No input or output: ag_ask_* append a whole frame (length, number, body) that is to be sent, and
 * ag_take_* judge the body of the frame that came back.  One request, one reply, in order.  A reply
 * is a peer's bytes: whatever is not the answer to what was asked is an error, and nothing of it is
 * given to the caller.
 */
#ifndef AGENT_ASK_H
#define AGENT_ASK_H

#include "key/key.h"
#include "wire/agent.h"

#define AG_FRAME_MAX AGENT_FRAME_MAX /* of a body, both ways */
#define AG_KEYS_MAX  2048
#define AG_HOPS_MAX  1024

/* ---- limits that travel with a key --------------------------------------------------------------
 */
struct ag_host_key {
	struct cslice blob;
	bool is_ca;
};
struct ag_hop {
	struct cslice user, host; /* empty = any user; empty host = where the agent is */
	const struct ag_host_key *keys;
	size_t keys_n;
};
struct ag_destination {
	struct ag_hop from, to;
};
struct ag_limits {
	uint32_t lifetime_s; /* 0 = none */
	bool confirm;
	const struct ag_destination *destinations;
	size_t destinations_n;
	const char *sk_provider; /* of FIDO keys only: who speaks to the device; NULL = none */
};

/* ---- requests: a frame each, appended -----------------------------------------------------------
 */
MUST err_t ag_ask_list(struct buf *out);
/* blob: the key's, or its certificate's.  alg: the signature's algorithm (a certificate's name
 * stands for its plain one). */
MUST err_t ag_ask_sign(struct buf *out, struct cslice blob, struct cslice tbs, struct cslice alg);
/* k: private, with its certificate when it carries one.  limits: NULL = none. */
MUST err_t ag_ask_add(struct buf *out, const struct key *k, struct cslice comment,
	const struct ag_limits *limits);
MUST err_t ag_ask_remove(struct buf *out, struct cslice blob);
MUST err_t ag_ask_remove_all(struct buf *out);
MUST err_t ag_ask_lock(struct buf *out, bool is_lock, struct cslice passphrase);
MUST err_t ag_ask_extensions(struct buf *out);
/* Tells the agent which host the connection goes to; signature: of the host over the session id. */
struct ag_binding {
	struct cslice hostkey, session, signature;
	bool is_forwarding;
};
MUST err_t ag_ask_bind(struct buf *out, const struct ag_binding *b);

/* ---- replies ------------------------------------------------------------------------------------
 */
/* The body's length, of the four bytes in front.  E_FORMAT: 0, or above AG_FRAME_MAX. */
MUST err_t ag_take_length(const uint8_t head[4], size_t *n);
/* To add, remove, lock, bind.  E_DENIED: the agent says no. */
MUST err_t ag_take_done(struct cslice body);
/* Each entry once the whole list is found well formed; blobs of unknown types too. borrowed. */
typedef void ag_entry_fn(void *arg, struct cslice blob, struct cslice comment);
MUST err_t ag_take_list(struct cslice body, ag_entry_fn *fn, void *arg);
/* Appended.  E_UNSUPPORTED: signed by another algorithm than was asked for. */
MUST err_t ag_take_signature(struct cslice body, struct cslice alg, struct buf *sig);
/* Each extension that the agent has.  E_DENIED: it cannot tell. */
typedef void ag_name_fn(void *arg, struct cslice name);
MUST err_t ag_take_extensions(struct cslice body, ag_name_fn *fn, void *arg);

#endif
