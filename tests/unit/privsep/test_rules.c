/* SPDX-License-Identifier: ISC */
/* The permission table against an own list, written from the design and not from monitor.def. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "privsep/rules.h"

/* What each phase lets each role ask for the first time; everything else must be refused. */
static const struct {
	enum ps_role role;
	enum ps_phase phase;
	uint8_t may[8];
} expected[] = {
	{PS_NET, PS_PH_NEW, {PS_start, PS_log, PS_ended}},
	{PS_NET, PS_PH_KEX, {PS_moduli, PS_sign_host, PS_log, PS_ended}},
	{PS_NET, PS_PH_AUTH, {PS_pwnam, PS_log, PS_ended}},
	{PS_NET, PS_PH_TRIES,
		{PS_auth_none, PS_auth_password, PS_key_allowed, PS_key_verify, PS_kbdint, PS_log,
			PS_ended}},
	{PS_NET, PS_PH_IN, {PS_state, PS_log, PS_ended}},
	{PS_NET, PS_PH_SESSION, {0}},
	{PS_NET, PS_PH_END, {0}},
	{PS_USER, PS_PH_NEW, {PS_log, PS_ended}},
	{PS_USER, PS_PH_KEX, {PS_moduli, PS_sign_host, PS_log, PS_ended}},
	{PS_USER, PS_PH_AUTH, {PS_log, PS_ended}},
	{PS_USER, PS_PH_TRIES, {PS_log, PS_ended}},
	{PS_USER, PS_PH_IN, {PS_log, PS_ended}},
	{PS_USER, PS_PH_SESSION,
		{PS_moduli, PS_sign_host, PS_pty, PS_pty_end, PS_prove_host, PS_log, PS_ended}},
	{PS_USER, PS_PH_END, {0}},
};

static struct ps_rules in_phase(enum ps_role role, enum ps_phase phase)
{
	struct ps_rules r;
	ps_rules_init(&r);
	r.role = role;
	r.phase = phase;
	r.max_tries = 3;
	return r;
}

static bool is_expected(size_t row, unsigned no)
{
	for (size_t i = 0; i < 8; i++)
		if (expected[row].may[i] != 0 && expected[row].may[i] == no)
			return expected[row].role != PS_NET || expected[row].phase != PS_PH_SESSION;
	return false;
}

static void every_number_in_every_phase_for_both_roles(void **state)
{
	for (size_t row = 0; row < ARRAY_N(expected); row++) {
		for (unsigned no = 0; no < 256; no++) {
			struct ps_rules r = in_phase(expected[row].role, expected[row].phase);
			bool may = ps_rules_ask(&r, (uint8_t)no) == PS_ALLOW;
			if (expected[row].role == PS_NET && expected[row].phase == PS_PH_SESSION)
				continue; /* the roles change together: see below */
			if (may != is_expected(row, no))
				fail_msg("role %d phase %d number %u: %s", expected[row].role,
					expected[row].phase, no, may ? "allowed" : "refused");
		}
	}
}

static void a_refusal_is_for_ever(void **state)
{
	struct ps_rules r = in_phase(PS_NET, PS_PH_KEX);
	assert_int_equal(ps_rules_ask(&r, PS_pwnam), PS_DENY);
	for (unsigned no = 0; no < 256; no++)
		assert_int_equal(ps_rules_ask(&r, (uint8_t)no), PS_DENY);
	assert_false(ps_rules_is_in(&r));
}

static void once_means_once_before_login(void **state)
{
	static const struct {
		enum ps_phase phase;
		uint8_t no;
	} once[] = {{PS_PH_NEW, PS_start}, {PS_PH_KEX, PS_moduli}, {PS_PH_KEX, PS_sign_host},
		{PS_PH_AUTH, PS_pwnam}, {PS_PH_TRIES, PS_auth_none}, {PS_PH_IN, PS_state},
		{PS_PH_NEW, PS_ended}};
	for (size_t i = 0; i < ARRAY_N(once); i++) {
		struct ps_rules r = in_phase(PS_NET, once[i].phase);
		assert_int_equal(ps_rules_ask(&r, once[i].no), PS_ALLOW);
		assert_int_equal(ps_rules_ask(&r, once[i].no), PS_DENY);
	}
}

static void signing_is_over_when_authentication_begins(void **state)
{
	struct ps_rules r = in_phase(PS_NET, PS_PH_KEX);
	assert_int_equal(ps_rules_ask(&r, PS_sign_host), PS_ALLOW);
	assert_int_equal(ps_rules_served(&r, PS_sign_host, false), PS_ALLOW);
	assert_int_equal(r.phase, PS_PH_AUTH);
	assert_int_equal(ps_rules_ask(&r, PS_sign_host), PS_DENY);
}

static void only_rows_with_auth_and_a_yes_log_in(void **state)
{
	for (unsigned no = 0; no < PS_MSG_END; no++) {
		for (int ok = 0; ok < 2; ok++) {
			struct ps_rules r = in_phase(PS_NET, PS_PH_TRIES);
			if (ps_rules_ask(&r, (uint8_t)no) != PS_ALLOW)
				continue;
			assert_int_equal(ps_rules_served(&r, (uint8_t)no, ok), PS_ALLOW);
			bool is_auth = no == PS_auth_none || no == PS_auth_password ||
				       no == PS_key_verify || no == PS_kbdint;
			assert_int_equal(ps_rules_is_in(&r), is_auth && ok);
		}
	}
}

static void failures_end_it(void **state)
{
	struct ps_rules r = in_phase(PS_NET, PS_PH_TRIES);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(ps_rules_ask(&r, PS_auth_password), PS_ALLOW);
		assert_int_equal(ps_rules_served(&r, PS_auth_password, false), PS_ALLOW);
	}
	assert_int_equal(ps_rules_ask(&r, PS_key_verify), PS_ALLOW);
	assert_int_equal(ps_rules_served(&r, PS_key_verify, false), PS_DENY);
	assert_int_equal(ps_rules_ask(&r, PS_auth_password), PS_DENY);
}

static void questions_before_login_are_bounded(void **state)
{
	struct ps_rules r = in_phase(PS_NET, PS_PH_TRIES);
	unsigned asked = 0;
	while (asked < 100000 && ps_rules_ask(&r, PS_key_allowed) == PS_ALLOW)
		asked++;
	assert_int_equal(asked, PS_ASKS_MAX);
	r = in_phase(PS_NET, PS_PH_NEW);
	for (asked = 0; asked < 100000 && ps_rules_ask(&r, PS_log) == PS_ALLOW;)
		asked++;
	assert_int_equal(asked, PS_REQUESTS_MAX);
}

static void the_session_needs_login_and_state(void **state)
{
	struct ps_rules r = in_phase(PS_NET, PS_PH_TRIES);
	assert_int_equal(ps_rules_session(&r), PS_DENY);
	r = in_phase(PS_NET, PS_PH_IN);
	assert_int_equal(ps_rules_session(&r), PS_DENY);
	r = in_phase(PS_NET, PS_PH_IN);
	assert_int_equal(ps_rules_ask(&r, PS_state), PS_ALLOW);
	assert_int_equal(ps_rules_served(&r, PS_state, false), PS_ALLOW);
	assert_int_equal(ps_rules_session(&r), PS_ALLOW);
	assert_int_equal(r.role, PS_USER);
	assert_int_equal(ps_rules_ask(&r, PS_sign_host), PS_ALLOW);
	assert_int_equal(ps_rules_served(&r, PS_sign_host, true), PS_ALLOW);
	assert_int_equal(ps_rules_ask(&r, PS_sign_host), PS_ALLOW);
	assert_int_equal(r.phase, PS_PH_SESSION);
	assert_int_equal(ps_rules_ask(&r, PS_state), PS_DENY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_number_in_every_phase_for_both_roles),
		cmocka_unit_test(a_refusal_is_for_ever),
		cmocka_unit_test(once_means_once_before_login),
		cmocka_unit_test(signing_is_over_when_authentication_begins),
		cmocka_unit_test(only_rows_with_auth_and_a_yes_log_in),
		cmocka_unit_test(failures_end_it),
		cmocka_unit_test(questions_before_login_are_bounded),
		cmocka_unit_test(the_session_needs_login_and_state),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
