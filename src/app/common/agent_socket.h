/* SPDX-License-Identifier: ISC */
/*
 * agent_socket - where agents listen: sockets below ~/.ssh/agent (compat 2.7)
 *
 * A socket's name says which host made it and for what, so that of a home that several hosts share
 * each looks after its own: s.HOST.agent.RANDOM, s.HOST.sshd.RANDOM.  `why` is filled on a failure
 * with a sentence for people; it may be NULL.
 */
#ifndef APP_COMMON_AGENT_SOCKET_H
#define APP_COMMON_AGENT_SOCKET_H

#include "base/buf.h"
#include "base/rng.h"

/* The listening socket at a path, mode 0600, close-on-exec.  E_LIMIT: the path is too long. */
MUST err_t agent_socket_at(const char *path, int *fd, struct buf *why);

/* One with a new name; the directories are made (0700).  word: "agent", or "sshd" for forwarding.
 * path: appended, without a NUL in its length but with one behind it. */
struct agent_socket_new {
	const char *home, *word;
	struct rng *rng;
};
MUST err_t agent_socket_make(
	const struct agent_socket_new *s, struct buf *path, int *fd, struct buf *why);

/* The one socket of a user that is always at the same place (ssh-agent --stable). */
MUST err_t agent_socket_stable(const char *home, struct buf *path, struct buf *why);

/* Removes sockets of this host (any host) that nobody listens at and that are older than an hour.
 */
void agent_sockets_clean(const char *home, bool any_host);

#endif
