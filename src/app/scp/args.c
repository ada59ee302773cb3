/* SPDX-License-Identifier: ISC */
/*
 * args - the command line
 *
 * The options are a table (flags.def).  They end at the first word that is none, so that a file may
 * be named as an option is.
 */
#include <stdio.h>
#include <string.h>

#include "app/scp/scp.h"

#define LIMIT_MAX    (100u * 1024 * 1024) /* Kbit a second */
#define BUFFER_MAX   ((uint64_t)256 * 1024)
#define REQUESTS_MAX (256u * 1024)

typedef err_t flag_fn(struct scp *s, char letter, const char *argument);

/* ---- what the options do ------------------------------------------------------------------------
 */
static err_t flag_ssh(struct scp *s, char letter, const char *argument)
{
	return copy_flag(&s->copy, letter, argument);
}

static err_t flag_batch(struct scp *s, char letter, const char *argument)
{
	(void)letter;
	return copy_flag(&s->copy, 'b', argument);
}

static err_t flag_quiet(struct scp *s, char letter, const char *argument)
{
	s->is_quiet = true;
	return copy_flag(&s->copy, letter, argument);
}

static err_t flag_jump(struct scp *s, char letter, const char *argument)
{
	s->has_jump = true;
	return copy_flag(&s->copy, letter, argument);
}

#define SWITCH(name, what)                                                                         \
	static err_t flag_##name(struct scp *s, char letter, const char *argument)                 \
	{                                                                                          \
		(void)letter, (void)argument;                                                      \
		what;                                                                              \
		return OK;                                                                         \
	}
SWITCH(across, s->is_direct = false)
SWITCH(direct, s->is_direct = true)
SWITCH(old, s->mode = SCP_OLD)
SWITCH(sftp, s->mode = SCP_SFTP)
SWITCH(any_name, s->old.any_name = true)
SWITCH(keep, s->opts.keep = true)
SWITCH(recursive, s->opts.is_recursive = true)
SWITCH(nothing, (void)s)
SWITCH(help, s->mode = SCP_HELP)
SWITCH(atomic, s->opts.atomic = s->has_extras = true)
SWITCH(checksum, s->opts.checksum = s->has_extras = true)
SWITCH(fsync, s->opts.fsync = s->has_extras = true)
SWITCH(resume, s->opts.resume = s->opts.resume_checked = s->has_extras = true)
SWITCH(sparse, s->opts.sparse = s->has_extras = true)

static err_t flag_side(struct scp *s, char letter, const char *argument)
{
	(void)argument;
	if (letter == 'd')
		s->old.is_dir_target = true;
	else
		s->side = letter;
	return OK;
}

static err_t flag_protocol1(struct scp *s, char letter, const char *argument)
{
	(void)s, (void)letter, (void)argument;
	fprintf(stderr, "scp: SSH protocol v.1 is no longer supported\n");
	return E_UNSUPPORTED;
}

static err_t flag_limit(struct scp *s, char letter, const char *argument)
{
	(void)letter;
	uint32_t n;
	if (text_u32(cslice_str(argument), &n) != OK || n == 0 || n > LIMIT_MAX) {
		fprintf(stderr, "scp: -l takes Kbit a second, 1 to %u, not \"%s\"\n", LIMIT_MAX,
			argument);
		return E_USAGE;
	}
	s->opts.limit_bytes_s = (uint64_t)n * 1024 / 8;
	return OK;
}

/* "65536" or "64k". */
static err_t take_buffer(struct scp *s, const char *text)
{
	size_t n = strlen(text);
	bool is_kilo = n > 0 && (text[n - 1] == 'k' || text[n - 1] == 'K');
	uint64_t size;
	if (text_u64(cslice_of(text, is_kilo ? n - 1 : n), &size) != OK || size == 0 ||
		size > BUFFER_MAX >> (is_kilo ? 10 : 0)) {
		fprintf(stderr, "scp: Invalid buffer size \"%s\": 1 to 256k are possible\n", text);
		return E_UNSUPPORTED;
	}
	s->buffer = (uint32_t)(is_kilo ? size << 10 : size);
	return OK;
}

static err_t take_requests(struct scp *s, const char *text)
{
	uint32_t n;
	if (text_u32(cslice_str(text), &n) != OK || n == 0 || n > REQUESTS_MAX) {
		fprintf(stderr, "scp: Invalid number of requests \"%s\": 1 to %u are possible\n",
			text, REQUESTS_MAX);
		return E_UNSUPPORTED;
	}
	s->requests = n;
	return OK;
}

static err_t flag_sftp_option(struct scp *s, char letter, const char *argument)
{
	(void)letter;
	if (strncmp(argument, "buffer=", 7) == 0)
		return take_buffer(s, argument + 7);
	if (strncmp(argument, "nrequests=", 10) == 0)
		return take_requests(s, argument + 10);
	fprintf(stderr, "scp: Invalid -X option\n");
	return E_UNSUPPORTED;
}

/* ---- the table ----------------------------------------------------------------------------------
 */
struct flag {
	const char *name; /* NULL = a letter only */
	char letter;
	const char *argument; /* its name, NULL = takes none */
	flag_fn *fn;
	const char *text; /* NULL: not in the usage */
};

static const struct flag flags[] = {
#define DO(l, arg, f, t)      {.letter = l, .argument = arg, .fn = f, .text = t},
#define LONG(n, l, arg, f, t) {.name = n, .letter = l, .argument = arg, .fn = f, .text = t},
#define SIDE(l, arg, f)       {.letter = l, .argument = arg, .fn = f},
#include "app/scp/flags.def"
#undef DO
#undef LONG
#undef SIDE
};

static void usage_line(const struct flag *f, FILE *to)
{
	char left[64], letter[8] = "   ";
	if (f->letter != 0)
		(void)snprintf(
			letter, sizeof(letter), "-%c%s", f->letter, f->name != NULL ? "," : "");
	(void)snprintf(left, sizeof(left), "%s %s%s%s%s", letter, f->name != NULL ? "--" : "",
		f->name != NULL ? f->name : "", f->name != NULL && f->argument != NULL ? " " : "",
		f->argument != NULL ? f->argument : "");
	fprintf(to, "  %-24s %s\n", left, f->text);
}

void args_usage(bool is_long)
{
	FILE *to = is_long ? stdout : stderr;
	char bare[ARRAY_N(flags) + 1];
	size_t n = 0;
	for (size_t i = 0; i < ARRAY_N(flags); i++)
		if (flags[i].argument == NULL && flags[i].text != NULL && flags[i].name == NULL)
			bare[n++] = flags[i].letter;
	bare[n] = '\0';
	size_t column = (size_t)fprintf(to, "usage: scp [-%s]", bare);
	for (size_t i = 0; i < ARRAY_N(flags); i++) {
		const struct flag *f = &flags[i];
		char word[64];
		if (f->text == NULL || (f->name == NULL && f->argument == NULL))
			continue;
		if (f->name != NULL)
			(void)snprintf(word, sizeof(word), "[--%s]", f->name);
		else
			(void)snprintf(word, sizeof(word), "[-%c %s]", f->letter, f->argument);
		bool is_full = column + 1 + strlen(word) > 78;
		column = is_full ? (size_t)fprintf(to, "\n           %s", word) - 1
				 : column + (size_t)fprintf(to, " %s", word);
	}
	fprintf(to, "\n           source ... target\n");
	for (size_t i = 0; is_long && i < ARRAY_N(flags); i++)
		if (flags[i].text != NULL)
			usage_line(&flags[i], to);
}

/* ---- the words ----------------------------------------------------------------------------------
 */
struct words {
	int argc, at;
	char **argv;
};

static const char *next_word(struct words *w)
{
	return w->at < w->argc ? w->argv[w->at++] : NULL;
}

static err_t say_unknown_long(const char *name, size_t n)
{
	const char *names[ARRAY_N(flags)];
	size_t names_n = 0;
	for (size_t i = 0; i < ARRAY_N(flags); i++)
		if (flags[i].name != NULL)
			names[names_n++] = flags[i].name;
	const char *near = text_nearest(cslice_of(name, n), names, names_n);
	fprintf(stderr, "scp: unknown option -- %.*s", (int)n, name);
	fprintf(stderr, near != NULL ? ": is --%s meant?\n" : "\n", near);
	return E_USAGE;
}

/* "name", without the two minus signs: none takes an argument. */
static err_t take_long(struct scp *s, const char *word)
{
	for (size_t i = 0; i < ARRAY_N(flags); i++)
		if (flags[i].name != NULL && strcmp(flags[i].name, word) == 0)
			return flags[i].fn(s, flags[i].letter, NULL);
	return say_unknown_long(word, strlen(word));
}

static const struct flag *find_letter(char letter)
{
	for (size_t i = 0; i < ARRAY_N(flags); i++)
		if (flags[i].letter == letter && letter != 0)
			return &flags[i];
	fprintf(stderr, "scp: unknown option -- %c\n", letter);
	return NULL;
}

/* Letters behind one minus sign; the last may have its argument in the same word. */
static err_t take_letters(struct scp *s, const char *word, struct words *w)
{
	for (const char *p = word; *p != '\0'; p++) {
		const struct flag *f = find_letter(*p);
		if (f == NULL)
			return E_USAGE;
		if (f->argument == NULL) {
			TRY(f->fn(s, *p, NULL));
			continue;
		}
		const char *argument = p[1] != '\0' ? p + 1 : next_word(w);
		if (argument == NULL) {
			fprintf(stderr, "scp: option requires an argument -- %c\n", *p);
			return E_USAGE;
		}
		return f->fn(s, *p, argument);
	}
	return OK;
}

/* What cannot be had together. */
static err_t check_whole(const struct scp *s)
{
	const char *what = NULL;
	if (s->has_extras && s->mode == SCP_OLD)
		what = "--atomic, --checksum, --fsync, --resume and --sparse need SFTP: leave -O "
		       "out";
	else if (s->has_extras && s->is_direct)
		what = "--atomic, --checksum, --fsync, --resume and --sparse are not known to the "
		       "scp "
		       "of another host: leave -R out";
	else if (s->opts.atomic && s->opts.resume)
		what = "--atomic begins a new file, --resume goes on with the old one: leave one "
		       "out";
	else if (s->has_jump && s->copy.ssh_program == NULL && s->copy.server == NULL)
		what = "-J (jump hosts) is not built yet: -S with another ssh, or ProxyCommand "
		       "works";
	if (what == NULL)
		return OK;
	fprintf(stderr, "scp: %s\n", what);
	return E_UNSUPPORTED;
}

err_t args_parse(struct scp *s, int argc, char **argv, int *rest)
{
	struct words w = {argc, 1, argv};
	while (w.at < argc) {
		const char *word = argv[w.at];
		if (word[0] != '-' || word[1] == '\0')
			break;
		w.at++;
		if (strcmp(word, "--") == 0)
			break;
		TRY(word[1] == '-' ? take_long(s, word + 2) : take_letters(s, word + 1, &w));
	}
	TRY(copy_options_end(&s->copy));
	s->old.is_recursive = s->opts.is_recursive;
	s->old.keep = s->opts.keep;
	s->old.is_verbose = s->copy.verbose > 0;
	s->old.limit_bytes_s = s->opts.limit_bytes_s;
	s->opts.follow = true;
	*rest = w.at;
	return check_whole(s);
}
