/* SPDX-License-Identifier: ISC */
/*
 * spanq - bytes of a channel that wait for their sink, where they arrived
 *
 * A ring of kept spans, and behind it copies: what is copied is what the caller says (small packets
 * pin much more than they hold), what has no place in the ring, and whatever comes after a copy,
 * which keeps the order.
 */
#ifndef RUN_SPANQ_H
#define RUN_SPANQ_H

#include <sys/uio.h>

#include "base/buf.h"
#include "base/chunk.h"

#define SPANQ_SPANS  256
#define SPANQ_PIECES (SPANQ_SPANS + 1) /* that spanq_gather may give */

struct spanq {
	struct span spans[SPANQ_SPANS];
	size_t first, spans_n;
	struct buf spill;
	size_t spill_at;
	size_t n; /* bytes in all of it */
};

void spanq_init(struct spanq *q);
void spanq_done(struct spanq *q);
void spanq_clear(struct spanq *q);
/* Keeps what a CN_EV_DATA lent. */
MUST err_t spanq_put(struct spanq *q, struct span *span, bool copy);
/* The first bytes, at most n (of the last piece it may be a part) and `most` pieces. */
size_t spanq_gather(const struct spanq *q, size_t n, struct iovec *iov, size_t most);
/* The first n bytes are not needed any more. */
void spanq_advance(struct spanq *q, size_t n);

#endif
