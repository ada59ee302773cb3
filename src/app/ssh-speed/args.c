/* SPDX-License-Identifier: ISC */
/* args - the command line: long options and letters, both from flags.def */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "app/ssh-speed/args.h"
#include "app/ssh-speed/remote.h"
#include "base/text.h"

#define CELL_MAX_S     60.0
#define SIZE_MIN_BYTES ((uint64_t)1 << 20)
#define SIZE_MAX_BYTES ((uint64_t)1 << 40)

typedef err_t flag_fn(struct speed_args *a, const char *argument);

/* ---- what the options do ------------------------------------------------------------------------
 */
static err_t flag_all(struct speed_args *a, const char *argument)
{
	(void)argument;
	a->options.all = true;
	return OK;
}

static err_t flag_ciphers(struct speed_args *a, const char *argument)
{
	TRY(ciphers_check(argument));
	a->options.ciphers = argument;
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

/* "256", "256M", "1G": MiB without a letter. */
static err_t flag_size(struct speed_args *a, const char *argument)
{
	static const struct {
		char letter;
		unsigned shift;
	} units[] = {{'K', 10}, {'M', 20}, {'G', 30}};
	size_t n = strlen(argument);
	unsigned shift = 20;
	for (size_t i = 0; i < ARRAY_N(units) && n > 0; i++) {
		if ((argument[n - 1] & ~0x20) != units[i].letter)
			continue;
		shift = units[i].shift;
		n--;
		break;
	}
	uint64_t count;
	if (text_u64(cslice_of(argument, n), &count) != OK || count == 0 ||
		count > SIZE_MAX_BYTES >> shift || count << shift < SIZE_MIN_BYTES) {
		fprintf(stderr,
			"ssh-speed: --size takes 1M to 1024G (MiB without a letter), not \"%s\"\n",
			argument);
		return E_USAGE;
	}
	a->options.bytes = count << shift;
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
enum flag_where { BOTH, LOCALLY, HOST };

struct flag {
	const char *name; /* NULL = a letter only */
	char letter;
	const char *argument; /* its name, NULL = takes none */
	flag_fn *fn;
	ssh_flag_fn *ssh;
	const char *keyword, *value;
	const char *later;
	enum flag_where where;
	const char *text;
};

static const struct flag flags[] = {
#define LONG(n, l, arg, f, w, t)                                                                   \
	{.name = n, .letter = l, .argument = arg, .fn = f, .where = w, .text = t},
#define DO(l, arg, f, t) {.letter = l, .argument = arg, .ssh = f, .where = HOST, .text = t},
#define SET(l, k, v, t)  {.letter = l, .keyword = k, .value = v, .where = HOST, .text = t},
#define LATER(l, arg, w) {.letter = l, .argument = arg, .later = w, .where = HOST},
#include "app/ssh-speed/flags.def"
#undef LONG
#undef DO
#undef SET
#undef LATER
};

static void help_line(const struct flag *f)
{
	char left[64], letter[8] = "   ";
	if (f->letter != 0)
		(void)snprintf(
			letter, sizeof(letter), "-%c%s", f->letter, f->name != NULL ? "," : "");
	(void)snprintf(left, sizeof(left), "%s %s%s%s%s", letter, f->name != NULL ? "--" : "",
		f->name != NULL ? f->name : "", f->name != NULL && f->argument != NULL ? " " : "",
		f->argument != NULL ? f->argument : "");
	printf("  %-24s %s\n", left, f->text);
}

void args_help(void)
{
	static const char *const heads[] = {
		[BOTH] = "", [LOCALLY] = "\nwithout a host:\n", [HOST] = "\nwith a host:\n"};
	printf("usage: ssh-speed [option ...]\n"
	       "       ssh-speed [option ...] [user@]host\n\n"
	       "Without a host: how fast is SSH's cryptography on this machine.\n"
	       "With a host: how fast is each cipher through a connection to it.\n\n");
	for (int where = BOTH; where <= HOST; where++) {
		printf("%s", heads[where]);
		for (size_t i = 0; i < ARRAY_N(flags); i++)
			if ((int)flags[i].where == where && flags[i].later == NULL)
				help_line(&flags[i]);
	}
}

static err_t usage_error(const char *fmt, const char *what, size_t n)
{
	fprintf(stderr, "ssh-speed: ");
	fprintf(stderr, fmt, (int)n, what);
	fprintf(stderr, "\nTry ssh-speed --help.\n");
	return E_USAGE;
}

/* What was given that needs a host, or may have none: for the message at the end. */
struct given {
	const struct flag *host, *local;
};

static err_t obey(struct speed_args *a, const struct flag *f, const char *argument, struct given *g)
{
	if (f->where == HOST && g->host == NULL)
		g->host = f;
	if (f->where == LOCALLY && g->local == NULL)
		g->local = f;
	if (f->later != NULL) {
		fprintf(stderr, "ssh-speed: -%c (%s) is not built yet.\n", f->letter, f->later);
		return E_UNSUPPORTED;
	}
	if (f->fn != NULL)
		return f->fn(a, argument);
	return f->ssh != NULL ? f->ssh(a->ssh, argument) : ssh_option(a->ssh, f->keyword, f->value);
}

/* ---- words --------------------------------------------------------------------------------------
 */
struct words {
	int argc, at;
	char **argv;
	struct given given;
};

static const char *next_word(struct words *w)
{
	return w->at < w->argc ? w->argv[w->at++] : NULL;
}

static err_t say_unknown(const char *name, size_t n)
{
	const char *names[ARRAY_N(flags)];
	size_t names_n = 0;
	for (size_t i = 0; i < ARRAY_N(flags); i++)
		if (flags[i].name != NULL)
			names[names_n++] = flags[i].name;
	const char *near = text_nearest(cslice_of(name, n), names, names_n);
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
		if (flags[i].name != NULL && cslice_eq_str(cslice_of(word, n), flags[i].name))
			f = &flags[i];
	if (f == NULL)
		return say_unknown(word, n);
	if (f->argument == NULL)
		return word[n] == '=' ? usage_error("option --%.*s takes no argument", word, n)
				      : obey(a, f, NULL, &w->given);
	const char *argument = word[n] == '=' ? word + n + 1 : next_word(w);
	if (argument == NULL)
		return usage_error("option --%.*s needs an argument", word, n);
	return obey(a, f, argument, &w->given);
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
			TRY(obey(a, f, NULL, &w->given));
			continue;
		}
		const char *argument = p[1] != '\0' ? p + 1 : next_word(w);
		if (argument == NULL)
			return usage_error("option -%.*s needs an argument", p, 1);
		return obey(a, f, argument, &w->given);
	}
	return OK;
}

static err_t take_word(struct speed_args *a, const char *word)
{
	if (a->ssh->args.host != NULL)
		return usage_error("\"%.*s\" is not expected behind the host", word, strlen(word));
	a->mode = a->mode == ARGS_LOCAL ? ARGS_HOST : a->mode;
	return ssh_take_destination(a->ssh, word);
}

static err_t say_misplaced(const struct flag *f, const char *where)
{
	if (f->name != NULL)
		fprintf(stderr, "ssh-speed: --%s is for a run %s a host\n", f->name, where);
	else
		fprintf(stderr, "ssh-speed: -%c is for a run %s a host\n", f->letter, where);
	return E_USAGE;
}

static err_t check_whole(const struct speed_args *a, const struct given *g)
{
	if (a->options.json && a->options.csv) {
		fprintf(stderr, "ssh-speed: --json and --csv both want standard output\n");
		return E_USAGE;
	}
	if (a->mode == ARGS_LOCAL && g->host != NULL)
		return say_misplaced(g->host, "with");
	if (a->mode == ARGS_HOST && g->local != NULL)
		return say_misplaced(g->local, "without");
	return OK;
}

/* What the run needs whatever the configuration says: the first value wins. */
static err_t begin_options(struct ssh *s)
{
	ssh_args_init(&s->args);
	TRY(cfg_lines_new(&s->args.options));
	TRY(ssh_option(s, "Compression", "no"));
	return ssh_option(s, "RemoteCommand", "none");
}

err_t args_parse(struct speed_args *a, int argc, char **argv)
{
	struct words w = {argc, 1, argv, {NULL, NULL}};
	a->options.cell_s = SPEED_CELL_S;
	a->options.bytes = SPEED_BYTES;
	TRY(begin_options(a->ssh));
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
	return check_whole(a, &w.given);
}
