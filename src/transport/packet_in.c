/* SPDX-License-Identifier: ISC */
/*
 * packet_in - bytes are received where packets are opened, and packets are opened where they are
 * read
 *
 * One chunk takes the input.  Offsets go back to its start whenever it is empty and nobody holds a
 * span of it, so a quiet connection touches a page or two and a busy one stays in the cache; what
 * bulk has touched is given back when the connection falls idle (tp_tick).  While bulk flows,
 * tp_space asks for whole packets of the size just seen, so that hardly any packet straddles two
 * chunks; what does is moved.
 *
 * A bad length under a cipher that hides it is told to nobody: the engine swallows as many bytes as
 * the largest packet would have, and then fails as a wrong MAC does (an immediate error would be an
 * oracle for the decrypted word).  Under a chained cipher the same holds for a wrong MAC: there any
 * block of the past can be put where the length stands, and the number of bytes that are taken
 * before the end would tell what is in it.
 */
#include <assert.h>

#include "base/log.h"
#include "transport/tp_int.h"

#define BULK_FROM  16384u
#define MOVE_BELOW 4096u /* a small rest is cheaper to move than a chunk is to change */

/* ---- room ---- */

static bool is_shared(const struct chunk *c)
{
	return c->refs > 1;
}

/* Bytes that the packet at the front still needs; a guess when its length is not known. */
static size_t missing(const struct tp_in *in)
{
	size_t have = in->end - in->at;
	size_t whole = in->need != 0 ? in->need : num_max(in->last, 64);
	return whole > have ? whole - have : 1;
}

static void move_rest(struct tp_in *in, struct chunk *to)
{
	size_t n = in->end - in->at;
	if (n > 0)
		memmove(to->p + TP_FRONT, in->c->p + in->at, n);
	if (to != in->c) {
		chunk_drop(in->c);
		in->c = to;
	}
	in->at = TP_FRONT;
	in->end = TP_FRONT + n;
}

/* Makes room for the packet at the front: E_AGAIN when memory is used up. */
static err_t make_room(struct tp *tp)
{
	struct tp_in *in = &tp->in;
	if (in->c == NULL) {
		TRY(chunk_get(tp->env->pool, &in->c));
		in->at = in->end = TP_FRONT;
	}
	bool is_small_rest =
		in->at > TP_FRONT && in->end - in->at <= MOVE_BELOW && in->end > TP_BATCH;
	if (!is_shared(in->c) && (in->at == in->end || is_small_rest))
		move_rest(in, in->c);
	/* More than half a chunk waits: whole packets are among it, polling comes first. */
	if (CHUNK_SIZE - in->end >= missing(in) || in->end - in->at > CHUNK_SIZE / 2)
		return OK;
	struct chunk *to = in->c;
	if (is_shared(in->c))
		TRY(chunk_get(tp->env->pool, &to));
	move_rest(in, to);
	return OK;
}

struct slice tp_space(struct tp *tp)
{
	struct tp_in *in = &tp->in;
	in->offered = 0;
	if (tp->err != OK || make_room(tp) != OK)
		return (struct slice){NULL, 0};
	size_t ask = TP_BATCH;
	if (in->last >= BULK_FROM && in->discard == 0) {
		size_t first = in->at == in->end ? 0 : missing(in);
		ask = first < TP_BATCH ? first + (TP_BATCH - first) / in->last * in->last : first;
		ask = ask == 0 ? TP_BATCH : ask;
	}
	in->offered = num_min(ask, CHUNK_SIZE - in->end);
	return (struct slice){in->c->p + in->end, in->offered};
}

err_t tp_fed(struct tp *tp, size_t n, uint64_t now_us)
{
	TRY(tp->err);
	struct tp_in *in = &tp->in;
	assert(n <= in->offered);
	in->offered = 0;
	in->end += n;
	tp->is_dirty |= in->end > TP_KEEP_TOUCHED;
	tp->counts.bytes_in += n;
	tp->now_us = now_us;
	return OK;
}

/* Gives the memory of past bulk back when nothing is in it. */
void tp_in_release(struct tp *tp)
{
	struct tp_in *in = &tp->in;
	if (in->lent != NULL)
		return;
	if (in->at == in->end && in->offered == 0) {
		chunk_drop(in->c);
		in->c = NULL;
		in->at = in->end = TP_FRONT;
	}
	chunk_drop(in->z_chunk);
	in->z_chunk = NULL;
	buf_done(&in->z_buf);
}

void tp_lend(struct tp *tp, struct tp_event *ev, struct cslice bytes)
{
	struct tp_in *in = &tp->in;
	assert(in->lent == NULL);
	chunk_keep(in->from);
	in->lent = in->from;
	ev->body = (struct span){in->lent, in->lent->p + (bytes.p - in->lent->p), bytes.n};
}

void tp_in_unlend(struct tp *tp)
{
	chunk_drop(tp->in.lent);
	tp->in.lent = NULL;
}

void tp_in_done(struct tp *tp)
{
	tp_in_unlend(tp);
	chunk_drop(tp->in.c);
	chunk_drop(tp->in.z_chunk);
	buf_done(&tp->in.z_buf);
}

/* ---- one packet ---- */

/* RFC4253 6: length limits, and the padded part is a multiple of the block. */
static err_t length_check(const struct tp *tp, uint32_t packet_length)
{
	const struct pktc *p = tp->in_way.pktc;
	if (packet_length < 1 + 4 + 1 || packet_length > tp->max_packet)
		return E_LENGTH;
	if ((packet_length + 4 - p->clear_len) % p->block != 0)
		return E_LENGTH;
	return OK;
}

static void start_discard(struct tp *tp)
{
	tp->in.need = 0;
	tp->in.discard = 4 + (size_t)tp->max_packet + tp->in_way.pktc->tag;
}

static bool hides_damage(const struct tp_way *way)
{
	return way->pktc->clear_len == 0 && way->mat.cipher != NULL &&
	       (way->mat.cipher->flags & AF_CHAINED) != 0;
}

/* Sets in->need or in->discard once enough bytes are there to know. */
static err_t learn_length(struct tp *tp)
{
	struct tp_in *in = &tp->in;
	struct tp_way *way = &tp->in_way;
	const struct pktc *p = way->pktc;
	if (in->need != 0 || in->discard != 0 || in->end - in->at < p->peek)
		return OK;
	uint32_t packet_length;
	TRY(p->length(way->ctx, tp_way_at(way), in->c->p + in->at, &packet_length));
	err_t e = length_check(tp, packet_length);
	if (e == OK) {
		in->need = 4 + (size_t)packet_length + p->tag;
		return OK;
	}
	if (p->clear_len == 4 || p->tag == 0)
		return e;
	start_discard(tp);
	return OK;
}

/* Payload of an opened packet. */
static err_t unpad(struct cslice pkt, struct cslice *payload)
{
	size_t pad = pkt.p[4];
	if (pad < 4 || pkt.n < TP_PAYLOAD_AT + 1 + pad)
		return E_PADDING;
	*payload = (struct cslice){pkt.p + TP_PAYLOAD_AT, pkt.n - TP_PAYLOAD_AT - pad};
	return OK;
}

/* Inflated payloads go into a chunk of their own, so that their spans can be kept as all others. */
static err_t inflate_payload(struct tp *tp, struct cslice *payload)
{
	struct tp_in *in = &tp->in;
	struct tp_way *way = &tp->in_way;
	if (way->z == NULL)
		TRY(compress_new(&way->z, false));
	buf_clear(&in->z_buf);
	TRY(compress_run(way->z, *payload, &in->z_buf, tp->max_packet));
	if (in->z_buf.n == 0)
		return E_COMPRESSION;
	if (in->z_chunk != NULL && !is_shared(in->z_chunk))
		in->z_at = 0;
	if (in->z_chunk == NULL || CHUNK_SIZE - in->z_at < in->z_buf.n) {
		struct chunk *c;
		err_t e = chunk_get(tp->env->pool, &c);
		if (e != OK)
			return e == E_AGAIN ? E_MEM : e;
		chunk_drop(in->z_chunk);
		in->z_chunk = c;
		in->z_at = 0;
	}
	memcpy(in->z_chunk->p + in->z_at, in->z_buf.p, in->z_buf.n);
	*payload = (struct cslice){in->z_chunk->p + in->z_at, in->z_buf.n};
	in->z_at += in->z_buf.n;
	in->from = in->z_chunk;
	return OK;
}

/* Size of the whole packet at p, of which n bytes are there: 0 when that is not all of it, or none.
 */
static size_t whole_size(
	const struct tp *tp, const struct tp_way *way, struct pktc_at at, struct cslice in)
{
	uint32_t packet_length;
	if (in.n < way->pktc->peek || way->pktc->length(way->ctx, at, in.p, &packet_length) != OK ||
		length_check(tp, packet_length) != OK)
		return 0;
	size_t size = 4 + (size_t)packet_length + way->pktc->tag;
	return size <= in.n ? size : 0;
}

/* The whole packets that wait, as far as their lengths can be believed. */
static size_t run_find(const struct tp *tp, struct pktc_one v[PKTC_MANY])
{
	const struct tp_in *in = &tp->in;
	const struct tp_way *way = &tp->in_way;
	struct pktc_at at = tp_way_at(way);
	size_t n = 0, size = in->need;
	for (size_t from = in->at; size != 0; n++) {
		v[n] = (struct pktc_one){at, in->c->p + from, size - way->pktc->tag};
		if (n + 1 == PKTC_MANY)
			return PKTC_MANY;
		at = tp_at_after(way->pktc, at, v[n].n);
		from += size;
		size = whole_size(tp, way, at, cslice_of(in->c->p + from, in->end - from));
	}
	return n;
}

/*
 * Opens the packets that wait together, where the protection is quicker that way.  Nothing else of
 * them is done before their turn: what is counted, the order, and the error of a wrong one are the
 * same.  Only once logged in, when much is moved.
 */
static void open_ahead(struct tp *tp)
{
	struct pktc_one v[PKTC_MANY];
	const struct tp_way *way = &tp->in_way;
	if (tp->in.ahead > 0 || way->pktc->open_many == NULL || !tp->is_open)
		return;
	size_t n = run_find(tp, v);
	if (n > 1)
		tp->in.ahead = way->pktc->open_many(way->ctx, v, n);
}

/* E_AGAIN: the packet is damaged, and nobody shall know yet. */
static err_t open_packet(struct tp *tp, uint32_t *seq, struct cslice *payload)
{
	struct tp_in *in = &tp->in;
	struct tp_way *way = &tp->in_way;
	uint8_t *pkt = in->c->p + in->at;
	size_t n = in->need - way->pktc->tag;
	open_ahead(tp);
	err_t e = in->ahead > 0 ? OK : way->pktc->open(way->ctx, tp_way_at(way), pkt, n);
	if (e == E_MAC && hides_damage(way)) {
		start_discard(tp);
		return E_AGAIN;
	}
	TRY(e);
	in->ahead -= in->ahead > 0;
	if (!tp->is_first_done && way->seq == UINT32_MAX)
		return E_WRAP;
	*seq = way->seq;
	tp_way_count(way, n);
	tp->counts.packets_in++;
	in->last = in->need;
	in->at += in->need;
	in->need = 0;
	in->from = in->c;
	TRY(unpad(cslice_of(pkt, n), payload));
	return way->z_on ? inflate_payload(tp, payload) : OK;
}

err_t tp_packet_step(struct tp *tp, struct tp_event *ev, bool *progress)
{
	struct tp_in *in = &tp->in;
	if (in->c == NULL)
		return OK;
	TRY(learn_length(tp));
	size_t have = in->end - in->at;
	if (in->discard != 0)
		return have >= in->discard ? E_MAC : OK;
	if (in->need == 0 || have < in->need)
		return OK;
	uint32_t seq;
	struct cslice payload;
	err_t e = open_packet(tp, &seq, &payload);
	*progress = true;
	if (e == E_AGAIN)
		return OK;
	TRY(e);
	TRY(tp_dispatch(tp, ev, seq, payload));
	tp_way_hurry(tp, &tp->in_way, PKTC_OPEN);
	return OK;
}
