/* SPDX-License-Identifier: ISC */
/*
 * Every message and every body of the tables: written and read it is the same, cut anywhere it is
 * refused, a byte too many is refused.  Each row is tested by the fields it has, so a new row is
 * tested as soon as it stands there.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/rng.h"
#include "wire/ssh.h"

static struct rng_seeded rng;
static uint8_t pool[8][64]; /* bytes for the fields of one message */
static size_t pool_at;
static bool has_rest;
static unsigned tested;

/* Fresh bytes of a random length that every kind takes: printable, no comma, first one not
 * negative. */
static struct cslice bytes(size_t n)
{
	uint8_t *p = pool[pool_at++ % 8];
	for (size_t i = 0; i < n; i++)
		p[i] = (uint8_t)('a' + rng_below(&rng.rng, 26));
	return cslice_of(p, n);
}

#define FILL_u8(f)     in.f = (uint8_t)rng_below(&rng.rng, 256);
#define FILL_u32(f)    in.f = rng_below(&rng.rng, UINT32_MAX);
#define FILL_u64(f)    in.f = (uint64_t)rng_below(&rng.rng, UINT32_MAX) << 32 | 5;
#define FILL_flag(f)   in.f = rng_below(&rng.rng, 2) == 1;
#define FILL_str(f)    in.f = bytes(rng_below(&rng.rng, 60));
#define FILL_text(f)   in.f = bytes(rng_below(&rng.rng, 60));
#define FILL_names(f)  in.f = bytes(rng_below(&rng.rng, 60));
#define FILL_secret(f) in.f = bytes(rng_below(&rng.rng, 60));
#define FILL_mpint(f)  in.f = bytes(rng_below(&rng.rng, 60));
#define FILL_raw16(f)  in.f = bytes(16);
#define FILL_rest(f)                                                                               \
	in.f = bytes(rng_below(&rng.rng, 60));                                                     \
	has_rest = true;
#define FILL(kind, name) FILL_##kind(name)

#define SAME_u8(f)       assert_int_equal(in.f, out.f);
#define SAME_u32(f)      assert_int_equal(in.f, out.f);
#define SAME_u64(f)      assert_true(in.f == out.f);
#define SAME_flag(f)     assert_int_equal(in.f, out.f);
#define SAME_slice(f)    assert_true(cslice_eq(in.f, out.f));
#define SAME_str(f)      SAME_slice(f)
#define SAME_text(f)     SAME_slice(f)
#define SAME_names(f)    SAME_slice(f)
#define SAME_secret(f)   SAME_slice(f)
#define SAME_mpint(f)    SAME_slice(f)
#define SAME_raw16(f)    SAME_slice(f)
#define SAME_rest(f)     SAME_slice(f)
#define SAME(kind, name) SAME_##kind(name)

#define TEST(name)                                                                                 \
	static void test_##name(void)                                                              \
	{                                                                                          \
		struct ssh_##name in = {0}, out = {0};                                             \
		uint8_t room[700];                                                                 \
		has_rest = false;                                                                  \
		FIELDS_##name(FILL) size_t n = ssh_size_##name(&in);                               \
		struct wr w = wr_of((struct slice){room, sizeof(room)});                           \
		ssh_put_##name(&w, &in);                                                           \
		assert_int_equal(wr_end(&w), OK);                                                  \
		assert_int_equal(w.n, n);                                                          \
		assert_int_equal(ssh_get_##name(cslice_of(room, n), &out), OK);                    \
		FIELDS_##name(SAME) for (size_t cut = 0; cut < n && !has_rest; cut++)              \
		{                                                                                  \
			struct ssh_##name none = {0}, before = {0};                                \
			assert_int_equal(ssh_get_##name(cslice_of(room, cut), &none), E_FORMAT);   \
			assert_memory_equal(&none, &before, sizeof(none));                         \
		}                                                                                  \
		room[n] = 0;                                                                       \
		if (!has_rest)                                                                     \
			assert_int_equal(                                                          \
				ssh_get_##name(cslice_of(room, n + 1), &out), E_TRAILING);         \
		tested++;                                                                          \
	}

#define M(name, no, phase, to) TEST(name)
#include "wire/ssh.def"
#undef M
BODIES(TEST)

static void every_message_and_body_goes_there_and_back(void **state)
{
	(void)state;
	rng_seeded_init(&rng, 1);
	for (int i = 0; i < 50; i++) {
#define M(name, no, phase, to) test_##name();
#include "wire/ssh.def"
#undef M
#define RUN(name) test_##name();
		BODIES(RUN)
	}
	assert_true(tested > 50 * 50);
}

static void numbers_and_names_are_those_of_the_rfcs(void **state)
{
	(void)state;
	static const struct {
		uint8_t no;
		const char *name;
	} rows[] = {{1, "disconnect"}, {2, "ignore"}, {3, "unimplemented"}, {4, "debug"},
		{5, "service_request"}, {6, "service_accept"}, {7, "ext_info"}, {20, "kexinit"},
		{21, "newkeys"}, {30, "kex_init"}, {31, "kex_reply"}, {32, "gex_init"},
		{33, "gex_reply"}, {34, "gex_request"}, {50, "userauth_request"},
		{51, "userauth_failure"}, {52, "userauth_success"}, {53, "userauth_banner"},
		{80, "global_request"}, {81, "request_success"}, {82, "request_failure"},
		{90, "channel_open"}, {91, "channel_open_confirmation"},
		{92, "channel_open_failure"}, {93, "channel_window_adjust"}, {94, "channel_data"},
		{95, "channel_extended_data"}, {96, "channel_eof"}, {97, "channel_close"},
		{98, "channel_request"}, {99, "channel_success"}, {100, "channel_failure"},
		{192, "ping"}, {193, "pong"}, {0, "unknown"}, {8, "unknown"}, {255, "unknown"}};
	for (size_t i = 0; i < ARRAY_N(rows); i++)
		assert_string_equal(ssh_msg_name(rows[i].no), rows[i].name);
}

/* Bytes as RFC 4253 and 4254 draw them. */
static void forms_are_those_of_the_rfcs(void **state)
{
	(void)state;
	uint8_t room[100];
	struct wr w = wr_of((struct slice){room, sizeof(room)});
	ssh_put_channel_open(&w,
		&(struct ssh_channel_open){
			.type = cslice_str("session"), .sender = 1, .window = 2, .maxpacket = 3});
	assert_int_equal(w.n, 4 + 7 + 12);
	assert_memory_equal(room, "\0\0\0\7session\0\0\0\1\0\0\0\2\0\0\0\3", w.n);
	w = wr_of((struct slice){room, sizeof(room)});
	ssh_put_disconnect(
		&w, &(struct ssh_disconnect){.reason = 11, .description = cslice_str("x")});
	assert_int_equal(w.n, 13);
	assert_memory_equal(room, "\0\0\0\x0b\0\0\0\1x\0\0\0\0", w.n);
	w = wr_of((struct slice){room, sizeof(room)});
	ssh_put_gex_init(&w, &(struct ssh_gex_init){.e = cslice_str("\x80")});
	assert_int_equal(w.n, 6);
	assert_memory_equal(room, "\0\0\0\2\0\x80", w.n);
}

static void the_phase_table_refuses_what_opened_doors_before(void **state)
{
	(void)state;
	/* success sent by a client (libssh, 2018), channels before login (Erlang, 2025), EXT_INFO
	 * before keys */
	for (int ph = SSH_PH_K1; ph <= SSH_PH_REKEY; ph <<= 1)
		assert_int_equal(ssh_msg_verdict(52, (enum ssh_phase)ph, true), SSH_REFUSE);
	for (uint8_t no = 80; no <= 100; no++) {
		if (ssh_msg_verdict(no, SSH_PH_OPEN, true) != SSH_TAKE)
			continue;
		assert_int_equal(ssh_msg_verdict(no, SSH_PH_AUTH, true), SSH_REFUSE);
		assert_int_equal(ssh_msg_verdict(no, SSH_PH_AUTH, false), SSH_REFUSE);
		assert_int_equal(ssh_msg_verdict(no, SSH_PH_K1, true), SSH_REFUSE);
	}
	assert_int_equal(ssh_msg_verdict(7, SSH_PH_K1, true), SSH_REFUSE);
	assert_int_equal(ssh_msg_verdict(7, SSH_PH_K1, false), SSH_REFUSE);
	assert_int_equal(ssh_msg_verdict(8, SSH_PH_AUTH, false), SSH_UNKNOWN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_message_and_body_goes_there_and_back),
		cmocka_unit_test(numbers_and_names_are_those_of_the_rfcs),
		cmocka_unit_test(forms_are_those_of_the_rfcs),
		cmocka_unit_test(the_phase_table_refuses_what_opened_doors_before),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
