/* SPDX-License-Identifier: ISC */
/* report - filling the one struct that all writers read */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "app/ssh-speed/report.h"
#include "base/text.h"

static void line_done(struct report_line *l)
{
	free(l->name);
	free(l->by);
	free(l->why_not);
}

void report_done(struct report *r)
{
	for (size_t i = 0; i < r->facts_n; i++)
		free(r->facts[i].text);
	for (size_t i = 0; i < r->sheets_n; i++) {
		for (size_t k = 0; k < r->sheets[i].lines_n; k++)
			line_done(&r->sheets[i].lines[k]);
		free(r->sheets[i].lines);
	}
	free(r->choice);
	free(r->why);
	*r = (struct report){0};
}

/* Much of the text is a peer's or the user's: what is not printable UTF-8 becomes visible. */
static err_t copy_of(const char *text, char **out)
{
	if (text == NULL) {
		*out = NULL;
		return OK;
	}
	struct buf safe;
	buf_init(&safe, REPORT_TEXT_MAX);
	vis_put(&safe, cslice_str(text));
	err_t e = buf_err(&safe);
	if (e == OK)
		e = text_dup(buf_bytes(&safe), out);
	buf_done(&safe);
	return e;
}

err_t report_fact(struct report *r, const char *id, const char *title, const char *fmt, ...)
{
	char text[1024];
	va_list ap;
	if (r->facts_n == REPORT_FACTS_MAX)
		return E_LIMIT;
	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	struct report_fact f = {id, title, NULL};
	TRY(copy_of(text, &f.text));
	r->facts[r->facts_n++] = f;
	return OK;
}

err_t report_sheet(struct report *r, const struct report_sheet *row, struct report_sheet **sheet)
{
	if (r->sheets_n == REPORT_SHEETS_MAX || row->columns_n > REPORT_COLUMNS_MAX)
		return E_LIMIT;
	*sheet = &r->sheets[r->sheets_n++];
	**sheet = *row;
	(*sheet)->lines = NULL;
	(*sheet)->lines_n = 0;
	return OK;
}

err_t report_line(
	struct report_sheet *s, const char *name, const char *by, struct report_line **line)
{
	if (s->lines_n == REPORT_LINES_MAX)
		return E_LIMIT;
	struct report_line *more = realloc(s->lines, (s->lines_n + 1) * sizeof(*more));
	if (more == NULL)
		return E_MEM;
	s->lines = more;
	struct report_line l = {0};
	for (size_t i = 0; i < REPORT_COLUMNS_MAX; i++)
		l.v[i] = NAN;
	err_t e = copy_of(name, &l.name);
	if (e == OK)
		e = copy_of(by, &l.by);
	if (e != OK) {
		line_done(&l);
		return e;
	}
	more[s->lines_n] = l;
	*line = &more[s->lines_n++];
	return OK;
}

err_t report_why_not(struct report_line *l, const char *why)
{
	char *copy;
	TRY(copy_of(why, &copy));
	free(l->why_not);
	l->why_not = copy;
	return OK;
}

err_t report_verdict(struct report *r, const char *choice, const char *why)
{
	char *a = NULL, *b = NULL;
	err_t e = copy_of(choice, &a);
	if (e == OK)
		e = copy_of(why, &b);
	if (e != OK) {
		free(a);
		return e;
	}
	free(r->choice);
	free(r->why);
	r->choice = a;
	r->why = b;
	return OK;
}

bool report_has_numbers(const struct report_sheet *s, const struct report_line *l)
{
	for (size_t i = 0; i < s->columns_n; i++)
		if (!isnan(l->v[i]))
			return true;
	return false;
}

bool report_is_empty(const struct report *r)
{
	for (size_t i = 0; i < r->sheets_n; i++)
		for (size_t k = 0; k < r->sheets[i].lines_n; k++)
			if (report_has_numbers(&r->sheets[i], &r->sheets[i].lines[k]))
				return false;
	return true;
}

void report_number(double v, char text[32])
{
	if (!isfinite(v))
		(void)snprintf(text, 32, "-");
	else
		(void)snprintf(text, 32, "%.*f",
			v >= 99.95 || v == floor(v) ? 0
			: v >= 9.995                ? 1
						    : 2,
			v);
}
