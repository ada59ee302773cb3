/* SPDX-License-Identifier: ISC */
/* startups - how many connections may be logging in: MaxStartups, PerSourceMaxStartups (compat 9.4)
 */
#ifndef APP_SSHD_STARTUPS_H
#define APP_SSHD_STARTUPS_H

#include "base/slice.h"
#include "config/config.h"

enum startups_verdict { STARTUPS_DROP = 0, STARTUPS_TAKE };

/* n connections are logging in.  dice: uniform in 0..99. */
enum startups_verdict startups_check(const struct cfg_startups *c, size_t n, uint32_t dice);

struct source { /* a peer's address for counting, masked; n = 0: no address */
	size_t n;
	uint8_t bytes[16];
};
/* bits: "32:128", "24" ...: how much of an IPv4 and of an IPv6 address counts. */
struct source source_mask(struct cslice address, const char *bits);
bool source_eq(const struct source *a, const struct source *b);
/* "none" = no limit: UINT32_MAX. */
uint32_t source_limit(const char *value);

#endif
