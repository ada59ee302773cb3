/* SPDX-License-Identifier: ISC */
/*
 * ssh - structs, readers, writers and the phase table of every SSH message, from ssh.def
 *
 * For a message `x`: enum SSH_MSG_x, struct ssh_x, ssh_get_x(body, &out) (body: what follows the
 * message number; borrows), ssh_size_x(&in) and ssh_put_x(&wr, &in) (both without the message
 * number).  The same for the bodies.
 */
#ifndef WIRE_SSH_H
#define WIRE_SSH_H

#include "wire/codec.h"
#include "wire/ssh_fields.def"

#define M(name, no, phase, to) SSH_MSG_##name = no,
enum ssh_msg {
#include "wire/ssh.def"
};
#undef M

#define SSH_C_u8     uint8_t
#define SSH_C_u32    uint32_t
#define SSH_C_u64    uint64_t
#define SSH_C_flag   bool
#define SSH_C_str    struct cslice
#define SSH_C_text   struct cslice
#define SSH_C_names  struct cslice
#define SSH_C_mpint  struct cslice
#define SSH_C_rest   struct cslice
#define SSH_C_raw16  struct cslice
#define SSH_C_secret struct cslice

#define SSH_FIELD(kind, name) SSH_C_##kind name;
#define SSH_DECLARE(name)                                                                          \
	struct ssh_##name {                                                                        \
		FIELDS_##name(SSH_FIELD) uint8_t end_;                                             \
	};                                                                                         \
	MUST err_t ssh_get_##name(struct cslice body, struct ssh_##name *out);                     \
	size_t ssh_size_##name(const struct ssh_##name *in);                                       \
	void ssh_put_##name(struct wr *w, const struct ssh_##name *in);

#define M(name, no, phase, to) SSH_DECLARE(name)
#include "wire/ssh.def"
#undef M
BODIES(SSH_DECLARE)

enum ssh_phase { SSH_PH_K1 = 1, SSH_PH_AUTH = 2, SSH_PH_OPEN = 4, SSH_PH_REKEY = 8 };

enum ssh_verdict {
	SSH_REFUSE = 0, /* known, but not now or not to us: the connection ends */
	SSH_UNKNOWN,    /* no such message: UNIMPLEMENTED where that is allowed */
	SSH_TAKE
};

/* The phase table.  phase: exactly one bit. */
enum ssh_verdict ssh_msg_verdict(uint8_t no, enum ssh_phase phase, bool receiver_is_server);
/* "channel_open", or "unknown" */
const char *ssh_msg_name(uint8_t no);

#endif
