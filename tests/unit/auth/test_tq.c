/* SPDX-License-Identifier: ISC */
/* tq: messages keep their order, wait while there is no room, and are bounded; peer patterns */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tp_double.h"
#include "transport/peer.h"
#include "transport/tq.h"

static void eof_taken(struct tp *tp, uint32_t chan)
{
	struct ssh_channel_eof m;
	assert_int_equal(ssh_get_channel_eof(dbl_take(tp, SSH_MSG_channel_eof), &m), OK);
	assert_int_equal(m.recipient, chan);
}

static void messages_wait_in_order_and_leave_when_there_is_room(void **state)
{
	(void)state;
	struct tp *tp = dbl_new();
	struct tq q;
	tq_init(&q, tp, 4096);
	assert_int_equal(tq_put(&q, TQ_OWN, channel_eof, .recipient = 1), OK);
	eof_taken(tp, 1);
	tp->is_blocked = true;
	assert_int_equal(tq_put(&q, TQ_OWN, channel_eof, .recipient = 2), OK);
	assert_int_equal(tq_put(&q, TQ_ANSWER, channel_success, .recipient = 3), OK);
	assert_int_equal(tq_flush(&q), OK);
	dbl_take_none(tp);
	assert_int_equal(tq_answers(&q), 1);
	tp->is_blocked = false;
	/* what is put now must not overtake what waits */
	assert_int_equal(tq_put(&q, TQ_OWN, channel_eof, .recipient = 4), OK);
	dbl_take_none(tp);
	assert_int_equal(tq_flush(&q), OK);
	eof_taken(tp, 2);
	(void)dbl_take(tp, SSH_MSG_channel_success);
	eof_taken(tp, 4);
	assert_true(tq_is_empty(&q));
	assert_int_equal(tq_answers(&q), 0);
	tq_done(&q);
	dbl_free(tp);
}

static void a_held_queue_keeps_away_from_the_transport(void **state)
{
	(void)state;
	struct tp *tp = dbl_new();
	struct slice body;
	struct tq q;
	tq_init(&q, tp, 4096);
	assert_int_equal(tp_reserve(tp, SSH_MSG_ignore, 10, &body), OK);
	q.is_held = true;
	assert_int_equal(tq_put(&q, TQ_OWN, channel_eof, .recipient = 7), OK);
	assert_int_equal(tq_flush(&q), OK);
	tp_cancel(tp);
	q.is_held = false;
	assert_int_equal(tq_flush(&q), OK);
	eof_taken(tp, 7);
	tq_done(&q);
	dbl_free(tp);
}

static void what_waits_is_bounded(void **state)
{
	(void)state;
	struct tp *tp = dbl_new();
	struct tq q;
	tq_init(&q, tp, 100);
	tp->is_blocked = true;
	for (int i = 0; i < 10; i++)
		assert_int_equal(tq_put(&q, TQ_OWN, channel_eof, .recipient = 1), OK);
	assert_int_equal(tq_put(&q, TQ_OWN, channel_eof, .recipient = 1), E_LIMIT);
	static const uint8_t big[300 << 10];
	struct tq q2;
	tq_init(&q2, tp, 1 << 20);
	assert_int_equal(tq_put(&q2, TQ_OWN, request_success, .body = {big, sizeof(big)}), E_LIMIT);
	assert_int_equal(tq_put(&q2, TQ_OWN, channel_eof, .recipient = 1), OK);
	tq_done(&q2);
	tq_done(&q);
	dbl_free(tp);
}

static void errors_of_the_transport_come_through(void **state)
{
	(void)state;
	struct tp *tp = dbl_new();
	struct tq q;
	tq_init(&q, tp, 100);
	tp->is_blocked = true;
	assert_int_equal(tq_put(&q, TQ_OWN, channel_eof, .recipient = 1), OK);
	tp->reserve_err = E_MAC;
	assert_int_equal(tq_flush(&q), E_MAC);
	tq_done(&q);
	tq_init(&q, tp, 100);
	assert_int_equal(tq_put(&q, TQ_OWN, channel_eof, .recipient = 1), E_MAC);
	tq_done(&q);
	dbl_free(tp);
}

static void peer_patterns_look_at_the_software_part(void **state)
{
	(void)state;
	/* clang-format off */
	static const struct { const char *version, *patterns; bool yes; } rows[] = {
		{"SSH-2.0-OpenSSH_7.4p1 Debian", "OpenSSH_7.4*",             true},
		{"SSH-2.0-OpenSSH_7.4",          "OpenSSH_7.5*,OpenSSH_7.4", true},
		{"SSH-2.0-OpenSSH_6.6.1",        "OpenSSH_6.6*,!OpenSSH_6.6.1*", false},
		{"SSH-2.0-a-OpenSSH_7.4",        "OpenSSH_7.4*",             false},
		{"SSH-1.99-Sun_SSH_1.0",         "Sun_SSH_1.0*",             true},
		{"SSH-2.0-",                     "*",                        false},
		{"",                             "*",                        false},
		{"garbage",                      "*",                        false},
	};
	/* clang-format on */
	for (size_t i = 0; i < ARRAY_N(rows); i++)
		assert_int_equal(
			peer_is(cslice_str(rows[i].version), rows[i].patterns), rows[i].yes);
	assert_true(cslice_eq_str(peer_software(cslice_str("SSH-2.0-x-y z")), "x-y z"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(messages_wait_in_order_and_leave_when_there_is_room),
		cmocka_unit_test(a_held_queue_keeps_away_from_the_transport),
		cmocka_unit_test(what_waits_is_bounded),
		cmocka_unit_test(errors_of_the_transport_come_through),
		cmocka_unit_test(peer_patterns_look_at_the_software_part),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
