/* SPDX-License-Identifier: ISC */
/*
 * packet_out - packets are written, padded and sealed where they are sent from
 *
 * Output is a ring of chunk segments.  A reservation is free room behind the last sealed byte: the
 * body is written by the caller at its final place; commit adds padding, seals in place and moves
 * the end.  The unused rest costs nothing because the end simply doesn't move over it.
 *
 *     packet_length (4) | padding_length (1) | message number (1) | body | padding | tag
 */
#include <assert.h>

#include "transport/tp_int.h"

size_t tp_high_water(const struct tp *tp)
{
	return tp->env->limits.high_water != 0 ? tp->env->limits.high_water : TP_HIGH_WATER;
}

static struct tp_seg *tail(struct tp_out *o)
{
	return o->n == 0 ? NULL : &o->v[(o->first + o->n - 1) % TP_SEGS];
}

static err_t tail_add(struct tp *tp, struct tp_seg **out)
{
	struct tp_out *o = &tp->out;
	if (o->n == TP_SEGS)
		return E_AGAIN;
	struct chunk *c;
	TRY(chunk_get(tp->env->pool, &c));
	struct tp_seg *seg = &o->v[(o->first + o->n) % TP_SEGS];
	*seg = (struct tp_seg){c, TP_FRONT, TP_FRONT};
	o->n++;
	*out = seg;
	return OK;
}

/* A segment with at least `least` free bytes at its end. */
static err_t tail_with(struct tp *tp, size_t least, struct tp_seg **out)
{
	if (least > TP_CHUNK_ROOM)
		return E_LIMIT;
	struct tp_seg *seg = tail(&tp->out);
	if (seg == NULL || CHUNK_SIZE - seg->end < least)
		return tail_add(tp, out);
	*out = seg;
	return OK;
}

err_t tp_out_raw(struct tp *tp, struct cslice bytes)
{
	struct tp_seg *seg;
	err_t e = tail_with(tp, bytes.n, &seg);
	if (e != OK)
		return e == E_AGAIN ? E_MEM : e;
	memcpy(seg->c->p + seg->end, bytes.p, bytes.n);
	seg->end += bytes.n;
	tp->out.unsent += bytes.n;
	return OK;
}

/* ---- the size of a packet ---- */

/* Padding for a payload: at least 4, up to the block, and the packet at least 16 bytes (RFC 4253
 * 6). */
static size_t padding_for(const struct pktc *p, size_t payload_n)
{
	size_t unit = TP_PAYLOAD_AT - p->clear_len + payload_n;
	size_t pad = p->block - unit % p->block;
	if (pad < 4)
		pad += p->block;
	if (p->clear_len + unit + pad < 16)
		pad += p->block;
	return pad;
}

/* The same, more of it when the length of the payload is to be hidden: up to a multiple of pad_to.
 */
static size_t padding_to(const struct tp *tp, size_t payload_n)
{
	const struct pktc *p = tp->out_way.pktc;
	size_t pad = padding_for(p, payload_n), unit = TP_PAYLOAD_AT - p->clear_len + payload_n;
	if (tp->out.pad_to == 0)
		return pad;
	while ((unit + pad) % tp->out.pad_to != 0 && pad + p->block <= UINT8_MAX)
		pad += p->block;
	return pad;
}

void tp_pad_next(struct tp *tp, size_t multiple)
{
	tp->out.pad_to = num_min(multiple, TP_PAD_MAX);
}

/* Whole size on the wire, tag included. */
static size_t packet_size(const struct pktc *p, size_t payload_n)
{
	return TP_PAYLOAD_AT + payload_n + padding_for(p, payload_n) + p->tag;
}

/* Deflate may make bytes more: stored blocks and a flush. */
static size_t payload_room(const struct tp *tp, size_t payload_n)
{
	return tp->out_way.z_on ? payload_n + payload_n / 256 + 64 : payload_n;
}

/* ---- reserve ---- */

static void reserve_at(struct tp *tp, struct tp_seg *seg, uint8_t msg, size_t n)
{
	struct tp_out *o = &tp->out;
	o->rsv = seg->c->p + seg->end;
	o->rsv_msg = msg;
	o->rsv_n = n;
}

static uint8_t *body_at(const struct tp_out *o, size_t i)
{
	return o->rsv + i * o->rsv_stride + TP_PAYLOAD_AT + 1;
}

static err_t reserve_one(struct tp *tp, uint8_t msg, size_t want)
{
	if (want >= TP_PACKET_MAX)
		return E_LIMIT;
	size_t size = packet_size(tp->out_way.pktc, payload_room(tp, want + 1)) + tp->out.pad_to;
	if (size - tp->out_way.pktc->tag > TP_PACKET_MAX)
		return E_LIMIT;
	struct tp_seg *seg;
	TRY(tail_with(tp, size, &seg));
	reserve_at(tp, seg, msg, 1);
	tp->out.rsv_body = want;
	tp->out.rsv_stride = size;
	return OK;
}

/* May the layers above send now?  RFC4253 7.1: nothing else between our KEXINIT and our NEWKEYS. */
static err_t may_send(const struct tp *tp)
{
	TRY(tp->err);
	if (tp->out.rsv != NULL)
		return E_PHASE;
	if (tp->kex.is_sent && !tp->kex.is_out_done)
		return E_AGAIN;
	if (!tp->out_way.is_keyed)
		return E_AGAIN;
	return tp->out.unsent > tp_high_water(tp) ? E_AGAIN : OK;
}

err_t tp_reserve(struct tp *tp, uint8_t msg, size_t want, struct slice *body)
{
	err_t e = may_send(tp);
	if (e == OK)
		e = reserve_one(tp, msg, want);
	if (e != OK) {
		tp->out.pad_to = 0;
		return e;
	}
	*body = (struct slice){body_at(&tp->out, 0), want};
	return OK;
}

/* Data bytes of a packet: where several packets together are sealed quicker, not fewer of them than
 * that takes, and so large that they still fit one read of the peer's. */
static size_t data_split(const struct tp *tp, const struct tp_bulk *bulk)
{
	size_t most = num_min(bulk->data_max, bulk->want), many = tp->out_way.pktc->many;
	if (many == 0 || tp->out_way.z_on)
		return most;
	size_t part = num_min((bulk->want + many - 1) / many, TP_BATCH / many - TP_SPLIT_SPARE);
	return num_min(most, num_max(part, TP_SPLIT_MIN));
}

err_t tp_reserve_bulk(struct tp *tp, uint8_t msg, struct tp_bulk *bulk)
{
	TRY(may_send(tp));
	tp->out.pad_to = 0;
	if (bulk->data_max == 0 || bulk->want == 0 || bulk->head_n >= TP_PACKET_MAX ||
		bulk->data_max >= TP_PACKET_MAX)
		return E_LIMIT;
	const struct pktc *p = tp->out_way.pktc;
	size_t data_max = data_split(tp, bulk);
	size_t stride = packet_size(p, payload_room(tp, 1 + bulk->head_n + data_max));
	if (stride - p->tag > TP_PACKET_MAX)
		return E_LIMIT;
	struct tp_seg *seg;
	TRY(tail_with(tp, stride, &seg));
	size_t n = (CHUNK_SIZE - seg->end) / stride;
	n = num_min(n, (bulk->want - 1) / data_max + 1);
	n = tp->out_way.z_on ? 1 : num_min(n, TP_BULK_MAX); /* deflated sizes aren't known before */
	if (p->many > 0 && n > p->many)
		n -= n % p->many; /* whole batches */
	reserve_at(tp, seg, msg, n);
	struct tp_out *o = &tp->out;
	o->rsv_body = data_max;
	o->rsv_head = bulk->head_n;
	o->rsv_stride = stride;
	bulk->n = (uint32_t)n;
	for (size_t i = 0; i < n; i++) {
		bulk->v[i].head = body_at(o, i);
		bulk->v[i].data = body_at(o, i) + bulk->head_n;
		bulk->v[i].data_n = num_min(data_max, bulk->want - i * data_max);
	}
	return OK;
}

void tp_cancel(struct tp *tp)
{
	tp->out.rsv = NULL;
	tp->out.rsv_head = 0;
	tp->out.pad_to = 0;
}

/* ---- commit ---- */

static err_t deflate_payload(struct tp *tp, uint8_t *payload, size_t *n, size_t room)
{
	struct tp_way *way = &tp->out_way;
	if (way->z == NULL)
		TRY(compress_new(&way->z, true));
	struct buf *z = &tp->out.z_buf;
	buf_clear(z);
	TRY(compress_run(way->z, cslice_of(payload, *n), z, room));
	memcpy(payload, z->p, z->n);
	*n = z->n;
	buf_clear(z); /* wiped: it may have held a password */
	return OK;
}

/* Length words and padding around a payload; gives packet_length + 4. */
static size_t finish(struct tp *tp, uint8_t *pkt, size_t payload_n)
{
	size_t pad = padding_to(tp, payload_n);
	be32_put(pkt, (uint32_t)(1 + payload_n + pad));
	pkt[4] = (uint8_t)pad;
	rng_fill(tp->env->rng, pkt + TP_PAYLOAD_AT + payload_n, pad);
	return TP_PAYLOAD_AT + payload_n + pad;
}

/* seal has no error to give: when the library failed, the packet is all zero, which no sealed one
 * is. */
static bool is_spoiled(const uint8_t *pkt)
{
	static const uint8_t zeros[16];
	return memcmp(pkt, zeros, sizeof(zeros)) == 0;
}

_Static_assert(TP_BULK_MAX <= PKTC_MANY, "what is committed together is sealed together");

static err_t seal_all(struct tp_way *way, const struct pktc_one *v, size_t n)
{
	if (n > 1 && way->pktc->seal_many != NULL)
		way->pktc->seal_many(way->ctx, v, n);
	else
		for (size_t i = 0; i < n; i++)
			way->pktc->seal(way->ctx, v[i].at, v[i].pkt, v[i].n);
	for (size_t i = 0; i < n; i++)
		if (is_spoiled(v[i].pkt))
			return E_CRYPTO;
	return OK;
}

/* The first n packets of the reservation, the last with last_n bytes of body. */
static err_t commit(struct tp *tp, size_t n, size_t full_n, size_t last_n)
{
	struct tp_out *o = &tp->out;
	struct tp_way *way = &tp->out_way;
	struct pktc_one v[TP_BULK_MAX];
	size_t bytes = 0;
	for (size_t i = 0; i < n; i++) {
		uint8_t *pkt = o->rsv + i * o->rsv_stride;
		size_t payload_n = 1 + (i + 1 < n ? full_n : last_n);
		/* RFC4253 6.4 knows no wrap in the first exchange; Terrapin needs one */
		if (!tp->is_first_done && way->seq == UINT32_MAX)
			return E_WRAP;
		pkt[TP_PAYLOAD_AT] = o->rsv_msg;
		if (way->z_on)
			TRY(deflate_payload(
				tp, pkt + TP_PAYLOAD_AT, &payload_n, payload_room(tp, payload_n)));
		v[i].pkt = pkt;
		v[i].n = finish(tp, pkt, payload_n);
		v[i].at = tp_way_at(way);
		tp_way_count(way, v[i].n);
		bytes += v[i].n + way->pktc->tag;
	}
	TRY(seal_all(way, v, n));
	tail(o)->end += bytes;
	o->unsent += bytes;
	tp->counts.packets_out += n;
	tp_cancel(tp);
	return OK;
}

err_t tp_out_msg(struct tp *tp, uint8_t msg, struct cslice body)
{
	assert(tp->out.rsv == NULL);
	err_t e = reserve_one(tp, msg, body.n);
	if (e != OK)
		return e == E_AGAIN ? E_MEM : e;
	if (body.n > 0)
		memcpy(body_at(&tp->out, 0), body.p, body.n);
	return commit(tp, 1, body.n, body.n);
}

/* After the layers above have sent something. */
static err_t sent_by_user(struct tp *tp, err_t e)
{
	if (e == OK) {
		tp_way_hurry(tp, &tp->out_way, PKTC_SEAL);
		e = tp_rekey_step(tp);
	}
	if (e != OK)
		tp_fail(tp, e);
	return tp->err;
}

err_t tp_commit(struct tp *tp, size_t used)
{
	TRY(tp->err);
	if (tp->out.rsv == NULL)
		return E_PHASE;
	assert(used <= tp->out.rsv_body);
	return sent_by_user(tp, commit(tp, 1, used, used));
}

err_t tp_commit_bulk(struct tp *tp, size_t used)
{
	TRY(tp->err);
	struct tp_out *o = &tp->out;
	if (o->rsv == NULL)
		return E_PHASE;
	assert(used <= o->rsv_n * o->rsv_body);
	if (used == 0) {
		tp_cancel(tp);
		return OK;
	}
	size_t n = (used + o->rsv_body - 1) / o->rsv_body;
	size_t last = used - (n - 1) * o->rsv_body;
	return sent_by_user(tp, commit(tp, n, o->rsv_head + o->rsv_body, o->rsv_head + last));
}

/* ---- PONG: owed answers are a bounded string of strings, never a queue of packets ---- */

static bool may_answer(const struct tp *tp)
{
	return !(tp->kex.is_sent && !tp->kex.is_out_done) && tp->out.rsv == NULL &&
	       tp->out.unsent <= tp_high_water(tp);
}

err_t tp_pong(struct tp *tp, struct cslice data)
{
	buf_put_string(&tp->pongs, data);
	if (buf_err(&tp->pongs) == E_LIMIT)
		return E_FLOOD;
	TRY(buf_err(&tp->pongs));
	return tp_pongs_flush(tp);
}

err_t tp_pongs_flush(struct tp *tp)
{
	while (tp->pongs.n > 0 && may_answer(tp)) {
		size_t n = 4 + (size_t)be32_get(tp->pongs.p);
		TRY(tp_out_msg(tp, SSH_MSG_pong, cslice_of(tp->pongs.p, n)));
		buf_eat(&tp->pongs, n);
	}
	if (tp->pongs.n == 0 && tp->pongs.cap > 0)
		buf_done(&tp->pongs);
	return OK;
}

/* ---- to the socket ---- */

size_t tp_ready(struct tp *tp, struct iovec *iov, size_t max)
{
	struct tp_out *o = &tp->out;
	size_t n = 0;
	for (size_t i = 0; i < o->n && n < max; i++) {
		struct tp_seg *seg = &o->v[(o->first + i) % TP_SEGS];
		if (seg->end > seg->at)
			iov[n++] = (struct iovec){seg->c->p + seg->at, seg->end - seg->at};
	}
	return n;
}

size_t tp_unsent(const struct tp *tp)
{
	return tp->out.unsent;
}

static void pop(struct tp_out *o)
{
	chunk_drop(o->v[o->first].c);
	o->first = (o->first + 1) % TP_SEGS;
	o->n--;
}

void tp_sent(struct tp *tp, size_t n)
{
	struct tp_out *o = &tp->out;
	assert(n <= o->unsent);
	o->unsent -= n;
	tp->counts.bytes_out += n;
	const struct tp_seg *last = tail(o);
	if (last != NULL)
		tp->is_dirty |= o->n > 1 || last->end > TP_KEEP_TOUCHED;
	while (o->n > 0) {
		struct tp_seg *seg = &o->v[o->first];
		size_t take = num_min(n, seg->end - seg->at);
		seg->at += take;
		n -= take;
		if (seg->at < seg->end)
			return;
		if (o->n == 1)
			break;
		pop(o);
	}
	if (o->n == 1 && o->rsv == NULL) /* all is sent: start over in the same, warm place */
		o->v[o->first].at = o->v[o->first].end = TP_FRONT;
}

/* Gives the memory of past bulk back when nothing is in it. */
void tp_out_release(struct tp *tp)
{
	struct tp_out *o = &tp->out;
	if (o->unsent == 0 && o->rsv == NULL && o->n == 1)
		pop(o);
	buf_done(&o->z_buf);
}

void tp_out_done(struct tp *tp)
{
	while (tp->out.n > 0)
		pop(&tp->out);
	buf_done(&tp->out.z_buf);
}
