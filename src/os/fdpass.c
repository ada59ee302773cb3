/* SPDX-License-Identifier: ISC */
/* fdpass - bytes and descriptors over a unix socket */
#include <errno.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "os/failed.h"
#include "os/fdpass.h"

union control {
	struct cmsghdr header; /* for its alignment */
	char room[CMSG_SPACE(sizeof(int) * FDPASS_MAX)];
};

err_t fdpass_pair(int fds[2])
{
	int pair[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
		return os_failed();
	fds[0] = pair[0];
	fds[1] = pair[1];
	return OK;
}

err_t fdpass_send(int sock, struct cslice data, const int *fds, size_t fds_n, bool must_not_wait)
{
	if (fds_n > FDPASS_MAX || data.n == 0)
		return E_BUG;
	union control control = {0};
	while (data.n > 0) {
		struct iovec iov = {(void *)(uintptr_t)data.p, data.n};
		struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
		if (fds_n > 0) {
			msg.msg_control = control.room;
			msg.msg_controllen = CMSG_SPACE(sizeof(int) * fds_n);
			struct cmsghdr *c = &control.header;
			c->cmsg_level = SOL_SOCKET;
			c->cmsg_type = SCM_RIGHTS;
			c->cmsg_len = CMSG_LEN(sizeof(int) * fds_n);
			memcpy(CMSG_DATA(c), fds, sizeof(int) * fds_n);
		}
		ssize_t n = sendmsg(sock, &msg, MSG_NOSIGNAL | (must_not_wait ? MSG_DONTWAIT : 0));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN ? E_LIMIT : errno == EPIPE ? E_CLOSED : E_IO;
		data.p += n;
		data.n -= (size_t)n;
		fds_n = 0;
	}
	return OK;
}

static void take_fds(struct cmsghdr *c, struct fdpass_got *got)
{
	size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	for (size_t i = 0; i < n; i++) {
		int fd;
		memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
		if (got->fds_n < FDPASS_MAX)
			got->fds[got->fds_n++] = fd;
		else
			(void)close(fd);
	}
}

err_t fdpass_recv(int sock, struct slice room, bool wait, struct fdpass_got *got)
{
	union control control;
	struct iovec iov = {room.p, room.n};
	struct msghdr msg = {.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.room,
		.msg_controllen = sizeof(control.room)};
	ssize_t n;
	do
		n = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC | (wait ? 0 : MSG_DONTWAIT));
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == EAGAIN ? E_AGAIN : errno == ECONNRESET ? E_CLOSED : E_IO;
	struct fdpass_got out = {.n = (size_t)n};
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&msg); c != NULL; c = CMSG_NXTHDR(&msg, c))
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
			take_fds(c, &out);
	if (n == 0 || (msg.msg_flags & MSG_CTRUNC) != 0) {
		fdpass_close(&out);
		return n == 0 ? E_CLOSED : E_IO;
	}
	*got = out;
	return OK;
}

void fdpass_close(struct fdpass_got *got)
{
	for (size_t i = 0; i < got->fds_n; i++)
		(void)close(got->fds[i]);
	got->fds_n = 0;
}
