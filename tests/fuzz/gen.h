/* SPDX-License-Identifier: ISC */
/*
 * gen - fields of messages, likely and unlikely ones, for the mutator
 *
 * One function a field kind of the .def tables; a table of messages makes its rows of them.
 */
#ifndef FUZZ_GEN_H
#define FUZZ_GEN_H

#include "wire/codec.h"

void gen_seed(uint64_t seed);
uint32_t gen_roll(uint32_t bound);

void gen_u8(struct wr *w);
void gen_u32(struct wr *w);
void gen_u64(struct wr *w);
void gen_flag(struct wr *w);
void gen_str(struct wr *w);
void gen_names(struct wr *w);
void gen_mpint(struct wr *w);
void gen_rest(struct wr *w);
void gen_raw16(struct wr *w);
#define gen_text        gen_str
#define gen_secret      gen_str
#define GEN(kind, name) gen_##kind(w);

/* The messages that a script may be given: number and body.  Each target links one such table. */
typedef void gen_message_fn(struct wr *w);
extern gen_message_fn *const gen_messages[];
extern const size_t gen_messages_n;

#endif
