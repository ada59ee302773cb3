/* SPDX-License-Identifier: ISC */
/* server_int - what the files of the server share */
#ifndef AGENT_SERVER_INT_H
#define AGENT_SERVER_INT_H

#include "agent/server.h"
#include "wire/agent.h"

struct ag {
	struct ag_store *store;
	struct buf in, out;
	struct ag_way way;
	err_t err;

	/* The request at the front of `in` waits: for a person, or for time. */
	uint32_t ask; /* 0 = nobody is asked; the next number otherwise is asks + 1 */
	uint32_t asks;
	bool is_told;     /* the question was given to the program */
	bool is_answered; /* then the request is done again from its start, with the verdict */
	err_t verdict;
	struct buf question;
	uint64_t until_us; /* no request is done before; 0 = none waits */
	bool is_late;      /* its verdict is known: it is E_DENIED, and told after the pause */
};

/* A request.  OK: done, and the answer is success unless the handler made one of its own. E_AGAIN:
 * it waits, and is done again from the start.  Anything else: failure. */
typedef err_t ag_handler(struct ag *a, struct cslice body, const struct ag_now *now);
ag_handler ag_on_identities, ag_on_sign, ag_on_add, ag_on_add_constrained, ag_on_remove,
	ag_on_remove_all, ag_on_smartcard, ag_on_smartcard_constrained, ag_on_lock, ag_on_unlock,
	ag_on_extension;

/* An answer with a body. */
MUST err_t ag_reply(struct ag *a, enum agent_msg no, struct cslice body);
/* Does the request come from further away than this machine? */
bool ag_is_remote(const struct ag *a);
/* May this connection know of the key (user NULL), or log in with it? */
bool ag_may(const struct ag *a, const struct ag_key *k, const struct ag_now *now,
	const struct cslice *user);

/* What was sent behind a key. */
MUST err_t ag_constraints_read(
	const struct ag *a, struct cslice rest, bool is_token, struct ag_key_limits *out);

#endif
