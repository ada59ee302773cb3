/* SPDX-License-Identifier: ISC */
/*
 * peer - what the other end's version line says about it (compat 7.2)
 *
 * Each layer keeps its own rows; here is only how a pattern is applied.
 */
#ifndef TRANSPORT_PEER_H
#define TRANSPORT_PEER_H

#include "base/slice.h"

/* The software part, with comments: "SSH-2.0-OpenSSH_9.2p1 Debian" -> "OpenSSH_9.2p1 Debian"; empty
 * when malformed. */
struct cslice peer_software(struct cslice version);
/* Does the software match one of the comma-separated patterns?  A negated match wins. */
bool peer_is(struct cslice version, const char *patterns);

#endif
