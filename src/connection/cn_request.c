/* SPDX-License-Identifier: ISC */
/*
 * cn_request - channel and global requests and their replies (RFC 4254 4, 5.4)
 *
 * A reply names no request: order is all there is.  So replies leave in the order of the
 * application's calls, and what comes back is counted against what was asked.
 */
#include "base/log.h"
#include "connection/cn_int.h"

/* ---- channel requests ---- */
err_t cn_request(
	struct cn *cn, uint32_t chan, const char *name, bool want_reply, struct cslice body)
{
	TRY(cn->err);
	struct cn_chan *c = cn_chan_find(cn, chan);
	bool is_held = c != NULL && c->close_held && c->close_seen && !c->close_wanted;
	if (!cn_chan_is_usable(c) && !is_held)
		return E_PHASE;
	TRY(tq_put(&cn->out, TQ_OWN, channel_request, .recipient = c->peer_id,
		.name = cslice_str(name), .want_reply = want_reply, .body = body));
	c->replies_wanted += want_reply;
	return OK;
}

err_t cn_take_request(struct cn *cn, struct span body)
{
	struct ssh_channel_request m;
	struct cn_chan *c;
	TRY(ssh_get_channel_request(span_bytes(body), &m));
	TRY(cn_chan_named(cn, m.recipient, &c));
	if (c->close_wanted) /* it was on its way when we closed */
		return OK;
	if (m.want_reply) {
		TRY(cn_owe(cn));
		c->replies_due++;
	}
	return cn_event_add(cn, &(struct cn_event){.type = CN_EV_REQUEST,
					.chan = c->id,
					.name = m.name,
					.data = m.body,
					.want_reply = m.want_reply});
}

err_t cn_reply(struct cn *cn, uint32_t chan, bool ok)
{
	TRY(cn->err);
	struct cn_chan *c = cn_chan_find(cn, chan);
	if (c == NULL || c->replies_due == 0)
		return E_PHASE;
	c->replies_due--;
	cn->unanswered--;
	if (!cn_chan_is_usable(c)) /* closed meanwhile: nobody waits */
		return OK;
	if (ok)
		return cn->err = tq_put(
			       &cn->out, TQ_ANSWER, channel_success, .recipient = c->peer_id);
	return cn->err = tq_put(&cn->out, TQ_ANSWER, channel_failure, .recipient = c->peer_id);
}

static err_t take_reply(struct cn *cn, uint32_t id, bool ok)
{
	struct cn_chan *c;
	TRY(cn_chan_named(cn, id, &c));
	if (c->replies_wanted == 0) {
		log_debug1("channel %u: a reply that nobody asked for", id);
		return OK;
	}
	c->replies_wanted--;
	if (c->close_wanted)
		return OK;
	return cn_event_add(cn, &(struct cn_event){.type = CN_EV_REPLY, .chan = c->id, .ok = ok});
}

err_t cn_take_success(struct cn *cn, struct span body)
{
	struct ssh_channel_success m;
	TRY(ssh_get_channel_success(span_bytes(body), &m));
	return take_reply(cn, m.recipient, true);
}

err_t cn_take_failure(struct cn *cn, struct span body)
{
	struct ssh_channel_failure m;
	TRY(ssh_get_channel_failure(span_bytes(body), &m));
	return take_reply(cn, m.recipient, false);
}

/* ---- global requests ---- */
err_t cn_global(struct cn *cn, const char *name, bool want_reply, struct cslice body)
{
	TRY(cn->err);
	TRY(tq_put(&cn->out, TQ_OWN, global_request, .name = cslice_str(name),
		.want_reply = want_reply, .body = body));
	cn->globals_wanted += want_reply;
	return OK;
}

err_t cn_take_global(struct cn *cn, struct span body)
{
	struct ssh_global_request m;
	TRY(ssh_get_global_request(span_bytes(body), &m));
	if (m.want_reply) {
		TRY(cn_owe(cn));
		cn->globals_due++;
	}
	return cn_event_add(cn, &(struct cn_event){.type = CN_EV_GLOBAL,
					.name = m.name,
					.data = m.body,
					.want_reply = m.want_reply});
}

err_t cn_global_reply(struct cn *cn, bool ok, struct cslice body)
{
	TRY(cn->err);
	if (cn->globals_due == 0)
		return E_PHASE;
	cn->globals_due--;
	cn->unanswered--;
	if (ok)
		return cn->err = tq_put(&cn->out, TQ_ANSWER, request_success, .body = body);
	return cn->err = tq_put_request_failure(
		       &cn->out, TQ_ANSWER, &(struct ssh_request_failure){0});
}

static err_t take_global_reply(struct cn *cn, bool ok, struct cslice data)
{
	if (cn->globals_wanted == 0) {
		log_debug1("a reply to a global request that nobody asked for");
		return OK;
	}
	cn->globals_wanted--;
	return cn_event_add(
		cn, &(struct cn_event){.type = CN_EV_GLOBAL_REPLY, .ok = ok, .data = data});
}

err_t cn_take_global_success(struct cn *cn, struct span body)
{
	struct ssh_request_success m;
	TRY(ssh_get_request_success(span_bytes(body), &m));
	return take_global_reply(cn, true, m.body);
}

err_t cn_take_global_failure(struct cn *cn, struct span body)
{
	struct ssh_request_failure m;
	TRY(ssh_get_request_failure(span_bytes(body), &m));
	return take_global_reply(cn, false, cslice_of(NULL, 0));
}
