/* SPDX-License-Identifier: ISC */
/*
 * mem_fx - a remote on a server with files in memory, over a link in memory
 *
 * The server's answers come one turn later, cut into pieces of mx.split bytes; after mx.lives bytes
 * of answers the connection is lost.
 */
#ifndef TRANSFER_MEM_FX_H
#define TRANSFER_MEM_FX_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "memfs.h"
#include "sftp/server.h"
#include "transfer/remote.h"

#define MX_OUT ((size_t)512 * 1024)

struct mx {
	struct link face; /* first */
	struct ev *ev;
	struct memfs fs;
	struct sf_server *s;
	struct remote r;
	struct chunk_pool pool;
	struct ev_timer timer;
	uint8_t out[MX_OUT];
	size_t out_n, split, lives, room; /* room: at most so much in one reservation, 0 = all */
	bool is_dead, is_finished;
};

static struct mx *mx_of(struct link *l)
{
	return (struct mx *)(void *)l;
}

static inline err_t mx_reserve(
	struct link *l, size_t want, struct iovec iov[TP_BULK_MAX], size_t *niov)
{
	struct mx *x = mx_of(l);
	if (x->is_dead)
		return E_CLOSED;
	size_t n = num_min(want, MX_OUT - x->out_n);
	if (x->room != 0)
		n = num_min(n, x->room);
	if (n == 0)
		return E_AGAIN;
	size_t half = n / 2; /* two places, as in two packets */
	*niov = 0;
	if (half > 0)
		iov[(*niov)++] = (struct iovec){x->out + x->out_n, half};
	iov[(*niov)++] = (struct iovec){x->out + x->out_n + half, n - half};
	return OK;
}

static inline err_t mx_commit(struct link *l, size_t used)
{
	mx_of(l)->out_n += used;
	if (used > 0)
		ev_timer_set(l->ev, &mx_of(l)->timer, 0);
	return OK;
}

static inline void mx_kick(struct link *l)
{
	ev_timer_set(l->ev, &mx_of(l)->timer, 0);
}

static inline void mx_finish(struct link *l)
{
	mx_of(l)->is_finished = true;
}

static inline uint32_t mx_rtt(struct link *l)
{
	(void)l;
	return 0;
}

static inline void mx_die(struct mx *x)
{
	if (x->is_dead)
		return;
	x->is_dead = true;
	if (x->face.on_end != NULL)
		x->face.on_end(x->face.arg, E_CLOSED);
}

static inline void mx_give(struct mx *x, struct cslice ready)
{
	struct chunk *c;
	if (ready.n == 0)
		return;
	assert_true(ready.n <= CHUNK_SIZE);
	assert_int_equal(chunk_get(&x->pool, &c), OK);
	memcpy(c->p, ready.p, ready.n);
	for (size_t at = 0; at < ready.n && !x->is_dead;) {
		size_t n = num_min(ready.n - at, x->split != 0 ? x->split : CHUNK_SIZE);
		n = num_min(n, x->lives);
		if (n == 0)
			mx_die(x);
		else if (x->face.on_bytes != NULL)
			x->face.on_bytes(x->face.arg, (struct span){c, c->p + at, n});
		at += n;
		if (x->lives != SIZE_MAX)
			x->lives -= n;
	}
	chunk_drop(c);
}

static inline void mx_turn(struct ev_timer *t, uint64_t now_us)
{
	struct mx *x = t->arg;
	(void)now_us;
	for (size_t at = 0; !x->is_dead;) {
		struct slice room = sf_server_space(x->s);
		size_t n = num_min(room.n, x->out_n - at);
		memcpy(room.p, x->out + at, n);
		at += n;
		sf_server_fed(x->s, n);
		err_t e = sf_server_run(x->s);
		struct cslice ready = sf_server_ready(x->s);
		size_t ready_n = ready.n;
		mx_give(x, ready);
		sf_server_sent(x->s, ready_n);
		if (e != OK)
			mx_die(x);
		if (n == 0 && ready_n == 0 && !sf_server_is_busy(x->s)) {
			memmove(x->out, x->out + at, x->out_n - at);
			x->out_n -= at;
			break;
		}
	}
	if (!x->is_dead && x->face.on_room != NULL)
		x->face.on_room(x->face.arg);
}

static const struct link_ops mx_ops = {.reserve = mx_reserve,
	.commit = mx_commit,
	.kick = mx_kick,
	.finish = mx_finish,
	.rtt_us = mx_rtt};

static inline struct mx *mx_new(struct ev *ev, size_t handles)
{
	struct mx *x = calloc(1, sizeof(*x));
	assert_non_null(x);
	x->ev = ev;
	x->lives = SIZE_MAX;
	memfs_init(&x->fs);
	chunk_pool_init(&x->pool, (size_t)256 << 20);
	struct sf_server_env env = {.fs = &memfs_face, .fs_arg = &x->fs, .handles_max = handles};
	assert_int_equal(sf_server_new(&x->s, &env), OK);
	x->face = (struct link){.ops = &mx_ops, .ev = ev};
	x->timer = (struct ev_timer){.at_us = UINT64_MAX, .on = mx_turn, .arg = x};
	assert_int_equal(remote_start(&x->r, &x->face, 0, 0), OK);
	return x;
}

static inline void mx_free(struct mx *x)
{
	remote_done(&x->r);
	ev_timer_stop(x->ev, &x->timer);
	sf_server_free(x->s);
	memfs_done(&x->fs);
	chunk_pool_done(&x->pool);
	free(x);
}

#endif
