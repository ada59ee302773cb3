/* SPDX-License-Identifier: ISC */
/*
 * env - what a shell needs to know of the stable agent (ssh-agent --stable)
 *
 * The agent is one per user and at a fixed path, so the same lines are right in every terminal and
 * after every login.  It is started when nothing answers there.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "app/common/agent_socket.h"
#include "app/ssh-add/sa.h"
#include "build_config.h"
#include "os/helper.h"

static bool answers(struct sa *s, const char *path)
{
	bool is_there = agent_connect(&s->agent, path) == OK;
	agent_close(&s->agent);
	return is_there;
}

/* The one installed with this program, else the one of PATH. */
static err_t start(struct buf *said)
{
	const char *installed = BINDIR "/ssh-agent";
	const char *const argv[] = {
		access(installed, X_OK) == 0 ? installed : "ssh-agent", "--stable", "-s", NULL};
	int status = 255;
	TRY(helper_capture(argv, NULL, said, &status));
	return status == 0 ? OK : E_NOT_FOUND;
}

/* As one word of a shell. */
static void put_word(const char *text)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "_./-+,:@";
	if (strspn(text, plain) == strlen(text)) {
		(void)fputs(text, stdout);
		return;
	}
	(void)putchar('\'');
	for (; *text != '\0'; text++) {
		if (*text == '\'')
			(void)fputs("'\\''", stdout);
		else
			(void)putchar(*text);
	}
	(void)putchar('\'');
}

static bool is_csh(void)
{
	const char *shell = getenv("SHELL");
	size_t n = shell != NULL ? strlen(shell) : 0;
	return n >= 3 && strcmp(shell + n - 3, "csh") == 0;
}

int sa_env(struct sa *s)
{
	struct buf path, said, why;
	const char *home = getenv("HOME"); /* as the agent does */
	buf_init(&path, PATH_MAX);
	buf_init(&said, 65536);
	buf_init(&why, 4096);
	err_t e = agent_socket_stable(
		home != NULL && home[0] == '/' ? home : s->me.home, &path, &why);
	buf_put_u8(&path, 0);
	if (e == OK)
		e = buf_err(&path);
	const char *name = e == OK ? (const char *)path.p : "~/.ssh/agent";
	if (e == OK && !answers(s, name)) {
		e = start(&said);
		if (e == OK && !answers(s, name))
			e = E_NOT_FOUND;
	}
	if (e == OK) {
		(void)fputs(is_csh() ? "setenv SSH_AUTH_SOCK " : "SSH_AUTH_SOCK=", stdout);
		put_word(name);
		(void)puts(is_csh() ? ";" : "; export SSH_AUTH_SOCK;");
	} else {
		(void)sa_say(0,
			"No agent answers at %s, and `ssh-agent --stable` does not start one%s%.*s",
			name, why.n > 0 ? ": " : "", (int)why.n, (const char *)why.p);
	}
	buf_done(&why);
	buf_done(&said);
	buf_done(&path);
	return e == OK ? SA_OK : SA_NO_AGENT;
}
