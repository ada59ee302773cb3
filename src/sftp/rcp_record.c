/* SPDX-License-Identifier: ISC */
/* rcp_record - the lines of the old protocol of scp: taken from the stream, read, written */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "sftp/rcp_int.h"

#define OUT_MAX ((size_t)16 << 10)

void rcp_side_init(struct rcp_side *s, int phase)
{
	*s = (struct rcp_side){.phase = phase};
	buf_init(&s->line.b, RCP_RECORD_MAX + RCP_TEXT_MAX);
	buf_init(&s->out, OUT_MAX);
	buf_init(&s->why, 2 * RCP_RECORD_MAX);
}

void rcp_side_done(struct rcp_side *s)
{
	buf_done(&s->line.b);
	buf_done(&s->out);
	buf_done(&s->why);
}

err_t rcp_fail(struct rcp_side *s, err_t e, const char *fmt, ...)
{
	if (s->err != OK)
		return s->err;
	char text[2 * RCP_RECORD_MAX - 1];
	va_list ap;
	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	buf_clear(&s->why);
	buf_put(&s->why, text, strlen(text) + 1);
	s->err = e;
	return e;
}

const char *rcp_why(const struct rcp_side *s)
{
	return s->why.n > 0 ? (const char *)s->why.p : "";
}

struct cslice rcp_ready(const struct rcp_side *s)
{
	return buf_bytes(&s->out);
}

void rcp_sent(struct rcp_side *s, size_t n)
{
	n = num_min(n, s->out.n);
	if (n > 0)
		buf_eat(&s->out, n);
}

/* ---- lines ------------------------------------------------------------------------------------
 */

err_t rcp_line_take(struct rcp_side *s, struct cslice *in, bool is_text, bool *is_whole)
{
	struct rcp_line *l = &s->line;
	const uint8_t *end = in->n > 0 ? memchr(in->p, '\n', in->n) : NULL;
	size_t n = end != NULL ? (size_t)(end - in->p) : in->n;
	size_t keep = is_text ? RCP_TEXT_MAX : RCP_RECORD_MAX - 1;
	size_t room = num_min(keep - num_min(keep, l->b.n), n);
	if (room < n && !is_text)
		return rcp_fail(s, E_LENGTH, "protocol error: a record is too long");
	l->skipped += n - room;
	if (l->skipped > RCP_TEXT_SKIP)
		return rcp_fail(s, E_LENGTH, "protocol error: an error's text has no end");
	buf_put(&l->b, in->p, room);
	if (buf_err(&l->b) != OK)
		return rcp_fail(s, E_MEM, "out of memory");
	n += end != NULL;
	*in = cslice_of(in->p + n, in->n - n);
	*is_whole = end != NULL;
	return OK;
}

void rcp_line_clear(struct rcp_side *s)
{
	buf_clear(&s->line.b);
	s->line.skipped = 0;
}

void rcp_line_return(struct rcp_side *s)
{
	if (s->is_lent)
		rcp_line_clear(s);
	s->is_lent = false;
}

struct cslice rcp_line_text(const struct rcp_side *s, size_t skip)
{
	static const char mark[] = "scp: ";
	struct cslice t = buf_bytes(&s->line.b);
	if (t.n > 0)
		t = cslice_of(t.p + num_min(skip, t.n), t.n - num_min(skip, t.n));
	size_t n = sizeof(mark) - 1;
	if (t.n >= n && memcmp(t.p, mark, n) == 0)
		t = cslice_of(t.p + n, t.n - n);
	return t;
}

/* ---- reading ----------------------------------------------------------------------------------
 */

/* Digits up to a blank, which is taken too. */
static bool number(struct cslice *line, uint64_t *out)
{
	size_t n = 0;
	while (n < line->n && line->p[n] >= '0' && line->p[n] <= '9')
		n++;
	if (text_u64(cslice_of(line->p, n), out) != OK)
		return false;
	*line = cslice_of(line->p + n, line->n - n);
	return true;
}

static bool blank(struct cslice *line)
{
	if (line->n == 0 || line->p[0] != ' ')
		return false;
	*line = cslice_of(line->p + 1, line->n - 1);
	return true;
}

static err_t bad(const char **why, const char *text)
{
	*why = text;
	return E_FORMAT;
}

static err_t seconds(struct cslice *line, uint64_t *out, const char **why, const char *fault)
{
	return number(line, out) && blank(line) ? OK : bad(why, fault);
}

err_t rcp_parse_times(struct cslice line, struct rcp_record *out, const char **why)
{
	struct rcp_times t;
	uint64_t us;
	TRY(seconds(&line, &t.mtime, why, "mtime.sec not delimited"));
	if (!number(&line, &us) || us > 999999 || !blank(&line))
		return bad(why, "mtime.usec not delimited");
	t.mtime_us = (uint32_t)us;
	TRY(seconds(&line, &t.atime, why, "atime.sec not delimited"));
	if (!number(&line, &us) || us > 999999 || line.n != 0)
		return bad(why, "atime.usec not delimited");
	t.atime_us = (uint32_t)us;
	out->times = t;
	return OK;
}

/* Four octal digits; or five, of which the first is 0, as libssh2 writes setuid ones. */
static bool mode(struct cslice *line, uint32_t *out)
{
	size_t n = 0;
	uint32_t v = 0;
	for (; n < line->n && n < 5 && line->p[n] >= '0' && line->p[n] <= '7'; n++)
		v = v << 3 | (uint32_t)(line->p[n] - '0');
	if (n < 4 || v > 07777)
		return false;
	*line = cslice_of(line->p + n, line->n - n);
	*out = v;
	return true;
}

err_t rcp_parse_entry(struct cslice line, struct rcp_record *out, const char **why)
{
	struct rcp_record r = {0};
	if (!mode(&line, &r.mode))
		return bad(why, "bad mode");
	if (!blank(&line))
		return bad(why, "mode not delimited");
	if (line.n == 0 || line.p[0] < '0' || line.p[0] > '9')
		return bad(why, "size not present");
	if (!number(&line, &r.size) || r.size > RCP_SIZE_MAX)
		return bad(why, "size out of range");
	if (!blank(&line))
		return bad(why, "size not delimited");
	r.name = line;
	r.times = out->times;
	*out = r;
	return OK;
}

/* ---- writing ----------------------------------------------------------------------------------
 */

static err_t put_end(struct rcp_side *s)
{
	if (buf_err(&s->out) == OK)
		return OK;
	return rcp_fail(s, E_FLOOD, "protocol error: answers are not read");
}

err_t rcp_put_answer(struct rcp_side *s, uint8_t level, const char *text)
{
	buf_put_u8(&s->out, level);
	if (level != 0) {
		size_t n = num_min(strlen(text), RCP_TEXT_MAX - 8);
		buf_put(&s->out, "scp: ", 5);
		for (size_t i = 0; i < n; i++) {
			uint8_t c = (uint8_t)text[i];
			buf_put_u8(&s->out, c < ' ' || c == 0x7f ? '?' : c);
		}
		buf_put_u8(&s->out, '\n');
	}
	return put_end(s);
}

err_t rcp_put_record(struct rcp_side *s, const char *fmt, ...)
{
	char line[RCP_RECORD_MAX];
	va_list ap;
	va_start(ap, fmt);
	int n = vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= sizeof(line))
		return E_NAME;
	buf_put(&s->out, line, (size_t)n);
	return put_end(s);
}
