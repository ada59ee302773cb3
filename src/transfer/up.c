/* SPDX-License-Identifier: ISC */
/*
 * up - a local file to a server
 *
 * The head of a WRITE and the bytes of the file go to where the next packets will be sealed: one
 * preadv(2) for all packets of a request, no copy of ours.  What is read is what is sent: a file
 * that grows meanwhile is followed to its end, one that shrinks ends early.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "transfer/transfer_int.h"

#define LEAST      ((size_t)16 * 1024) /* less room than this is not worth a request */
#define UNKNOWN    4096                /* asked of a file that says it is empty */
#define WRITES_MAX 4096

struct wslot { /* a WRITE under way */
	struct sf_ask ask;
	struct job *job;
	struct list link;
	uint64_t until; /* offset behind it */
	uint32_t n;
};

static struct wslot *wslot_get(struct job *j)
{
	struct xfer *x = j->x;
	struct wslot *w;
	if (!list_is_empty(&x->wslots)) {
		w = LIST_ENTRY(x->wslots.next, struct wslot, link);
		list_remove(&w->link);
	} else {
		w = malloc(sizeof(*w));
		if (w == NULL)
			return NULL;
	}
	*w = (struct wslot){.job = j};
	list_init(&w->link);
	return w;
}

static void wslot_put(struct xfer *x, struct wslot *w)
{
	list_push(&x->wslots, &w->link);
}

void wslots_free(struct xfer *x)
{
	list_each (at, tmp, &x->wslots) {
		list_remove(at);
		free(LIST_ENTRY(at, struct wslot, link));
	}
}

static void on_write(struct sf_ask *a, const struct sf_reply *r)
{
	struct wslot *w = a->arg;
	struct job *j = w->job;
	struct xfer *x = j->x;
	j->writes--;
	x->to.bytes -= w->n;
	x->to.requests--;
	if (j->writes == 0)
		job_wake(j);
	bool is_live = !xfer_is_lost(x, r);
	if (is_live && r->code != SF_ok && w->until - w->n < j->broken_at)
		j->broken_at = w->until - w->n;
	if (is_live && !j->has_failed) {
		if (r->code != SF_ok) {
			xfer_say(x, LOG_L_ERROR, "write remote \"%s\": %s",
				j->target != NULL ? j->target : j->to, xfer_status_words(r).text);
			job_fail(j);
		} else if (w->until > j->done) {
			j->done = w->until;
			progress_bytes(j, j->done);
		}
	}
	wslot_put(x, w);
	xfer_answered(x);
}

/* ---- room -------------------------------------------------------------------------------------
 */
static size_t iov_bytes(const struct iovec *iov, size_t niov)
{
	size_t n = 0;
	for (size_t i = 0; i < niov; i++)
		n += iov[i].iov_len;
	return n;
}

/* Leaves out the first n bytes. */
static size_t iov_skip(struct iovec *out, const struct iovec *iov, size_t niov, size_t n)
{
	size_t k = 0;
	for (size_t i = 0; i < niov; i++) {
		size_t skip = num_min(n, iov[i].iov_len);
		n -= skip;
		if (skip < iov[i].iov_len)
			out[k++] = (struct iovec){
				(uint8_t *)iov[i].iov_base + skip, iov[i].iov_len - skip};
	}
	return k;
}

/* At most n bytes. */
static size_t iov_cut(struct iovec *iov, size_t niov, size_t n)
{
	size_t k = 0;
	for (; k < niov && n > 0; k++) {
		iov[k].iov_len = num_min(iov[k].iov_len, n);
		n -= iov[k].iov_len;
	}
	return k;
}

static void iov_put(const struct iovec *iov, size_t niov, const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < niov && n > 0; i++) {
		size_t part = num_min(n, iov[i].iov_len);
		memcpy(iov[i].iov_base, p, part);
		p += part;
		n -= part;
	}
}

struct room {
	struct iovec all[TP_BULK_MAX], data[TP_BULK_MAX];
	size_t all_n, data_n, head, bytes;
};

/* Room for the head of a WRITE and up to want bytes; false: none now. */
static bool room_get(struct xfer *x, size_t head, size_t want, struct room *out)
{
	struct remote *r = x->to.r;
	struct link *l = r->link;
	if (r->end != OK)
		return false;
	if (sf_client_ready(r->sf).n > 0) {
		remote_push(r);
		if (r->end != OK || sf_client_ready(r->sf).n > 0)
			return false;
	}
	err_t e = l->ops->reserve(l, head + want, out->all, &out->all_n);
	if (e != OK)
		return false;
	size_t n = iov_bytes(out->all, out->all_n);
	if (n < head + num_min(want, LEAST)) {
		if (l->ops->commit(l, 0) != OK)
			return false;
		return false;
	}
	out->head = head;
	out->bytes = num_min(n - head, want);
	out->data_n = iov_skip(out->data, out->all, out->all_n, head);
	out->data_n = iov_cut(out->data, out->data_n, out->bytes);
	return true;
}

/* n bytes of data are in the room. */
static bool room_send(struct job *j, const struct room *room, uint64_t at, size_t n)
{
	struct xfer *x = j->x;
	struct remote *r = x->to.r;
	struct wslot *w = wslot_get(j);
	struct sf_head head;
	if (w == NULL)
		return r->link->ops->commit(r->link, 0) != OK;
	w->ask = (struct sf_ask){.on = on_write, .arg = w};
	w->n = (uint32_t)n;
	w->until = at + n;
	struct sf_write_at where = {cslice_of(j->to_h.p, j->to_h.n), at, (uint32_t)n};
	err_t e = sf_write_head(r->sf, &w->ask, &where, &head);
	if (xfer_asked(x, e) != OK) {
		wslot_put(x, w);
		return r->link->ops->commit(r->link, 0) != OK;
	}
	iov_put(room->all, room->all_n, head.p, head.n);
	j->writes++;
	x->to.bytes += n;
	x->to.requests++;
	e = r->link->ops->commit(r->link, head.n + n);
	if (e != OK && x->end == OK)
		x->end = e;
	return e == OK;
}

static bool may_send(const struct xfer *x)
{
	const struct xfer_end *to = &x->to;
	size_t most = to->r->requests_max != 0 ? to->r->requests_max : WRITES_MAX;
	return to->requests < most;
}

/* ---- holes ------------------------------------------------------------------------------------
 */
/* The next byte to be sent, and how far data goes from there.  A hole is left out where the
 * destination has nothing yet; what it had there is written over with zeros. */
static void skip_hole(struct job *j)
{
	if (j->at < j->data_until)
		return;
	off_t data = lseek(j->in, (off_t)j->at, SEEK_DATA);
	if (data < 0 && errno != ENXIO) {
		j->data_until = UINT64_MAX;
		return;
	}
	uint64_t next = data < 0 ? j->m.size : (uint64_t)data;
	if (next > j->at && j->at < j->old_size) {
		j->data_until = next < j->old_size ? next : j->old_size;
		return;
	}
	if (next > j->at) {
		j->at = next;
		j->has_hole_end = data < 0;
	}
	off_t hole = data < 0 ? -1 : lseek(j->in, data, SEEK_HOLE);
	j->data_until = hole < 0 ? UINT64_MAX : (uint64_t)hole;
}

/* ---- a request --------------------------------------------------------------------------------
 */
static size_t wish(struct job *j)
{
	struct xfer *x = j->x;
	uint64_t most = x->to.r->write_max;
	uint64_t left =
		j->m.size > j->at ? j->m.size - j->at + 1 : 0; /* one more: is it the end? */
	if (left == 0)
		left = j->at == 0 ? UNKNOWN : most;
	if (x->env.opts.sparse && j->data_until > j->at && j->data_until - j->at < left)
		left = j->data_until - j->at;
	uint64_t n = left < most ? left : most;
	return (size_t)rate_room(&x->rate, ev_now(x->ev), n);
}

static bool read_failed(struct job *j)
{
	xfer_say(j->x, LOG_L_ERROR, "read local \"%s\": %s", j->from, strerror(errno));
	job_fail(j);
	return true;
}

/* One WRITE; false: no room. */
static bool send_one(struct job *j)
{
	struct xfer *x = j->x;
	struct link *l = x->to.r->link;
	struct room room;
	size_t want = wish(j);
	if (want == 0 || !room_get(x, sf_write_head_size(j->to_h.n), want, &room))
		return false;
	ssize_t got = preadv(j->in, room.data, (int)room.data_n, (off_t)j->at);
	if (got <= 0) {
		if (l->ops->commit(l, 0) != OK)
			return false;
		j->is_read_end = true;
		job_wake(j);
		return got < 0 ? read_failed(j) : true;
	}
	if (!room_send(j, &room, j->at, (size_t)got))
		return false;
	rate_took(&x->rate, (uint64_t)got);
	j->at += (uint64_t)got;
	/* Less than there was room for: a file has no more. */
	if ((size_t)got < room.bytes) {
		j->is_read_end = true;
		job_wake(j);
	}
	return true;
}

bool up_push(struct job *j)
{
	struct xfer *x = j->x;
	bool is_sparse = x->env.opts.sparse;
	while (!j->is_read_end && !j->has_failed && x->end == OK) {
		if (is_sparse && (j->needs_stat || j->is_stat_asked))
			return true;
		if (is_sparse)
			skip_hole(j);
		if (!may_send(x) || !send_one(j))
			return false;
	}
	return true;
}

/* ---- from another server ----------------------------------------------------------------------
 */
/* What was read is copied into the packets. */
static bool block_send(struct job *j, struct slot *s)
{
	struct xfer *x = j->x;
	struct room room;
	size_t want = num_min(s->got - j->block_at, x->to.r->write_max);
	if (!room_get(x, sf_write_head_size(j->to_h.n), want, &room))
		return false;
	iov_put(room.data, room.data_n, s->held + j->block_at, room.bytes);
	if (!room_send(j, &room, s->at + j->block_at, room.bytes))
		return false;
	j->block_at += (uint32_t)room.bytes;
	return true;
}

bool across_push(struct job *j)
{
	struct xfer *x = j->x;
	while (!list_is_empty(&j->blocks) && !j->has_failed && x->end == OK) {
		struct slot *s = LIST_ENTRY(j->blocks.next, struct slot, link);
		if (!may_send(x) || !block_send(j, s))
			return false;
		if (j->block_at < s->got)
			continue;
		j->blocks_bytes -= s->got;
		j->block_at = 0;
		slot_put(x, s);
		job_wake(j);
	}
	return true;
}
