/* SPDX-License-Identifier: ISC */
/*
 * session - the session process: the user's connection after login, with the user's rights
 *
 * It thaws the transport that the network process froze and runs the connection engine: session
 * channels, their children, keepalives.
 */
#ifndef APP_SSHD_SESSION_H
#define APP_SSHD_SESSION_H

#include "app/sshd/sshd.h"
#include "key/authorized_keys.h"
#include "os/user.h"

struct session_start { /* from the monitor, by fork */
	int fd_in, fd_out, chan;
	struct os_ends ends;
	const struct os_user *user;
	const struct server_config *conf;
	struct ak_permit permit;
	const char *forced_command; /* NULL = none */
	char *const *environment;   /* of the key: NAME=VALUE */
	size_t environment_n;
	const char *auth_info; /* the file of ExposeAuthInfo; NULL = none */
	bool has_to_change_password;
	struct cslice frozen; /* wiped once it is thawed */
	const char *version, *hostkey_algs;
	const struct cslice *hostkeys; /* public blobs */
	size_t hostkeys_n;
	pid_t monitor;
	const struct title *title;
};

NORETURN void session_main(const struct session_start *start);

#endif
