/* SPDX-License-Identifier: ISC */
/* args - the command line of ssh-speed */
#ifndef APP_SSH_SPEED_ARGS_H
#define APP_SSH_SPEED_ARGS_H

#include "app/client/client.h"
#include "app/ssh-speed/speed.h"

enum args_mode { ARGS_LOCAL, ARGS_HOST, ARGS_HELP, ARGS_VERSION };

struct speed_args {
	enum args_mode mode;
	struct speed_options options;
	struct ssh *ssh; /* takes what is ssh's */
};

/* What is wrong has been told on stderr. */
MUST err_t args_parse(struct speed_args *a, int argc, char **argv);
/* Usage and all options, to stdout. */
void args_help(void);

#endif
