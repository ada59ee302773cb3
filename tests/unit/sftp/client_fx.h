/* SPDX-License-Identifier: ISC */
/* client_fx - a client whose server is the test: frames by hand, a transcript of what was told */
#ifndef SFTP_CLIENT_FX_H
#define SFTP_CLIENT_FX_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/buf.h"
#include "sftp/client.h"

#define STR(text) cslice_str(text)
#define ASKS      64

struct cx {
	struct sf_client *c;
	struct sf_ask asks[ASKS];
	unsigned answers[ASKS]; /* how often it was answered */
	struct sf_reply last;   /* slices are dead */
	struct buf told;        /* a line each */
	struct buf data;        /* of all READs */
};

static inline size_t cx_index(const struct sf_ask *a)
{
	const struct cx *x = a->arg;
	return (size_t)(a - x->asks);
}

static void cx_on(struct sf_ask *a, const struct sf_reply *r)
{
	struct cx *x = a->arg;
	struct sf_entry entry;
	struct cslice rest = r->name.entries;
	x->answers[cx_index(a)]++;
	x->last = *r;
	buf_printf(&x->told, "%zu: type %d err %d code %u data %u handle %zu size %llu body %zu",
		cx_index(a), (int)r->type, (int)r->err, r->code, r->data_n, r->handle.n,
		(unsigned long long)r->attr.size, r->body.n);
	for (uint32_t i = 0; i < r->name.count && sf_next_entry(&rest, &entry) == OK; i++)
		buf_printf(
			&x->told, " <%.*s>", (int)entry.filename.n, (const char *)entry.filename.p);
	buf_printf(&x->told, " \"%.*s\"\n", (int)r->message.n, (const char *)r->message.p);
}

static void cx_on_data(struct sf_ask *a, uint32_t at, struct span piece)
{
	struct cx *x = a->arg;
	assert_true(piece.n > 0);
	assert_int_equal(at + piece.n, a->got);
	buf_put(&x->data, piece.p, piece.n);
}

static inline struct sf_ask *cx_ask(struct cx *x, size_t i)
{
	assert_true(i < ASKS);
	x->asks[i] = (struct sf_ask){.on = cx_on, .on_data = cx_on_data, .arg = x};
	return &x->asks[i];
}

static inline void cx_start(struct cx *x)
{
	static const struct sf_client_env env = {NULL};
	*x = (struct cx){0};
	buf_init(&x->told, 1 << 20);
	buf_init(&x->data, 16 << 20);
	assert_int_equal(sf_client_new(&x->c, &env), OK);
}

static inline void cx_end(struct cx *x)
{
	sf_client_free(x->c);
	buf_done(&x->told);
	buf_done(&x->data);
}

static inline err_t cx_feed(struct cx *x, const void *p, size_t n)
{
	uint8_t *copy = malloc(n > 0 ? n : 1); /* so that a read past its end is seen */
	assert_non_null(copy);
	if (n > 0)
		memcpy(copy, p, n);
	err_t e = sf_client_fed(x->c, (struct span){NULL, copy, n});
	free(copy);
	return e;
}

#define CX_FEED(x, text) cx_feed(x, text, sizeof(text) - 1)

/* A server without extensions is ready. */
static inline void cx_start_plain(struct cx *x)
{
	cx_start(x);
	assert_int_equal(CX_FEED(x, "\0\0\0\5\2\0\0\0\3"), OK);
	assert_true(sf_client_is_ready(x->c));
	sf_client_sent(x->c, sf_client_ready(x->c).n);
}

/* A frame: number, id, and what follows. */
static inline err_t cx_reply(struct cx *x, uint8_t no, uint32_t id, const void *rest, size_t n)
{
	struct buf b;
	buf_init(&b, 1 << 20);
	buf_put_u32(&b, (uint32_t)n + 5);
	buf_put_u8(&b, no);
	buf_put_u32(&b, id);
	buf_put(&b, rest, n);
	assert_int_equal(buf_err(&b), OK);
	err_t e = cx_feed(x, b.p, b.n);
	buf_done(&b);
	return e;
}

#define CX_REPLY(x, no, id, text) cx_reply(x, no, id, text, sizeof(text) - 1)

#endif
