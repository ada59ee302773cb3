/* SPDX-License-Identifier: ISC */
/*
 * rcp_server - scp -t and scp -f: what the other end's scp starts here
 *
 * Nothing is printed but the protocol: failures are told to the other end.
 */
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/scp/rcp_int.h"

static uint32_t umask_now(void)
{
	mode_t mask = umask(0);
	(void)umask(mask);
	return (uint32_t)mask;
}

/* What is not written yet goes out before the end. */
static void drain(struct link_fds *l)
{
	while (link_fds_has_unsent(l)) {
		struct pollfd p = {.fd = STDOUT_FILENO, .events = POLLOUT};
		if (poll(&p, 1, -1) < 0 || (p.revents & (POLLERR | POLLNVAL)) != 0)
			return;
		link_fds_face(l)->ops->kick(link_fds_face(l));
	}
}

static err_t serve(struct rcp_run *r, const struct rcp_served *how, const struct rcp_sending *what,
	struct link_fds *fds)
{
	struct link *link = link_fds_face(fds);
	if (how->is_source)
		return rcp_source_run(r, link, what);
	const struct rcp_taking taking = {.to = what->paths[0]};
	return rcp_sink_run(r, link, &taking);
}

static int run(const struct rcp_served *how, const struct rcp_sending *what, struct ev *ev)
{
	struct rcp_env env = {.ev = ev,
		.opts = {.is_recursive = how->is_recursive,
			.keep = how->keep,
			.is_dir_target = how->is_dir_target},
		.umask = umask_now()};
	struct rcp_run r;
	struct link_fds *fds = NULL;
	int in = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	int out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (in < 0 || out < 0 || link_fds_new(&fds, ev, in, out) != OK)
		return 1;
	rcp_run_init(&r, &env);
	r.is_server = true;
	err_t e = serve(&r, how, what, fds);
	drain(fds);
	link_fds_free(fds);
	return e == OK && r.failed == 0 ? 0 : 1;
}

int rcp_main(const struct rcp_served *how, const char *const *paths, size_t n)
{
	static const char ambiguous[] = "\1scp: ambiguous target\n";
	const struct rcp_sending what = {.paths = paths, .n = n};
	struct ev *ev = NULL;
	if (!how->is_source && n != 1) {
		(void)!write(STDOUT_FILENO, ambiguous, sizeof(ambiguous) - 1);
		return 1;
	}
	os_sigpipe_ignore();
	if (ev_new(&ev) != OK)
		return 1;
	/* as they were: others may share them */
	int in_flags = fcntl(STDIN_FILENO, F_GETFL), out_flags = fcntl(STDOUT_FILENO, F_GETFL);
	int status = run(how, &what, ev);
	if (in_flags >= 0)
		(void)fcntl(STDIN_FILENO, F_SETFL, in_flags);
	if (out_flags >= 0)
		(void)fcntl(STDOUT_FILENO, F_SETFL, out_flags);
	ev_free(ev);
	return status;
}
