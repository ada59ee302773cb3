/* SPDX-License-Identifier: ISC */
/* listen - listening sockets, and the two ends of an accepted connection as text */
#ifndef OS_LISTEN_H
#define OS_LISTEN_H

#include "base/buf.h"

struct os_ends {
	char remote[64], local[64];       /* numeric; "UNKNOWN" without a socket */
	uint16_t remote_port, local_port; /* 65535 without a socket */
	bool is_socket;
};
/* The ends of a connection; IPv4 inside IPv6 is shown as IPv4. */
void os_ends_of(int fd, struct os_ends *out);

/* The bytes of an address for grouping by source: 4 or 16 bytes, 0 when there are none. */
size_t os_source_of(int fd, uint8_t out[16]);

struct os_listen_at {
	const char *host; /* NULL = any */
	uint16_t port;
	int family; /* AF_UNSPEC, AF_INET, AF_INET6 */
};
/* Called for each socket made: fd is the callee's. */
typedef void os_listen_fn(void *arg, int fd, const struct os_ends *local);
/*
 * Binds and listens on every address of a host.  One that works is enough; what failed is told in
 * `why`, one line each. E_IO when none could be had.
 */
MUST err_t os_listen(const struct os_listen_at *at, os_listen_fn *fn, void *arg, struct buf *why);

/* Does the host have addresses of the family?  E_IO, and the line in `why`, when not. */
MUST err_t os_listen_check(const struct os_listen_at *at, struct buf *why);

/* accept4: close-on-exec, blocking, without Nagle.  E_AGAIN: none there, or a failure that passes;
 * E_LIMIT (and errno): one waits, but there is no descriptor or memory for it. */
MUST err_t os_accept(int fd, int *out);
void os_nodelay(int fd);
void os_keepalive(int fd);
/* IPQoS: the traffic class; ignored where it is not a TCP socket. */
void os_traffic_class(int fd, int tos);

#endif
