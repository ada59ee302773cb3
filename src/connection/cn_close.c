/* SPDX-License-Identifier: ISC */
/*
 * cn_close - EOF and CLOSE (RFC 4254 5.3)
 *
 * Both directions end on their own; the channel is gone once both CLOSEs are through.  What is sent
 * is derived by cn_flush from the bits that are set here.
 */
#include "connection/cn_int.h"

void cn_eof(struct cn *cn, uint32_t chan)
{
	struct cn_chan *c = cn_chan_find(cn, chan);
	if (c == NULL || c->state == CN_ASKED || c->eof_wanted || c->close_wanted)
		return;
	c->eof_wanted = true;
	c->wants_room = false;
	list_remove(&c->waiting);
	cn_todo(cn, c);
}

void cn_close(struct cn *cn, uint32_t chan)
{
	struct cn_chan *c = cn_chan_find(cn, chan);
	if (c == NULL || c->state == CN_ASKED || c->close_wanted)
		return;
	c->close_wanted = true;
	c->wants_room = false;
	list_remove(&c->waiting);
	if (!c->close_sent)
		cn_todo(cn, c);
}

void cn_hold_close(struct cn *cn, uint32_t chan)
{
	struct cn_chan *c = cn_chan_find(cn, chan);
	if (c != NULL && !c->close_seen)
		c->close_held = true;
}

static err_t end_of_data(struct cn *cn, struct cn_chan *c)
{
	if (c->eof_seen)
		return OK; /* said twice: harmless */
	c->eof_seen = true;
	if (c->close_wanted)
		return OK;
	return cn_event_add(cn, &(struct cn_event){.type = CN_EV_EOF, .chan = c->id});
}

err_t cn_take_eof(struct cn *cn, struct span body)
{
	struct ssh_channel_eof m;
	struct cn_chan *c;
	TRY(ssh_get_channel_eof(span_bytes(body), &m));
	TRY(cn_chan_named(cn, m.recipient, &c));
	return end_of_data(cn, c);
}

err_t cn_take_close(struct cn *cn, struct span body)
{
	struct ssh_channel_close m;
	struct cn_chan *c;
	TRY(ssh_get_channel_close(span_bytes(body), &m));
	TRY(cn_chan_named(cn, m.recipient, &c));
	TRY(end_of_data(cn, c));
	c->close_seen = true;
	c->wants_room = false;
	list_remove(&c->waiting);
	if (c->close_held && !c->close_wanted)
		return cn_event_add(cn, &(struct cn_event){.type = CN_EV_CLOSING, .chan = c->id});
	if (!c->close_sent) {
		cn_todo(cn, c);
		return OK;
	}
	/* Both are through: its place is free before the peer's next message is looked at. */
	list_remove(&c->todo);
	list_push(&cn->dead, &c->todo);
	return OK;
}
