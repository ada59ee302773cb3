/* SPDX-License-Identifier: ISC */
/*
 * stop - a signal ends the run in order
 *
 * The signals are blocked and asked for between two measurements, so no handler is needed and
 * nothing is cut in the middle.
 */
#include <signal.h>

#include "app/ssh-speed/speed.h"

static const int watched[] = {SIGINT, SIGTERM, SIGHUP};

void stop_watch(void)
{
	sigset_t set;
	sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_N(watched); i++)
		sigaddset(&set, watched[i]);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
}

int stop_signal(void)
{
	sigset_t set;
	if (sigpending(&set) != 0)
		return 0;
	for (size_t i = 0; i < ARRAY_N(watched); i++)
		if (sigismember(&set, watched[i]) == 1)
			return watched[i];
	return 0;
}
