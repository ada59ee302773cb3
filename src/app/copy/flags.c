/* SPDX-License-Identifier: ISC */
/*
 * flags - the options that scp and sftp have from ssh
 *
 * Each becomes a line of configuration for a login of our own, and words for a child's command
 * line, in the order in which they came.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/copy/copy.h"

static const struct {
	char letter;
	const char *keyword, *value; /* value NULL = the argument */
	const char *word;            /* for ssh; the argument follows it */
} table[] = {
	/* clang-format off */
	{'4', "AddressFamily", "inet",  "-4"},
	{'6', "AddressFamily", "inet6", "-6"},
	{'A', "ForwardAgent",  "yes",   "-A"},
	{'b', "BatchMode",     "yes",   "-oBatchMode=yes"},
	{'C', "Compression",   "yes",   "-C"},
	{'c', "Ciphers",       NULL,    "-c"},
	{'J', "ProxyJump",     NULL,    "-J"},
	{'P', "Port",          NULL,    "-p"},
	/* clang-format on */
};

/* What a copy never wants, whatever the files say: first, so it wins. */
static const char *const first_words[] = {"-x", "-oPermitLocalCommand=no",
	"-oClearAllForwardings=yes", "-oRemoteCommand=none", "-oRequestTTY=no",
	"-oControlMaster=no"};

static err_t add_word(struct copy_options *o, const char *word)
{
	struct str_list *l = &o->words;
	if (l->n == l->cap) {
		size_t cap = l->cap > 0 ? 2 * l->cap : 16;
		char **v = reallocarray(l->v, cap, sizeof(*v));
		if (v == NULL)
			return E_MEM;
		l->v = v;
		l->cap = cap;
	}
	l->v[l->n] = strdup(word);
	if (l->v[l->n] == NULL)
		return E_MEM;
	l->n++;
	return OK;
}

static err_t add_pair(struct copy_options *o, const char *word, const char *argument)
{
	TRY(add_word(o, word));
	return add_word(o, argument);
}

static err_t take_identity(struct copy_options *o, const char *path)
{
	struct me me = {0};
	if (path[0] == '~')
		TRY(me_load(&me));
	err_t e = client_option_identity(o->lines, me.home != NULL ? me.home : "", path);
	me_done(&me);
	TRY(e);
	return add_pair(o, "-i", path);
}

static err_t take_port(const char *argument)
{
	uint32_t port;
	if (text_u32(cslice_str(argument), &port) == OK && port > 0 && port <= 65535)
		return OK;
	fprintf(stderr, "Bad port '%s'\r\n", argument);
	return E_USAGE;
}

static err_t take_row(struct copy_options *o, size_t row, const char *argument)
{
	const char *value = table[row].value != NULL ? table[row].value : argument;
	TRY(client_option(o->lines, table[row].keyword, value));
	TRY(add_word(o, table[row].word));
	return table[row].value == NULL ? add_word(o, argument) : OK;
}

err_t copy_flag(struct copy_options *o, char letter, const char *argument)
{
	switch (letter) {
	case 'D':
		o->server = argument;
		return OK;
	case 'F':
		o->config_file = argument;
		return add_pair(o, "-F", argument);
	case 'i':
		return take_identity(o, argument);
	case 'o':
		o->has_user_option = o->has_user_option || client_option_is_user(argument);
		TRY(client_option_text(o->lines, argument));
		return add_pair(o, "-o", argument);
	case 'q':
		o->is_quiet = true;
		return add_word(o, "-q");
	case 'S':
		o->ssh_program = argument;
		return OK;
	case 'v':
		o->verbose++;
		return add_word(o, "-v");
	case 'P':
		TRY(take_port(argument));
		break;
	default:
		break;
	}
	for (size_t i = 0; i < ARRAY_N(table); i++)
		if (table[i].letter == letter)
			return take_row(o, i, argument);
	return E_BUG;
}

err_t copy_options_init(struct copy_options *o, const char *program)
{
	*o = (struct copy_options){.program = program};
	err_t e = cfg_lines_new(&o->lines);
	if (e == OK)
		e = client_option(o->lines, "ClearAllForwardings", "yes");
	if (e == OK)
		e = client_option_text(o->lines, "RemoteCommand=none");
	if (e == OK)
		e = client_option(o->lines, "RequestTTY", "no");
	for (size_t i = 0; e == OK && i < ARRAY_N(first_words); i++)
		e = add_word(o, first_words[i]);
	if (e != OK)
		fprintf(stderr, "%s: %s\r\n", program, err_text(e));
	return e;
}

/* Behind -A, so that this wins. */
err_t copy_options_end(struct copy_options *o)
{
	TRY(client_option(o->lines, "ForwardAgent", "no"));
	return add_word(o, "-oForwardAgent=no");
}

void copy_options_done(struct copy_options *o)
{
	cfg_lines_free(o->lines);
	for (size_t i = 0; i < o->words.n; i++)
		free(o->words.v[i]);
	free(o->words.v);
	*o = (struct copy_options){0};
}
