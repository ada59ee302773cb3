/* SPDX-License-Identifier: ISC */
/* spanq - bytes of a channel that wait for their sink, where they arrived */
#include "run/spanq.h"

#define SPILL_LIMIT ((size_t)256 * 1024 * 1024) /* the window bounds it long before */
#define SPILL_TAKEN ((size_t)64 * 1024)         /* bytes that are used before the rest is moved */

void spanq_init(struct spanq *q)
{
	q->first = q->spans_n = q->spill_at = q->n = 0;
	buf_init(&q->spill, SPILL_LIMIT);
}

void spanq_clear(struct spanq *q)
{
	for (; q->spans_n > 0; q->spans_n--) {
		span_drop(&q->spans[q->first]);
		q->first = (q->first + 1) % SPANQ_SPANS;
	}
	buf_clear(&q->spill);
	q->spill_at = q->n = 0;
}

void spanq_done(struct spanq *q)
{
	spanq_clear(q);
	buf_done(&q->spill);
}

err_t spanq_put(struct spanq *q, struct span *span, bool copy)
{
	bool has_spill = q->spill_at < q->spill.n;
	q->n += span->n;
	if (has_spill || q->spans_n == SPANQ_SPANS || span->c == NULL || copy) {
		buf_put(&q->spill, span->p, span->n);
		return buf_err(&q->spill);
	}
	span_keep(span);
	q->spans[(q->first + q->spans_n++) % SPANQ_SPANS] = *span;
	return OK;
}

size_t spanq_gather(const struct spanq *q, size_t n, struct iovec *iov, size_t most)
{
	size_t made = 0;
	for (size_t i = 0; i < q->spans_n && made < most && n > 0; i++) {
		const struct span *span = &q->spans[(q->first + i) % SPANQ_SPANS];
		size_t part = num_min(span->n, n);
		iov[made++] = (struct iovec){span->p, part};
		n -= part;
	}
	if (made == q->spans_n && made < most && n > 0 && q->spill_at < q->spill.n)
		iov[made++] = (struct iovec){
			q->spill.p + q->spill_at, num_min(q->spill.n - q->spill_at, n)};
	return made;
}

void spanq_advance(struct spanq *q, size_t n)
{
	q->n -= n;
	while (n > 0 && q->spans_n > 0) {
		struct span *span = &q->spans[q->first];
		size_t part = num_min(n, span->n);
		span->p += part;
		span->n -= part;
		n -= part;
		if (span->n > 0)
			return;
		span_drop(span);
		q->first = (q->first + 1) % SPANQ_SPANS;
		q->spans_n--;
	}
	q->spill_at += n;
	if (q->spill_at == q->spill.n) {
		buf_clear(&q->spill);
		q->spill_at = 0;
	} else if (q->spill_at >= SPILL_TAKEN && q->spill_at >= q->spill.n / 2) {
		/* it may never be empty: what is used must not stay for that */
		q->spill.n -= q->spill_at;
		memmove(q->spill.p, q->spill.p + q->spill_at, q->spill.n);
		q->spill_at = 0;
	}
}
