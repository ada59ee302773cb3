/* SPDX-License-Identifier: ISC */
/* words - what is said, between the lines of the progress */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/scp/scp.h"

#define TEXT_MAX ((size_t)16384)

void scp_say(void *scp, enum log_level level, const char *text)
{
	struct scp *s = scp;
	if (level > LOG_L_INFO) {
		log_put(level, "%s", text);
		return;
	}
	meter_hide(&s->meter);
	fprintf(stderr, "scp: %s\n", text);
}

void scp_fail(struct scp *s, const char *fmt, ...)
{
	char text[TEXT_MAX];
	va_list ap;
	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	s->failed++;
	scp_say(s, LOG_L_ERROR, text);
}

/* With the old protocol a shell took paths apart, and people wrote for it. */
void scp_hint_quotes(struct scp *s, const char *path)
{
	if (s->has_hinted || strpbrk(path, "\\'\"") == NULL)
		return;
	s->has_hinted = true;
	scp_say(s, LOG_L_INFO,
		"no shell reads a path in SFTP mode: leave out quotes and backslashes that were "
		"meant for "
		"one, or use -O");
}

char *scp_safe(const char *text)
{
	static const char no_memory[] = "(no memory for the name)";
	struct buf b;
	char *out = NULL;
	buf_init(&b, TEXT_MAX);
	vis_put(&b, cslice_str(text));
	if (buf_err(&b) != OK || text_dup(buf_bytes(&b), &out) != OK)
		out = strdup(no_memory);
	buf_done(&b);
	if (out == NULL)
		abort(); /* not even those bytes are there */
	return out;
}

/* Each copy counts from nothing: what those before it had is added. */
void scp_progress(void *scp, const struct xfer_progress *p)
{
	struct scp *s = scp;
	struct xfer_progress all = *p;
	all.done += s->before.done;
	all.size += s->before.size;
	all.files += s->before.files;
	all.files_done += s->before.files_done;
	s->last = all;
	meter_take(&s->meter, &all);
}

void scp_progress_start(struct scp *s)
{
	s->before = s->last;
	meter_start(&s->meter);
}
