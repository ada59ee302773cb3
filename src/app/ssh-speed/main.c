/* SPDX-License-Identifier: ISC */
/* main - what is measured, and how the run ends */
#include <stdio.h>

#include "app/ssh-speed/args.h"
#include "build_config.h"
#include "crypto/crypto.h"
#include "os/ev.h"

static int run(const struct speed_options *o)
{
	struct report r = {0};
	int status = SPEED_OK;
	stop_watch();
	err_t e = local_run(o, &r);
	if (e != OK) {
		fprintf(stderr, "ssh-speed: %s\n", err_text(e));
		status = SPEED_FATAL;
	}
	if (write_report(o, &r) != OK)
		status = SPEED_FATAL;
	report_done(&r);
	return stop_signal() != 0 ? 128 + stop_signal() : status;
}

int main(int argc, char **argv)
{
	struct speed_args args = {.mode = ARGS_LOCAL};
	os_sigpipe_ignore(); /* a reader that leaves is told as any failed write */
	if (args_parse(&args, argc, argv) != OK)
		return SPEED_FATAL;
	if (args.mode == ARGS_HELP) {
		args_help();
		return SPEED_OK;
	}
	if (crypto_init() != OK) {
		fprintf(stderr, "ssh-speed: the cryptographic library cannot be used\n");
		return SPEED_FATAL;
	}
	if (args.mode == ARGS_VERSION) {
		printf("%s, %s\n", BOWLINE_RELEASE, crypto_version());
		return SPEED_OK;
	}
	return run(&args.options);
}
