/* SPDX-License-Identifier: ISC */
/* tq - control messages of the layers above that wait until the transport has room */
#include <assert.h>

#include "transport/tq.h"

#define HEAD   6
#define PAD_TO 64
#define BODY_MAX                                                                                   \
	((size_t)255 << 10) /* the largest packet that may ever be agreed, less its frame */

void tq_init(struct tq *q, struct tp *tp, size_t limit)
{
	*q = (struct tq){.tp = tp};
	buf_init(&q->waiting, limit);
}

void tq_done(struct tq *q)
{
	buf_done(&q->waiting);
}

static err_t reserve(struct tq *q, enum tq_kind kind, uint8_t msg, struct slice *room)
{
	struct slice body = {NULL, room->n};
	if (kind == TQ_PADDED)
		tp_pad_next(q->tp, PAD_TO);
	TRY(tp_reserve(q->tp, msg, body.n, &body));
	assert(body.n >= room->n);
	room->p = body.p;
	return OK;
}

err_t tq_begin(struct tq *q, enum tq_kind kind, uint8_t msg, size_t n, struct slice *room)
{
	if (n > BODY_MAX)
		return E_LIMIT;
	TRY(buf_err(&q->waiting));
	q->kind = kind;
	q->want = n;
	q->is_direct = false;
	if (tq_is_empty(q) && !q->is_held) {
		struct slice body = {NULL, n};
		err_t e = reserve(q, kind, msg, &body);
		if (e == OK) {
			q->is_direct = true;
			*room = body;
			return OK;
		}
		if (e != E_AGAIN)
			return e;
	}
	uint8_t *p = buf_room(&q->waiting, HEAD + n);
	if (p == NULL)
		return buf_err(&q->waiting);
	p[0] = (uint8_t)kind;
	p[1] = msg;
	be32_put(p + 2, (uint32_t)n);
	*room = (struct slice){p + HEAD, n};
	return OK;
}

err_t tq_end(struct tq *q, const struct wr *w)
{
	assert(!w->bad && w->n == q->want);
	if (q->is_direct)
		return tp_commit(q->tp, w->n);
	if (q->kind == TQ_ANSWER)
		q->answers++;
	return OK;
}

err_t tq_flush(struct tq *q)
{
	size_t at = 0;
	err_t e = OK;
	if (q->is_held)
		return OK;
	while (e == OK && at < q->waiting.n) {
		const uint8_t *p = q->waiting.p + at;
		size_t n = be32_get(p + 2);
		struct slice body = {NULL, n};
		e = reserve(q, (enum tq_kind)p[0], p[1], &body);
		if (e != OK)
			break;
		struct wr w = wr_of(body);
		wr_raw(&w, cslice_of(p + HEAD, n));
		assert(!w.bad);
		e = tp_commit(q->tp, n);
		if (e != OK)
			break;
		if (p[0] == TQ_ANSWER)
			q->answers--;
		at += HEAD + n;
	}
	if (at > 0)
		buf_eat(&q->waiting, at);
	return e == E_AGAIN ? OK : e;
}

#define M(name, no, phase, to)                                                                     \
	err_t tq_put_##name(struct tq *q, enum tq_kind kind, const struct ssh_##name *msg)         \
	{                                                                                          \
		struct slice room = {NULL, 0};                                                     \
		TRY(tq_begin(q, kind, no, ssh_size_##name(msg), &room));                           \
		struct wr w = wr_of(room);                                                         \
		ssh_put_##name(&w, msg);                                                           \
		return tq_end(q, &w);                                                              \
	}
#include "wire/ssh.def"
#undef M
