/* SPDX-License-Identifier: ISC */
/*
 * serve - the loop of the agent: who connects, whose bytes come, which keys have had their time
 *
 * One process, nothing blocks: a client that does not read, or whose request waits for a person,
 * keeps its own reply and no more.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "app/ssh-agent/sa.h"
#include "os/child.h"
#include "os/drop.h"
#include "os/listen.h"
#include "os/random.h"

#define PARENT_LOOK_US 10000000u
#define PAUSE_US       100000u /* no descriptor was left for a client */
/* By what a certificate of a host may be signed that a constraint asks for. */
#define CA_ALGS                                                                                    \
	"ssh-ed25519,ecdsa-sha2-nistp256,ecdsa-sha2-nistp384,ecdsa-sha2-nistp521,"                 \
	"sk-ssh-ed25519@openssh.com,sk-ecdsa-sha2-nistp256@openssh.com,rsa-sha2-512,rsa-sha2-256," \
	"ssh-mldsa44-ed25519@openssh.com"

struct agent_loop {
	struct ev *ev;
	struct ag_store *store;
	struct agent_asker *asker;
	const struct agent_listen *listen;
	struct ev_io doors[AGENT_SOCKETS_MAX];
	struct list clients;
	struct ev_timer expire, parent, pause;
	int status;
};

struct client {
	struct list link;
	struct agent_loop *loop;
	struct ev_io io;
	struct ev_timer later;
	struct ag *ag;
	uint32_t ask;
	struct agent_question question;
};

static struct ag_now now_of(void)
{
	return (struct ag_now){os_monotonic_us(), os_wall_s()};
}

static void say(void *arg, enum log_level level, const char *line)
{
	(void)arg;
	log_put(level, "%s", line);
}

static void expire_keys(struct agent_loop *l)
{
	uint64_t next = ag_store_expire(l->store, os_monotonic_us());
	if (next == AG_NEVER)
		ev_timer_stop(l->ev, &l->expire);
	else if (next != l->expire.at_us)
		ev_timer_set(l->ev, &l->expire, next);
}

static void on_expire(struct ev_timer *t, uint64_t now_us)
{
	(void)now_us;
	t->at_us = UINT64_MAX;
	expire_keys(t->arg);
}

/* ---- one client ---------------------------------------------------------------------------------
 */
static void client_end(struct client *c)
{
	agent_ask_drop(c->loop->asker, &c->question);
	ev_timer_stop(c->loop->ev, &c->later);
	ev_io_remove(c->loop->ev, &c->io);
	(void)close(c->io.fd);
	ag_free(c->ag);
	list_remove(&c->link);
	free(c);
}

static void client_go_on(struct client *c);

static void client_answered(void *arg, err_t verdict)
{
	struct client *c = arg;
	if (ag_answer(c->ag, c->ask, verdict) != OK)
		log_debug1("an answer came to a question that was not asked");
	client_go_on(c);
}

static bool client_waits(void *arg)
{
	const struct client *c = arg;
	struct pollfd p = {.fd = c->io.fd};
	return poll(&p, 1, 0) <= 0 || (p.revents & (POLLHUP | POLLERR)) == 0;
}

/* false: it has gone. */
static bool client_send(struct client *c)
{
	for (struct cslice out = ag_ready(c->ag); out.n > 0; out = ag_ready(c->ag)) {
		ssize_t n = send(c->io.fd, out.p, out.n, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN || errno == EWOULDBLOCK;
		ag_sent(c->ag, (size_t)n);
	}
	return true;
}

static void client_want(struct client *c)
{
	unsigned want = ag_ready(c->ag).n > 0 ? EV_OUT : 0;
	uint64_t until_us = ag_deadline(c->ag);
	if (ag_space(c->ag).n > 0)
		want |= EV_IN;
	ev_io_want(c->loop->ev, &c->io, want);
	if (until_us != AG_NEVER)
		ev_timer_set(c->loop->ev, &c->later, until_us);
}

/* Everything that can be done without more bytes, more room or an answer. */
static void client_go_on(struct client *c)
{
	struct ag_event ev;
	bool is_more = true;
	while (is_more) {
		const struct ag_now now = now_of();
		expire_keys(c->loop);
		err_t e = ag_poll(c->ag, &now, &ev);
		if (e == OK && ev.type == AG_EV_CONFIRM) {
			c->ask = ev.ask;
			c->question.text = ev.question;
			agent_ask(c->loop->asker, &c->question); /* may answer at once */
			return;
		}
		is_more = ag_ready(c->ag).n > 0;
		if (!client_send(c) || (e != OK && ag_ready(c->ag).n == 0)) {
			client_end(c);
			return;
		}
		is_more = is_more && ag_ready(c->ag).n == 0;
	}
	expire_keys(c->loop);
	client_want(c);
}

static void on_later(struct ev_timer *t, uint64_t now_us)
{
	(void)now_us;
	t->at_us = UINT64_MAX;
	client_go_on(t->arg);
}

static void on_client(struct ev_io *io, unsigned happened)
{
	struct client *c = io->arg;
	struct slice room = (happened & EV_IN) != 0 ? ag_space(c->ag) : (struct slice){NULL, 0};
	if (room.n > 0) {
		ssize_t n = recv(io->fd, room.p, room.n, MSG_DONTWAIT);
		if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN)) {
			client_end(c);
			return;
		}
		ag_fed(c->ag, n > 0 ? (size_t)n : 0);
	}
	client_go_on(c);
}

static bool is_welcome(int fd)
{
	struct ucred who;
	socklen_t n = sizeof(who);
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &n) != 0)
		return false;
	if (who.uid == 0 || who.uid == geteuid())
		return true;
	log_put(LOG_L_ERROR, "uid mismatch: peer euid %u != uid %u", who.uid, geteuid());
	return false;
}

static err_t client_new(struct agent_loop *l, int fd)
{
	struct client *c = is_welcome(fd) ? calloc(1, sizeof(*c)) : NULL;
	if (c == NULL)
		return E_DENIED;
	c->loop = l;
	c->io = (struct ev_io){.fd = fd, .want = EV_IN, .on = on_client, .arg = c};
	c->later = (struct ev_timer){.at_us = UINT64_MAX, .on = on_later, .arg = c};
	c->question = (struct agent_question){
		.done = client_answered, .is_wanted = client_waits, .arg = c};
	list_init(&c->question.link);
	err_t e = ag_new(&c->ag, l->store);
	if (e == OK)
		e = ev_io_add(l->ev, &c->io);
	if (e != OK) {
		ag_free(c->ag);
		free(c);
		return e;
	}
	list_push(&l->clients, &c->link);
	return OK;
}

/* ---- the doors ----------------------------------------------------------------------------------
 */
static void doors_want(struct agent_loop *l, unsigned want)
{
	for (size_t i = 0; i < l->listen->n; i++)
		ev_io_want(l->ev, &l->doors[i], want);
}

static void on_door(struct ev_io *io, unsigned happened)
{
	struct agent_loop *l = io->arg;
	int fd = -1;
	(void)happened;
	err_t e = os_accept(io->fd, &fd);
	if (e == E_LIMIT) {
		doors_want(l, 0);
		ev_timer_set(l->ev, &l->pause, os_monotonic_us() + PAUSE_US);
	}
	if (e == OK && client_new(l, fd) != OK)
		(void)close(fd);
}

static void on_pause_over(struct ev_timer *t, uint64_t now_us)
{
	(void)now_us;
	doors_want(t->arg, EV_IN);
}

static void on_parent(struct ev_timer *t, uint64_t now_us)
{
	struct agent_loop *l = t->arg;
	if (getppid() != l->listen->parent) {
		l->status = AGENT_ENDED;
		ev_stop(l->ev);
		return;
	}
	ev_timer_set(l->ev, t, now_us + PARENT_LOOK_US);
}

static void on_signal(void *arg, int signo)
{
	struct agent_loop *l = arg;
	if (signo == SIGCHLD) {
		agent_asker_child(l->asker);
	} else if (signo == SIGUSR1) {
		ag_store_clear(l->store);
		log_debug1("all keys are deleted");
	} else {
		l->status = signo == SIGTERM && l->listen->is_activated ? AGENT_OK : AGENT_ENDED;
		ev_stop(l->ev);
	}
}

static err_t loop_start(struct agent_loop *l, bool in_front)
{
	static const int signos[] = {SIGCHLD, SIGUSR1, SIGTERM, SIGHUP, SIGINT};
	TRY(ev_new(&l->ev));
	TRY(agent_asker_new(&l->asker, l->ev));
	if (!in_front)
		ev_signal_ignore(SIGINT);
	TRY(ev_signals(l->ev, signos, ARRAY_N(signos) - (in_front ? 0 : 1), on_signal, l));
	for (size_t i = 0; i < l->listen->n; i++) {
		l->doors[i] = (struct ev_io){
			.fd = l->listen->fds[i], .want = EV_IN, .on = on_door, .arg = l};
		TRY(ev_io_add(l->ev, &l->doors[i]));
	}
	l->expire = (struct ev_timer){.at_us = UINT64_MAX, .on = on_expire, .arg = l};
	l->pause = (struct ev_timer){.at_us = UINT64_MAX, .on = on_pause_over, .arg = l};
	l->parent = (struct ev_timer){.at_us = UINT64_MAX, .on = on_parent, .arg = l};
	if (l->listen->parent != 0)
		ev_timer_set(l->ev, &l->parent, os_monotonic_us() + PARENT_LOOK_US);
	return OK;
}

int agent_serve(const struct agent_options *o, const struct agent_listen *listen)
{
	struct agent_loop l = {.listen = listen, .status = AGENT_FATAL};
	const struct ag_store_env env = {.rng = os_rng(),
		.ca_algs = CA_ALGS,
		.lifetime_s = o->lifetime_s,
		.providers = o->providers,
		.allow_remote = o->allow_remote,
		.hash = o->hash_id,
		.say = say};
	list_init(&l.clients);
	drop_dumpable();
	os_sigpipe_ignore();
	err_t e = drop_new_privs();
	if (e == OK)
		e = ag_store_new(&l.store, &env);
	if (e == OK)
		e = loop_start(&l, o->foreground || o->debug || listen->is_activated);
	if (e == OK)
		e = ev_run(l.ev);
	if (e != OK)
		log_put(LOG_L_ERROR, "the agent ends: %s", err_text(e));
	list_each (at, tmp, &l.clients)
		client_end(LIST_ENTRY(at, struct client, link));
	ag_store_free(l.store);
	agent_asker_free(l.asker);
	if (l.ev != NULL)
		ev_free(l.ev);
	if (listen->path != NULL)
		(void)unlink(listen->path);
	if (listen->folder != NULL)
		(void)rmdir(listen->folder);
	return l.status;
}
