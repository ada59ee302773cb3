/* SPDX-License-Identifier: ISC */
/*
 * joint - channels that are joined to one socket each
 *
 * The peer's CLOSE is held (cn_hold_close) until its bytes are written, so a channel keeps its
 * place in the limits for as long as it costs memory.  The one that had an event last is found
 * first.
 */
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "run/joint.h"

struct joint {
	struct list link, busy;
	struct joints *owner;
	struct chanio io;
	uint32_t chan;
	int fd;
	bool is_joined;  /* io runs */
	bool is_closing; /* the peer has closed */
};

void joints_init(struct joints *js)
{
	list_init(&js->all);
	list_init(&js->busy);
}

bool joints_is_empty(const struct joints *js)
{
	return list_is_empty(&js->all);
}

static void joint_free(struct joint *j)
{
	list_remove(&j->link);
	list_remove(&j->busy);
	if (j->is_joined)
		chanio_stop(&j->io);
	(void)close(j->fd);
	free(j);
}

void joints_done(struct joints *js)
{
	if (js->ev == NULL)
		return;
	list_each (at, tmp, &js->all)
		joint_free(LIST_ENTRY(at, struct joint, link));
}

/* Both directions have ended: nothing can come any more. */
static void settle(struct joint *j)
{
	bool is_taken = chanio_is_drained(&j->io) && (j->io.peer_eof || j->io.out.is_broken);
	if (is_taken && (j->io.in_is_eof || j->is_closing))
		cn_close(j->owner->cn, j->chan);
}

static void on_in_eof(void *arg)
{
	struct joint *j = arg;
	cn_eof(j->owner->cn, j->chan);
	settle(j);
}

static void on_drained(void *arg)
{
	struct joint *j = arg;
	(void)shutdown(j->fd, SHUT_WR);
	settle(j);
}

static err_t join(struct joint *j)
{
	struct joints *js = j->owner;
	j->io = (struct chanio){.ev = js->ev,
		.pump = js->pump,
		.cn = js->cn,
		.chan = j->chan,
		.in = j->fd,
		.in2 = -1,
		.on_in_eof = on_in_eof,
		.on_drained = on_drained,
		.arg = j};
	j->io.out.fd = j->fd;
	j->io.err.fd = -1;
	cn_hold_close(js->cn, j->chan);
	TRY(chanio_start(&j->io));
	j->is_joined = true;
	return OK;
}

static struct joint *joint_new(struct joints *js, int fd)
{
	struct joint *j = calloc(1, sizeof(*j));
	if (j == NULL) {
		(void)close(fd);
		return NULL;
	}
	j->owner = js;
	j->fd = fd;
	list_init(&j->busy);
	list_push(&js->all, &j->link);
	return j;
}

err_t joints_open(struct joints *js, const char *type, struct cslice extra, int fd)
{
	struct joint *j = joint_new(js, fd);
	if (j == NULL)
		return E_MEM;
	err_t e = cn_open(js->cn, type, extra, &j->chan);
	if (e != OK)
		joint_free(j);
	return e;
}

/* Where the socket cannot be served the channel is closed again; what still comes is dropped. */
static void join_or_close(struct joint *j)
{
	err_t e = join(j);
	if (e == OK)
		return;
	log_debug1("a forwarded connection cannot be served: %s", err_text(e));
	cn_close(j->owner->cn, j->chan);
}

err_t joints_accept(struct joints *js, uint32_t chan, int fd)
{
	struct joint *j = joint_new(js, fd);
	if (j == NULL)
		return cn_refuse(js->cn, chan, 4, "out of memory");
	j->chan = chan;
	err_t e = cn_accept(js->cn, chan);
	if (e != OK) {
		joint_free(j);
		return e;
	}
	join_or_close(j);
	return OK;
}

static struct joint *find(struct joints *js, uint32_t chan)
{
	list_each (at, tmp, &js->all) {
		struct joint *j = LIST_ENTRY(at, struct joint, link);
		if (j->chan != chan)
			continue;
		list_remove(&j->link);
		list_push(js->all.next, &j->link); /* to the front */
		return j;
	}
	return NULL;
}

static void on_closing(struct joint *j)
{
	j->is_closing = true;
	if (!j->is_joined)
		return;
	(void)chanio_end_input(&j->io); /* nobody reads what we would send */
	settle(j);
}

static err_t on_event(struct joint *j, struct cn_event *e)
{
	switch (e->type) {
	case CN_EV_OPENED:
		join_or_close(j);
		return OK;
	case CN_EV_OPEN_FAILED:
		log_debug1("the peer refuses a forwarded connection: %.*s",
			(int)num_min(e->data.n, 256), (const char *)e->data.p);
		joint_free(j);
		return OK;
	case CN_EV_DATA:
		if (!j->is_joined) {
			cn_consumed(j->owner->cn, j->chan, e->span.n);
			return OK;
		}
		if (list_is_empty(&j->busy))
			list_push(&j->owner->busy, &j->busy);
		return chanio_event(&j->io, e);
	case CN_EV_ROOM:
	case CN_EV_EOF:
		if (!j->is_joined)
			return OK;
		TRY(chanio_event(&j->io, e));
		settle(j);
		return OK;
	case CN_EV_CLOSING:
		on_closing(j);
		return OK;
	case CN_EV_CLOSED:
		joint_free(j);
		return OK;
	case CN_EV_REQUEST: /* these channels know none */
		return e->want_reply ? cn_reply(j->owner->cn, j->chan, false) : OK;
	default:
		return OK;
	}
}

err_t joints_event(struct joints *js, struct cn_event *e, bool *is_ours)
{
	bool is_global = e->type == CN_EV_GLOBAL || e->type == CN_EV_GLOBAL_REPLY;
	struct joint *j = is_global || e->type == CN_EV_OPEN ? NULL : find(js, e->chan);
	*is_ours = j != NULL;
	return j != NULL ? on_event(j, e) : OK;
}

err_t joints_flush(struct joints *js)
{
	list_each (at, tmp, &js->busy) {
		struct joint *j = LIST_ENTRY(at, struct joint, busy);
		TRY(chanio_flush(&j->io));
		if (!chanio_is_drained(&j->io))
			continue;
		list_remove(&j->busy);
		settle(j);
	}
	return OK;
}
