/* SPDX-License-Identifier: ISC */
/*
 * tq - control messages of the layers above that wait until the transport has room
 *
 * A message goes straight into the transport when nothing waits and there is room.  During a key
 * exchange, above high water, or while a reservation is open it is kept, in order, and tq_flush
 * sends it later.  Bounded: a byte limit, and a count of the messages that answer the peer
 * (tq_answers), by which the owner recognises a flood.
 */
#ifndef TRANSPORT_TQ_H
#define TRANSPORT_TQ_H

#include "transport/tp.h"

enum tq_kind {
	TQ_OWN,
	TQ_ANSWER, /* to the peer: counted */
	TQ_PADDED  /* holds a secret: its length is hidden (compat 7.3) */
};

struct tq {
	struct tp *tp;      /* borrowed */
	struct buf waiting; /* u8 kind, u8 number, u32 n, body; wiped */
	size_t answers;
	bool is_held; /* the owner has a reservation open in tp: keep everything */
	/* between begin and end */
	enum tq_kind kind;
	size_t want;
	bool is_direct;
};

/* limit: bytes that may wait. */
void tq_init(struct tq *q, struct tp *tp, size_t limit);
void tq_done(struct tq *q);

/*
 * tq_begin - room for a body of exactly n bytes, to be written and finished by tq_end
 * E_LIMIT  it fits no packet, or too much waits.  Otherwise the errors of tp_reserve without
 * E_AGAIN.
 */
MUST err_t tq_begin(struct tq *q, enum tq_kind kind, uint8_t msg, size_t n, struct slice *room);
MUST err_t tq_end(struct tq *q, const struct wr *w);

/* Sends what the transport takes.  OK also when something still waits. */
MUST err_t tq_flush(struct tq *q);

static inline bool tq_is_empty(const struct tq *q)
{
	return q->waiting.n == 0;
}

/* Answers to the peer that still wait. */
static inline size_t tq_answers(const struct tq *q)
{
	return q->answers;
}

/* One message in one go: tq_put(q, TQ_OWN, channel_eof, .recipient = 3) */
#define tq_put(q, kind, name, ...) tq_put_##name((q), (kind), &(struct ssh_##name){__VA_ARGS__})
#define M(name, no, phase, to)                                                                     \
	MUST err_t tq_put_##name(struct tq *q, enum tq_kind kind, const struct ssh_##name *msg);
#include "wire/ssh.def"
#undef M

#endif
