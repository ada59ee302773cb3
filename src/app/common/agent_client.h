/* SPDX-License-Identifier: ISC */
/*
 * agent_client - a running agent over its socket: the blocking driver of agent/ask.h
 *
 * A request and its answer, one after the other.  What the agent does is bounded: a reply that is
 * too long, out of form or no answer to the question is an error, after which the connection is
 * closed (nothing on it can be trusted to be in step), and an agent that does not answer is given
 * up: after two minutes, or fifteen where it may be asking a person.
 */
#ifndef APP_COMMON_AGENT_CLIENT_H
#define APP_COMMON_AGENT_CLIENT_H

#include "agent/ask.h"

struct agent_client {
	int fd; /* -1 = not connected */
};

/* E_NOT_FOUND: nothing listens at path (errno tells).  E_PERMISSION, E_LIMIT (the path). */
MUST err_t agent_connect(struct agent_client *a, const char *path);
void agent_close(struct agent_client *a);

/* Calls fn for each plain key that this build knows; others are passed over.  fn takes the key. */
typedef void agent_key_fn(void *arg, struct key *k, struct cslice comment);
MUST err_t agent_list(struct agent_client *a, agent_key_fn *fn, void *arg);
/* Everything in the agent, as it came; blob and comment are borrowed for the call. */
MUST err_t agent_list_blobs(struct agent_client *a, ag_entry_fn *fn, void *arg);

/* sig: the SSH signature blob, appended.  E_DENIED: the agent refused. */
MUST err_t agent_sign(struct agent_client *a, const struct key *pub, struct cslice alg,
	struct cslice tbs, struct buf *sig);

/* ---- what changes the agent.  E_DENIED: it refused ----------------------------------------------
 */
/* What limits.sk_provider is for the user: SSH_SK_PROVIDER, or what the agent itself has. */
const char *agent_sk_provider(void);
MUST err_t agent_add(struct agent_client *a, const struct key *k, struct cslice comment,
	const struct ag_limits *limits);
MUST err_t agent_remove(struct agent_client *a, const struct key *pub);
MUST err_t agent_remove_all(struct agent_client *a);
MUST err_t agent_lock(struct agent_client *a, bool is_lock, struct cslice passphrase);
MUST err_t agent_bind(struct agent_client *a, const struct ag_binding *b);
MUST err_t agent_extensions(struct agent_client *a, ag_name_fn *fn, void *arg);

#endif
