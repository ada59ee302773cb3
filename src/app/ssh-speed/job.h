/* SPDX-License-Identifier: ISC */
/*
 * job - one transfer over a channel of its own: so many bytes up into a remote command, or down
 * from one
 *
 * Up, the command says on stdout when it is ready and when it has read all; so the start of the
 * remote shell does not count, and what still stands in windows and buffers does.  Down, the clock
 * runs from the first byte that comes.
 */
#ifndef APP_SSH_SPEED_JOB_H
#define APP_SSH_SPEED_JOB_H

#include "app/client/client.h"

#define JOB_READY "bowline-ready"
#define JOB_DONE  "bowline-done"

enum job_way { JOB_UP, JOB_DOWN };

enum job_state {
	JOB_IDLE,
	JOB_OPENING,  /* the channel is asked for */
	JOB_STARTING, /* the command is asked for */
	JOB_WAITING,  /* it runs and has not said that it is ready, or sent nothing yet */
	JOB_MOVING,
	JOB_ENDING, /* all was moved; the channel is on its way out */
	JOB_OK,
	JOB_FAILED, /* why says more */
	JOB_LOST    /* no channel was to be had: on another connection there may be */
};

struct job {
	enum job_way way;
	const char *command; /* borrowed */
	uint64_t want, moved;
	bool is_endless; /* JOB_DOWN: the command does not end by itself */
	enum job_state state;
	uint32_t chan;
	uint64_t begin_us, end_us, seen_us; /* seen_us: of the last sign of life */
	double begin_cpu_s, end_cpu_s;
	bool has_status;
	uint32_t status;
	struct buf out, err; /* the tail of what a JOB_UP printed, the head of stderr */
	bool is_refused;     /* the server runs no command at all */
	char why[512];
};

void job_init(struct job *j, enum job_way way, const char *command, uint64_t want);
void job_done(struct job *j);
bool job_has_ended(const struct job *j);

/* Needs s->cn. */
MUST err_t job_start(struct job *j, struct ssh *s);
MUST err_t job_event(struct job *j, struct ssh *s, struct cn_event *e);
MUST err_t job_push(struct job *j, struct ssh *s); /* once a turn */
/* The connection is gone. */
void job_cut(struct job *j, const char *why);

/* Of a JOB_OK. */
double job_mb_s(const struct job *j);
double job_cpu_s(const struct job *j);

#endif
