/* SPDX-License-Identifier: ISC */
/* ssh - readers, writers and the phase table, generated from the rows */
#include "wire/ssh.h"

#define GET_u8(f)       out_.f = rd_u8(&r);
#define GET_u32(f)      out_.f = rd_u32(&r);
#define GET_u64(f)      out_.f = rd_u64(&r);
#define GET_flag(f)     out_.f = rd_bool(&r);
#define GET_str(f)      out_.f = rd_str(&r);
#define GET_text(f)     out_.f = rd_text(&r);
#define GET_names(f)    out_.f = rd_names(&r);
#define GET_mpint(f)    out_.f = rd_mpint(&r);
#define GET_rest(f)     out_.f = rd_rest(&r);
#define GET_raw16(f)    out_.f = rd_take(&r, 16);
#define GET_secret(f)   out_.f = rd_str(&r);
#define GET(kind, name) GET_##kind(name)

#define SIZE_u8(f)       n += 1;
#define SIZE_u32(f)      n += 4;
#define SIZE_u64(f)      n += 8;
#define SIZE_flag(f)     n += 1;
#define SIZE_str(f)      n += 4 + in->f.n;
#define SIZE_text(f)     n += 4 + in->f.n;
#define SIZE_names(f)    n += 4 + in->f.n;
#define SIZE_mpint(f)    n += wr_mpint_size(in->f);
#define SIZE_rest(f)     n += in->f.n;
#define SIZE_raw16(f)    n += 16;
#define SIZE_secret(f)   n += 4 + in->f.n;
#define SIZE(kind, name) SIZE_##kind(name)

#define PUT_u8(f)       wr_u8(w, in->f);
#define PUT_u32(f)      wr_u32(w, in->f);
#define PUT_u64(f)      wr_u64(w, in->f);
#define PUT_flag(f)     wr_u8(w, in->f ? 1 : 0);
#define PUT_str(f)      wr_str(w, in->f);
#define PUT_text(f)     wr_str(w, in->f);
#define PUT_names(f)    wr_str(w, in->f);
#define PUT_mpint(f)    wr_mpint(w, in->f);
#define PUT_rest(f)     wr_raw(w, in->f);
#define PUT_raw16(f)    wr_raw(w, in->f);
#define PUT_secret(f)   wr_str(w, in->f);
#define PUT(kind, name) PUT_##kind(name)

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
