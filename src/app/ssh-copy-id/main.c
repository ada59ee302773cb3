/* SPDX-License-Identifier: ISC */
/*
 * ssh-copy-id - public keys into the authorized_keys of an account on another host
 *
 * One login, so one question: by SFTP, which needs no shell there; where the server has none, by
 * commands over the same connection.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "app/ssh-copy-id/ci.h"
#include "os/child.h"
#include "os/logsink.h"
#include "os/prompt.h"

static void on_signal(void *arg, int signo)
{
	struct ci *c = arg;
	c->signo = signo;
	c->is_interrupted = true;
	if (c->remote.sf != NULL)
		remote_interrupt(&c->remote);
	ev_stop(c->ev);
}

/* Before the login is through they end the process at once: a question may be open. */
static err_t catch_signals(struct ci *c)
{
	static const int caught[] = {SIGHUP, SIGINT, SIGTERM};
	c->copy.is_interrupted = &c->is_interrupted;
	return ev_signals(c->ev, caught, ARRAY_N(caught), on_signal, c);
}

static int place(struct ci *c)
{
	int status = CI_FAILED;
	struct copy_to to = {.user = c->dest.user,
		.host = c->dest.host,
		.port = c->dest.port,
		.subsystem = "sftp",
		.is_try = !c->is_sftp_only};
	if (copy_connect(&c->conn, &c->copy, &to, c->ev) != OK)
		return CI_FAILED; /* told */
	err_t e = catch_signals(c);
	if (e != OK) {
		(void)copy_close(c->conn);
		return ci_fail("%s", err_text(e));
	}
	e = ci_place_sftp(c, &status);
	if (e != OK && !c->is_sftp_only)
		status = ci_place_shell(c);
	else if (e == E_CLOSED)
		(void)ci_fail("the server has no SFTP, or ends it at once");
	else if (e != OK && e != E_SERVICE) /* that one is told */
		(void)ci_fail("%s", remote_words(&c->remote, e));
	if (c->conn != NULL)
		(void)copy_close(c->conn);
	return status;
}

static void print_end(const struct ci *c, const char *destination)
{
	if (c->is_dry_run) {
		(void)printf("=-=-=-=-=-=-=-=\nWould have added the following key(s):\n\n");
		for (size_t i = 0; i < c->keys.n; i++)
			if (!c->keys.v[i].is_there)
				(void)printf("%s\n", c->keys.v[i].line);
		(void)printf("=-=-=-=-=-=-=-=\n");
		return;
	}
	for (size_t i = 0; i < c->keys.n; i++)
		if (!c->keys.v[i].is_there)
			ci_say("INFO", "added: %s", c->keys.v[i].shown);
	(void)printf("\nNumber of key(s) added: %zu\n\n"
		     "Now try logging into the machine, with:   \"%s%s%s %.*s%s\"\n"
		     "and see that the key(s) you meant, and no others, let you in.\n\n",
		c->keys.to_add, c->is_sftp_only ? "sftp" : "ssh",
		c->port == NULL   ? ""
		: c->is_sftp_only ? " -P "
				  : " -p ",
		c->port != NULL ? c->port : "", (int)c->shown_options.n,
		c->shown_options.n > 0 ? (const char *)c->shown_options.p : "", destination);
}

static int run(struct ci *c, const char *destination)
{
	struct buf safe;
	if (me_load(&c->me) != OK)
		return ci_fail("No user exists for uid %u", (unsigned)getuid());
	if (ci_keys_load(c) != OK)
		return CI_FAILED;
	err_t e = ev_new(&c->ev);
	if (e != OK)
		return ci_fail("%s", err_text(e));
	int status = place(c);
	ev_free(c->ev);
	if (status != 0 || c->keys.to_add == 0)
		return status;
	buf_init(&safe, CI_KEYS_MAX);
	vis_put(&safe, cslice_str(destination));
	buf_put_u8(&safe, 0);
	if (buf_err(&safe) == OK)
		print_end(c, (const char *)safe.p);
	buf_done(&safe);
	return fflush(stdout) == 0 ? 0 : ci_fail("writing to standard output failed");
}

/* "host:" is what scp's users write. */
static void drop_colon(char *text)
{
	size_t n = strlen(text);
	if (n > 1 && strchr(text, ':') == text + n - 1)
		text[n - 1] = '\0';
}

static int run_words(struct ci *c, int argc, char **argv)
{
	const char *word = NULL;
	if (copy_options_init(&c->copy, "ssh-copy-id") != OK)
		return CI_FAILED;
	c->copy.may_go_again = true;
	err_t e = ci_args(c, argc, argv, &word);
	if (e == E_USAGE)
		ci_usage();
	if (e != OK)
		return CI_FAILED;
	logsink_stderr(c->copy.verbose > 0 ? LOG_L_DEBUG1 : LOG_L_INFO);
	char *destination = strdup(word);
	if (destination == NULL)
		return ci_fail("%s", err_text(E_MEM));
	drop_colon(destination);
	int status = CI_FAILED;
	if (dest_parse(destination, &c->dest) != OK)
		(void)ci_fail("\"%s\" names no host", destination);
	else
		status = run(c, destination);
	free(destination);
	return status;
}

int main(int argc, char **argv)
{
	struct ci c = {0};
	child_open_stdio();
	os_sigpipe_ignore();
	buf_init(&c.shown_options, CI_KEYS_MAX);
	err_t e = crypto_init();
	int status = e == OK ? run_words(&c, argc, argv)
			     : ci_fail("the cryptographic library does not start: %s", err_text(e));
	ci_keys_free(&c.keys);
	free(c.dest.user);
	free(c.dest.host);
	me_done(&c.me);
	copy_options_done(&c.copy);
	buf_done(&c.shown_options);
	if (c.signo != 0)
		prompt_die(c.signo);
	return status;
}
