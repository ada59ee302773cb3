/* SPDX-License-Identifier: ISC */
/*
 * down - a remote file to the local disk
 *
 * What a turn brought of a file is gathered and written by one pwritev(2) straight from where it
 * was received.  It comes in order, so a file that is not complete is a prefix of its source.
 */
#include <errno.h>
#include <string.h>
#include <sys/uio.h>

#include "transfer/transfer_int.h"

static void write_failed(struct job *j, int why)
{
	xfer_say(j->x, LOG_L_ERROR, "write local \"%s\": %s", j->to, strerror(why));
	job_fail(j);
}

/* All of it, or an error number. */
static int write_all(int fd, struct iovec *iov, size_t niov, uint64_t at)
{
	size_t i = 0;
	while (i < niov) {
		ssize_t n = pwritev(fd, iov + i, (int)(niov - i), (off_t)at);
		if (n < 0 && errno == ESPIPE) /* a pipe or a terminal: in order, as it is */
			n = writev(fd, iov + i, (int)(niov - i));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? errno : EIO;
		at += (uint64_t)n;
		size_t left = (size_t)n;
		for (; i < niov && left >= iov[i].iov_len; i++)
			left -= iov[i].iov_len;
		if (left > 0 && i < niov) {
			iov[i].iov_base = (uint8_t *)iov[i].iov_base + left;
			iov[i].iov_len -= left;
		}
	}
	return 0;
}

void down_flush(struct xfer *x)
{
	struct gather *g = &x->gather;
	struct job *j = g->job;
	struct iovec iov[XFER_GATHER] = {{0}};
	if (j == NULL || g->n == 0)
		return;
	for (size_t i = 0; i < g->n; i++)
		iov[i] = (struct iovec){g->spans[i].p, g->spans[i].n};
	int why = j->out >= 0 ? write_all(j->out, iov, g->n, g->at) : EBADF;
	uint64_t until = g->at + g->bytes;
	for (size_t i = 0; i < g->n; i++)
		span_drop(&g->spans[i]);
	g->n = g->bytes = 0;
	g->job = NULL;
	if (why != 0) {
		write_failed(j, why);
		return;
	}
	j->done = until;
	progress_bytes(j, until);
}

static void write_now(struct job *j, uint64_t at, struct span piece)
{
	struct iovec iov = {piece.p, piece.n};
	int why = write_all(j->out, &iov, 1, at);
	if (why != 0) {
		write_failed(j, why);
		return;
	}
	j->done = at + piece.n;
	progress_bytes(j, j->done);
}

static bool is_zero(const uint8_t *p, size_t n)
{
	return n > 0 && p[0] == 0 && memcmp(p, p + 1, n - 1) == 0;
}

/* A hole stays one where the destination has nothing yet. */
static bool is_hole(struct job *j, uint64_t at, struct span piece)
{
	if (!j->x->env.opts.sparse || !j->is_regular || at < j->old_size ||
		!is_zero(piece.p, piece.n))
		return false;
	j->has_hole_end = true;
	return true;
}

void down_piece(struct job *j, uint64_t at, struct span piece)
{
	struct xfer *x = j->x;
	struct gather *g = &x->gather;
	if (piece.n == 0)
		return;
	bool fits = g->job == j && g->at + g->bytes == at && g->n < XFER_GATHER &&
		    g->bytes < XFER_GATHER_MAX;
	if (g->job != NULL && !fits)
		down_flush(x);
	if (j->has_failed)
		return;
	if (is_hole(j, at, piece)) {
		down_flush(x);
		progress_bytes(j, at + piece.n);
		return;
	}
	j->has_hole_end = false;
	if (piece.c == NULL) {
		down_flush(x);
		if (!j->has_failed)
			write_now(j, at, piece);
		return;
	}
	if (g->job == NULL)
		*g = (struct gather){.job = j, .at = at};
	span_keep(&piece);
	g->spans[g->n++] = piece;
	g->bytes += piece.n;
}

/* ---- all jobs whose bytes flow ----------------------------------------------------------------
 */
static bool push(struct job *j)
{
	struct xfer *x = j->x;
	if (j->phase != JOB_DATA) {
		compare_push(j);
		return true;
	}
	if (x->from.r != NULL && x->to.r == NULL) {
		reader_pump(&j->rd);
		return true;
	}
	if (x->from.r != NULL) {
		reader_pump(&j->rd);
		return across_push(j);
	}
	if (x->to.r != NULL)
		return up_push(j);
	local_copy(j);
	return true;
}

/* Whatever a push does to other jobs, this walks over all: each goes from one list to the other. */
void movers_turn(struct xfer *x)
{
	size_t sent = x->to.requests;
	struct list now;
	list_init(&now);
	bool is_full = false;
	while (!list_is_empty(&x->movers)) {
		struct list *at = x->movers.next;
		list_remove(at);
		list_push(&now, at);
	}
	while (!list_is_empty(&now)) {
		struct job *j = LIST_ENTRY(now.next, struct job, mover);
		list_remove(&j->mover);
		list_push(&x->movers, &j->mover);
		if (is_full || x->end != OK)
			continue;
		is_full = !push(j);
		if (j->rd.is_stopped || j->is_read_end)
			job_wake(j);
	}
	if (x->to.r != NULL && x->to.requests != sent && x->to.r->end == OK)
		x->to.r->link->ops->kick(x->to.r->link);
}
