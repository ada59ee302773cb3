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
#include <strings.h>

#include "app/ssh/ssh.h"
#include "os/file.h"

#define COMMAND_MAX ((size_t)4 << 20)

typedef err_t flag_fn(struct ssh *s, const char *argument);

static NORETURN void die_usage(void);

static void say_why(const struct buf *why)
{
	struct cslice rest = buf_bytes(why);
	while (rest.n > 0) {
		const uint8_t *end = memchr(rest.p, '\n', rest.n);
		size_t n = end != NULL ? (size_t)(end - rest.p) : rest.n;
		fprintf(stderr, "%.*s\r\n", (int)n, (const char *)rest.p);
		n = num_min(n + 1, rest.n);
		rest = cslice_of(rest.p + n, rest.n - n);
	}
}

static err_t put_option(struct ssh_args *a, const char *text)
{
	struct buf why;
	buf_init(&why, 65536);
	err_t e = cfg_lines_option(a->options, text, &why);
	if (e != OK)
		say_why(&why);
	buf_done(&why);
	return e;
}

err_t args_option(struct ssh_args *a, const char *keyword, const char *value)
{
	struct buf text;
	buf_init(&text, COMMAND_MAX);
	buf_printf(&text, "%s=\"", keyword);
	for (const char *p = value; *p != '\0'; p++) {
		if (*p == '"' || *p == '\\')
			buf_put_u8(&text, '\\');
		buf_put_u8(&text, (uint8_t)*p);
	}
	buf_put(&text, "\"", 2); /* with the NUL */
	err_t e = buf_err(&text);
	if (e == OK)
		e = put_option(a, (const char *)text.p);
	buf_done(&text);
	return e;
}

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
	s->args.log_file = argument;
	return OK;
}

static err_t flag_config_file(struct ssh *s, const char *argument)
{
	s->args.config_file = argument;
	return OK;
}

static err_t flag_dump(struct ssh *s, const char *argument)
{
	(void)argument;
	s->args.mode = SSH_DUMP;
	return OK;
}

static err_t flag_identity(struct ssh *s, const char *argument)
{
	const char *path = argument;
	struct buf whole;
	buf_init(&whole, 65536);
	if (path[0] == '~' && path[1] == '/')
		buf_printf(&whole, "%s%s", s->me.home, path + 1);
	else
		buf_printf(&whole, "%s", path);
	buf_put_u8(&whole, 0);
	TRY(buf_err(&whole));
	int why = strchr(path, '%') != NULL || strchr(path, '$') != NULL
			  ? 0 /* tokens: known later */
			  : os_file_probe((const char *)whole.p);
	if (why != 0)
		fprintf(stderr, "Warning: Identity file %s not accessible: %s.\r\n", argument,
			strerror(why));
	buf_done(&whole);
	return why != 0 ? OK : args_option(&s->args, "IdentityFile", argument);
}

static err_t set_user(struct ssh_args *a, const char *user)
{
	if (a->user != NULL || a->has_user_option)
		return OK; /* the first one wins */
	a->user = strdup(user);
	return a->user != NULL ? OK : E_MEM;
}

static err_t flag_login(struct ssh *s, const char *argument)
{
	return set_user(&s->args, argument);
}

static bool is_user_option(const char *text)
{
	while (*text == ' ' || *text == '\t')
		text++;
	return strncasecmp(text, "User", 4) == 0 && strchr(" \t=", text[4]) != NULL &&
	       text[4] != '\0';
}

static err_t flag_option(struct ssh *s, const char *argument)
{
	if (is_user_option(argument) && s->args.user == NULL)
		s->args.has_user_option = true;
	return put_option(&s->args, argument);
}

static err_t flag_port(struct ssh *s, const char *argument)
{
	uint32_t port;
	if (text_u32(cslice_str(argument), &port) != OK || port == 0 || port > 65535) {
		fprintf(stderr, "Bad port '%s'\r\n", argument);
		return E_USAGE;
	}
	return args_option(&s->args, "Port", argument);
}

static err_t flag_query(struct ssh *s, const char *argument)
{
	s->args.mode = SSH_QUERY;
	s->args.query = argument;
	return OK;
}

static err_t flag_quiet(struct ssh *s, const char *argument)
{
	(void)argument;
	s->args.has_level = true;
	s->args.level = LOG_L_QUIET;
	return OK;
}

static err_t flag_verbose(struct ssh *s, const char *argument)
{
	(void)argument;
	struct ssh_args *a = &s->args;
	bool is_more = a->has_level && a->level >= LOG_L_DEBUG1 && a->level < LOG_L_DEBUG3;
	if (!a->has_level || a->level < LOG_L_DEBUG1)
		a->level = LOG_L_DEBUG1;
	else if (is_more)
		a->level++;
	a->has_level = true;
	return OK;
}

static err_t flag_tty(struct ssh *s, const char *argument)
{
	(void)argument;
	s->args.tty_asked++;
	return OK;
}

static err_t flag_version(struct ssh *s, const char *argument)
{
	(void)argument;
	s->args.mode = SSH_VERSION;
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
	flag_fn *fn;
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
	fprintf(stderr, "usage: ssh [-%s]", bare);
	for (size_t i = 0; i < ARRAY_N(flags); i++)
		if (flags[i].argument != NULL && flags[i].later == NULL)
			fprintf(stderr, " [-%c %s]", flags[i].letter, flags[i].argument);
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
	return args_option(&s->args, f->keyword, f->value != NULL ? f->value : argument);
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

static err_t take_destination(struct ssh *s, const char *text)
{
	struct dest d;
	err_t e = dest_parse(text, &d);
	if (e != OK) {
		fprintf(stderr,
			"ssh: \"%s\" is no destination: give [user@]host or "
			"ssh://[user@]host[:port]\r\n",
			text);
		return e;
	}
	s->args.host = d.host;
	if (d.user != NULL)
		e = set_user(&s->args, d.user);
	free(d.user);
	if (e == OK && d.port != 0) {
		char port[8];
		(void)snprintf(port, sizeof(port), "%u", d.port);
		e = args_option(&s->args, "Port", port);
	}
	return e;
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

static err_t tty_option(struct ssh_args *a)
{
	if (a->tty_asked == 0)
		return OK;
	return args_option(a, "RequestTTY", a->tty_asked > 1 ? "force" : "yes");
}

err_t args_parse(struct ssh *s, int argc, char **argv)
{
	struct ssh_args *a = &s->args;
	buf_init(&a->command, COMMAND_MAX);
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
			TRY(take_destination(s, word));
	}
	TRY(tty_option(a));
	TRY(take_command(a, argc, argv, at));
	if (a->host == NULL && a->mode != SSH_QUERY && a->mode != SSH_VERSION)
		die_usage();
	return OK;
}

void args_done(struct ssh_args *a)
{
	cfg_lines_free(a->options);
	buf_done(&a->command);
	free(a->user);
	free(a->host);
}
