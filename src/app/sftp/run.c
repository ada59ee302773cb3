/* SPDX-License-Identifier: ISC */
/* run - one command after the other, from whoever gives them */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/sftp/sftp.h"
#include "base/text.h"

#define PROMPT "sftp> "

/* ---- signals ------------------------------------------------------------------------------------
 */
static void on_signal(void *arg, int signo)
{
	struct sftp *s = arg;
	if (signo != SIGINT || s->child.pid != 0)
		return; /* a command on this side has got it too */
	s->is_interrupted = true;
	if (s->xfer != NULL)
		xfer_interrupt(s->xfer);
	else
		remote_interrupt(&s->r);
}

err_t sftp_catch_signals(struct sftp *s)
{
	static const int caught[] = {SIGINT};
	return ev_signals(s->ev, caught, ARRAY_N(caught), on_signal, s);
}

/* ---- a command ----------------------------------------------------------------------------------
 */
static void say_nearest(const struct command *c)
{
	const char *names[64];
	size_t n = 0;
	bool in_help = false;
	while (n < ARRAY_N(names) && (names[n] = command_name(n, &in_help)) != NULL)
		n++;
	const char *near = c->name != NULL ? text_nearest(cslice_str(c->name), names, n) : NULL;
	if (near != NULL)
		sftp_say("Did you mean %s?  help lists the commands.", near);
}

/* Does what a line says; a batch ends when it failed. */
static err_t obey(struct sftp *s, const char *line, bool *may_fail)
{
	char why[COMMAND_WHY_MAX];
	struct command c;
	err_t e = command_parse(line, &c, why);
	if (!s->is_interactive && !c.is_silent)
		sftp_print(PROMPT "%s", line);
	*may_fail = c.may_fail;
	s->is_interrupted = false;
	s->r.is_interrupted = false;
	if (e != OK) {
		sftp_say("%s", why);
		if (c.row == NULL && s->is_interactive)
			say_nearest(&c);
	} else if (c.row != NULL) {
		if (c.spare != NULL)
			sftp_say("%s: \"%s\" and what follows is not used", c.name, c.spare);
		e = c.row->fn(s, &c);
	}
	if (s->is_interrupted)
		sftp_say("Interrupt");
	command_free(&c);
	return e;
}

static err_t next_line(struct sftp *s, struct buf *line)
{
	buf_clear(line);
	if (s->edit != NULL)
		return edit_line(s->edit, PROMPT, line);
	if (s->is_interactive) {
		(void)fputs(PROMPT, stdout);
		(void)fflush(stdout);
	}
	return input_line(&s->in, line);
}

/* A line that did not come: true when there will be no more. */
static bool is_end(struct sftp *s, err_t e)
{
	if (e == E_INTERRUPTED && s->is_interactive) {
		s->r.is_interrupted = false;
		(void)fputs("\n", stdout);
		(void)fflush(stdout);
		return false;
	}
	if (e == E_NOT_FOUND && s->is_interactive)
		(void)fputs("\n", stdout);
	return true;
}

/* OK, or what ended them. */
static void say_unread(const struct sftp *s, err_t e)
{
	bool has_cause = e == E_IO && s->in.why != 0;
	sftp_say("Commands cannot be read: %s", has_cause ? strerror(s->in.why) : err_text(e));
}

/* A pipe that was closed, a full disk: nobody sees what commands say. */
static bool is_heard(void)
{
	errno = 0;
	bool has_failed = fflush(stdout) != 0 || ferror(stdout) != 0;
	int why = errno;
	if (!has_failed)
		return true;
	sftp_say("Output cannot be written%s%s", why != 0 ? ": " : "",
		why != 0 ? strerror(why) : "");
	return false;
}

static err_t obey_all(struct sftp *s)
{
	struct buf line;
	err_t e = OK;
	buf_init(&line, INPUT_LINE_MAX + 1);
	while (!s->is_over && s->r.end == OK) {
		bool may_fail = false;
		e = next_line(s, &line);
		if (e != OK) {
			if (!is_end(s, e))
				continue;
			if (e != E_NOT_FOUND && e != E_INTERRUPTED && s->r.end == OK)
				say_unread(s, e);
			e = e == E_NOT_FOUND ? OK : e;
			break;
		}
		e = obey(s, (const char *)line.p, &may_fail);
		if (e != OK && !s->is_interactive && s->is_interrupted)
			break;
		if (e != OK && s->args.is_batch && !may_fail)
			break;
		e = is_heard() ? OK : E_IO;
		if (e != OK)
			break;
	}
	buf_done(&line);
	return e;
}

/* ---- the beginning ------------------------------------------------------------------------------
 */
/* A file that the command line names is fetched, and that is all. */
static err_t fetch(struct sftp *s, const char *pattern)
{
	char name[] = "get";
	struct command c = {.row = command_find(name), .name = name};
	c.arg[0] = pattern;
	c.arg[1] = s->args.local;
	return c.row->fn(s, &c);
}

static err_t go_to(struct sftp *s, const char *path)
{
	char *real = NULL;
	err_t e = remote_realpath(&s->r, path, &real);
	if (e != OK)
		return sftp_fail(s, e, "realpath %s", path);
	sftp_tell(s, "Changing to: %s", path);
	free(s->pwd);
	s->pwd = real;
	return OK;
}

err_t sftp_begin(struct sftp *s, bool *is_done)
{
	*is_done = false;
	err_t e = remote_realpath(&s->r, ".", &s->pwd);
	if (e != OK) {
		(void)sftp_fail(s, e, "realpath .");
		sftp_say("Need cwd");
		return e;
	}
	s->start = strdup(s->pwd);
	if (s->start == NULL)
		return E_MEM;
	if (s->args.path == NULL)
		return OK;
	char *path = path_absolute(s, s->args.path);
	if (path == NULL)
		return E_MEM;
	bool is_dir = false;
	e = path_is_remote_dir(s, path, &is_dir);
	if (e == OK && is_dir && s->args.local == NULL) {
		e = go_to(s, path);
	} else if (e == OK || e == E_STATUS) {
		e = fetch(s, s->args.path);
		*is_done = true;
	}
	free(path);
	return e;
}

int sftp_run(struct sftp *s)
{
	bool is_done = false;
	err_t e = sftp_begin(s, &is_done);
	if (s->pwd == NULL)
		return SFTP_EXIT_LOST;
	if (e == OK && !is_done)
		e = obey_all(s);
	if (s->r.end != OK) {
		sftp_say_closed(s, s->r.end);
		return SFTP_EXIT_LOST;
	}
	return e == OK ? 0 : 1;
}
