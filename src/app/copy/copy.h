/* SPDX-License-Identifier: ISC */
/*
 * copy - what scp and sftp share: a way to the program at the other end
 *
 * By itself a copy logs in within its own process and speaks over a channel: no child, no pipe.
 * A program of the user's choice (-S), a local server (-D) or a ControlMaster is a child with two
 * pipes.  Both are a struct link.
 *
 * Options that mean the same as ssh's are taken once, by copy_flag: they are kept both as
 * configuration lines for our own login and as arguments for a child.
 */
#ifndef APP_COPY_COPY_H
#define APP_COPY_COPY_H

#include "app/client/client.h"
#include "transfer/link.h"

struct copy_options {            /* a run's, for every connection of it */
	const char *program;     /* "scp", "sftp": for messages */
	struct cfg_lines *lines; /* of -o and what stands for one, in order */
	struct str_list {
		char **v;
		size_t n, cap;
	} words;                 /* the same, as arguments of an ssh; owned */
	const char *config_file; /* -F */
	const char *ssh_program; /* -S; NULL = log in by ourselves */
	const char *server;      /* -D: a command line, or (scp) a path; NULL = none */
	uint32_t verbose;        /* -v, how often */
	bool is_quiet;
	bool has_user_option; /* -o User: it wins over that of a target */
	bool may_go_again;    /* copy_again may be called */
	/* Set by a signal's event: what waits ends (E_INTERRUPTED).  NULL = signals end the process
	 * by themselves. */
	const bool *is_interrupted;
};

/* flags.c.  What fails has been told. */
MUST err_t copy_options_init(struct copy_options *o, const char *program);
/*
 * copy_flag - takes an option: 4 6 A C c F i J o P q v as ssh has them (P is its -p), S, D, and
 *
 *   b   no questions: BatchMode
 *
 * argument: NULL for those that have none; borrowed for the run.
 */
MUST err_t copy_flag(struct copy_options *o, char letter, const char *argument);
/* After the last option. */
MUST err_t copy_options_end(struct copy_options *o);
void copy_options_done(struct copy_options *o);

struct copy_to {                 /* where, and what is started there; borrowed */
	const char *user, *host; /* user may be NULL */
	uint16_t port;           /* 0 = none given */
	const char *subsystem;   /* "sftp"; or NULL, then: */
	const char *command;     /* by exec */
	bool is_try;             /* a refusal is not told: something else follows */
};

struct copy_conn;

/*
 * copy_connect - logs in (or starts the child) and starts the subsystem or command
 *
 * Runs the loop until bytes can flow; what fails has been told, on stderr, in the words of ssh, and
 * for a server without the subsystem with the way out (scp -O).  Several connections may share ev.
 */
MUST err_t copy_connect(struct copy_conn **out, const struct copy_options *o,
	const struct copy_to *to, struct ev *ev);
/*
 * copy_again - another program over the same connection, in place of the one before
 *
 * For logins of our own with may_go_again: nothing is asked a second time.  Waits for the end of
 * the program before; a link of that one is gone.  status: how that one ended, 255 = not known.
 */
MUST err_t copy_again(struct copy_conn *c, const struct copy_to *to, int *status);
struct link *copy_link(struct copy_conn *c);
/* Ends it: waits for the other end's exit status (255: lost).  After remote_done. */
int copy_close(struct copy_conn *c);

#endif
