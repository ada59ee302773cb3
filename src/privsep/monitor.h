/* SPDX-License-Identifier: ISC */
/*
 * monitor - structs, readers and writers of the privilege-separation messages, from monitor.def
 *
 * For a request `x`: enum PS_x, struct ps_req_x and ps_rep_x, ps_get_req_x / ps_size_req_x /
 * ps_put_req_x and the same for rep. A frame is u32 length, u8 number, body; the length counts the
 * number and the body.
 */
#ifndef PRIVSEP_MONITOR_H
#define PRIVSEP_MONITOR_H

#include "privsep/monitor_fields.def"
#include "wire/codec.h"

#define PS_HEAD      5
#define PS_FRAME_MAX ((size_t)300 * 1024)      /* number and body */
#define PS_BIG_MAX   ((size_t)4 * 1024 * 1024) /* MF_BIG */

#define M(name, no, by, phase, flags) PS_##name = no,
enum ps_msg {
#include "privsep/monitor.def"
	PS_MSG_END
};
#undef M

#define PS_C_u8     uint8_t
#define PS_C_u32    uint32_t
#define PS_C_u64    uint64_t
#define PS_C_flag   bool
#define PS_C_str    struct cslice
#define PS_C_text   struct cslice
#define PS_C_mpint  struct cslice
#define PS_C_rest   struct cslice
#define PS_C_secret struct cslice

#define PS_FIELD(kind, name) PS_C_##kind name;
#define PS_DECLARE(dir, DIR, name)                                                                 \
	struct ps_##dir##_##name {                                                                 \
		DIR##_##name(PS_FIELD) uint8_t end_;                                               \
	};                                                                                         \
	MUST err_t ps_get_##dir##_##name(struct cslice body, struct ps_##dir##_##name *out);       \
	size_t ps_size_##dir##_##name(const struct ps_##dir##_##name *in);                         \
	void ps_put_##dir##_##name(struct wr *w, const struct ps_##dir##_##name *in);

#define M(name, no, by, phase, flags)                                                              \
	PS_DECLARE(req, REQ, name)                                                                 \
	PS_DECLARE(rep, REP, name)
#include "privsep/monitor.def"
#undef M

/* "sign_host", or "unknown" */
const char *ps_msg_name(uint8_t no);

#endif
