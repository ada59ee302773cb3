/* SPDX-License-Identifier: ISC */
/*
 * lines - the two lines of warm processes that the listener keeps
 *
 * A zygote that ends is replaced when it has been reaped, not before: only then is it known why it
 * ended.  What it could not start for it says itself on its control socket.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "app/sshd/lines.h"
#include "app/sshd/zygote.h"
#include "os/child.h"
#include "os/fdpass.h"

#define NEXT_BEFORE    4 /* forks left when the next zygote is started */
#define KEYS_PIPE_MAX  (1 << 20)
#define DELAY_FIRST_US 100000u
#define DELAY_MOST_US  30000000u

static const char *const roles[LINES] = {[LINE_MONITOR] = "monitor", [LINE_NET] = "net"};

struct zygote {
	size_t line;
	pid_t pid;
	int control;
	size_t forks;
	bool is_ready, is_gone; /* is_gone: its socket is closed; it waits to be reaped */
	char cause[160];        /* what it said of itself */
	struct ev_io io;
	struct lines *owner;
};

uint64_t lines_delay_us(uint32_t failures)
{
	uint64_t delay = DELAY_FIRST_US;
	for (uint32_t i = 1; i < failures && delay < DELAY_MOST_US; i++)
		delay *= 2;
	return num_min(delay, DELAY_MOST_US);
}

static void zygote_free(struct zygote *z)
{
	if (z == NULL)
		return;
	ev_io_remove(z->owner->ev, &z->io);
	(void)close(z->control);
	free(z);
}

/* One word for a cause: further failures by the same are no news. */
static void failed(struct lines *l, size_t line, const char *cause)
{
	struct line *at = &l->line[line];
	uint64_t delay = lines_delay_us(++at->failures);
	bool is_news = at->failures == 1 || strcmp(at->cause, cause) != 0;
	(void)snprintf(at->cause, sizeof(at->cause), "%s", cause);
	log_put(is_news ? LOG_L_ERROR : LOG_L_VERBOSE,
		"%s processes cannot be started, new connections wait: %s", roles[line], cause);
	ev_timer_set(l->ev, &at->retry, os_monotonic_us() + delay);
}

/* What it says: R that it is ready, E and why it cannot be. */
static void hear(struct zygote *z)
{
	struct line *at = &z->owner->line[z->line];
	uint8_t said[sizeof(z->cause)] = {0};
	struct fdpass_got got;
	err_t e;
	while ((e = fdpass_recv(z->control, (struct slice){said, sizeof(said)}, false, &got)) ==
		OK) {
		fdpass_close(&got);
		if (said[0] == 'E') {
			(void)snprintf(z->cause, sizeof(z->cause), "%.*s", (int)got.n - 1,
				(const char *)said + 1);
			continue;
		}
		z->is_ready = true;
		if (at->failures > 0)
			log_put(LOG_L_INFO, "%s processes can be started again", roles[z->line]);
		at->failures = 0;
		ev_timer_stop(z->owner->ev, &at->retry);
	}
	if (e == E_AGAIN)
		return;
	z->is_gone = true;
	ev_io_remove(z->owner->ev, &z->io);
}

static void on_zygote(struct ev_io *io, unsigned happened)
{
	struct zygote *z = io->arg;
	struct lines *l = z->owner;
	hear(z);
	l->on_ready(l->arg);
}

/* In the child, before it is the program. */
static NORETURN void say_cause(int control, const char *what)
{
	char cause[160];
	int n = snprintf(cause, sizeof(cause), "E%s: %s", what, strerror(errno));
	if (n > 0)
		(void)!fdpass_send(control, cslice_of(cause, strlen(cause)), NULL, 0, true);
	_exit(EXIT_FATAL);
}

/* In the child: descriptors 3, 4, 5 as zygote.h says, then the program again. */
static NORETURN void exec_zygote(struct lines *l, const char *role, int control, int keys)
{
	char flag[] = "-R"; /* exec takes no const; it changes nothing */
	char *argv[] = {l->argv[0], flag, (char *)(uintptr_t)role, NULL};
	bool is_net = strcmp(role, "net") == 0;
	int fds[4] = {control, is_net ? -1 : l->setup, is_net ? -1 : keys, l->self};
	os_signals_reset();
	if (child_keep_fds(fds, 4) != OK)
		say_cause(control, "descriptors");
	for (int fd = ZYGOTE_CONTROL; fd < fds[3]; fd++)
		(void)fcntl(fd, F_SETFD, 0);
	(void)child_reexec(fds[3], argv, environ);
	say_cause(ZYGOTE_CONTROL, "exec");
}

/* The keys fit into the pipe, so nobody waits. */
static err_t fill_keys(const struct lines *l, int *out)
{
	int fds[2];
	if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) != 0)
		return E_IO;
	if (l->keys.n > 65536)
		(void)fcntl(fds[1], F_SETPIPE_SZ, KEYS_PIPE_MAX);
	bool is_in = write(fds[1], l->keys.p, l->keys.n) == (ssize_t)l->keys.n;
	int why = errno;
	(void)close(fds[1]);
	if (!is_in) {
		(void)close(fds[0]);
		errno = why;
		return E_IO;
	}
	*out = fds[0];
	return OK;
}

static err_t fork_zygote(struct lines *l, struct zygote *z)
{
	int pair[2], keys = -1;
	TRY(fdpass_pair(pair));
	z->control = pair[0];
	err_t e = z->line == LINE_MONITOR ? fill_keys(l, &keys) : OK;
	if (e == OK) {
		z->pid = fork();
		if (z->pid == 0)
			exec_zygote(l, roles[z->line], pair[1], keys);
		if (z->pid < 0)
			e = E_IO;
	}
	int why = errno;
	(void)close(pair[1]);
	if (keys >= 0)
		(void)close(keys);
	z->io = (struct ev_io){.fd = pair[0], .want = EV_IN, .on = on_zygote, .arg = z};
	if (e == OK)
		return ev_io_add(l->ev, &z->io);
	(void)close(pair[0]);
	errno = why;
	return e;
}

static struct zygote *zygote_start(struct lines *l, size_t line)
{
	struct zygote *z = calloc(1, sizeof(*z));
	err_t e = z != NULL ? OK : E_MEM;
	errno = 0;
	if (z != NULL) {
		z->line = line;
		z->owner = l;
		e = fork_zygote(l, z);
	}
	if (e == OK)
		return z;
	free(z);
	failed(l, line, errno != 0 ? strerror(errno) : err_text(e));
	return NULL;
}

static bool may_start(const struct lines *l, size_t line)
{
	return !l->is_over && l->line[line].retry.at_us == UINT64_MAX;
}

/* The one that takes the next connection; NULL = none, and none can be started now. */
static struct zygote *zygote_get(struct lines *l, size_t line)
{
	struct line *at = &l->line[line];
	if (at->now != NULL && !at->now->is_gone && at->now->forks >= l->forks) {
		/* the end of its control socket lets it go when its children have */
		zygote_free(at->now);
		at->now = NULL;
	}
	if (at->now == NULL) {
		at->now = at->next;
		at->next = NULL;
	}
	if (at->now == NULL && may_start(l, line))
		at->now = zygote_start(l, line);
	return at->now;
}

bool lines_ready(struct lines *l)
{
	bool is_ready = true;
	for (size_t i = 0; i < LINES; i++) {
		const struct zygote *z = zygote_get(l, i);
		/* After a failure nothing is handed out on trust. */
		is_ready = is_ready && z != NULL && !z->is_gone &&
			   (z->is_ready || l->line[i].failures == 0);
	}
	return is_ready;
}

err_t lines_send(struct lines *l, size_t line, const int *fds, size_t n)
{
	struct zygote *z = l->line[line].now;
	if (z == NULL)
		return E_BUG;
	z->forks++;
	return fdpass_send(z->control, cslice_of("F", 1), fds, n, true);
}

void lines_sent(struct lines *l)
{
	l->is_over = l->is_single;
	for (size_t i = 0; i < LINES && !l->is_over; i++) {
		struct line *at = &l->line[i];
		if (at->now == NULL)
			continue;
		if (l->forks == 1) /* nothing more will come; how it fares is still heard */
			(void)shutdown(at->now->control, SHUT_WR);
		else if (at->next == NULL && at->now->forks + NEXT_BEFORE >= l->forks &&
			 may_start(l, i))
			at->next = zygote_start(l, i);
	}
}

pid_t lines_pid(const struct lines *l, size_t line)
{
	return l->line[line].now != NULL ? l->line[line].now->pid : 0;
}

static void describe(const struct zygote *z, int status, char *out, size_t n)
{
	if (z->cause[0] != 0)
		(void)snprintf(out, n, "%s", z->cause);
	else if (WIFSIGNALED(status))
		(void)snprintf(out, n, "ended by signal %d", WTERMSIG(status));
	else
		(void)snprintf(out, n, "ended with status %d", WEXITSTATUS(status));
}

void lines_reaped(struct lines *l, pid_t pid, int status)
{
	char cause[200];
	for (size_t i = 0; i < LINES; i++) {
		struct line *at = &l->line[i];
		struct zygote *z = at->now != NULL && at->now->pid == pid     ? at->now
				   : at->next != NULL && at->next->pid == pid ? at->next
									      : NULL;
		if (z == NULL)
			continue;
		if (!z->is_gone)
			hear(z);
		/* Its forks are used up and its children have gone, a child has crashed, or it
		 * could not start.  The one that is warm already takes its place. */
		log_put(LOG_L_VERBOSE, "%s zygote has ended", roles[i]);
		bool was_of_use = z->is_ready && z->forks > 0;
		describe(z, status, cause, sizeof(cause));
		if (z == at->now)
			at->now = NULL;
		else
			at->next = NULL;
		zygote_free(z);
		if (!was_of_use && !l->is_over)
			failed(l, i, cause);
		else if (!was_of_use)
			log_put(LOG_L_ERROR, "%s process: %s", roles[i], cause);
		if (l->forks > 1)
			(void)zygote_get(l, i);
		l->on_ready(l->arg);
	}
}

static void on_retry(struct ev_timer *t, uint64_t now_us)
{
	struct lines *l = t->arg;
	for (size_t i = 0; i < LINES; i++)
		(void)zygote_get(l, i);
	l->on_ready(l->arg);
}

void lines_start(struct lines *l)
{
	for (size_t i = 0; i < LINES; i++) {
		l->line[i].retry = (struct ev_timer){.at_us = UINT64_MAX, .on = on_retry, .arg = l};
	}
	for (size_t i = 0; i < LINES && l->forks > 1; i++)
		(void)zygote_get(l, i);
}

void lines_done(struct lines *l)
{
	for (size_t i = 0; i < LINES; i++) {
		zygote_free(l->line[i].now);
		zygote_free(l->line[i].next);
		l->line[i].now = l->line[i].next = NULL;
	}
	buf_done(&l->keys);
}
