/* SPDX-License-Identifier: ISC */
/*
 * Every message and body of the agent protocol goes there and back; cut anywhere it is refused, a
 * byte too many is refused; numbers, and what a locked agent does with each, written down a second
 * time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/rng.h"
#include "wire/agent.h"

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
#define FILL_flag(f)   in.f = rng_below(&rng.rng, 2) == 1;
#define FILL_str(f)    in.f = bytes(rng_below(&rng.rng, 60));
#define FILL_text(f)   in.f = bytes(rng_below(&rng.rng, 60));
#define FILL_secret(f) in.f = bytes(rng_below(&rng.rng, 60));
#define FILL_rest(f)                                                                               \
	in.f = bytes(rng_below(&rng.rng, 60));                                                     \
	has_rest = true;
#define FILL(kind, name) FILL_##kind(name)

#define SAME_u8(f)       assert_int_equal(in.f, out.f);
#define SAME_u32(f)      assert_int_equal(in.f, out.f);
#define SAME_flag(f)     assert_int_equal(in.f, out.f);
#define SAME_slice(f)    assert_true(cslice_eq(in.f, out.f));
#define SAME_str(f)      SAME_slice(f)
#define SAME_text(f)     SAME_slice(f)
#define SAME_secret(f)   SAME_slice(f)
#define SAME_rest(f)     SAME_slice(f)
#define SAME(kind, name) SAME_##kind(name)

#define TEST(name)                                                                                 \
	static void test_##name(void)                                                              \
	{                                                                                          \
		struct agent_##name in = {0}, out = {0};                                           \
		uint8_t room[700];                                                                 \
		has_rest = false;                                                                  \
		AGENT_FIELDS_##name(FILL) size_t n = agent_size_##name(&in);                       \
		struct wr w = wr_of((struct slice){room, sizeof(room)});                           \
		agent_put_##name(&w, &in);                                                         \
		assert_int_equal(wr_end(&w), OK);                                                  \
		assert_int_equal(w.n, n);                                                          \
		assert_int_equal(agent_get_##name(cslice_of(room, n), &out), OK);                  \
		AGENT_FIELDS_##name(SAME) for (size_t cut = 0; cut < n && !has_rest; cut++)        \
		{                                                                                  \
			struct agent_##name none = {0}, before = {0};                              \
			assert_int_equal(agent_get_##name(cslice_of(room, cut), &none), E_FORMAT); \
			assert_memory_equal(&none, &before, sizeof(none));                         \
		}                                                                                  \
		room[n] = 0;                                                                       \
		if (!has_rest)                                                                     \
			assert_int_equal(                                                          \
				agent_get_##name(cslice_of(room, n + 1), &out), E_TRAILING);       \
		tested++;                                                                          \
	}

#define M(name, no, to, locked) TEST(name)
#include "wire/agent.def"
#undef M
AGENT_BODIES(TEST)

static void every_message_and_body_goes_there_and_back(void **state)
{
	(void)state;
	rng_seeded_init(&rng, 1);
	for (int i = 0; i < 50; i++) {
#define M(name, no, to, locked) test_##name();
#include "wire/agent.def"
#undef M
#define RUN(name) test_##name();
		AGENT_BODIES(RUN)
	}
	assert_true(tested > 20 * 50);
}

static void numbers_receivers_and_locks_are_those_of_the_protocol(void **state)
{
	(void)state;
	static const struct {
		uint8_t no;
		const char *name;
		bool to_agent;
		enum agent_when_locked locked;
	} rows[] = {
		{5, "failure", false, AGENT_LOCKED_NO},
		{6, "success", false, AGENT_LOCKED_NO},
		{11, "request_identities", true, AGENT_LOCKED_NO_KEYS},
		{12, "identities_answer", false, AGENT_LOCKED_NO},
		{13, "sign_request", true, AGENT_LOCKED_NO},
		{14, "sign_response", false, AGENT_LOCKED_NO},
		{17, "add_identity", true, AGENT_LOCKED_NO},
		{18, "remove_identity", true, AGENT_LOCKED_NO},
		{19, "remove_all_identities", true, AGENT_LOCKED_NO},
		{20, "add_smartcard_key", true, AGENT_LOCKED_NO},
		{21, "remove_smartcard_key", true, AGENT_LOCKED_NO},
		{22, "lock", true, AGENT_LOCKED_NO},
		{23, "unlock", true, AGENT_LOCKED_RUN},
		{25, "add_id_constrained", true, AGENT_LOCKED_NO},
		{26, "add_smartcard_key_constrained", true, AGENT_LOCKED_NO},
		{27, "extension", true, AGENT_LOCKED_RUN},
		{28, "extension_failure", false, AGENT_LOCKED_NO},
		{29, "extension_response", false, AGENT_LOCKED_NO},
	};
	size_t known = 0;
	for (size_t i = 0; i < ARRAY_N(rows); i++) {
		assert_string_equal(agent_msg_name(rows[i].no), rows[i].name);
		assert_int_equal(agent_msg_is_for(rows[i].no, true), rows[i].to_agent);
		assert_int_equal(agent_msg_is_for(rows[i].no, false), !rows[i].to_agent);
		assert_int_equal(agent_msg_when_locked(rows[i].no), rows[i].locked);
	}
	for (unsigned no = 0; no < 256; no++)
		known +=
			agent_msg_is_for((uint8_t)no, true) || agent_msg_is_for((uint8_t)no, false);
	assert_int_equal(known, ARRAY_N(rows));
	assert_string_equal(agent_msg_name(0), "unknown");
}

static void lists_are_taken_one_by_one(void **state)
{
	(void)state;
	static const uint8_t bytes_of[] = {
		0, 0, 0, 1, 'b', 0, 0, 0, 2, 'c', 'd', 0, 0, 0, 0, 0, 0, 0, 9};
	struct cslice rest = cslice_of(bytes_of, sizeof(bytes_of));
	struct agent_identity id = {0};
	assert_int_equal(agent_next_identity(&rest, &id), OK);
	assert_true(cslice_eq_str(id.blob, "b") && cslice_eq_str(id.comment, "cd"));
	assert_int_equal(rest.n, 8);
	assert_int_equal(agent_next_identity(&rest, &id), E_FORMAT);
	assert_int_equal(rest.n, 8);
	struct agent_dest_hop_key hop = {0};
	struct cslice one = cslice_of("\0\0\0\1k\1more", 10);
	assert_int_equal(agent_next_dest_hop_key(&one, &hop), OK);
	assert_true(cslice_eq_str(hop.blob, "k") && hop.is_ca);
	assert_true(cslice_eq_str(one, "more"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_message_and_body_goes_there_and_back),
		cmocka_unit_test(numbers_receivers_and_locks_are_those_of_the_protocol),
		cmocka_unit_test(lists_are_taken_one_by_one),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
