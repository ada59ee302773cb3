/* SPDX-License-Identifier: ISC */
/* log - where words go; holds one of the two globals that may change */
#include <stdarg.h>
#include <stdio.h>

#include "base/log.h"
#include "base/text.h"

#define LINE_MAX_BYTES 8192

static struct {
	log_sink_fn *sink;
	void *arg;
	enum log_level level;
} current = {NULL, NULL, LOG_L_QUIET};

void log_set(log_sink_fn *sink, void *arg, enum log_level level)
{
	current.sink = sink;
	current.arg = arg;
	current.level = level;
}

enum log_level log_level(void)
{
	return current.level;
}

void log_put(enum log_level level, const char *fmt, ...)
{
	if (current.sink == NULL || level > current.level)
		return;
	char line[LINE_MAX_BYTES];
	va_list ap;
	va_start(ap, fmt);
	int n = vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	if (n < 0)
		return;
	struct buf safe;
	buf_init(&safe, (size_t)4 * LINE_MAX_BYTES + 1);
	vis_put(&safe, cslice_of(line, num_min((size_t)n, sizeof(line) - 1)));
	buf_put_u8(&safe, 0);
	if (buf_err(&safe) == OK)
		current.sink(current.arg, level, (const char *)safe.p);
	buf_done(&safe);
}
