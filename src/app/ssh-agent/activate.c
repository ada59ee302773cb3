/* SPDX-License-Identifier: ISC */
/*
 * activate - sockets that were made before the agent was started: by systemd, by launchd
 *
 * launch_activate_socket is looked for in the libraries of the process, so this builds where there
 * is no launchd, and a test can put one in front.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "app/ssh-agent/sa.h"
#include "base/text.h"

#define FIRST_FD  3
#define LISTENERS "Listeners" /* as the property list names them */

static err_t take(struct agent_listen *l, int fd)
{
	int is_listening = 0;
	socklen_t n = sizeof(is_listening);
	if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &is_listening, &n) != 0 || is_listening == 0)
		return E_FORMAT;
	if (fcntl(fd, F_SETFD, FD_CLOEXEC) != 0)
		return E_IO;
	l->fds[l->n++] = fd;
	l->is_activated = true;
	return OK;
}

err_t agent_listen_fds(struct agent_listen *l)
{
	const char *pid = getenv("LISTEN_PID"), *fds = getenv("LISTEN_FDS");
	uint32_t p = 0, n = 0;
	if (pid == NULL || fds == NULL)
		return E_NOT_FOUND;
	if (text_u32(cslice_str(pid), &p) != OK || p != (uint32_t)getpid())
		return E_NOT_FOUND;
	if (text_u32(cslice_str(fds), &n) != OK || n != 1)
		return E_USAGE;
	(void)unsetenv("LISTEN_PID");
	(void)unsetenv("LISTEN_FDS");
	(void)unsetenv("LISTEN_FDNAMES");
	return take(l, FIRST_FD);
}

typedef int activate_fn(const char *name, int **fds, size_t *n);

err_t agent_listen_launchd(struct agent_listen *l, struct buf *why)
{
	activate_fn *activate = NULL;
	void *found = dlsym(RTLD_DEFAULT, "launch_activate_socket");
	int *fds = NULL;
	size_t n = 0;
	if (found == NULL) {
		buf_printf(why, "this system has no launchd");
		return E_UNSUPPORTED;
	}
	memcpy(&activate, &found, sizeof(activate));
	int code = activate(LISTENERS, &fds, &n);
	if (code != 0) {
		buf_printf(why, "%s%s", strerror(code),
			code == ESRCH    ? " (this process was not started by launchd)"
			: code == ENOENT ? " (the job has no sockets with the name " LISTENERS ")"
					 : "");
		return E_NOT_FOUND;
	}
	for (size_t i = 0; i < n; i++)
		if (l->n == AGENT_SOCKETS_MAX || take(l, fds[i]) != OK)
			(void)close(fds[i]);
	free(fds);
	if (l->n == 0)
		buf_printf(why, n == 0 ? "the job has no sockets with the name " LISTENERS
				       : "nothing that listens is among its sockets");
	return l->n > 0 ? OK : E_NOT_FOUND;
}
