/* SPDX-License-Identifier: ISC */
/*
 * log - where words go
 *
 * The core logs at debug level only.  The sink is the one global that may change (style.md):
 * programs set it at start (os/ and app/ decide about stderr, file, syslog, or the monitor);
 * without a sink nothing is written. Levels and prefixes are OpenSSH's: `debug1: ` `debug2: `
 * `debug3: ` in front of debug lines.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include "base/defs.h"

enum log_level {
	LOG_L_QUIET = -1,
	LOG_L_FATAL = 0,
	LOG_L_ERROR,
	LOG_L_INFO,
	LOG_L_VERBOSE,
	LOG_L_DEBUG1,
	LOG_L_DEBUG2,
	LOG_L_DEBUG3
};

/* text: one line without line end, already safe to print.  borrowed for the call. */
typedef void log_sink_fn(void *arg, enum log_level level, const char *text);

void log_set(log_sink_fn *sink, void *arg, enum log_level level);
enum log_level log_level(void);
/* Formats, makes it safe (vis) and hands it to the sink when level is wanted. */
void log_put(enum log_level level, const char *fmt, ...) PRINTF(2, 3);

#define log_debug1(...) log_put(LOG_L_DEBUG1, __VA_ARGS__)
#define log_debug2(...) log_put(LOG_L_DEBUG2, __VA_ARGS__)
#define log_debug3(...) log_put(LOG_L_DEBUG3, __VA_ARGS__)

#endif
