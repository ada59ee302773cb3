/* SPDX-License-Identifier: ISC */
/* helper - programs that a client starts */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/child.h"
#include "os/failed.h"
#include "os/helper.h"
#include "os/ev.h"

#define PIPE_WISH (1024 * 1024)

static void close_pair(int ends[2])
{
	if (ends[0] >= 0)
		close(ends[0]);
	if (ends[1] >= 0)
		close(ends[1]);
}

static NORETURN void run_shell(const char *shell, const char *command)
{
	os_signals_reset();
	execl(shell, strrchr(shell, '/') != NULL ? strrchr(shell, '/') + 1 : shell, "-c", command,
		(char *)NULL);
	fprintf(stderr, "%s: %s\r\n", shell, strerror(errno));
	_exit(127);
}

/* What the child becomes; does not return. */
typedef void become_fn(const void *what);

static err_t start(become_fn *become, const void *what, struct helper *out)
{
	int in[2] = {-1, -1}, back[2] = {-1, -1};
	if (pipe2(in, O_CLOEXEC) < 0)
		return os_failed();
	if (pipe2(back, O_CLOEXEC) < 0) {
		err_t e = os_failed();
		close_pair(in);
		return e;
	}
	(void)fcntl(in[1], F_SETPIPE_SZ, PIPE_WISH);
	(void)fcntl(back[0], F_SETPIPE_SZ, PIPE_WISH);
	pid_t pid = fork();
	err_t e = pid < 0 ? os_failed() : OK;
	if (pid == 0) {
		if (dup2(in[0], STDIN_FILENO) < 0 || dup2(back[1], STDOUT_FILENO) < 0)
			_exit(127);
		become(what);
		_exit(127);
	}
	close(in[0]);
	close(back[1]);
	if (pid < 0) {
		close(in[1]);
		close(back[0]);
		return e;
	}
	*out = (struct helper){.pid = pid, .from = back[0], .to = in[1]};
	return OK;
}

struct shell_line {
	const char *shell, *command;
};

static void become_shell(const void *what)
{
	const struct shell_line *l = what;
	run_shell(l->shell, l->command);
}

err_t helper_shell(const char *shell, const char *command, struct helper *out)
{
	struct shell_line l = {shell, command};
	return start(become_shell, &l, out);
}

void helper_end(struct helper *c)
{
	if (c->from >= 0)
		close(c->from);
	if (c->to >= 0)
		close(c->to);
	if (c->pid > 0)
		(void)kill(c->pid, SIGHUP);
	*c = (struct helper){.pid = 0, .from = -1, .to = -1};
}

static int wait_status(pid_t pid)
{
	int status;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return 255;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

static void read_until_end(int fd, struct buf *out)
{
	char bytes[1024];
	for (;;) {
		ssize_t n = read(fd, bytes, sizeof(bytes));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		buf_put(out, bytes, (size_t)n);
	}
	explicit_bzero(bytes, sizeof(bytes));
}

static char *const *exec_argv(const char *const *argv)
{
	return (char *const *)argv; /* execvp's prototype is older than const; it changes nothing */
}

struct program {
	const char *const *argv;
	bool is_aside;
};

static void become_program(const void *what)
{
	const struct program *p = what;
	os_signals_reset();
	if (p->is_aside) {
		(void)signal(SIGINT, SIG_IGN);
		(void)signal(SIGTSTP, SIG_IGN);
	}
	execvp(p->argv[0], exec_argv(p->argv));
	fprintf(stderr, "%s: %s\r\n", p->argv[0], strerror(errno));
	_exit(1);
}

err_t helper_start(const char *const *argv, bool is_aside, struct helper *out)
{
	struct program p = {argv, is_aside};
	return start(become_program, &p, out);
}

bool helper_has_ended(struct helper *c, int *status)
{
	int how;
	pid_t pid = c->pid > 0 ? waitpid(c->pid, &how, WNOHANG) : -1;
	if (pid == 0 || (pid < 0 && errno == EINTR))
		return false;
	c->pid = 0;
	*status = pid > 0 && WIFEXITED(how) ? WEXITSTATUS(how) : 255;
	return true;
}

/* in_fd: its standard input, -1 = ours. */
static err_t capture(const char *const *argv, const char *const *extra_env, int in_fd,
	struct buf *out, int *status)
{
	int back[2];
	if (pipe2(back, O_CLOEXEC) < 0)
		return os_failed();
	pid_t pid = fork();
	err_t e = pid < 0 ? os_failed() : OK;
	if (pid == 0) {
		os_signals_reset();
		if (dup2(back[1], STDOUT_FILENO) < 0 ||
			(in_fd >= 0 && dup2(in_fd, STDIN_FILENO) < 0))
			_exit(127);
		for (size_t i = 0; extra_env != NULL && extra_env[i] != NULL; i += 2)
			(void)setenv(extra_env[i], extra_env[i + 1], 1);
		execvp(argv[0], exec_argv(argv));
		_exit(127);
	}
	close(back[1]);
	if (pid < 0) {
		close(back[0]);
		return e;
	}
	read_until_end(back[0], out);
	close(back[0]);
	*status = wait_status(pid);
	return buf_err(out);
}

err_t helper_capture(
	const char *const *argv, const char *const *extra_env, struct buf *out, int *status)
{
	return capture(argv, extra_env, -1, out, status);
}

err_t helper_converse(const char *const *argv, struct cslice in, struct buf *out, int *status)
{
	int in_fd = -1;
	TRY(child_memory_file(in, &in_fd));
	err_t e = lseek(in_fd, 0, SEEK_SET) == 0 ? capture(argv, NULL, in_fd, out, status) : E_IO;
	close(in_fd);
	return e;
}

int helper_run(const char *shell, const char *command)
{
	pid_t pid = fork();
	if (pid == 0)
		run_shell(shell, command);
	return pid < 0 ? 255 : wait_status(pid);
}
