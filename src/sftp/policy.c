/* SPDX-License-Identifier: ISC */
/* policy - which requests a server does, from the rows */
#include "sftp/policy.h"

_Static_assert(SF_REQ_N <= 64, "a set of requests is 64 bits");

static const struct {
	const char *name, *wire;
	bool changes;
} reqs[SF_REQ_N] = {
#define Q(name, no, changes)                  [SF_REQ_##name] = {#name, #name, changes},
#define X(name, policy, wire, value, changes) [SF_REQ_##name] = {policy, wire, changes},
#include "sftp/sftp.def"
};

const char *sf_req_name(enum sf_req r)
{
	return reqs[r].name;
}

enum sf_verdict sf_policy_verdict(const struct sf_policy *p, enum sf_req r)
{
	if (r >= SF_REQ_N)
		return SF_DENY;
	uint64_t bit = (uint64_t)1 << r;
	if (p->is_read_only && reqs[r].changes)
		return SF_DENY_READ_ONLY;
	if ((p->denied & bit) != 0)
		return SF_DENY_LISTED;
	if (p->has_allowed && (p->allowed & bit) == 0)
		return SF_DENY_UNLISTED;
	return SF_ALLOW;
}

enum sf_verdict sf_policy_open(const struct sf_policy *p, uint32_t flags)
{
	bool changes = (flags & (SF_OPEN_WRITE | SF_OPEN_CREATE | SF_OPEN_TRUNC)) != 0;
	if (p->is_read_only && changes)
		return SF_DENY_READ_ONLY;
	return sf_policy_verdict(p, SF_REQ_open);
}

err_t sf_policy_names(struct cslice list, uint64_t *set, struct cslice *unknown)
{
	err_t e = OK;
	while (list.n > 0) {
		const uint8_t *comma = memchr(list.p, ',', list.n);
		struct cslice name = {list.p, comma != NULL ? (size_t)(comma - list.p) : list.n};
		size_t i = 0, used = num_min(name.n + 1, list.n);
		list = cslice_of(list.p + used, list.n - used);
		while (i < SF_REQ_N && !cslice_eq_str(name, reqs[i].name) &&
			!cslice_eq_str(name, reqs[i].wire))
			i++;
		if (i < SF_REQ_N) {
			*set |= (uint64_t)1 << i;
		} else if (e == OK && name.n > 0) {
			*unknown = name;
			e = E_NAME;
		}
	}
	return e;
}
