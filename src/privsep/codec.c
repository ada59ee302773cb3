/* SPDX-License-Identifier: ISC */
/* codec - readers and writers of the monitor's messages, generated from the rows */
#include "privsep/monitor.h"
#include "wire/fields.h"

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
