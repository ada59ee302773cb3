/* SPDX-License-Identifier: ISC */
/*
 * report_html - the report as one page that needs nothing else
 *
 * Bars are inline SVG with widths in per cent, so the page fits a phone without scaling its text;
 * colours are variables of the style sheet, so the dark scheme is one rule.  All text that is not
 * written here goes through put_text.
 */
#include <math.h>
#include <string.h>

#include "app/ssh-speed/report.h"

#define NAME_H  18 /* pixels of a line's name, of a bar, of the gap below */
#define BAR_H   14
#define GAP_H   8
#define BAR_MAX 72.0 /* per cent: the number stands behind the bar */

static const char page_head[] =
	"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	"<style>\n"
	":root { color-scheme: light dark; --paper: #fbfbf9; --ink: #1d2126; --soft: #5d6671;\n"
	"  --line: #d9dde2; --card: #ffffff; --c0: #1f6feb; --c1: #d9822b; --c2: #2f9e63; }\n"
	"@media (prefers-color-scheme: dark) { :root { --paper: #14171b; --ink: #e8eaed;\n"
	"  --soft: #9aa4b0; --line: #333a43; --card: #1c2127; --c0: #5b9dff; --c1: #f0a860;\n"
	"  --c2: #62c993; } }\n"
	"* { box-sizing: border-box; }\n"
	"body { margin: 0 auto; padding: 1rem; max-width: 60rem; background: var(--paper);\n"
	"  color: var(--ink); font: 16px/1.45 system-ui, sans-serif; }\n"
	"h1 { font-size: 1.4rem; margin: .2rem 0 .8rem; overflow-wrap: anywhere; }\n"
	"h2 { font-size: 1.1rem; margin: 1.8rem 0 .4rem; }\n"
	"dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem .8rem; margin: 0;\n"
	"  font-size: .9rem; }\n"
	"dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }\n"
	".best { border-left: 4px solid var(--c2); background: var(--card); margin: 1rem 0;\n"
	"  padding: .6rem .9rem; border-radius: 4px; overflow-wrap: anywhere; }\n"
	".best b { display: block; } .warn { border-color: var(--c1); }\n"
	".key { font-size: .85rem; color: var(--soft); margin: .2rem 0 .5rem; }\n"
	".key i { display: inline-block; width: .8em; height: .8em; border-radius: 2px;\n"
	"  margin: 0 .35em 0 .7em; vertical-align: -.05em; }\n"
	"svg { display: block; width: 100%; } svg text { fill: var(--ink); font-size: 12px; }\n"
	"svg .v, svg .d { fill: var(--soft); font-size: 11px; }\n"
	".c0 { fill: var(--c0); background: var(--c0); } .c1 { fill: var(--c1); background: "
	"var(--c1); }\n"
	".c2 { fill: var(--c2); background: var(--c2); } .o { opacity: .45; }\n"
	".wide { overflow-x: auto; background: var(--card); border: 1px solid var(--line);\n"
	"  border-radius: 6px; margin-top: .8rem; }\n"
	"table { border-collapse: collapse; font-size: .82rem; width: 100%; }\n"
	"th, td { padding: .3rem .6rem; border-top: 1px solid var(--line); text-align: left;\n"
	"  white-space: nowrap; }\n"
	"thead th { border-top: 0; color: var(--soft); font-weight: 600; }\n"
	".n { text-align: right; font-variant-numeric: tabular-nums; }\n"
	"tbody th { font-weight: 500; }\n"
	"</style>\n";

static void put_text(struct buf *out, const char *text)
{
	for (const char *p = text; *p != '\0'; p++) {
		const char *as = *p == '&'    ? "&amp;"
				 : *p == '<'  ? "&lt;"
				 : *p == '>'  ? "&gt;"
				 : *p == '"'  ? "&quot;"
				 : *p == '\'' ? "&#39;"
					      : NULL;
		if (as != NULL)
			buf_printf(out, "%s", as);
		else
			buf_put_u8(out, (uint8_t)*p);
	}
}

static void put_in(struct buf *out, const char *element, const char *text)
{
	buf_printf(out, "<%s>", element);
	put_text(out, text);
	buf_printf(out, "</%.*s>", (int)strcspn(element, " "), element);
}

/* ---- bars ---------------------------------------------------------------------------------------
 */
static double largest(const struct report_sheet *s)
{
	double max = 0;
	for (size_t i = 0; i < s->lines_n; i++)
		for (size_t c = 0; c < s->columns_n; c++)
			if (s->columns[c].kind == REPORT_BAR && s->lines[i].v[c] > max)
				max = s->lines[i].v[c];
	return max;
}

static size_t bars_of(const struct report_sheet *s)
{
	size_t n = 0;
	for (size_t c = 0; c < s->columns_n; c++)
		n += s->columns[c].kind == REPORT_BAR;
	return n;
}

static void put_key(const struct report_sheet *s, struct buf *out)
{
	const char *unit = "";
	size_t n = 0;
	buf_printf(out, "<p class=\"key\">");
	for (size_t c = 0; c < s->columns_n; c++) {
		if (s->columns[c].kind != REPORT_BAR)
			continue;
		buf_printf(out, "<i class=\"c%zu\"></i>", n++ % 3);
		put_text(out, s->columns[c].title);
		unit = s->columns[c].unit;
	}
	buf_printf(out, " &nbsp;(");
	put_text(out, unit);
	buf_printf(out, ")</p>\n");
}

/* The bars of one line from y on; gives the y below them. */
static size_t put_bars(const struct report_sheet *s, const struct report_line *l, double max,
	size_t y, struct buf *out)
{
	char number[32];
	size_t n = 0;
	buf_printf(out, "<text x=\"0\" y=\"%zu\"%s>", y + 13, l->is_beside ? " class=\"d\"" : "");
	put_text(out, l->is_beside ? "by libcrypto alone" : l->name);
	buf_printf(out, "</text>\n");
	y += NAME_H;
	for (size_t c = 0; c < s->columns_n; c++) {
		if (s->columns[c].kind != REPORT_BAR)
			continue;
		double width = isfinite(l->v[c]) && max > 0 ? l->v[c] / max * BAR_MAX : 0;
		report_number(l->v[c], number);
		buf_printf(out,
			"<rect class=\"c%zu%s\" x=\"0\" y=\"%zu\" width=\"%.2f%%\" height=\"%d\" "
			"rx=\"2\"/><text class=\"v\" x=\"%.2f%%\" dx=\"5\" "
			"y=\"%zu\">%s</text>\n",
			n++ % 3, l->is_beside ? " o" : "", y, width, BAR_H - 2, width, y + 10,
			number);
		y += BAR_H;
	}
	return y + GAP_H;
}

static void put_chart(const struct report_sheet *s, struct buf *out)
{
	double max = largest(s);
	size_t lines = 0, y = 0;
	for (size_t i = 0; i < s->lines_n; i++)
		lines += report_has_numbers(s, &s->lines[i]);
	if (lines == 0 || bars_of(s) == 0)
		return;
	put_key(s, out);
	buf_printf(out, "<svg role=\"img\" aria-label=\"");
	put_text(out, s->title);
	buf_printf(out, "\" height=\"%zu\">\n", lines * (NAME_H + bars_of(s) * BAR_H + GAP_H));
	for (size_t i = 0; i < s->lines_n; i++)
		if (report_has_numbers(s, &s->lines[i]))
			y = put_bars(s, &s->lines[i], max, y, out);
	buf_printf(out, "</svg>\n");
}

/* ---- tables -------------------------------------------------------------------------------------
 */
static void put_row(const struct report_sheet *s, const struct report_line *l, struct buf *out)
{
	char number[32];
	buf_printf(out, "<tr>");
	put_in(out, "th scope=\"row\"", l->name);
	for (size_t c = 0; c < s->columns_n && l->why_not == NULL; c++) {
		report_number(l->v[c], number);
		put_in(out, "td class=\"n\"", number);
	}
	if (l->why_not != NULL) {
		buf_printf(out, "<td colspan=\"%zu\">", s->columns_n);
		put_text(out, l->why_not);
		buf_printf(out, "</td>");
	}
	put_in(out, "td", l->by != NULL ? l->by : "");
	buf_printf(out, "</tr>\n");
}

static void put_table(const struct report_sheet *s, struct buf *out)
{
	buf_printf(out, "<div class=\"wide\"><table><thead><tr>");
	put_in(out, "th scope=\"col\"", s->name_title);
	for (size_t c = 0; c < s->columns_n; c++) {
		buf_printf(out, "<th scope=\"col\" class=\"n\">");
		put_text(out, s->columns[c].title);
		if (s->columns[c].unit[0] != '\0') {
			buf_printf(out, "<br>");
			put_text(out, s->columns[c].unit);
		}
		buf_printf(out, "</th>");
	}
	put_in(out, "th scope=\"col\"", s->by_title);
	buf_printf(out, "</tr></thead><tbody>\n");
	for (size_t i = 0; i < s->lines_n; i++)
		put_row(s, &s->lines[i], out);
	buf_printf(out, "</tbody></table></div>\n");
}

/* ---- the page -----------------------------------------------------------------------------------
 */
static void put_facts(const struct report *r, struct buf *out)
{
	buf_printf(out, "<dl>\n");
	for (size_t i = 0; i < r->facts_n; i++) {
		put_in(out, "dt", r->facts[i].title);
		put_in(out, "dd", r->facts[i].text);
		buf_put_u8(out, '\n');
	}
	buf_printf(out, "</dl>\n");
}

void report_html(const struct report *r, struct buf *out)
{
	buf_printf(out, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n");
	put_in(out, "title", r->title);
	buf_printf(out, "\n%s</head><body>\n", page_head);
	put_in(out, "h1", r->title);
	buf_put_u8(out, '\n');
	put_facts(r, out);
	if (r->choice != NULL) {
		buf_printf(out, "<p class=\"best\">");
		buf_printf(out, "<b>Best choice: ");
		put_text(out, r->choice);
		buf_printf(out, "</b>");
		put_text(out, r->why);
		buf_printf(out, "</p>\n");
	}
	if (r->is_interrupted)
		buf_printf(out, "<p class=\"best warn\">Interrupted: the rest was not "
				"measured.</p>\n");
	for (size_t i = 0; i < r->sheets_n; i++) {
		const struct report_sheet *s = &r->sheets[i];
		if (s->lines_n == 0)
			continue;
		buf_printf(out, "<section>");
		put_in(out, "h2", s->title);
		buf_put_u8(out, '\n');
		put_chart(s, out);
		put_table(s, out);
		buf_printf(out, "</section>\n");
	}
	buf_printf(out, "</body></html>\n");
}
