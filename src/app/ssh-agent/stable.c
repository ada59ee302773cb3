/* SPDX-License-Identifier: ISC */
/*
 * stable - one agent of a user at a fixed path, whoever starts it first
 *
 * A lock file beside the socket is held while one looks whether an agent answers and, when not,
 * until its successor listens: of many that start at once one agent is made and all are told of it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "app/common/agent_client.h"
#include "app/ssh-agent/sa.h"

err_t agent_stable_find(const char *path, pid_t *pid)
{
	struct agent_client a = {.fd = -1};
	struct ucred who;
	socklen_t n = sizeof(who);
	TRY(agent_connect(&a, path));
	int failed = getsockopt(a.fd, SOL_SOCKET, SO_PEERCRED, &who, &n);
	agent_close(&a);
	/* Somebody else's agent is not ours to trust. */
	if (failed != 0 || who.uid != geteuid())
		return E_PERMISSION;
	*pid = who.pid;
	return OK;
}

err_t agent_stable_lock(const char *path, int *fd)
{
	char *name = NULL;
	if (asprintf(&name, "%s.lock", path) < 0)
		return E_MEM;
	int lock = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	free(name);
	if (lock < 0)
		return E_IO;
	while (flock(lock, LOCK_EX) != 0) {
		if (errno == EINTR)
			continue;
		(void)close(lock);
		return E_IO;
	}
	*fd = lock;
	return OK;
}
