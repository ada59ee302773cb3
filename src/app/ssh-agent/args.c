/* SPDX-License-Identifier: ISC */
/* args - the command line */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/ssh-agent/sa.h"
#include "base/text.h"
#include "config/config.h"

enum kind { KIND_set, KIND_text, KIND_count };

#define LONG(name, letter, argument, text)
#define FLAG(letter, kind, field, argument, text)                                                  \
	{letter, KIND_##kind, offsetof(struct agent_options, field), argument, text},
static const struct flag {
	char letter;
	enum kind kind;
	size_t at;
	const char *argument, *text;
} flags[] = {
#include "app/ssh-agent/flags.def"
};
#undef FLAG
#undef LONG

#define FLAG(letter, kind, field, argument, text)
#define LONG(name, letter, argument, text) {name, text},
static const struct {
	const char *name, *text;
} longs[] = {
#include "app/ssh-agent/flags.def"
};
#undef FLAG
#undef LONG

static const struct option words[] = {{"stable", no_argument, NULL, 1}, {NULL, 0, NULL, 0}};

static int usage(void)
{
	(void)fputs("usage: ssh-agent [flags] [command [argument ...]]\n"
		    "       ssh-agent [-c | -s] -k\n"
		    "       ssh-agent [-c | -s] [-a socket] --stable\n",
		stderr);
	for (size_t i = 0; i < ARRAY_N(flags); i++)
		(void)fprintf(stderr, "  -%c %-9s %s\n", flags[i].letter,
			flags[i].argument != NULL ? flags[i].argument : "", flags[i].text);
	for (size_t i = 0; i < ARRAY_N(longs); i++)
		(void)fprintf(stderr, "  --%-10s %s\n", longs[i].name, longs[i].text);
	return AGENT_FATAL;
}

static int say(const char *text, const char *what)
{
	(void)fprintf(stderr, "ssh-agent: %s%s\n", text, what);
	return AGENT_FATAL;
}

static int check_option(struct agent_options *o)
{
	/* What concerns FIDO keys is read, and has its meaning when there are devices to sign. */
	if (strcmp(o->option, "no-restrict-websafe") == 0 ||
		strncmp(o->option, "websafe-allow=", 14) == 0)
		return AGENT_OK;
	if (strcmp(o->option, "allow-remote-pkcs11") != 0)
		return say("Unknown -O option: ", o->option);
	o->allow_remote = true;
	return AGENT_OK;
}

static int store(struct agent_options *o, const struct flag *f)
{
	char *field = (char *)o + f->at;
	if (f->kind == KIND_text)
		*(const char **)(void *)field = optarg;
	else if (f->kind == KIND_count)
		(*(unsigned *)(void *)field)++;
	else
		*(bool *)(void *)field = true;
	return f->letter == 'O' ? check_option(o) : AGENT_OK;
}

static int check_values(struct agent_options *o)
{
	int64_t seconds = 0;
	o->hash_id = HASH_SHA256;
	if (o->hash != NULL && !hash_from_name(cslice_str(o->hash), &o->hash_id))
		return say("Invalid hash algorithm: ", o->hash);
	if (o->lifetime != NULL) {
		err_t e = cfg_time(cslice_str(o->lifetime), &seconds);
		if (e != OK || seconds < 0 || seconds > UINT32_MAX)
			return say("Invalid lifetime: ", o->lifetime);
		o->lifetime_s = (uint32_t)seconds;
	}
	if (o->providers == NULL)
		o->providers = "/usr/lib*/*,/usr/local/lib*/*";
	return AGENT_OK;
}

static int check_together(struct agent_options *o)
{
	bool in_front = o->foreground || o->debug;
	if (o->command != NULL && (o->csh || o->sh || o->kill || in_front || o->launchd))
		return usage();
	if ((o->csh && o->sh) || (o->foreground && o->debug) || (o->path != NULL && o->in_tmp))
		return usage();
	if (o->stable && (o->in_tmp || o->kill || in_front || o->launchd))
		return say("--stable goes with -a, -c, -s, -t, -E, -O, -P and a command only", "");
	if (!o->csh && !o->sh && o->command == NULL) {
		const char *shell = getenv("SHELL");
		size_t n = shell != NULL ? strlen(shell) : 0;
		o->csh = n >= 3 && strcmp(shell + n - 3, "csh") == 0;
	}
	return AGENT_OK;
}

int agent_args(struct agent_options *o, int argc, char **argv)
{
	char letters[2 * ARRAY_N(flags) + 2], *at = letters;
	*at++ = '+'; /* what follows the command is the command's */
	for (size_t i = 0; i < ARRAY_N(flags); i++) {
		*at++ = flags[i].letter;
		if (flags[i].argument != NULL)
			*at++ = ':';
	}
	*at = '\0';
	for (int c = getopt_long(argc, argv, letters, words, NULL); c != -1;
		c = getopt_long(argc, argv, letters, words, NULL)) {
		size_t i = 0;
		if (c == 1) {
			o->stable = true;
			continue;
		}
		while (i < ARRAY_N(flags) && flags[i].letter != c)
			i++;
		if (i == ARRAY_N(flags))
			return usage();
		if (store(o, &flags[i]) != AGENT_OK)
			return AGENT_FATAL;
	}
	o->command = optind < argc ? argv + optind : NULL;
	int status = check_together(o);
	return status == AGENT_OK ? check_values(o) : status;
}
