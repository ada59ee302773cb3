/* SPDX-License-Identifier: ISC */
/* gen_sftp_reply - every SFTP reply as something to be made, right more often than not */
#include "gen.h"
#include "sftp/sftp.h"

static void some_u32(struct wr *w)
{
	gen_u32(w);
}

static void some_str(struct wr *w)
{
	static const uint8_t bytes[2000];
	static const char *const texts[] = {"", "h", "handle", "file", "a/b", "..", ".", "/",
		"Failure", "a name that is longer than others"};
	if (gen_roll(4) == 0)
		wr_str(w, cslice_of(bytes, gen_roll(sizeof(bytes))));
	else
		wr_str(w, cslice_str(texts[gen_roll(ARRAY_N(texts))]));
}

static void some_attrs(struct wr *w)
{
	struct sf_attr a = {.flags = gen_roll(16), .size = gen_roll(3000), .mode = gen_roll(65536)};
	sf_wr_attr(w, &a);
}

static void some_rest(struct wr *w)
{
	for (uint32_t i = gen_roll(5); i > 0; i--) {
		some_str(w);
		some_str(w);
		some_attrs(w);
	}
}

#define SOME(kind, name) some_##kind(w);
#define R(name, no)                                                                                \
	static void message_##name(struct wr *w)                                                   \
	{                                                                                          \
		wr_u8(w, no);                                                                      \
		FIELDS_##name(SOME)                                                                \
	}
#include "sftp/sftp.def"

static void message_version(struct wr *w)
{
	wr_u8(w, SF_MSG_version);
	wr_u32(w, gen_roll(8) == 0 ? gen_roll(6) : SF_VERSION);
	for (uint32_t i = gen_roll(4); i > 0; i--) {
		enum sf_ext x = (enum sf_ext)gen_roll(SF_EXT_N);
		wr_str(w, cslice_str(sf_ext_wire(x)));
		wr_str(w, cslice_str(gen_roll(8) == 0 ? "9" : sf_ext_value(x)));
	}
}

static void message_limits(struct wr *w)
{
	wr_u8(w, SF_MSG_extended_reply);
	gen_u32(w);
	for (int i = 0; i < 4; i++)
		gen_u64(w);
}

gen_message_fn *const gen_messages[] = {
	message_version,
	message_limits,
#define R(name, no) message_##name,
#include "sftp/sftp.def"
};
const size_t gen_messages_n = ARRAY_N(gen_messages);
