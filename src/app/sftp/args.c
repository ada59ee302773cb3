/* SPDX-License-Identifier: ISC */
/* args - the command line, from flags.def; what ssh has too is taken by copy_flag */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "app/sftp/sftp.h"
#include "base/text.h"

#define BUFFER_MAX   ((uint32_t)256 * 1024)
#define REQUESTS_MAX ((uint32_t)262144)
#define LIMIT_MAX    ((uint64_t)100 * 1024 * 1024) /* kbit a second */

typedef err_t flag_fn(struct sftp_args *a, char letter, const char *argument);

/* ---- the options --------------------------------------------------------------------------------
 */
static err_t refuse(const char *what, const char *word)
{
	sftp_say("Invalid %s \"%s\"", what, word);
	return E_USAGE;
}

static err_t flag_ssh(struct sftp_args *a, char letter, const char *argument)
{
	return copy_flag(&a->copy, letter, argument);
}

static err_t flag_protocol1(struct sftp_args *a, char letter, const char *argument)
{
	(void)a, (void)letter, (void)argument;
	sftp_say("SSH protocol v.1 is no longer supported");
	return E_USAGE;
}

static err_t flag_help(struct sftp_args *a, char letter, const char *argument)
{
	(void)a, (void)letter, (void)argument;
	return E_CANCELLED;
}

static err_t flag_resume(struct sftp_args *a, char letter, const char *argument)
{
	(void)letter, (void)argument;
	a->resume = true;
	return OK;
}

static err_t flag_fsync(struct sftp_args *a, char letter, const char *argument)
{
	(void)letter, (void)argument;
	a->fsync = true;
	return OK;
}

static err_t flag_keep(struct sftp_args *a, char letter, const char *argument)
{
	(void)letter, (void)argument;
	a->keep = true;
	return OK;
}

static err_t flag_recursive(struct sftp_args *a, char letter, const char *argument)
{
	(void)letter, (void)argument;
	a->recursive = true;
	return OK;
}

static err_t take_buffer(struct sftp_args *a, const char *word)
{
	uint32_t n;
	if (text_u32(cslice_str(word), &n) != OK || n == 0 || n > BUFFER_MAX)
		return refuse("buffer size", word);
	a->buffer = n;
	return OK;
}

static err_t take_requests(struct sftp_args *a, const char *word)
{
	uint32_t n;
	if (text_u32(cslice_str(word), &n) != OK || n == 0 || n > REQUESTS_MAX)
		return refuse("number of requests", word);
	a->requests = n;
	return OK;
}

static err_t flag_buffer(struct sftp_args *a, char letter, const char *argument)
{
	(void)letter;
	return take_buffer(a, argument);
}

static err_t flag_requests(struct sftp_args *a, char letter, const char *argument)
{
	(void)letter;
	return take_requests(a, argument);
}

static err_t flag_tune(struct sftp_args *a, char letter, const char *argument)
{
	(void)letter;
	if (strncmp(argument, "buffer=", 7) == 0)
		return take_buffer(a, argument + 7);
	if (strncmp(argument, "nrequests=", 10) == 0)
		return take_requests(a, argument + 10);
	sftp_say("Invalid -X option \"%s\": there are buffer=BYTES and nrequests=N", argument);
	return E_USAGE;
}

static err_t flag_limit(struct sftp_args *a, char letter, const char *argument)
{
	uint64_t kbit;
	(void)letter;
	if (text_u64(cslice_str(argument), &kbit) != OK || kbit == 0 || kbit > LIMIT_MAX) {
		(void)refuse("limit", argument);
		return E_CANCELLED;
	}
	a->limit_bytes_s = kbit * 1024 / 8;
	return OK;
}

/* No questions, no progress, errors only. */
static err_t flag_batch(struct sftp_args *a, char letter, const char *argument)
{
	if (a->batch_file != NULL) {
		sftp_say("Batch file already specified.");
		return E_USAGE;
	}
	a->batch_file = argument;
	a->is_batch = a->is_quiet = true;
	a->has_progress = false;
	return copy_flag(&a->copy, letter, NULL);
}

static err_t flag_noisy(struct sftp_args *a, char letter, const char *argument)
{
	(void)letter, (void)argument;
	a->is_noisy = true;
	return OK;
}

static err_t flag_quiet(struct sftp_args *a, char letter, const char *argument)
{
	a->is_quiet = true;
	a->has_progress = false;
	return copy_flag(&a->copy, letter, argument);
}

static err_t flag_subsystem(struct sftp_args *a, char letter, const char *argument)
{
	(void)letter;
	a->subsystem = argument;
	return OK;
}

/* ---- the table ----------------------------------------------------------------------------------
 */
static const struct flag {
	char letter;
	const char *argument;
	flag_fn *fn; /* NULL: no effect */
} flags[] = {
#define DO(l, name, f) {.letter = l, .argument = name, .fn = f},
#define NONE(l)        {.letter = l},
#include "app/sftp/flags.def"
#undef DO
#undef NONE
};

static void usage(void)
{
	char bare[ARRAY_N(flags) + 1];
	size_t n = 0;
	for (size_t i = 0; i < ARRAY_N(flags); i++)
		if (flags[i].argument == NULL && flags[i].fn != NULL && flags[i].letter != '1')
			bare[n++] = flags[i].letter;
	bare[n] = '\0';
	fprintf(stderr, "usage: sftp [-%s]", bare);
	size_t column = 13 + n;
	for (size_t i = 0; i < ARRAY_N(flags); i++) {
		if (flags[i].argument == NULL)
			continue;
		size_t take = strlen(flags[i].argument) + 6;
		bool is_full = column + take > 78;
		fprintf(stderr, "%s [-%c %s]", is_full ? "\n           " : "", flags[i].letter,
			flags[i].argument);
		column = is_full ? 11 + take : column + take;
	}
	fprintf(stderr, "\n            destination\n");
}

static const struct flag *find_flag(int letter)
{
	for (size_t i = 0; i < ARRAY_N(flags); i++)
		if (flags[i].letter == letter)
			return &flags[i];
	return NULL;
}

/* For getopt(3). */
static void letters_put(char out[2 * ARRAY_N(flags) + 1])
{
	size_t n = 0;
	for (size_t i = 0; i < ARRAY_N(flags); i++) {
		out[n++] = flags[i].letter;
		if (flags[i].argument != NULL)
			out[n++] = ':';
	}
	out[n] = '\0';
}

static err_t take_options(struct sftp_args *a, int argc, char **argv)
{
	char letters[2 * ARRAY_N(flags) + 1];
	int c;
	letters_put(letters);
	while ((c = getopt(argc, argv, letters)) != -1) {
		const struct flag *f = find_flag(c);
		if (f == NULL)
			return E_CANCELLED; /* getopt has told what is wrong */
		if (f->fn != NULL)
			TRY(f->fn(a, f->letter, optarg));
	}
	if (a->is_noisy)
		a->is_quiet = a->copy.is_quiet = false;
	if (!isatty(STDOUT_FILENO))
		a->has_progress = false;
	return copy_options_end(&a->copy);
}

/* ---- the rest of the line -----------------------------------------------------------------------
 */
static err_t take_destination(struct sftp_args *a, const char *text)
{
	struct sftp_dest d;
	if (sftp_dest_parse(text, &d) != OK) {
		sftp_say("\"%s\" is no destination: give [user@]host[:path] or "
			 "sftp://[user@]host[:port][/path]",
			text);
		return E_CANCELLED;
	}
	a->user = d.user;
	a->host = d.host;
	a->path = d.path;
	a->port = d.port;
	return OK;
}

/* With -D there is no host: the first word is the path. */
static err_t take_words(struct sftp_args *a, char **words, int n)
{
	int at = 0;
	if (a->copy.server == NULL) {
		if (n == 0)
			return E_CANCELLED;
		TRY(take_destination(a, words[at++]));
	} else if (n > 0) {
		a->path = strdup(words[at++]);
		if (a->path == NULL)
			return E_MEM;
	}
	if (at < n)
		a->local = words[at++];
	return at < n ? E_CANCELLED : OK;
}

err_t sftp_args_read(struct sftp_args *a, int argc, char **argv, int *status)
{
	*a = (struct sftp_args){.has_progress = true};
	*status = SFTP_EXIT_LOST;
	TRY(copy_options_init(&a->copy, "sftp"));
	err_t e = take_options(a, argc, argv);
	if (e == OK)
		e = take_words(a, argv + optind, argc - optind);
	if (e == E_CANCELLED) {
		usage();
		*status = 1;
	}
	return e;
}

void sftp_args_done(struct sftp_args *a)
{
	copy_options_done(&a->copy);
	free(a->user);
	free(a->host);
	free(a->path);
}
