/* SPDX-License-Identifier: ISC */
/* later_names - algorithm names that OpenSSH knows and this build does not have yet */
#include "config/later_names.h"

static const struct {
	enum alg_kind kind;
	const char *name;
} later[] = {
	{ALG_HOSTKEY, "ssh-dss"},
	{ALG_HOSTKEY, "ssh-dss-cert-v01@openssh.com"},
	{ALG_SIGNATURE, "ssh-dss"},
};

static bool is_later(enum alg_kind kind, struct cslice name)
{
	for (size_t i = 0; i < ARRAY_N(later); i++)
		if (later[i].kind == kind && cslice_eq_str(name, later[i].name) &&
			!alg_known(kind, name))
			return true;
	return false;
}

void cfg_without_later_names(enum alg_kind kind, struct cslice spec, struct buf *out)
{
	struct cslice name;
	bool first = true;
	if (spec.n > 0 && (spec.p[0] == '+' || spec.p[0] == '-' || spec.p[0] == '^')) {
		buf_put_u8(out, spec.p[0]);
		spec = cslice_of(spec.p + 1, spec.n - 1);
	}
	while (list_next(&spec, &name)) {
		if (is_later(kind, name))
			continue;
		if (!first)
			buf_put_u8(out, ',');
		buf_put(out, name.p, name.n);
		first = false;
	}
}
