/* SPDX-License-Identifier: ISC */
/*
 * options - what the command lines of all clients have in common
 *
 * Most options stand for a configuration keyword and become one, in the order in which they came,
 * so "the first value wins" holds for all of them.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "app/client/client.h"
#include "os/file.h"

#define COMMAND_MAX ((size_t)4 << 20)

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

err_t client_option_text(struct cfg_lines *lines, const char *text)
{
	struct buf why;
	buf_init(&why, 65536);
	err_t e = cfg_lines_option(lines, text, &why);
	if (e != OK)
		say_why(&why);
	buf_done(&why);
	return e;
}

err_t client_option(struct cfg_lines *lines, const char *keyword, const char *value)
{
	assert(value != NULL);
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
		e = client_option_text(lines, (const char *)text.p);
	buf_done(&text);
	return e;
}

err_t ssh_option(struct ssh *s, const char *keyword, const char *value)
{
	return client_option(s->args.options, keyword, value);
}

/* ---- the options -------------------------------------------------------------------------------
 */
err_t ssh_flag_config_file(struct ssh *s, const char *argument)
{
	s->args.config_file = argument;
	return OK;
}

err_t client_option_identity(struct cfg_lines *lines, const char *home, const char *path)
{
	struct buf whole;
	buf_init(&whole, 65536);
	if (path[0] == '~' && path[1] == '/')
		buf_printf(&whole, "%s%s", home, path + 1);
	else
		buf_printf(&whole, "%s", path);
	buf_put_u8(&whole, 0);
	TRY(buf_err(&whole));
	int why = strchr(path, '%') != NULL || strchr(path, '$') != NULL
			  ? 0 /* tokens: known later */
			  : os_file_probe((const char *)whole.p);
	if (why != 0)
		fprintf(stderr, "Warning: Identity file %s not accessible: %s.\r\n", path,
			strerror(why));
	buf_done(&whole);
	return why != 0 ? OK : client_option(lines, "IdentityFile", path);
}

err_t ssh_flag_identity(struct ssh *s, const char *argument)
{
	return client_option_identity(s->args.options, s->me.home, argument);
}

static err_t set_user(struct ssh_args *a, const char *user)
{
	if (a->user != NULL || a->has_user_option)
		return OK; /* the first one wins */
	a->user = strdup(user);
	return a->user != NULL ? OK : E_MEM;
}

err_t ssh_flag_login(struct ssh *s, const char *argument)
{
	return set_user(&s->args, argument);
}

bool client_option_is_user(const char *text)
{
	while (*text == ' ' || *text == '\t')
		text++;
	return strncasecmp(text, "User", 4) == 0 && strchr(" \t=", text[4]) != NULL &&
	       text[4] != '\0';
}

err_t ssh_flag_option(struct ssh *s, const char *argument)
{
	if (client_option_is_user(argument) && s->args.user == NULL)
		s->args.has_user_option = true;
	return client_option_text(s->args.options, argument);
}

err_t ssh_flag_port(struct ssh *s, const char *argument)
{
	uint32_t port;
	if (text_u32(cslice_str(argument), &port) != OK || port == 0 || port > 65535) {
		fprintf(stderr, "Bad port '%s'\r\n", argument);
		return E_USAGE;
	}
	return ssh_option(s, "Port", argument);
}

err_t ssh_flag_quiet(struct ssh *s, const char *argument)
{
	(void)argument;
	s->args.has_level = true;
	s->args.level = LOG_L_QUIET;
	return OK;
}

err_t ssh_flag_verbose(struct ssh *s, const char *argument)
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

/* ---- where to ----------------------------------------------------------------------------------
 */
err_t ssh_take_destination(struct ssh *s, const char *text)
{
	struct dest d;
	err_t e = dest_parse(text, &d);
	if (e != OK) {
		fprintf(stderr,
			"%s: \"%s\" is no destination: give [user@]host or "
			"ssh://[user@]host[:port]\r\n",
			s->program, text);
		return e;
	}
	s->args.host = d.host;
	if (d.user != NULL)
		e = set_user(&s->args, d.user);
	free(d.user);
	if (e == OK && d.port != 0) {
		char port[8];
		(void)snprintf(port, sizeof(port), "%u", d.port);
		e = ssh_option(s, "Port", port);
	}
	return e;
}

void ssh_args_init(struct ssh_args *a)
{
	buf_init(&a->command, COMMAND_MAX);
}

void ssh_args_done(struct ssh_args *a)
{
	cfg_lines_free(a->options);
	buf_done(&a->command);
	free(a->user);
	free(a->host);
}
