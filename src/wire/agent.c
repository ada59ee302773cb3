/* SPDX-License-Identifier: ISC */
/* agent - readers and writers of the agent protocol, generated from the rows */
#include "wire/agent.h"
#include "wire/fields.h"

/* The next one of several in a row. */
#define TAKE(name)                                                                                 \
	static err_t take_##name(struct cslice *rest, struct agent_##name *out)                    \
	{                                                                                          \
		struct rd r = rd_of(*rest);                                                        \
		struct agent_##name out_ = {0};                                                    \
		AGENT_FIELDS_##name(GET) if (r.bad) return E_FORMAT;                               \
		*out = out_;                                                                       \
		*rest = cslice_of(r.p, r.n);                                                       \
		return OK;                                                                         \
	}

#define DEFINE(name)                                                                               \
	TAKE(name)                                                                                 \
	err_t agent_get_##name(struct cslice body, struct agent_##name *out)                       \
	{                                                                                          \
		struct agent_##name out_ = {0};                                                    \
		TRY(take_##name(&body, &out_));                                                    \
		if (body.n > 0)                                                                    \
			return E_TRAILING;                                                         \
		*out = out_;                                                                       \
		return OK;                                                                         \
	}                                                                                          \
	size_t agent_size_##name(const struct agent_##name *in)                                    \
	{                                                                                          \
		size_t n = 0;                                                                      \
		(void)in;                                                                          \
		AGENT_FIELDS_##name(SIZE) return n;                                                \
	}                                                                                          \
	void agent_put_##name(struct wr *w, const struct agent_##name *in)                         \
	{                                                                                          \
		(void)w;                                                                           \
		(void)in;                                                                          \
		AGENT_FIELDS_##name(PUT)                                                           \
	}

#define M(name, no, to, locked) DEFINE(name)
#include "wire/agent.def"
#undef M
AGENT_BODIES(DEFINE)

err_t agent_next_identity(struct cslice *rest, struct agent_identity *out)
{
	return take_identity(rest, out);
}

err_t agent_next_dest_hop_key(struct cslice *rest, struct agent_dest_hop_key *out)
{
	return take_dest_hop_key(rest, out);
}

#define SRV     1
#define CLI     2
#define NO      AGENT_LOCKED_NO
#define NO_KEYS AGENT_LOCKED_NO_KEYS
#define RUN     AGENT_LOCKED_RUN

#define M(name, no, to, locked) [no] = {#name, to, locked},
static const struct {
	const char *name;
	uint8_t to, locked;
} rows[256] = {
#include "wire/agent.def"
};
#undef M

bool agent_msg_is_for(uint8_t no, bool to_agent)
{
	return rows[no].to == (to_agent ? SRV : CLI);
}

enum agent_when_locked agent_msg_when_locked(uint8_t no)
{
	return (enum agent_when_locked)rows[no].locked;
}

const char *agent_msg_name(uint8_t no)
{
	return rows[no].name != NULL ? rows[no].name : "unknown";
}
