/* SPDX-License-Identifier: ISC */
/*
 * report_json - the report as one JSON object (RFC 8259)
 *
 *     {"program": ..., "facts": {id: text}, "tables": {id: [{"name": ..., column: number or
 * null}]}, "choice": text or null, "why": text or null, "interrupted": bool}
 */
#include <math.h>

#include "app/ssh-speed/report.h"

/* Bytes that are no UTF-8 cannot come in: vis_put has been over all text of a peer. */
static void put_string(struct buf *out, const char *text)
{
	if (text == NULL) {
		buf_printf(out, "null");
		return;
	}
	buf_put_u8(out, '"');
	for (const unsigned char *p = (const unsigned char *)text; *p != '\0'; p++) {
		if (*p == '"' || *p == '\\')
			buf_printf(out, "\\%c", *p);
		else if (*p < 0x20 || *p == 0x7f)
			buf_printf(out, "\\u%04x", *p);
		else
			buf_put_u8(out, *p);
	}
	buf_put_u8(out, '"');
}

static void put_key(struct buf *out, const char *id)
{
	put_string(out, id);
	buf_printf(out, ": ");
}

static void put_number(struct buf *out, double v)
{
	if (isfinite(v))
		buf_printf(out, "%.6g", v);
	else
		buf_printf(out, "null");
}

static void put_line(const struct report_sheet *s, const struct report_line *l, struct buf *out)
{
	buf_printf(out, "{\"name\": ");
	put_string(out, l->name);
	buf_printf(out, ", ");
	put_key(out, s->by_id);
	put_string(out, l->by);
	for (size_t c = 0; c < s->columns_n; c++) {
		buf_printf(out, ", ");
		put_key(out, s->columns[c].id);
		put_number(out, l->v[c]);
	}
	buf_printf(out, ", \"error\": ");
	put_string(out, l->why_not);
	buf_put_u8(out, '}');
}

static void put_sheet(const struct report_sheet *s, struct buf *out)
{
	put_key(out, s->id);
	buf_put_u8(out, '[');
	for (size_t i = 0; i < s->lines_n; i++) {
		buf_printf(out, "%s\n      ", i > 0 ? "," : "");
		put_line(s, &s->lines[i], out);
	}
	buf_put_u8(out, ']');
}

void report_json(const struct report *r, struct buf *out)
{
	buf_printf(out, "{\n  \"program\": \"ssh-speed\",\n  \"facts\": {");
	for (size_t i = 0; i < r->facts_n; i++) {
		buf_printf(out, "%s\n    ", i > 0 ? "," : "");
		put_key(out, r->facts[i].id);
		put_string(out, r->facts[i].text);
	}
	buf_printf(out, "\n  },\n  \"tables\": {");
	for (size_t i = 0; i < r->sheets_n; i++) {
		buf_printf(out, "%s\n    ", i > 0 ? "," : "");
		put_sheet(&r->sheets[i], out);
	}
	buf_printf(out, "\n  },\n  \"choice\": ");
	put_string(out, r->choice);
	buf_printf(out, ",\n  \"why\": ");
	put_string(out, r->why);
	buf_printf(out, ",\n  \"interrupted\": %s\n}\n", r->is_interrupted ? "true" : "false");
}
