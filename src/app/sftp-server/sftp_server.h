/* SPDX-License-Identifier: ISC */
/* sftp_server - what the files of the program share, and how another program serves with it */
#ifndef APP_SFTP_SERVER_H
#define APP_SFTP_SERVER_H

#include "base/log.h"
#include "sftp/policy.h"

/* The command line, and what it means. */
struct sftp_options {
	bool login, to_stderr, help, read_only;
	const char *start_dir, *facility, *level, *denied, *allowed, *query, *umask;

	struct sf_policy policy;
	enum log_level log_level;
	int log_facility; /* LOG_* >> 3 */
	int umask_bits;   /* -1: as it is */
};

/* E_USAGE: said on stderr. */
MUST err_t sftp_options_read(struct sftp_options *o, int argc, char **argv);
void sftp_usage(const char *program);

/* Serves on two descriptors until the client is gone.  OK also then. */
MUST err_t sftp_serve(const struct sf_policy *policy, const char *home, int in, int out);

/*
 * sftp_server_main - the whole program, for main and for a server that forks in place of exec
 *
 * Gives the exit status.  Sets umask, directory, and the sink of the log.
 */
int sftp_server_main(int argc, char **argv, int in, int out);

#endif
