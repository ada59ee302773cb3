/* SPDX-License-Identifier: ISC */
/*
 * forward - what a server may open channels for: only what this run has asked for
 *
 * One struct forward a connection.  Kinds of forwarding share its joints; a channel of a kind that
 * was not asked for is refused.
 */
#ifndef APP_CLIENT_FORWARD_H
#define APP_CLIENT_FORWARD_H

#include "run/joint.h"

struct ssh;

struct forward {
	struct joints joints;
	bool is_started;
	char *agent_path;    /* of the agent that is lent to the server; NULL = none */
	struct list binding; /* connections to it that are being told where they lead */
};

/* With the connection engine there. */
void forward_start(struct ssh *s);
void forward_done(struct ssh *s);
/* Every event first; *is_ours: nobody else needs it. */
MUST err_t forward_event(struct ssh *s, struct cn_event *e, bool *is_ours);
/* Once a turn, before writing. */
MUST err_t forward_flush(struct ssh *s);

/* forward_agent.c */
/* ForwardAgent: asks for it with the session's channel, where there is an agent to lend. */
MUST err_t forward_agent_request(struct ssh *s, uint32_t chan);
bool forward_agent_is_wanted(const struct ssh *s);
bool forward_agent_is(struct cslice type);
MUST err_t forward_agent_open(struct ssh *s, const struct cn_event *e);
void forward_agent_done(struct forward *f);

#endif
