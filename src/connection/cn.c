/* SPDX-License-Identifier: ISC */
/*
 * cn - the channel table, what a message may do when, events, and what state bits owe
 *
 * A number is a slot of the table and, above it, the round in which it was given: slots go round,
 * so no number comes again for millions of channels, and a late call of the application about a
 * channel that is gone never hits another.
 */
#include <assert.h>
#include <stdlib.h>

#include "connection/cn_int.h"
#include "transport/peer.h"

#define CHANNELS_DEFAULT 1024
#define SLOT_BITS        14
#define CHANNELS_MAX     (1u << SLOT_BITS)
#define WINDOW_FOREIGN   ((uint32_t)15 << 20) /* a stock OpenSSH sender collapses above it */
#define WINDOW_MAX       ((uint32_t)1 << 30)
#define WINDOW_TOTAL     ((uint64_t)64 << 20)
#define REPLIES_DEFAULT  1024
#define WAITING_MAX      ((size_t)4 << 20) /* bytes of control messages that wait for room */
#define CAP_FIRST        16

#define REQUEST_MAX    ((uint32_t)256 << 10) /* packet_length, compat 6.4 */
#define PEER_BOWLINE   "*Bowline*"
#define PEER_EOW       "OpenSSH*,*Bowline*,!OpenSSH_2.*,!OpenSSH_3.*,!OpenSSH_4.*"
#define PEER_AFTER_EOF "OpenSSH_2.*,OpenSSH_3.0*,OpenSSH_3.1*,Sun_SSH_1.0*"

/* ---- life ---- */
static uint32_t or_default(uint32_t v, uint32_t fallback, uint32_t most)
{
	return v == 0 ? fallback : (uint32_t)num_min(v, most);
}

static void limits_set(struct cn *cn, const struct cn_limits *l)
{
	bool is_bowline = peer_is(tp_peer_version(cn->tp), PEER_BOWLINE);
	struct cn_limits *out = &cn->limits;
	out->channels = or_default(l->channels, CHANNELS_DEFAULT, CHANNELS_MAX);
	out->window_max =
		or_default(l->window_max, WINDOW_FOREIGN, is_bowline ? WINDOW_MAX : WINDOW_FOREIGN);
	out->window_first = or_default(l->window_first, CN_WINDOW_FIRST, WINDOW_MAX);
	out->window_max = (uint32_t)num_max(out->window_max, out->window_first);
	out->max_packet =
		or_default(l->max_packet, CN_PACKET, is_bowline ? CN_PACKET_MAX : CN_PACKET);
	out->replies_pending = or_default(l->replies_pending, REPLIES_DEFAULT, UINT32_MAX);
	out->window_total = l->window_total != 0 ? l->window_total : WINDOW_TOTAL;
	cn->packet_out_max = is_bowline ? CN_PACKET_MAX : CN_PACKET;
	/* A request may be as long as OpenSSH takes it (a command, a banner): 256 KiB, whatever the
	   limit for data is. */
	tp_raise_max_packet(cn->tp, REQUEST_MAX);
}

err_t cn_new(struct cn **out, const struct cn_env *env)
{
	struct cn *cn = calloc(1, sizeof(*cn));
	if (cn == NULL)
		return E_MEM;
	cn->tp = env->tp;
	limits_set(cn, &env->limits);
	cn->knows_eow = peer_is(tp_peer_version(cn->tp), PEER_EOW);
	cn->may_send_after_eof = peer_is(tp_peer_version(cn->tp), PEER_AFTER_EOF);
	tq_init(&cn->out, cn->tp, WAITING_MAX);
	list_init(&cn->todo);
	list_init(&cn->waiting);
	list_init(&cn->dead);
	*out = cn;
	return OK;
}

void cn_free(struct cn *cn)
{
	if (cn == NULL)
		return;
	if (cn->reserved != NULL)
		tp_cancel(cn->tp);
	for (uint32_t i = 0; i < cn->chans_cap; i++)
		if (cn->chans[i] != NULL)
			cn_chan_free(cn, cn->chans[i]);
	free(cn->chans);
	tq_done(&cn->out);
	free(cn);
}

/* ---- the table ---- */
static err_t table_grow(struct cn *cn)
{
	uint32_t cap = cn->chans_cap == 0 ? CAP_FIRST : cn->chans_cap * 2;
	cap = (uint32_t)num_min(cap, cn->limits.channels);
	struct cn_chan **chans = calloc(cap, sizeof(struct cn_chan *));
	if (chans == NULL)
		return E_MEM;
	if (cn->chans_n > 0)
		memcpy(chans, cn->chans, cn->chans_cap * sizeof(struct cn_chan *));
	free(cn->chans);
	cn->next_slot = cn->chans_cap;
	cn->chans = chans;
	cn->chans_cap = cap;
	return OK;
}

/* RFC4254 5: numbers are ours to choose; they stay below 2^31 for peers that count in int. */
static uint32_t slot_next(struct cn *cn, uint32_t at)
{
	if (at < cn->chans_cap)
		return at;
	cn->round = (cn->round + 1) & ((1u << (31 - SLOT_BITS)) - 1);
	return 0;
}

err_t cn_chan_new(struct cn *cn, struct cn_chan **out)
{
	if (cn->chans_n >= cn->limits.channels)
		return E_LIMIT;
	if (cn->chans_n == cn->chans_cap)
		TRY(table_grow(cn));
	struct cn_chan *c = calloc(1, sizeof(*c));
	if (c == NULL)
		return E_MEM;
	uint32_t slot = slot_next(cn, cn->next_slot);
	while (cn->chans[slot] != NULL)
		slot = slot_next(cn, slot + 1);
	cn->next_slot = slot + 1;
	cn->chans[slot] = c;
	cn->chans_n++;
	c->slot = slot;
	c->id = cn->round << SLOT_BITS | slot;
	c->peer_id = UINT32_MAX;
	c->window_in = c->window_size = cn->limits.window_first;
	cn->windows += c->window_size;
	list_init(&c->todo);
	list_init(&c->waiting);
	*out = c;
	return OK;
}

void cn_chan_free(struct cn *cn, struct cn_chan *c)
{
	list_remove(&c->todo);
	list_remove(&c->waiting);
	cn->unanswered -= c->replies_due;
	cn->windows -= c->window_size;
	cn->chans[c->slot] = NULL;
	cn->chans_n--;
	free(c);
}

struct cn_chan *cn_chan_find(const struct cn *cn, uint32_t id)
{
	uint32_t slot = id & (CHANNELS_MAX - 1);
	struct cn_chan *c = slot < cn->chans_cap ? cn->chans[slot] : NULL;
	return c != NULL && c->id == id ? c : NULL;
}

err_t cn_chan_named(const struct cn *cn, uint32_t id, struct cn_chan **out)
{
	struct cn_chan *c = cn_chan_find(cn, id);
	if (c == NULL || c->state != CN_OPEN || c->close_seen)
		return E_CHANNEL;
	*out = c;
	return OK;
}

err_t cn_owe(struct cn *cn)
{
	if (cn->unanswered + tq_answers(&cn->out) >= cn->limits.replies_pending)
		return E_FLOOD;
	cn->unanswered++;
	return OK;
}

/* ---- messages ---- */
typedef err_t cn_take_fn(struct cn *cn, struct span body);

static cn_take_fn *const takes[] = {
	[SSH_MSG_global_request - 80] = cn_take_global,
	[SSH_MSG_request_success - 80] = cn_take_global_success,
	[SSH_MSG_request_failure - 80] = cn_take_global_failure,
	[SSH_MSG_channel_open - 80] = cn_take_open,
	[SSH_MSG_channel_open_confirmation - 80] = cn_take_confirmation,
	[SSH_MSG_channel_open_failure - 80] = cn_take_open_failure,
	[SSH_MSG_channel_window_adjust - 80] = cn_take_adjust,
	[SSH_MSG_channel_data - 80] = cn_take_data,
	[SSH_MSG_channel_extended_data - 80] = cn_take_extended,
	[SSH_MSG_channel_eof - 80] = cn_take_eof,
	[SSH_MSG_channel_close - 80] = cn_take_close,
	[SSH_MSG_channel_request - 80] = cn_take_request,
	[SSH_MSG_channel_success - 80] = cn_take_success,
	[SSH_MSG_channel_failure - 80] = cn_take_failure,
};

err_t cn_msg(struct cn *cn, uint8_t msg, struct span body)
{
	TRY(cn->err);
	cn_take_fn *take = msg >= 80 && msg - 80u < ARRAY_N(takes) ? takes[msg - 80] : NULL;
	if (cn->events_n > 0)
		return E_PHASE; /* the last message's events come first */
	return cn->err = take != NULL ? take(cn, body) : E_UNEXPECTED;
}

/* ---- events ---- */
err_t cn_event_add(struct cn *cn, const struct cn_event *ev)
{
	assert(cn->events_n < CN_EVENTS);
	cn->events[cn->events_n++] = *ev;
	return OK;
}

static bool next_dead(struct cn *cn, struct cn_event *ev)
{
	if (list_is_empty(&cn->dead))
		return false;
	struct cn_chan *c = LIST_ENTRY(cn->dead.next, struct cn_chan, todo);
	*ev = (struct cn_event){.type = CN_EV_CLOSED, .chan = c->id};
	cn_chan_free(cn, c);
	return true;
}

err_t cn_poll(struct cn *cn, struct cn_event *ev)
{
	TRY(cn->err);
	if (cn->events_n > 0) {
		*ev = cn->events[0];
		cn->events[0] = cn->events[1];
		cn->events_n--;
		return OK;
	}
	if (next_dead(cn, ev))
		return OK;
	struct cn_chan *c = NULL;
	cn->err = cn_room_next(cn, &c);
	TRY(cn->err);
	*ev = (struct cn_event){.type = CN_EV_NONE};
	if (c != NULL)
		*ev = (struct cn_event){.type = CN_EV_ROOM, .chan = c->id};
	return OK;
}

/* ---- what state bits owe ---- */
void cn_todo(struct cn *cn, struct cn_chan *c)
{
	if (list_is_empty(&c->todo))
		list_push(&cn->todo, &c->todo);
}

static err_t flush_grant(struct cn *cn, struct cn_chan *c)
{
	if (!cn_grant_is_due(c))
		return OK;
	TRY(tp_put(cn->tp, channel_window_adjust, .recipient = c->peer_id, .add = c->owed));
	c->window_in += c->owed;
	c->owed = 0;
	return OK;
}

/* RFC4254 5.3: EOF after the data, CLOSE after everything, and the peer's CLOSE is answered by
 * ours. */
static err_t flush_chan(struct cn *cn, struct cn_chan *c)
{
	if (c->state == CN_OPEN && !c->close_sent) {
		TRY(flush_grant(cn, c));
		if (c->eof_wanted && !c->eof_sent && !c->close_seen) {
			TRY(tp_put(cn->tp, channel_eof, .recipient = c->peer_id));
			c->eof_sent = true;
		}
		if (c->close_wanted || (c->close_seen && !c->close_held)) {
			TRY(tp_put(cn->tp, channel_close, .recipient = c->peer_id));
			c->close_sent = true;
		}
	}
	list_remove(&c->todo);
	if (c->close_sent && c->close_seen)
		list_push(&cn->dead, &c->todo);
	return OK;
}

err_t cn_flush(struct cn *cn)
{
	TRY(cn->err);
	if (cn->reserved != NULL)
		return OK;
	cn->err = tq_flush(&cn->out);
	TRY(cn->err);
	err_t e = OK;
	while (e == OK && tq_is_empty(&cn->out) && !list_is_empty(&cn->todo))
		e = flush_chan(cn, LIST_ENTRY(cn->todo.next, struct cn_chan, todo));
	if (e != E_AGAIN)
		cn->err = e;
	return cn->err;
}

/* ---- what is known ---- */
bool cn_is_open(const struct cn *cn, uint32_t chan)
{
	return cn_chan_is_usable(cn_chan_find(cn, chan));
}

size_t cn_channels(const struct cn *cn)
{
	return cn->chans_n;
}

uint32_t cn_window_out(const struct cn *cn, uint32_t chan)
{
	const struct cn_chan *c = cn_chan_find(cn, chan);
	return c != NULL ? c->window_out : 0;
}

uint32_t cn_window_in(const struct cn *cn, uint32_t chan)
{
	const struct cn_chan *c = cn_chan_find(cn, chan);
	return c != NULL ? c->window_in : 0;
}

uint32_t cn_peer_id(const struct cn *cn, uint32_t chan)
{
	const struct cn_chan *c = cn_chan_find(cn, chan);
	return c != NULL ? c->peer_id : UINT32_MAX;
}
