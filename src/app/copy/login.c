/* SPDX-License-Identifier: ISC */
/*
 * login - a connection of our own: channel, environment, subsystem or command
 *
 * All of it is asked for at once: bytes flow before the server has said yes, and a no that comes
 * later ends the link.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/copy/copy_int.h"
#include "os/logsink.h"
#include "os/prompt.h"

#define CLOSE_US ((uint64_t)10 * 1000000) /* for the other end to end by itself */

/* ---- what the other end prints ----------------------------------------------------------------
 */
/* A terminal is not controlled by it. */
static void put_safe(struct cslice text)
{
	struct buf safe;
	buf_init(&safe, 4 * text.n + 16);
	vis_put_lines(&safe, text);
	(void)!write(STDERR_FILENO, safe.p, safe.n);
	buf_done(&safe);
}

static void put_stderr(struct cslice text)
{
	if (isatty(STDERR_FILENO))
		put_safe(text);
	else
		(void)!write(STDERR_FILENO, text.p, text.n);
}

/* ---- events -----------------------------------------------------------------------------------
 */
static err_t on_opened(struct ssh *s)
{
	struct session *x = s->session;
	struct link_channel_env env = {
		.ev = s->ev, .pump = &s->pump, .cn = s->cn, .chan = x->chan, .rtt_us = s->rtt_us};
	ssh_set_qos(s, false);
	TRY(forward_agent_request(s, x->chan));
	TRY(ssh_request_env(s, x->chan));
	if (x->to->subsystem != NULL)
		TRY(ssh_request_program(s, x->chan, "subsystem", x->to->subsystem));
	else
		TRY(ssh_request_program(s, x->chan, "exec", x->to->command));
	TRY(link_channel_new(&x->link, &env));
	x->is_open = true;
	ev_stop(s->ev);
	return OK;
}

static void say_refused(const struct session *x)
{
	bool is_subsystem = x->to->subsystem != NULL;
	ssh_say(LOG_L_FATAL, "%s request failed on channel 0", is_subsystem ? "subsystem" : "exec");
	if (is_subsystem && strcmp(x->options->program, "scp") == 0)
		ssh_say(LOG_L_FATAL,
			"The server has no %s subsystem; scp -O uses the old protocol, which needs "
			"scp there.",
			x->to->subsystem);
	else if (is_subsystem && strcmp(x->options->program, "ssh-copy-id") == 0)
		ssh_say(LOG_L_FATAL,
			"The server has no %s subsystem; without -s its shell is used.",
			x->to->subsystem);
	else if (is_subsystem)
		ssh_say(LOG_L_FATAL,
			"The server has no %s subsystem; sftp -s /path/of/sftp-server names the "
			"program there.",
			x->to->subsystem);
}

static void on_reply(struct ssh *s, bool ok)
{
	struct session *x = s->session;
	if (ok || x->is_refused)
		return;
	x->is_refused = true;
	if (!x->to->is_try)
		say_refused(x);
	link_channel_lost(x->link, E_SERVICE);
	ev_stop(s->ev);
}

static err_t on_request(struct ssh *s, const struct cn_event *e)
{
	struct session *x = s->session;
	struct ssh_exit_status status;
	struct ssh_exit_signal signal;
	bool is_known = true;
	if (cslice_eq_str(e->name, "exit-status")) {
		TRY(ssh_get_exit_status(e->data, &status));
		x->has_status = true;
		x->status = status.status;
	} else if (cslice_eq_str(e->name, "exit-signal")) {
		if (ssh_get_exit_signal(e->data, &signal) == OK)
			ssh_say_exit_signal(&signal);
	} else {
		is_known = cslice_eq_str(e->name, "eow@openssh.com");
	}
	return e->want_reply ? cn_reply(s->cn, e->chan, is_known) : OK;
}

static err_t on_data(struct ssh *s, struct cn_event *e)
{
	struct session *x = s->session;
	if (e->ext == 0 && x->link != NULL)
		return link_channel_event(x->link, e);
	size_t n = e->span.n;
	put_stderr(cslice_of(e->span.p, n));
	cn_consumed(s->cn, e->chan, n);
	return OK;
}

static err_t on_event(struct ssh *s, struct cn_event *e)
{
	struct session *x = s->session;
	bool is_taken = false;
	TRY(forward_event(s, e, &is_taken));
	if (!is_taken)
		TRY(update_event(s, e, &is_taken));
	if (is_taken)
		return OK;
	switch (e->type) {
	case CN_EV_OPENED:
		return on_opened(s);
	case CN_EV_OPEN_FAILED:
		ssh_say_open_failed(e);
		ssh_finish(s, SSH_EXIT_ERROR, "disconnected by user");
		return OK;
	case CN_EV_DATA:
		return on_data(s, e);
	case CN_EV_CLOSED:
		x->is_closed = true;
		ev_stop(s->ev);
		/* fall through */
	case CN_EV_EOF:
	case CN_EV_ROOM:
		return x->link != NULL ? link_channel_event(x->link, e) : OK;
	case CN_EV_REQUEST:
		return on_request(s, e);
	case CN_EV_REPLY:
		on_reply(s, e->ok);
		return OK;
	case CN_EV_GLOBAL:
		return e->want_reply ? cn_global_reply(s->cn, false, cslice_of(NULL, 0)) : OK;
	default:
		return OK;
	}
}

/* ---- what app/client asks ---------------------------------------------------------------------
 */
static err_t on_logged_in(struct ssh *s)
{
	return ssh_open_session(s, &s->session->chan);
}

static err_t on_events(struct ssh *s)
{
	while (!s->is_done) {
		struct cn_event e = {0};
		TRY(cn_poll(s->cn, &e));
		if (e.type == CN_EV_NONE)
			break;
		TRY(on_event(s, &e));
	}
	return OK;
}

static err_t on_poll(struct ssh *s)
{
	struct session *x = s->session;
	TRY(on_events(s));
	if (s->is_done)
		return OK;
	TRY(forward_flush(s));
	if (x->link != NULL)
		TRY(link_channel_flush(x->link));
	return cn_flush(s->cn);
}

static void on_closed(struct ssh *s)
{
	struct session *x = s->session;
	bool is_expected = s->is_done || x->is_closed;
	s->is_done = true;
	if (!is_expected)
		connect_say_end(s, s->why);
	if (x->link != NULL)
		link_channel_lost(x->link, s->why);
	ev_stop(s->ev);
}

static void on_words(struct ssh *s)
{
	(void)s;
}

static void on_prompt_signal(struct ssh *s, int signo)
{
	(void)s;
	prompt_die(signo);
}

static const struct ssh_hooks hooks = {.logged_in = on_logged_in,
	.events = on_events,
	.poll = on_poll,
	.closed = on_closed,
	.words = on_words,
	.prompt_signal = on_prompt_signal};

/* ---- begin and end ----------------------------------------------------------------------------
 */
static err_t copy_lines(const struct cfg_lines *from, struct cfg_lines **out)
{
	struct buf frozen;
	buf_init(&frozen, (size_t)64 << 20);
	cfg_lines_put(from, &frozen);
	err_t e = buf_err(&frozen);
	if (e == OK)
		e = cfg_lines_get(out, buf_bytes(&frozen));
	buf_done(&frozen);
	return e;
}

static err_t take_options(struct ssh *s, const struct copy_options *o, const struct copy_to *to)
{
	struct ssh_args *a = &s->args;
	TRY(copy_lines(o->lines, &a->options));
	a->config_file = o->config_file;
	a->has_level = o->is_quiet || o->verbose > 0;
	a->level = copy_level(o);
	a->has_user_option = o->has_user_option;
	a->port = to->port;
	a->host = strdup(to->host);
	if (to->user != NULL && !o->has_user_option)
		a->user = strdup(to->user);
	if (to->command != NULL) /* for Match exec and %-tokens */
		buf_put(&a->command, to->command, strlen(to->command) + 1);
	a->has_command = to->command != NULL;
	bool has_all =
		a->host != NULL && (a->user != NULL || to->user == NULL || o->has_user_option);
	return has_all ? buf_err(&a->command) : E_MEM;
}

static err_t wait_open(struct copy_conn *c)
{
	struct ssh *s = c->ssh;
	struct session *x = &c->session;
	err_t e = OK;
	while (e == OK && !x->is_open && !s->is_done && !copy_is_interrupted(c->options))
		e = ev_run(s->ev);
	if (e != OK || x->is_open)
		return e;
	if (copy_is_interrupted(c->options))
		return E_INTERRUPTED;
	if (s->is_refused)
		return E_AUTH;
	return s->why != OK ? s->why : E_CLOSED;
}

static err_t log_in(struct copy_conn *c, const struct copy_to *to)
{
	struct ssh *s = c->ssh;
	TRY(ssh_begin(s));
	TRY(take_options(s, c->options, to));
	TRY(setup_config(s));
	TRY(ssh_connect(s));
	return wait_open(c);
}

static void end(struct copy_conn *c)
{
	struct ssh *s = c->ssh;
	link_channel_free(c->session.link);
	c->session.link = NULL;
	ssh_done(s);
	free(s);
	c->ssh = NULL;
	logsink_stderr(copy_level(c->options)); /* the sink was a part of it */
}

err_t copy_login(struct copy_conn *c, const struct copy_to *to)
{
	struct ssh *s = calloc(1, sizeof(*s));
	if (s == NULL)
		return E_MEM;
	c->ssh = s;
	c->session = (struct session){.options = c->options, .to = to};
	s->hooks = &hooks;
	s->program = c->options->program;
	s->session = &c->session;
	s->has_more_sessions = c->options->may_go_again;
	s->shared_ev = c->ev;
	ssh_args_init(&s->args);
	err_t e = log_in(c, to);
	if (e != OK)
		end(c);
	return e;
}

static void on_late(struct ev_timer *t, uint64_t now_us)
{
	struct session *x = t->arg;
	(void)now_us;
	x->is_late = true; /* no longer waited for */
	ev_stop(link_channel_face(x->link)->ev);
}

/* Runs the loop until the channel is closed, or the connection, or it took too long. */
static void wait_closed(struct copy_conn *c)
{
	struct session *x = &c->session;
	struct ev_timer late = {.at_us = UINT64_MAX, .on = on_late, .arg = x};
	x->is_late = false;
	ev_timer_set(c->ev, &late, os_monotonic_us() + CLOSE_US);
	while (!x->is_closed && !x->is_late && !c->ssh->is_done && !copy_is_interrupted(c->options))
		if (ev_run(c->ev) != OK)
			break;
	ev_timer_stop(c->ev, &late);
}

static void wait_for_end(struct copy_conn *c)
{
	struct session *x = &c->session;
	struct link *l = link_channel_face(x->link);
	l->on_bytes = NULL;
	l->on_room = NULL;
	l->on_end = NULL;
	l->ops->finish(l);
	if (!x->is_refused)
		wait_closed(c);
}

static int status_of(const struct session *x)
{
	return x->has_status ? (int)(x->status & 0xff) : SSH_EXIT_ERROR;
}

err_t copy_login_again(struct copy_conn *c, const struct copy_to *to, int *status)
{
	struct ssh *s = c->ssh;
	struct session *x = &c->session;
	wait_for_end(c);
	if (!x->is_closed && !s->is_done) { /* refused, or it does not end by itself */
		cn_close(s->cn, x->chan);
		pump_kick(&s->pump);
		wait_closed(c);
	}
	if (copy_is_interrupted(c->options))
		return E_INTERRUPTED;
	if (s->is_done || !x->is_closed)
		return s->why != OK ? s->why : s->is_done ? E_CLOSED : E_TIMEOUT;
	int before = status_of(x);
	link_channel_free(x->link);
	*x = (struct session){.options = c->options, .to = to};
	TRY(cn_open(s->cn, "session", cslice_of(NULL, 0), &x->chan));
	pump_kick(&s->pump);
	TRY(wait_open(c));
	*status = before;
	return OK;
}

int copy_logout(struct copy_conn *c)
{
	struct ssh *s = c->ssh;
	struct session *x = &c->session;
	wait_for_end(c);
	int status = status_of(x);
	ssh_finish(s, status, "disconnected by user");
	while (s->pump.is_running) /* at most as long as the pump waits for a slow peer */
		if (ev_run(c->ev) != OK)
			break;
	end(c);
	return status;
}
