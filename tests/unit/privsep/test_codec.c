/* SPDX-License-Identifier: ISC */
/* Every message of the monitor: what is written is read again; what is cut or longer is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "privsep/monitor.h"

static const uint8_t bytes[] = "one value with some length";

#define FILL_u8(f)       in.f = 7;
#define FILL_u32(f)      in.f = 0x01020304;
#define FILL_u64(f)      in.f = 0x0102030405060708;
#define FILL_flag(f)     in.f = true;
#define FILL_str(f)      in.f = cslice_of(bytes, sizeof(bytes));
#define FILL_text(f)     in.f = cslice_of(bytes, sizeof(bytes) - 1);
#define FILL_mpint(f)    in.f = cslice_of("\x80\x01", 2);
#define FILL_rest(f)     in.f = cslice_of(bytes, sizeof(bytes));
#define FILL_secret(f)   in.f = cslice_of(bytes, sizeof(bytes));
#define FILL(kind, name) FILL_##kind(name)

#define SAME_u8(f)       assert_int_equal(in.f, out.f);
#define SAME_u32(f)      assert_int_equal(in.f, out.f);
#define SAME_u64(f)      assert_int_equal(in.f, out.f);
#define SAME_flag(f)     assert_int_equal(in.f, out.f);
#define SAME_str(f)      assert_true(cslice_eq(in.f, out.f));
#define SAME_text(f)     assert_true(cslice_eq(in.f, out.f));
#define SAME_mpint(f)    assert_true(cslice_eq(in.f, out.f));
#define SAME_rest(f)     assert_true(cslice_eq(in.f, out.f));
#define SAME_secret(f)   assert_true(cslice_eq(in.f, out.f));
#define SAME(kind, name) SAME_##kind(name)

/* A message with a `rest` at its end can be longer and, inside that field, shorter. */
#define REST_u8(f)
#define REST_u32(f)
#define REST_u64(f)
#define REST_flag(f)
#define REST_str(f)
#define REST_text(f)
#define REST_mpint(f)
#define REST_rest(f) rest = sizeof(bytes);
#define REST_secret(f)
#define REST(kind, name) REST_##kind(name)

static unsigned messages;

#define CHECK(dir, DIR, name)                                                                      \
	static void dir##_##name(void)                                                             \
	{                                                                                          \
		struct ps_##dir##_##name in = {0}, out;                                            \
		size_t rest = 0;                                                                   \
		DIR##_##name(FILL) DIR##_##name(REST) size_t n = ps_size_##dir##_##name(&in);      \
		uint8_t *room = malloc(n + 1);                                                     \
		assert_non_null(room);                                                             \
		struct wr w = wr_of((struct slice){room, n});                                      \
		ps_put_##dir##_##name(&w, &in);                                                    \
		assert_int_equal(wr_end(&w), OK);                                                  \
		assert_int_equal(w.n, n);                                                          \
		assert_int_equal(ps_get_##dir##_##name(cslice_of(room, n), &out), OK);             \
		DIR##_##name(SAME) for (size_t cut = rest; cut < n; cut++) assert_int_equal(       \
			ps_get_##dir##_##name(cslice_of(room, n - cut - 1), &out), E_FORMAT);      \
		room[n] = 0;                                                                       \
		if (rest == 0)                                                                     \
			assert_int_equal(                                                          \
				ps_get_##dir##_##name(cslice_of(room, n + 1), &out), E_TRAILING);  \
		free(room);                                                                        \
		messages++;                                                                        \
	}
#define M(name, no, by, phase, flags)                                                              \
	CHECK(req, REQ, name)                                                                      \
	CHECK(rep, REP, name)
#include "privsep/monitor.def"
#undef M

static void every_message_round_trips_and_refuses_other_lengths(void **state)
{
#define M(name, no, by, phase, flags)                                                              \
	req_##name();                                                                              \
	rep_##name();
#include "privsep/monitor.def"
#undef M
	assert_int_equal(messages, 2 * (PS_MSG_END - 1));
}

static void text_holds_no_nul(void **state)
{
	struct ps_req_pwnam in = {.user = cslice_of("a\0b", 3), .service = cslice_str("x")}, out;
	uint8_t room[64];
	struct wr w = wr_of((struct slice){room, sizeof(room)});
	ps_put_req_pwnam(&w, &in);
	assert_int_equal(ps_get_req_pwnam(cslice_of(room, w.n), &out), E_FORMAT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_message_round_trips_and_refuses_other_lengths),
		cmocka_unit_test(text_holds_no_nul),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
