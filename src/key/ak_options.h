/* SPDX-License-Identifier: ISC */
/* ak_options - the options in front of a key in authorized_keys (for src/key only) */
#ifndef KEY_AK_OPTIONS_H
#define KEY_AK_OPTIONS_H

#include "key/authorized_keys.h"

#define AK_LINE_MAX   ((size_t)64 << 10)
#define AK_ENV_MAX    1024
#define AK_PERMIT_MAX 4096

/* Where the options end: at the first blank outside of quotes.  False: a quote is not closed. */
bool ak_options_split(struct cslice line, struct cslice *options, struct cslice *rest);

/*
 * Parses the options and checks from= and expiry-time.  r starts as "everything allowed" and may be
 * partly filled on failure: the caller ends it with ak_done.  *why says what is wrong, borrowed for
 * ever. E_CONFIG: malformed or not built; E_DENIED: well-formed, but it does not hold now.
 */
MUST err_t ak_options_apply(
	struct cslice options, const struct ak_query *q, struct ak_result *r, const char **why);

#endif
