/* SPDX-License-Identifier: ISC */
/* sftp_server - what the files of the program share */
#ifndef APP_SFTP_SERVER_H
#define APP_SFTP_SERVER_H

#include "app/common/me.h"
#include "app/sftp-server/sftp_main.h"
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
	bool may_say;     /* on stderr, what is wrong */
};

/* E_USAGE: said on stderr, where it may. */
MUST err_t sftp_options_read(struct sftp_options *o, int argc, char **argv, bool may_say);
void sftp_usage(const char *program);

/* The start directory; one that is not there is said in the log, and the present one stays.
 * E_USAGE: not to be understood, also said. */
MUST err_t sftp_enter_dir(const struct me *me, const char *dir);
/* What may be open at once when so many descriptors are for other things. */
size_t sftp_handles_max(size_t others);

/* Serves on two descriptors until the client is gone.  OK also then. */
MUST err_t sftp_serve(const struct sf_policy *policy, const char *home, int in, int out);

#endif
