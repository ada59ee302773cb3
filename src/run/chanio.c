/* SPDX-License-Identifier: ISC */
/*
 * chanio - a channel joined to local descriptors
 *
 * Two tricky ideas.  (1) How much is asked for follows what comes: a terminal gets room for a
 * packet, a file for eight.  (2) What waits for a slow sink pins the chunk in which it arrived,
 * which is right for full packets and ruinous for small ones (a window's worth of one-byte packets
 * would pin 36 times as much).  So once a sink is slow, small packets are copied (spanq).
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include "run/chanio.h"

#define READ_MIN  ((size_t)32 * 1024)
#define READ_MAX  ((size_t)256 * 1024)
#define READ_TTY  ((size_t)4096)
#define WRITE_MAX ((size_t)512 * 1024)
#define WRITE_TTY                                                                                  \
	((size_t)8192) /* a terminal may block: little at a time keeps the escapes alive */
#define WRITE_IOV  64
#define PIPE_FULL  ((size_t)64 * 1024)
#define PIPE_WISH  (1024 * 1024)
#define SMALL      4096
#define EXT_STDERR 1
#define HOLD_FROM  ((size_t)1024 * 1024)
#define HOLD_UNTIL ((size_t)512 * 1024)

/* ---- descriptor flags ---------------------------------------------------------------------------
 */
/* Gives the flags to be restored, or -1 when nothing was changed. */
static int make_nonblocking(int fd)
{
	struct stat st;
	if (fd < 0 || fstat(fd, &st) < 0 || S_ISREG(st.st_mode) || isatty(fd))
		return -1;
	int flags = fcntl(fd, F_GETFL);
	if (flags < 0 || (flags & O_NONBLOCK) || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return -1;
	return flags;
}

static void restore_flags(int fd, int *flags)
{
	if (*flags >= 0)
		(void)fcntl(fd, F_SETFL, *flags);
	*flags = -1;
}

/* A pipe that was found full gets more room: fewer wake-ups of both ends. */
static void grow_pipe(int fd, bool *is_done)
{
	if (*is_done)
		return;
	*is_done = true;
	(void)fcntl(fd, F_SETPIPE_SZ, PIPE_WISH);
}

/* ---- inwards: from the peer to a sink -----------------------------------------------------------
 */
static bool sink_is_empty(const struct chanio_sink *s)
{
	return s->q.n == 0;
}

static void sink_break(struct chanio_sink *s)
{
	struct chanio *c = s->owner;
	size_t lost = s->q.n;
	spanq_clear(&s->q);
	s->is_broken = true;
	ev_io_remove(c->ev, &s->io);
	cn_consumed(c->cn, c->chan, lost);
	if (s == &c->out)
		cn_discard_input(c->cn, c->chan);
}

/* Writes until nothing is left or the descriptor takes no more. */
static void sink_write(struct chanio_sink *s)
{
	struct chanio *c = s->owner;
	size_t written = 0;
	s->is_slow = false;
	while (!sink_is_empty(s) && !s->is_slow) {
		struct iovec iov[WRITE_IOV];
		size_t total = 0;
		size_t niov =
			spanq_gather(&s->q, s->is_tty ? WRITE_TTY : WRITE_MAX, iov, WRITE_IOV);
		for (size_t i = 0; i < niov; i++)
			total += iov[i].iov_len;
		ssize_t n = writev(s->fd, iov, (int)niov);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN) {
			grow_pipe(s->fd, &s->is_pipe_grown);
			s->is_slow = true;
			break;
		}
		if (n < 0) {
			cn_consumed(c->cn, c->chan, written);
			sink_break(s);
			return;
		}
		spanq_advance(&s->q, (size_t)n);
		written += (size_t)n;
		s->is_slow = s->is_tty || (size_t)n < total;
	}
	if (written > 0)
		cn_consumed(c->cn, c->chan, written);
	if (sink_is_empty(s))
		s->is_slow = false;
	ev_io_want(c->ev, &s->io, sink_is_empty(s) ? 0 : EV_OUT);
}

/*
 * A backlog of more than HOLD_FROM is out of the cache when its turn comes: the pump holds back
 * until the sinks have caught up.  Only where no other channel would have to wait.
 */
static void hold_or_go(struct chanio *c)
{
	size_t backlog = c->out.q.n + c->err.q.n;
	bool hold = backlog >= (c->is_holding ? HOLD_UNTIL : HOLD_FROM) && cn_channels(c->cn) == 1;
	if (hold != c->is_holding)
		pump_hold(c->pump, hold);
	c->is_holding = hold;
}

static void tell_drained(struct chanio *c)
{
	if (!c->peer_eof || c->is_told_drained || c->is_stopped || !chanio_is_drained(c))
		return;
	c->is_told_drained = true;
	if (c->on_drained != NULL)
		c->on_drained(c->arg);
}

static void on_sink(struct ev_io *io, unsigned happened)
{
	struct chanio_sink *s = io->arg;
	struct chanio *c = s->owner;
	(void)happened;
	sink_write(s);
	hold_or_go(c);
	tell_drained(c);
	pump_kick(c->pump); /* the last thing: it may end the channel */
}

static err_t sink_start(struct chanio *c, struct chanio_sink *s)
{
	s->owner = c;
	spanq_init(&s->q);
	s->is_broken = s->eof_wanted = s->is_slow = s->is_pipe_grown = false;
	s->flags_before = -1;
	if (s->fd < 0)
		return OK;
	s->is_tty = isatty(s->fd);
	s->flags_before = make_nonblocking(s->fd);
	s->io = (struct ev_io){.fd = s->fd, .on = on_sink, .arg = s};
	return ev_io_add(c->ev, &s->io);
}

static void sink_stop(struct chanio *c, struct chanio_sink *s)
{
	spanq_done(&s->q);
	if (s->fd >= 0) {
		ev_io_remove(c->ev, &s->io);
		restore_flags(s->fd, &s->flags_before);
	}
}

/* ---- outwards: from a descriptor to the peer ----------------------------------------------------
 */
static void in_ended(struct chanio *c, struct ev_io *io, bool *is_eof)
{
	*is_eof = true;
	ev_io_remove(c->ev, io);
	if (!c->in_is_eof || !c->in2_is_eof)
		return;
	if (c->on_in_eof != NULL)
		c->on_in_eof(c->arg);
	else
		cn_eof(c->cn, c->chan);
}

static size_t apply_filter(struct chanio *c, const struct iovec *iov, size_t n)
{
	return c->filter != NULL ? c->filter(c->arg, iov[0].iov_base, n) : n;
}

static void follow_size(struct chanio *c, size_t got, size_t room)
{
	if (got == room)
		c->want = num_min(c->want * 2, READ_MAX);
	else if (got < c->want / 4)
		c->want = num_max(c->want / 2, READ_MIN);
}

/* Nothing in it, though it is readable: the next read tells of its end. */
static bool is_at_end(int fd)
{
	int n = 0;
	return ioctl(fd, FIONREAD, &n) == 0 && n == 0;
}

/* The peer or the transport takes nothing now. */
static void wait_for_room(struct chanio *c, struct ev_io *io, bool *is_eof)
{
	/* RFC4254 5.3: EOF needs no window, so it does not wait for one that may never come. */
	if (cn_window_out(c->cn, c->chan) == 0 && is_at_end(io->fd)) {
		in_ended(c, io, is_eof);
		pump_kick(c->pump);
		return;
	}
	c->wait_room = true;
	ev_io_want(c->ev, &c->in_io, 0);
	ev_io_want(c->ev, &c->in2_io, 0);
}

/* Reads once into the next packets. */
static void read_in(struct chanio *c, struct ev_io *io, uint32_t ext, bool *is_eof)
{
	struct iovec iov[TP_BULK_MAX];
	size_t niov = 0, room = 0;
	err_t e =
		cn_reserve(c->cn, c->chan, ext, c->filter != NULL ? READ_TTY : c->want, iov, &niov);
	if (e == E_AGAIN) {
		wait_for_room(c, io, is_eof);
		return;
	}
	if (e != OK) {
		ev_io_remove(c->ev, io);
		*is_eof = true;
		return;
	}
	if (c->filter != NULL) {
		niov = 1;
		iov[0].iov_len--; /* the filter may add a byte */
	}
	for (size_t i = 0; i < niov; i++)
		room += iov[i].iov_len;
	if (room == 0) { /* a filter and a window of one byte */
		(void)!cn_commit(c->cn, 0);
		return;
	}
	ssize_t n = readv(io->fd, iov, (int)niov);
	size_t used = n > 0 ? apply_filter(c, iov, (size_t)n) : 0;
	if (c->is_stopped)
		return;
	if (cn_commit(c->cn, used) != OK)
		*is_eof = true;
	if (n > 0) {
		follow_size(c, (size_t)n, room);
		if ((size_t)n == PIPE_FULL)
			grow_pipe(io->fd, &c->is_in_grown);
	} else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
		in_ended(c, io, is_eof); /* EIO: the other side of a pseudo-terminal has gone */
	}
	pump_kick(c->pump);
}

static void on_in(struct ev_io *io, unsigned happened)
{
	struct chanio *c = io->arg;
	(void)happened;
	if (io == &c->in_io)
		read_in(c, io, c->in_ext, &c->in_is_eof);
	else
		read_in(c, io, EXT_STDERR, &c->in2_is_eof);
}

static err_t in_start(struct chanio *c, struct ev_io *io, int fd, int *flags, bool *is_eof)
{
	*is_eof = fd < 0;
	*flags = -1;
	*io = (struct ev_io){.fd = fd, .want = EV_IN, .on = on_in, .arg = c};
	if (fd < 0)
		return OK;
	if (fd == c->out.fd) { /* the master of a pseudo-terminal: epoll takes a descriptor once */
		io->fd = c->in_dup = fcntl(fd, F_DUPFD_CLOEXEC, 3);
		if (io->fd < 0)
			return E_IO;
	}
	*flags = make_nonblocking(fd);
	return ev_io_add(c->ev, io);
}

/* ---- the face -----------------------------------------------------------------------------------
 */
err_t chanio_start(struct chanio *c)
{
	c->wait_room = c->peer_eof = c->is_told_drained = c->is_stopped = c->is_in_grown =
		c->is_holding = false;
	c->want = READ_MIN;
	c->in_dup = -1;
	c->in_io = c->in2_io = (struct ev_io){.fd = -1};
	err_t e = sink_start(c, &c->out);
	if (e == OK)
		e = sink_start(c, &c->err);
	if (e == OK)
		e = in_start(c, &c->in_io, c->in, &c->in_flags, &c->in_is_eof);
	if (e == OK)
		e = in_start(c, &c->in2_io, c->in2, &c->in2_flags, &c->in2_is_eof);
	if (e != OK)
		chanio_stop(c);
	return e;
}

void chanio_stop(struct chanio *c)
{
	if (c->is_stopped || c->ev == NULL)
		return;
	c->is_stopped = true;
	if (c->is_holding)
		pump_hold(c->pump, false);
	sink_stop(c, &c->out);
	sink_stop(c, &c->err);
	ev_io_remove(c->ev, &c->in_io);
	ev_io_remove(c->ev, &c->in2_io);
	if (c->in_dup >= 0)
		close(c->in_dup);
	c->in_dup = -1;
	if (c->in >= 0)
		restore_flags(c->in, &c->in_flags);
	if (c->in2 >= 0)
		restore_flags(c->in2, &c->in2_flags);
}

bool chanio_end_input(struct chanio *c)
{
	ev_io_remove(c->ev, &c->in_io);
	c->in_is_eof = true;
	c->in_flags = -1; /* the number may be another's soon */
	c->in = -1;
	return c->in2_is_eof;
}

err_t chanio_event(struct chanio *c, struct cn_event *e)
{
	switch (e->type) {
	case CN_EV_DATA: {
		struct chanio_sink *s = e->ext == EXT_STDERR ? &c->err : &c->out;
		if (c->is_stopped || s->fd < 0 || s->is_broken) {
			cn_consumed(c->cn, c->chan, e->span.n);
			return OK;
		}
		TRY(spanq_put(&s->q, &e->span, s->is_slow && e->span.n < SMALL));
		ev_io_want(c->ev, &s->io, EV_OUT);
		return OK;
	}
	case CN_EV_ROOM:
		if (c->wait_room && !c->is_stopped) {
			c->wait_room = false;
			if (!c->in_is_eof)
				ev_io_want(c->ev, &c->in_io, EV_IN);
			if (!c->in2_is_eof)
				ev_io_want(c->ev, &c->in2_io, EV_IN);
		}
		return OK;
	case CN_EV_EOF:
		c->peer_eof = true;
		tell_drained(c);
		return OK;
	default:
		return OK;
	}
}

err_t chanio_flush(struct chanio *c)
{
	if (c->is_stopped)
		return OK;
	if (!c->out.is_slow && !sink_is_empty(&c->out))
		sink_write(&c->out);
	if (!c->err.is_slow && !sink_is_empty(&c->err))
		sink_write(&c->err);
	hold_or_go(c);
	tell_drained(c);
	err_t e = buf_err(&c->out.q.spill);
	return e != OK ? e : buf_err(&c->err.q.spill);
}

bool chanio_is_drained(const struct chanio *c)
{
	return sink_is_empty(&c->out) && sink_is_empty(&c->err);
}
