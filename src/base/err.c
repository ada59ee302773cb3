/* SPDX-License-Identifier: ISC */
/* err - look-ups in err.def */
#include "base/err.h"

struct err_row {
	const char *name, *text;
	enum err_kind kind;
	uint32_t disconnect;
};

#define ERR(name, kind, disconnect, text) {#name, text, ERR_KIND_##kind, disconnect},
static const struct err_row rows[] = {
	{"OK", "success", ERR_KIND_OK, 0},
#include "base/err.def"
};
#undef ERR

static const struct err_row *row_of(err_t e)
{
	return &rows[(size_t)e < ARRAY_N(rows) ? (size_t)e : (size_t)E_BUG];
}

const char *err_name(err_t e)
{
	return row_of(e)->name;
}

const char *err_text(err_t e)
{
	return row_of(e)->text;
}

enum err_kind err_kind_of(err_t e)
{
	return row_of(e)->kind;
}

uint32_t err_disconnect(err_t e)
{
	return row_of(e)->disconnect;
}
