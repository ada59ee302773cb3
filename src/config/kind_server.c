/* SPDX-License-Identifier: ISC */
/* kind_server - kinds of values that only sshd_config has: a command by its path, a set of names
 * (compat 4.2) */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "config/int.h"

/* ---- command ---- */
static err_t command_parse(struct cfg_parse *p, void *field)
{
	if (p->rest[0] != '/' && !ascii_eq_nocase(cslice_str(p->rest), "none")) {
		buf_printf(p->why, "%s must be an absolute path", p->opt->keyword);
		return E_CONFIG;
	}
	return cfg_kind_line.parse(p, field);
}

static void command_print(const struct cfg_opt *opt, const void *field, struct buf *out)
{
	cfg_kind_line.print(opt, field, out);
}

static void command_done(void *field)
{
	cfg_kind_line.done(field);
}

const struct cfg_kind cfg_kind_command = {command_parse, command_print, command_done, true, false};

/* ---- set: of names, each a bit; "none" adds nothing ---- */
static err_t set_parse(struct cfg_parse *p, void *field)
{
	unsigned set = 0;
	for (size_t i = 0; i < p->n; i++) {
		const struct cfg_name *n = p->opt->names;
		while (n->name != NULL && !ascii_eq_nocase(cslice_str(p->v[i]), n->name))
			n++;
		if (n->name == NULL) {
			buf_printf(p->why, "unsupported %s option %s", p->opt->keyword, p->v[i]);
			return E_CONFIG;
		}
		set |= (unsigned)n->value;
	}
	*(unsigned *)field = set;
	return OK;
}

static void set_print(const struct cfg_opt *opt, const void *field, struct buf *out)
{
	unsigned set = *(const unsigned *)field;
	size_t begin = out->n;
	for (const struct cfg_name *n = opt->names; n->name != NULL; n++)
		if ((set & (unsigned)n->value) != 0)
			buf_printf(out, "%s%s", out->n > begin ? " " : "", n->name);
	if (set == 0)
		buf_printf(out, "none");
}

static void set_done(void *field)
{
	(void)field;
}

const struct cfg_kind cfg_kind_set = {set_parse, set_print, set_done, false, true};
