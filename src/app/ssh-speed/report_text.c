/* SPDX-License-Identifier: ISC */
/* report_text - the report as tables for a terminal */
#include <string.h>

#include "app/ssh-speed/report.h"

#define GAP "  "

static size_t larger(size_t a, size_t b)
{
	return a > b ? a : b;
}

/* A combination of two names would be too wide with both domains. */
static size_t shown_n(const char *name)
{
	const char *at = strchr(name, '@');
	return strchr(name, ' ') != NULL && at != NULL ? (size_t)(at - name) : strlen(name);
}

static void put_left(struct buf *out, const char *text, size_t n, size_t width)
{
	buf_printf(out, "%.*s%*s", (int)n, text, (int)(width - n), "");
}

static size_t width_of_names(const struct report_sheet *s)
{
	size_t n = strlen(s->name_title);
	for (size_t i = 0; i < s->lines_n; i++)
		n = larger(n, shown_n(s->lines[i].name));
	return n;
}

static size_t width_of_column(const struct report_sheet *s, size_t c)
{
	char text[32];
	size_t n = strlen(s->columns[c].title);
	for (size_t i = 0; i < s->lines_n; i++) {
		report_number(s->lines[i].v[c], text);
		n = larger(n, strlen(text));
	}
	return n;
}

static void put_head(
	const struct report_sheet *s, size_t names, const size_t *widths, struct buf *out)
{
	put_left(out, s->name_title, strlen(s->name_title), names);
	for (size_t c = 0; c < s->columns_n; c++)
		buf_printf(out, GAP "%*s", (int)widths[c], s->columns[c].title);
	buf_printf(out, GAP "%s\n", s->by_title);
}

static void put_line(const struct report_sheet *s, const struct report_line *l, size_t names,
	const size_t *widths, struct buf *out)
{
	const char *name = l->is_beside ? "" : l->name;
	char text[32];
	put_left(out, name, shown_n(name), names);
	if (l->why_not != NULL) {
		buf_printf(out, GAP "%s\n", l->why_not);
		return;
	}
	for (size_t c = 0; c < s->columns_n; c++) {
		report_number(l->v[c], text);
		buf_printf(out, GAP "%*s", (int)widths[c], text);
	}
	if (l->by != NULL)
		buf_printf(out, GAP "%s", l->by);
	buf_put_u8(out, '\n');
}

static void put_sheet(const struct report_sheet *s, struct buf *out)
{
	size_t names = width_of_names(s), widths[REPORT_COLUMNS_MAX];
	for (size_t c = 0; c < s->columns_n; c++)
		widths[c] = width_of_column(s, c);
	buf_printf(out, "\n%s\n", s->title);
	put_head(s, names, widths, out);
	for (size_t i = 0; i < s->lines_n; i++)
		put_line(s, &s->lines[i], names, widths, out);
}

void report_text(const struct report *r, struct buf *out)
{
	size_t n = 0;
	for (size_t i = 0; i < r->facts_n; i++)
		n = larger(n, strlen(r->facts[i].title));
	for (size_t i = 0; i < r->facts_n; i++) {
		put_left(out, r->facts[i].title, strlen(r->facts[i].title), n);
		buf_printf(out, GAP "%s\n", r->facts[i].text);
	}
	for (size_t i = 0; i < r->sheets_n; i++)
		if (r->sheets[i].lines_n > 0)
			put_sheet(&r->sheets[i], out);
	if (r->choice != NULL)
		buf_printf(out, "\nBest choice: %s\n%s\n", r->choice, r->why);
	if (r->is_interrupted)
		buf_printf(out, "\nInterrupted: the rest was not measured.\n");
}
