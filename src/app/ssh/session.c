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

#include "app/common/qos.h"
#include "app/ssh/ssh.h"
#include "run/path.h"
#include "transport/peer.h"

#define PACKET_DATA 32768
#define SECOND_US   1000000
#define BODY_MAX    ((size_t)4 << 20)

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

static err_t send_request(struct ssh *s, const char *name, bool want_reply, struct buf *body)
{
	TRY(buf_err(body));
	log_debug2("channel 0: request %s confirm %d", name, want_reply);
	return cn_request(s->cn, s->session->chan, name, want_reply, buf_bytes(body));
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
	err_t e = send_request(s, "pty-req", true, &body);
	s->session->pty_reply_due = e == OK;
	buf_done(&modes);
	buf_done(&body);
	return e;
}

static err_t send_env(struct ssh *s, struct cslice name, struct cslice value)
{
	struct buf body;
	buf_init(&body, BODY_MAX);
	buf_put_string(&body, name);
	buf_put_string(&body, value);
	log_debug1("channel 0: setting env %.*s = \"%.*s\"", (int)name.n, (const char *)name.p,
		(int)value.n, (const char *)value.p);
	err_t e = send_request(s, "env", false, &body);
	buf_done(&body);
	return e;
}

static bool split_pair(const char *pair, struct cslice *name, const char **value)
{
	const char *eq = strchr(pair, '=');
	if (eq == NULL || eq == pair)
		return false;
	*name = cslice_of(pair, (size_t)(eq - pair));
	*value = eq + 1;
	return true;
}

/* SendEnv: the patterns in order; one with a minus in front takes names back out. */
static bool is_sent(const struct cfg_list *patterns, struct cslice name)
{
	bool yes = false;
	for (size_t i = 0; i < patterns->n; i++) {
		const char *p = patterns->v[i];
		if (glob_match(cslice_str(p + (p[0] == '-')), name))
			yes = p[0] != '-';
	}
	return yes;
}

/* SetEnv: the first value of a name wins. */
static bool is_set_before(const struct cfg_list *pairs, size_t at, struct cslice name)
{
	struct cslice other;
	const char *value;
	for (size_t i = 0; i < at; i++)
		if (split_pair(pairs->v[i], &other, &value) && cslice_eq(other, name))
			return true;
	return false;
}

static err_t request_env(struct ssh *s)
{
	const struct client_config *c = &s->cfg;
	struct cslice name;
	const char *value;
	for (char **e = environ; c->send_env.n > 0 && *e != NULL; e++)
		if (split_pair(*e, &name, &value) && is_sent(&c->send_env, name))
			TRY(send_env(s, name, cslice_str(value)));
	for (size_t i = 0; i < c->set_env.n; i++) {
		char *expanded = NULL;
		if (!split_pair(c->set_env.v[i], &name, &value) ||
			is_set_before(&c->set_env, i, name))
			continue;
		TRY(setup_expand(s, value, TOKENS_ALL, &expanded));
		err_t e = send_env(s, name, cslice_str(expanded));
		free(expanded);
		TRY(e);
	}
	return OK;
}

static const char *program_request(const struct ssh *s)
{
	if (s->cfg.session_type == CFG_SESSION_SUBSYSTEM)
		return "subsystem";
	return s->args.has_command ? "exec" : "shell";
}

static err_t request_program(struct ssh *s)
{
	struct buf body;
	const char *name = program_request(s);
	buf_init(&body, BODY_MAX);
	if (s->args.has_command) {
		log_debug1("Sending %s: %s", strcmp(name, "exec") == 0 ? "command" : "subsystem",
			(const char *)s->args.command.p);
		buf_put_cstring(&body, (const char *)s->args.command.p);
	}
	err_t e = send_request(s, name, true, &body);
	buf_done(&body);
	return e;
}

static void set_qos(struct ssh *s)
{
	const struct cfg_list *names = &s->cfg.ipqos;
	if (s->is_proxied || names->n == 0)
		return;
	int tos = qos_tos(names->v[s->session->has_tty || names->n == 1 ? 0 : 1]);
	if (tos >= 0 && (tos != 0 || s->session->has_tty))
		dial_set_tos(s->fd_in, tos);
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
	set_qos(s);
	log_debug1("Entering interactive session.");
	if (x->has_tty)
		TRY(request_pty(s));
	TRY(request_env(s));
	TRY(request_program(s));
	x->replies_due = x->has_tty ? 2 : 1;
	tty_raw_init(&x->raw, STDIN_FILENO);
	if (x->has_tty && isatty(STDIN_FILENO) && tty_raw_enter(&x->raw) != OK)
		log_debug1("the terminal cannot be made raw");
	return join(s);
}

err_t session_start(struct ssh *s)
{
	struct cn_limits limits = {.max_packet = PACKET_DATA, .window_max = path_window(s->fd_in)};
	TRY(cn_new(&s->cn, &(struct cn_env){.tp = s->tp, .limits = limits}));
	session_alive_arm(s);
	if (s->cfg.session_type != CFG_SESSION_NONE) {
		TRY(cn_open(s->cn, "session", cslice_of(NULL, 0), &s->session->chan));
		log_debug1("channel 0: new session [client-session]");
	}
	if (peer_is(tp_peer_version(s->tp), "OpenSSH_*")) {
		log_debug1("Requesting no-more-sessions@openssh.com");
		TRY(cn_global(s->cn, "no-more-sessions@openssh.com", false, cslice_of(NULL, 0)));
	}
	return OK;
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
	if (send_request(s, "window-change", false, &body) != OK)
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
	ssh_say(LOG_L_INFO, "The remote command was ended by signal %.*s%s%s%.*s", (int)m.name.n,
		(const char *)m.name.p, m.core ? " (core dumped)" : "", m.message.n > 0 ? ": " : "",
		(int)num_min(m.message.n, 1024), (const char *)m.message.p);
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

static void on_open_failed(struct ssh *s, const struct cn_event *e)
{
	static const char *const reasons[] = {"unknown reason", "administratively prohibited",
		"connect failed", "unknown channel type", "resource shortage"};
	ssh_say(LOG_L_ERROR, "channel 0: open failed: %s: %.*s",
		e->reason < ARRAY_N(reasons) ? reasons[e->reason] : reasons[0],
		(int)num_min(e->data.n, 1024), (const char *)e->data.p);
	ssh_finish(s, SSH_EXIT_ERROR, "disconnected by user");
}

static err_t on_event(struct ssh *s, struct cn_event *e)
{
	struct session *x = s->session;
	switch (e->type) {
	case CN_EV_OPENED:
		return on_opened(s);
	case CN_EV_OPEN_FAILED:
		on_open_failed(s, e);
		return OK;
	case CN_EV_OPEN: /* nothing was asked for that would need one */
		return cn_refuse(s->cn, e->chan, 1, "open failed");
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
	if (x->has_started) {
		TRY(chanio_flush(&x->io));
		if (x->is_closed && chanio_is_drained(&x->io)) {
			session_end(s);
			return OK;
		}
	}
	return cn_flush(s->cn);
}

/* ---- is the server still there? -----------------------------------------------------------------
 */
static void on_alive_timer(struct ev_timer *t, uint64_t now_us)
{
	struct ssh *s = t->arg;
	struct tp_counts n;
	(void)now_us;
	if (s->is_done)
		return;
	tp_counts(s->tp, &n);
	if (n.packets_in != s->alive_packets)
		s->alive_missed = 0;
	s->alive_packets = n.packets_in;
	if (s->alive_missed >= s->cfg.server_alive_count_max && s->cfg.server_alive_count_max > 0) {
		session_stop(s);
		ssh_say(LOG_L_FATAL, "Timeout, server %s not responding.", s->host);
		ssh_finish(s, SSH_EXIT_ERROR, NULL);
		return;
	}
	s->alive_missed++;
	if (cn_global(s->cn, "keepalive@openssh.com", true, cslice_of(NULL, 0)) != OK)
		log_debug1("keepalive was not sent");
	session_alive_arm(s);
	pump_kick(&s->pump);
}

void session_alive_arm(struct ssh *s)
{
	if (s->cfg.server_alive_interval <= 0)
		return;
	s->alive_timer.on = on_alive_timer;
	s->alive_timer.arg = s;
	ev_timer_set(s->ev, &s->alive_timer,
		ev_now(s->ev) + (uint64_t)s->cfg.server_alive_interval * SECOND_US);
}
