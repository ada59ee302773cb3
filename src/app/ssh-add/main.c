/* SPDX-License-Identifier: ISC */
/* ssh-add - keys into the agent and out of it; flags.def is the list of what it takes */
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "app/common/say.h"
#include "app/ssh-add/sa.h"
#include "config/config.h"
#include "os/child.h"
#include "os/drop.h"
#include "os/logsink.h"

enum kind { KIND_set, KIND_text, KIND_list, KIND_later };
static const struct flag {
	char letter;
	enum kind kind;
	size_t at;
	const char *argument, *text;
} flags[] = {
#define FLAG(letter, kind, field, argument, text)                                                  \
	{letter, KIND_##kind, offsetof(struct sa_options, field), argument, text},
#define LATER(letter, argument, what) {letter, KIND_later, 0, argument, what},
#define LONG(name, letter, argument, field, text)
#include "app/ssh-add/flags.def"
#undef LONG
#undef LATER
#undef FLAG
};

#define LONG_BASE 256
static const struct long_flag {
	const char *name, *text;
	size_t at;
} long_flags[] = {
#define FLAG(letter, kind, field, argument, text)
#define LATER(letter, argument, what)
#define LONG(name, letter, argument, field, text) {name, text, offsetof(struct sa_options, field)},
#include "app/ssh-add/flags.def"
#undef LONG
#undef LATER
#undef FLAG
};

static const char synopsis[] =
	"usage: ssh-add [-CcDdkLlNQqvXx] [-E fingerprint_hash] [-H hostkey_file]\n"
	"               [-h destination_constraint] [-t life] [file ...]\n"
	"       ssh-add -T pubkey ...\n"
	"       ssh-add --apple-use-keychain [file ...]\n"
	"       ssh-add --apple-load-keychain\n"
	"       ssh-add --forget [file ...]\n"
	"       ssh-add --env\n";

int sa_say(int state, const char *fmt, ...)
{
	va_list ap;
	(void)fflush(stdout);
	va_start(ap, fmt);
	say_format(stderr, fmt, ap);
	va_end(ap);
	(void)fputc('\n', stderr);
	return state;
}

const char *sa_agent_text(err_t e)
{
	return e == E_DENIED                ? "agent refused operation"
	       : e == E_IO || e == E_CLOSED ? "communication with agent failed"
	       : e == E_TIMEOUT             ? "the agent does not answer"
	       : e == E_FORMAT || e == E_TRAILING || e == E_UNEXPECTED
		       ? "the agent's answer makes no sense"
		       : err_text(e);
}

static int usage(void)
{
	(void)fputs(synopsis, stderr);
	for (size_t i = 0; i < ARRAY_N(flags); i++)
		if (flags[i].kind != KIND_later)
			(void)fprintf(stderr, "  -%c %-11s %s\n", flags[i].letter,
				flags[i].argument != NULL ? flags[i].argument : "", flags[i].text);
	for (size_t i = 0; i < ARRAY_N(long_flags); i++)
		(void)fprintf(stderr, "  --%-20s %s\n", long_flags[i].name, long_flags[i].text);
	return SA_FAILED;
}

/* ---- the command line ---------------------------------------------------------------------------
 */
static const struct flag *flag_find(int letter)
{
	for (size_t i = 0; i < ARRAY_N(flags); i++)
		if (flags[i].letter == letter)
			return &flags[i];
	return NULL;
}

static int take(struct sa_options *o, const struct flag *f, const char *argument)
{
	char *at = (char *)o + f->at;
	bool is_action = strchr("lLxX", f->letter) != NULL;
	bool was_set = f->kind == KIND_set && *(bool *)at;
	struct sa_list *list = (struct sa_list *)(void *)at;
	if (is_action && was_set)
		return sa_say(SA_FATAL, "-%c flag already specified", f->letter);
	switch (f->kind) {
	case KIND_set:
		*(bool *)at = true;
		break;
	case KIND_text:
		*(const char **)(void *)at = argument;
		break;
	case KIND_list:
		if (list->n == SA_LIST_MAX)
			return sa_say(SA_FATAL, "too many -%c", f->letter);
		list->v[list->n++] = argument;
		break;
	case KIND_later:
		return sa_say(SA_FAILED, "ssh-add: -%c is not built yet (%s)", f->letter, f->text);
	}
	return SA_OK;
}

static int parse(struct sa_options *o, int argc, char **argv)
{
	char letters[2 * ARRAY_N(flags) + 3], *at = letters;
	struct option longs[ARRAY_N(long_flags) + 1] = {{NULL, 0, NULL, 0}};
	*at++ = '+'; /* options end at the first file */
	*at++ = ':';
	for (size_t i = 0; i < ARRAY_N(flags); i++) {
		*at++ = flags[i].letter;
		if (flags[i].argument != NULL)
			*at++ = ':';
	}
	*at = '\0';
	for (size_t i = 0; i < ARRAY_N(long_flags); i++)
		longs[i] =
			(struct option){long_flags[i].name, no_argument, NULL, LONG_BASE + (int)i};
	opterr = 0;
	for (int c = getopt_long(argc, argv, letters, longs, NULL); c != -1;
		c = getopt_long(argc, argv, letters, longs, NULL)) {
		const struct flag *f = flag_find(c);
		if (c >= LONG_BASE) {
			*(bool *)((char *)o + long_flags[c - LONG_BASE].at) = true;
			continue;
		}
		if (f == NULL && c == ':')
			f = flag_find(optopt); /* its argument is missing */
		if (f != NULL && c == ':' && f->kind != KIND_later)
			f = NULL;
		if (f == NULL) {
			(void)usage(); /* the sentence last, where it is seen */
			if (optopt == 0 || optopt >= LONG_BASE)
				return sa_say(SA_FAILED, "unknown option -- %s", argv[optind - 1]);
			return sa_say(SA_FAILED,
				c == ':' ? "option requires an argument -- %c"
					 : "unknown option -- %c",
				optopt);
		}
		int state = take(o, f, optarg);
		if (state != SA_OK)
			return state;
	}
	return SA_OK;
}

static int check_values(struct sa *s)
{
	int64_t life = 0;
	s->hash = HASH_SHA256;
	if (s->o.hash != NULL && !hash_from_name(cslice_str(s->o.hash), &s->hash))
		return sa_say(SA_FATAL, "Invalid hash algorithm \"%s\"", s->o.hash);
	if (s->o.life != NULL && (cfg_time(cslice_str(s->o.life), &life) != OK || life < 0))
		return sa_say(SA_FAILED, "Invalid lifetime");
	s->limits.lifetime_s = (uint32_t)life;
	s->limits.confirm = s->o.confirm;
	s->limits.sk_provider = agent_sk_provider();
	int actions = (s->o.lock || s->o.unlock) + (s->o.list || s->o.list_keys) + s->o.remove_all +
		      s->o.extensions;
	if (actions > 1)
		return sa_say(SA_FATAL, "Invalid combination of actions");
	return SA_OK;
}

/* ---- running ------------------------------------------------------------------------------------
 */
static int open_agent(struct sa *s)
{
	const char *path = getenv("SSH_AUTH_SOCK");
	if (path == NULL || path[0] == '\0')
		return sa_say(
			SA_NO_AGENT, "Could not open a connection to your authentication agent.");
	errno = 0;
	err_t e = agent_connect(&s->agent, path);
	if (e != OK)
		return sa_say(SA_NO_AGENT, "Error connecting to agent: %s",
			errno != 0 ? strerror(errno) : err_text(e));
	return SA_OK;
}

static int with_agent(struct sa *s, char **words, size_t n)
{
	const struct sa_options *o = &s->o;
	if (o->lock || o->unlock)
		return sa_lock(s);
	if (o->list || o->list_keys)
		return sa_list(s);
	if (o->remove_all)
		return sa_remove_all(s);
	if (o->extensions)
		return sa_extensions(s);
	int state = sa_destinations(s);
	if (state != SA_OK)
		return state;
	if (o->test && n == 0)
		return sa_say(SA_FATAL, "no keys to test");
	if (o->load_keychain)
		return sa_load_keychain(s);
	return sa_each_file(s, words, n, o->test ? sa_test : o->remove ? sa_remove : sa_add);
}

static int run(struct sa *s, char **words, size_t n)
{
	int state = check_values(s);
	if (state != SA_OK)
		return state;
	if (s->o.env)
		return sa_env(s);
	if (s->o.forget)
		return sa_each_file(s, words, n, sa_forget);
	state = open_agent(s);
	return state == SA_OK ? with_agent(s, words, n) : state;
}

int main(int argc, char **argv)
{
	struct sa s = {.agent = {.fd = -1}};
	child_open_stdio();
	drop_dumpable(); /* private keys and passphrases pass through */
	int state = parse(&s.o, argc, argv);
	if (state != SA_OK)
		return state;
	logsink_stderr(s.o.verbose ? LOG_L_DEBUG1 : s.o.quiet ? LOG_L_QUIET : LOG_L_INFO);
	err_t e = crypto_init();
	if (e != OK)
		return sa_say(
			SA_FATAL, "the cryptographic library does not start: %s", err_text(e));
	if (me_load(&s.me) != OK)
		return sa_say(SA_FATAL, "No user found with uid %u", (unsigned)getuid());
	buf_init(&s.last, 8192);
	state = run(&s, argv + optind, (size_t)(argc - optind));
	buf_done(&s.last);
	sa_destinations_done(&s);
	agent_close(&s.agent);
	me_done(&s.me);
	if (fflush(stdout) != 0 && state == SA_OK)
		state = sa_say(SA_FATAL, "writing to standard output failed");
	return state;
}
