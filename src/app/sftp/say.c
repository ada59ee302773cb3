/* SPDX-License-Identifier: ISC */
/* say - what the person reads: names come from a server, so nothing unprintable gets out */
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "app/sftp/sftp.h"
#include "base/text.h"

#define SAY_MAX ((size_t)1 << 16)

/* Lines for stderr end as ssh's do. */
static void put(FILE *to, const char *fmt, va_list ap, const char *more)
{
	static const char lost[] = "(too long)\r\n";
	char text[SAY_MAX / 4];
	struct buf safe;
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	buf_init(&safe, 2 * SAY_MAX);
	vis_put(&safe, cslice_str(text));
	if (more != NULL) {
		buf_put(&safe, ": ", 2);
		vis_put(&safe, cslice_str(more));
	}
	if (to == stderr)
		buf_put_u8(&safe, '\r');
	buf_put_u8(&safe, '\n');
	(void)fflush(stdout); /* in the order in which it was said */
	if (buf_err(&safe) == OK)
		(void)fwrite(safe.p, 1, safe.n, to);
	else
		(void)fputs(lost, to);
	(void)fflush(to);
	buf_done(&safe);
}

void sftp_say(const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	put(stderr, fmt, ap, NULL);
	va_end(ap);
}

void sftp_print(const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	put(stdout, fmt, ap, NULL);
	va_end(ap);
}

void sftp_tell(const struct sftp *s, const char *fmt, ...)
{
	va_list ap;
	if (s->args.is_quiet)
		return;
	va_start(ap, fmt);
	put(stdout, fmt, ap, NULL);
	va_end(ap);
}

err_t sftp_fail(const struct sftp *s, err_t e, const char *fmt, ...)
{
	va_list ap;
	if (e == E_INTERRUPTED)
		return e;
	va_start(ap, fmt);
	put(stderr, fmt, ap, remote_words(&s->r, e));
	va_end(ap);
	return e;
}

/* What the other end did wrong, where there is more to say than that it is gone. */
void sftp_say_closed(const struct sftp *s, err_t why)
{
	static const char closed[] = "Connection closed";
	const char *words = remote_words(&s->r, why);
	if (why != E_CLOSED && why != E_SERVICE && strcmp(words, closed) != 0)
		sftp_say("%s", words);
	sftp_say("%s", closed);
}

void sftp_put(const struct buf *out)
{
	if (buf_err(out) == OK && out->n > 0)
		(void)fwrite(out->p, 1, out->n, stdout);
	(void)fflush(stdout);
}
