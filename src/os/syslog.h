/* SPDX-License-Identifier: ISC */
/* syslog - the system log as a place where lines go */
#ifndef OS_SYSLOG_H
#define OS_SYSLOG_H

#include "base/log.h"

/* facility: the LOG_* number >> 3 (as in config).  name: borrowed for ever. */
void syslog_start(const char *name, int facility);
void syslog_line(enum log_level level, const char *text);

#endif
