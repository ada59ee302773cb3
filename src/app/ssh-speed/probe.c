/* SPDX-License-Identifier: ISC */
/*
 * probe - which remote commands take data and give data
 *
 * Tried in this order with a little data until one works; the fastest come first.  They need a
 * shell of the Bourne or C family and one of cat, dd, head.
 */
#include <stdio.h>

#include "app/ssh-speed/remote.h"

#define BLOCK 262144

/* The quotes are the shell's to take away: a message that repeats the command says neither word. */
#define SAY_READY "echo bowline-\"ready\""
#define SAY_DONE  "echo bowline-\"done\""

/* clang-format off */
static const struct {
	const char *before;
	uint64_t unit; /* of the number between the two; 0 = no number */
	const char *after;
} commands[][3] = {
	[JOB_UP] = {
		{SAY_READY "; cat >/dev/null && " SAY_DONE, 0, ""},
		{SAY_READY "; dd of=/dev/null bs=262144 2>/dev/null && " SAY_DONE, 0, ""},
		{SAY_READY "; head -c ", 1, " >/dev/null && " SAY_DONE},
	},
	[JOB_DOWN] = {
		{"dd if=/dev/zero bs=262144 count=", BLOCK, " 2>/dev/null"},
		{"head -c ", 1, " /dev/zero"},
		{"cat /dev/zero", 0, ""}, /* has no end: the channel is closed */
	},
};
/* clang-format on */

bool probe_command(enum job_way way, size_t at, uint64_t bytes, char out[REMOTE_COMMAND_MAX])
{
	if (at >= ARRAY_N(commands[way]))
		return false;
	uint64_t unit = commands[way][at].unit;
	char number[24] = "";
	/* Down, a block more than wanted: the first piece that comes is not counted. */
	if (way == JOB_DOWN)
		bytes += BLOCK;
	if (unit != 0)
		(void)snprintf(number, sizeof(number), "%llu",
			(unsigned long long)((bytes + unit - 1) / unit));
	(void)snprintf(out, REMOTE_COMMAND_MAX, "%s%s%s", commands[way][at].before, number,
		commands[way][at].after);
	return true;
}

bool probe_is_endless(enum job_way way, size_t at)
{
	return way == JOB_DOWN && commands[way][at].unit == 0;
}

uint64_t probe_bytes(enum job_way way)
{
	return way == JOB_UP ? 4096 : 2 * BLOCK;
}
