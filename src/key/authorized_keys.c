/* SPDX-License-Identifier: ISC */
/*
 * authorized_keys - may this key log in, and with which limits (compat 5.1)
 *
 * Keys are compared as blobs; only a line with this very key has its options looked at.
 */
#include <stdlib.h>

#include "base/text.h"
#include "key/ak_options.h"
#include "key/ops.h"

static void list_free(char **list, size_t n)
{
	while (n > 0)
		free(list[--n]);
	free(list);
}

void ak_done(struct ak_result *r)
{
	free(r->command);
	list_free(r->permitlisten, r->permitlisten_n);
	list_free(r->permitopen, r->permitopen_n);
	list_free(r->environment, r->environment_n);
	*r = (struct ak_result){.verdict = AK_DENY};
}

static void tell(const struct ak_query *q, uint32_t line, const char *text)
{
	if (q->why != NULL)
		q->why(q->arg, line, text);
}

/* Does the line hold exactly this blob, and behind which options? */
static bool line_has_key(
	struct cslice line, struct cslice want, struct buf *blob, struct cslice *options)
{
	struct cslice rest, comment;
	buf_clear(blob);
	*options = cslice_of(line.p, 0);
	err_t e = key_line_blob(line, blob, &comment);
	if (e == E_KEY_FORMAT && ak_options_split(line, options, &rest))
		e = key_line_blob(rest, blob, &comment);
	return e == OK && cslice_eq(buf_bytes(blob), want);
}

static err_t line_check(
	struct cslice line, uint32_t number, const struct ak_query *q, struct ak_result *out)
{
	struct ak_result r = {.verdict = AK_DENY, .line = number};
	const char *why = NULL;
	err_t e = ak_options_apply(line, q, &r, &why);
	if (e == OK) {
		r.verdict = AK_ALLOW;
		*out = r;
		return OK;
	}
	tell(q, number, why);
	ak_done(&r);
	return e;
}

err_t ak_check(struct cslice file, const struct ak_query *q, struct ak_result *out)
{
	struct buf want, blob;
	struct cslice line, options;
	struct ak_result found = {.verdict = AK_DENY};
	uint32_t number = 0;
	buf_init(&want, KEY_BLOB_MAX);
	buf_init(&blob, KEY_BLOB_MAX);
	err_t e = key_blob(q->k, &want);
	while (e == OK && found.verdict != AK_ALLOW && key_next_line(&file, &line)) {
		number++;
		line = key_trim(line);
		if (line.n == 0 || line.p[0] == '#')
			continue;
		if (line.n > AK_LINE_MAX) {
			tell(q, number, "line too long");
			continue;
		}
		if (!line_has_key(line, buf_bytes(&want), &blob, &options))
			continue;
		e = line_check(options, number, q, &found);
		if (e == E_CONFIG || e == E_DENIED)
			e = OK; /* this line says no; a later one may say yes */
	}
	buf_done(&blob);
	buf_done(&want);
	if (e != OK) {
		ak_done(&found);
		return e;
	}
	*out = found;
	return OK;
}
