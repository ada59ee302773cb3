/* SPDX-License-Identifier: ISC */
/*
 * link_channel - a channel of our own connection as a link
 *
 * Room is given as long as less than UNSENT_MAX bytes are sealed and unsent: what is read from a
 * file long before it is sent has left the cache when its turn comes.  The pump's every turn offers
 * room again, so nothing has to be remembered about who was refused.
 */
#include <stdlib.h>

#include "run/pump.h"
#include "transfer/link.h"

#define UNSENT_MAX ((size_t)256 * 1024)

struct link_channel {
	struct link face; /* first: the face is the link */
	struct link_channel_env env;
	bool is_reserved, is_finished, is_ended;
	bool has_committed, is_refused; /* in this turn */
};

static struct link_channel *of(struct link *l)
{
	return (struct link_channel *)(void *)l;
}

static err_t reserve(struct link *face, size_t want, struct iovec iov[TP_BULK_MAX], size_t *niov)
{
	struct link_channel *l = of(face);
	if (l->is_ended || l->is_finished)
		return E_CLOSED;
	if (tp_unsent(l->env.pump->tp) >= UNSENT_MAX) {
		l->is_refused = true;
		return E_AGAIN;
	}
	err_t e = cn_reserve(l->env.cn, l->env.chan, 0, want, iov, niov);
	if (e == OK)
		l->is_reserved = true;
	return e == E_PHASE ? E_CLOSED : e;
}

static err_t commit(struct link *face, size_t used)
{
	struct link_channel *l = of(face);
	if (!l->is_reserved)
		return E_PHASE;
	l->is_reserved = false;
	l->has_committed = l->has_committed || used > 0;
	return cn_commit(l->env.cn, used);
}

static void kick(struct link *face)
{
	pump_kick(of(face)->env.pump);
}

static void finish(struct link *face)
{
	struct link_channel *l = of(face);
	if (l->is_finished || l->is_ended)
		return;
	l->is_finished = true;
	cn_eof(l->env.cn, l->env.chan);
	pump_kick(l->env.pump);
}

static uint32_t rtt_us(struct link *face)
{
	return of(face)->env.rtt_us;
}

static const struct link_ops ops = {
	.reserve = reserve, .commit = commit, .kick = kick, .finish = finish, .rtt_us = rtt_us};

static void end(struct link_channel *l, err_t why)
{
	if (l->is_ended)
		return;
	l->is_ended = true;
	if (l->face.on_end != NULL)
		l->face.on_end(l->face.arg, why);
}

err_t link_channel_event(struct link_channel *l, struct cn_event *e)
{
	size_t n = e->span.n;
	switch (e->type) {
	case CN_EV_DATA:
		if (e->ext == 0 && !l->is_ended && l->face.on_bytes != NULL)
			l->face.on_bytes(l->face.arg, e->span);
		cn_consumed(l->env.cn, l->env.chan, n);
		return OK;
	case CN_EV_EOF: /* nothing more comes, whatever is still under way */
	case CN_EV_CLOSED:
		end(l, OK);
		return OK;
	default:
		return OK;
	}
}

err_t link_channel_flush(struct link_channel *l)
{
	l->has_committed = l->is_refused = false;
	if (!l->is_ended && l->face.on_room != NULL)
		l->face.on_room(l->face.arg);
	/* There may be more for the next turn.  Who was refused is offered room again once some of
	 * it is written; a descriptor that is full tells of itself. */
	if (l->has_committed || (l->is_refused && !l->env.pump->is_full))
		pump_kick(l->env.pump);
	return OK;
}

void link_channel_lost(struct link_channel *l, err_t why)
{
	end(l, why != OK ? why : E_CLOSED);
}

err_t link_channel_new(struct link_channel **out, const struct link_channel_env *env)
{
	struct link_channel *l = calloc(1, sizeof(*l));
	if (l == NULL)
		return E_MEM;
	l->env = *env;
	l->face = (struct link){.ops = &ops, .ev = env->ev};
	*out = l;
	return OK;
}

struct link *link_channel_face(struct link_channel *l)
{
	return &l->face;
}

void link_channel_free(struct link_channel *l)
{
	free(l);
}
