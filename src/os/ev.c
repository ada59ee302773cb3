/* SPDX-License-Identifier: ISC */
/*
 * ev - the event loop over epoll(7) and signalfd(2)
 *
 * The tricky idea: a change of interest is only noted (a list of dirty descriptors) and told to the
 * kernel just before the wait.  An owner may so switch EV_OUT on when it queues bytes and off when
 * it has written them in the same turn, and no system call is made.  A descriptor with no interest
 * is taken out of the epoll set, because epoll would report its hang-up for ever.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "os/ev.h"
#include "os/failed.h"

#define BATCH 32

struct ev_signal_source {
	struct ev_io io;
	ev_signal_fn *fn;
	void *arg;
	struct ev_signal_source *next;
};

struct ev {
	int epoll;
	uint64_t now_us;
	bool is_stopped;
	struct list dirty, always, timers; /* timers: the earliest first */
	struct list *always_next;          /* cursor of the walk over `always` */
	struct epoll_event batch[BATCH];
	size_t batch_at, batch_n;
	struct ev_signal_source *signals;
};

uint64_t os_monotonic_us(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

uint64_t os_wall_s(void)
{
	return (uint64_t)time(NULL);
}

err_t ev_new(struct ev **out)
{
	struct ev *ev = calloc(1, sizeof(*ev));
	if (ev == NULL)
		return E_MEM;
	ev->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (ev->epoll < 0) {
		err_t e = os_failed();
		free(ev);
		return e;
	}
	list_init(&ev->dirty);
	list_init(&ev->always);
	list_init(&ev->timers);
	ev->now_us = os_monotonic_us();
	*out = ev;
	return OK;
}

void ev_free(struct ev *ev)
{
	if (ev == NULL)
		return;
	while (ev->signals != NULL) {
		struct ev_signal_source *s = ev->signals;
		ev->signals = s->next;
		ev_io_remove(ev, &s->io);
		close(s->io.fd);
		free(s);
	}
	close(ev->epoll);
	free(ev);
}

uint64_t ev_now(const struct ev *ev)
{
	return ev->now_us;
}

/* ---- descriptors --------------------------------------------------------------------------------
 */
static err_t io_tell_kernel(struct ev *ev, struct ev_io *io)
{
	struct epoll_event e = {.data.ptr = io};
	e.events = (io->want & EV_IN ? (uint32_t)EPOLLIN : 0) |
		   (io->want & EV_OUT ? (uint32_t)EPOLLOUT : 0);
	int op = EPOLL_CTL_MOD;
	if (io->armed == 0)
		op = EPOLL_CTL_ADD;
	else if (io->want == 0)
		op = EPOLL_CTL_DEL;
	if (epoll_ctl(ev->epoll, op, io->fd, &e) < 0) {
		if (errno != EPERM)
			return E_IO;
		io->is_always = true;
	} else {
		io->armed = io->want;
	}
	return OK;
}

err_t ev_io_add(struct ev *ev, struct ev_io *io)
{
	io->is_always = io->is_dirty = false;
	io->armed = 0;
	if (io->want == 0) {
		/* a file is recognised when its interest is first told */
		io->is_added = true;
		return OK;
	}
	TRY(io_tell_kernel(ev, io));
	if (io->is_always)
		list_push(&ev->always, &io->link);
	io->is_added = true;
	return OK;
}

void ev_io_want(struct ev *ev, struct ev_io *io, unsigned want)
{
	io->want = want;
	if (!io->is_added || io->is_always || io->is_dirty || want == io->armed)
		return;
	io->is_dirty = true;
	list_push(&ev->dirty, &io->link);
}

void ev_io_remove(struct ev *ev, struct ev_io *io)
{
	if (!io->is_added)
		return;
	if (ev->always_next == &io->link)
		ev->always_next = io->link.next;
	if (io->is_always || io->is_dirty)
		list_remove(&io->link);
	if (io->armed != 0) {
		struct epoll_event e = {0};
		(void)epoll_ctl(ev->epoll, EPOLL_CTL_DEL, io->fd, &e);
	}
	for (size_t i = ev->batch_at; i < ev->batch_n; i++)
		if (ev->batch[i].data.ptr == io)
			ev->batch[i].data.ptr = NULL;
	io->is_added = io->is_always = io->is_dirty = false;
	io->armed = 0;
}

static err_t tell_dirty(struct ev *ev)
{
	while (!list_is_empty(&ev->dirty)) {
		struct ev_io *io = LIST_ENTRY(ev->dirty.next, struct ev_io, link);
		list_remove(&io->link);
		io->is_dirty = false;
		if (io->want == io->armed)
			continue;
		TRY(io_tell_kernel(ev, io));
		if (io->is_always)
			list_push(&ev->always, &io->link);
	}
	return OK;
}

/* ---- timers -------------------------------------------------------------------------------------
 */
void ev_timer_set(struct ev *ev, struct ev_timer *t, uint64_t at_us)
{
	ev_timer_stop(ev, t);
	if (at_us == UINT64_MAX)
		return;
	t->at_us = at_us;
	struct list *before = &ev->timers;
	while (before->prev != &ev->timers &&
		LIST_ENTRY(before->prev, struct ev_timer, link)->at_us > at_us)
		before = before->prev;
	list_push(before, &t->link);
}

void ev_timer_stop(struct ev *ev, struct ev_timer *t)
{
	(void)ev;
	if (t->link.next != NULL)
		list_remove(&t->link);
	t->link = (struct list){NULL, NULL};
	t->at_us = UINT64_MAX;
}

/* Those that are due now, each once: one that sets itself into the past cannot starve the others.
 */
static void run_timers(struct ev *ev)
{
	struct list due;
	list_init(&due);
	while (!list_is_empty(&ev->timers)) {
		struct list *first = ev->timers.next;
		if (LIST_ENTRY(first, struct ev_timer, link)->at_us > ev->now_us)
			break;
		list_remove(first);
		list_push(&due, first);
	}
	while (!list_is_empty(&due)) {
		struct ev_timer *t = LIST_ENTRY(due.next, struct ev_timer, link);
		ev_timer_stop(ev, t);
		t->on(t, ev->now_us);
	}
}

/* ---- signals ------------------------------------------------------------------------------------
 */
static void on_signal_fd(struct ev_io *io, unsigned happened)
{
	(void)happened;
	struct ev_signal_source *s = io->arg;
	struct signalfd_siginfo info;
	while (read(io->fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
		s->fn(s->arg, (int)info.ssi_signo);
}

err_t ev_signals(struct ev *ev, const int *signos, size_t n, ev_signal_fn *fn, void *arg)
{
	sigset_t set;
	sigemptyset(&set);
	for (size_t i = 0; i < n; i++)
		sigaddset(&set, signos[i]);
	struct ev_signal_source *s = calloc(1, sizeof(*s));
	if (s == NULL)
		return E_MEM;
	s->fn = fn;
	s->arg = arg;
	s->io = (struct ev_io){.want = EV_IN, .on = on_signal_fd, .arg = s};
	s->io.fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	if (s->io.fd < 0) {
		err_t e = os_failed();
		free(s);
		return e;
	}
	err_t e = ev_io_add(ev, &s->io);
	if (e != OK || sigprocmask(SIG_BLOCK, &set, NULL) < 0) {
		ev_io_remove(ev, &s->io);
		close(s->io.fd);
		free(s);
		return e != OK ? e : E_IO;
	}
	s->next = ev->signals;
	ev->signals = s;
	return OK;
}

void os_signals_reset(void)
{
	static const int reset[] = {SIGHUP, SIGINT, SIGQUIT, SIGPIPE, SIGALRM, SIGTERM, SIGUSR1,
		SIGUSR2, SIGCHLD, SIGTSTP, SIGTTIN, SIGTTOU, SIGWINCH, SIGCONT, SIGXFSZ};
	for (size_t i = 0; i < ARRAY_N(reset); i++)
		(void)signal(reset[i], SIG_DFL);
	sigset_t none;
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

void ev_signal_ignore(int signo)
{
	(void)signal(signo, SIG_IGN);
}

void os_sigpipe_ignore(void)
{
	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGXFSZ, SIG_IGN);
}

/* ---- the loop -----------------------------------------------------------------------------------
 */
static bool has_always(const struct ev *ev)
{
	for (struct list *l = ev->always.next; l != &ev->always; l = l->next)
		if (LIST_ENTRY(l, struct ev_io, link)->want != 0)
			return true;
	return false;
}

static int wait_ms(const struct ev *ev)
{
	if (has_always(ev))
		return 0;
	if (list_is_empty(&ev->timers))
		return -1;
	uint64_t at = LIST_ENTRY(ev->timers.next, struct ev_timer, link)->at_us;
	uint64_t now = os_monotonic_us();
	if (at <= now)
		return 0;
	uint64_t ms = (at - now + 999) / 1000; /* rounded up: a timer never comes early */
	return ms > 3600000 ? 3600000 : (int)ms;
}

static void run_batch(struct ev *ev)
{
	for (ev->batch_at = 0; ev->batch_at < ev->batch_n;) {
		struct epoll_event e = ev->batch[ev->batch_at++];
		struct ev_io *io = e.data.ptr;
		if (io == NULL)
			continue;
		unsigned happened =
			(e.events & EPOLLIN ? EV_IN : 0) | (e.events & EPOLLOUT ? EV_OUT : 0);
		if (e.events & (EPOLLHUP | EPOLLERR))
			happened |= EV_HUP | io->want; /* a read or write tells what it is */
		happened &= io->want | EV_HUP; /* the owner may have changed its mind this turn */
		if (io->want != 0 && happened != 0)
			io->on(io, happened);
	}
	ev->batch_n = ev->batch_at = 0;
}

static void run_always(struct ev *ev)
{
	ev->always_next = ev->always.next;
	while (ev->always_next != NULL && ev->always_next != &ev->always) {
		struct ev_io *io = LIST_ENTRY(ev->always_next, struct ev_io, link);
		ev->always_next = io->link.next;
		if (io->want != 0)
			io->on(io, io->want);
	}
	ev->always_next = NULL;
}

err_t ev_run(struct ev *ev)
{
	err_t e = OK;
	while (!ev->is_stopped) {
		e = tell_dirty(ev);
		if (e != OK)
			break;
		int n = epoll_wait(ev->epoll, ev->batch, BATCH, wait_ms(ev));
		if (n < 0 && errno != EINTR) {
			e = E_IO;
			break;
		}
		ev->now_us = os_monotonic_us();
		ev->batch_n = n > 0 ? (size_t)n : 0;
		run_batch(ev);
		run_timers(ev);
		run_always(ev);
	}
	ev->is_stopped = false;
	return e;
}

void ev_stop(struct ev *ev)
{
	ev->is_stopped = true;
}
