/* SPDX-License-Identifier: ISC */
/*
 * sftp - what the parts of the program share
 *
 *     main.c    options, connection, end            input.c  lines, from a file, a pipe, a person
 *     run.c     one line after the other            edit*.c  line editing, where libedit is
 *     do_*.c    the commands (commands.def)         complete.c  names behind the TAB key
 *
 * One event loop runs while a line is waited for, too: so a connection that ends is told at once,
 * and keys are exchanged anew while the person thinks.
 */
#ifndef APP_SFTP_SFTP_H
#define APP_SFTP_SFTP_H

#include "app/copy/copy.h"
#include "app/sftp/commands.h"
#include "app/sftp/input.h"
#include "transfer/transfer.h"

#define SFTP_EXIT_LOST 255 /* no connection, or no server behind it */

struct sftp_args {
	struct copy_options copy;
	const char *batch_file; /* -b; "-" = stdin */
	const char *subsystem;  /* -s */
	const char *local;      /* where the first file goes: the second word of the command line */
	char *user, *host, *path; /* of the destination; owned */
	uint16_t port;
	uint32_t buffer, requests;           /* -B, -R; 0 = by themselves */
	uint64_t limit_bytes_s;              /* -l */
	bool resume, fsync, keep, recursive; /* -a -f -p -r: for every get and put */
	bool is_batch, is_noisy, is_quiet; /* quiet: only errors are told; noisy: -N, despite -b */
	bool has_progress;
};

struct sftp {
	struct sftp_args args;
	struct ev *ev;
	struct copy_to to;
	struct copy_conn *conn;
	struct remote r;
	char *pwd, *start; /* remote directories; owned */
	struct input in;
	struct edit *edit; /* NULL: no line editing */
	struct xfer *xfer; /* under way */
	struct {
		int pid; /* of a command on this side; 0 = none */
		bool is_over;
	} child;
	uint32_t umask;
	bool is_interactive, is_interrupted, is_over, has_started;
};

/* args.c: what is wrong has been told; *status: the exit status then. */
MUST err_t sftp_args_read(struct sftp_args *a, int argc, char **argv, int *status);
void sftp_args_done(struct sftp_args *a);

/* dest.c: [user@]host[:path], or sftp://[user@]host[:port][/path].  E_FORMAT.  Gives copies; user
 * and path may be NULL. */
struct sftp_dest {
	char *user, *host, *path;
	uint16_t port;
};
MUST err_t sftp_dest_parse(const char *text, struct sftp_dest *out);

/* run.c: all lines; the exit status. */
int sftp_run(struct sftp *s);
/* The remote end's first directory, and the one that the command line asks for. */
MUST err_t sftp_begin(struct sftp *s, bool *is_done);
/* From now on SIGINT ends the command under way, not the program. */
MUST err_t sftp_catch_signals(struct sftp *s);

/* say.c: text for the person, made safe to print.  fail: "what: why", and gives e back; nothing is
 * said of an interruption, which was. */
void sftp_say(const char *fmt, ...) PRINTF(1, 2);
void sftp_print(const char *fmt, ...) PRINTF(1, 2);
void sftp_tell(const struct sftp *s, const char *fmt, ...) PRINTF(2, 3); /* unless it is quiet */
err_t sftp_fail(const struct sftp *s, err_t e, const char *fmt, ...) PRINTF(3, 4);
void sftp_say_closed(const struct sftp *s, err_t why);
void sftp_put(const struct buf *out); /* as it is, to stdout */

/* paths.c: all give copies; NULL: no memory. */
char *path_join(const char *dir, const char *name);          /* name, when it begins with / */
char *path_absolute(const struct sftp *s, const char *name); /* a remote one */
char *path_absolute_pattern(const struct sftp *s, const char *pattern);
const char *path_last(const char *path); /* borrowed; behind the last / */
void path_strip(char *path);             /* the slashes at the end */
bool path_is_local_dir(const char *path);
MUST err_t path_is_remote_dir(struct sftp *s, const char *path, bool *is_dir);

/* many.c: stat of many remote names at once.  ok[i]: there is an answer in a[i]. */
MUST err_t sftp_stat_many(
	struct sftp *s, char *const *paths, size_t n, struct sf_attr *a, bool *ok);

/* do_local.c: /bin/sh runs it (NULL: the user's shell), and the loop goes on meanwhile. */
MUST err_t sftp_shell(struct sftp *s, const char *line);

/* complete.c: what a line may go on with.  Names begin as the word does; each as typed, whole. */
struct completion {
	char **v; /* owned */
	size_t n;
	size_t replace; /* bytes at the line's end that they stand in place of */
	bool *is_ended; /* a blank may follow: it is no directory */
	char quote;
};
MUST err_t sftp_complete(struct sftp *s, const char *line, struct completion *out);
void completion_free(struct completion *c);

#endif
