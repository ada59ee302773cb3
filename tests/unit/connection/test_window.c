/* SPDX-License-Identifier: ISC */
/* Windows and packet limits, both ways: the arithmetic in which other implementations looped,
 * stalled or overflowed */
#include "cn_fx.h"

/* ---- inwards ---- */
static void window_never_opens_before_the_sink_has_the_bytes(void **state)
{
	struct fx f;
	(void)state;
	fx_init(&f);
	uint32_t chan = open_chan(&f, MIB, 32 * KIB);
	assert_int_equal(cn_window_in(f.cn, chan), 2 * MIB);
	for (int i = 0; i < 64; i++)
		data_lent(&f, chan, 32 * KIB);
	assert_int_equal(cn_window_in(f.cn, chan), 0);
	flush(&f);
	dbl_take_none(f.tp);
	/* less than a quarter of two MiB taken: nothing yet */
	cn_consumed(f.cn, chan, 512 * KIB - 1);
	flush(&f);
	dbl_take_none(f.tp);
	cn_consumed(f.cn, chan, 1);
	flush(&f);
	struct ssh_channel_window_adjust m = taken(&f, channel_window_adjust);
	assert_int_equal(m.add, 512 * KIB);
	assert_int_equal(m.recipient, 100);
	assert_int_equal(cn_window_in(f.cn, chan), 512 * KIB);
	/* a sink that says more than it was given opens nothing more */
	cn_consumed(f.cn, chan, 1000 * MIB);
	flush(&f);
	uint64_t granted = cn_window_in(f.cn, chan);
	assert_true(granted <= 4 * MIB); /* the window may have doubled, once */
	cn_consumed(f.cn, chan, 1000 * MIB);
	flush(&f);
	assert_int_equal(cn_window_in(f.cn, chan), granted);
	fx_done(&f);
}

static void data_beyond_the_window_or_the_packet_limit_ends_it(void **state)
{
	(void)state;
	/* clang-format off */
	static const struct { uint32_t window, packet; size_t sent[4]; err_t last; } rows[] = {
		{1000,  0,    {1000},            OK},
		{1000,  0,    {1001},            E_WINDOW},
		{1000,  0,    {999, 1},          OK},
		{1000,  0,    {999, 2},          E_WINDOW},
		{1000,  0,    {1000, 1},         E_WINDOW},
		{1,     0,    {1, 1},            E_WINDOW},
		{65536, 0,    {32768, 32768},    OK},
		{65536, 0,    {32769},           E_WINDOW},
		{65536, 1000, {1000},            OK},
		{65536, 1000, {1001},            E_WINDOW},
	};
	/* clang-format on */
	for (size_t i = 0; i < ARRAY_N(rows); i++) {
		struct fx f;
		fx_prepare(&f);
		f.env.limits.window_first = rows[i].window;
		f.env.limits.max_packet = rows[i].packet;
		assert_int_equal(cn_new(&f.cn, &f.env), OK);
		uint32_t chan = open_chan(&f, MIB, 32 * KIB);
		err_t e = OK;
		for (size_t k = 0; k < 4 && rows[i].sent[k] > 0; k++) {
			e = data_in(&f, chan, rows[i].sent[k]);
			if (e == OK)
				poll_for(&f, CN_EV_DATA);
		}
		if (e != rows[i].last)
			fail_msg("row %zu: %s", i, err_name(e));
		struct cn_event ev;
		assert_int_equal(cn_poll(f.cn, &ev), e); /* sticky */
		fx_done(&f);
	}
}

/* dartssh2 PR#210: paused until the window is 0, then resumed. */
static void a_reader_that_pauses_gets_its_window_back(void **state)
{
	struct fx f;
	(void)state;
	fx_prepare(&f);
	f.env.limits.window_first = f.env.limits.window_max = 64 * KIB;
	assert_int_equal(cn_new(&f.cn, &f.env), OK);
	uint32_t chan = open_chan(&f, MIB, 32 * KIB);
	uint64_t sent = 0, granted = 64 * KIB;
	for (int round = 0; round < 100; round++) {
		size_t lent = 0;
		for (; cn_window_in(f.cn, chan) > 0; lent += 1 * KIB) {
			data_lent(&f, chan, num_min(1 * KIB, cn_window_in(f.cn, chan)));
			sent += 1 * KIB;
		}
		assert_int_equal(sent, granted);
		/* one byte at a time, the whole of it */
		for (size_t i = 0; i < lent; i++) {
			cn_consumed(f.cn, chan, 1);
			flush(&f);
		}
		while (dbl_left(f.tp) > 0)
			granted += taken(&f, channel_window_adjust).add;
		assert_true(granted > sent);
	}
	fx_done(&f);
}

static uint32_t pump_in(struct fx *f, uint32_t chan, uint64_t total, bool is_prompt)
{
	size_t owed = 0;
	for (uint64_t n = 0; n < total; n += 32 * KIB) {
		if (cn_window_in(f->cn, chan) < 32 * KIB) {
			cn_consumed(f->cn, chan, owed);
			owed = 0;
			flush(f);
		}
		data_lent(f, chan, 32 * KIB);
		owed += 32 * KIB;
		if (is_prompt) {
			cn_consumed(f->cn, chan, owed);
			owed = 0;
		}
		flush(f);
	}
	cn_consumed(f->cn, chan, owed);
	flush(f);
	while (dbl_left(f->tp) > 0)
		(void)taken(f, channel_window_adjust);
	return cn_window_in(f->cn, chan);
}

static void windows_grow_with_demand_up_to_their_cap(void **state)
{
	(void)state;
	/* clang-format off */
	static const struct { const char *version; uint32_t max; uint64_t total; uint32_t least, most; } rows[] = {
		{"SSH-2.0-OpenSSH_9.2", 0,        1 * MIB,   1 * MIB,  2 * MIB},   /* short: stays small */
		{"SSH-2.0-OpenSSH_9.2", 0,        3 * MIB,   3 * MIB,  4 * MIB},
		{"SSH-2.0-OpenSSH_9.2", 0,        100 * MIB, 13 * MIB, 15 * MIB},  /* its sender collapses above */
		{"SSH-2.0-OpenSSH_9.2", 40 * MIB, 100 * MIB, 13 * MIB, 15 * MIB},
		{"SSH-2.0-OpenSSH_9.2", 3 * MIB,  100 * MIB, 2 * MIB,  3 * MIB},
		{"SSH-2.0-Bowline_0.1", 40 * MIB, 300 * MIB, 35 * MIB, 40 * MIB},
	};
	/* clang-format on */
	for (size_t i = 0; i < ARRAY_N(rows); i++) {
		struct fx f;
		fx_prepare(&f);
		f.env.limits.window_max = rows[i].max;
		f.tp->version = cslice_str(rows[i].version);
		assert_int_equal(cn_new(&f.cn, &f.env), OK);
		uint32_t window = pump_in(&f, open_chan(&f, MIB, 32 * KIB), rows[i].total, true);
		if (window < rows[i].least || window > rows[i].most)
			fail_msg("row %zu: %u KiB", i, window / KIB);
		fx_done(&f);
	}
}

/* A sink that lags a window behind gets no more of it. */
static void windows_do_not_grow_for_a_slow_sink(void **state)
{
	struct fx f;
	(void)state;
	fx_init(&f);
	uint32_t chan = open_chan(&f, MIB, 32 * KIB);
	for (int i = 0; i < 200; i++) {
		while (cn_window_in(f.cn, chan) >= 32 * KIB)
			data_lent(&f, chan, 32 * KIB);
		cn_consumed(f.cn, chan, 512 * KIB);
		flush(&f);
		while (dbl_left(f.tp) > 0)
			assert_int_equal(taken(&f, channel_window_adjust).add, 512 * KIB);
	}
	fx_done(&f);
}

static void all_windows_together_have_a_cap(void **state)
{
	struct fx f;
	uint32_t sum = 0;
	(void)state;
	fx_prepare(&f);
	f.env.limits.window_total = 20 * MIB;
	assert_int_equal(cn_new(&f.cn, &f.env), OK);
	uint32_t chans[4];
	for (size_t i = 0; i < ARRAY_N(chans); i++)
		chans[i] = open_chan(&f, MIB, 32 * KIB);
	for (size_t i = 0; i < ARRAY_N(chans); i++)
		sum += pump_in(&f, chans[i], 60 * MIB, true);
	assert_true(sum > 17 * MIB && sum <= 20 * MIB);
	fx_done(&f);
}

static void discarded_input_is_dropped_and_granted_again(void **state)
{
	(void)state;
	static const struct {
		const char *version, *type;
		bool eow;
	} rows[] = {
		{"SSH-2.0-OpenSSH_9.2", "session", true},
		{"SSH-2.0-Bowline_0.1", "session", true},
		{"SSH-2.0-OpenSSH_4.9", "session", false},
		{"SSH-2.0-dropbear_2022", "session", false},
		{"SSH-2.0-OpenSSH_9.2", "direct-tcpip", false},
	};
	for (size_t i = 0; i < ARRAY_N(rows); i++) {
		struct fx f;
		fx_prepare(&f);
		f.tp->version = cslice_str(rows[i].version);
		assert_int_equal(cn_new(&f.cn, &f.env), OK);
		assert_int_equal(say(&f, channel_open, .type = cslice_str(rows[i].type),
					 .sender = 5, .window = MIB, .maxpacket = 32 * KIB),
			OK);
		uint32_t chan = poll_for(&f, CN_EV_OPEN).chan;
		assert_int_equal(cn_accept(f.cn, chan), OK);
		(void)taken(&f, channel_open_confirmation);
		cn_discard_input(f.cn, chan);
		cn_discard_input(f.cn, chan); /* said once */
		if (rows[i].eow) {
			struct ssh_channel_request m = taken(&f, channel_request);
			assert_true(cslice_eq_str(m.name, "eow@openssh.com"));
			assert_true(!m.want_reply && m.body.n == 0 && m.recipient == 5);
		}
		dbl_take_none(f.tp);
		for (int k = 0; k < 1000; k++) {
			assert_int_equal(data_in(&f, chan, 32 * KIB), OK);
			poll_for(&f, CN_EV_NONE);
			flush(&f);
		}
		fx_done(&f);
	}
}

static void unknown_extended_data_is_dropped_and_granted_again(void **state)
{
	struct fx f;
	static const uint8_t bytes[32 << 10];
	(void)state;
	fx_init(&f);
	uint32_t chan = open_chan(&f, MIB, 32 * KIB);
	for (uint32_t i = 0; i < 200; i++) {
		uint32_t code = i % 2 ? 0 : 2 + i;
		assert_int_equal(say(&f, channel_extended_data, .recipient = chan, .code = code,
					 .data = {bytes, sizeof(bytes)}),
			OK);
		poll_for(&f, CN_EV_NONE);
		flush(&f);
	}
	assert_int_equal(
		say(&f, channel_extended_data, .recipient = chan, .code = 1, .data = {bytes, 3}),
		OK);
	struct cn_event ev = poll_for(&f, CN_EV_DATA);
	assert_int_equal(ev.ext, 1);
	assert_int_equal(ev.span.n, 3);
	/* stderr counts against the same window */
	assert_int_equal(
		say(&f, channel_extended_data, .recipient = chan, .code = 1, .data = {bytes, 0}),
		OK);
	poll_for(&f, CN_EV_NONE); /* nothing in it, nothing said */
	fx_done(&f);
}

static void the_lent_span_is_the_data_inside_the_message(void **state)
{
	struct fx f;
	struct chunk fake = {.refs = 1};
	(void)state;
	fx_init(&f);
	uint32_t chan = open_chan(&f, MIB, 32 * KIB);
	uint8_t body[4 + 4 + 5] = {0, 0, 0, 0, 0, 0, 0, 5, 'h', 'e', 'l', 'l', 'o'};
	be32_put(body, chan);
	assert_int_equal(
		cn_msg(f.cn, SSH_MSG_channel_data, (struct span){&fake, body, sizeof(body)}), OK);
	struct cn_event ev = poll_for(&f, CN_EV_DATA);
	assert_ptr_equal(ev.span.c, &fake);
	assert_ptr_equal(ev.span.p, body + 8);
	assert_int_equal(ev.span.n, 5);
	fx_done(&f);
}

/* ---- outwards ---- */
static void room_is_bounded_by_window_packet_and_wish(void **state)
{
	(void)state;
	/* clang-format off */
	static const struct { uint32_t window, packet; size_t want, room; } rows[] = {
		{0,          32 * KIB,   1000,    0},
		{1,          32 * KIB,   1000,    1},
		{1000,       32 * KIB,   1000,    1000},
		{1000,       32 * KIB,   5000,    1000},         /* window < packet */
		{16384,      35840,      MIB,     16384},        /* sshj#203 */
		{MIB,        1,          MIB,     16},           /* a byte a packet, sixteen packets */
		{MIB,        1000,       MIB,     16000},
		{MIB,        32 * KIB,   MIB,     512 * KIB},
		{MIB,        UINT32_MAX, MIB,     512 * KIB},    /* no more than everyone takes */
		{UINT32_MAX, 32 * KIB,   4 * MIB, 512 * KIB},
		{UINT32_MAX, 32 * KIB,   1,       1},
	};
	/* clang-format on */
	for (size_t i = 0; i < ARRAY_N(rows); i++) {
		struct fx f;
		fx_init(&f);
		uint32_t chan = open_chan(&f, rows[i].window, rows[i].packet);
		size_t room = room_now(&f, chan, rows[i].want);
		if (room != rows[i].room)
			fail_msg("row %zu: %zu", i, room);
		assert_int_equal(cn_window_out(f.cn, chan), rows[i].window); /* given back */
		fx_done(&f);
	}
}

static void large_packets_go_between_bowlines_only(void **state)
{
	struct fx f;
	(void)state;
	for (int i = 0; i < 2; i++) {
		fx_prepare(&f);
		f.tp->version = cslice_str(i ? "SSH-2.0-Bowline_0.1" : "SSH-2.0-OpenSSH_9.2");
		f.env.limits.max_packet = 128 * KIB;
		assert_int_equal(cn_new(&f.cn, &f.env), OK);
		uint32_t chan = peer_opens(&f, 8 * MIB, 128 * KIB);
		assert_int_equal(cn_accept(f.cn, chan), OK);
		struct ssh_channel_open_confirmation m = taken(&f, channel_open_confirmation);
		assert_int_equal(m.maxpacket, i ? 128 * KIB : 32 * KIB);
		assert_int_equal(f.tp->max_packet, 256 * KIB); /* a long request from anyone */
		assert_int_equal(
			room_now(&f, chan, 8 * MIB), TP_BULK_MAX * (i ? 128 : 32) * (size_t)KIB);
		assert_int_equal(data_in(&f, chan, 128 * KIB), i ? OK : E_WINDOW);
		fx_done(&f);
	}
}

static void packets_carry_number_code_length_and_the_bytes_in_order(void **state)
{
	(void)state;
	for (uint32_t ext = 0; ext < 2; ext++) {
		struct fx f;
		fx_init(&f);
		uint32_t chan = open_chan(&f, MIB, 100);
		assert_int_equal(data_out(&f, chan, ext, 250), 250);
		size_t at = 0;
		for (int i = 0; i < 3; i++) {
			struct cslice data;
			if (ext == 0) {
				struct ssh_channel_data m = taken(&f, channel_data);
				assert_int_equal(m.recipient, 100);
				data = m.data;
			} else {
				struct ssh_channel_extended_data m =
					taken(&f, channel_extended_data);
				assert_int_equal(m.recipient, 100);
				assert_int_equal(m.code, 1);
				data = m.data;
			}
			assert_int_equal(data.n, i < 2 ? 100 : 50);
			for (size_t k = 0; k < data.n; k++)
				assert_int_equal(data.p[k], (uint8_t)at++);
		}
		dbl_take_none(f.tp);
		assert_int_equal(cn_window_out(f.cn, chan), MIB - 250);
		fx_done(&f);
	}
}

static void a_partly_filled_reservation_sends_what_was_filled(void **state)
{
	struct fx f;
	struct iovec iov[TP_BULK_MAX];
	size_t niov;
	(void)state;
	fx_init(&f);
	uint32_t chan = open_chan(&f, MIB, 1000);
	assert_int_equal(cn_reserve(f.cn, chan, 0, 8000, iov, &niov), OK);
	assert_int_equal(niov, 8);
	memset(iov[0].iov_base, 'a', 1000);
	memset(iov[1].iov_base, 'b', 1);
	assert_int_equal(cn_commit(f.cn, 1001), OK);
	assert_int_equal(taken(&f, channel_data).data.n, 1000);
	struct ssh_channel_data m = taken(&f, channel_data);
	assert_int_equal(m.data.n, 1);
	assert_int_equal(m.data.p[0], 'b');
	dbl_take_none(f.tp);
	assert_int_equal(cn_window_out(f.cn, chan), MIB - 1001);
	assert_int_equal(cn_commit(f.cn, 1), E_PHASE);
	fx_done(&f);
}

/* sshj#47: initial window 0, then an adjust. */
static void a_window_of_zero_waits_for_its_first_adjust(void **state)
{
	struct fx f;
	(void)state;
	fx_init(&f);
	uint32_t chan = open_chan(&f, 0, 32 * KIB);
	poll_for(&f, CN_EV_NONE);
	assert_int_equal(room_now(&f, chan, 100), 0);
	poll_for(&f, CN_EV_NONE);
	assert_int_equal(say(&f, channel_window_adjust, .recipient = chan, .add = 0), OK);
	poll_for(&f, CN_EV_NONE);
	assert_int_equal(say(&f, channel_window_adjust, .recipient = chan, .add = 60), OK);
	assert_int_equal(poll_for(&f, CN_EV_ROOM).chan, chan);
	poll_for(&f, CN_EV_NONE); /* told once */
	assert_int_equal(data_out(&f, chan, 0, 100), 60);
	assert_int_equal(room_now(&f, chan, 100), 0);
	assert_int_equal(say(&f, channel_window_adjust, .recipient = chan, .add = 1), OK);
	poll_for(&f, CN_EV_ROOM);
	/* nobody waits: nobody is told */
	assert_int_equal(say(&f, channel_window_adjust, .recipient = chan, .add = 1), OK);
	poll_for(&f, CN_EV_NONE);
	fx_done(&f);
}

static void window_sums_may_reach_but_not_pass_32_bits(void **state)
{
	(void)state;
	/* clang-format off */
	static const struct { uint32_t window, add[2]; err_t last; } rows[] = {
		{0,                {UINT32_MAX, 0},  OK},
		{0,                {UINT32_MAX, 1},  E_WINDOW},
		{1,                {UINT32_MAX},     E_WINDOW},
		{UINT32_MAX,       {0},              OK},
		{UINT32_MAX,       {1},              E_WINDOW},
		{UINT32_MAX - 10,  {10},             OK},
		{UINT32_MAX - 10,  {5, 6},           E_WINDOW},
	};
	/* clang-format on */
	for (size_t i = 0; i < ARRAY_N(rows); i++) {
		struct fx f;
		fx_init(&f);
		uint32_t chan = open_chan(&f, rows[i].window, 32 * KIB);
		err_t e = OK;
		for (int k = 0; k < 2 && e == OK; k++)
			e = say(&f, channel_window_adjust, .recipient = chan,
				.add = rows[i].add[k]);
		if (e != rows[i].last)
			fail_msg("row %zu: %s", i, err_name(e));
		fx_done(&f);
	}
}

/* dropbear PR#377: 600 MB into a window of 2^32-1 that is never adjusted. */
static void the_largest_window_needs_no_adjust(void **state)
{
	struct fx f;
	struct iovec iov[TP_BULK_MAX];
	size_t niov;
	(void)state;
	fx_init(&f);
	uint32_t chan = open_chan(&f, UINT32_MAX, 32 * KIB);
	uint64_t sent = 0;
	while (sent < 600 * (uint64_t)MIB) {
		assert_int_equal(cn_reserve(f.cn, chan, 0, 256 * KIB, iov, &niov), OK);
		size_t n = iov_bytes(iov, niov);
		assert_int_equal(cn_commit(f.cn, n), OK);
		sent += n;
		while (dbl_left(f.tp) > 0)
			(void)taken(&f, channel_data);
	}
	assert_int_equal(cn_window_out(f.cn, chan), UINT32_MAX - (uint32_t)sent);
	fx_done(&f);
}

static void a_packet_limit_of_zero_is_malformed(void **state)
{
	struct fx f;
	uint32_t chan;
	(void)state;
	fx_init(&f);
	assert_int_equal(
		say(&f, channel_open, .type = cslice_str("session"), .window = MIB), E_FORMAT);
	fx_done(&f);
	fx_init(&f);
	assert_int_equal(cn_open(f.cn, "session", cslice_of(NULL, 0), &chan), OK);
	assert_int_equal(
		say(&f, channel_open_confirmation, .recipient = chan, .window = MIB), E_FORMAT);
	fx_done(&f);
}

/* ---- room comes back ---- */
static void room_follows_when_a_key_exchange_ends(void **state)
{
	struct fx f;
	(void)state;
	fx_init(&f);
	uint32_t a = open_chan(&f, MIB, 32 * KIB), b = open_chan(&f, MIB, 32 * KIB);
	f.tp->is_rekeying = true;
	assert_int_equal(room_now(&f, b, 100), 0);
	assert_int_equal(room_now(&f, a, 100), 0);
	assert_int_equal(room_now(&f, a, 100), 0);
	poll_for(&f, CN_EV_NONE);
	f.tp->is_rekeying = false;
	assert_int_equal(poll_for(&f, CN_EV_ROOM).chan, b); /* in the order of asking */
	assert_int_equal(poll_for(&f, CN_EV_ROOM).chan, a);
	poll_for(&f, CN_EV_NONE);
	fx_done(&f);
}

/* Room for a byte is no room: a channel that was told to come gets something. */
static void a_channel_is_woken_only_for_a_whole_packet(void **state)
{
	struct fx f;
	(void)state;
	fx_init(&f);
	uint32_t chan = open_chan(&f, MIB, 32 * KIB);
	f.tp->is_blocked = true;
	assert_int_equal(room_now(&f, chan, 100), 0);
	f.tp->is_blocked = false;
	f.tp->room_max = 32 * KIB;
	poll_for(&f, CN_EV_NONE);
	f.tp->room_max = 32 * KIB + 12;
	poll_for(&f, CN_EV_ROOM);
	fx_done(&f);
}

/* The big request waits for memory, and a small packet of data would fit: it must not overtake. */
static void data_does_not_overtake_a_request(void **state)
{
	struct fx f;
	(void)state;
	fx_init(&f);
	uint32_t chan = open_chan(&f, MIB, 32 * KIB);
	f.tp->room_max = 1000;
	assert_int_equal(cn_request(f.cn, chan, "exec", false, cslice_of(f.room, 5000)), OK);
	assert_int_equal(room_now(&f, chan, 10), 0);
	cn_eof(f.cn, chan);
	flush(&f);
	dbl_take_none(f.tp);
	f.tp->room_max = SIZE_MAX;
	flush(&f);
	(void)taken(&f, channel_request);
	(void)taken(&f, channel_eof);
	fx_done(&f);
}

static void a_channel_that_ends_waits_for_no_room(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++) {
		struct fx f;
		fx_init(&f);
		uint32_t chan = open_chan(&f, MIB, 32 * KIB);
		f.tp->is_blocked = true;
		assert_int_equal(room_now(&f, chan, 100), 0);
		if (i == 0)
			cn_eof(f.cn, chan);
		else if (i == 1)
			cn_close(f.cn, chan);
		else
			assert_int_equal(say(&f, channel_close, .recipient = chan), OK);
		f.tp->is_blocked = false;
		if (i == 2)
			poll_for(&f, CN_EV_EOF);
		poll_for(&f, CN_EV_NONE);
		fx_done(&f);
	}
}

static void control_messages_wait_while_a_reservation_is_open(void **state)
{
	struct fx f;
	struct iovec iov[TP_BULK_MAX];
	size_t niov;
	(void)state;
	fx_init(&f);
	uint32_t chan = open_chan(&f, MIB, 32 * KIB);
	assert_int_equal(cn_reserve(f.cn, chan, 0, 10, iov, &niov), OK);
	assert_int_equal(cn_reserve(f.cn, chan, 0, 10, iov, &niov), E_PHASE);
	assert_int_equal(cn_request(f.cn, chan, "x", false, cslice_of(NULL, 0)), OK);
	cn_eof(f.cn, chan);
	flush(&f);
	dbl_take_none(f.tp);
	assert_int_equal(cn_commit(f.cn, 10), OK);
	flush(&f);
	(void)taken(&f, channel_data);
	(void)taken(&f, channel_request);
	(void)taken(&f, channel_eof);
	fx_done(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(window_never_opens_before_the_sink_has_the_bytes),
		cmocka_unit_test(data_beyond_the_window_or_the_packet_limit_ends_it),
		cmocka_unit_test(a_reader_that_pauses_gets_its_window_back),
		cmocka_unit_test(windows_grow_with_demand_up_to_their_cap),
		cmocka_unit_test(windows_do_not_grow_for_a_slow_sink),
		cmocka_unit_test(all_windows_together_have_a_cap),
		cmocka_unit_test(discarded_input_is_dropped_and_granted_again),
		cmocka_unit_test(unknown_extended_data_is_dropped_and_granted_again),
		cmocka_unit_test(the_lent_span_is_the_data_inside_the_message),
		cmocka_unit_test(room_is_bounded_by_window_packet_and_wish),
		cmocka_unit_test(large_packets_go_between_bowlines_only),
		cmocka_unit_test(packets_carry_number_code_length_and_the_bytes_in_order),
		cmocka_unit_test(a_partly_filled_reservation_sends_what_was_filled),
		cmocka_unit_test(a_window_of_zero_waits_for_its_first_adjust),
		cmocka_unit_test(window_sums_may_reach_but_not_pass_32_bits),
		cmocka_unit_test(the_largest_window_needs_no_adjust),
		cmocka_unit_test(a_packet_limit_of_zero_is_malformed),
		cmocka_unit_test(room_follows_when_a_key_exchange_ends),
		cmocka_unit_test(a_channel_is_woken_only_for_a_whole_packet),
		cmocka_unit_test(data_does_not_overtake_a_request),
		cmocka_unit_test(a_channel_that_ends_waits_for_no_room),
		cmocka_unit_test(control_messages_wait_while_a_reservation_is_open),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
