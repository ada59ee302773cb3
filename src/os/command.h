/* SPDX-License-Identifier: ISC */
/*
 * command - a program that answers a question of a server: run as another user, and believed only
 * when it ended well
 *
 * Nothing of the caller reaches it: no descriptor, no environment, no terminal.  It gets a time and
 * a size of what it may print; when it is over them, it and what it started in its session is
 * killed.
 */
#ifndef OS_COMMAND_H
#define OS_COMMAND_H

#include "base/buf.h"
#include "os/user.h"

struct command {
	char *const *argv;        /* [0]: its path */
	char *const *env;         /* all that it gets */
	const struct os_user *as; /* who it is; when not root, only oneself */
	size_t output_max;
	uint64_t until_us; /* monotonic */
	int wanted;        /* a descriptor: nobody waits for the answer once its other end is
			      closed; -1 = none */
};

enum command_fate {
	COMMAND_NOT_STARTED = 0, /* number: an errno */
	COMMAND_TOO_LONG,
	COMMAND_TOO_MUCH,
	COMMAND_NOT_WANTED, /* or this process is to end */
	COMMAND_KILLED,     /* number: of the signal */
	COMMAND_EXITED      /* number: its status */
};
struct command_end {
	enum command_fate fate;
	int number;
};

/*
 * command_run - runs it, waits for its end, and appends what it printed
 *
 * OK: it exited with 0.  Every other end is an error, and out then has some of the output or none.
 * end is set always.
 */
MUST err_t command_run(const struct command *c, struct buf *out, struct command_end *end);

#endif
