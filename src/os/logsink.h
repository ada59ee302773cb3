/* SPDX-License-Identifier: ISC */
/*
 * logsink - where the lines of a program at the keyboard go: stderr or a file
 *
 * Debug lines carry their level (`debug1: `), others nothing; every line ends CR LF (the terminal
 * may be raw).
 */
#ifndef OS_LOGSINK_H
#define OS_LOGSINK_H

#include "base/log.h"

struct logsink {
	int fd;
	bool is_syslog;
};

/* Goes to stderr until logsink_file or logsink_syslog. */
void logsink_start(struct logsink *s, enum log_level level);
void logsink_level(struct logsink *s, enum log_level level);
/* To stderr, without a sink of one's own. */
void logsink_stderr(enum log_level level);
/* Appends to a file, made with mode 0600.  Gives errno or 0. */
int logsink_file(struct logsink *s, const char *path, enum log_level level);
/* facility: the LOG_* number >> 3. */
void logsink_syslog(struct logsink *s, const char *name, int facility, enum log_level level);

#endif
