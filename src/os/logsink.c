/* SPDX-License-Identifier: ISC */
/* logsink - where the lines of a program at the keyboard go */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <syslog.h>
#include <unistd.h>

#include "os/logsink.h"

/* clang-format off */
static const struct { const char *prefix, *syslog_prefix; int priority; } levels[] = {
	[LOG_L_FATAL]   = {"", "fatal: ", LOG_CRIT},
	[LOG_L_ERROR]   = {"", "error: ", LOG_ERR},
	[LOG_L_INFO]    = {"", "", LOG_INFO},
	[LOG_L_VERBOSE] = {"", "", LOG_INFO},
	[LOG_L_DEBUG1]  = {"debug1: ", "debug1: ", LOG_DEBUG},
	[LOG_L_DEBUG2]  = {"debug2: ", "debug2: ", LOG_DEBUG},
	[LOG_L_DEBUG3]  = {"debug3: ", "debug3: ", LOG_DEBUG},
};
/* clang-format on */

static void put_line(void *arg, enum log_level level, const char *text)
{
	const struct logsink *s = arg;
	if (level < LOG_L_FATAL || level > LOG_L_DEBUG3)
		return;
	if (s->is_syslog) {
		syslog(levels[level].priority, "%s%.1000s", levels[level].syslog_prefix, text);
		return;
	}
	const struct {
		const char *p;
	} parts[] = {{levels[level].prefix}, {text}, {"\r\n"}};
	struct iovec iov[ARRAY_N(parts)];
	for (size_t i = 0; i < ARRAY_N(parts); i++)
		iov[i] = (struct iovec){(void *)(uintptr_t)parts[i].p, strlen(parts[i].p)};
	(void)!writev(s->fd, iov, ARRAY_N(parts));
}

void logsink_start(struct logsink *s, enum log_level level)
{
	*s = (struct logsink){.fd = STDERR_FILENO};
	log_set(put_line, s, level);
}

void logsink_level(struct logsink *s, enum log_level level)
{
	log_set(put_line, s, level);
}

void logsink_stderr(enum log_level level)
{
	static const struct logsink plain = {.fd = STDERR_FILENO};
	/* put_line only reads it */
	log_set(put_line, (void *)(uintptr_t)&plain, level);
}

int logsink_file(struct logsink *s, const char *path, enum log_level level)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (fd < 0)
		return errno;
	s->fd = fd;
	log_set(put_line, s, level);
	return 0;
}

void logsink_syslog(struct logsink *s, const char *name, int facility, enum log_level level)
{
	openlog(name, LOG_PID, facility << 3);
	s->is_syslog = true;
	log_set(put_line, s, level);
}
