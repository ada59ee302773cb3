/* SPDX-License-Identifier: ISC */
/*
 * dial - a TCP connection to a host
 *
 * A numeric address is never given to the name service (which loads libraries and reads files).
 * Every address of a name is tried in order.  TCP_NODELAY is set before the first byte: Nagle with
 * delayed acknowledgements costs a third of a login.
 */
#ifndef OS_DIAL_H
#define OS_DIAL_H

#include "base/err.h"

enum dial_family { DIAL_ANY, DIAL_IPV4, DIAL_IPV6 };

struct dial {
	const char *host;
	uint16_t port;
	enum dial_family family;
	const char *bind_address; /* NULL = any */
	uint64_t timeout_us;      /* for all addresses together; 0 = the system's */
	bool keepalive;
	/* Before an address is tried (why = 0), and when it failed (why = errno); may be NULL. */
	void (*tell)(void *arg, const char *address, int why);
	void *arg;
};

enum dial_stage { DIAL_RESOLVE, DIAL_BIND, DIAL_CONNECT };
struct dial_failure {
	enum dial_stage stage;
	const char *text; /* the system's words, borrowed for ever */
};

/* Gives a connected descriptor.  E_NOT_FOUND (name), E_TIMEOUT, E_IO: failure tells. */
MUST err_t dial_tcp(const struct dial *d, int *fd, struct dial_failure *failure);

/* "address" text of a connected socket's peer and own end, with ports; false when it is no internet
 * socket. */
struct dial_ends {
	char peer[64], own[64];
	uint16_t peer_port, own_port;
};
bool dial_ends(int fd, struct dial_ends *out);

/* Sets the IP type of service of a connected socket; nothing happens on other descriptors. */
void dial_set_tos(int fd, int tos);

#endif
