/* SPDX-License-Identifier: ISC */
/*
 * compress - zlib@openssh.com, one stream a direction (RFC 4253 6.2; level 6; partial flush after
 * each packet)
 *
 * inflate refuses to give more than `limit` bytes for one packet: E_COMPRESSION (bombs).
 */
#ifndef ALGORITHM_COMPRESS_H
#define ALGORITHM_COMPRESS_H

#include "base/buf.h"

struct compress;
MUST err_t compress_new(struct compress **out, bool deflate);
void compress_free(struct compress *c);
/* Appends the transformed payload to out. */
MUST err_t compress_run(struct compress *c, struct cslice in, struct buf *out, size_t limit);
void compress_totals(const struct compress *c, uint64_t *raw, uint64_t *packed);
/* For freeze/thaw at login hand-over compression has not started (delayed), so there is no state to
 * carry. */

#endif
