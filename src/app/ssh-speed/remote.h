/* SPDX-License-Identifier: ISC */
/*
 * remote - the run against a host: what its parts share
 *
 * A scout logs in first: it answers all questions, learns what the server offers and finds out by
 * which remote commands data can go up and come down.  Then each cipher has a login of its own.
 */
#ifndef APP_SSH_SPEED_REMOTE_H
#define APP_SSH_SPEED_REMOTE_H

#include "app/client/client.h"
#include "app/ssh-speed/job.h"
#include "app/ssh-speed/speed.h"

#define REMOTE_COMMAND_MAX 256

/* What is done over the connections of one drive, in this order. */
enum step { STEP_PROBE_UP, STEP_PROBE_DOWN, STEP_PROBED, STEP_UP, STEP_DOWN, STEP_END };

/* What one cipher came to. */
struct remote_figures {
	double login_ms, rtt_ms, turns;
	double up_mb_s, down_mb_s, up_cpu_s, down_cpu_s;
	uint64_t up_bytes, down_bytes;
	char mac[80];
};

struct session {
	const struct speed_options *options;
	struct report *report;
	struct report_sheet *sheet;
	/* names of the ciphers that are asked for: comma separated, with a NUL */
	struct buf wanted;
	/* what the scout found */
	size_t up_at, down_at; /* into the tables of commands (probe.c) */
	char up[REMOTE_COMMAND_MAX], down[REMOTE_COMMAND_MAX];
	/* the drive that is under way */
	enum step step;
	struct job job;
	bool has_job;
	uint32_t jobs_ended; /* in the whole run */
	struct remote_figures figures;
	char why[512]; /* why it cannot go on; empty = it can */
	/* the run */
	const char *doing;  /* for the progress line */
	double done, share; /* of all, before this cipher; of one cipher */
	int signo;
	struct ev_timer timer;
	bool is_told; /* the reason of a failure is on stderr already */
};

/* The whole run; gives the exit status.  s: options and destination are taken in. */
int remote_run(struct ssh *s, const struct speed_options *o, struct report *r);

/* probe.c: the commands that may be there on the other side. */
/* Makes the command of place `at` for so many bytes; false after the last one. */
bool probe_command(enum job_way way, size_t at, uint64_t bytes, char out[REMOTE_COMMAND_MAX]);
bool probe_is_endless(enum job_way way, size_t at);
uint64_t probe_bytes(enum job_way way);

/* ciphers.c */
/* Checks a list of the command line; what is wrong is told, with what may be meant. */
MUST err_t ciphers_check(const char *spec);
/* The names to measure: -c, --all, or the configuration's. */
MUST err_t ciphers_wanted(const struct ssh *s, const struct speed_options *o, struct buf *out);
/* The verdict over the lines of the sheet. */
/* bytes: how many went each way. */
MUST err_t ciphers_choose(
	struct report *r, const struct report_sheet *sheet, const struct ssh *s, uint64_t bytes);

extern const struct report_column remote_columns[];
extern const size_t remote_columns_n;
enum { REMOTE_UP, REMOTE_DOWN, REMOTE_CPU, REMOTE_LOGIN, REMOTE_TURNS, REMOTE_RTT };

#endif
