/* SPDX-License-Identifier: ISC */
/* main - the client at the keyboard: what happens between the login and the end */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/ssh/ssh.h"
#include "os/prompt.h"

/* ---- the connection's end -----------------------------------------------------------------------
 */
/* Nothing is left, neither of the connection nor of what it brought. */
static void on_drained(void *arg)
{
	struct ssh *s = arg;
	if (!s->is_done && s->session->is_closed) {
		session_end(s);
		return;
	}
	session_stop(s);
	if (!s->is_done) {
		s->exit_status = SSH_EXIT_ERROR;
		bool ended =
			s->session->has_status && (s->why == E_CLOSED || s->why == E_DISCONNECTED);
		connect_say_end(s, s->why);
		if (s->why == E_CLOSED && s->is_logged_in)
			session_say_closed(s);
		if (ended)
			s->exit_status = (int)(s->session->status & 0xff);
	}
	s->is_done = true;
	ev_stop(s->ev);
}

static void on_closed(struct ssh *s)
{
	if (s->is_done || !session_drain(s, on_drained))
		on_drained(s);
}

/* ---- signals ------------------------------------------------------------------------------------
 */
static void on_signal(void *arg, int signo)
{
	struct ssh *s = arg;
	if (signo == SIGWINCH) {
		session_resize(s);
		return;
	}
	bool is_plain_end = signo == SIGTERM && s->cfg.session_type == CFG_SESSION_NONE;
	session_stop(s);
	ssh_say(is_plain_end ? LOG_L_VERBOSE : LOG_L_INFO, "Killed by signal %d.", signo);
	ssh_finish(s, is_plain_end ? 0 : SSH_EXIT_ERROR, "disconnected by user");
}

static err_t on_logged_in(struct ssh *s)
{
	static const int caught[] = {SIGHUP, SIGINT, SIGTERM, SIGQUIT, SIGWINCH};
	TRY(ssh_catch_signals(s, caught, ARRAY_N(caught), on_signal));
	return session_start(s);
}

static void on_words(struct ssh *s)
{
	tty_raw_leave(&s->session->raw);
}

static void on_signal_at_question(struct ssh *s, int signo)
{
	session_stop(s);
	prompt_die(signo);
}

static const struct ssh_hooks hooks = {.logged_in = on_logged_in,
	.events = session_events,
	.poll = session_poll,
	.closed = on_closed,
	.words = on_words,
	.prompt_signal = on_signal_at_question};

/* ---- the run ------------------------------------------------------------------------------------
 */
static int dump(struct ssh *s)
{
	struct buf out;
	buf_init(&out, (size_t)16 << 20);
	err_t e = client_config_dump(&s->cfg, &s->situation, &out);
	bool is_fine = e == OK && fwrite(out.p, 1, out.n, stdout) == out.n && fflush(stdout) == 0;
	buf_done(&out);
	return is_fine ? 0 : SSH_EXIT_ERROR;
}

/* -Z: the keys that a login would try, in order. */
static int show_keys(struct ssh *s)
{
	identities_load(s);
	for (size_t i = 0; i < s->ids_n; i++)
		printf("%s\n", s->ids[i].shown != NULL ? s->ids[i].shown : s->ids[i].name);
	return fflush(stdout) == 0 ? 0 : SSH_EXIT_ERROR;
}

static int run_mode(struct ssh *s)
{
	if (s->cli->mode == SSH_VERSION) {
		version_print();
		return 0;
	}
	if (s->cli->mode == SSH_QUERY)
		return query_print(s->cli->query);
	if (s->cli->log_file != NULL) {
		int why = logsink_file(&s->log, s->cli->log_file, LOG_L_INFO);
		if (why != 0) {
			fprintf(stderr, "Couldn't open logfile %s: %s\r\n", s->cli->log_file,
				strerror(why));
			return SSH_EXIT_ERROR;
		}
	}
	if (setup_config(s) != OK)
		return SSH_EXIT_ERROR;
	if (s->cli->mode == SSH_DUMP)
		return dump(s);
	if (s->cli->mode == SSH_KEYS)
		return show_keys(s);
	if (s->cfg.session_type == CFG_SESSION_SUBSYSTEM && !s->args.has_command) {
		ssh_say(LOG_L_FATAL, "You must specify a subsystem to invoke.");
		return SSH_EXIT_ERROR;
	}
	s->exit_status = SSH_EXIT_ERROR;
	err_t e = ssh_connect(s);
	if (e == OK)
		e = ev_run(s->ev);
	return e == OK ? s->exit_status : SSH_EXIT_ERROR;
}

int main(int argc, char **argv)
{
	static struct ssh ssh; /* large; one a process */
	static struct session session;
	struct ssh *s = &ssh;
	struct cli cli = {.mode = SSH_CONNECT};
	s->hooks = &hooks;
	s->program = "ssh";
	s->session = &session;
	s->cli = &cli;
	int status = SSH_EXIT_ERROR;
	if (ssh_begin(s) == OK && args_parse(s, argc, argv) == OK)
		status = run_mode(s);
	session_stop(s);
	ssh_done(s);
	return status;
}
