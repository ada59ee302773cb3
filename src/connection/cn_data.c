/* SPDX-License-Identifier: ISC */
/*
 * cn_data - windows and data, both ways (RFC 4254 5.2)
 *
 * Inwards a byte is in one of three places: still the peer's to send (window_in), lent to the sink
 * (unconsumed), or taken by it (owed); a grant moves all that is owed back to window_in.  The
 * window doubles when a window's worth has come and the sink has kept pace, so a short session
 * stays small and a long path fills.
 */
#include <assert.h>

#include "base/log.h"
#include "connection/cn_int.h"

#define EXT_STDERR 1
/* A grant is sent for an eighth of the window, so that the peer does not stall on a long path; of a
 * small one for more, since each costs both ends a turn. */
#define GRANT_PART  8
#define GRANT_LEAST ((size_t)512 * 1024)
#define GRANT_MOST  4 /* but never more than this part of it */

/* ---- inwards ---- */
bool cn_grant_is_due(const struct cn_chan *c)
{
	if (c->state != CN_OPEN || c->eof_seen || c->close_seen || c->close_wanted)
		return false;
	size_t size = c->window_size;
	size_t due = num_min(num_max(size / GRANT_PART, GRANT_LEAST), size / GRANT_MOST);
	return c->owed > 0 && c->owed >= due;
}

static void window_grow(struct cn *cn, struct cn_chan *c)
{
	if (c->received < c->window_size || c->unconsumed > c->window_size / GRANT_PART)
		return;
	uint64_t more = num_min(c->window_size, cn->limits.window_max - c->window_size);
	uint64_t left =
		cn->limits.window_total > cn->windows ? cn->limits.window_total - cn->windows : 0;
	more = num_min(more, left);
	c->received = 0;
	c->window_size += (uint32_t)more;
	c->owed += (uint32_t)more;
	cn->windows += more;
}

static void taken(struct cn *cn, struct cn_chan *c, uint32_t n)
{
	c->owed += n;
	window_grow(cn, c);
	if (cn_grant_is_due(c))
		cn_todo(cn, c);
}

void cn_consumed(struct cn *cn, uint32_t chan, size_t n)
{
	struct cn_chan *c = cn_chan_find(cn, chan);
	if (c == NULL)
		return;
	uint32_t part = (uint32_t)num_min(n, c->unconsumed); /* never more than was lent */
	c->unconsumed -= part;
	taken(cn, c, part);
}

/* The one place where incoming data is counted; data points into body. */
static err_t take(struct cn *cn, uint32_t chan, uint32_t ext, struct span data)
{
	struct cn_chan *c;
	TRY(cn_chan_named(cn, chan, &c));
	if (c->eof_seen && !cn->may_send_after_eof)
		return E_UNEXPECTED;
	if (data.n > c->window_in || data.n > cn->limits.max_packet)
		return E_WINDOW;
	uint32_t n = (uint32_t)data.n;
	c->window_in -= n;
	c->received += n;
	bool is_wanted = ext <= EXT_STDERR && !c->eof_seen && !c->is_discarding && !c->close_wanted;
	if (n == 0 || !is_wanted) {
		taken(cn, c, n);
		return OK;
	}
	c->unconsumed += n;
	return cn_event_add(cn,
		&(struct cn_event){.type = CN_EV_DATA, .chan = c->id, .ext = ext, .span = data});
}

static struct span lend(struct span body, struct cslice data)
{
	size_t at = data.n > 0 ? (size_t)(data.p - body.p) : 0;
	return (struct span){body.c, body.p + at, data.n};
}

err_t cn_take_data(struct cn *cn, struct span body)
{
	struct ssh_channel_data m;
	TRY(ssh_get_channel_data(span_bytes(body), &m));
	return take(cn, m.recipient, 0, lend(body, m.data));
}

err_t cn_take_extended(struct cn *cn, struct span body)
{
	struct ssh_channel_extended_data m;
	TRY(ssh_get_channel_extended_data(span_bytes(body), &m));
	uint32_t ext =
		m.code == 0 ? UINT32_MAX : m.code; /* 0 is not a code: it is no plain data either */
	return take(cn, m.recipient, ext, lend(body, m.data));
}

void cn_discard_input(struct cn *cn, uint32_t chan)
{
	struct cn_chan *c = cn_chan_find(cn, chan);
	if (!cn_chan_is_usable(c) || c->is_discarding)
		return;
	c->is_discarding = true;
	if (!c->is_session || !cn->knows_eow || c->eof_seen || cn->err != OK)
		return;
	cn->err = tq_put(&cn->out, TQ_OWN, channel_request, .recipient = c->peer_id,
		.name = cslice_str("eow@openssh.com"));
}

/* ---- outwards ---- */
err_t cn_take_adjust(struct cn *cn, struct span body)
{
	struct ssh_channel_window_adjust m;
	struct cn_chan *c;
	TRY(ssh_get_channel_window_adjust(span_bytes(body), &m));
	TRY(cn_chan_named(cn, m.recipient, &c));
	if (m.add > UINT32_MAX - c->window_out)
		return E_WINDOW;
	c->window_out += m.add;
	cn_room_maybe(cn, c);
	return OK;
}

/* Was told E_AGAIN, and has a window now: waits for the transport's room only. */
void cn_room_maybe(struct cn *cn, struct cn_chan *c)
{
	if (c->wants_room && c->window_out > 0 && c->state == CN_OPEN && list_is_empty(&c->waiting))
		list_push(&cn->waiting, &c->waiting);
}

static err_t again(struct cn *cn, struct cn_chan *c)
{
	c->wants_room = true;
	cn_room_maybe(cn, c);
	return E_AGAIN;
}

/* Asks the transport for a whole packet, so that a channel is not woken in vain. */
err_t cn_room_next(struct cn *cn, struct cn_chan **out)
{
	if (list_is_empty(&cn->waiting) || cn->reserved != NULL)
		return OK;
	TRY(tq_flush(&cn->out));
	if (!tq_is_empty(&cn->out))
		return OK;
	struct cn_chan *c = LIST_ENTRY(cn->waiting.next, struct cn_chan, waiting);
	struct slice body;
	err_t e = tp_reserve(cn->tp, SSH_MSG_channel_extended_data, 12 + c->packet_out, &body);
	if (e != OK)
		return e == E_AGAIN ? OK : e;
	tp_cancel(cn->tp);
	list_remove(&c->waiting);
	c->wants_room = false;
	*out = c;
	return OK;
}

static err_t reserve(struct cn *cn, struct cn_chan *c, const struct cn_want *want)
{
	if (c->state != CN_OPEN || c->window_out == 0)
		return again(cn, c);
	TRY(tq_flush(&cn->out));
	if (!tq_is_empty(&cn->out)) /* a request or a reply goes first */
		return again(cn, c);
	cn->bulk.head_n = want->ext == 0 ? 8 : 12;
	cn->bulk.data_max = c->packet_out;
	cn->bulk.want = num_min(want->n, c->window_out);
	uint8_t msg = want->ext == 0 ? SSH_MSG_channel_data : SSH_MSG_channel_extended_data;
	err_t e = tp_reserve_bulk(cn->tp, msg, &cn->bulk);
	return e == E_AGAIN ? again(cn, c) : e;
}

err_t cn_reserve_room(
	struct cn *cn, const struct cn_want *want, struct iovec iov[TP_BULK_MAX], size_t *niov)
{
	TRY(cn->err);
	struct cn_chan *c = cn_chan_find(cn, want->chan);
	if (cn->reserved != NULL || c == NULL || c->state == CN_ASKED)
		return E_PHASE;
	if (c->eof_wanted || c->close_wanted || c->close_seen)
		return E_PHASE;
	if (want->n == 0)
		return E_USAGE;
	TRY(reserve(cn, c, want));
	cn->reserved = c;
	cn->reserved_ext = want->ext;
	cn->out.is_held = true;
	for (uint32_t i = 0; i < cn->bulk.n; i++)
		iov[i] = (struct iovec){cn->bulk.v[i].data, cn->bulk.v[i].data_n};
	*niov = cn->bulk.n;
	return OK;
}

/* Channel number, code, and the length of what was filled. */
static void write_heads(const struct cn *cn, size_t used)
{
	const struct tp_bulk *b = &cn->bulk;
	for (uint32_t i = 0; i < b->n && used > 0; i++) {
		size_t n = num_min(used, b->v[i].data_n);
		struct wr w = wr_of((struct slice){b->v[i].head, b->head_n});
		wr_u32(&w, cn->reserved->peer_id);
		if (cn->reserved_ext != 0)
			wr_u32(&w, cn->reserved_ext);
		wr_u32(&w, (uint32_t)n);
		used -= n;
	}
	assert(used == 0);
}

err_t cn_commit(struct cn *cn, size_t used)
{
	TRY(cn->err);
	if (cn->reserved == NULL)
		return E_PHASE;
	assert(used <= cn->bulk.want);
	write_heads(cn, used);
	cn->reserved->window_out -= (uint32_t)used;
	cn->reserved = NULL;
	cn->out.is_held = false;
	if (used == 0) {
		tp_cancel(cn->tp);
		return OK;
	}
	return cn->err = tp_commit_bulk(cn->tp, used);
}
