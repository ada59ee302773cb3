/* SPDX-License-Identifier: ISC */
/* dial - a TCP connection to a host */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "os/dial.h"
#include "os/ev.h"

static const int families[] = {
	[DIAL_ANY] = AF_UNSPEC, [DIAL_IPV4] = AF_INET, [DIAL_IPV6] = AF_INET6};

static int resolve(const char *host, const char *port, enum dial_family family, int flags,
	struct addrinfo **out)
{
	struct addrinfo hints = {.ai_family = families[family], .ai_socktype = SOCK_STREAM};
	hints.ai_flags = AI_NUMERICSERV | flags;
	return getaddrinfo(host, port, &hints, out);
}

static int resolve_host(const struct dial *d, struct addrinfo **out)
{
	char port[8];
	(void)snprintf(port, sizeof(port), "%u", d->port);
	int e = resolve(d->host, port, d->family, AI_NUMERICHOST, out);
	if (e == 0)
		return 0;
	return resolve(d->host, port, d->family, 0, out);
}

/* Waits for a non-blocking connect; gives errno or 0. */
static int finish_connect(int fd, uint64_t until_us)
{
	for (;;) {
		int wait_ms = -1;
		if (until_us != 0) {
			uint64_t now = os_monotonic_us();
			if (now >= until_us)
				return ETIMEDOUT;
			wait_ms = (int)((until_us - now + 999) / 1000);
		}
		struct pollfd p = {.fd = fd, .events = POLLOUT};
		int n = poll(&p, 1, wait_ms);
		if (n < 0 && errno != EINTR)
			return errno;
		if (n <= 0)
			continue;
		int why = 0;
		socklen_t len = sizeof(why);
		return getsockopt(fd, SOL_SOCKET, SO_ERROR, &why, &len) < 0 ? errno : why;
	}
}

static int bind_to(int fd, const struct dial *d, int family, struct dial_failure *failure)
{
	if (d->bind_address == NULL)
		return 0;
	enum dial_family want = family == AF_INET6 ? DIAL_IPV6 : DIAL_IPV4;
	struct addrinfo *local = NULL;
	int e = resolve(d->bind_address, "0", want, AI_NUMERICHOST, &local);
	if (e != 0)
		e = resolve(d->bind_address, "0", want, 0, &local);
	if (e != 0) {
		*failure = (struct dial_failure){DIAL_BIND, gai_strerror(e)};
		return EADDRNOTAVAIL;
	}
	int why = bind(fd, local->ai_addr, local->ai_addrlen) < 0 ? errno : 0;
	freeaddrinfo(local);
	if (why != 0)
		*failure = (struct dial_failure){DIAL_BIND, strerror(why)};
	return why;
}

/* Gives errno or 0. */
static int connect_one(const struct dial *d, const struct addrinfo *a, uint64_t until_us, int *out,
	struct dial_failure *failure)
{
	int on = 1;
	int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0) {
		*failure = (struct dial_failure){DIAL_CONNECT, strerror(errno)};
		return errno;
	}
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (d->keepalive)
		(void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	int why = bind_to(fd, d, a->ai_family, failure);
	if (why != 0) {
		close(fd);
		return why;
	}
	if (connect(fd, a->ai_addr, a->ai_addrlen) < 0)
		why = errno == EINPROGRESS || errno == EINTR ? finish_connect(fd, until_us) : errno;
	if (why != 0) {
		*failure = (struct dial_failure){DIAL_CONNECT, strerror(why)};
		close(fd);
		return why;
	}
	*out = fd;
	return 0;
}

static void tell(const struct dial *d, const struct addrinfo *a, int why)
{
	char address[64];
	if (d->tell == NULL)
		return;
	if (getnameinfo(a->ai_addr, a->ai_addrlen, address, sizeof(address), NULL, 0,
		    NI_NUMERICHOST) != 0)
		return;
	d->tell(d->arg, address, why);
}

err_t dial_tcp(const struct dial *d, int *fd, struct dial_failure *failure)
{
	struct addrinfo *all = NULL;
	int e = resolve_host(d, &all);
	if (e != 0) {
		*failure = (struct dial_failure){DIAL_RESOLVE, gai_strerror(e)};
		return E_NOT_FOUND;
	}
	uint64_t until_us = d->timeout_us == 0 ? 0 : os_monotonic_us() + d->timeout_us;
	int why = ENOENT, got = -1;
	for (const struct addrinfo *a = all; a != NULL; a = a->ai_next) {
		if (a->ai_family != AF_INET && a->ai_family != AF_INET6)
			continue;
		tell(d, a, 0);
		why = connect_one(d, a, until_us, &got, failure);
		if (why == 0)
			break;
		tell(d, a, why);
	}
	freeaddrinfo(all);
	if (why != 0)
		return why == ETIMEDOUT ? E_TIMEOUT : E_IO;
	*fd = got;
	return OK;
}

static bool end_text(const struct sockaddr_storage *sa, char text[64], uint16_t *port)
{
	const struct sockaddr_in *v4 = (const void *)sa;
	const struct sockaddr_in6 *v6 = (const void *)sa;
	if (sa->ss_family == AF_INET) {
		*port = ntohs(v4->sin_port);
		return inet_ntop(AF_INET, &v4->sin_addr, text, 64) != NULL;
	}
	if (sa->ss_family == AF_INET6) {
		*port = ntohs(v6->sin6_port);
		return inet_ntop(AF_INET6, &v6->sin6_addr, text, 64) != NULL;
	}
	return false;
}

bool dial_ends(int fd, struct dial_ends *out)
{
	struct sockaddr_storage sa = {.ss_family = AF_UNSPEC};
	socklen_t n = sizeof(sa);
	if (getpeername(fd, (struct sockaddr *)&sa, &n) < 0 ||
		!end_text(&sa, out->peer, &out->peer_port))
		return false;
	n = sizeof(sa);
	return getsockname(fd, (struct sockaddr *)&sa, &n) == 0 &&
	       end_text(&sa, out->own, &out->own_port);
}

void dial_set_tos(int fd, int tos)
{
	struct sockaddr_storage sa = {.ss_family = AF_UNSPEC};
	socklen_t n = sizeof(sa);
	if (getsockname(fd, (struct sockaddr *)&sa, &n) < 0)
		return;
	if (sa.ss_family == AF_INET)
		(void)setsockopt(fd, IPPROTO_IP, IP_TOS, &tos, sizeof(tos));
	else if (sa.ss_family == AF_INET6)
		(void)setsockopt(fd, IPPROTO_IPV6, IPV6_TCLASS, &tos, sizeof(tos));
}
