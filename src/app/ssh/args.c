/* SPDX-License-Identifier: ISC */
/*
 * args - the command line
 *
 * The options are a table (flags.def).  Most stand for a configuration keyword and become one, in
 * the order in which they came, so "the first value wins" holds for all of them.  Options may
 * follow the destination until the first command word.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/ssh/ssh.h"

static NORETURN void die_usage(void);

/* ---- options that are more than a keyword -------------------------------------------------------
 */
static err_t flag_protocol1(struct ssh *s, const char *argument)
{
	(void)s, (void)argument;
	fprintf(stderr, "SSH protocol v.1 is no longer supported\r\n");
	return E_USAGE;
}

static err_t flag_log_file(struct ssh *s, const char *argument)
{
	s->cli->log_file = argument;
	return OK;
}

static err_t flag_agent(struct ssh *s, const char *argument)
{
	(void)argument;
	s->args.forward_agent = "yes";
	return OK;
}

static err_t flag_no_agent(struct ssh *s, const char *argument)
{
	(void)argument;
	s->args.forward_agent = "no";
	return OK;
}

static err_t flag_dump(struct ssh *s, const char *argument)
{
	(void)argument;
	s->cli->mode = SSH_DUMP;
	return OK;
}

static err_t flag_keys(struct ssh *s, const char *argument)
{
	(void)argument;
	s->cli->mode = SSH_KEYS;
	return OK;
}

static err_t flag_query(struct ssh *s, const char *argument)
{
	s->cli->mode = SSH_QUERY;
	s->cli->query = argument;
	return OK;
}

static err_t flag_tty(struct ssh *s, const char *argument)
{
	(void)argument;
	s->cli->tty_asked++;
	return OK;
}

static err_t flag_version(struct ssh *s, const char *argument)
{
	(void)argument;
	s->cli->mode = SSH_VERSION;
	return OK;
}

static err_t flag_syslog(struct ssh *s, const char *argument)
{
	(void)argument;
	s->args.use_syslog = true;
	return OK;
}

/* ---- the table ----------------------------------------------------------------------------------
 */
struct flag {
	char letter;
	const char *argument; /* its name, NULL = takes none */
	const char *keyword, *value;
	ssh_flag_fn *fn;
	const char *later;
};

static const struct flag flags[] = {
#define SET(l, k, v)      {.letter = l, .keyword = k, .value = v},
#define ARG(l, k, name)   {.letter = l, .keyword = k, .argument = name},
#define DO(l, name, f)    {.letter = l, .argument = name, .fn = f},
#define NONE(l)           {.letter = l},
#define LATER(l, name, w) {.letter = l, .argument = name, .later = w},
#include "app/ssh/flags.def"
#undef SET
#undef ARG
#undef DO
#undef NONE
#undef LATER
};

static void die_usage(void)
{
	char bare[ARRAY_N(flags) + 1];
	size_t n = 0;
	for (size_t i = 0; i < ARRAY_N(flags); i++)
		if (flags[i].argument == NULL && flags[i].later == NULL)
			bare[n++] = flags[i].letter;
	bare[n] = '\0';
	size_t column = (size_t)fprintf(stderr, "usage: ssh [-%s]", bare);
	for (size_t i = 0; i < ARRAY_N(flags); i++) {
		char word[64];
		if (flags[i].argument == NULL || flags[i].later != NULL)
			continue;
		(void)snprintf(word, sizeof(word), "[-%c %s]", flags[i].letter, flags[i].argument);
		bool is_full = column + 1 + strlen(word) > 78;
		column = is_full ? (size_t)fprintf(stderr, "\n           %s", word) - 1
				 : column + (size_t)fprintf(stderr, " %s", word);
	}
	fprintf(stderr, "\n           destination [command [argument ...]]\n");
	exit(SSH_EXIT_ERROR);
}

static err_t obey(struct ssh *s, const struct flag *f, const char *argument)
{
	if (f->later != NULL) {
		fprintf(stderr, "ssh: -%c (%s) is not built yet.\r\n", f->letter, f->later);
		return E_UNSUPPORTED;
	}
	if (f->fn != NULL)
		return f->fn(s, argument);
	if (f->keyword == NULL)
		return OK;
	return ssh_option(s, f->keyword, f->value != NULL ? f->value : argument);
}

static const struct flag *find_flag(char letter)
{
	for (size_t i = 0; i < ARRAY_N(flags); i++)
		if (flags[i].letter == letter)
			return &flags[i];
	fprintf(stderr, "ssh: unknown option -- %c\r\n", letter);
	die_usage();
}

/* One word of options, "-vp2222": *next is the word after it, taken when an option needs it. */
static err_t take_cluster(struct ssh *s, const char *word, int argc, char **argv, int *next)
{
	for (const char *p = word + 1; *p != '\0'; p++) {
		const struct flag *f = find_flag(*p);
		const char *argument = NULL;
		if (f->argument != NULL) {
			argument = p[1] != '\0' ? p + 1 : *next < argc ? argv[(*next)++] : NULL;
			if (argument == NULL) {
				fprintf(stderr, "ssh: option requires an argument -- %c\r\n",
					f->letter);
				die_usage();
			}
		}
		TRY(obey(s, f, argument));
		if (argument != NULL)
			break;
	}
	return OK;
}

static err_t take_command(struct ssh_args *a, int argc, char **argv, int from)
{
	for (int i = from; i < argc; i++)
		buf_printf(&a->command, "%s%s", i > from ? " " : "", argv[i]);
	if (from < argc) {
		a->has_command = true;
		buf_put_u8(&a->command, 0);
	}
	return buf_err(&a->command);
}

static err_t tty_option(struct ssh *s)
{
	if (s->cli->tty_asked == 0)
		return OK;
	return ssh_option(s, "RequestTTY", s->cli->tty_asked > 1 ? "force" : "yes");
}

err_t args_parse(struct ssh *s, int argc, char **argv)
{
	struct ssh_args *a = &s->args;
	ssh_args_init(a);
	TRY(cfg_lines_new(&a->options));
	int at = 1;
	bool is_ended = false;
	while (at < argc) {
		const char *word = argv[at];
		if (!is_ended && strcmp(word, "--") == 0) {
			is_ended = true;
			at++;
			continue;
		}
		bool is_flag = !is_ended && word[0] == '-' && word[1] != '\0';
		if (!is_flag && a->host != NULL)
			break;
		at++;
		if (is_flag)
			TRY(take_cluster(s, word, argc, argv, &at));
		else
			TRY(ssh_take_destination(s, word));
	}
	TRY(tty_option(s));
	TRY(take_command(a, argc, argv, at));
	if (a->host == NULL && s->cli->mode != SSH_QUERY && s->cli->mode != SSH_VERSION)
		die_usage();
	return OK;
}
