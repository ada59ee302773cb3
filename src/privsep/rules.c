/* SPDX-License-Identifier: ISC */
/* rules - who may ask the monitor what, and when */
#include "privsep/rules.h"

#define NET     PS_NET
#define USER    PS_USER
#define NEW     PS_PH_NEW
#define KEX     PS_PH_KEX
#define AUTH    PS_PH_AUTH
#define TRIES   PS_PH_TRIES
#define IN      PS_PH_IN
#define SESSION PS_PH_SESSION

struct row {
	uint8_t by, phases, flags;
	bool is_there;
};

#define M(name, no, by, phase, flags) [no] = {(uint8_t)(by), (uint8_t)(phase), flags, true},
static const struct row rows[PS_MSG_END] = {
#include "privsep/monitor.def"
};
#undef M

void ps_rules_init(struct ps_rules *r)
{
	*r = (struct ps_rules){.role = PS_NET, .phase = PS_PH_NEW, .max_tries = 1};
}

static bool may_ask(const struct ps_rules *r, uint8_t no)
{
	if (no >= PS_MSG_END || !rows[no].is_there || r->phase == PS_PH_END)
		return false;
	const struct row *row = &rows[no];
	if ((row->by & r->role) == 0 || (row->phases & r->phase) == 0)
		return false;
	if (r->phase == PS_PH_SESSION)
		return true;
	if ((row->flags & MF_ONCE) != 0 && (r->seen & (uint32_t)1 << no) != 0)
		return false;
	return r->requests < PS_REQUESTS_MAX && (r->phase != PS_PH_TRIES || r->asks < PS_ASKS_MAX);
}

enum ps_verdict ps_rules_ask(struct ps_rules *r, uint8_t no)
{
	if (!may_ask(r, no)) {
		r->phase = PS_PH_END;
		return PS_DENY;
	}
	if (r->phase != PS_PH_SESSION) {
		r->seen |= (uint32_t)1 << no;
		r->requests++;
		if (r->phase == PS_PH_TRIES && no != PS_log)
			r->asks++;
	}
	return PS_ALLOW;
}

enum ps_verdict ps_rules_served(struct ps_rules *r, uint8_t no, bool ok)
{
	const struct row *row = &rows[no];
	if (no == PS_start)
		r->phase = PS_PH_KEX;
	else if (no == PS_sign_host && r->phase == PS_PH_KEX)
		r->phase = PS_PH_AUTH;
	else if (no == PS_pwnam)
		r->phase = PS_PH_TRIES;
	else if ((row->flags & MF_AUTH) != 0 && ok)
		r->phase = PS_PH_IN;
	else if ((row->flags & MF_TRY) != 0 && no != PS_auth_none && ++r->failures > r->max_tries) {
		r->phase = PS_PH_END;
		return PS_DENY;
	}
	return PS_ALLOW;
}

enum ps_verdict ps_rules_session(struct ps_rules *r)
{
	if (r->phase != PS_PH_IN || (r->seen & (uint32_t)1 << PS_state) == 0) {
		r->phase = PS_PH_END;
		return PS_DENY;
	}
	r->phase = PS_PH_SESSION;
	r->role = PS_USER;
	return PS_ALLOW;
}

bool ps_rules_is_in(const struct ps_rules *r)
{
	return r->phase == PS_PH_IN || r->phase == PS_PH_SESSION;
}

uint32_t ps_msg_flags(uint8_t no)
{
	return no < PS_MSG_END ? rows[no].flags : 0;
}

size_t ps_msg_limit(uint8_t no)
{
	return (ps_msg_flags(no) & MF_BIG) != 0 ? PS_BIG_MAX : PS_FRAME_MAX;
}
