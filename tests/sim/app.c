/* SPDX-License-Identifier: ISC */
/*
 * app - channels, and on each a stream of known bytes both ways, stderr too
 *
 * The client opens channels and says in the request how much of what will flow; the server answers
 * or refuses.  Once it has been asked for the first, it opens channels to the client's agent, which
 * carry bytes too.  Sinks take what came after a while; some spans are kept and looked at again.
 */
#include "../fuzz/gen.h"
#include "sim.h"

static uint8_t byte_at(uint32_t index, uint32_t way, uint32_t pos)
{
	return (uint8_t)(pos * 131 + pos / 251 * 7 + index * 17 + way * 53);
}

/* 0 to the server, 1 to the client, 2 stderr */
static uint32_t way_of(const struct sim_node *n, bool is_out, uint32_t ext)
{
	bool to_server = is_out == (n->role == TP_CLIENT);
	return to_server ? 0 : 1 + ext;
}

static struct sim_chan *chan_of(struct sim_node *n, uint32_t id)
{
	for (size_t i = 0; i < SIM_ALL; i++)
		if (n->chans[i].is_known && n->chans[i].id == id)
			return &n->chans[i];
	return NULL;
}

static uint32_t index_of(const struct sim_node *n, const struct sim_chan *c)
{
	return (uint32_t)(c - n->chans);
}

static bool is_damaged(const struct sim_node *n)
{
	return n->plan->harm == SIM_HOSTILE;
}

static void call(struct sim_node *n, err_t e)
{
	if (e != OK && n->cn->err == e)
		sim_node_fail(n, e);
	else
		HOLDS(e == OK || e == E_AGAIN || is_damaged(n) || n->err != OK);
}

static bool is_back(uint32_t index)
{
	return index >= SIM_CHANS;
}

static const char *type_of(uint32_t index)
{
	return is_back(index) ? "auth-agent@openssh.com" : "session";
}

static bool is_refused(const struct sim_node *n, uint32_t index)
{
	return index == (is_back(index) ? n->plan->refused_back : n->plan->refused);
}

/* ---- begin ---- */

static void open_some(struct sim_node *n, uint32_t from, uint32_t count)
{
	for (uint32_t i = from; i < from + count && n->err == OK; i++) {
		uint8_t extra[4];
		struct sim_chan *c = &n->chans[i];
		be32_put(extra, i);
		call(n, cn_open(n->cn, type_of(i), cslice_of(extra, 4), &c->id));
		c->is_known = true;
		c->rekeys_before = n->rekeys_n;
	}
}

void sim_app_start(struct sim_node *n)
{
	const struct sim_plan *p = n->plan;
	struct cn_env env = {.tp = n->tp, .limits = p->cn_limits[n->role]};
	err_t e = cn_new(&n->cn, &env);
	HOLDS(e == OK);
	for (uint32_t i = 0; i < SIM_ALL; i++) {
		struct sim_chan *c = &n->chans[i];
		for (uint32_t ext = 0; ext < 2; ext++) {
			if (ext == 0 || n->role == TP_SERVER)
				c->out[ext].want = p->length[i][way_of(n, true, ext)];
			if (ext == 0 || n->role == TP_CLIENT)
				c->in_want[ext] = p->length[i][way_of(n, false, ext)];
		}
	}
	if (n->role == TP_CLIENT)
		open_some(n, 0, n->plan->chans);
	if (p->rekey_every_us != 0)
		n->rekey_us = n->now_us + p->rekey_every_us;
	n->global_us = n->now_us + 10000;
	n->is_evil = p->harm == SIM_HOSTILE && (p->seed & 1) == (uint64_t)n->role;
}

/* ---- what comes ---- */

static void check_bytes(struct sim_node *n, const struct sim_kept *k)
{
	uint32_t way = way_of(n, false, k->ext), at = k->at;
	for (size_t i = 0; i < k->span.n; i++)
		if (k->span.p[i] != byte_at(k->index, way, at + (uint32_t)i)) {
			HOLDS(is_damaged(n)); /* stream prefix equality */
			return;
		}
}

static void drop_kept(struct sim_node *n)
{
	for (size_t i = 0; i < n->kept_n; i++) {
		check_bytes(n, &n->kept[i]);
		span_drop(&n->kept[i].span);
	}
	n->kept_n = 0;
}

static void take_data(struct sim_node *n, const struct cn_event *ev)
{
	struct sim_chan *c = chan_of(n, ev->chan);
	if (c == NULL) {
		HOLDS(is_damaged(n));
		return;
	}
	HOLDS(!c->eof_seen && ev->ext <= 1);
	struct sim_kept k = {ev->span, index_of(n, c), ev->ext, c->in_at[ev->ext]};
	check_bytes(n, &k);
	c->in_at[ev->ext] += (uint32_t)ev->span.n;
	c->unconsumed += (uint32_t)ev->span.n;
	HOLDS(c->in_at[ev->ext] <= c->in_want[ev->ext] || is_damaged(n));
	sim_note(n, ev->span.n);
	if (n->kept_n < SIM_KEPT && sim_roll(n, 8) == 0) {
		span_keep(&k.span);
		n->kept[n->kept_n++] = k;
	}
	if (n->app_us == SIM_NEVER)
		n->app_us = n->now_us + (n->plan->is_quick ? 0 : sim_roll(n, 20000));
}

static void take_open(struct sim_node *n, const struct cn_event *ev)
{
	uint32_t i = ev->data.n == 4 ? be32_get(ev->data.p) : SIM_ALL;
	if (i >= SIM_ALL || is_back(i) != (n->role == TP_CLIENT) || n->chans[i].is_known) {
		HOLDS(is_damaged(n));
		call(n, cn_refuse(n->cn, ev->chan, 1, "what is that"));
		return;
	}
	struct sim_chan *c = &n->chans[i];
	HOLDS(cslice_eq(ev->name, cslice_str(type_of(i))) || is_damaged(n));
	c->is_known = true;
	c->id = ev->chan;
	if (is_refused(n, i)) {
		c->is_over = true;
		call(n, cn_refuse(n->cn, ev->chan, 1, "not this one"));
		return;
	}
	c->is_open = true;
	call(n, cn_accept(n->cn, ev->chan));
}

static void take_asked(struct sim_node *n, const struct cn_event *ev)
{
	take_open(n, ev);
	if (n->role != TP_SERVER || n->has_backs)
		return;
	n->has_backs = true;
	open_some(n, SIM_CHANS, n->plan->backs);
}

static void take_reply(struct sim_node *n, const struct cn_event *ev)
{
	struct sim_chan *c = chan_of(n, ev->chan);
	if (c == NULL)
		return;
	HOLDS(ev->ok == (c->replies % 2 == 0) || is_damaged(n)); /* in order */
	c->replies++;
}

static void take_opened(struct sim_node *n, const struct cn_event *ev)
{
	struct sim_chan *c = chan_of(n, ev->chan);
	HOLDS(c != NULL || is_damaged(n));
	if (c == NULL)
		return;
	c->is_open = true;
	if (is_back(index_of(n, c)))
		return; /* an agent's channels know no requests */
	for (uint32_t k = sim_roll(n, 4); k > 0 && n->err == OK; k--) {
		call(n, cn_request(n->cn, c->id, "exec", true, cslice_str("\0\0\0\0")));
		c->requests++;
	}
}

static void take_request(struct sim_node *n, const struct cn_event *ev)
{
	struct sim_chan *c = chan_of(n, ev->chan);
	if (!ev->want_reply)
		return;
	bool ok = c == NULL || c->requests++ % 2 == 0;
	call(n, cn_reply(n->cn, ev->chan, ok));
}

static void note_end(struct sim_node *n, struct sim_chan *c)
{
	c->eof_seen = true;
	if (n->role == TP_SERVER && is_back(index_of(n, c)))
		n->backs_half_n += c->out[0].at < c->out[0].want;
}

static void count_back(struct sim_node *n, const struct sim_chan *c)
{
	if (n->role != TP_SERVER || !is_back(index_of(n, c)))
		return;
	n->backs_n++;
	n->backs_rekeyed_n += n->rekeys_n > c->rekeys_before;
}

static void take(struct sim_node *n, const struct cn_event *ev)
{
	struct sim_chan *c = chan_of(n, ev->chan);
	sim_note(n, 2000 + (uint64_t)ev->type);
	switch (ev->type) {
	case CN_EV_OPEN:
		take_asked(n, ev);
		break;
	case CN_EV_OPENED:
		take_opened(n, ev);
		break;
	case CN_EV_DATA:
		take_data(n, ev);
		break;
	case CN_EV_REQUEST:
		take_request(n, ev);
		break;
	case CN_EV_REPLY:
		take_reply(n, ev);
		break;
	case CN_EV_GLOBAL:
		if (ev->want_reply)
			call(n, cn_global_reply(n->cn, true, ev->data));
		break;
	case CN_EV_GLOBAL_REPLY:
		n->globals_answered++;
		HOLDS(ev->ok || is_damaged(n));
		break;
	default:
		if (c == NULL)
			break;
		if (ev->type == CN_EV_ROOM)
			c->out[0].is_waiting = c->out[1].is_waiting = false;
		if (ev->type == CN_EV_EOF)
			note_end(n, c);
		if (ev->type == CN_EV_OPEN_FAILED)
			HOLDS(is_refused(n, index_of(n, c)) || is_damaged(n));
		if (ev->type == CN_EV_CLOSED)
			count_back(n, c);
		c->is_over =
			c->is_over || ev->type == CN_EV_CLOSED || ev->type == CN_EV_OPEN_FAILED;
	}
}

static bool poll(struct sim_node *n)
{
	struct cn_event ev;
	err_t e = cn_poll(n->cn, &ev);
	sim_node_fail(n, e);
	if (e != OK || ev.type == CN_EV_NONE)
		return false;
	take(n, &ev);
	return true;
}

void sim_app_message(struct sim_node *n, uint8_t msg, struct span body)
{
	sim_node_fail(n, cn_msg(n->cn, msg, body));
	while (n->err == OK && poll(n))
		;
}

/* ---- what goes ---- */

static void fill(struct sim_node *n, struct sim_chan *c, uint32_t ext, struct iovec iov)
{
	struct sim_stream *s = &c->out[ext];
	uint8_t *p = iov.iov_base;
	for (size_t i = 0; i < iov.iov_len; i++)
		p[i] = byte_at(index_of(n, c), way_of(n, true, ext), s->at++);
}

/* What one packet to the other end may carry. */
static size_t packet_of(const struct sim_node *n)
{
	uint32_t most = n->plan->cn_limits[n->role == TP_CLIENT ? TP_SERVER : TP_CLIENT].max_packet;
	return most != 0 ? most : CN_PACKET;
}

/* A burst of a length that is drawn, in as many reservations as it takes.  How many packets one
 * holds depends on where the transport's memory ends: where runs are compared it holds one. */
static bool send(struct sim_node *n, struct sim_chan *c, uint32_t ext)
{
	struct sim_stream *s = &c->out[ext];
	struct iovec iov[TP_BULK_MAX];
	if (s->is_waiting || s->at == s->want)
		return false;
	if (s->until == s->at)
		s->until = s->at + (uint32_t)num_min(s->want - s->at, 1 + sim_roll(n, 100000));
	while (s->at < s->until && n->err == OK) {
		size_t niov, want = s->until - s->at, used = 0;
		if (!n->plan->is_bulk)
			want = num_min(want, packet_of(n));
		err_t e = cn_reserve(n->cn, c->id, ext, want, iov, &niov);
		if (e != OK) {
			s->is_waiting = true;
			call(n, e);
			return false;
		}
		for (size_t i = 0; i < niov; i++) {
			fill(n, c, ext, iov[i]);
			used += iov[i].iov_len;
		}
		HOLDS(used <= want);
		call(n, cn_commit(n->cn, used));
	}
	return true;
}

static bool drive(struct sim_node *n, struct sim_chan *c)
{
	if (!c->is_open || c->is_over || c->is_closed)
		return false;
	bool moved = send(n, c, 0);
	if (n->err == OK)
		moved |= send(n, c, 1);
	if (n->err != OK)
		return false;
	if (!c->eof_sent && c->out[0].at == c->out[0].want && c->out[1].at == c->out[1].want) {
		c->eof_sent = true;
		cn_eof(n->cn, c->id);
		moved = true;
	}
	bool may_close = n->role == TP_SERVER || c->replies == c->requests;
	if (c->eof_sent && c->eof_seen && c->unconsumed == 0 && may_close) {
		c->is_closed = true;
		cn_close(n->cn, c->id);
		moved = true;
	}
	return moved;
}

static void consume(struct sim_node *n)
{
	n->app_us = SIM_NEVER;
	drop_kept(n);
	for (size_t i = 0; i < SIM_ALL; i++) {
		struct sim_chan *c = &n->chans[i];
		if (c->unconsumed == 0)
			continue;
		uint32_t part = n->plan->is_quick ? c->unconsumed : 1 + sim_roll(n, c->unconsumed);
		if (c->unconsumed - part < 2000)
			part = c->unconsumed;
		c->unconsumed -= part;
		cn_consumed(n->cn, c->id, part);
		if (c->unconsumed > 0)
			n->app_us = n->now_us + sim_roll(n, 20000);
	}
}

/* One message of the table, whatever it means now. */
static void misbehave(struct sim_node *n)
{
	uint8_t room[16384];
	struct slice body;
	struct wr w = wr_of((struct slice){room, sizeof(room)});
	gen_seed(n->plan->seed + n->now_us);
	gen_messages[gen_roll((uint32_t)gen_messages_n)](&w);
	if (w.bad || tp_reserve(n->tp, room[0], w.n - 1, &body) != OK)
		return;
	if (w.n > 1)
		memcpy(body.p, room + 1, w.n - 1);
	sim_node_fail(n, tp_commit(n->tp, w.n - 1));
}

static void on_timer(struct sim_node *n)
{
	n->global_us = n->now_us + 10000 + sim_roll(n, 200000);
	if (n->is_evil) {
		misbehave(n);
		return;
	}
	if (n->globals_sent == n->globals_answered) {
		n->globals_sent++;
		call(n, cn_global(n->cn, "keepalive@openssh.com", true, cslice_of(NULL, 0)));
	}
}

bool sim_app_is_done(const struct sim_node *n)
{
	if (n->cn == NULL)
		return false;
	for (uint32_t i = 0; i < SIM_ALL; i++)
		if (sim_plan_has(n->plan, i) && !n->chans[i].is_over)
			return false;
	return true;
}

static void say_bye(struct sim_node *n)
{
	if (n->role != TP_CLIENT || !sim_app_is_done(n) || n->globals_sent != n->globals_answered)
		return;
	(void)!tp_disconnect(n->tp, 11, "bye");
	n->err = tp_error(n->tp);
	HOLDS(n->err == E_CANCELLED);
}

bool sim_app_step(struct sim_node *n)
{
	bool moved = false;
	if (n->cn == NULL || n->err != OK)
		return false;
	if (n->app_us <= n->now_us)
		consume(n);
	if (n->global_us <= n->now_us)
		on_timer(n);
	for (size_t i = 0; i < SIM_ALL && n->err == OK; i++)
		moved |= drive(n, &n->chans[i]);
	if (n->err == OK)
		sim_node_fail(n, cn_flush(n->cn));
	if (n->err == OK)
		moved |= poll(n);
	if (n->err == OK && !moved)
		say_bye(n);
	return moved;
}

/* Bytes of a window are in one place each. */
void sim_app_check(const struct sim_node *n)
{
	for (uint32_t i = 0; i < n->cn->chans_cap; i++) {
		const struct cn_chan *c = n->cn->chans[i];
		if (c != NULL)
			HOLDS((uint64_t)c->window_in + c->unconsumed + c->owed == c->window_size);
	}
}

void sim_app_done(struct sim_node *n)
{
	for (size_t i = 0; i < n->kept_n; i++)
		span_drop(&n->kept[i].span);
	n->kept_n = 0;
	cn_free(n->cn);
}
