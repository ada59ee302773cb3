/* SPDX-License-Identifier: ISC */
/*
 * vec - bytes that lie in several pieces, read or filled from the front
 *
 * A cursor over borrowed iovecs (a plain type, no call): what arrived in several packets, or the
 * room in several.
 */
#ifndef BASE_VEC_H
#define BASE_VEC_H

#include <sys/uio.h>

#include "base/slice.h"

struct vec {
	const struct iovec *v; /* borrowed */
	size_t n, off;         /* pieces left, bytes of the first one that are done */
	size_t left;           /* bytes */
};

struct vec vec_of(const struct iovec *v, size_t n);
void vec_skip(struct vec *c, size_t n); /* n: at most left */
/* The front, at most n bytes, as far as it lies in one piece; empty when nothing is left. */
struct slice vec_front(const struct vec *c, size_t n);
/* Copies to.n bytes (at most left) from the front; the cursor stays. */
void vec_peek(const struct vec *c, struct slice to);
/* Copies into the front (at most left), and goes on behind it. */
void vec_put(struct vec *c, struct cslice from);
/* The front as pieces, at most n bytes and `most` pieces.  Gives how many pieces. */
size_t vec_cut(const struct vec *c, size_t n, struct iovec *out, size_t most);

#endif
