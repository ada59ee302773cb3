/* SPDX-License-Identifier: ISC */
/* fdpass - bytes and descriptors over a unix socket */
#ifndef OS_FDPASS_H
#define OS_FDPASS_H

#include "base/slice.h"

#define FDPASS_MAX 4

/* A connected pair of unix stream sockets, close-on-exec. */
MUST err_t fdpass_pair(int fds[2]);

/*
 * Sends all of data; the descriptors travel with its first byte and stay the caller's.
 * must_not_wait: E_LIMIT when the peer does not read fast enough to take all of it now.
 */
MUST err_t fdpass_send(
	int sock, struct cslice data, const int *fds, size_t fds_n, bool must_not_wait);

struct fdpass_got {
	size_t n;            /* bytes */
	int fds[FDPASS_MAX]; /* close-on-exec, the caller's */
	size_t fds_n;
};
/* One recvmsg.  wait false: E_AGAIN when nothing is there.  E_CLOSED at the end. */
MUST err_t fdpass_recv(int sock, struct slice room, bool wait, struct fdpass_got *got);
void fdpass_close(struct fdpass_got *got);

#endif
