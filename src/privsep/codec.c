/* SPDX-License-Identifier: ISC */
/* codec - readers and writers of the monitor's messages, generated from the rows */
#include "privsep/monitor.h"

#define GET_u8(f)       out_.f = rd_u8(&r);
#define GET_u32(f)      out_.f = rd_u32(&r);
#define GET_u64(f)      out_.f = rd_u64(&r);
#define GET_flag(f)     out_.f = rd_bool(&r);
#define GET_str(f)      out_.f = rd_str(&r);
#define GET_text(f)     out_.f = rd_text(&r);
#define GET_mpint(f)    out_.f = rd_mpint(&r);
#define GET_rest(f)     out_.f = rd_rest(&r);
#define GET_secret(f)   out_.f = rd_str(&r);
#define GET(kind, name) GET_##kind(name)

#define SIZE_u8(f)       n += 1;
#define SIZE_u32(f)      n += 4;
#define SIZE_u64(f)      n += 8;
#define SIZE_flag(f)     n += 1;
#define SIZE_str(f)      n += 4 + in->f.n;
#define SIZE_text(f)     n += 4 + in->f.n;
#define SIZE_mpint(f)    n += wr_mpint_size(in->f);
#define SIZE_rest(f)     n += in->f.n;
#define SIZE_secret(f)   n += 4 + in->f.n;
#define SIZE(kind, name) SIZE_##kind(name)

#define PUT_u8(f)       wr_u8(w, in->f);
#define PUT_u32(f)      wr_u32(w, in->f);
#define PUT_u64(f)      wr_u64(w, in->f);
#define PUT_flag(f)     wr_u8(w, in->f ? 1 : 0);
#define PUT_str(f)      wr_str(w, in->f);
#define PUT_text(f)     wr_str(w, in->f);
#define PUT_mpint(f)    wr_mpint(w, in->f);
#define PUT_rest(f)     wr_raw(w, in->f);
#define PUT_secret(f)   wr_str(w, in->f);
#define PUT(kind, name) PUT_##kind(name)

#define DEFINE(dir, DIR, name)                                                                     \
	err_t ps_get_##dir##_##name(struct cslice body, struct ps_##dir##_##name *out)             \
	{                                                                                          \
		struct rd r = rd_of(body);                                                         \
		struct ps_##dir##_##name out_ = {0};                                               \
		DIR##_##name(GET) TRY(rd_end(&r));                                                 \
		*out = out_;                                                                       \
		return OK;                                                                         \
	}                                                                                          \
	size_t ps_size_##dir##_##name(const struct ps_##dir##_##name *in)                          \
	{                                                                                          \
		size_t n = 0;                                                                      \
		(void)in;                                                                          \
		DIR##_##name(SIZE) return n;                                                       \
	}                                                                                          \
	void ps_put_##dir##_##name(struct wr *w, const struct ps_##dir##_##name *in)               \
	{                                                                                          \
		(void)w;                                                                           \
		(void)in;                                                                          \
		DIR##_##name(PUT)                                                                  \
	}

#define M(name, no, by, phase, flags)                                                              \
	DEFINE(req, REQ, name)                                                                     \
	DEFINE(rep, REP, name)
#include "privsep/monitor.def"
#undef M

#define M(name, no, by, phase, flags) [no] = #name,
static const char *const names[PS_MSG_END] = {
#include "privsep/monitor.def"
};
#undef M

const char *ps_msg_name(uint8_t no)
{
	return no < PS_MSG_END && names[no] != NULL ? names[no] : "unknown";
}
