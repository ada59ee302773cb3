/* SPDX-License-Identifier: ISC */
/* options - the command line of sftp-server, from flags.def */
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <syslog.h>
#include <unistd.h>

#include "app/sftp-server/sftp_server.h"

/* clang-format off */
static const struct { const char *name; int value; } facilities[] = {
	{"DAEMON", LOG_DAEMON}, {"USER", LOG_USER}, {"AUTH", LOG_AUTH}, {"AUTHPRIV", LOG_AUTHPRIV},
	{"LOCAL0", LOG_LOCAL0}, {"LOCAL1", LOG_LOCAL1}, {"LOCAL2", LOG_LOCAL2}, {"LOCAL3", LOG_LOCAL3},
	{"LOCAL4", LOG_LOCAL4}, {"LOCAL5", LOG_LOCAL5}, {"LOCAL6", LOG_LOCAL6}, {"LOCAL7", LOG_LOCAL7},
}, levels[] = {
	{"QUIET", LOG_L_QUIET}, {"FATAL", LOG_L_FATAL}, {"ERROR", LOG_L_ERROR}, {"INFO", LOG_L_INFO},
	{"VERBOSE", LOG_L_VERBOSE}, {"DEBUG", LOG_L_DEBUG1}, {"DEBUG1", LOG_L_DEBUG1},
	{"DEBUG2", LOG_L_DEBUG2}, {"DEBUG3", LOG_L_DEBUG3},
};
/* clang-format on */

static err_t refuse(const struct sftp_options *o, const char *what, const char *word)
{
	if (o->may_say)
		fprintf(stderr, "%s \"%s\"\n", what, word);
	return E_USAGE;
}

void sftp_usage(const char *program)
{
	fprintf(stderr,
		"usage: %s [-ehR] [-d start_directory] [-f log_facility] [-l log_level]\n"
		"\t[-P denied_requests] [-p allowed_requests] [-u umask]\n"
		"       %s -Q protocol_feature\n",
		program, program);
}

/* A restriction that names nothing would restrict nothing: then nothing is served. */
static err_t read_requests(const struct sftp_options *o, const char *list, uint64_t *set)
{
	struct cslice unknown = {0};
	if (sf_policy_names(cslice_str(list), set, &unknown) == OK)
		return OK;
	if (o->may_say)
		fprintf(stderr, "Unknown request \"%.*s\"; sftp-server -Q requests lists them\n",
			(int)unknown.n, (const char *)unknown.p);
	return E_USAGE;
}

static err_t mean(struct sftp_options *o)
{
	size_t i;
	o->policy.is_read_only = o->read_only;
	if (o->denied != NULL)
		TRY(read_requests(o, o->denied, &o->policy.denied));
	o->policy.has_allowed = o->allowed != NULL;
	if (o->allowed != NULL)
		TRY(read_requests(o, o->allowed, &o->policy.allowed));
	for (i = 0; i < ARRAY_N(levels) && strcasecmp(o->level, levels[i].name) != 0;)
		i++;
	if (i == ARRAY_N(levels))
		return refuse(o, "Invalid log level", o->level);
	o->log_level = (enum log_level)levels[i].value;
	for (i = 0; i < ARRAY_N(facilities) && strcasecmp(o->facility, facilities[i].name) != 0;)
		i++;
	if (i == ARRAY_N(facilities))
		return refuse(o, "Invalid log facility", o->facility);
	o->log_facility = facilities[i].value >> 3;
	if (o->umask != NULL) {
		char *end = NULL;
		unsigned long mask = strtoul(o->umask, &end, 8);
		if (o->umask[0] < '0' || o->umask[0] > '7' || *end != '\0' || mask > 0777)
			return refuse(o, "Invalid umask", o->umask);
		o->umask_bits = (int)mask;
	}
	return OK;
}

/* A restriction that is given twice must not lose its first half. */
static err_t take(
	const struct sftp_options *o, const char **field, const char *argument, char letter)
{
	if (*field != NULL && (letter == 'p' || letter == 'P')) {
		if (o->may_say)
			fprintf(stderr, "-%c is given twice\n", letter);
		return E_USAGE;
	}
	*field = argument;
	return OK;
}

#define LETTER_set(c)                        c, 0
#define LETTER_text(c)                       c, ':'
#define FLAG(c, kind, field, argument, text) LETTER_##kind(c),
static const char letters[] = {
#include "app/sftp-server/flags.def"
	0};
#undef FLAG

/* For getopt(3). */
static void letters_put(char out[2 * sizeof(letters)])
{
	size_t n = 0;
	for (size_t i = 0; i + 1 < sizeof(letters); i++)
		if (letters[i] != 0)
			out[n++] = letters[i];
	out[n] = '\0';
}

#define SET_set(c, field)  o->field = true;
#define SET_text(c, field) e = take(o, &o->field, optarg, c);
#define FLAG(c, kind, field, argument, text)                                                       \
	case c:                                                                                    \
		SET_##kind(c, field) break;

err_t sftp_options_read(struct sftp_options *o, int argc, char **argv, bool may_say)
{
	char words[2 * sizeof(letters)];
	err_t e = OK;
	int c;
	*o = (struct sftp_options){.umask_bits = -1, .may_say = may_say};
	opterr = may_say;
	letters_put(words);
	optind = 0; /* from the start, also where another command line has been read before */
	while (e == OK && !o->login && !o->help && (c = getopt(argc, argv, words)) != -1) {
		switch (c) {
#include "app/sftp-server/flags.def"
		default:
			if (may_say)
				sftp_usage(argv[0]);
			e = E_USAGE;
		}
	}
	if (e != OK)
		return e;
	o->level = o->level != NULL ? o->level : "ERROR";
	o->facility = o->facility != NULL ? o->facility : "AUTH";
	return mean(o);
}
