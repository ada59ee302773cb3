/* SPDX-License-Identifier: ISC */
/* helper - programs that a client starts: a proxy in place of a socket, a helper that answers with
 * a line */
#ifndef OS_HELPER_H
#define OS_HELPER_H

#include <sys/types.h>

#include "base/buf.h"

struct helper {
	pid_t pid;
	int from, to; /* its output, its input; -1 = none */
};

/*
 * helper_shell - run a command line by the shell, with pipes at its stdin and stdout; stderr is
 * shared
 *
 * Pipes, not a socket: some shells read their start-up files when stdin is a socket.
 */
MUST err_t helper_shell(const char *shell, const char *command, struct helper *out);
/*
 * helper_start - run a program with pipes at its stdin and stdout; stderr and terminal are shared
 *
 * is_aside: a ^C or ^Z at the terminal is for us only.  What keeps it from starting is told on
 * stderr by the child, which then ends with 1.
 */
MUST err_t helper_start(const char *const *argv, bool is_aside, struct helper *out);
/* Has it ended?  Then *status is its exit status, or 255 when a signal ended it; told once. */
bool helper_has_ended(struct helper *c, int *status);
void helper_end(struct helper *c); /* closes the pipes, sends HUP, does not wait */

/* Runs argv, waits, and appends what it printed to out.  *status: exit status, or 255 when a signal
 * ended it. */
MUST err_t helper_capture(
	const char *const *argv, const char *const *extra_env, struct buf *out, int *status);

/* The same for a program that finds `in` on its standard input. */
MUST err_t helper_converse(const char *const *argv, struct cslice in, struct buf *out, int *status);

/* `shell -c command` without pipes; gives its exit status, 255 for a signal or a failure to start.
 */
int helper_run(const char *shell, const char *command);

#endif
