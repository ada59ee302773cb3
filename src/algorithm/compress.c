/* SPDX-License-Identifier: ISC */
/*
 * compress - zlib@openssh.com: one zlib stream a direction
 *
 * Each packet ends with a partial flush (RFC 4253 6.2), so that the peer can expand it at once.
 */
#include <stdlib.h>

#include <zlib.h>

#include "algorithm/compress.h"
#include "base/secret.h"

#define LEVEL 6 /* compat 6.4 */
#define STEP  4096

struct compress {
	z_stream z;
	bool is_deflate;
	uint64_t in_n, out_n;
};

err_t compress_new(struct compress **out, bool deflate)
{
	struct compress *c = calloc(1, sizeof(*c));
	if (c == NULL)
		return E_MEM;
	c->is_deflate = deflate;
	if ((deflate ? deflateInit(&c->z, LEVEL) : inflateInit(&c->z)) != Z_OK) {
		free(c);
		return E_MEM;
	}
	*out = c;
	return OK;
}

void compress_free(struct compress *c)
{
	if (c == NULL)
		return;
	(void)(c->is_deflate ? deflateEnd(&c->z) : inflateEnd(&c->z));
	free(c);
}

/* One call of zlib with n bytes of room; gives the bytes made. */
static err_t step(struct compress *c, uint8_t *room, size_t n, size_t *made)
{
	c->z.next_out = room;
	c->z.avail_out = (uInt)n;
	int r = c->is_deflate ? deflate(&c->z, Z_PARTIAL_FLUSH) : inflate(&c->z, Z_PARTIAL_FLUSH);
	/* Z_BUF_ERROR: nothing more to do.  Z_STREAM_END: the stream of a connection never ends. */
	if (r != Z_OK && r != Z_BUF_ERROR)
		return E_COMPRESSION;
	*made = n - c->z.avail_out;
	return OK;
}

err_t compress_run(struct compress *c, struct cslice in, struct buf *out, size_t limit)
{
	if (in.n > UINT32_MAX)
		return E_COMPRESSION;
	uint8_t room[STEP];
	size_t total = 0, made = 0;
	err_t e = OK;
	c->z.next_in = (Bytef *)(uintptr_t)in.p; /* zlib only reads it */
	c->z.avail_in = (uInt)in.n;
	do {
		e = step(c, room, sizeof(room), &made);
		if (e == OK && made > limit - total)
			e = E_COMPRESSION;
		if (e != OK)
			break;
		buf_put(out, room, made);
		total += made;
		e = buf_err(out);
	} while (e == OK && made == sizeof(room)); /* a full room may mean that there is more */
	if (e == OK && c->z.avail_in != 0)
		e = E_COMPRESSION;
	wipe(room, sizeof(room));
	c->in_n += in.n;
	c->out_n += total;
	return e;
}

void compress_totals(const struct compress *c, uint64_t *raw, uint64_t *packed)
{
	*raw = c->is_deflate ? c->in_n : c->out_n;
	*packed = c->is_deflate ? c->out_n : c->in_n;
}
