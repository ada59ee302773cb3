/* SPDX-License-Identifier: ISC */
/*
 * main - where the agent listens, and who serves: this process, or a child of it
 *
 * Without -d and -D the agent is a child with a session of its own, and this process tells the
 * shell about it, or becomes the command.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "app/common/agent_socket.h"
#include "app/common/me.h"
#include "app/ssh-agent/sa.h"
#include "base/text.h"
#include "build_config.h"
#include "os/child.h"
#include "os/drop.h"
#include "os/logsink.h"
#include "os/random.h"

static int fatal(const char *what, const char *why)
{
	(void)fprintf(stderr, "ssh-agent: %s%s%s\n", what, why[0] != '\0' ? ": " : "", why);
	return AGENT_FATAL;
}

/* ---- where --------------------------------------------------------------------------------------
 */
static err_t in_tmp(struct agent_listen *l, struct buf *why)
{
	const char *tmp = getenv("TMPDIR");
	char *folder = NULL, *path = NULL;
	if (asprintf(&folder, "%s/ssh-XXXXXXXXXX", tmp != NULL && tmp[0] != '\0' ? tmp : "/tmp") <
		0)
		return E_MEM;
	if (mkdtemp(folder) == NULL) {
		buf_printf(why, "cannot make the directory %s: %s", folder, strerror(errno));
		free(folder);
		return E_IO;
	}
	if (asprintf(&path, "%s/agent.%ld", folder, (long)getpid()) < 0)
		path = NULL;
	err_t e = path != NULL ? agent_socket_at(path, &l->fds[0], why) : E_MEM;
	if (e != OK) {
		(void)rmdir(folder);
		free(path);
		free(folder);
		return e;
	}
	l->folder = folder;
	l->path = path;
	l->n = 1;
	return OK;
}

/* The shell that is told of it may be in another directory. */
static err_t at_path(struct agent_listen *l, const char *path, struct buf *why)
{
	char here[PATH_MAX], *whole = NULL;
	if (path[0] == '/')
		whole = strdup(path);
	else if (getcwd(here, sizeof(here)) == NULL || asprintf(&whole, "%s/%s", here, path) < 0)
		whole = NULL;
	err_t e = whole != NULL ? agent_socket_at(path, &l->fds[0], why) : E_MEM;
	if (e != OK) {
		free(whole);
		return e;
	}
	l->path = whole;
	l->n = 1;
	return OK;
}

static err_t at_home(
	struct agent_listen *l, const struct agent_options *o, const struct me *me, struct buf *why)
{
	const struct agent_socket_new s = {me->home, "agent", os_rng()};
	struct buf path;
	buf_init(&path, PATH_MAX);
	if (!o->no_clean)
		agent_sockets_clean(me->home, false);
	err_t e = agent_socket_make(&s, &path, &l->fds[0], why);
	if (e == OK)
		e = text_dup(buf_bytes(&path), &l->path);
	if (e == OK)
		l->n = 1;
	buf_done(&path);
	return e;
}

static void listen_done(struct agent_listen *l)
{
	for (size_t i = 0; i < l->n; i++)
		(void)close(l->fds[i]);
	free(l->folder);
	free(l->path);
	l->n = 0;
}

static void forget(const struct agent_listen *l)
{
	if (l->path != NULL)
		(void)unlink(l->path);
	if (l->folder != NULL)
		(void)rmdir(l->folder);
}

/* ---- who ----------------------------------------------------------------------------------------
 */
/* A signal that comes before the loop runs waits for it: else the socket would be left. */
static void signals_hold(bool hold)
{
	static const int signos[] = {SIGTERM, SIGHUP, SIGINT, SIGUSR1};
	sigset_t set;
	(void)sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_N(signos); i++)
		(void)sigaddset(&set, signos[i]);
	(void)sigprocmask(hold ? SIG_BLOCK : SIG_UNBLOCK, &set, NULL);
}

static int become(const struct agent_options *o, const char *path, pid_t pid)
{
	char number[32];
	signals_hold(false);
	(void)snprintf(number, sizeof(number), "%ld", (long)pid);
	if (setenv("SSH_AUTH_SOCK", path, 1) != 0 || setenv("SSH_AGENT_PID", number, 1) != 0)
		return fatal("setenv", strerror(errno));
	(void)execvp(o->command[0], o->command);
	return fatal(o->command[0], strerror(errno));
}

static int detached(const struct agent_options *o, const struct agent_listen *l)
{
	int null = open("/dev/null", O_RDWR);
	if (setsid() < 0 || chdir("/") != 0 || null < 0 || child_set_stdio(null, null, null) != OK)
		return AGENT_FATAL;
	if (null > STDERR_FILENO)
		(void)close(null);
	return agent_serve(o, l);
}

/* parent: ends when this process, or what it becomes, has ended. */
static int in_background(const struct agent_options *o, struct agent_listen *l, int lock)
{
	pid_t own = getpid();
	(void)fflush(NULL);
	signals_hold(true);
	pid_t pid = fork();
	if (pid < 0) {
		int code = errno;
		forget(l);
		return fatal("fork", strerror(code));
	}
	if (pid == 0) {
		drop_dumpable();
		/* Who connects is told by the system which process listened last. */
		for (size_t i = 0; i < l->n; i++)
			(void)listen(l->fds[i], SOMAXCONN);
		if (lock >= 0) /* held until here, also when the parent is through */
			(void)close(lock);
		l->parent = o->command != NULL && !o->stable ? own : 0;
		/* who connects is told the process that listened last (SO_PEERCRED): this one */
		for (size_t i = 0; i < l->n; i++)
			(void)listen(l->fds[i], SOMAXCONN);
		_exit(detached(o, l));
	}
	for (size_t i = 0; i < l->n; i++)
		(void)close(l->fds[i]);
	l->n = 0;
	if (lock >= 0)
		(void)close(lock);
	if (o->command != NULL)
		return become(o, l->path, pid);
	agent_show(o, l->path, pid);
	return AGENT_OK;
}

/* ---- the kinds of start -------------------------------------------------------------------------
 */
static int stable(const struct agent_options *o, const struct me *me, struct agent_listen *l)
{
	struct buf path, why;
	int lock = -1, status = AGENT_FATAL;
	pid_t pid = 0;
	buf_init(&path, PATH_MAX);
	buf_init(&why, 4096);
	err_t e = OK;
	if (o->path != NULL && o->path[0] == '/')
		buf_printf(&path, "%s", o->path);
	else
		e = agent_socket_stable(me->home, &path, &why);
	const char *name = (const char *)path.p;
	if (e == OK)
		e = agent_stable_lock(name, &lock);
	if (e == OK && agent_stable_find(name, &pid) == OK) {
		(void)close(lock);
		status = AGENT_OK;
		if (o->command != NULL)
			status = become(o, name, pid);
		else
			agent_show(o, name, pid);
	} else if (e == OK) {
		(void)unlink(name); /* nobody answers there, and nobody else may start one now */
		e = at_path(l, name, &why);
		if (e == OK)
			status = in_background(o, l, lock);
	}
	if (e != OK) {
		buf_put_u8(&why, 0);
		(void)fatal("no stable agent",
			buf_err(&why) == OK && why.n > 1 ? (const char *)why.p : err_text(e));
	}
	buf_done(&why);
	buf_done(&path);
	return status;
}

/*
 * launchd starts a program that ends again and again, every ten seconds.  So a failed activation is
 * told once, and the agent then serves at the stable path.
 */
static int launchd(const struct agent_options *o, const struct me *me, struct agent_listen *l)
{
	struct buf why, path;
	int status = AGENT_OK;
	pid_t pid = 0;
	buf_init(&why, 4096);
	buf_init(&path, PATH_MAX);
	err_t e = agent_listen_launchd(l, &why);
	if (e != OK) {
		buf_put_u8(&why, 0);
		const char *reason = buf_err(&why) == OK ? (const char *)why.p : err_text(e);
		(void)fatal("launchd gave no socket", reason);
		buf_clear(&why);
		int lock = -1;
		e = agent_socket_stable(me->home, &path, &why);
		const char *name = (const char *)path.p;
		if (e == OK)
			e = agent_stable_lock(name, &lock);
		if (e == OK && agent_stable_find(name, &pid) == OK)
			e = E_PHASE;
		if (e == OK) {
			(void)unlink(name);
			e = at_path(l, name, &why);
		}
		if (lock >= 0)
			(void)close(lock);
		(void)fprintf(stderr, "ssh-agent: %s %s\n",
			e == OK        ? "serving instead at"
			: e == E_PHASE ? "another agent serves at"
				       : "cannot serve at",
			name != NULL ? name : "~/.ssh/agent");
	}
	if (e == OK)
		status = agent_serve(o, l);
	buf_done(&path);
	buf_done(&why);
	return status;
}

static int usual(const struct agent_options *o, const struct me *me, struct agent_listen *l)
{
	struct buf why;
	bool in_front = o->foreground || o->debug;
	err_t e = in_front ? agent_listen_fds(l) : E_NOT_FOUND;
	if (e == OK)
		return agent_serve(o, l);
	if (e != E_NOT_FOUND)
		return fatal("the socket of LISTEN_FDS cannot be used", err_text(e));
	buf_init(&why, 4096);
	if (o->path != NULL)
		e = at_path(l, o->path, &why);
	else
		e = o->in_tmp ? in_tmp(l, &why) : at_home(l, o, me, &why);
	buf_put_u8(&why, 0);
	int status = AGENT_OK;
	if (e != OK)
		status = fatal(buf_err(&why) == OK && why.n > 1 ? (const char *)why.p : err_text(e),
			o->path == NULL && !o->in_tmp ? "choose a place by -a, or use -T" : "");
	buf_done(&why);
	if (status != AGENT_OK)
		return status;
	if (!in_front)
		return in_background(o, l, -1);
	signals_hold(true);
	agent_show(o, l->path, getpid());
	return agent_serve(o, l);
}

int main(int argc, char **argv)
{
	struct agent_options o = {0};
	struct agent_listen l = {0};
	struct me me = {0};
	child_open_stdio();
	/* Whoever started it with rights of a group (setgid, against ptrace) does not give them on.
	 */
	if (setegid(getgid()) != 0 || setgid(getgid()) != 0)
		return fatal("setgid", strerror(errno));
	int status = agent_args(&o, argc, argv);
	if (status != AGENT_OK)
		return status;
	if (o.command == NULL) /* which may leave what cores it likes */
		drop_dumpable();
	if (crypto_init() != OK)
		return fatal("the cryptographic library failed", "");
	if (o.version) {
		printf("%s, %s\n", BOWLINE_RELEASE, crypto_version());
		return AGENT_OK;
	}
	if (o.kill)
		return agent_kill(&o);
	logsink_stderr(o.debug ? LOG_L_DEBUG3 : LOG_L_INFO);
	bool needs_home = o.clean > 0 || o.stable || o.launchd || (o.path == NULL && !o.in_tmp);
	if (needs_home && me_load(&me) != OK)
		return fatal("you have no account on this machine", "");
	const char *home = getenv("HOME");
	if (needs_home && home != NULL && home[0] == '/' && strcmp(home, me.home) != 0) {
		char *copy = strdup(home);
		if (copy != NULL) {
			free(me.home);
			me.home = copy;
		}
	}
	if (o.clean > 0)
		agent_sockets_clean(me.home, o.clean > 1);
	else if (o.launchd)
		status = launchd(&o, &me, &l);
	else
		status = o.stable ? stable(&o, &me, &l) : usual(&o, &me, &l);
	listen_done(&l);
	me_done(&me);
	return status;
}
