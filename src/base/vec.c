/* SPDX-License-Identifier: ISC */
/* vec - bytes that lie in several pieces, read or filled from the front */
#include <assert.h>

#include "base/vec.h"

struct vec vec_of(const struct iovec *v, size_t n)
{
	struct vec c = {.v = v, .n = n};
	for (size_t i = 0; i < n; i++)
		c.left += v[i].iov_len;
	return c;
}

void vec_skip(struct vec *c, size_t n)
{
	assert(n <= c->left);
	c->left -= n;
	c->off += n;
	while (c->n > 0 && c->off >= c->v->iov_len) {
		c->off -= c->v->iov_len;
		c->v++;
		c->n--;
	}
}

struct slice vec_front(const struct vec *c, size_t n)
{
	struct vec at = *c;
	vec_skip(&at, 0); /* pieces without a byte */
	if (at.left == 0)
		return (struct slice){NULL, 0};
	return (struct slice){
		(uint8_t *)at.v->iov_base + at.off, num_min(n, at.v->iov_len - at.off)};
}

void vec_peek(const struct vec *c, struct slice to)
{
	struct vec at = *c;
	assert(to.n <= at.left);
	while (to.n > 0) {
		struct slice part = vec_front(&at, to.n);
		assert(part.p != NULL);
		memcpy(to.p, part.p, part.n);
		to = (struct slice){to.p + part.n, to.n - part.n};
		vec_skip(&at, part.n);
	}
}

void vec_put(struct vec *c, struct cslice from)
{
	assert(from.n <= c->left);
	while (from.n > 0) {
		struct slice part = vec_front(c, from.n);
		assert(part.p != NULL);
		memcpy(part.p, from.p, part.n);
		from = cslice_of(from.p + part.n, from.n - part.n);
		vec_skip(c, part.n);
	}
}

size_t vec_cut(const struct vec *c, size_t n, struct iovec *out, size_t most)
{
	struct vec at = *c;
	size_t made = 0;
	n = num_min(n, at.left);
	while (n > 0 && made < most) {
		struct slice part = vec_front(&at, n);
		out[made++] = (struct iovec){part.p, part.n};
		n -= part.n;
		vec_skip(&at, part.n);
	}
	return made;
}
