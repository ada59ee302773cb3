/* SPDX-License-Identifier: ISC */
/*
 * session - the one session of a client: pty, environment, command; data; how it ended
 *
 * pty-req, env and exec go out together as soon as the channel is open, without waiting for
 * answers: a round trip each is what a login cannot afford.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "app/ssh/ssh.h"

#define SECOND_US 1000000
#define BODY_MAX  ((size_t)4 << 20)

/* ---- what is asked of the server ----------------------------------------------------------------
 */
static bool wants_tty(struct ssh *s)
{
	const struct client_config *c = &s->cfg;
	bool is_shell = !s->args.has_command && c->session_type == CFG_SESSION_DEFAULT;
	bool wants = c->request_tty == CFG_TTY_YES || c->request_tty == CFG_TTY_FORCE ||
		     (c->request_tty == CFG_TTY_AUTO && is_shell);
	if (!wants || c->request_tty == CFG_TTY_FORCE)
		return wants;
	if (c->stdin_null || !isatty(STDIN_FILENO)) {
		ssh_say(LOG_L_INFO,
			"Pseudo-terminal will not be allocated because stdin is not a terminal.");
		return false;
	}
	return true;
}

static err_t request_pty(struct ssh *s)
{
	struct buf modes, body;
	const char *term = getenv("TERM");
	struct tty_size size = tty_size_of(STDIN_FILENO);
	buf_init(&modes, 4096);
	buf_init(&body, 65536);
	tty_modes_put(STDIN_FILENO, &modes);
	buf_put_cstring(&body, term != NULL ? term : "");
	buf_put_u32(&body, size.cols);
	buf_put_u32(&body, size.rows);
	buf_put_u32(&body, size.xpixel);
	buf_put_u32(&body, size.ypixel);
	buf_put_string(&body, buf_bytes(&modes));
	err_t e = ssh_request(s, s->session->chan, "pty-req", true, &body);
	s->session->pty_reply_due = e == OK;
	buf_done(&modes);
	buf_done(&body);
	return e;
}

static const char *program_request(const struct ssh *s)
{
	if (s->cfg.session_type == CFG_SESSION_SUBSYSTEM)
		return "subsystem";
	return s->args.has_command ? "exec" : "shell";
}

/* ---- joined to our descriptors ------------------------------------------------------------------
 */
static err_t join(struct ssh *s)
{
	struct session *x = s->session;
	x->io.ev = s->ev;
	x->io.pump = &s->pump;
	x->io.cn = s->cn;
	x->io.chan = x->chan;
	x->io.in = s->cfg.stdin_null ? -1 : STDIN_FILENO;
	x->io.in2 = -1;
	x->io.out.fd = STDOUT_FILENO;
	x->io.err.fd = STDERR_FILENO;
	x->io.arg = s;
	x->escape = (struct escape){
		.character = x->has_tty ? s->cfg.escape_char : -1, .at_line_start = true};
	if (x->escape.character >= 0)
		x->io.filter = escape_filter;
	TRY(chanio_start(&x->io));
	x->has_started = true;
	if (s->cfg.stdin_null)
		cn_eof(s->cn, x->chan);
	return OK;
}

static err_t on_opened(struct ssh *s)
{
	struct session *x = s->session;
	x->is_open = true;
	x->has_tty = wants_tty(s);
	ssh_set_qos(s, x->has_tty);
	log_debug1("Entering interactive session.");
	if (x->has_tty)
		TRY(request_pty(s));
	TRY(forward_agent_request(s, x->chan));
	TRY(ssh_request_env(s, x->chan));
	TRY(ssh_request_program(s, x->chan, program_request(s),
		s->args.has_command ? (const char *)s->args.command.p : NULL));
	x->replies_due = x->has_tty ? 2 : 1;
	tty_raw_init(&x->raw, STDIN_FILENO);
	if (x->has_tty && isatty(STDIN_FILENO) && tty_raw_enter(&x->raw) != OK)
		log_debug1("the terminal cannot be made raw");
	return join(s);
}

err_t session_start(struct ssh *s)
{
	bool has_session = s->cfg.session_type != CFG_SESSION_NONE;
	return ssh_open_session(s, has_session ? &s->session->chan : NULL);
}

void session_resize(struct ssh *s)
{
	struct session *x = s->session;
	if (!x->is_open || x->is_closed || !x->has_tty || s->is_done)
		return;
	struct tty_size size = tty_size_of(STDIN_FILENO);
	struct buf body;
	buf_init(&body, 64);
	buf_put_u32(&body, size.cols);
	buf_put_u32(&body, size.rows);
	buf_put_u32(&body, size.xpixel);
	buf_put_u32(&body, size.ypixel);
	if (ssh_request(s, x->chan, "window-change", false, &body) != OK)
		log_debug1("window-change was not sent");
	buf_done(&body);
	pump_kick(&s->pump);
}

void session_stop(struct ssh *s)
{
	if (s->session->has_started)
		chanio_stop(&s->session->io);
	tty_raw_leave(&s->session->raw);
}

bool session_drain(struct ssh *s, void (*done)(void *arg))
{
	struct session *x = s->session;
	struct cn_event eof = {.type = CN_EV_EOF, .chan = x->chan};
	tty_raw_leave(&x->raw);
	if (!x->has_started || x->io.is_stopped || chanio_is_drained(&x->io))
		return false;
	ev_timer_stop(s->ev, &s->alive_timer);
	ev_io_remove(s->ev, &x->io.in_io); /* nobody reads what we would send */
	x->io.on_drained = done;
	return chanio_event(&x->io, &eof) == OK;
}

/* ---- what the server says -----------------------------------------------------------------------
 */
static void on_exit_signal(const struct session *x, struct cslice body)
{
	struct ssh_exit_signal m;
	if (ssh_get_exit_signal(body, &m) != OK)
		return;
	if (cslice_eq_str(m.name, "PIPE") && x->io.out.is_broken)
		return; /* `ssh host yes | head`: we closed first */
	ssh_say_exit_signal(&m);
}

static err_t on_request(struct ssh *s, const struct cn_event *e)
{
	struct session *x = s->session;
	log_debug1("client_input_channel_req: channel 0 rtype %.*s reply %d", (int)e->name.n,
		(const char *)e->name.p, e->want_reply);
	bool is_known = true;
	if (cslice_eq_str(e->name, "exit-status")) {
		struct ssh_exit_status m;
		TRY(ssh_get_exit_status(e->data, &m));
		x->has_status = true;
		x->status = m.status;
	} else if (cslice_eq_str(e->name, "exit-signal")) {
		on_exit_signal(x, e->data);
	} else if (cslice_eq_str(e->name, "eow@openssh.com")) {
		ev_io_remove(s->ev, &x->io.in_io); /* nobody reads what we would send */
	} else {
		is_known = false;
	}
	return e->want_reply ? cn_reply(s->cn, e->chan, is_known) : OK;
}

/* Replies come in the order of the requests: pty-req first when there was one. */
static void on_reply(struct ssh *s, bool ok)
{
	struct session *x = s->session;
	if (x->replies_due == 0)
		return;
	x->replies_due--;
	if (x->pty_reply_due) {
		x->pty_reply_due = false;
		if (ok)
			return;
		ssh_say(LOG_L_ERROR, "PTY allocation request failed on channel 0");
		tty_raw_leave(&x->raw);
		x->has_tty = false;
		return;
	}
	if (ok)
		return;
	session_stop(s);
	ssh_say(LOG_L_FATAL, "%s request failed on channel 0", program_request(s));
	ssh_finish(s, SSH_EXIT_ERROR, "disconnected by user");
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
	case CN_EV_ROOM:
	case CN_EV_EOF:
		return x->has_started ? chanio_event(&x->io, e) : OK;
	case CN_EV_CLOSED:
		x->is_closed = true;
		ev_io_remove(s->ev, &x->io.in_io);
		return OK;
	case CN_EV_REQUEST:
		return on_request(s, e);
	case CN_EV_REPLY:
		on_reply(s, e->ok);
		return OK;
	case CN_EV_GLOBAL:
		log_debug1("client_input_global_request: rtype %.*s want_reply %d", (int)e->name.n,
			(const char *)e->name.p, e->want_reply);
		return e->want_reply ? cn_global_reply(s->cn, false, cslice_of(NULL, 0)) : OK;
	default:
		return OK;
	}
}

static void say_statistics(const struct ssh *s)
{
	struct tp_counts n;
	double seconds = (double)(os_monotonic_us() - s->started_us) / SECOND_US;
	tp_counts(s->tp, &n);
	ssh_say(LOG_L_VERBOSE, "Transferred: sent %llu, received %llu bytes, in %.1f seconds",
		(unsigned long long)n.bytes_out, (unsigned long long)n.bytes_in, seconds);
	if (seconds > 0)
		ssh_say(LOG_L_VERBOSE, "Bytes per second: sent %.1f, received %.1f",
			(double)n.bytes_out / seconds, (double)n.bytes_in / seconds);
}

void session_say_closed(const struct ssh *s)
{
	if (s->session->has_tty)
		ssh_say(LOG_L_INFO, "Connection to %s closed.", s->host);
}

void session_end(struct ssh *s)
{
	struct session *x = s->session;
	int status = x->has_status ? (int)(x->status & 0xff) : SSH_EXIT_ERROR;
	session_stop(s);
	session_say_closed(s);
	say_statistics(s);
	log_debug1("Exit status %d", status);
	ssh_finish(s, status, "disconnected by user");
}

err_t session_events(struct ssh *s)
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

err_t session_poll(struct ssh *s)
{
	struct session *x = s->session;
	TRY(session_events(s));
	if (s->is_done)
		return OK;
	TRY(forward_flush(s));
	if (x->has_started) {
		TRY(chanio_flush(&x->io));
		if (x->is_closed && chanio_is_drained(&x->io)) {
			session_end(s);
			return OK;
		}
	}
	return cn_flush(s->cn);
}
