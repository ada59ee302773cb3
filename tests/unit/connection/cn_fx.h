/* SPDX-License-Identifier: ISC */
/* cn_fx - a connection engine over the double, messages to put into it, and what it says and sends
 */
#ifndef TESTS_CN_FX_H
#define TESTS_CN_FX_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "connection/cn.h"
#include "tp_double.h"

#define MIB ((uint32_t)1 << 20)
#define KIB ((uint32_t)1 << 10)

struct fx {
	struct tp *tp;
	struct cn_env env;
	struct cn *cn;
	uint8_t *room; /* for message bodies */
	uint32_t next_peer_id;
};

static void fx_prepare(struct fx *f)
{
	*f = (struct fx){.tp = dbl_new(), .next_peer_id = 100};
	f->tp->is_open = true;
	f->env.tp = f->tp;
	f->room = calloc(1, 512 * KIB);
	assert_non_null(f->room);
}

static void fx_init(struct fx *f)
{
	fx_prepare(f);
	assert_int_equal(cn_new(&f->cn, &f->env), OK);
}

static void fx_done(struct fx *f)
{
	cn_free(f->cn);
	free(f->room);
	dbl_free(f->tp);
}

/* say(&f, channel_eof, .recipient = 0): the peer sends it; gives what cn_msg said. */
#define say(f, name, ...) say_##name((f), &(struct ssh_##name){__VA_ARGS__})
#define M(name, no, phase, to)                                                                     \
	static inline err_t say_##name(struct fx *f, const struct ssh_##name *m)                   \
	{                                                                                          \
		struct wr w = wr_of((struct slice){f->room, 512 * KIB});                           \
		ssh_put_##name(&w, m);                                                             \
		assert_int_equal(wr_end(&w), OK);                                                  \
		return cn_msg(f->cn, no, (struct span){NULL, f->room, w.n});                       \
	}
#include "wire/ssh.def"
#undef M

/* taken(&f, channel_eof): the next message that was sent, which must be this one. */
#define taken(f, name) taken_##name(f)
#define M(name, no, phase, to)                                                                     \
	static inline struct ssh_##name taken_##name(struct fx *f)                                 \
	{                                                                                          \
		struct ssh_##name m;                                                               \
		assert_int_equal(ssh_get_##name(dbl_take(f->tp, no), &m), OK);                     \
		return m;                                                                          \
	}
#include "wire/ssh.def"
#undef M

static inline struct cn_event poll_for(struct fx *f, enum cn_ev_type type)
{
	struct cn_event ev;
	assert_int_equal(cn_poll(f->cn, &ev), OK);
	assert_int_equal(ev.type, type);
	return ev;
}

static inline void flush(struct fx *f)
{
	assert_int_equal(cn_flush(f->cn), OK);
}

static inline uint32_t peer_opens(struct fx *f, uint32_t window, uint32_t packet)
{
	assert_int_equal(
		say(f, channel_open, .type = cslice_str("session"), .sender = f->next_peer_id++,
			.window = window, .maxpacket = packet),
		OK);
	return poll_for(f, CN_EV_OPEN).chan;
}

/* A channel of the peer's, accepted. */
static inline uint32_t open_chan(struct fx *f, uint32_t window, uint32_t packet)
{
	uint32_t chan = peer_opens(f, window, packet);
	assert_int_equal(cn_accept(f->cn, chan), OK);
	struct ssh_channel_open_confirmation m = taken(f, channel_open_confirmation);
	assert_int_equal(m.sender, chan);
	assert_int_equal(m.recipient, f->next_peer_id - 1);
	return chan;
}

/* The peer sends n bytes of data; gives what cn_msg said. */
static inline err_t data_in(struct fx *f, uint32_t chan, size_t n)
{
	static const uint8_t bytes[300 << 10];
	assert_true(n <= sizeof(bytes));
	return say(f, channel_data, .recipient = chan, .data = {bytes, n});
}

/* The same, delivered to the sink, which has not taken it yet. */
static inline void data_lent(struct fx *f, uint32_t chan, size_t n)
{
	assert_int_equal(data_in(f, chan, n), OK);
	struct cn_event ev = poll_for(f, CN_EV_DATA);
	assert_int_equal(ev.chan, chan);
	assert_int_equal(ev.span.n, n);
	poll_for(f, CN_EV_NONE);
}

static inline size_t iov_bytes(const struct iovec *iov, size_t niov)
{
	size_t n = 0;
	for (size_t i = 0; i < niov; i++)
		n += iov[i].iov_len;
	return n;
}

/* Room that a reservation gives now; 0 = E_AGAIN.  Cancelled again. */
static inline size_t room_now(struct fx *f, uint32_t chan, size_t want)
{
	struct iovec iov[TP_BULK_MAX];
	size_t niov = 0;
	err_t e = cn_reserve(f->cn, chan, 0, want, iov, &niov);
	if (e == E_AGAIN)
		return 0;
	assert_int_equal(e, OK);
	assert_int_equal(cn_commit(f->cn, 0), OK);
	return iov_bytes(iov, niov);
}

/* Sends up to n bytes in one reservation, gives how many went. */
static inline size_t data_out(struct fx *f, uint32_t chan, uint32_t ext, size_t n)
{
	struct iovec iov[TP_BULK_MAX];
	size_t niov = 0, used = 0;
	err_t e = cn_reserve(f->cn, chan, ext, n, iov, &niov);
	if (e == E_AGAIN)
		return 0;
	assert_int_equal(e, OK);
	for (size_t i = 0; i < niov && used < n; i++) {
		size_t part = num_min(iov[i].iov_len, n - used);
		for (size_t k = 0; k < part; k++)
			((uint8_t *)iov[i].iov_base)[k] = (uint8_t)(used + k);
		used += part;
	}
	assert_int_equal(cn_commit(f->cn, used), OK);
	return used;
}

#endif
