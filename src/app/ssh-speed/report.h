/* SPDX-License-Identifier: ISC */
/*
 * report - what was measured, in one struct, and the four ways to write it
 *
 * A report is facts (words), sheets (tables of numbers) and a verdict.  The measuring side fills it
 * row by row, so that it is whole at any moment: a run that is interrupted is written in the same
 * way as one that has ended.  The writers know nothing of ciphers; a column says by itself how it
 * is called, what its unit is and whether it makes a bar.
 */
#ifndef APP_SSH_SPEED_REPORT_H
#define APP_SSH_SPEED_REPORT_H

#include "base/buf.h"

#define REPORT_COLUMNS_MAX 12
#define REPORT_FACTS_MAX   16
#define REPORT_SHEETS_MAX  8
#define REPORT_LINES_MAX   4096
#define REPORT_TEXT_MAX    ((size_t)4 << 20)

enum report_column_kind { REPORT_PLAIN, REPORT_BAR };

struct report_column {
	const char *id;    /* in JSON and CSV: carries the unit */
	const char *title; /* for people */
	const char *unit;
	enum report_column_kind kind;
};

struct report_line {
	char *name;                   /* owned, as everything below */
	char *by;                     /* which implementation, or which MAC; may be NULL */
	char *why_not;                /* why there are no numbers; NULL when there are */
	bool is_beside;               /* the same as the line before, done by libcrypto alone */
	double v[REPORT_COLUMNS_MAX]; /* NAN = not measured */
};

struct report_sheet {
	const char *id, *title;
	const char *name_title, *by_id, *by_title; /* of the two columns with words */
	const struct report_column *columns;
	size_t columns_n;
	struct report_line *lines; /* owned */
	size_t lines_n;
};

struct report_fact {
	const char *id, *title;
	char *text; /* owned */
};

struct report {
	const char *title;
	struct report_fact facts[REPORT_FACTS_MAX];
	size_t facts_n;
	struct report_sheet sheets[REPORT_SHEETS_MAX];
	size_t sheets_n;
	char *choice, *why; /* owned: the cipher to take, and the reason; NULL = none */
	bool is_interrupted;
};

void report_done(struct report *r);

MUST err_t report_fact(struct report *r, const char *id, const char *title, const char *fmt, ...)
	PRINTF(4, 5);
/* A copy of the row without lines is taken in; sheet: borrowed until report_done. */
MUST err_t report_sheet(
	struct report *r, const struct report_sheet *row, struct report_sheet **sheet);
/* A line without numbers yet; name and by are copied; line: borrowed until the next one. */
MUST err_t report_line(
	struct report_sheet *s, const char *name, const char *by, struct report_line **line);
MUST err_t report_why_not(struct report_line *l, const char *why);
MUST err_t report_verdict(struct report *r, const char *choice, const char *why);

/* Does a line have a number? */
bool report_has_numbers(const struct report_sheet *s, const struct report_line *l);
/* The same, of all: is there anything to write? */
bool report_is_empty(const struct report *r);
/* "1234", "56.7", "8.90", "4"; "-" for NAN. */
void report_number(double v, char text[32]);

/* The writers: appended to out. */
typedef void report_writer(const struct report *r, struct buf *out);
report_writer report_text, report_json, report_csv, report_html;

#endif
