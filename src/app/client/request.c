/* SPDX-License-Identifier: ISC */
/*
 * request - what every session asks of a server: a channel, environment, a program
 *
 * Everything goes out as soon as it can, without waiting for answers: a round trip each is what a
 * login cannot afford.
 */
#include <stdlib.h>
#include <string.h>

#include "app/client/client.h"
#include "app/common/qos.h"
#include "run/path.h"
#include "transport/peer.h"

#define PACKET_DATA   32768
#define BODY_MAX      ((size_t)4 << 20)
#define SECOND_US     1000000
#define OPENSSH       "!OpenSSH_Bowline_*,OpenSSH_*"
#define OPENSSH_TAKES ((uint32_t)15 << 20) /* of window; its buffers collapse beyond it */

/* ---- the connection ---------------------------------------------------------------------------
 */
err_t ssh_open_session(struct ssh *s, uint32_t *chan)
{
	struct cslice version = tp_peer_version(s->tp);
	struct cn_limits limits = {.max_packet = PACKET_DATA, .window_max = path_window(s->fd_in)};
	if (peer_is(version, OPENSSH))
		limits.window_max = (uint32_t)num_min(limits.window_max, OPENSSH_TAKES);
	TRY(cn_new(&s->cn, &(struct cn_env){.tp = s->tp, .limits = limits}));
	forward_start(s);
	ssh_alive_arm(s);
	if (chan != NULL) {
		TRY(cn_open(s->cn, "session", cslice_of(NULL, 0), chan));
		log_debug1("channel 0: new session [client-session]");
	}
	if (peer_is(version, "OpenSSH_*") && !s->has_more_sessions) {
		log_debug1("Requesting no-more-sessions@openssh.com");
		TRY(cn_global(s->cn, "no-more-sessions@openssh.com", false, cslice_of(NULL, 0)));
	}
	return OK;
}

void ssh_set_qos(struct ssh *s, bool has_tty)
{
	const struct cfg_list *names = &s->cfg.ipqos;
	if (s->is_proxied || names->n == 0)
		return;
	int tos = qos_tos(names->v[has_tty || names->n == 1 ? 0 : 1]);
	if (tos >= 0 && (tos != 0 || has_tty))
		dial_set_tos(s->fd_in, tos);
}

/* ---- requests ---------------------------------------------------------------------------------
 */
err_t ssh_request(struct ssh *s, uint32_t chan, const char *name, bool want_reply, struct buf *body)
{
	TRY(buf_err(body));
	log_debug2("channel 0: request %s confirm %d", name, want_reply);
	return cn_request(s->cn, chan, name, want_reply, buf_bytes(body));
}

static err_t send_env(struct ssh *s, uint32_t chan, struct cslice name, struct cslice value)
{
	struct buf body;
	buf_init(&body, BODY_MAX);
	buf_put_string(&body, name);
	buf_put_string(&body, value);
	log_debug1("channel 0: setting env %.*s = \"%.*s\"", (int)name.n, (const char *)name.p,
		(int)value.n, (const char *)value.p);
	err_t e = ssh_request(s, chan, "env", false, &body);
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

err_t ssh_request_env(struct ssh *s, uint32_t chan)
{
	const struct client_config *c = &s->cfg;
	struct cslice name;
	const char *value;
	for (char **e = environ; c->send_env.n > 0 && *e != NULL; e++)
		if (split_pair(*e, &name, &value) && is_sent(&c->send_env, name))
			TRY(send_env(s, chan, name, cslice_str(value)));
	for (size_t i = 0; i < c->set_env.n; i++) {
		char *expanded = NULL;
		if (!split_pair(c->set_env.v[i], &name, &value) ||
			is_set_before(&c->set_env, i, name))
			continue;
		TRY(setup_expand(s, value, TOKENS_ALL, &expanded));
		err_t e = send_env(s, chan, name, cslice_str(expanded));
		free(expanded);
		TRY(e);
	}
	return OK;
}

err_t ssh_request_program(struct ssh *s, uint32_t chan, const char *name, const char *command)
{
	struct buf body;
	buf_init(&body, BODY_MAX);
	if (command != NULL) {
		log_debug1("Sending %s: %s", strcmp(name, "exec") == 0 ? "command" : "subsystem",
			command);
		buf_put_cstring(&body, command);
	}
	err_t e = ssh_request(s, chan, name, true, &body);
	buf_done(&body);
	return e;
}

/* ---- what the server says ---------------------------------------------------------------------
 */
void ssh_say_open_failed(const struct cn_event *e)
{
	static const char *const reasons[] = {"unknown reason", "administratively prohibited",
		"connect failed", "unknown channel type", "resource shortage"};
	ssh_say(LOG_L_ERROR, "channel 0: open failed: %s: %.*s",
		e->reason < ARRAY_N(reasons) ? reasons[e->reason] : reasons[0],
		(int)num_min(e->data.n, 1024), (const char *)e->data.p);
}

void ssh_say_exit_signal(const struct ssh_exit_signal *m)
{
	ssh_say(LOG_L_INFO, "The remote command was ended by signal %.*s%s%s%.*s", (int)m->name.n,
		(const char *)m->name.p, m->core ? " (core dumped)" : "",
		m->message.n > 0 ? ": " : "", (int)num_min(m->message.n, 1024),
		(const char *)m->message.p);
}

/* ---- is the server still there? ---------------------------------------------------------------
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
		s->hooks->words(s);
		ssh_say(LOG_L_FATAL, "Timeout, server %s not responding.", s->host);
		ssh_finish(s, SSH_EXIT_ERROR, NULL);
		s->why = E_TIMEOUT;
		s->hooks->closed(s); /* nothing else tells whoever waits for the server */
		return;
	}
	s->alive_missed++;
	if (ssh_global(s, "keepalive@openssh.com", cslice_of(NULL, 0)) != OK)
		log_debug1("keepalive was not sent");
	ssh_alive_arm(s);
	pump_kick(&s->pump);
}

void ssh_alive_arm(struct ssh *s)
{
	if (s->cfg.server_alive_interval <= 0)
		return;
	s->alive_timer.on = on_alive_timer;
	s->alive_timer.arg = s;
	ev_timer_set(s->ev, &s->alive_timer,
		ev_now(s->ev) + (uint64_t)s->cfg.server_alive_interval * SECOND_US);
}
