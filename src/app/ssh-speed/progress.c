/* SPDX-License-Identifier: ISC */
/* progress - the line that tells how far the run is; only on a terminal */
#include <stdio.h>
#include <unistd.h>

#include "app/ssh-speed/speed.h"
#include "os/ev.h"
#include "os/tty.h"

#define BAR_N    24
#define EVERY_US 100000
#define COLS_MIN 40

void progress_show(const char *what, double done)
{
	static uint64_t last_us; /* when the line was written: of this process's one terminal */
	static const char full[] = "########################", none[] = "........................";
	uint64_t now = os_monotonic_us();
	if (!isatty(STDERR_FILENO) || (last_us != 0 && now - last_us < EVERY_US))
		return;
	last_us = now;
	size_t cols = tty_size_of(STDERR_FILENO).cols;
	int n = (int)(BAR_N * (done < 0 ? 0 : done > 1 ? 1 : done));
	int room = (int)(cols > COLS_MIN ? cols : 80) - BAR_N - 9;
	fprintf(stderr, "\r[%.*s%.*s] %3d%% %.*s\033[K", n, full, BAR_N - n, none,
		(int)(100 * (done > 1 ? 1 : done)), room, what);
	(void)fflush(stderr);
}

void progress_clear(void)
{
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "\r\033[K");
	(void)fflush(stderr);
}
