/* SPDX-License-Identifier: ISC */
/*
 * agent_client - keys and signatures from a running agent (compat 7.6)
 *
 * A request and its answer, one after the other, over the agent's socket.  The answers are a peer's
 * bytes.
 */
#ifndef APP_COMMON_AGENT_CLIENT_H
#define APP_COMMON_AGENT_CLIENT_H

#include "key/key.h"

struct agent_client {
	int fd; /* -1 = not connected */
};

/* E_NOT_FOUND: nothing listens at path. */
MUST err_t agent_connect(struct agent_client *a, const char *path);
void agent_close(struct agent_client *a);

/* Calls fn for each key that this build knows; unknown types are passed over.  fn takes the key. */
typedef void agent_key_fn(void *arg, struct key *k, struct cslice comment);
MUST err_t agent_list(struct agent_client *a, agent_key_fn *fn, void *arg);

/* sig: the SSH signature blob, appended.  E_DENIED: the agent refused. */
MUST err_t agent_sign(struct agent_client *a, const struct key *pub, struct cslice alg,
	struct cslice tbs, struct buf *sig);

#endif
