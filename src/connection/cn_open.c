/* SPDX-License-Identifier: ISC */
/* cn_open - channels come into being (RFC 4254 5.1), from either side */
#include "base/log.h"
#include "connection/cn_int.h"

#define OPEN_RESOURCE_SHORTAGE 4

/* What the peer says about its side: a packet limit of 0 would never let a byte through. */
static err_t peer_side(struct cn *cn, struct cn_chan *c, uint32_t window, uint32_t packet)
{
	if (packet == 0)
		return E_FORMAT;
	c->window_out = window;
	c->packet_out = (uint32_t)num_min(packet, cn->packet_out_max);
	return OK;
}

static err_t put_refusal(struct cn *cn, uint32_t peer_id, uint32_t reason, const char *text)
{
	return tq_put(&cn->out, TQ_ANSWER, channel_open_failure, .recipient = peer_id,
		.reason = reason, .description = cslice_str(text));
}

/* ---- ours ---- */
err_t cn_open(struct cn *cn, const char *type, struct cslice extra, uint32_t *chan)
{
	struct cn_chan *c;
	TRY(cn->err);
	TRY(cn_chan_new(cn, &c));
	c->state = CN_ASKING;
	c->is_session = strcmp(type, "session") == 0;
	err_t e = tq_put(&cn->out, TQ_OWN, channel_open, .type = cslice_str(type), .sender = c->id,
		.window = c->window_in, .maxpacket = cn->limits.max_packet, .extra = extra);
	if (e != OK) {
		cn_chan_free(cn, c);
		return e;
	}
	*chan = c->id;
	return OK;
}

static err_t asking(const struct cn *cn, uint32_t id, struct cn_chan **out)
{
	struct cn_chan *c = cn_chan_find(cn, id);
	if (c == NULL || c->state == CN_ASKED)
		return E_CHANNEL;
	if (c->state != CN_ASKING)
		return E_UNEXPECTED;
	*out = c;
	return OK;
}

err_t cn_take_confirmation(struct cn *cn, struct span body)
{
	struct ssh_channel_open_confirmation m;
	struct cn_chan *c;
	TRY(ssh_get_channel_open_confirmation(span_bytes(body), &m));
	TRY(asking(cn, m.recipient, &c));
	TRY(peer_side(cn, c, m.window, m.maxpacket));
	c->state = CN_OPEN;
	c->peer_id = m.sender;
	cn_room_maybe(cn, c);
	if (c->eof_wanted || c->close_wanted)
		cn_todo(cn, c);
	if (c->close_wanted) /* nobody waits for it any more */
		return OK;
	return cn_event_add(
		cn, &(struct cn_event){.type = CN_EV_OPENED, .chan = c->id, .data = m.extra});
}

err_t cn_take_open_failure(struct cn *cn, struct span body)
{
	struct ssh_channel_open_failure m;
	struct cn_chan *c;
	TRY(ssh_get_channel_open_failure(span_bytes(body), &m));
	TRY(asking(cn, m.recipient, &c));
	uint32_t id = c->id;
	cn_chan_free(cn, c);
	return cn_event_add(cn, &(struct cn_event){.type = CN_EV_OPEN_FAILED,
					.chan = id,
					.reason = m.reason,
					.data = m.description});
}

/* ---- the peer's ---- */
err_t cn_take_open(struct cn *cn, struct span body)
{
	struct ssh_channel_open m;
	struct cn_chan *c;
	TRY(ssh_get_channel_open(span_bytes(body), &m));
	TRY(cn_owe(cn));
	err_t e = cn_chan_new(cn, &c);
	if (e == E_LIMIT) {
		log_debug1("channel: too many of them, one more refused");
		cn->unanswered--;
		return put_refusal(cn, m.sender, OPEN_RESOURCE_SHORTAGE, "too many channels");
	}
	TRY(e);
	c->state = CN_ASKED;
	c->is_session = cslice_eq_str(m.type, "session");
	c->peer_id = m.sender;
	TRY(peer_side(cn, c, m.window, m.maxpacket));
	return cn_event_add(
		cn, &(struct cn_event){
			    .type = CN_EV_OPEN, .chan = c->id, .name = m.type, .data = m.extra});
}

static err_t asked(struct cn *cn, uint32_t chan, struct cn_chan **out)
{
	struct cn_chan *c = cn_chan_find(cn, chan);
	if (c == NULL || c->state != CN_ASKED)
		return E_PHASE;
	*out = c;
	return OK;
}

err_t cn_accept(struct cn *cn, uint32_t chan)
{
	struct cn_chan *c;
	TRY(cn->err);
	TRY(asked(cn, chan, &c));
	cn->err = tq_put(&cn->out, TQ_ANSWER, channel_open_confirmation, .recipient = c->peer_id,
		.sender = c->id, .window = c->window_in, .maxpacket = cn->limits.max_packet);
	TRY(cn->err);
	cn->unanswered--;
	c->state = CN_OPEN;
	return OK;
}

err_t cn_refuse(struct cn *cn, uint32_t chan, uint32_t reason, const char *text)
{
	struct cn_chan *c;
	TRY(cn->err);
	TRY(asked(cn, chan, &c));
	cn->unanswered--;
	cn->err = put_refusal(cn, c->peer_id, reason, text);
	cn_chan_free(cn, c);
	return cn->err;
}
