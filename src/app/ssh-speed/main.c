/* SPDX-License-Identifier: ISC */
/* main - what is measured, and how the run ends */
#include <stdio.h>

#include "app/ssh-speed/args.h"
#include "app/ssh-speed/remote.h"
#include "build_config.h"

static int run_local(const struct speed_options *o, struct report *r)
{
	stop_watch();
	err_t e = local_run(o, r);
	if (e != OK)
		fprintf(stderr, "ssh-speed: %s\n", err_text(e));
	if (stop_signal() != 0)
		return 128 + stop_signal();
	return e == OK ? SPEED_OK : SPEED_FATAL;
}

static int run(struct speed_args *a)
{
	struct report r = {0};
	bool is_local = a->mode == ARGS_LOCAL;
	int status = is_local ? run_local(&a->options, &r) : remote_run(a->ssh, &a->options, &r);
	/* A host that could not be measured at all has been told of on stderr. */
	bool has_report = is_local || r.sheets_n > 0;
	if (has_report && write_report(&a->options, &r) != OK)
		status = SPEED_FATAL;
	report_done(&r);
	return status;
}

int main(int argc, char **argv)
{
	static struct ssh ssh; /* large; one a process */
	struct speed_args args = {.mode = ARGS_LOCAL, .ssh = &ssh};
	int status = SPEED_FATAL;
	ssh.program = "ssh-speed";
	if (ssh_begin(&ssh) != OK || args_parse(&args, argc, argv) != OK) {
		ssh_done(&ssh);
		return status;
	}
	switch (args.mode) {
	case ARGS_HELP:
		args_help();
		status = SPEED_OK;
		break;
	case ARGS_VERSION:
		printf("%s, %s\n", BOWLINE_RELEASE, crypto_version());
		status = SPEED_OK;
		break;
	default:
		status = run(&args);
	}
	ssh_done(&ssh);
	return status;
}
