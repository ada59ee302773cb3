/* SPDX-License-Identifier: ISC */
/* session - the session process: loop, channels, keepalives */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "app/sshd/sess.h"
#include "os/child.h"
#include "os/drop.h"
#include "os/random.h"
#include "run/path.h"

#define POOL_BYTES      (64 * CHUNK_SIZE)
#define REST_US         500000
#define TITLE_MAX       2048
#define OPEN_PROHIBITED 1 /* RFC4254 5.1 */
#define OPEN_FAILED     2
#define OPEN_UNKNOWN    3

static void log_sink(void *arg, enum log_level level, const char *text)
{
	struct server *sv = arg;
	struct ps_rep_log rep;
	if (sv->ps.err != OK)
		return;
	(void)!ps_ask_log(&sv->ps,
		&(struct ps_req_log){.level = (uint32_t)level, .line = cslice_str(text)}, &rep);
}

void sess_log(struct server *sv)
{
	log_set(log_sink, sv, sv->log_level);
}

static NORETURN void leave(struct server *sv, int code)
{
	struct tp_counts c = {0};
	if (sv->tp != NULL)
		tp_counts(sv->tp, &c);
	log_put(LOG_L_VERBOSE, "Transferred: sent %llu, received %llu bytes",
		(unsigned long long)c.bytes_out, (unsigned long long)c.bytes_in);
	log_put(LOG_L_VERBOSE, "Closing connection to %.500s port %u", sv->start->ends.remote,
		sv->start->ends.remote_port);
	/* A terminal's programs are told that it is gone; others find their pipes closed. */
	list_each (at, tmp, &sv->sessions) {
		struct sess *s = LIST_ENTRY(at, struct sess, link);
		if (s->has_pty && s->pid > 0)
			(void)kill(-s->pid, SIGHUP);
		sess_files_stop(s);
	}
	sess_agent_end(sv);
	tp_free(sv->tp);
	_exit(code);
}

/* ---- sessions ---- */
void sess_show(const struct server *sv)
{
	struct buf ttys;
	const char *none = sv->files_n > 0 ? "internal-sftp" : "notty";
	buf_init(&ttys, TITLE_MAX);
	list_each (at, tmp, &sv->sessions) {
		const struct sess *s = LIST_ENTRY(at, struct sess, link);
		if (s->has_pty)
			buf_printf(&ttys, "%s%s", ttys.n > 0 ? "," : "",
				strncmp(s->tty, "/dev/", 5) == 0 ? s->tty + 5 : s->tty);
	}
	title_set(sv->start->title, "sshd: %s@%.*s", sv->start->user->name,
		(int)(ttys.n > 0 ? ttys.n : strlen(none)),
		ttys.n > 0 ? (const char *)ttys.p : none);
	buf_done(&ttys);
}

struct sess *sess_find(struct server *sv, uint32_t chan)
{
	list_each (at, tmp, &sv->sessions) {
		struct sess *s = LIST_ENTRY(at, struct sess, link);
		if (s->chan == chan)
			return s;
	}
	return NULL;
}

static void end_pty(struct sess *s)
{
	struct ps_rep_pty_end rep;
	if (!s->has_pty)
		return;
	if (s->slave >= 0)
		(void)close(s->slave);
	if (s->master >= 0)
		(void)close(s->master);
	s->master = s->slave = -1;
	s->has_pty = false;
	sess_show(s->server);
	(void)!ps_ask_pty_end(
		&s->server->ps, &(struct ps_req_pty_end){.tty = cslice_str(s->tty)}, &rep);
}

/* The program reads its end, and writes into nothing. */
static void let_go(struct sess *s)
{
	ev_timer_stop(s->server->ev, &s->eof_hold);
	sess_files_stop(s);
	if (s->has_io) {
		chanio_stop(&s->io);
		int fds[] = {s->io.in, s->io.in2, s->io.out.fd};
		for (size_t i = 0; i < ARRAY_N(fds); i++)
			if (fds[i] >= 0 && fds[i] != s->master)
				(void)close(fds[i]);
	}
	s->has_io = false;
	if (s->has_pty && s->pid > 0)
		(void)kill(-s->pid, SIGHUP);
	end_pty(s);
}

/* The peer wants no more of it but how it ends: CLOSE waits for the program, as some clients close
 * at the end of the output, and take the status that still comes. */
static void peer_closed(struct sess *s)
{
	let_go(s);
	bool is_running = s->pid > 0 || s->is_exited;
	s->is_out_done = true;
	if (is_running)
		sess_check_end(s);
	else
		cn_close(s->server->cn, s->chan);
}

void sess_free(struct sess *s)
{
	struct server *sv = s->server;
	let_go(s);
	log_put(LOG_L_VERBOSE, "Close session: user %s from %.200s port %u id %u",
		sv->start->user->name, sv->start->ends.remote, sv->start->ends.remote_port, s->id);
	env_done(&s->client_env);
	free(s->last_host);
	free(s->term);
	free(s->command);
	free(s->original);
	list_remove(&s->link);
	sv->sessions_n--;
	free(s);
}

static err_t open_session(struct server *sv, uint32_t chan)
{
	struct sess *s = NULL;
	if (sv->sessions_n < sv->start->conf->max_sessions && !sv->no_more_sessions)
		s = calloc(1, sizeof(*s));
	if (s == NULL)
		return cn_refuse(sv->cn, chan, OPEN_FAILED, "open failed");
	s->server = sv;
	s->chan = chan;
	s->id = sv->next_id++;
	s->master = s->slave = -1;
	env_init(&s->client_env);
	list_push(&sv->sessions, &s->link);
	sv->sessions_n++;
	TRY(cn_accept(sv->cn, chan));
	cn_hold_close(sv->cn, chan);
	return OK;
}

static err_t on_open(struct server *sv, const struct cn_event *e)
{
	static const char *const forwards[] = {
		"direct-tcpip", "direct-streamlocal@openssh.com", "tun@openssh.com"};
	log_debug1("server_input_channel_open: ctype %.*s", (int)num_min(e->name.n, 64),
		(const char *)e->name.p);
	if (cslice_eq_str(e->name, "session"))
		return open_session(sv, e->chan);
	for (size_t i = 0; i < ARRAY_N(forwards); i++)
		if (cslice_eq_str(e->name, forwards[i]))
			return cn_refuse(sv->cn, e->chan, OPEN_PROHIBITED, "open failed");
	return cn_refuse(sv->cn, e->chan, OPEN_UNKNOWN, "unknown channel type");
}

static err_t on_global(struct server *sv, const struct cn_event *e)
{
	bool ok = false;
	if (cslice_eq_str(e->name, "no-more-sessions@openssh.com"))
		ok = sv->no_more_sessions = true;
	if (e->want_reply && sess_is_prove(e->name))
		return sess_prove_hostkeys(sv, e->data);
	return e->want_reply ? cn_global_reply(sv->cn, ok, cslice_of(NULL, 0)) : OK;
}

static err_t on_request(struct server *sv, const struct cn_event *e)
{
	struct sess *s = sess_find(sv, e->chan);
	bool ok = s != NULL && sess_request(s, e->name, e->data);
	log_debug2("session request %.*s: %s", (int)num_min(e->name.n, 64), (const char *)e->name.p,
		ok ? "ok" : "refused");
	return e->want_reply ? cn_reply(sv->cn, e->chan, ok) : OK;
}

static err_t on_channel(struct server *sv, struct cn_event *e)
{
	struct sess *s = sess_find(sv, e->chan);
	if (s == NULL)
		return OK;
	if (e->type == CN_EV_CLOSED) {
		sess_free(s);
		return OK;
	}
	if (e->type == CN_EV_CLOSING) {
		peer_closed(s);
		return OK;
	}
	if (s->has_io)
		return chanio_event(&s->io, e);
	if (s->files.h != NULL)
		return sess_files_event(s, e);
	if (e->type == CN_EV_DATA)
		cn_consumed(
			sv->cn, e->chan, e->span.n); /* data before a program: nobody takes it */
	return OK;
}

static err_t on_cn_event(struct server *sv, struct cn_event *e)
{
	bool is_joint = false;
	TRY(joints_event(&sv->joints, e, &is_joint));
	if (is_joint)
		return OK;
	switch (e->type) {
	case CN_EV_OPEN:
		return on_open(sv, e);
	case CN_EV_REQUEST:
		return on_request(sv, e);
	case CN_EV_GLOBAL:
		return on_global(sv, e);
	case CN_EV_DATA:
	case CN_EV_ROOM:
	case CN_EV_EOF:
	case CN_EV_CLOSING:
	case CN_EV_CLOSED:
		return on_channel(sv, e);
	default:
		return OK;
	}
}

static err_t poll_channels(struct server *sv)
{
	for (;;) {
		struct cn_event e = {0};
		TRY(cn_poll(sv->cn, &e));
		if (e.type == CN_EV_NONE)
			return OK;
		TRY(on_cn_event(sv, &e));
	}
}

/* ---- the transport ---- */
static err_t ask_sign(struct server *sv, const struct tp_event *e)
{
	struct ps_rep_sign_host rep;
	enum hash_id hash; /* the monitor finds it by itself */
	struct ps_req_sign_host req = {
		.index = e->index, .alg = e->alg, .transcript = tp_transcript(sv->tp, &hash)};
	TRY(ps_ask_sign_host(&sv->ps, &req, &rep));
	return tp_answer(sv->tp, e->ask, rep.ok ? OK : E_KEX, rep.sig);
}

static err_t ask_group(struct server *sv, const struct tp_event *e)
{
	struct ps_rep_moduli rep;
	struct buf out;
	TRY(ps_ask_moduli(&sv->ps, &(struct ps_req_moduli){e->min, e->want, e->max, 0}, &rep));
	buf_init(&out, 4096);
	buf_put_mpint(&out, rep.p);
	buf_put_mpint(&out, rep.g);
	err_t e2 = buf_err(&out);
	if (e2 == OK)
		e2 = tp_answer(sv->tp, e->ask, rep.ok ? OK : E_KEX,
			rep.ok ? buf_bytes(&out) : cslice_of(NULL, 0));
	buf_done(&out);
	return e2;
}

static err_t on_message(struct server *sv, struct tp_event *e)
{
	if (e->msg == SSH_MSG_userauth_request)
		return OK; /* RFC4252 5.1: ignored after success */
	if (e->msg < SSH_MSG_global_request)
		return E_UNEXPECTED;
	TRY(cn_msg(sv->cn, e->msg, e->body));
	return poll_channels(sv);
}

static err_t on_event(void *arg, struct tp_event *e)
{
	struct server *sv = arg;
	switch (e->type) {
	case TP_EV_ASK_SIGN:
		return ask_sign(sv, e);
	case TP_EV_ASK_GROUP:
		return ask_group(sv, e);
	case TP_EV_MSG:
		return on_message(sv, e);
	case TP_EV_CLOSED:
		log_put(LOG_L_INFO, "Received disconnect from %s port %u:%u: %.*s",
			sv->start->ends.remote, sv->start->ends.remote_port, e->reason,
			(int)num_min(e->body.n, 400), (const char *)e->body.p);
		log_put(LOG_L_INFO, "Disconnected from user %s %s port %u", sv->start->user->name,
			sv->start->ends.remote, sv->start->ends.remote_port);
		leave(sv, 0);
	default:
		return OK;
	}
}

static err_t before_send(void *arg)
{
	struct server *sv = arg;
	list_each (at, tmp, &sv->sessions) {
		struct sess *s = LIST_ENTRY(at, struct sess, link);
		if (s->has_io)
			TRY(chanio_flush(&s->io));
		if (s->files.h != NULL)
			TRY(sess_files_turn(s));
	}
	TRY(joints_flush(&sv->joints));
	TRY(poll_channels(sv)); /* ROOM after what was sent */
	return cn_flush(sv->cn);
}

static void on_closed(void *arg, err_t why)
{
	struct server *sv = arg;
	const struct os_ends *a = &sv->start->ends;
	if (why == E_CLOSED)
		log_put(LOG_L_INFO, "Connection closed by user %s %s port %u",
			sv->start->user->name, a->remote, a->remote_port);
	else if (why == E_IO)
		log_put(LOG_L_INFO, "Connection reset by user %s %s port %u", sv->start->user->name,
			a->remote, a->remote_port);
	else
		log_put(LOG_L_ERROR,
			"ssh_dispatch_run_fatal: Connection from user %s %s port %u: %s",
			sv->start->user->name, a->remote, a->remote_port, err_text(why));
	leave(sv, EXIT_FATAL);
}

/* ---- keepalive (ClientAliveInterval) ---- */
static void on_alive(struct ev_timer *t, uint64_t now_us)
{
	struct server *sv = t->arg;
	const struct server_config *c = sv->start->conf;
	struct tp_counts n;
	tp_counts(sv->tp, &n);
	bool is_silent = n.packets_in == sv->seen_packets;
	sv->seen_packets = n.packets_in;
	sv->unanswered = is_silent ? sv->unanswered + 1 : 0;
	ev_timer_set(sv->ev, t, now_us + (uint64_t)c->client_alive_interval * 1000000);
	if (!is_silent)
		return;
	if (c->client_alive_count_max > 0 && sv->unanswered > c->client_alive_count_max) {
		log_put(LOG_L_INFO, "Timeout, client not responding from user %s %s port %u",
			sv->start->user->name, sv->start->ends.remote, sv->start->ends.remote_port);
		leave(sv, EXIT_FATAL);
	}
	if (cn_global(sv->cn, "keepalive@openssh.com", true, cslice_of(NULL, 0)) != OK)
		log_debug1("keepalive could not be sent");
	pump_kick(&sv->pump);
}

/* ---- the first quiet moment: what the login and the start of the program needed goes back ---- */
static void on_rest(struct ev_timer *t, uint64_t now_us)
{
	struct server *sv = t->arg;
	struct tp_counts n;
	tp_counts(sv->tp, &n);
	bool is_quiet = n.packets_in + n.packets_out == sv->rest_packets;
	sv->rest_packets = n.packets_in + n.packets_out;
	if (is_quiet)
		child_give_memory_back();
	else
		ev_timer_set(sv->ev, t, now_us + REST_US);
}

/* ---- children ---- */
static void reap(struct server *sv)
{
	int status;
	pid_t pid;
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		list_each (at, tmp, &sv->sessions) {
			struct sess *s = LIST_ENTRY(at, struct sess, link);
			if (s->pid != pid)
				continue;
			s->pid = 0;
			s->is_exited = true;
			s->status = status;
			sess_check_end(s);
		}
	}
	pump_kick(&sv->pump);
}

static void on_signal(void *arg, int signo)
{
	struct server *sv = arg;
	if (signo == SIGCHLD) {
		reap(sv);
		return;
	}
	log_put(LOG_L_INFO, "Exiting on signal %d", signo);
	leave(sv, EXIT_FATAL);
}

static void on_chan(struct ev_io *io, unsigned happened)
{
	struct server *sv = io->arg;
	ev_io_remove(sv->ev, io);
	sv->ps.err = E_CLOSED;
	leave(sv, EXIT_FATAL);
}

/* ---- start ---- */
static err_t make_env(struct server *sv)
{
	const struct session_start *st = sv->start;
	const struct server_config *c = st->conf;
	const char *comp = c->compression == CFG_COMP_NO ? "none" : "none,zlib@openssh.com";
	for (size_t i = 0; i < st->hostkeys_n; i++)
		sv->keys[i].blob = st->hostkeys[i];
	sv->policy = (struct alg_policy){.kex = c->kex_algorithms,
		.hostkey = st->hostkey_algs,
		.cipher_c2s = c->ciphers,
		.cipher_s2c = c->ciphers,
		.mac_c2s = c->macs,
		.mac_s2c = c->macs,
		.comp_c2s = comp,
		.comp_s2c = comp};
	sv->tp_env = (struct tp_env){.role = TP_SERVER,
		.policy = &sv->policy,
		.pool = &sv->pool,
		.rng = os_rng(),
		.version = st->version,
		.hostkeys = sv->keys,
		.hostkeys_n = st->hostkeys_n,
		.lazy_fast = true};
	sv->tp_env.limits.rekey_bytes = c->rekey_limit.bytes;
	sv->tp_env.limits.rekey_us = c->rekey_limit.seconds * 1000000;
	return OK;
}

static err_t start(struct server *sv)
{
	static const int signals[] = {SIGCHLD, SIGTERM, SIGHUP, SIGINT};
	const struct session_start *st = sv->start;
	child_ignore_pipe();
	child_ignore_file_size();
	TRY(ev_new(&sv->ev));
	TRY(ev_signals(sv->ev, signals, ARRAY_N(signals), on_signal, sv));
	TRY(make_env(sv));
	chunk_pool_init(&sv->pool, POOL_BYTES);
	TRY(tp_thaw(&sv->tp, &sv->tp_env, st->frozen, os_monotonic_us()));
	wipe((void *)(uintptr_t)st->frozen.p, st->frozen.n);
	TRY(cn_new(&sv->cn,
		&(struct cn_env){.tp = sv->tp, .limits.window_max = path_window(st->fd_in)}));
	sv->joints = (struct joints){.ev = sv->ev, .pump = &sv->pump, .cn = sv->cn};
	joints_init(&sv->joints);
	TRY(sess_tell_hostkeys(sv));
	sv->pump = (struct pump){.ev = sv->ev,
		.tp = sv->tp,
		.fd_in = st->fd_in,
		.fd_out = st->fd_out,
		.arg = sv,
		.on_event = on_event,
		.before_send = before_send,
		.on_closed = on_closed};
	sv->alive = (struct ev_timer){.at_us = UINT64_MAX, .on = on_alive, .arg = sv};
	if (st->conf->client_alive_interval > 0)
		ev_timer_set(sv->ev, &sv->alive,
			os_monotonic_us() + (uint64_t)st->conf->client_alive_interval * 1000000);
	sv->rest = (struct ev_timer){.at_us = UINT64_MAX, .on = on_rest, .arg = sv};
	ev_timer_set(sv->ev, &sv->rest, os_monotonic_us() + REST_US);
	sv->chan = (struct ev_io){.fd = st->chan, .want = EV_IN, .on = on_chan, .arg = sv};
	TRY(ev_io_add(sv->ev, &sv->chan));
	return pump_start(&sv->pump);
}

void session_main(const struct session_start *st)
{
	struct server *sv = calloc(1, sizeof(*sv));
	if (sv == NULL)
		_exit(EXIT_FATAL);
	sv->start = st;
	list_init(&sv->sessions);
	sv->agent.fd = -1;
	sess_show(sv);
	ps_client_init(&sv->ps, st->chan);
	sv->log_level = log_level();
	sess_log(sv);
	sv->place.mask = umask(0);
	(void)umask(sv->place.mask);
	err_t e = sess_chroot(sv);
	if (e == OK)
		e = user_become(st->user);
	drop_dumpable();
	if (e == OK)
		e = start(sv);
	if (e == OK)
		e = ev_run(sv->ev);
	log_put(LOG_L_ERROR, "session for %s: %s", st->user->name, err_text(e));
	leave(sv, EXIT_FATAL);
}
