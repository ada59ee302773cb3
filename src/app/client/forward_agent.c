/* SPDX-License-Identifier: ISC */
/*
 * forward_agent - the agent is lent to the server (ForwardAgent, compat 7.6)
 *
 * Each channel gets a connection to the agent of its own, and the agent is told first, on that
 * connection, which host it leads to: so keys with destinations stay within them.  The answer is
 * waited for in the loop, for an agent may be busy asking a person.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/client/client.h"

#define OPEN_PROHIBITED 1 /* RFC4254 5.1 */
#define OPEN_CONNECT    2
#define REPLY_MAX       64 /* of an answer to session-bind, which is a byte */
#define BIND_ROOM       ((size_t)1 << 20)
#define PATIENCE_US     ((uint64_t)120 * 1000000)

struct binding {
	struct list link;
	struct ssh *s;
	uint32_t chan;
	struct agent_client agent;
	struct ev_io io;
	struct ev_timer timer;
	uint8_t got[4 + REPLY_MAX];
	size_t n;
};

/* ---- is it wanted, and which agent? -------------------------------------------------------------
 */
static bool is_word(const char *value, const char *a, const char *b)
{
	return strcasecmp(value, a) == 0 || strcasecmp(value, b) == 0;
}

bool forward_agent_is_wanted(const struct ssh *s)
{
	return !is_word(s->cfg.forward_agent, "no", "false");
}

/* A copy; NULL: none is lent. */
static char *path_of(struct ssh *s)
{
	const char *value = s->cfg.forward_agent;
	char *path = NULL;
	struct stat st;
	if (!forward_agent_is_wanted(s) || s->is_key_changed)
		return NULL;
	if (is_word(value, "yes", "true"))
		return identity_agent_path(s);
	path = identity_agent_path_of(s, value);
	if (path == NULL || stat(path, &st) == 0)
		return path;
	ssh_say(LOG_L_ERROR, "Cannot forward agent socket path \"%s\": %s", path, strerror(errno));
	free(path);
	if (s->cfg.exit_on_forward_failure)
		ssh_finish(s, SSH_EXIT_ERROR, "disconnected by user");
	return NULL;
}

err_t forward_agent_request(struct ssh *s, uint32_t chan)
{
	struct forward *f = &s->forward;
	struct agent_client probe = {.fd = -1};
	struct cslice ignored;
	if (f->agent_path == NULL)
		f->agent_path = path_of(s);
	if (f->agent_path == NULL)
		return OK;
	err_t e = agent_connect(&probe, f->agent_path);
	agent_close(&probe);
	if (e != OK) {
		log_debug1("the agent at %s is not forwarded: %s", f->agent_path, err_text(e));
		free(f->agent_path);
		f->agent_path = NULL;
		return OK;
	}
	log_debug1("Requesting authentication agent forwarding.");
	bool is_new = tp_peer_ext(s->tp, "agent-forward", &ignored);
	return cn_request(s->cn, chan, is_new ? "agent-req" : "auth-agent-req@openssh.com", false,
		cslice_of(NULL, 0));
}

/* ---- a channel for it ---------------------------------------------------------------------------
 */
static void binding_free(struct binding *b)
{
	list_remove(&b->link);
	ev_io_remove(b->s->ev, &b->io);
	ev_timer_stop(b->s->ev, &b->timer);
	agent_close(&b->agent);
	free(b);
}

void forward_agent_done(struct forward *f)
{
	list_each (at, tmp, &f->binding)
		binding_free(LIST_ENTRY(at, struct binding, link));
	free(f->agent_path);
	f->agent_path = NULL;
}

static err_t refuse(struct ssh *s, uint32_t chan, err_t why)
{
	log_debug1("the agent cannot be reached for a forwarded connection: %s", err_text(why));
	return cn_refuse(s->cn, chan, OPEN_CONNECT, "open failed");
}

/* The end of the wait: the channel is accepted or refused. */
static void finish(struct binding *b, err_t e)
{
	struct ssh *s = b->s;
	uint32_t chan = b->chan;
	int fd = b->agent.fd;
	if (e == OK)
		b->agent.fd = -1;
	binding_free(b);
	e = e == OK ? joints_accept(&s->forward.joints, chan, fd) : refuse(s, chan, e);
	if (e != OK)
		log_debug1("a forwarded connection has no answer: %s", err_text(e));
	pump_kick(&s->pump);
}

static void on_timer(struct ev_timer *t, uint64_t now_us)
{
	(void)now_us;
	finish(t->arg, E_TIMEOUT);
}

/* OK: the whole answer is there; E_AGAIN: not yet. */
static err_t read_reply(struct binding *b)
{
	size_t want = 0;
	for (;;) {
		if (b->n >= 4) {
			TRY(ag_take_length(b->got, &want));
			if (want > REPLY_MAX)
				return E_FORMAT;
			if (b->n == 4 + want)
				return OK;
		}
		/* not a byte more: what follows is for the channel */
		size_t most = b->n < 4 ? 4 - b->n : 4 + want - b->n;
		ssize_t n = read(b->agent.fd, b->got + b->n, most);
		if (n == 0)
			return E_CLOSED;
		if (n < 0 && errno == EAGAIN)
			return E_AGAIN;
		if (n < 0 && errno != EINTR)
			return E_IO;
		if (n > 0)
			b->n += (size_t)n;
	}
}

static void on_reply(struct ev_io *io, unsigned happened)
{
	struct binding *b = io->arg;
	(void)happened;
	err_t e = read_reply(b);
	if (e == E_AGAIN)
		return;
	if (e == OK)
		e = ag_take_done(cslice_of(b->got + 4, b->n - 4));
	if (e == E_DENIED) { /* an agent that does not know of bindings */
		log_debug1("the agent does not bind the forwarded connection to its host");
		e = OK;
	} else if (e == OK) {
		log_debug1("bound agent to hostkey");
	}
	finish(b, e);
}

static err_t send_binding(struct binding *b)
{
	struct buf frame;
	const struct ag_binding binding = {.hostkey = tp_first_hostkey(b->s->tp),
		.session = tp_session_id(b->s->tp),
		.signature = tp_first_signature(b->s->tp),
		.is_forwarding = true};
	buf_init(&frame, BIND_ROOM);
	err_t e = ag_ask_bind(&frame, &binding);
	/* A new connection's buffer takes it whole. */
	if (e == OK && send(b->agent.fd, frame.p, frame.n, MSG_NOSIGNAL) != (ssize_t)frame.n)
		e = E_IO;
	buf_done(&frame);
	return e;
}

static err_t start_binding(struct binding *b)
{
	struct ssh *s = b->s;
	TRY(agent_connect(&b->agent, s->forward.agent_path));
	TRY(send_binding(b));
	b->io = (struct ev_io){.fd = b->agent.fd, .want = EV_IN, .on = on_reply, .arg = b};
	TRY(ev_io_add(s->ev, &b->io));
	ev_timer_set(s->ev, &b->timer, ev_now(s->ev) + PATIENCE_US);
	return OK;
}

bool forward_agent_is(struct cslice type)
{
	return cslice_eq_str(type, "auth-agent@openssh.com") ||
	       cslice_eq_str(type, "agent-connect");
}

err_t forward_agent_open(struct ssh *s, const struct cn_event *e)
{
	struct forward *f = &s->forward;
	if (f->agent_path == NULL || e->data.n != 0) {
		s->hooks->words(s);
		ssh_say(LOG_L_ERROR, "Warning: ssh server tried agent forwarding.");
		ssh_say(LOG_L_ERROR, "It was not asked for: the server may be hostile.");
		return cn_refuse(s->cn, e->chan, OPEN_PROHIBITED, "open failed");
	}
	struct binding *b = calloc(1, sizeof(*b));
	if (b == NULL)
		return refuse(s, e->chan, E_MEM);
	*b = (struct binding){.s = s, .chan = e->chan, .agent.fd = -1};
	b->timer = (struct ev_timer){.at_us = UINT64_MAX, .on = on_timer, .arg = b};
	list_push(&f->binding, &b->link);
	err_t why = start_binding(b);
	if (why == OK)
		return OK;
	binding_free(b);
	return refuse(s, e->chan, why);
}
