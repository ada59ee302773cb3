/* SPDX-License-Identifier: ISC */
/*
 * zygote - the process itself (zygote.h)
 *
 * A child that ends by a crash signal may have been attacked, and its brothers have the same memory
 * layout: so the zygote ends the children that are not logged in yet, and itself.  Which ones are
 * logged in they tell through a pipe each.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "app/sshd/sshd.h"
#include "app/sshd/zygote.h"
#include "os/child.h"
#include "os/drop.h"
#include "os/ev.h"
#include "os/fdpass.h"
#include "os/sandbox.h"

#define SETUP_MAX ((size_t)64 * 1024 * 1024)
#define KEYS_MAX  ((size_t)4 * 1024 * 1024)

struct child {
	pid_t pid; /* 0 = free place */
	int told;  /* readable once it is logged in; -1 = it has told */
};

struct zygote {
	bool is_net, is_open;    /* is_open: more requests may come */
	struct setup setup;      /* monitor */
	struct sandbox *sandbox; /* net */
	struct title title;
	int signals;
	struct child children[ZYGOTE_FORKS];
	size_t forks;
	int last_status;
};

/* A pipe to its end, or a file (by position: others read it through the same description). */
static err_t read_fd(int fd, bool is_file, size_t most, struct buf *out)
{
	for (;;) {
		size_t at = out->n;
		uint8_t *room = buf_room(out, 65536);
		if (room == NULL)
			return E_MEM;
		ssize_t n = is_file ? pread(fd, room, 65536, (off_t)at) : read(fd, room, 65536);
		out->n -= 65536 - (n > 0 ? (size_t)n : 0);
		if (n < 0 && errno != EINTR)
			return E_IO;
		if (n == 0)
			return OK;
		if (out->n > most)
			return E_LIMIT;
	}
}

static err_t prepare_monitor(struct zygote *z)
{
	struct buf setup, keys;
	buf_init(&setup, SETUP_MAX + 65536);
	buf_init(&keys, KEYS_MAX + 65536);
	err_t e = read_fd(ZYGOTE_SETUP, true, SETUP_MAX, &setup);
	if (e == OK)
		e = setup_get(&z->setup, buf_bytes(&setup));
	if (e == OK)
		e = setup_warm(&z->setup);
	z->setup.title = z->title;
	if (e == OK)
		e = read_fd(ZYGOTE_KEYS, false, KEYS_MAX, &keys);
	if (e == OK)
		e = host_keys_get(&z->setup.keys, buf_bytes(&keys));
	buf_done(&keys);
	buf_done(&setup);
	(void)close(ZYGOTE_SETUP);
	(void)close(ZYGOTE_KEYS);
	if (e != OK)
		return e;
	/* The files' text has served: only the keys stay. */
	for (size_t i = 0; i < z->setup.keys.n; i++)
		buf_done(&z->setup.keys.v[i].text);
	srvlog_start(&z->setup.log);
	return OK;
}

static err_t prepare_net(struct zygote *z)
{
	TRY(warm_crypto());
	TRY(sandbox_new(&z->sandbox));
	return net_drop();
}

/* In the child. */
static NORETURN void be_net(struct zygote *z, struct fdpass_got *got)
{
	int fds[1] = {got->fds[0]};
	os_signals_reset();
	if (child_keep_fds(fds, 1) != OK)
		_exit(EXIT_FATAL);
	net_main(fds[0], z->sandbox, true, &z->title);
}

static NORETURN void be_monitor(struct zygote *z, struct fdpass_got *got, int told)
{
	int fds[4] = {got->fds[0], got->fds[1], got->fds[2], told};
	os_signals_reset();
	if (child_keep_fds(fds, 4) != OK)
		_exit(EXIT_FATAL);
	struct conn_fds conn = {fds[0], fds[0], fds[1], fds[2], fds[3]};
	exit(monitor_main(&z->setup, &conn));
}

static err_t fork_one(struct zygote *z, struct fdpass_got *got)
{
	int told[2];
	struct child *place = NULL;
	for (size_t i = 0; i < ZYGOTE_FORKS; i++)
		if (z->children[i].pid == 0)
			place = &z->children[i];
	if (place == NULL || got->fds_n != (z->is_net ? 1 : 3))
		return E_LIMIT;
	if (pipe2(told, O_CLOEXEC | O_NONBLOCK) != 0)
		return E_IO;
	pid_t pid = fork();
	if (pid == 0) {
		if (z->is_net)
			be_net(z, got);
		be_monitor(z, got, told[1]);
	}
	(void)close(told[1]);
	if (pid < 0) {
		(void)close(told[0]);
		return E_IO;
	}
	*place = (struct child){pid, told[0]};
	z->forks++;
	return OK;
}

/* Has it told that it is logged in, or closed its pipe because it ends?  Then it is no concern of
 * ours any more. */
static bool is_logged_in(struct child *c)
{
	char byte;
	if (c->told >= 0 && read(c->told, &byte, 1) >= 0) {
		(void)close(c->told);
		c->told = -1;
	}
	return c->told < 0;
}

static NORETURN void end_after_crash(struct zygote *z)
{
	for (size_t i = 0; i < ZYGOTE_FORKS; i++) {
		struct child *c = &z->children[i];
		if (c->pid > 0 && (z->is_net || !is_logged_in(c)))
			(void)kill(c->pid, SIGKILL);
	}
	_exit(EXIT_CRASH);
}

static void forget(struct zygote *z, pid_t pid)
{
	for (size_t i = 0; i < ZYGOTE_FORKS; i++) {
		struct child *c = &z->children[i];
		if (c->pid != pid)
			continue;
		if (c->told >= 0)
			(void)close(c->told);
		*c = (struct child){0, -1};
	}
}

static void reap(struct zygote *z)
{
	int status;
	pid_t pid;
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		z->last_status = status;
		bool is_crash = child_has_crashed(status) ||
				(WIFEXITED(status) && WEXITSTATUS(status) == EXIT_CRASH);
		forget(z, pid);
		if (is_crash)
			end_after_crash(z);
	}
}

static size_t pending(struct zygote *z)
{
	size_t n = 0;
	for (size_t i = 0; i < ZYGOTE_FORKS; i++)
		n += z->children[i].pid > 0 && (z->is_net || !is_logged_in(&z->children[i]));
	return n;
}

static void on_control(struct zygote *z)
{
	uint8_t byte;
	struct fdpass_got got = {.n = 0};
	err_t e = fdpass_recv(ZYGOTE_CONTROL, (struct slice){&byte, 1}, false, &got);
	if (e == E_AGAIN)
		return;
	if (e == OK)
		e = fork_one(z, &got);
	fdpass_close(&got);
	/* A connection that could not be forked for ends with its descriptors. */
	if (e == E_CLOSED || z->forks >= ZYGOTE_FORKS || (e == OK && z->setup.is_single))
		z->is_open = false;
}

static void turn(struct zygote *z)
{
	struct pollfd fds[2 + ZYGOTE_FORKS];
	nfds_t n = 0;
	fds[n++] = (struct pollfd){z->signals, POLLIN, 0};
	fds[n++] = (struct pollfd){z->is_open ? ZYGOTE_CONTROL : -1, POLLIN, 0};
	for (size_t i = 0; i < ZYGOTE_FORKS; i++)
		if (z->children[i].pid > 0 && z->children[i].told >= 0)
			fds[n++] = (struct pollfd){z->is_net ? -1 : z->children[i].told, POLLIN, 0};
	if (poll(fds, n, -1) < 0)
		return;
	if (fds[0].revents != 0) {
		struct signalfd_siginfo info;
		ssize_t got = read(z->signals, &info, sizeof(info));
		(void)got; /* only a wake-up */
		reap(z);
	}
	if (fds[1].revents != 0)
		on_control(z);
	(void)pending(z); /* takes in what was told, so that it does not wake us again */
}

static int run(struct zygote *z)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	z->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (z->signals < 0)
		return EXIT_FATAL;
	/* Ready; a listener that has asked already and gone does not care. */
	(void)!fdpass_send(ZYGOTE_CONTROL, cslice_of("R", 1), NULL, 0, true);
	while (z->is_open || pending(z) > 0)
		turn(z);
	if (z->setup.is_single) {
		while (z->children[ZYGOTE_FORKS - 1].pid > 0)
			turn(z);
		return WIFEXITED(z->last_status) ? WEXITSTATUS(z->last_status) : EXIT_FATAL;
	}
	return 0;
}

int zygote_main(const char *role, const struct title *title)
{
	static struct zygote z; /* large, and alive as long as the process */
	z.is_open = true;
	z.title = *title;
	z.is_net = strcmp(role, "net") == 0;
	for (size_t i = 0; i < ZYGOTE_FORKS; i++)
		z.children[i].told = -1;
	if (!z.is_net && strcmp(role, "monitor") != 0)
		return EXIT_FATAL;
	drop_dumpable();
	child_set_name(z.is_net ? "sshd-auth" : "sshd-session");
	err_t e = z.is_net ? prepare_net(&z) : prepare_monitor(&z);
	if (e != OK) {
		char cause[128];
		(void)snprintf(cause, sizeof(cause), "E%s", err_text(e));
		(void)!fdpass_send(ZYGOTE_CONTROL, cslice_of(cause, strlen(cause)), NULL, 0, true);
		return EXIT_FATAL;
	}
	child_trim();
	return run(&z);
}
