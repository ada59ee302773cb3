/* SPDX-License-Identifier: ISC */
/* args - the command line; flags.def is the list of what it takes */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/ssh-copy-id/ci.h"

typedef err_t flag_fn(struct ci *c, char letter, const char *argument);

/* Behind ssh in the last sentence. */
static void show(struct ci *c, char letter, const char *argument)
{
	bool is_plain =
		argument[strspn(argument, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					  "0123456789_-+=.,:/@%")] == '\0';
	buf_printf(&c->shown_options, "-%c ", letter);
	if (!is_plain)
		buf_put_u8(&c->shown_options, '\'');
	for (const char *p = argument; *p != '\0'; p++) {
		if (*p == '\'')
			buf_printf(&c->shown_options, "'\\''");
		else
			vis_put(&c->shown_options, cslice_of(p, 1));
	}
	buf_printf(&c->shown_options, is_plain ? " " : "' ");
}

static err_t flag_ssh(struct ci *c, char letter, const char *argument)
{
	if (letter == 'p')
		c->port = argument;
	else
		show(c, letter, argument);
	return copy_flag(&c->copy, letter == 'p' ? 'P' : letter, argument);
}

static err_t flag_debug(struct ci *c, char letter, const char *argument)
{
	(void)letter;
	return copy_flag(&c->copy, 'v', argument);
}

#define SWITCH(name, what)                                                                         \
	static err_t flag_##name(struct ci *c, char letter, const char *argument)                  \
	{                                                                                          \
		(void)letter, (void)argument;                                                      \
		what;                                                                              \
		return OK;                                                                         \
	}
SWITCH(force, c->is_forced = true)
SWITCH(dry_run, c->is_dry_run = true)
SWITCH(sftp, c->is_sftp_only = true)
SWITCH(help, c->is_help = true)
SWITCH(target, c->target = argument)

static err_t flag_identity(struct ci *c, char letter, const char *argument)
{
	(void)letter;
	if (c->identity != NULL || c->wants_default) {
		(void)ci_fail("-i option must not be specified more than once");
		return E_USAGE;
	}
	c->identity = argument;
	c->wants_default = argument == NULL;
	return OK;
}

static const struct flag {
	char letter;
	const char *argument;
	flag_fn *fn;
	const char *text;
} flags[] = {
#define DO(l, arg, f, t) {.letter = l, .argument = arg, .fn = f, .text = t},
#include "app/ssh-copy-id/flags.def"
#undef DO
};

void ci_usage(void)
{
	(void)fputs("Usage: ssh-copy-id [-h|-?|-f|-n|-s|-x] [-i [identity_file]] [-t target_path]\n"
		    "       [-F ssh_config] [-p port] [[-o ssh_option] ...] [user@]hostname\n",
		stderr);
	for (size_t i = 0; i < ARRAY_N(flags); i++)
		fprintf(stderr, "  -%c %-14s %s\n", flags[i].letter,
			flags[i].argument != NULL ? flags[i].argument : "", flags[i].text);
}

struct words {
	int argc, at;
	char **argv;
};

static bool is_key_file(const char *name)
{
	char *with_end = NULL;
	bool is_there = access(name, F_OK) == 0;
	if (!is_there && asprintf(&with_end, "%s.pub", name) >= 0)
		is_there = access(with_end, F_OK) == 0;
	free(with_end);
	return is_there;
}

/* -i may stand alone: before another option, and before a last word that is no file but the host.
 */
static const char *identity_word(struct words *w)
{
	const char *next = w->at < w->argc ? w->argv[w->at] : NULL;
	bool is_last = w->at + 1 == w->argc;
	if (next == NULL || next[0] == '-' || (is_last && !is_key_file(next)))
		return NULL;
	w->at++;
	return next[0] != '\0' ? next : NULL;
}

static err_t take_letters(struct ci *c, const char *word, struct words *w)
{
	for (const char *p = word; *p != '\0'; p++) {
		const struct flag *f = NULL;
		for (size_t i = 0; i < ARRAY_N(flags); i++)
			if (flags[i].letter == (*p == '?' ? 'h' : *p))
				f = &flags[i];
		if (f == NULL) {
			(void)ci_fail("unknown option -- %c", *p);
			return E_USAGE;
		}
		if (f->argument == NULL) {
			TRY(f->fn(c, *p, NULL));
			continue;
		}
		const char *argument = p[1] != '\0' ? p + 1 : NULL;
		if (argument == NULL && *p == 'i')
			return f->fn(c, *p, identity_word(w));
		if (argument == NULL && w->at < w->argc)
			argument = w->argv[w->at++];
		if (argument == NULL) {
			(void)ci_fail("option requires an argument -- %c", *p);
			return E_USAGE;
		}
		return f->fn(c, *p, argument);
	}
	return OK;
}

/* Words and options in any order: people put the host first as well. */
err_t ci_args(struct ci *c, int argc, char **argv, const char **destination)
{
	struct words w = {argc, 1, argv};
	const char *host = NULL;
	bool has_ended = false;
	while (w.at < argc) {
		const char *word = argv[w.at++];
		if (!has_ended && strcmp(word, "--") == 0) {
			has_ended = true;
		} else if (!has_ended && word[0] == '-' && word[1] != '\0') {
			TRY(take_letters(c, word + 1, &w));
		} else if (host == NULL) {
			host = word;
		} else {
			(void)ci_fail("Too many arguments.  Expecting a target hostname, got: "
				      "\"%s\" and \"%s\"",
				host, word);
			return E_USAGE;
		}
	}
	TRY(copy_options_end(&c->copy));
	if (c->is_help || host == NULL)
		return E_USAGE;
	*destination = host;
	return buf_err(&c->shown_options);
}
