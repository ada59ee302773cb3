/* SPDX-License-Identifier: ISC */
/*
 * link_fds - two descriptors of a child as a link
 *
 * What comes is read into chunks that may be kept, one behind the other.  What goes out is written
 * into one area and from there to the descriptor; a pipe takes it at once, most often.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "transfer/link.h"

#define POOL_BUDGET ((size_t)40 << 20)
#define READ_MAX    ((size_t)256 * 1024)
#define READ_LEAST  ((size_t)64 * 1024) /* less room than this: the next chunk */
#define OUT_CAP     ((size_t)512 * 1024)
#define OUT_FULL    ((size_t)256 * 1024)
#define READS       4    /* a turn */
#define RETRY_US    2000 /* when all memory is kept by others */
#define PIPE_WISH   (1024 * 1024)

struct link_fds {
	struct link face; /* first: the face is the link */
	struct chunk_pool pool;
	struct chunk *chunk; /* NULL = none yet */
	size_t chunk_n;
	struct ev_io in, out;
	struct ev_timer retry;
	uint8_t *waiting;
	size_t at, n; /* of waiting */
	bool is_finished, is_ended, is_out_dead;
	bool is_refused;         /* somebody waits for room: on_room is owed */
	bool is_inside, is_gone; /* a call back is under way; freed by it */
};

static struct link_fds *of(struct link *l)
{
	return (struct link_fds *)(void *)l;
}

/* ---- out --------------------------------------------------------------------------------------
 */
static void close_out(struct link_fds *l)
{
	int fd = l->out.fd;
	ev_io_remove(l->face.ev, &l->out);
	if (fd >= 0)
		close(fd);
	l->out.fd = -1;
}

static void write_out(struct link_fds *l)
{
	while (l->at < l->n && !l->is_out_dead) {
		ssize_t n = write(l->out.fd, l->waiting + l->at, l->n - l->at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			break;
		if (n < 0) { /* it may have said why: what it prints is still read */
			l->is_out_dead = true;
			break;
		}
		l->at += (size_t)n;
	}
	if (l->at == l->n || l->is_out_dead)
		l->at = l->n = 0;
	if (l->out.fd < 0)
		return;
	if (l->n == 0 && (l->is_finished || l->is_out_dead))
		close_out(l);
	else
		ev_io_want(l->face.ev, &l->out, l->n > 0 || l->is_refused ? EV_OUT : 0);
}

static err_t reserve(struct link *face, size_t want, struct iovec iov[TP_BULK_MAX], size_t *niov)
{
	struct link_fds *l = of(face);
	if (l->is_finished || l->is_ended)
		return E_CLOSED;
	if (l->n - l->at >= OUT_FULL) {
		l->is_refused = true;
		return E_AGAIN;
	}
	if (l->at > 0 && (l->at == l->n || want > OUT_CAP - l->n)) {
		memmove(l->waiting, l->waiting + l->at, l->n - l->at);
		l->n -= l->at;
		l->at = 0;
	}
	iov[0] = (struct iovec){l->waiting + l->n, num_min(want, OUT_CAP - l->n)};
	*niov = 1;
	return OK;
}

static err_t commit(struct link *face, size_t used)
{
	struct link_fds *l = of(face);
	if (used > OUT_CAP - l->n)
		return E_BUG;
	l->n += used;
	if (l->n - l->at >= OUT_FULL)
		write_out(l);
	else if (l->n > l->at && l->out.fd >= 0)
		ev_io_want(face->ev, &l->out, EV_OUT);
	return OK;
}

static void kick(struct link *face)
{
	write_out(of(face));
}

static void finish(struct link *face)
{
	struct link_fds *l = of(face);
	l->is_finished = true;
	write_out(l);
}

static uint32_t rtt_us(struct link *face)
{
	(void)face;
	return 0;
}

static const struct link_ops ops = {
	.reserve = reserve, .commit = commit, .kick = kick, .finish = finish, .rtt_us = rtt_us};

/* ---- in ---------------------------------------------------------------------------------------
 */
static void end(struct link_fds *l, err_t why)
{
	if (l->is_ended)
		return;
	l->is_ended = true;
	ev_io_remove(l->face.ev, &l->in);
	ev_timer_stop(l->face.ev, &l->retry);
	if (l->face.on_end != NULL)
		l->face.on_end(l->face.arg, why);
}

static err_t make_room(struct link_fds *l)
{
	if (l->chunk != NULL && CHUNK_SIZE - l->chunk_n >= READ_LEAST)
		return OK;
	if (l->chunk != NULL && l->chunk->refs == 1) { /* nobody kept any of it */
		l->chunk_n = 0;
		return OK;
	}
	struct chunk *next;
	TRY(chunk_get(&l->pool, &next));
	chunk_drop(l->chunk);
	l->chunk = next;
	l->chunk_n = 0;
	return OK;
}

/* One read; false when there is nothing more for now. */
static bool read_once(struct link_fds *l)
{
	err_t e = make_room(l);
	if (e == E_AGAIN) {
		ev_io_want(l->face.ev, &l->in, 0);
		ev_timer_set(l->face.ev, &l->retry, ev_now(l->face.ev) + RETRY_US);
		return false;
	}
	if (e != OK) {
		end(l, e);
		return false;
	}
	size_t want = num_min(CHUNK_SIZE - l->chunk_n, READ_MAX);
	struct span got = {l->chunk, l->chunk->p + l->chunk_n, 0};
	ssize_t n = read(l->in.fd, got.p, want);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n <= 0) {
		end(l, n == 0 ? OK : E_IO);
		return false;
	}
	got.n = (size_t)n;
	l->chunk_n += got.n;
	if (l->face.on_bytes != NULL)
		l->face.on_bytes(l->face.arg, got);
	return !l->is_gone && !l->is_ended && got.n == want;
}

static void begin_inside(struct link_fds *l)
{
	l->is_inside = true;
}

static void release(struct link_fds *l);

/* Room is offered once a turn. */
static void end_inside(struct link_fds *l)
{
	if (!l->is_gone && !l->is_ended && l->face.on_room != NULL)
		l->face.on_room(l->face.arg);
	l->is_inside = false;
	if (l->is_gone)
		release(l);
	else
		write_out(l);
}

static void on_in(struct ev_io *io, unsigned happened)
{
	struct link_fds *l = io->arg;
	(void)happened;
	begin_inside(l);
	for (int i = 0; i < READS; i++)
		if (!read_once(l))
			break;
	end_inside(l);
}

static void on_out(struct ev_io *io, unsigned happened)
{
	struct link_fds *l = io->arg;
	(void)happened;
	begin_inside(l);
	l->is_refused = false;
	write_out(l);
	end_inside(l);
}

static void on_retry(struct ev_timer *t, uint64_t now_us)
{
	struct link_fds *l = t->arg;
	(void)now_us;
	ev_io_want(l->face.ev, &l->in, EV_IN);
}

/* ---- life -------------------------------------------------------------------------------------
 */
static err_t prepare(int fd)
{
	int flags = fcntl(fd, F_GETFL);
	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return E_IO;
	(void)fcntl(fd, F_SETPIPE_SZ, PIPE_WISH);
	return OK;
}

static err_t start(struct link_fds *l, int in, int out_fd)
{
	l->waiting = malloc(OUT_CAP);
	if (l->waiting == NULL)
		return E_MEM;
	TRY(prepare(in));
	TRY(prepare(out_fd));
	l->in = (struct ev_io){.fd = in, .want = EV_IN, .on = on_in, .arg = l};
	l->out = (struct ev_io){.fd = out_fd, .want = 0, .on = on_out, .arg = l};
	TRY(ev_io_add(l->face.ev, &l->in));
	err_t e = ev_io_add(l->face.ev, &l->out);
	if (e != OK)
		ev_io_remove(l->face.ev, &l->in);
	return e;
}

err_t link_fds_new(struct link_fds **out, struct ev *ev, int in, int out_fd)
{
	struct link_fds *l = calloc(1, sizeof(*l));
	if (l == NULL)
		return E_MEM;
	chunk_pool_init(&l->pool, POOL_BUDGET);
	l->face = (struct link){.ops = &ops, .ev = ev};
	l->retry = (struct ev_timer){.at_us = UINT64_MAX, .on = on_retry, .arg = l};
	err_t e = start(l, in, out_fd);
	if (e != OK) {
		free(l->waiting);
		free(l);
		return e;
	}
	*out = l;
	return OK;
}

struct link *link_fds_face(struct link_fds *l)
{
	return &l->face;
}

bool link_fds_has_unsent(const struct link_fds *l)
{
	return l->n > l->at && !l->is_out_dead;
}

static void release(struct link_fds *l)
{
	chunk_drop(l->chunk);
	chunk_pool_done(&l->pool);
	free(l->waiting);
	free(l);
}

void link_fds_free(struct link_fds *l)
{
	if (l == NULL || l->is_gone)
		return;
	ev_timer_stop(l->face.ev, &l->retry);
	ev_io_remove(l->face.ev, &l->in);
	close(l->in.fd);
	close_out(l);
	l->is_ended = l->is_gone = true;
	if (!l->is_inside)
		release(l);
}
