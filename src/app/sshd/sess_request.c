/* SPDX-License-Identifier: ISC */
/* sess_request - the requests of a session channel (RFC 4254 6), one row each */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "app/sshd/sess.h"

#define TERM_MAX 64

static void log_start(const struct sess *s, const char *kind, const char *what)
{
	const struct session_start *st = s->server->start;
	const char *tty = strncmp(s->tty, "/dev/", 5) == 0 ? s->tty + 5 : s->tty;
	log_put(LOG_L_VERBOSE,
		"Starting session: %s%s%.200s%s%s%s for %s from %.200s port %u id %u", kind,
		what != NULL ? " '" : "", what != NULL ? what : "", what != NULL ? "'" : "",
		s->has_pty ? " on " : "", s->has_pty ? tty : "", st->user->name, st->ends.remote,
		st->ends.remote_port, s->id);
}

/* ForceCommand stands before a command of the key, and that before what the peer asked for. */
static const char *forced_command(const struct session_start *st, const char **said)
{
	bool is_own = st->conf->force_command != NULL;
	*said = is_own ? "forced-command (config)" : "forced-command (key-option)";
	return is_own ? st->conf->force_command : st->forced_command;
}

static bool run(struct sess *s, enum sess_kind kind, const char *asked)
{
	static const char *const names[] = {[SESS_NEW] = "",
		[SESS_SHELL] = "shell",
		[SESS_COMMAND] = "command",
		[SESS_SUBSYSTEM] = "subsystem"};
	const char *said, *forced = forced_command(s->server->start, &said);
	s->kind = forced != NULL ? SESS_FORCED : kind;
	if (forced != NULL) {
		s->original = s->command;
		s->command = strdup(forced);
		if (s->command == NULL)
			return false;
		log_start(s, said, forced);
	} else {
		/* The command itself stays out of the log: it may hold secrets. */
		log_start(s, names[kind], kind == SESS_SUBSYSTEM ? asked : NULL);
	}
	/* By another name than the subsystem's it is a command as any, for the user's shell. */
	bool is_sftp = (forced != NULL || kind == SESS_SUBSYSTEM) && sess_is_sftp(s->command);
	s->sftp = !is_sftp ? SFTP_NONE : kind == SESS_SUBSYSTEM ? SFTP_SERVE : SFTP_REFUSE;
	if (s->sftp == SFTP_REFUSE)
		log_put(LOG_L_ERROR, "Connection from %.500s: refusing non-sftp session",
			s->server->start->ends.remote);
	err_t e = sess_start(s);
	if (e != OK)
		log_put(LOG_L_ERROR, "session cannot be started: %s", err_text(e));
	return e == OK;
}

static bool on_shell(struct sess *s, struct cslice body)
{
	if (s->kind != SESS_NEW || body.n != 0)
		return false;
	return run(s, SESS_SHELL, NULL);
}

static bool on_exec(struct sess *s, struct cslice body)
{
	struct ssh_exec m;
	if (s->kind != SESS_NEW || ssh_get_exec(body, &m) != OK ||
		text_dup(m.command, &s->command) != OK)
		return false;
	return run(s, SESS_COMMAND, NULL);
}

static bool on_subsystem(struct sess *s, struct cslice body)
{
	struct ssh_subsystem m;
	const struct session_start *st = s->server->start;
	const struct cfg_subsystems *known = &st->conf->subsystems;
	if (s->kind != SESS_NEW || ssh_get_subsystem(body, &m) != OK)
		return false;
	for (size_t i = 0; i < known->names.n; i++) {
		if (!cslice_eq_str(m.name, known->names.v[i]))
			continue;
		s->command = strdup(known->commands.v[i]);
		log_put(LOG_L_INFO, "subsystem request for %s by user %s", known->names.v[i],
			st->user->name);
		return s->command != NULL && run(s, SESS_SUBSYSTEM, known->names.v[i]);
	}
	log_put(LOG_L_INFO, "subsystem request for %.*s by user %s failed, subsystem not found",
		(int)num_min(m.name.n, 100), (const char *)m.name.p, st->user->name);
	return false;
}

/* RFC4254 8: opcode and value pairs up to opcode 0; opcodes from 160 end the reading. */
static void apply_modes(int fd, struct cslice modes)
{
	struct termios t;
	struct rd r = rd_of(modes);
	if (tcgetattr(fd, &t) != 0)
		return;
	while (r.n > 0) {
		uint8_t opcode = rd_u8(&r);
		if (opcode == 0 || opcode >= 160)
			break;
		uint32_t value = rd_u32(&r);
		if (r.bad)
			break;
		if (!pty_mode_apply(&t, opcode, value))
			log_debug2("terminal mode %u is not known here", opcode);
	}
	if (tcsetattr(fd, TCSANOW, &t) != 0)
		log_debug1("terminal modes could not be set");
}

static bool on_pty(struct sess *s, struct cslice body)
{
	struct ssh_pty_req m;
	struct ps_rep_pty rep;
	struct ps_client *ps = &s->server->ps;
	if (s->kind != SESS_NEW || s->has_pty || ssh_get_pty_req(body, &m) != OK ||
		m.term.n > TERM_MAX)
		return false;
	struct ps_req_pty req = {.term = m.term,
		.cols = m.cols,
		.rows = m.rows,
		.xpixel = m.xpixel,
		.ypixel = m.ypixel};
	if (ps_ask_pty(ps, &req, &rep) != OK || !rep.ok || ps->fds_n != 2 ||
		rep.tty.n >= sizeof(s->tty))
		return false;
	s->master = ps->fds[0];
	s->slave = ps->fds[1];
	s->has_pty = true;
	(void)snprintf(s->tty, sizeof(s->tty), "%.*s", (int)rep.tty.n, (const char *)rep.tty.p);
	sess_show(s->server);
	s->last_time = rep.last_time;
	if (text_dup(rep.last_host, &s->last_host) != OK || text_dup(m.term, &s->term) != OK)
		return false;
	apply_modes(s->slave, m.modes);
	return true;
}

static bool on_window_change(struct sess *s, struct cslice body)
{
	struct ssh_window_change m;
	if (!s->has_pty || ssh_get_window_change(body, &m) != OK)
		return false;
	pty_resize(s->master, m.cols, m.rows, m.xpixel, m.ypixel);
	return true;
}

static bool may_set(const struct server_config *c, struct cslice name)
{
	if (name.n == 0 || memchr(name.p, '=', name.n) != NULL)
		return false;
	for (size_t i = 0; i < c->accept_env.n; i++)
		if (glob_match(cslice_str(c->accept_env.v[i]), name))
			return true;
	return false;
}

static bool on_env(struct sess *s, struct cslice body)
{
	struct ssh_env m;
	char *name = NULL, *value = NULL;
	if (s->kind != SESS_NEW || ssh_get_env(body, &m) != OK ||
		!may_set(s->server->start->conf, m.name) || s->client_env.n >= SESS_ENV_MAX)
		return false;
	bool ok = text_dup(m.name, &name) == OK && text_dup(m.value, &value) == OK &&
		  env_set(&s->client_env, name, value) == OK;
	free(name);
	free(value);
	return ok;
}

static bool on_break(struct sess *s, struct cslice body)
{
	struct ssh_brk m;
	return ssh_get_brk(body, &m) == OK && s->has_pty && tcsendbreak(s->master, 0) == 0;
}

static bool on_signal(struct sess *s, struct cslice body)
{
	static const struct {
		const char *name;
		int signo;
	} signals[] = {{"HUP", SIGHUP}, {"INT", SIGINT}, {"KILL", SIGKILL}, {"QUIT", SIGQUIT},
		{"TERM", SIGTERM}, {"USR1", SIGUSR1}, {"USR2", SIGUSR2}};
	struct ssh_signal m;
	if (ssh_get_signal(body, &m) != OK || s->pid <= 0)
		return false;
	if (s->kind == SESS_FORCED || s->kind == SESS_SUBSYSTEM) {
		log_put(LOG_L_ERROR, "refusing to send signal SIG%.*s to %s session",
			(int)num_min(m.name.n, 16), (const char *)m.name.p,
			s->kind == SESS_FORCED ? "forced-command" : "subsystem");
		return false;
	}
	for (size_t i = 0; i < ARRAY_N(signals); i++)
		if (cslice_eq_str(m.name, signals[i].name))
			return kill(-s->pid, signals[i].signo) == 0;
	return false;
}

/* eow@openssh.com: the peer reads no more of stdout; the program learns it from a closed pipe.  Its
 * stderr goes on, and a terminal stays. */
static bool on_eow(struct sess *s, struct cslice body)
{
	if (body.n != 0 || !s->has_io)
		return false;
	if (s->has_pty || s->is_out_done || s->io.in < 0)
		return true;
	int fd = s->io.in;
	bool is_all = chanio_end_input(&s->io);
	(void)close(fd);
	if (!is_all)
		return true;
	sess_out_done(s);
	return true;
}

static const struct {
	const char *name;
	bool (*on)(struct sess *s, struct cslice body);
} requests[] = {
	{"env", on_env},
	{"pty-req", on_pty},
	{"shell", on_shell},
	{"exec", on_exec},
	{"subsystem", on_subsystem},
	{"window-change", on_window_change},
	{"signal", on_signal},
	{"break", on_break},
	{"eow@openssh.com", on_eow},
	{"auth-agent-req@openssh.com", sess_on_agent},
	{"agent-req", sess_on_agent_new},
};

bool sess_request(struct sess *s, struct cslice name, struct cslice body)
{
	for (size_t i = 0; i < ARRAY_N(requests); i++)
		if (cslice_eq_str(name, requests[i].name))
			return requests[i].on(s, body);
	return false;
}
