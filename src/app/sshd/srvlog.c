/* SPDX-License-Identifier: ISC */
/* srvlog - where the server's lines go: stderr (also a file put in its place) or the system log */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "app/sshd/sshd.h"
#include "os/syslog.h"

static const char *prefix_of(enum log_level level, bool to_stderr)
{
	switch (level) {
	case LOG_L_FATAL:
		return to_stderr ? "" : "fatal: ";
	case LOG_L_ERROR:
		return to_stderr ? "" : "error: ";
	case LOG_L_DEBUG1:
		return "debug1: ";
	case LOG_L_DEBUG2:
		return "debug2: ";
	case LOG_L_DEBUG3:
		return "debug3: ";
	default:
		return "";
	}
}

static void sink(void *arg, enum log_level level, const char *text)
{
	const struct srvlog *log = arg;
	char line[8192];
	const char *prefix = prefix_of(level, log->to_stderr);
	if (!log->to_stderr) {
		(void)snprintf(line, sizeof(line), "%s%s", prefix, text);
		syslog_line(level, line);
		return;
	}
	int n = snprintf(line, sizeof(line) - 2, "%s%s", prefix, text);
	size_t used = n < 0 ? 0 : (size_t)n < sizeof(line) - 3 ? (size_t)n : sizeof(line) - 3;
	memcpy(line + used, "\r\n", 2);
	ssize_t done = write(STDERR_FILENO, line, used + 2);
	(void)done; /* there is nowhere to complain */
}

void srvlog_start(const struct srvlog *log)
{
	if (!log->to_stderr)
		syslog_start("sshd", log->facility);
	log_set(sink, (void *)(uintptr_t)log, log->is_quiet ? LOG_L_QUIET : log->level);
}
