/* SPDX-License-Identifier: ISC */
/* args - the command line: long options and letters, both from flags.def */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "app/ssh-speed/args.h"
#include "base/text.h"

#define CELL_MAX_S 60.0

typedef err_t flag_fn(struct speed_args *a, const char *argument);

/* ---- what the options do ------------------------------------------------------------------------
 */
static err_t flag_all(struct speed_args *a, const char *argument)
{
	(void)argument;
	a->options.all = true;
	return OK;
}

static err_t flag_compare(struct speed_args *a, const char *argument)
{
	(void)argument;
	a->options.compare = true;
	return OK;
}

static err_t flag_csv(struct speed_args *a, const char *argument)
{
	(void)argument;
	a->options.csv = true;
	return OK;
}

static err_t flag_help(struct speed_args *a, const char *argument)
{
	(void)argument;
	a->mode = ARGS_HELP;
	return OK;
}

static err_t flag_html(struct speed_args *a, const char *argument)
{
	a->options.html = argument;
	return OK;
}

static err_t flag_json(struct speed_args *a, const char *argument)
{
	(void)argument;
	a->options.json = true;
	return OK;
}

static err_t flag_only(struct speed_args *a, const char *argument)
{
	struct cslice rest = cslice_str(argument), id;
	struct buf names;
	err_t e = OK;
	buf_init(&names, 4096);
	while (e == OK && list_next(&rest, &id)) {
		buf_clear(&names);
		if (local_knows(id, &names))
			continue;
		fprintf(stderr, "ssh-speed: no table \"%.*s\"; there are %.*s\n", (int)id.n,
			(const char *)id.p, (int)names.n, (const char *)names.p);
		e = E_USAGE;
	}
	buf_done(&names);
	a->options.only = argument;
	return e;
}

static err_t flag_seconds(struct speed_args *a, const char *argument)
{
	char *end = NULL;
	double s = strtod(argument, &end);
	if (end == argument || *end != '\0' || !isfinite(s) || s <= 0 || s > CELL_MAX_S) {
		fprintf(stderr, "ssh-speed: --seconds takes a number up to %.0f, not \"%s\"\n",
			CELL_MAX_S, argument);
		return E_USAGE;
	}
	a->options.cell_s = s;
	return OK;
}

static err_t flag_version(struct speed_args *a, const char *argument)
{
	(void)argument;
	a->mode = ARGS_VERSION;
	return OK;
}

/* ---- the table ----------------------------------------------------------------------------------
 */
struct flag {
	const char *name;
	char letter;
	const char *argument; /* its name, NULL = takes none */
	flag_fn *fn;
	const char *text;
};

static const struct flag flags[] = {
#define LONG(n, l, arg, f, t) {.name = n, .letter = l, .argument = arg, .fn = f, .text = t},
#include "app/ssh-speed/flags.def"
#undef LONG
};

void args_help(void)
{
	printf("usage: ssh-speed [option ...]\n\n");
	for (size_t i = 0; i < ARRAY_N(flags); i++) {
		const struct flag *f = &flags[i];
		char left[64];
		(void)snprintf(left, sizeof(left), "%c%c%s --%s%s%s", f->letter != 0 ? '-' : ' ',
			f->letter != 0 ? f->letter : ' ', f->letter != 0 ? "," : " ", f->name,
			f->argument != NULL ? " " : "", f->argument != NULL ? f->argument : "");
		printf("  %-26s %s\n", left, f->text);
	}
}

static err_t usage_error(const char *fmt, const char *what, size_t n)
{
	fprintf(stderr, "ssh-speed: ");
	fprintf(stderr, fmt, (int)n, what);
	fprintf(stderr, "\nTry ssh-speed --help.\n");
	return E_USAGE;
}

static err_t obey(struct speed_args *a, const struct flag *f, const char *argument)
{
	return f->fn(a, argument);
}

/* ---- words --------------------------------------------------------------------------------------
 */
struct words {
	int argc, at;
	char **argv;
};

static const char *next_word(struct words *w)
{
	return w->at < w->argc ? w->argv[w->at++] : NULL;
}

static err_t say_unknown(const char *name, size_t n)
{
	const char *names[ARRAY_N(flags)];
	for (size_t i = 0; i < ARRAY_N(flags); i++)
		names[i] = flags[i].name;
	const char *near = text_nearest(cslice_of(name, n), names, ARRAY_N(flags));
	if (near == NULL)
		return usage_error("unknown option --%.*s", name, n);
	fprintf(stderr, "ssh-speed: unknown option --%.*s: is --%s meant?\n", (int)n, name, near);
	return E_USAGE;
}

/* "name" or "name=value", without the two minus signs. */
static err_t take_long(struct speed_args *a, const char *word, struct words *w)
{
	size_t n = strcspn(word, "=");
	const struct flag *f = NULL;
	for (size_t i = 0; i < ARRAY_N(flags); i++)
		if (cslice_eq_str(cslice_of(word, n), flags[i].name))
			f = &flags[i];
	if (f == NULL)
		return say_unknown(word, n);
	if (f->argument == NULL)
		return word[n] == '=' ? usage_error("option --%.*s takes no argument", word, n)
				      : obey(a, f, NULL);
	const char *argument = word[n] == '=' ? word + n + 1 : next_word(w);
	if (argument == NULL)
		return usage_error("option --%.*s needs an argument", word, n);
	return obey(a, f, argument);
}

static const struct flag *find_letter(char letter)
{
	for (size_t i = 0; i < ARRAY_N(flags); i++)
		if (flags[i].letter == letter && letter != 0)
			return &flags[i];
	return NULL;
}

/* Letters behind one minus sign; the last may have its argument in the same word. */
static err_t take_letters(struct speed_args *a, const char *word, struct words *w)
{
	for (const char *p = word; *p != '\0'; p++) {
		const struct flag *f = find_letter(*p);
		if (f == NULL)
			return usage_error("unknown option -%.*s", p, 1);
		if (f->argument == NULL) {
			TRY(obey(a, f, NULL));
			continue;
		}
		const char *argument = p[1] != '\0' ? p + 1 : next_word(w);
		if (argument == NULL)
			return usage_error("option -%.*s needs an argument", p, 1);
		return obey(a, f, argument);
	}
	return OK;
}

static err_t take_word(struct speed_args *a, const char *word)
{
	(void)a;
	return usage_error("\"%.*s\" is not expected here", word, strlen(word));
}

err_t args_parse(struct speed_args *a, int argc, char **argv)
{
	struct words w = {argc, 1, argv};
	a->options.cell_s = SPEED_CELL_S;
	bool is_ended = false;
	for (const char *word = next_word(&w); word != NULL; word = next_word(&w)) {
		if (!is_ended && strcmp(word, "--") == 0)
			is_ended = true;
		else if (!is_ended && word[0] == '-' && word[1] == '-')
			TRY(take_long(a, word + 2, &w));
		else if (!is_ended && word[0] == '-' && word[1] != '\0')
			TRY(take_letters(a, word + 1, &w));
		else
			TRY(take_word(a, word));
	}
	if (a->options.json && a->options.csv) {
		fprintf(stderr, "ssh-speed: --json and --csv both want standard output\n");
		return E_USAGE;
	}
	return OK;
}
