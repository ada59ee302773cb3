/* SPDX-License-Identifier: ISC */
/* gen_ssh - every SSH message as something to be made */
#include "gen.h"
#include "wire/ssh.h"

#define M(name, no, phase, to)                                                                     \
	static void message_##name(struct wr *w)                                                   \
	{                                                                                          \
		wr_u8(w, no);                                                                      \
		FIELDS_##name(GEN)                                                                 \
	}
#include "wire/ssh.def"
#undef M

gen_message_fn *const gen_messages[] = {
#define M(name, no, phase, to) message_##name,
#include "wire/ssh.def"
#undef M
};
const size_t gen_messages_n = ARRAY_N(gen_messages);
