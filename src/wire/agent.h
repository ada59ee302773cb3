/* SPDX-License-Identifier: ISC */
/*
 * agent - structs, readers and writers of every message of the agent protocol, from agent.def
 *
 * For a message `x`: enum AGENT_MSG_x, struct agent_x, agent_get_x(body, &out) (body: what follows
 * the message number; borrows), agent_size_x(&in) and agent_put_x(&wr, &in) (both without the
 * message number).  The same for the bodies.  A frame is u32 length, u8 number, body; the length
 * counts the number and the body.
 */
#ifndef WIRE_AGENT_H
#define WIRE_AGENT_H

#include "wire/agent_fields.def"
#include "wire/codec.h"

#define AGENT_FRAME_MAX ((size_t)256 * 1024) /* number and body */

#define M(name, no, to, locked) AGENT_MSG_##name = no,
enum agent_msg {
#include "wire/agent.def"
};
#undef M

#define AGENT_C_u8     uint8_t
#define AGENT_C_u32    uint32_t
#define AGENT_C_flag   bool
#define AGENT_C_str    struct cslice
#define AGENT_C_text   struct cslice
#define AGENT_C_rest   struct cslice
#define AGENT_C_secret struct cslice

#define AGENT_FIELD(kind, name) AGENT_C_##kind name;
#define AGENT_DECLARE(name)                                                                        \
	struct agent_##name {                                                                      \
		AGENT_FIELDS_##name(AGENT_FIELD) uint8_t end_;                                     \
	};                                                                                         \
	MUST err_t agent_get_##name(struct cslice body, struct agent_##name *out);                 \
	size_t agent_size_##name(const struct agent_##name *in);                                   \
	void agent_put_##name(struct wr *w, const struct agent_##name *in);

#define M(name, no, to, locked) AGENT_DECLARE(name)
#include "wire/agent.def"
#undef M
AGENT_BODIES(AGENT_DECLARE)

/* Lists of identities_answer and dest_hop: takes the next one off *rest; E_FORMAT leaves it. */
MUST err_t agent_next_identity(struct cslice *rest, struct agent_identity *out);
MUST err_t agent_next_dest_hop_key(struct cslice *rest, struct agent_dest_hop_key *out);

/* Flags of sign_request: which hash a signature of an RSA key has. */
#define AGENT_SIGN_RSA_SHA256 0x2u
#define AGENT_SIGN_RSA_SHA512 0x4u

/* Constraints: u8 kind, then its data; an extension has a name first. */
enum agent_constraint {
	AGENT_CONSTRAIN_lifetime = 1, /* u32 seconds */
	AGENT_CONSTRAIN_confirm = 2,
	AGENT_CONSTRAIN_extension = 255 /* string name, data */
};
#define AGENT_C_SK_PROVIDER "sk-provider@openssh.com" /* string path */
#define AGENT_C_DESTINATION                                                                        \
	"restrict-destination-v00@openssh.com" /* string { string dest_constraint... } */
#define AGENT_C_CERTS        "associated-certs-v00@openssh.com" /* associated_certs */
#define AGENT_X_QUERY        "query"
#define AGENT_X_SESSION_BIND "session-bind@openssh.com" /* session_bind */

/* May it be sent to an agent (to whom asks, when not to_agent)? */
bool agent_msg_is_for(uint8_t no, bool to_agent);
enum agent_when_locked { AGENT_LOCKED_NO = 0, AGENT_LOCKED_NO_KEYS, AGENT_LOCKED_RUN };
enum agent_when_locked agent_msg_when_locked(uint8_t no);
/* "sign_request", or "unknown" */
const char *agent_msg_name(uint8_t no);

#endif
