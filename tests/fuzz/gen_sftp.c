/* SPDX-License-Identifier: ISC */
/* gen_sftp - every SFTP request as something to be made: of files that are there, handles that are
 * open */
#include "gen.h"
#include "sftp/sftp.h"

static void some_u32(struct wr *w)
{
	gen_u32(w);
}

static void some_u64(struct wr *w)
{
	static const uint64_t known[] = {
		0, 1, 5, 100, 65536, 1 << 20, 1 << 30, INT64_MAX, UINT64_MAX};
	wr_u64(w, known[gen_roll(ARRAY_N(known))]);
}

static void some_text(struct wr *w)
{
	static const char *const paths[] = {"/file", "/dir", "/dir/inner", "/link", "/dangling",
		"/", "/new", "/dir/new", "/dir/..", ".", "", "~", "~me/x", "~nobody", "me",
		"/link/x", "file", "/dir/inner/x", "/a/b"};
	wr_str(w, cslice_str(paths[gen_roll(ARRAY_N(paths))]));
}

/* A handle, most often; else bytes. */
static void some_str(struct wr *w)
{
	static const uint8_t zeros[3000];
	if (gen_roll(6) == 0) {
		wr_str(w, cslice_of(zeros, gen_roll(sizeof(zeros))));
		return;
	}
	wr_u32(w, 8);
	wr_u32(w, gen_roll(4));
	wr_u32(w, 1 + gen_roll(2));
}

static void some_attrs(struct wr *w)
{
	struct sf_attr a = {.flags = gen_roll(16), .size = gen_roll(3000), .mode = gen_roll(65536)};
	sf_wr_attr(w, &a);
}

#define SOME(kind, name) some_##kind(w);
#define Q(name, no, changes)                                                                       \
	static void message_##name(struct wr *w)                                                   \
	{                                                                                          \
		wr_u8(w, no);                                                                      \
		FIELDS_##name(SOME)                                                                \
	}
#define X(name, policy, wire, value, changes)                                                      \
	static void message_##name(struct wr *w)                                                   \
	{                                                                                          \
		wr_u8(w, SF_MSG_extended);                                                         \
		gen_u32(w);                                                                        \
		wr_str(w, cslice_str(wire));                                                       \
		FIELDS_##name(SOME)                                                                \
	}
#include "sftp/sftp.def"

gen_message_fn *const gen_messages[] = {
#define Q(name, no, changes)                  message_##name,
#define X(name, policy, wire, value, changes) message_##name,
#include "sftp/sftp.def"
};
const size_t gen_messages_n = ARRAY_N(gen_messages);
