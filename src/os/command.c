/* SPDX-License-Identifier: ISC */
/*
 * command - a program that answers a question of a server
 *
 * What keeps it from starting comes back through a pipe that exec closes, so that a program that
 * could not be run is not taken for one that said nothing.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/child.h"
#include "os/command.h"
#include "os/ev.h"

#define STEP    ((size_t)16 * 1024)
#define LOOK_MS 200 /* how often it is asked whether this process is to end */
#define REAP_MS 2

/* ---- in the child ---- */
static NORETURN void fail(int told)
{
	int why = errno;
	ssize_t n = write(told, &why, sizeof(why));
	(void)n;
	_exit(127);
}

static NORETURN void become(const struct command *c, int out, int told)
{
	os_signals_reset();
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null < 0 || child_set_stdio(null, out, null) != OK)
		fail(told);
	if (child_keep_fds(&told, 1) != OK || setsid() < 0 || chdir("/") != 0)
		fail(told);
	errno = EPERM;
	if (user_become(c->as) != OK)
		fail(told);
	(void)execve(c->argv[0], c->argv, c->env);
	fail(told);
}

/* ---- in the parent ---- */
static bool is_to_end(void)
{
	static const int ends[] = {SIGTERM, SIGINT, SIGHUP};
	sigset_t waiting;
	bool is = false;
	if (sigpending(&waiting) != 0)
		return false;
	for (size_t i = 0; i < ARRAY_N(ends); i++)
		is = is || sigismember(&waiting, ends[i]) == 1;
	return is;
}

/* Waits up to most_ms for something to read from fd (-1: only waits).  False: there is no more
 * time, or nobody wants the answer. */
static bool wait_for(const struct command *c, int fd, int most_ms, struct command_end *end)
{
	struct pollfd p[2] = {{.fd = fd, .events = POLLIN}, {.fd = c->wanted, .events = POLLRDHUP}};
	uint64_t now = os_monotonic_us();
	if (now >= c->until_us) {
		end->fate = COMMAND_TOO_LONG;
		return false;
	}
	uint64_t left_ms = (c->until_us - now) / 1000 + 1;
	int n = poll(p, 2, left_ms < (uint64_t)most_ms ? (int)left_ms : most_ms);
	if (is_to_end() || (n > 0 && p[1].revents != 0)) {
		end->fate = COMMAND_NOT_WANTED;
		return false;
	}
	return true;
}

/* Its output up to the end of it. */
static bool read_all(const struct command *c, int fd, struct buf *out, struct command_end *end)
{
	size_t begin = out->n;
	for (;;) {
		if (!wait_for(c, fd, LOOK_MS, end))
			return false;
		uint8_t *room = buf_room(out, STEP);
		ssize_t n = room != NULL ? read(fd, room, STEP) : -1;
		if (room != NULL)
			out->n -= STEP - (n > 0 ? (size_t)n : 0);
		if (n == 0)
			return true;
		if (n < 0 && room != NULL && (errno == EAGAIN || errno == EINTR))
			continue;
		if (n < 0 || out->n - begin > c->output_max) {
			end->fate = COMMAND_TOO_MUCH;
			return false;
		}
	}
}

/* An end that nothing is known of (children are reaped by themselves) is no good one. */
static bool wait_end(const struct command *c, pid_t pid, int *status, struct command_end *end)
{
	pid_t got;
	while ((got = waitpid(pid, status, WNOHANG)) != pid) {
		if (got < 0 && errno != EINTR) { /* its number may be another's by now */
			*end = (struct command_end){COMMAND_NOT_STARTED, errno};
			return false;
		}
		if (!wait_for(c, -1, REAP_MS, end))
			return false;
	}
	return true;
}

static void kill_all(pid_t pid)
{
	int status;
	(void)kill(-pid, SIGKILL); /* its session, */
	(void)kill(pid, SIGKILL);  /* and before it has one */
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
}

static void judge(int status, int told, struct command_end *end)
{
	int why = 0;
	ssize_t n = read(told, &why, sizeof(why));
	if (n == (ssize_t)sizeof(why))
		*end = (struct command_end){COMMAND_NOT_STARTED, why};
	else if (WIFEXITED(status))
		*end = (struct command_end){COMMAND_EXITED, WEXITSTATUS(status)};
	else
		*end = (struct command_end){COMMAND_KILLED, WTERMSIG(status)};
}

static void converse(const struct command *c, pid_t pid, const int fds[2], struct buf *out,
	struct command_end *end)
{
	int status = 0;
	if (read_all(c, fds[0], out, end) && wait_end(c, pid, &status, end))
		judge(status, fds[1], end);
	else if (end->fate != COMMAND_NOT_STARTED)
		kill_all(pid);
}

err_t command_run(const struct command *c, struct buf *out, struct command_end *end)
{
	int output[2] = {-1, -1}, told[2] = {-1, -1};
	*end = (struct command_end){COMMAND_NOT_STARTED, 0};
	if (pipe2(output, O_CLOEXEC) != 0 || pipe2(told, O_CLOEXEC) != 0) {
		end->number = errno;
		if (output[0] >= 0) {
			(void)close(output[0]);
			(void)close(output[1]);
		}
		return E_IO;
	}
	pid_t pid = fork();
	if (pid == 0)
		become(c, output[1], told[1]);
	end->number = pid < 0 ? errno : 0;
	(void)close(output[1]);
	(void)close(told[1]);
	(void)fcntl(output[0], F_SETFL, O_NONBLOCK);
	if (pid > 0)
		converse(c, pid, (const int[2]){output[0], told[0]}, out, end);
	(void)close(output[0]);
	(void)close(told[0]);
	return end->fate == COMMAND_EXITED && end->number == 0 ? buf_err(out) : E_IO;
}
