/* SPDX-License-Identifier: ISC */
/* Every SFTP message: what is written is read again; what is cut is refused; more is passed over.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "sftp/sftp.h"

static const uint8_t bytes[] = "one value with some length";
static const uint8_t pairs[] = "\0\0\0\1a\0\0\0\2bc\0\0\0\0\0\0\0\1d";

#define FILL_u32(f)      in.f = 0x01020304;
#define FILL_u64(f)      in.f = 0x0102030405060708;
#define FILL_str(f)      in.f = cslice_of(bytes, sizeof(bytes));
#define FILL_text(f)     in.f = cslice_of(bytes, sizeof(bytes) - 1);
#define FILL_rest(f)     in.f = cslice_of(bytes, sizeof(bytes));
#define FILL_attrs(f)    in.f = some_attrs(flags);
#define FILL(kind, name) FILL_##kind(name)

#define SAME_u32(f)      assert_int_equal(in.f, out.f);
#define SAME_u64(f)      assert_int_equal(in.f, out.f);
#define SAME_str(f)      assert_true(cslice_eq(in.f, out.f));
#define SAME_text(f)     assert_true(cslice_eq(in.f, out.f));
#define SAME_rest(f)     assert_true(cslice_eq(in.f, out.f));
#define SAME_attrs(f)    same_attrs(&in.f, &out.f);
#define SAME(kind, name) SAME_##kind(name)

/* A message with a `rest` at its end can be shorter inside that field. */
#define REST_u32(f)
#define REST_u64(f)
#define REST_str(f)
#define REST_text(f)
#define REST_rest(f) rest = sizeof(bytes);
#define REST_attrs(f)
#define REST(kind, name) REST_##kind(name)

static unsigned messages;

static struct sf_attr some_attrs(uint32_t flags)
{
	struct sf_attr a = {.flags = flags};
	if ((flags & SF_A_SIZE) != 0)
		a.size = 0x1122334455667788;
	if ((flags & SF_A_OWNER) != 0)
		a.uid = 7, a.gid = 8;
	if ((flags & SF_A_MODE) != 0)
		a.mode = 0100644;
	if ((flags & SF_A_TIMES) != 0)
		a.atime = 9, a.mtime = 10;
	if ((flags & SF_A_EXTENDED) != 0)
		a.extended_n = 2, a.extended = cslice_of(pairs, sizeof(pairs) - 1);
	return a;
}

static void same_attrs(const struct sf_attr *a, const struct sf_attr *b)
{
	assert_int_equal(a->flags, b->flags);
	assert_true(a->size == b->size && a->uid == b->uid && a->gid == b->gid);
	assert_true(a->mode == b->mode && a->atime == b->atime && a->mtime == b->mtime);
	assert_true(a->extended_n == b->extended_n && cslice_eq(a->extended, b->extended));
}

#define CHECK(name)                                                                                \
	static void check_##name(uint32_t flags)                                                   \
	{                                                                                          \
		struct sf_##name in = {0}, out = {0};                                              \
		size_t rest = 0;                                                                   \
		(void)flags;                                                                       \
		FIELDS_##name(FILL) FIELDS_##name(REST) size_t n = sf_size_##name(&in);            \
		uint8_t *room = malloc(n + 1);                                                     \
		assert_non_null(room);                                                             \
		struct wr w = wr_of((struct slice){room, n});                                      \
		sf_put_##name(&w, &in);                                                            \
		assert_int_equal(wr_end(&w), OK);                                                  \
		assert_int_equal(w.n, n);                                                          \
		assert_int_equal(sf_get_##name(cslice_of(room, n), &out), OK);                     \
		FIELDS_##name(SAME) for (size_t cut = rest; cut < n; cut++) assert_int_equal(      \
			sf_get_##name(cslice_of(room, n - cut - 1), &out), E_FORMAT);              \
		room[n] = 0;                                                                       \
		if (rest == 0)                                                                     \
			assert_int_equal(sf_get_##name(cslice_of(room, n + 1), &out), OK);         \
		free(room);                                                                        \
		messages++;                                                                        \
	}
#define Q(name, no, changes)                  CHECK(name)
#define R(name, no)                           CHECK(name)
#define X(name, policy, wire, value, changes) CHECK(name)
#include "sftp/sftp.def"
SF_BODIES(CHECK)

#define CALL(name) check_##name(flags);
static void every_message_with(uint32_t flags)
{
#define Q(name, no, changes)                  CALL(name)
#define R(name, no)                           CALL(name)
#define X(name, policy, wire, value, changes) CALL(name)
#include "sftp/sftp.def"
	SF_BODIES(CALL)
}

static void every_message_round_trips_and_refuses_what_is_cut(void **state)
{
	for (uint32_t flags = 0; flags < 16; flags++)
		every_message_with(flags);
	every_message_with(SF_A_EXTENDED);
	every_message_with(SF_A_EXTENDED | 15);
	assert_int_equal(messages, 18 * (18 + 6 + 11 + 8));
}

static void a_path_holds_no_nul(void **state)
{
	struct sf_remove in = {.id = 1, .path = cslice_of("a\0b", 3)}, out;
	uint8_t room[64];
	struct wr w = wr_of((struct slice){room, sizeof(room)});
	sf_put_remove(&w, &in);
	assert_int_equal(sf_get_remove(cslice_of(room, w.n), &out), E_FORMAT);
}

static void a_count_of_pairs_that_are_not_there_is_refused(void **state)
{
	static const uint8_t many[] = "\0\0\0\1\x80\0\0\0\xff\xff\xff\xff\0\0\0\0\0\0\0\0";
	struct rd r = rd_of(cslice_of(many + 4, sizeof(many) - 5));
	struct sf_attr a = sf_rd_attr(&r);
	assert_true(r.bad);
	assert_int_equal(a.flags, 0);
}

static void entries_are_taken_one_by_one(void **state)
{
	uint8_t room[256];
	struct wr w = wr_of((struct slice){room, sizeof(room)});
	for (uint32_t i = 0; i < 3; i++) {
		struct sf_entry e = {.filename = cslice_of(bytes, i), .a = some_attrs(i)};
		sf_put_entry(&w, &e);
	}
	struct cslice rest = cslice_of(room, w.n);
	struct sf_entry out;
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(sf_next_entry(&rest, &out), OK);
		assert_int_equal(out.filename.n, i);
		assert_int_equal(out.a.flags, i);
	}
	assert_int_equal(rest.n, 0);
	assert_int_equal(sf_next_entry(&rest, &out), E_FORMAT);
}

static void extensions_and_statuses_have_their_names(void **state)
{
	enum sf_ext x;
	assert_int_equal(sf_ext_find(cslice_str("copy-data"), &x), OK);
	assert_int_equal(x, SF_EXT_copy_data);
	assert_int_equal(sf_ext_find(cslice_str("copy-dat"), &x), E_NAME);
	assert_int_equal(sf_ext_find(cslice_str(""), &x), E_NAME);
	assert_string_equal(sf_ext_wire(SF_EXT_statvfs), "statvfs@openssh.com");
	assert_string_equal(sf_ext_value(SF_EXT_statvfs), "2");
	assert_string_equal(sf_status_text(SF_eof), "End of file");
	assert_string_equal(sf_status_text(9), "Unknown status");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_message_round_trips_and_refuses_what_is_cut),
		cmocka_unit_test(a_path_holds_no_nul),
		cmocka_unit_test(a_count_of_pairs_that_are_not_there_is_refused),
		cmocka_unit_test(entries_are_taken_one_by_one),
		cmocka_unit_test(extensions_and_statuses_have_their_names),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
