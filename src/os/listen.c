/* SPDX-License-Identifier: ISC */
/* listen - listening sockets, and the two ends of an accepted connection as text */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "os/listen.h"

#define BACKLOG 128

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
	struct sockaddr_storage room;
};

static const uint8_t *bytes_of(const union address *a, size_t *n, uint16_t *port)
{
	if (a->any.sa_family == AF_INET) {
		*n = 4;
		*port = ntohs(a->v4.sin_port);
		return (const uint8_t *)&a->v4.sin_addr;
	}
	if (a->any.sa_family != AF_INET6)
		return NULL;
	*port = ntohs(a->v6.sin6_port);
	bool is_mapped = IN6_IS_ADDR_V4MAPPED(&a->v6.sin6_addr);
	*n = is_mapped ? 4 : 16;
	return (const uint8_t *)&a->v6.sin6_addr + (is_mapped ? 12 : 0);
}

static bool end_of(const union address *a, char *name, size_t name_n, uint16_t *port)
{
	size_t n = 0;
	const uint8_t *p = bytes_of(a, &n, port);
	return p != NULL &&
	       inet_ntop(n == 4 ? AF_INET : AF_INET6, p, name, (socklen_t)name_n) != NULL;
}

void os_ends_of(int fd, struct os_ends *out)
{
	struct os_ends ends = {.is_socket = false};
	union address remote = {0}, local = {0};
	socklen_t remote_n = sizeof(remote), local_n = sizeof(local);
	ends.is_socket = getpeername(fd, &remote.any, &remote_n) == 0 &&
			 getsockname(fd, &local.any, &local_n) == 0 &&
			 end_of(&remote, ends.remote, sizeof(ends.remote), &ends.remote_port) &&
			 end_of(&local, ends.local, sizeof(ends.local), &ends.local_port);
	if (!ends.is_socket) {
		(void)snprintf(ends.remote, sizeof(ends.remote), "UNKNOWN");
		(void)snprintf(ends.local, sizeof(ends.local), "UNKNOWN");
		ends.remote_port = ends.local_port = 65535;
	}
	*out = ends;
}

size_t os_source_of(int fd, uint8_t out[16])
{
	union address remote = {0};
	socklen_t remote_n = sizeof(remote);
	size_t n = 0;
	uint16_t port;
	if (getpeername(fd, &remote.any, &remote_n) != 0)
		return 0;
	const uint8_t *p = bytes_of(&remote, &n, &port);
	if (p == NULL)
		return 0;
	memcpy(out, p, n);
	return n;
}

static err_t listen_one(const struct addrinfo *ai, struct os_ends *local, int *out, struct buf *why)
{
	union address bound = {0};
	socklen_t bound_n = sizeof(bound);
	struct os_ends ends = {.is_socket = true};
	memcpy(&bound, ai->ai_addr, num_min(ai->ai_addrlen, sizeof(bound)));
	if (!end_of(&bound, ends.local, sizeof(ends.local), &ends.local_port))
		return E_IO;
	int one = 1;
	int fd = socket(ai->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, ai->ai_protocol);
	if (fd < 0) {
		buf_printf(why, "socket: %s\n", strerror(errno));
		return E_IO;
	}
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (ai->ai_family == AF_INET6)
		(void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one));
	if (bind(fd, ai->ai_addr, ai->ai_addrlen) != 0) {
		buf_printf(why, "Bind to port %u on %s failed: %s.\n", ends.local_port, ends.local,
			strerror(errno));
		(void)close(fd);
		return E_IO;
	}
	if (listen(fd, BACKLOG) != 0) {
		buf_printf(why, "listen on [%s]:%u: %s\n", ends.local, ends.local_port,
			strerror(errno));
		(void)close(fd);
		return E_IO;
	}
	if (getsockname(fd, &bound.any, &bound_n) == 0)
		(void)end_of(&bound, ends.local, sizeof(ends.local), &ends.local_port);
	*local = ends;
	*out = fd;
	return OK;
}

static err_t resolve(const struct os_listen_at *at, struct addrinfo **out, struct buf *why)
{
	struct addrinfo hints = {.ai_family = at->family,
		.ai_socktype = SOCK_STREAM,
		.ai_flags = AI_PASSIVE | AI_NUMERICSERV};
	char service[8];
	(void)snprintf(service, sizeof(service), "%u", at->port);
	int code = getaddrinfo(at->host, service, &hints, out);
	if (code == 0)
		return OK;
	buf_printf(why, "bad addr or host: %s (%s)\n", at->host != NULL ? at->host : "<any>",
		gai_strerror(code));
	return E_IO;
}

err_t os_listen_check(const struct os_listen_at *at, struct buf *why)
{
	struct addrinfo *list;
	TRY(resolve(at, &list, why));
	freeaddrinfo(list);
	return OK;
}

err_t os_listen(const struct os_listen_at *at, os_listen_fn *fn, void *arg, struct buf *why)
{
	struct addrinfo *list;
	TRY(resolve(at, &list, why));
	size_t made = 0;
	for (const struct addrinfo *ai = list; ai != NULL; ai = ai->ai_next) {
		struct os_ends local;
		int fd;
		if (listen_one(ai, &local, &fd, why) != OK)
			continue;
		made++;
		fn(arg, fd, &local);
	}
	freeaddrinfo(list);
	return made > 0 ? OK : E_IO;
}

err_t os_accept(int fd, int *out)
{
	int conn = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
	if (conn < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS))
		return E_LIMIT;
	if (conn < 0)
		return errno == EBADF || errno == EINVAL || errno == ENOTSOCK ? E_IO : E_AGAIN;
	os_nodelay(conn);
	*out = conn;
	return OK;
}

void os_nodelay(int fd)
{
	int one = 1;
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

void os_keepalive(int fd)
{
	int one = 1;
	(void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
}

void os_traffic_class(int fd, int tos)
{
	union address local = {0};
	socklen_t n = sizeof(local);
	if (getsockname(fd, &local.any, &n) != 0)
		return;
	if (local.any.sa_family == AF_INET6)
		(void)setsockopt(fd, IPPROTO_IPV6, IPV6_TCLASS, &tos, sizeof(tos));
	else if (local.any.sa_family == AF_INET)
		(void)setsockopt(fd, IPPROTO_IP, IP_TOS, &tos, sizeof(tos));
}
