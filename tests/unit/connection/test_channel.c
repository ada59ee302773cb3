/* SPDX-License-Identifier: ISC */
/* Channels from open to close, requests and replies: order, bounds, and messages that come when
 * they must not */
#include "cn_fx.h"

#define NOTHING cslice_of(NULL, 0)

static uint32_t open_ours(struct fx *f)
{
	uint32_t chan;
	assert_int_equal(cn_open(f->cn, "session", NOTHING, &chan), OK);
	struct ssh_channel_open m = taken(f, channel_open);
	assert_int_equal(m.sender, chan);
	assert_int_equal(m.window, 2 * MIB);
	assert_int_equal(m.maxpacket, 32 * KIB);
	return chan;
}

/* ---- opening ---- */
static void an_open_of_ours_is_confirmed_or_fails(void **state)
{
	struct fx f;
	(void)state;
	fx_init(&f);
	uint32_t a = open_ours(&f), b = open_ours(&f);
	assert_false(cn_is_open(f.cn, a));
	assert_int_equal(cn_request(f.cn, a, "exec", true, NOTHING), E_PHASE);
	assert_int_equal(room_now(&f, a, 10), 0); /* not yet: CN_EV_ROOM will come */
	assert_int_equal(say(&f, channel_open_failure, .recipient = b, .reason = 2,
				 .description = cslice_str("no way")),
		OK);
	struct cn_event ev = poll_for(&f, CN_EV_OPEN_FAILED);
	assert_int_equal(ev.chan, b);
	assert_int_equal(ev.reason, 2);
	assert_true(cslice_eq_str(ev.data, "no way"));
	assert_int_equal(cn_channels(f.cn), 1);
	assert_int_equal(say(&f, channel_open_confirmation, .recipient = a, .sender = 77,
				 .window = 500, .maxpacket = 1000, .extra = cslice_str("x")),
		OK);
	ev = poll_for(&f, CN_EV_OPENED);
	assert_int_equal(ev.chan, a);
	assert_true(cslice_eq_str(ev.data, "x"));
	assert_int_equal(poll_for(&f, CN_EV_ROOM).chan, a);
	assert_true(cn_is_open(f.cn, a));
	assert_int_equal(cn_peer_id(f.cn, a), 77);
	assert_int_equal(data_out(&f, a, 0, 1000), 500);
	assert_int_equal(taken(&f, channel_data).recipient, 77);
	fx_done(&f);
}

static void an_open_of_the_peer_is_accepted_or_refused_once(void **state)
{
	struct fx f;
	(void)state;
	fx_init(&f);
	uint32_t chan = peer_opens(&f, MIB, 32 * KIB);
	assert_false(cn_is_open(f.cn, chan));
	struct iovec iov[TP_BULK_MAX];
	size_t niov;
	assert_int_equal(cn_reserve(f.cn, chan, 0, 1, iov, &niov), E_PHASE);
	assert_int_equal(cn_refuse(f.cn, chan, 1, "not here"), OK);
	struct ssh_channel_open_failure m = taken(&f, channel_open_failure);
	assert_int_equal(m.recipient, 100);
	assert_int_equal(m.reason, 1);
	assert_true(cslice_eq_str(m.description, "not here"));
	assert_int_equal(cn_channels(f.cn), 0);
	assert_int_equal(cn_refuse(f.cn, chan, 1, ""), E_PHASE);
	assert_int_equal(cn_accept(f.cn, chan), E_PHASE);
	chan = open_chan(&f, MIB, 32 * KIB);
	assert_int_equal(cn_accept(f.cn, chan), E_PHASE);
	assert_int_equal(cn_refuse(f.cn, chan, 1, ""), E_PHASE);
	dbl_take_none(f.tp);
	fx_done(&f);
}

static void the_open_event_carries_type_and_extra(void **state)
{
	struct fx f;
	(void)state;
	fx_init(&f);
	assert_int_equal(say(&f, channel_open, .type = cslice_str("direct-tcpip"), .sender = 3,
				 .window = 1, .maxpacket = 1, .extra = cslice_str("where")),
		OK);
	struct cn_event ev = poll_for(&f, CN_EV_OPEN);
	assert_true(cslice_eq_str(ev.name, "direct-tcpip"));
	assert_true(cslice_eq_str(ev.data, "where"));
	fx_done(&f);
}

static void channels_are_limited(void **state)
{
	struct fx f;
	uint32_t chan;
	(void)state;
	fx_prepare(&f);
	f.env.limits.channels = 20; /* not a size of the table's growth */
	assert_int_equal(cn_new(&f.cn, &f.env), OK);
	for (int i = 0; i < 20; i++)
		(void)open_chan(&f, MIB, 32 * KIB);
	assert_int_equal(cn_open(f.cn, "session", NOTHING, &chan), E_LIMIT);
	assert_int_equal(say(&f, channel_open, .type = cslice_str("session"), .sender = 9,
				 .window = 1, .maxpacket = 1),
		OK);
	poll_for(&f, CN_EV_NONE);
	struct ssh_channel_open_failure m = taken(&f, channel_open_failure);
	assert_int_equal(m.recipient, 9);
	assert_int_equal(m.reason, 4); /* RFC4254 5.1: resource shortage */
	assert_int_equal(cn_channels(f.cn), 20);
	fx_done(&f);
}

/* CVE-2026-39827: refused channels leave nothing behind. */
static void a_hundred_thousand_refused_opens_keep_memory_flat(void **state)
{
	struct fx f;
	(void)state;
	fx_init(&f);
	size_t before = 0;
	for (int i = 0; i < 100000; i++) {
		uint32_t chan = peer_opens(&f, MIB, 32 * KIB);
		assert_int_equal(cn_refuse(f.cn, chan, 1, "no"), OK);
		(void)taken(&f, channel_open_failure);
		if (i == 10)
			before = fault_live();
	}
	assert_int_equal(fault_live(), before);
	assert_int_equal(cn_channels(f.cn), 0);
	fx_done(&f);
}

static void numbers_do_not_come_again_soon(void **state)
{
	struct fx f;
	(void)state;
	fx_init(&f);
	uint32_t first = open_chan(&f, MIB, 32 * KIB);
	data_lent(&f, first, 1000);
	assert_int_equal(say(&f, channel_close, .recipient = first), OK);
	poll_for(&f, CN_EV_EOF);
	flush(&f);
	(void)taken(&f, channel_close);
	poll_for(&f, CN_EV_CLOSED);
	for (int i = 0; i < 40000; i++) {
		uint32_t chan = peer_opens(&f, MIB, 32 * KIB);
		assert_int_not_equal(chan, first);
		assert_true(chan <= INT32_MAX);
		assert_int_equal(cn_refuse(f.cn, chan, 1, "no"), OK);
		(void)taken(&f, channel_open_failure);
	}
	/* late calls about the one that is gone hit nobody */
	uint32_t chan = open_chan(&f, MIB, 32 * KIB);
	data_lent(&f, chan, 1000);
	cn_consumed(f.cn, first, 1000);
	cn_close(f.cn, first);
	cn_eof(f.cn, first);
	cn_discard_input(f.cn, first);
	assert_int_equal(cn_reply(f.cn, first, true), E_PHASE);
	assert_int_equal(cn_request(f.cn, first, "x", false, NOTHING), E_PHASE);
	flush(&f);
	dbl_take_none(f.tp);
	assert_true(cn_is_open(f.cn, chan));
	fx_done(&f);
}

/* ---- messages that name a channel in every state of it ---- */
enum situation {
	S_NONE,
	S_ASKED,
	S_ASKING,
	S_OPEN,
	S_EOF_SEEN,
	S_CLOSE_SENT,
	S_CLOSE_SEEN,
	S_GONE,
	S_N
};

static uint32_t put_in(struct fx *f, enum situation s)
{
	fx_init(f);
	if (s == S_NONE)
		return 0;
	if (s == S_ASKED)
		return peer_opens(f, MIB, 32 * KIB);
	if (s == S_ASKING)
		return open_ours(f);
	uint32_t chan = open_chan(f, MIB, 32 * KIB);
	if (s == S_EOF_SEEN) {
		assert_int_equal(say(f, channel_eof, .recipient = chan), OK);
		poll_for(f, CN_EV_EOF);
	}
	if (s == S_CLOSE_SENT || s == S_GONE) {
		cn_close(f->cn, chan);
		flush(f);
		(void)taken(f, channel_close);
	}
	if (s == S_CLOSE_SEEN || s == S_GONE) {
		f->tp->is_blocked = s == S_CLOSE_SEEN; /* our CLOSE is still to come */
		assert_int_equal(say(f, channel_close, .recipient = chan), OK);
		if (s == S_CLOSE_SEEN)
			poll_for(f, CN_EV_EOF);
		flush(f);
		if (s == S_GONE)
			poll_for(f, CN_EV_CLOSED);
	}
	return chan;
}

static err_t say_by_number(struct fx *f, uint8_t no, uint32_t chan)
{
	switch (no) {
	case SSH_MSG_channel_open_confirmation:
		return say(f, channel_open_confirmation, .recipient = chan, .maxpacket = 1);
	case SSH_MSG_channel_open_failure:
		return say(f, channel_open_failure, .recipient = chan);
	case SSH_MSG_channel_window_adjust:
		return say(f, channel_window_adjust, .recipient = chan, .add = 1);
	case SSH_MSG_channel_data:
		return say(f, channel_data, .recipient = chan, .data = cslice_str("x"));
	case SSH_MSG_channel_extended_data:
		return say(f, channel_extended_data, .recipient = chan, .code = 1,
			.data = cslice_str("x"));
	case SSH_MSG_channel_eof:
		return say(f, channel_eof, .recipient = chan);
	case SSH_MSG_channel_close:
		return say(f, channel_close, .recipient = chan);
	case SSH_MSG_channel_request:
		return say(f, channel_request, .recipient = chan, .name = cslice_str("x"),
			.want_reply = true);
	case SSH_MSG_channel_success:
		return say(f, channel_success, .recipient = chan);
	default:
		return say(f, channel_failure, .recipient = chan);
	}
}

static void messages_fit_the_state_of_their_channel_or_end_it(void **state)
{
	(void)state;
#define C E_CHANNEL
#define U E_UNEXPECTED
	/* clang-format off */
	static const struct { uint8_t no; err_t said[S_N]; } rows[] = {
		/*                                   none asked asking open eof-seen close-sent close-seen gone */
		{SSH_MSG_channel_open_confirmation, {C,   C,    OK,    U,   U,       U,         U,         C}},
		{SSH_MSG_channel_open_failure,      {C,   C,    OK,    U,   U,       U,         U,         C}},
		{SSH_MSG_channel_window_adjust,     {C,   C,    C,     OK,  OK,      OK,        C,         C}},
		{SSH_MSG_channel_data,              {C,   C,    C,     OK,  U,       OK,        C,         C}},
		{SSH_MSG_channel_extended_data,     {C,   C,    C,     OK,  U,       OK,        C,         C}},
		{SSH_MSG_channel_eof,               {C,   C,    C,     OK,  OK,      OK,        C,         C}},
		{SSH_MSG_channel_close,             {C,   C,    C,     OK,  OK,      OK,        C,         C}},
		{SSH_MSG_channel_request,           {C,   C,    C,     OK,  OK,      OK,        C,         C}},
		{SSH_MSG_channel_success,           {C,   C,    C,     OK,  OK,      OK,        C,         C}},
		{SSH_MSG_channel_failure,           {C,   C,    C,     OK,  OK,      OK,        C,         C}},
	};
	/* clang-format on */
#undef C
#undef U
	for (size_t i = 0; i < ARRAY_N(rows); i++) {
		for (int s = 0; s < S_N; s++) {
			struct fx f;
			struct cn_event ev;
			uint32_t chan = put_in(&f, (enum situation)s);
			err_t e = say_by_number(&f, rows[i].no, chan);
			if (e != rows[i].said[s])
				fail_msg("message %u in situation %d: %s", rows[i].no, s,
					err_name(e));
			assert_int_equal(cn_poll(f.cn, &ev), e); /* sticky */
			fx_done(&f);
		}
	}
}

static void numbers_out_of_the_table_name_no_channel(void **state)
{
	static const uint32_t ids[] = {
		1, 16, 1023, 1024, 16384, 0x7fffffff, 0x80000000, UINT32_MAX};
	(void)state;
	for (size_t i = 0; i < ARRAY_N(ids); i++) {
		struct fx f;
		fx_init(&f);
		(void)open_chan(&f, MIB, 32 * KIB);
		assert_int_equal(data_in(&f, ids[i], 1), E_CHANNEL);
		fx_done(&f);
	}
}

static void malformed_and_foreign_messages_end_it(void **state)
{
	(void)state;
	for (unsigned no = 0; no < 256; no++) {
		struct fx f;
		fx_init(&f);
		bool is_empty_one = no == SSH_MSG_request_failure || no == SSH_MSG_request_success;
		err_t e = cn_msg(f.cn, (uint8_t)no, (struct span){NULL, f.room, 0});
		bool is_ours = no == 80 || no == 81 || no == 82 || (no >= 90 && no <= 100);
		assert_int_equal(e, is_empty_one ? OK : is_ours ? E_FORMAT : E_UNEXPECTED);
		fx_done(&f);
		/* one byte too many */
		if (no < 93 || no > 97 || no == 94 || no == 95)
			continue;
		fx_init(&f);
		uint32_t chan = open_chan(&f, MIB, 32 * KIB);
		be32_put(f.room, chan);
		size_t n = no == 93 ? 8 : 4;
		assert_int_equal(
			cn_msg(f.cn, (uint8_t)no, (struct span){NULL, f.room, n + 1}), E_TRAILING);
		fx_done(&f);
	}
	struct fx f;
	fx_init(&f);
	uint32_t chan = open_chan(&f, MIB, 32 * KIB);
	be32_put(f.room, chan);
	be32_put(f.room + 4, 11); /* a length that is longer than the message */
	assert_int_equal(
		cn_msg(f.cn, SSH_MSG_channel_data, (struct span){NULL, f.room, 18}), E_FORMAT);
	fx_done(&f);
}

/* ---- the end ---- */
static void eof_and_close_follow_what_was_sent_before(void **state)
{
	(void)state;
	for (int blocked = 0; blocked < 2; blocked++) {
		struct fx f;
		fx_init(&f);
		uint32_t chan = open_chan(&f, MIB, 32 * KIB);
		assert_int_equal(data_out(&f, chan, 0, 10), 10);
		f.tp->is_blocked = blocked;
		assert_int_equal(
			cn_request(f.cn, chan, "exit-status", false, cslice_str("\0\0\0\0")), OK);
		cn_eof(f.cn, chan);
		assert_true(cn_is_open(f.cn, chan));
		cn_close(f.cn, chan);
		assert_false(cn_is_open(f.cn, chan));
		cn_close(f.cn, chan);
		flush(&f);
		assert_int_equal(cn_request(f.cn, chan, "late", false, NOTHING), E_PHASE);
		struct iovec iov[TP_BULK_MAX];
		size_t niov;
		assert_int_equal(cn_reserve(f.cn, chan, 0, 1, iov, &niov), E_PHASE);
		f.tp->is_blocked = false;
		flush(&f);
		(void)taken(&f, channel_data);
		(void)taken(&f, channel_request);
		(void)taken(&f, channel_eof);
		(void)taken(&f, channel_close);
		flush(&f);
		dbl_take_none(f.tp);
		poll_for(&f, CN_EV_NONE); /* the peer's CLOSE is missing */
		assert_int_equal(say(&f, channel_close, .recipient = chan), OK);
		flush(&f);
		assert_int_equal(poll_for(&f, CN_EV_CLOSED).chan, chan);
		poll_for(&f, CN_EV_NONE);
		assert_int_equal(cn_channels(f.cn), 0);
		dbl_take_none(f.tp);
		fx_done(&f);
	}
}

/* mina-sshd#410: never EOF or DATA after CLOSE, whoever is first. */
static void both_sides_may_close_at_once(void **state)
{
	(void)state;
	for (int order = 0; order < 4; order++) {
		struct fx f;
		fx_init(&f);
		uint32_t chan = open_chan(&f, MIB, 32 * KIB);
		f.tp->is_blocked = order % 2;
		if (order < 2)
			cn_eof(f.cn, chan);
		cn_close(f.cn, chan);
		assert_int_equal(say(&f, channel_close, .recipient = chan), OK);
		flush(&f);
		f.tp->is_blocked = false;
		flush(&f);
		(void)taken(&f, channel_close); /* an EOF has no meaning any more */
		poll_for(&f, CN_EV_CLOSED);
		flush(&f);
		dbl_take_none(f.tp);
		assert_int_equal(cn_channels(f.cn), 0);
		fx_done(&f);
	}
}

/* A peer may send its CLOSE and the next OPEN in one go: who counts sessions must have heard of the
 * end by then. */
static void a_channel_is_over_with_the_second_close(void **state)
{
	(void)state;
	struct fx f;
	fx_init(&f);
	uint32_t chan = open_chan(&f, MIB, 32 * KIB);
	cn_close(f.cn, chan);
	flush(&f);
	(void)taken(&f, channel_close);
	assert_int_equal(say(&f, channel_close, .recipient = chan), OK);
	assert_int_equal(poll_for(&f, CN_EV_CLOSED).chan, chan); /* nothing was flushed */
	assert_int_equal(cn_channels(f.cn), 0);
	poll_for(&f, CN_EV_NONE);
	flush(&f);
	dbl_take_none(f.tp);
	fx_done(&f);
}

/* A client that closes at the end of the output still gets the status: the server's CLOSE waits for
 * the program. */
static void a_held_close_lets_a_last_request_through(void **state)
{
	(void)state;
	for (int is_closed_before = 0; is_closed_before < 2; is_closed_before++) {
		struct fx f;
		fx_init(&f);
		uint32_t chan = open_chan(&f, MIB, 32 * KIB);
		cn_hold_close(f.cn, chan);
		if (is_closed_before)
			cn_close(f.cn, chan);
		assert_int_equal(say(&f, channel_close, .recipient = chan), OK);
		if (!is_closed_before) {
			poll_for(&f, CN_EV_EOF);
			assert_int_equal(poll_for(&f, CN_EV_CLOSING).chan, chan);
			flush(&f);
			poll_for(&f, CN_EV_NONE);
			dbl_take_none(f.tp);
			struct iovec iov[TP_BULK_MAX];
			size_t niov;
			assert_int_equal(cn_reserve(f.cn, chan, 0, 1, iov, &niov), E_PHASE);
			assert_int_equal(cn_request(f.cn, chan, "exit-status", false,
						 cslice_of("\0\0\0\3", 4)),
				OK);
			cn_eof(f.cn, chan);
			cn_close(f.cn, chan);
		}
		assert_int_equal(cn_request(f.cn, chan, "late", false, cslice_of("", 0)), E_PHASE);
		flush(&f);
		if (!is_closed_before)
			assert_true(cslice_eq_str(taken(&f, channel_request).name, "exit-status"));
		(void)taken(&f, channel_close);
		dbl_take_none(f.tp);
		poll_for(&f, CN_EV_CLOSED);
		assert_int_equal(cn_channels(f.cn), 0);
		fx_done(&f);
	}
}

static void a_close_of_the_peer_is_answered_and_told_as_eof_first(void **state)
{
	(void)state;
	for (int with_eof = 0; with_eof < 2; with_eof++) {
		struct fx f;
		fx_init(&f);
		uint32_t chan = open_chan(&f, MIB, 32 * KIB);
		if (with_eof) {
			assert_int_equal(say(&f, channel_eof, .recipient = chan), OK);
			poll_for(&f, CN_EV_EOF);
			assert_int_equal(say(&f, channel_eof, .recipient = chan), OK);
			poll_for(&f, CN_EV_NONE);
		}
		assert_int_equal(say(&f, channel_close, .recipient = chan), OK);
		if (!with_eof)
			poll_for(&f, CN_EV_EOF);
		poll_for(&f, CN_EV_NONE);
		assert_false(cn_is_open(f.cn, chan));
		flush(&f);
		(void)taken(&f, channel_close);
		poll_for(&f, CN_EV_CLOSED);
		fx_done(&f);
	}
}

/* sshj#143: our EOF ends only our direction. */
static void data_still_comes_after_our_eof(void **state)
{
	struct fx f;
	(void)state;
	fx_init(&f);
	uint32_t chan = open_chan(&f, MIB, 32 * KIB);
	cn_eof(f.cn, chan);
	flush(&f);
	(void)taken(&f, channel_eof);
	for (int i = 0; i < 64; i++) {
		data_lent(&f, chan, 32 * KIB);
		cn_consumed(f.cn, chan, 32 * KIB);
		flush(&f);
	}
	assert_true(dbl_left(f.tp) > 0);
	(void)taken(&f, channel_window_adjust);
	fx_done(&f);
}

static void data_in_flight_when_we_closed_is_dropped(void **state)
{
	struct fx f;
	(void)state;
	fx_init(&f);
	uint32_t chan = open_chan(&f, MIB, 32 * KIB);
	cn_close(f.cn, chan);
	for (int i = 0; i < 64; i++) {
		assert_int_equal(data_in(&f, chan, 32 * KIB), OK);
		poll_for(&f, CN_EV_NONE);
		if (i == 10) {
			flush(&f);
			(void)taken(&f, channel_close);
		}
	}
	assert_int_equal(say(&f, channel_request, .recipient = chan, .name = cslice_str("x"),
				 .want_reply = true),
		OK);
	poll_for(&f, CN_EV_NONE);
	flush(&f);
	dbl_take_none(f.tp); /* no window, no reply after CLOSE */
	/* and not more than the window */
	assert_int_equal(data_in(&f, chan, 1), E_WINDOW);
	fx_done(&f);
}

static void data_after_eof_is_a_fault_but_for_old_peers(void **state)
{
	(void)state;
	static const struct {
		const char *version;
		bool is_fine;
	} rows[] = {
		{"SSH-2.0-OpenSSH_9.2", false},
		{"SSH-2.0-OpenSSH_3.1p1", true},
		{"SSH-2.0-OpenSSH_3.2", false},
		{"SSH-2.0-OpenSSH_2.9p2", true},
		{"SSH-2.0-OpenSSH_20.1", false},
		{"SSH-2.0-Sun_SSH_1.0.1", true},
	};
	for (size_t i = 0; i < ARRAY_N(rows); i++) {
		struct fx f;
		fx_prepare(&f);
		f.tp->version = cslice_str(rows[i].version);
		assert_int_equal(cn_new(&f.cn, &f.env), OK);
		uint32_t chan = open_chan(&f, MIB, 32 * KIB);
		assert_int_equal(say(&f, channel_eof, .recipient = chan), OK);
		poll_for(&f, CN_EV_EOF);
		assert_int_equal(data_in(&f, chan, 10), rows[i].is_fine ? OK : E_UNEXPECTED);
		if (rows[i].is_fine)
			poll_for(&f, CN_EV_NONE); /* dropped */
		fx_done(&f);
	}
}

static void closing_before_the_confirmation_closes_after_it(void **state)
{
	struct fx f;
	(void)state;
	fx_init(&f);
	uint32_t a = open_ours(&f), b = open_ours(&f);
	cn_close(f.cn, a);
	cn_close(f.cn, b);
	flush(&f);
	dbl_take_none(f.tp);
	assert_int_equal(
		say(&f, channel_open_confirmation, .recipient = a, .sender = 8, .maxpacket = 1),
		OK);
	poll_for(&f, CN_EV_NONE);
	flush(&f);
	assert_int_equal(taken(&f, channel_close).recipient, 8);
	assert_int_equal(say(&f, channel_close, .recipient = a), OK);
	flush(&f);
	poll_for(&f, CN_EV_CLOSED);
	assert_int_equal(say(&f, channel_open_failure, .recipient = b), OK);
	poll_for(&f, CN_EV_OPEN_FAILED);
	fx_done(&f);
}

/* ---- requests and replies ---- */
static void ask(struct fx *f, uint32_t chan, const char *name, bool want_reply)
{
	assert_int_equal(say(f, channel_request, .recipient = chan, .name = cslice_str(name),
				 .want_reply = want_reply, .body = cslice_str("b")),
		OK);
	struct cn_event ev = poll_for(f, CN_EV_REQUEST);
	assert_int_equal(ev.chan, chan);
	assert_true(cslice_eq_str(ev.name, name) && cslice_eq_str(ev.data, "b"));
	assert_int_equal(ev.want_reply, want_reply);
}

/* phpseclib#2111: a reply where it is wanted, and nowhere else. */
static void replies_go_where_they_are_wanted_and_in_order(void **state)
{
	(void)state;
	for (int blocked = 0; blocked < 2; blocked++) {
		struct fx f;
		fx_init(&f);
		uint32_t a = open_chan(&f, MIB, 32 * KIB), b = open_chan(&f, MIB, 32 * KIB);
		f.tp->is_blocked = blocked;
		ask(&f, a, "env", false);
		assert_int_equal(cn_reply(f.cn, a, true), E_PHASE);
		ask(&f, a, "pty-req", true);
		ask(&f, b, "exec", true);
		ask(&f, a, "shell", true);
		ask(&f, a, "what", true);
		assert_int_equal(cn_reply(f.cn, a, true), OK);
		assert_int_equal(cn_reply(f.cn, a, true), OK);
		assert_int_equal(cn_reply(f.cn, b, true), OK);
		assert_int_equal(cn_reply(f.cn, b, true), E_PHASE);
		assert_int_equal(cn_reply(f.cn, a, false), OK);
		/* nothing of the channel overtakes its replies */
		if (blocked)
			assert_int_equal(room_now(&f, a, 10), 0);
		f.tp->is_blocked = false;
		flush(&f);
		assert_int_equal(taken(&f, channel_success).recipient, 100);
		assert_int_equal(taken(&f, channel_success).recipient, 100);
		assert_int_equal(taken(&f, channel_success).recipient, 101);
		assert_int_equal(taken(&f, channel_failure).recipient, 100);
		dbl_take_none(f.tp);
		fx_done(&f);
	}
}

static void global_replies_keep_their_order_and_bodies(void **state)
{
	struct fx f;
	(void)state;
	fx_init(&f);
	f.tp->is_blocked = true;
	assert_int_equal(
		say(&f, global_request, .name = cslice_str("hostkeys-00@openssh.com")), OK);
	assert_false(poll_for(&f, CN_EV_GLOBAL).want_reply);
	assert_int_equal(cn_global_reply(f.cn, true, NOTHING), E_PHASE); /* dropbear PR#112 */
	for (int i = 0; i < 3; i++) {
		assert_int_equal(say(&f, global_request, .name = cslice_str("tcpip-forward"),
					 .want_reply = true),
			OK);
		poll_for(&f, CN_EV_GLOBAL);
	}
	assert_int_equal(cn_global_reply(f.cn, true, cslice_str("one")), OK);
	assert_int_equal(cn_global_reply(f.cn, false, NOTHING), OK);
	assert_int_equal(cn_global_reply(f.cn, true, cslice_str("three")), OK);
	f.tp->is_blocked = false;
	flush(&f);
	assert_true(cslice_eq_str(taken(&f, request_success).body, "one"));
	(void)taken(&f, request_failure);
	assert_true(cslice_eq_str(taken(&f, request_success).body, "three"));
	dbl_take_none(f.tp);
	fx_done(&f);
}

static void replies_to_our_requests_are_counted(void **state)
{
	struct fx f;
	(void)state;
	fx_init(&f);
	uint32_t chan = open_chan(&f, MIB, 32 * KIB);
	assert_int_equal(cn_request(f.cn, chan, "pty-req", true, NOTHING), OK);
	assert_int_equal(cn_request(f.cn, chan, "env", false, NOTHING), OK);
	assert_int_equal(cn_request(f.cn, chan, "shell", true, NOTHING), OK);
	assert_int_equal(cn_global(f.cn, "keepalive@openssh.com", true, NOTHING), OK);
	assert_true(taken(&f, channel_request).want_reply);
	assert_false(taken(&f, channel_request).want_reply);
	assert_true(taken(&f, channel_request).want_reply);
	assert_true(taken(&f, global_request).want_reply);
	assert_int_equal(say(&f, channel_failure, .recipient = chan), OK);
	assert_false(poll_for(&f, CN_EV_REPLY).ok);
	assert_int_equal(say(&f, channel_success, .recipient = chan), OK);
	assert_true(poll_for(&f, CN_EV_REPLY).ok);
	assert_int_equal(say_request_failure(&f, &(struct ssh_request_failure){0}), OK);
	assert_false(poll_for(&f, CN_EV_GLOBAL_REPLY).ok);
	/* replies that nobody asked for are not believed */
	assert_int_equal(say(&f, channel_success, .recipient = chan), OK);
	poll_for(&f, CN_EV_NONE);
	assert_int_equal(say(&f, request_success, .body = cslice_str("x")), OK);
	poll_for(&f, CN_EV_NONE);
	fx_done(&f);
}

static void a_reply_after_the_close_goes_nowhere(void **state)
{
	(void)state;
	for (int by_us = 0; by_us < 2; by_us++) {
		struct fx f;
		fx_init(&f);
		uint32_t chan = open_chan(&f, MIB, 32 * KIB);
		ask(&f, chan, "exec", true);
		if (by_us) {
			cn_close(f.cn, chan);
		} else {
			assert_int_equal(say(&f, channel_close, .recipient = chan), OK);
			poll_for(&f, CN_EV_EOF);
		}
		assert_int_equal(cn_reply(f.cn, chan, true), OK);
		flush(&f);
		(void)taken(&f, channel_close);
		dbl_take_none(f.tp);
		fx_done(&f);
	}
}

/* CVE-2026-56855: what a peer can make us owe is bounded, whether it waits for the application or
 * for room. */
static void answers_owed_are_bounded(void **state)
{
	(void)state;
	for (int kind = 0; kind < 6; kind++) {
		struct fx f;
		fx_prepare(&f);
		f.env.limits.channels = 5000;
		assert_int_equal(cn_new(&f.cn, &f.env), OK);
		uint32_t chan = open_chan(&f, MIB, 32 * KIB);
		bool is_answered = kind % 2;
		f.tp->is_blocked = true;
		err_t e = OK;
		int n = 0;
		for (; n < 5000; n++) {
			struct cn_event ev;
			if (kind / 2 == 0)
				e = say(&f, channel_request, .recipient = chan,
					.name = cslice_str("x"), .want_reply = true);
			else if (kind / 2 == 1)
				e = say(&f, global_request, .name = cslice_str("x"),
					.want_reply = true);
			else
				e = say(&f, channel_open, .type = cslice_str("x"), .maxpacket = 1);
			if (e != OK)
				break;
			assert_int_equal(cn_poll(f.cn, &ev), OK);
			if (!is_answered)
				continue;
			if (kind / 2 == 0)
				assert_int_equal(cn_reply(f.cn, chan, false), OK);
			else if (kind / 2 == 1)
				assert_int_equal(cn_global_reply(f.cn, false, NOTHING), OK);
			else
				assert_int_equal(cn_refuse(f.cn, ev.chan, 1, "no"), OK);
		}
		assert_int_equal(e, E_FLOOD);
		assert_int_equal(n, 1024);
		fx_done(&f);
	}
}

static void answers_that_are_given_make_room_for_more(void **state)
{
	struct fx f;
	(void)state;
	fx_init(&f);
	uint32_t chan = open_chan(&f, MIB, 32 * KIB);
	for (int i = 0; i < 10000; i++) {
		ask(&f, chan, "x", true);
		assert_int_equal(cn_reply(f.cn, chan, false), OK);
		(void)taken(&f, channel_failure);
	}
	/* a channel that goes takes its debts with it */
	for (int i = 0; i < 1000; i++)
		ask(&f, chan, "x", true);
	assert_int_equal(say(&f, channel_close, .recipient = chan), OK);
	poll_for(&f, CN_EV_EOF);
	flush(&f);
	poll_for(&f, CN_EV_CLOSED);
	(void)taken(&f, channel_close);
	chan = open_chan(&f, MIB, 32 * KIB);
	for (int i = 0; i < 1000; i++)
		ask(&f, chan, "x", true);
	fx_done(&f);
}

/* ---- faults of memory ---- */
static err_t session(struct fx *f)
{
	struct cn_event ev;
	uint32_t chan, ours;
	f->tp->is_blocked = true;
	TRY(cn_new(&f->cn, &f->env));
	TRY(say(f, channel_open, .type = cslice_str("session"), .window = MIB, .maxpacket = 1000));
	TRY(cn_poll(f->cn, &ev));
	chan = ev.chan;
	TRY(cn_accept(f->cn, chan));
	TRY(cn_open(f->cn, "x", NOTHING, &ours));
	TRY(cn_request(f->cn, chan, "x", true, NOTHING));
	TRY(say(f, channel_request, .recipient = chan, .name = cslice_str("exec"),
		.want_reply = true));
	TRY(cn_poll(f->cn, &ev));
	TRY(cn_reply(f->cn, chan, true));
	cn_discard_input(f->cn, chan);
	for (int i = 0; i < 30; i++) {
		TRY(say(f, channel_open, .type = cslice_str("x"), .window = MIB,
			.maxpacket = 1000));
		TRY(cn_poll(f->cn, &ev));
	}
	TRY(cn_flush(f->cn));
	return cn_poll(f->cn, &ev);
}

static void every_failed_allocation_is_told_and_leaks_nothing(void **state)
{
	size_t n = 0;
	(void)state;
	for (bool hit = true; hit; n++) {
		struct fx f;
		fx_prepare(&f);
		size_t before = fault_live();
		fault_after(n);
		err_t e = session(&f);
		hit = fault_off();
		assert_int_equal(e, hit ? E_MEM : OK);
		cn_free(f.cn);
		f.cn = NULL;
		assert_int_equal(fault_live(), before);
		fx_done(&f);
	}
	assert_true(n > 35);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_open_of_ours_is_confirmed_or_fails),
		cmocka_unit_test(an_open_of_the_peer_is_accepted_or_refused_once),
		cmocka_unit_test(the_open_event_carries_type_and_extra),
		cmocka_unit_test(channels_are_limited),
		cmocka_unit_test(a_hundred_thousand_refused_opens_keep_memory_flat),
		cmocka_unit_test(numbers_do_not_come_again_soon),
		cmocka_unit_test(messages_fit_the_state_of_their_channel_or_end_it),
		cmocka_unit_test(numbers_out_of_the_table_name_no_channel),
		cmocka_unit_test(malformed_and_foreign_messages_end_it),
		cmocka_unit_test(eof_and_close_follow_what_was_sent_before),
		cmocka_unit_test(both_sides_may_close_at_once),
		cmocka_unit_test(a_channel_is_over_with_the_second_close),
		cmocka_unit_test(a_held_close_lets_a_last_request_through),
		cmocka_unit_test(a_close_of_the_peer_is_answered_and_told_as_eof_first),
		cmocka_unit_test(data_still_comes_after_our_eof),
		cmocka_unit_test(data_in_flight_when_we_closed_is_dropped),
		cmocka_unit_test(data_after_eof_is_a_fault_but_for_old_peers),
		cmocka_unit_test(closing_before_the_confirmation_closes_after_it),
		cmocka_unit_test(replies_go_where_they_are_wanted_and_in_order),
		cmocka_unit_test(global_replies_keep_their_order_and_bodies),
		cmocka_unit_test(replies_to_our_requests_are_counted),
		cmocka_unit_test(a_reply_after_the_close_goes_nowhere),
		cmocka_unit_test(answers_owed_are_bounded),
		cmocka_unit_test(answers_that_are_given_make_room_for_more),
		cmocka_unit_test(every_failed_allocation_is_told_and_leaks_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
