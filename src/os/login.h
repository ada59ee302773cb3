/* SPDX-License-Identifier: ISC */
/* login - the records of who is logged in: utmp, wtmp, lastlog */
#ifndef OS_LOGIN_H
#define OS_LOGIN_H

#include <sys/types.h>

#include "base/err.h"

struct login_last {
	uint64_t time_s; /* 0 = never */
	char tty[32], host[256];
};

/* The last login of uid; zeros when there is no record. */
void login_last_get(uint32_t uid, struct login_last *out);

/* Best effort, root only: files that are not there are not made. */
void login_begin(const char *tty, const char *user, uint32_t uid, const char *host, pid_t pid);
void login_end(const char *tty, pid_t pid);
/* btmp: a failed try. */
void login_failed(const char *user, const char *host, pid_t pid);

#endif
