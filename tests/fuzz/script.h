/* SPDX-License-Identifier: ISC */
/*
 * script - an input as a list of steps, so that a mutation changes a message and not the frame
 * around the rest
 *
 * An input of a script target is SCRIPT_HEAD bytes that choose the scene, then steps: u8 kind, u16
 * n, n bytes.  mutate.c changes inputs step by step and makes new messages from the rows of
 * wire/ssh.def.
 */
#ifndef FUZZ_SCRIPT_H
#define FUZZ_SCRIPT_H

#include "fuzz.h"

#define SCRIPT_HEAD 4

enum script_kind {
	SCRIPT_MSG,    /* u8 number, body: the peer says it, as a whole and valid packet */
	SCRIPT_RAW,    /* bytes on the wire */
	SCRIPT_TICK,   /* u32 ms pass */
	SCRIPT_ANSWER, /* u8 verdict, data: to the question that is open */
	SCRIPT_ODD,   /* u8 padding length, u8 length change, payload: a packet with a right MAC and
			 wrong insides */
	SCRIPT_DRAIN, /* u16 bytes of ours are sent */
	SCRIPT_OWN,   /* u8 action, arguments: the layer above does something of its own */
	SCRIPT_PACKED, /* u8 number, body: as SCRIPT_MSG, but not deflated where compression is on
			*/
	SCRIPT_KINDS
};

struct script_step {
	enum script_kind kind;
	struct cslice data;
};

/* Takes the next step off the input; false at the end. */
static inline bool script_next(struct cslice *in, struct script_step *out)
{
	if (in->n < 3)
		return false;
	out->kind = (enum script_kind)(fuzz_u8(in) % SCRIPT_KINDS);
	out->data = fuzz_take(in, fuzz_u16(in));
	return true;
}

#endif
