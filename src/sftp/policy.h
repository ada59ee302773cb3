/* SPDX-License-Identifier: ISC */
/* policy - which requests a server does */
#ifndef SFTP_POLICY_H
#define SFTP_POLICY_H

#include "sftp/sftp.h"

enum sf_req { /* every request that can be refused: the rows Q and X */
#define Q(name, no, changes)                  SF_REQ_##name,
#define X(name, policy, wire, value, changes) SF_REQ_##name,
#include "sftp/sftp.def"
	SF_REQ_N
};

struct sf_policy {
	uint64_t denied, allowed; /* bits by enum sf_req; denied wins */
	bool has_allowed;         /* what `allowed` does not name is refused */
	bool is_read_only;
};

enum sf_verdict {
	SF_DENY = 0, /* for a reason that has no name of its own */
	SF_DENY_READ_ONLY,
	SF_DENY_LISTED,
	SF_DENY_UNLISTED,
	SF_ALLOW
};

/* The request as a whole.  OPEN depends on its flags too: sf_policy_open. */
enum sf_verdict sf_policy_verdict(const struct sf_policy *p, enum sf_req r);
enum sf_verdict sf_policy_open(const struct sf_policy *p, uint32_t flags);

const char *sf_req_name(enum sf_req r);

/*
 * sf_policy_names - a list of requests, comma separated, as bits
 *
 * An extension goes by its policy name and by its name on the wire.  E_NAME: *unknown is the first
 * that is no request; the others are in *set all the same.
 */
MUST err_t sf_policy_names(struct cslice list, uint64_t *set, struct cslice *unknown);

#endif
