/* SPDX-License-Identifier: ISC */
/* say - one form for all that is said */
#include <stdarg.h>
#include <stdio.h>

#include "app/common/say.h"
#include "app/ssh-copy-id/ci.h"

static void say(const char *kind, const char *fmt, va_list ap)
{
	(void)fflush(stdout);
	fprintf(stderr, "ssh-copy-id: %s: ", kind);
	say_format(stderr, fmt, ap);
	(void)fputc('\n', stderr);
}

void ci_say(const char *kind, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	say(kind, fmt, ap);
	va_end(ap);
}

int ci_fail(const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	say("ERROR", fmt, ap);
	va_end(ap);
	return CI_FAILED;
}

bool ci_report(const struct ci *c)
{
	const struct ci_keys *k = &c->keys;
	for (size_t i = 0; i < k->n; i++) {
		const struct ci_key *key = &k->v[i];
		if (key->is_there && key->line_at > 0)
			ci_say("INFO", "already there, line %u%s: %s", key->line_at,
				key->is_limited ? " (behind options)" : "", key->shown);
		else if (key->is_there)
			ci_say("INFO", "named twice, taken once: %s", key->shown);
	}
	if (k->to_add > 0) {
		ci_say("INFO", "%zu key(s) remain to be installed", k->to_add);
		return true;
	}
	(void)fputc('\n', stderr);
	ci_say("WARNING", "All keys were skipped because they already exist on the remote system.");
	(void)fputs(
		"\t\t(if you think this is a mistake, you may want to use -f option)\n\n", stderr);
	return false;
}
