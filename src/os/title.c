/* SPDX-License-Identifier: ISC */
/* title - the words that ps shows for this process (title.h) */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "os/title.h"

static void free_words(char **v)
{
	for (size_t i = 0; v != NULL && v[i] != NULL; i++)
		free(v[i]);
	free(v);
}

static char **copy_words(char **v)
{
	size_t n = 0;
	while (v != NULL && v[n] != NULL)
		n++;
	char **copy = calloc(n + 1, sizeof(*copy));
	for (size_t i = 0; copy != NULL && i < n; i++) {
		copy[i] = strdup(v[i]);
		if (copy[i] == NULL) {
			free_words(copy);
			return NULL;
		}
	}
	return copy;
}

/* The end of those words that follow each other without a gap, from `end` on. */
static char *run_end(char *end, char **v)
{
	for (size_t i = 0; v != NULL && v[i] != NULL && v[i] == end; i++)
		end += strlen(v[i]) + 1;
	return end;
}

err_t title_take(struct title *out, char ***argv)
{
	char **old = *argv;
	if (old == NULL || old[0] == NULL) {
		*out = (struct title){NULL, 0};
		return OK;
	}
	char *end = run_end(run_end(old[0], old), environ);
	char **args = copy_words(old), **env = copy_words(environ);
	if (args == NULL || env == NULL) {
		free_words(args);
		free_words(env);
		return E_MEM;
	}
	*argv = args;
	environ = env;
	*out = (struct title){old[0], (size_t)(end - old[0])};
	return OK;
}

void title_set(const struct title *t, const char *fmt, ...)
{
	va_list ap;
	if (t->n == 0)
		return;
	va_start(ap, fmt);
	int n = vsnprintf(t->p, t->n, fmt, ap);
	va_end(ap);
	size_t used = n > 0 ? num_min((size_t)n, t->n - 1) : 0;
	memset(t->p + used, 0, t->n - used);
}
