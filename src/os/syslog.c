/* SPDX-License-Identifier: ISC */
/* syslog - the system log as a place where lines go */
#include <syslog.h>

#include "os/syslog.h"

void syslog_start(const char *name, int facility)
{
	openlog(name, LOG_PID, facility << 3);
}

void syslog_line(enum log_level level, const char *text)
{
	static const int priorities[] = {[LOG_L_FATAL] = LOG_CRIT,
		[LOG_L_ERROR] = LOG_ERR,
		[LOG_L_INFO] = LOG_INFO,
		[LOG_L_VERBOSE] = LOG_INFO,
		[LOG_L_DEBUG1] = LOG_DEBUG,
		[LOG_L_DEBUG2] = LOG_DEBUG,
		[LOG_L_DEBUG3] = LOG_DEBUG};
	if (level < LOG_L_FATAL || level > LOG_L_DEBUG3)
		return;
	syslog(priorities[level], "%s", text);
}
