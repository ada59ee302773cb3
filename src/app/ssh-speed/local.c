/* SPDX-License-Identifier: ISC */
/* local - the tables of this machine: which there are, and the way through them */
#include <stdio.h>

#include "app/ssh-speed/measure.h"
#include "base/text.h"

/* clang-format off */
static const struct {
	const char *id, *title, *name_title;
	const struct report_column *columns;
	const size_t *columns_n;
	size_t (*count)(const struct speed_options *o);
	err_t (*fill)(struct local *l, struct report_sheet *s);
} tables[] = {
	/* id          title                                                           first column            columns */
	{"packets",    "Packet protection: seal and open in place, MB/s by packet size", "cipher and MAC",     packets_columns, &packets_columns_n,
		packets_count,    packets_fill},
	{"kex",        "Key exchange, a second",                                       "method",               kex_columns, &kex_columns_n,
		kex_count,        kex_fill},
	{"signatures", "Signatures, a second",                                         "algorithm",            signatures_columns, &signatures_columns_n,
		signatures_count, signatures_fill},
	{"macs",       "MACs, MB/s by message size",                                   "MAC",                  bytes_columns, &bytes_columns_n,
		macs_count,       macs_fill},
	{"primitives", "Hashes, HMACs and ciphers alone, MB/s by block size",          "algorithm",            bytes_columns, &bytes_columns_n,
		primitives_count, primitives_fill},
};
/* clang-format on */

bool local_knows(struct cslice id, struct buf *names)
{
	bool is_known = false;
	for (size_t i = 0; i < ARRAY_N(tables); i++) {
		is_known = is_known || cslice_eq_str(id, tables[i].id);
		if (names != NULL)
			buf_printf(names, "%s%s", i > 0 ? "," : "", tables[i].id);
	}
	return is_known;
}

static bool is_wanted(const struct speed_options *o, const char *id)
{
	return o->only == NULL || list_has(cslice_str(o->only), cslice_str(id));
}

void local_step(struct local *l, const char *what)
{
	l->cells_done++;
	progress_show(what, (double)l->cells_done / (double)(l->cells > 0 ? l->cells : 1));
}

err_t local_result(struct report_line *line, err_t e)
{
	return e == OK || e == E_CANCELLED ? e : report_why_not(line, err_text(e));
}

static err_t fill(struct local *l, size_t i)
{
	struct report_sheet row = {.id = tables[i].id,
		.title = tables[i].title,
		.name_title = tables[i].name_title,
		.by_id = "by",
		.by_title = "by",
		.columns = tables[i].columns,
		.columns_n = *tables[i].columns_n};
	struct report_sheet *s;
	TRY(report_sheet(l->report, &row, &s));
	return tables[i].fill(l, s);
}

err_t local_run(const struct speed_options *o, struct report *r)
{
	struct local l = {.options = o, .report = r};
	err_t e = OK;
	r->title = "SSH cryptography on this machine";
	TRY(machine_facts(r));
	for (size_t i = 0; i < ARRAY_N(tables); i++)
		if (is_wanted(o, tables[i].id))
			l.cells += tables[i].count(o);
	for (size_t i = 0; e == OK && i < ARRAY_N(tables); i++)
		if (is_wanted(o, tables[i].id))
			e = fill(&l, i);
	progress_clear();
	r->is_interrupted = e == E_CANCELLED;
	return e == E_CANCELLED ? OK : e;
}
