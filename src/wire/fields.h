/* SPDX-License-Identifier: ISC */
/*
 * fields - what each field kind of a message table is in memory and on the wire
 *
 * For the generated readers and writers of wire/ssh.c and privsep/codec.c: GET reads into `out_`
 * from `r`, SIZE adds to `n` for `in`, PUT writes `in` to `w`.  A new kind is a row in each block.
 */
#ifndef WIRE_FIELDS_H
#define WIRE_FIELDS_H

#include "wire/codec.h"

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

#endif
