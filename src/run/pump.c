/* SPDX-License-Identifier: ISC */
/*
 * pump - the only place where a socket meets an engine
 *
 * One turn: hand out every event, let the owner add what it owes, write.  A write makes room, so a
 * turn goes on as long as the owner has more to say, up to TURNS writes; then other descriptors
 * have their turn. The end is a small state of its own: after the engine's first error nothing is
 * read any more, what it still has to say (a DISCONNECT) is written, for at most CLOSE_US, and the
 * owner hears of it once.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include "run/path.h"
#include "run/pump.h"

#define IO_MAX   ((size_t)256 * 1024) /* bytes a system call: larger got slower (cache) */
#define IOV_MAX_ 64
#define TURNS    4
#define CLOSE_US 2000000

static err_t set_nonblocking(int fd)
{
	int flags = fcntl(fd, F_GETFL);
	if (flags < 0 || (!(flags & O_NONBLOCK) && fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0))
		return E_IO;
	return OK;
}

static bool is_holding(const struct pump *p)
{
	return p->is_held && ev_now(p->ev) < p->held_until_us;
}

static void set_interest(struct pump *p)
{
	bool may_read = !p->is_closing && !p->is_in_eof && !p->is_blocked && !is_holding(p) &&
			tp_space(p->tp).n > 0;
	bool has_more = !p->is_out_dead && tp_unsent(p->tp) > 0;
	unsigned in = may_read ? EV_IN : 0, out = has_more ? EV_OUT : 0;
	if (p->is_one_fd) {
		ev_io_want(p->ev, &p->in, in | out);
		return;
	}
	ev_io_want(p->ev, &p->in, in);
	ev_io_want(p->ev, &p->out, out);
}

static void set_timer(struct pump *p)
{
	if (p->is_closing)
		return;
	uint64_t at = tp_deadline(p->tp);
	if (is_holding(p) && p->held_until_us < at)
		at = p->held_until_us;
	if (at != p->timer.at_us)
		ev_timer_set(p->ev, &p->timer, at);
}

/* Hands out events until there is none or the owner waits for an answer. */
static void poll_events(struct pump *p)
{
	while (!p->is_blocked) {
		struct tp_event e = {0};
		if (tp_poll(p->tp, &e) != OK || e.type == TP_EV_NONE)
			break;
		err_t verdict = p->on_event(p->arg, &e);
		if (!p->is_running)
			return;
		if (verdict == E_AGAIN)
			p->is_blocked = true;
		else if (verdict != OK)
			tp_fail(p->tp, verdict);
	}
	if (p->is_in_eof && !p->is_blocked && tp_error(p->tp) == OK) {
		err_t e = tp_fed_eof(p->tp);
		if (tp_error(p->tp) == OK)
			tp_fail(p->tp, e != OK ? e : E_CLOSED);
	}
}

/* True when something was written. */
static bool write_some(struct pump *p)
{
	struct iovec iov[IOV_MAX_];
	size_t n = tp_ready(p->tp, iov, IOV_MAX_), total = 0, used = 0;
	while (used < n && total < IO_MAX)
		total += iov[used++].iov_len;
	if (used == 0 || p->is_full)
		return false;
	if (p->is_out_dead) {
		tp_sent(p->tp, total);
		return true;
	}
	ssize_t done = writev(p->fd_out, iov, (int)used);
	if (done < 0 && (errno == EAGAIN || errno == EINTR)) {
		p->is_full = errno == EAGAIN;
		return false;
	}
	if (done < 0) {
		/* The peer may have said why before it closed: go on reading. */
		p->is_out_dead = true;
		p->sys_errno = errno;
		tp_sent(p->tp, total);
		return false;
	}
	tp_sent(p->tp, (size_t)done);
	p->is_full = (size_t)done < total; /* until the loop says otherwise */
	return !p->is_full;
}

static void begin_close(struct pump *p)
{
	p->is_closing = true;
	ev_timer_set(p->ev, &p->timer, ev_now(p->ev) + CLOSE_US);
}

static void end_close(struct pump *p)
{
	err_t why = tp_error(p->tp);
	pump_stop(p);
	p->on_closed(p->arg, why != OK ? why : E_CLOSED);
}

static void turn(struct pump *p)
{
	if (p->is_turning || !p->is_running) {
		p->is_kicked = true;
		return;
	}
	p->is_turning = true;
	for (int i = 0; i < TURNS; i++) {
		p->is_kicked = false;
		if (!p->is_closing)
			poll_events(p);
		if (p->is_running && !p->is_closing && tp_error(p->tp) == OK &&
			p->before_send != NULL) {
			err_t e = p->before_send(p->arg);
			if (p->is_running && e != OK && e != E_AGAIN)
				tp_fail(p->tp, e);
		}
		if (!p->is_running)
			break;
		if (tp_error(p->tp) != OK && !p->is_closing)
			begin_close(p);
		bool wrote = write_some(p);
		if (!wrote && !p->is_kicked)
			break;
	}
	p->is_turning = false;
	if (!p->is_running)
		return;
	if (p->is_closing && (p->is_out_dead || tp_unsent(p->tp) == 0)) {
		end_close(p);
		return;
	}
	if (p->is_kicked) /* the turns are used up: go on in the next turn of the loop */
		ev_timer_set(p->ev, &p->timer, ev_now(p->ev));
	else
		set_timer(p);
	set_interest(p);
}

static void read_some(struct pump *p)
{
	if (p->is_closing || p->is_in_eof || p->is_blocked || is_holding(p))
		return;
	p->held_until_us = ev_now(p->ev) + PUMP_HOLD_US;
	struct slice room = tp_space(p->tp);
	if (room.n == 0)
		return;
	ssize_t n = read(p->fd_in, room.p, num_min(room.n, IO_MAX));
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		if (n < 0)
			p->sys_errno = errno;
		p->is_in_eof = true;
		return;
	}
	err_t e = tp_fed(p->tp, (size_t)n, ev_now(p->ev));
	if (e != OK && tp_error(p->tp) == OK)
		tp_fail(p->tp, e);
}

static void on_in(struct ev_io *io, unsigned happened)
{
	struct pump *p = io->arg;
	if (happened & (EV_OUT | EV_HUP))
		p->is_full = false;
	if (happened & (EV_IN | EV_HUP))
		read_some(p);
	turn(p);
}

static void on_out(struct ev_io *io, unsigned happened)
{
	struct pump *p = io->arg;
	(void)happened;
	p->is_full = false;
	turn(p);
}

static void on_timer(struct ev_timer *t, uint64_t now_us)
{
	struct pump *p = t->arg;
	if (p->is_closing) {
		end_close(p);
		return;
	}
	if (now_us >= tp_deadline(p->tp)) {
		err_t e = tp_tick(p->tp, now_us);
		if (e != OK && tp_error(p->tp) == OK)
			tp_fail(p->tp, e);
	}
	turn(p);
}

err_t pump_start(struct pump *p)
{
	TRY(set_nonblocking(p->fd_in));
	TRY(set_nonblocking(p->fd_out));
	path_bound_unsent(p->fd_out);
	p->is_one_fd = p->fd_in == p->fd_out;
	p->is_in_eof = p->is_blocked = p->is_turning = p->is_kicked = p->is_closing = false;
	p->is_out_dead = p->is_full = p->is_held = false;
	p->sys_errno = 0;
	p->in = (struct ev_io){.fd = p->fd_in, .want = EV_IN, .on = on_in, .arg = p};
	p->out = (struct ev_io){.fd = p->fd_out, .want = 0, .on = on_out, .arg = p};
	p->timer = (struct ev_timer){.at_us = UINT64_MAX, .on = on_timer, .arg = p};
	TRY(ev_io_add(p->ev, &p->in));
	if (!p->is_one_fd) {
		err_t e = ev_io_add(p->ev, &p->out);
		if (e != OK) {
			ev_io_remove(p->ev, &p->in);
			return e;
		}
	}
	p->is_running = true;
	pump_kick(p);
	return OK;
}

void pump_stop(struct pump *p)
{
	if (!p->is_running)
		return;
	p->is_running = false;
	ev_io_remove(p->ev, &p->in);
	ev_io_remove(p->ev, &p->out);
	ev_timer_stop(p->ev, &p->timer);
}

void pump_kick(struct pump *p)
{
	p->is_blocked = false;
	turn(p);
}

void pump_hold(struct pump *p, bool hold)
{
	p->is_held = hold;
	p->held_until_us = ev_now(p->ev) + PUMP_HOLD_US;
}
