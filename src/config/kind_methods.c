/* SPDX-License-Identifier: ISC */
/* kind_methods - the value of AuthenticationMethods: `any`, or lists of methods (compat 4.2) */
#include <string.h>

#include "base/text.h"
#include "config/int.h"

static const char *const known[] = {
	"none", "gssapi-with-mic", "hostbased", "keyboard-interactive", "password", "publickey"};

/* `keyboard-interactive:pam`: what stands behind a colon is a device of the method. */
static bool is_method(struct cslice word)
{
	const uint8_t *colon = word.n > 0 ? memchr(word.p, ':', word.n) : NULL;
	struct cslice name = cslice_of(word.p, colon != NULL ? (size_t)(colon - word.p) : word.n);
	for (size_t i = 0; i < ARRAY_N(known); i++)
		if (cslice_eq_str(name, known[i]))
			return true;
	return false;
}

static bool is_list_of_methods(const char *text)
{
	for (;;) {
		size_t n = strcspn(text, ",");
		if (!is_method(cslice_of(text, n)))
			return false;
		if (text[n] == '\0')
			return true;
		text += n + 1;
	}
}

static err_t methods_parse(struct cfg_parse *p, void *field)
{
	for (size_t i = 0; i < p->n; i++) {
		bool is_any = strcmp(p->v[i], "any") == 0;
		if (is_any && p->n > 1) {
			buf_printf(p->why, "\"any\" must stand alone in %s", p->opt->keyword);
			return E_CONFIG;
		}
		if (!is_any && !is_list_of_methods(p->v[i])) {
			buf_printf(p->why, "invalid %s list \"%s\"", p->opt->keyword, p->v[i]);
			return E_CONFIG;
		}
	}
	return cfg_kind_list.parse(p, field);
}

static void methods_print(const struct cfg_opt *opt, const void *field, struct buf *out)
{
	cfg_kind_list.print(opt, field, out);
}

static void methods_done(void *field)
{
	cfg_kind_list.done(field);
}

const struct cfg_kind cfg_kind_methods = {methods_parse, methods_print, methods_done, false, true};
