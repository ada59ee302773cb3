/* SPDX-License-Identifier: ISC */
/*
 * rules - who may ask the monitor what, and when: the permission table of monitor.def and the state
 * that it moves
 *
 * The state goes one way only.  Logged in is reached by a row with MF_AUTH and a positive verdict,
 * and by nothing else.
 */
#ifndef PRIVSEP_RULES_H
#define PRIVSEP_RULES_H

#include "privsep/monitor.h"

enum ps_role { PS_NET = 1, PS_USER = 2 };
enum ps_phase {
	PS_PH_NEW = 1,
	PS_PH_KEX = 2,
	PS_PH_AUTH = 4,
	PS_PH_TRIES = 8,
	PS_PH_IN = 16,
	PS_PH_SESSION = 32,
	PS_PH_END = 64
};
enum ps_flags { MF_ONCE = 1, MF_AUTH = 2, MF_TRY = 4, MF_FDS = 8, MF_QUIET = 16, MF_BIG = 32 };
enum ps_verdict { PS_DENY = 0, PS_ALLOW };

#define PS_REQUESTS_MAX 4096 /* before login; of these at most: */
#define PS_ASKS_MAX     1024 /* key_allowed and the tries */

struct ps_rules {
	enum ps_role role;
	enum ps_phase phase;
	uint32_t seen;     /* bits by number: asked before login */
	uint32_t requests; /* before login */
	uint32_t asks;
	uint32_t failures; /* negative verdicts of MF_TRY rows but auth_none */
	uint32_t max_tries;
};

void ps_rules_init(struct ps_rules *r);
/* May it be asked now?  Counts the request.  A denial is for ever: phase END. */
enum ps_verdict ps_rules_ask(struct ps_rules *r, uint8_t no);
/* It was served; ok: the verdict of an MF_AUTH row, else ignored.  PS_DENY: too many failures. */
enum ps_verdict ps_rules_served(struct ps_rules *r, uint8_t no, bool ok);
/* The session process takes the place of the network process.  Only in phase IN, after `state`. */
enum ps_verdict ps_rules_session(struct ps_rules *r);
bool ps_rules_is_in(const struct ps_rules *r);

uint32_t ps_msg_flags(uint8_t no);
size_t ps_msg_limit(uint8_t no); /* of number and body */

#endif
