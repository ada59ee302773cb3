/* SPDX-License-Identifier: ISC */
/*
 * sess_child - the program of a session: started, joined to its channel, and its end told to the
 * peer
 *
 * Pipes, not sockets, although a unix socket moves a byte for half the cost: programs open
 * /dev/stdin, /dev/stdout and /dev/stderr again, which fails on a socket (doc/decisions).
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "app/common/qos.h"
#include "app/sshd/sess.h"
#include "os/listen.h"
#include "os/child.h"
#include "os/failed.h"

#define EOF_HOLD_US 100000

struct ends { /* the child's side and ours */
	int child_in, child_out, child_err;
	int in, out, err; /* ours: read from in (stdout) and err, write to out (stdin) */
};

static void close_all(const int *fds, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (fds[i] >= 0)
			(void)close(fds[i]);
}

static err_t make_pipes(struct ends *e)
{
	int p[6] = {-1, -1, -1, -1, -1, -1};
	for (size_t i = 0; i < 3; i++) {
		err_t r = child_pipe(&p[2 * i]);
		if (r != OK) {
			close_all(p, 6);
			return r;
		}
	}
	*e = (struct ends){.child_in = p[0],
		.out = p[1],
		.in = p[2],
		.child_out = p[3],
		.err = p[4],
		.child_err = p[5]};
	return OK;
}

/* ---- in the child ---- */
static NORETURN void run_program(const struct sess *s, const struct env_list *env)
{
	const char *shell = s->server->start->user->shell;
	const char *slash = strrchr(shell, '/'), *base = slash != NULL ? slash + 1 : shell;
	char login[256], flag[] = "-c"; /* exec takes no const; it changes nothing */
	char *argv[4] = {NULL};
	if (s->command == NULL) {
		(void)snprintf(login, sizeof(login), "-%s", base);
		argv[0] = login;
	} else {
		argv[0] = (char *)(uintptr_t)base;
		argv[1] = flag;
		argv[2] = s->command;
	}
	(void)execve(shell, argv, env->v);
	(void)dprintf(STDERR_FILENO, "%s: %s\n", shell, strerror(errno));
	_exit(1);
}

static NORETURN void be_child(
	const struct sess *s, const struct ends *e, const struct env_list *env)
{
	const char *home = s->server->start->user->home;
	log_set(NULL, NULL, LOG_L_QUIET); /* the monitor's ear is not the program's */
	os_signals_reset();
	(void)umask(s->server->place.mask);
	if (s->has_pty ? pty_make_controlling(s->slave) != OK : setsid() < 0)
		_exit(1);
	if (child_set_stdio(e->child_in, e->child_out, e->child_err) != OK)
		_exit(1);
	child_close_from(3);
	sess_refuse_nologin(s);
	sess_change_password(s);
	if (chdir(home) != 0) {
		if (!s->server->has_root)
			(void)dprintf(STDERR_FILENO, "Could not chdir to home directory %s: %s\n",
				home, strerror(errno));
		if (chdir("/") != 0)
			_exit(1);
	}
	sess_login_words(s);
	sess_run_rc(s, env);
	if (s->sftp != SFTP_NONE)
		sess_run_sftp(s, env);
	run_program(s, env);
}

/* ---- in the session process ---- */
static void on_out_done(void *arg)
{
	sess_out_done(arg);
}

/* All input is written: the program sees the end of its stdin. */
static void on_in_drained(void *arg)
{
	struct sess *s = arg;
	if (s->has_pty)
		return; /* a terminal has no half close; the peer sends ^D itself */
	int fd = s->io.out.fd;
	ev_io_remove(s->server->ev, &s->io.out.io);
	s->io.out.fd = -1;
	if (fd >= 0)
		(void)close(fd);
}

static err_t join(struct sess *s, const struct ends *e)
{
	struct server *sv = s->server;
	s->io = (struct chanio){.ev = sv->ev,
		.pump = &sv->pump,
		.cn = sv->cn,
		.chan = s->chan,
		.in = e->in,
		.in2 = e->err,
		.on_in_eof = on_out_done,
		.on_drained = on_in_drained,
		.arg = s};
	s->io.out.fd = e->out;
	s->io.err.fd = -1;
	TRY(chanio_start(&s->io));
	s->has_io = true;
	return OK;
}

static err_t start_child(struct sess *s, const struct ends *e, const struct env_list *env)
{
	pid_t pid = fork();
	if (pid < 0)
		return os_failed();
	if (pid == 0)
		be_child(s, e, env);
	s->pid = pid;
	return OK;
}

/* IPQoS: the first name is for terminals, the second for all else; one name is for both. */
static void set_traffic_class(const struct sess *s)
{
	const struct cfg_list *names = &s->server->start->conf->ipqos;
	if (names->n == 0)
		return;
	int tos = qos_tos(names->v[s->has_pty || names->n == 1 ? 0 : 1]);
	if (tos >= 0)
		os_traffic_class(s->server->start->fd_out, tos);
}

err_t sess_start(struct sess *s)
{
	struct ends e;
	struct env_list env;
	set_traffic_class(s);
	if (sess_files_start(s) == OK)
		return OK;
	TRY(sess_env(s, &env));
	if (s->has_pty)
		e = (struct ends){.child_in = s->slave,
			.child_out = s->slave,
			.child_err = s->slave,
			.in = s->master,
			.out = s->master,
			.err = -1};
	err_t r = s->has_pty ? OK : make_pipes(&e);
	if (r != OK) {
		env_done(&env);
		return r;
	}
	r = start_child(s, &e, &env);
	env_done(&env);
	if (s->has_pty) {
		(void)close(s->slave);
		s->slave = -1;
	} else {
		int theirs[3] = {e.child_in, e.child_out, e.child_err};
		close_all(theirs, 3);
	}
	if (r == OK)
		r = join(s, &e);
	if (r != OK && !s->has_pty) {
		int ours[3] = {e.in, e.out, e.err};
		close_all(ours, 3);
	}
	return r;
}

/* ---- the end ---- */
static const char *signal_name(int signo)
{
	static const struct {
		int signo;
		const char *name;
	} names[] = {{SIGABRT, "ABRT"}, {SIGALRM, "ALRM"}, {SIGFPE, "FPE"}, {SIGHUP, "HUP"},
		{SIGILL, "ILL"}, {SIGINT, "INT"}, {SIGKILL, "KILL"}, {SIGPIPE, "PIPE"},
		{SIGQUIT, "QUIT"}, {SIGSEGV, "SEGV"}, {SIGTERM, "TERM"}, {SIGUSR1, "USR1"},
		{SIGUSR2, "USR2"}};
	for (size_t i = 0; i < ARRAY_N(names); i++)
		if (names[i].signo == signo)
			return names[i].name;
	return "SIG@openssh.com";
}

static err_t tell_exit(struct sess *s)
{
	uint8_t room[128];
	struct wr w = wr_of((struct slice){room, sizeof(room)});
	const char *name = "exit-status";
	if (WIFSIGNALED(s->status)) {
		struct ssh_exit_signal m = {.name = cslice_str(signal_name(WTERMSIG(s->status))),
			.core = WCOREDUMP(s->status)};
		ssh_put_exit_signal(&w, &m);
		name = "exit-signal";
	} else {
		struct ssh_exit_status m = {.status = (uint32_t)WEXITSTATUS(s->status)};
		ssh_put_exit_status(&w, &m);
	}
	TRY(wr_end(&w));
	return cn_request(s->server->cn, s->chan, name, false, cslice_of(room, w.n));
}

static void tell_eof(struct sess *s)
{
	if (s->is_eof_told)
		return;
	s->is_eof_told = true;
	ev_timer_stop(s->server->ev, &s->eof_hold);
	cn_eof(s->server->cn, s->chan);
}

static void on_eof_hold(struct ev_timer *t, uint64_t now_us)
{
	struct sess *s = t->arg;
	(void)now_us;
	tell_eof(s);
	pump_kick(&s->server->pump);
}

/*
 * Dropbear's client closes a channel at our EOF and then takes no exit status any more.  A
 * program's pipes are closed a moment before it can be waited for, so EOF stays back for that
 * moment.
 */
void sess_out_done(struct sess *s)
{
	s->is_out_done = true;
	if (!s->is_exited) {
		s->eof_hold = (struct ev_timer){.at_us = UINT64_MAX, .on = on_eof_hold, .arg = s};
		ev_timer_set(s->server->ev, &s->eof_hold, ev_now(s->server->ev) + EOF_HOLD_US);
	}
	sess_check_end(s);
}

void sess_check_end(struct sess *s)
{
	struct server *sv = s->server;
	if (s->is_exited && !s->is_exit_told) {
		err_t e = tell_exit(s);
		if (e != OK)
			log_debug1("exit status could not be sent: %s", err_text(e));
		s->is_exit_told = true;
		/* Nobody reads its stdin any more; its output may still be on the way. */
		cn_discard_input(sv->cn, s->chan);
	}
	if (s->is_exit_told && s->is_out_done)
		tell_eof(s);
	if (s->is_exit_told && s->is_out_done && !s->is_close_told) {
		s->is_close_told = true;
		cn_close(sv->cn, s->chan);
	}
	pump_kick(&sv->pump);
}
