/* SPDX-License-Identifier: ISC */
/* ssh - readers, writers and the phase table, generated from the rows */
#include "wire/fields.h"
#include "wire/ssh.h"

#define DEFINE(name)                                                                               \
	err_t ssh_get_##name(struct cslice body, struct ssh_##name *out)                           \
	{                                                                                          \
		struct rd r = rd_of(body);                                                         \
		struct ssh_##name out_ = {0};                                                      \
		FIELDS_##name(GET) TRY(rd_end(&r));                                                \
		*out = out_;                                                                       \
		return OK;                                                                         \
	}                                                                                          \
	size_t ssh_size_##name(const struct ssh_##name *in)                                        \
	{                                                                                          \
		size_t n = 0;                                                                      \
		(void)in;                                                                          \
		FIELDS_##name(SIZE) return n;                                                      \
	}                                                                                          \
	void ssh_put_##name(struct wr *w, const struct ssh_##name *in)                             \
	{                                                                                          \
		(void)w;                                                                           \
		(void)in;                                                                          \
		FIELDS_##name(PUT)                                                                 \
	}

#define M(name, no, phase, to) DEFINE(name)
#include "wire/ssh.def"
#undef M
BODIES(DEFINE)

#define K1    SSH_PH_K1
#define AUTH  SSH_PH_AUTH
#define OPEN  SSH_PH_OPEN
#define REKEY SSH_PH_REKEY
#define SRV   1
#define CLI   2
#define BOTH  3

struct msg_row {
	const char *name;
	uint8_t phase, to;
};

#define M(name, no, phase, to) [no] = {#name, (uint8_t)(phase), to},
static const struct msg_row rows[256] = {
#include "wire/ssh.def"
};
#undef M

enum ssh_verdict ssh_msg_verdict(uint8_t no, enum ssh_phase phase, bool receiver_is_server)
{
	const struct msg_row *row = &rows[no];
	if (row->name == NULL)
		return SSH_UNKNOWN;
	bool now = (row->phase & (uint8_t)phase) != 0;
	bool to_us = (row->to & (receiver_is_server ? SRV : CLI)) != 0;
	return now && to_us ? SSH_TAKE : SSH_REFUSE;
}

const char *ssh_msg_name(uint8_t no)
{
	return rows[no].name != NULL ? rows[no].name : "unknown";
}
