/* SPDX-License-Identifier: ISC */
/*
 * report_csv - the tables as comma-separated values (RFC 4180, lines end LF)
 *
 * Each table has its head line; an empty line stands between two.  A field that was not measured is
 * empty; the last field says why.
 */
#include <math.h>
#include <string.h>

#include "app/ssh-speed/report.h"

static void put_field(struct buf *out, const char *text)
{
	if (text == NULL)
		return;
	if (strpbrk(text, ",\"\r\n") == NULL) {
		buf_printf(out, "%s", text);
		return;
	}
	buf_put_u8(out, '"');
	for (const char *p = text; *p != '\0'; p++) {
		if (*p == '"')
			buf_put_u8(out, '"');
		buf_put_u8(out, (uint8_t)*p);
	}
	buf_put_u8(out, '"');
}

static void put_sheet(const struct report_sheet *s, struct buf *out)
{
	buf_printf(out, "name,%s", s->by_id);
	for (size_t c = 0; c < s->columns_n; c++)
		buf_printf(out, ",%s", s->columns[c].id);
	buf_printf(out, ",error\n");
	for (size_t i = 0; i < s->lines_n; i++) {
		const struct report_line *l = &s->lines[i];
		put_field(out, l->name);
		buf_put_u8(out, ',');
		put_field(out, l->by);
		for (size_t c = 0; c < s->columns_n; c++) {
			buf_put_u8(out, ',');
			if (isfinite(l->v[c]))
				buf_printf(out, "%.6g", l->v[c]);
		}
		buf_put_u8(out, ',');
		put_field(out, l->why_not);
		buf_put_u8(out, '\n');
	}
}

void report_csv(const struct report *r, struct buf *out)
{
	bool is_first = true;
	for (size_t i = 0; i < r->sheets_n; i++) {
		if (r->sheets[i].lines_n == 0)
			continue;
		if (!is_first)
			buf_put_u8(out, '\n');
		is_first = false;
		put_sheet(&r->sheets[i], out);
	}
}
