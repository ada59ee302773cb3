/* SPDX-License-Identifier: ISC */
/*
 * sess_agent - the client's agent lent to the user's programs here (compat 7.6, 2.7)
 *
 * A socket in ~/.ssh/agent, one a connection, and for each program that connects to it a channel to
 * the client.  Nothing of what passes is looked at.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/common/agent_socket.h"
#include "app/sshd/sess.h"
#include "os/listen.h"
#include "os/random.h"

#define PATH_ROOM   4096
#define TMP_DIR     "/tmp/ssh-XXXXXXXXXX"
#define ACCEPTS_MAX 16 /* a turn */
#define REST_US     100000

/* ---- the socket -------------------------------------------------------------------------------
 */
/* Who may write to the directory could put another socket in the place of ours. */
static bool is_own_directory(const char *socket_path)
{
	char dir[PATH_ROOM];
	struct stat st;
	(void)snprintf(dir, sizeof(dir), "%s", socket_path);
	char *slash = strrchr(dir, '/');
	if (slash == NULL)
		return false;
	*slash = '\0';
	return stat(dir, &st) == 0 && st.st_uid == geteuid() && (st.st_mode & 022) == 0;
}

static err_t listen_at_home(struct server_agent *a, const char *home)
{
	struct buf path, why;
	const struct agent_socket_new wish = {.home = home, .word = "sshd", .rng = os_rng()};
	buf_init(&path, PATH_ROOM);
	buf_init(&why, 65536);
	agent_sockets_clean(home, false);
	err_t e = agent_socket_make(&wish, &path, &a->fd, &why);
	if (e != OK)
		log_debug1("agent socket: %.*s", (int)why.n, (const char *)why.p);
	else if ((a->path = strdup((const char *)path.p)) == NULL)
		e = E_MEM;
	if (e != OK && a->fd >= 0)
		(void)unlink((const char *)path.p);
	buf_done(&path);
	buf_done(&why);
	return e;
}

/* A home that cannot be written, or whose name is too long for a socket. */
static err_t listen_in_tmp(struct server_agent *a)
{
	char dir[] = TMP_DIR, path[sizeof(TMP_DIR) + 32];
	struct buf why;
	if (mkdtemp(dir) == NULL)
		return E_IO;
	(void)snprintf(path, sizeof(path), "%s/agent.%ld", dir, (long)getpid());
	buf_init(&why, 65536);
	err_t e = agent_socket_at(path, &a->fd, &why);
	if (e != OK)
		log_debug1("agent socket: %.*s", (int)why.n, (const char *)why.p);
	else if ((a->path = strdup(path)) == NULL)
		e = E_MEM;
	buf_done(&why);
	if (e != OK) {
		(void)unlink(path);
		(void)rmdir(dir);
		return e;
	}
	a->is_in_tmp = true;
	return OK;
}

void sess_agent_end(struct server *sv)
{
	struct server_agent *a = &sv->agent;
	if (a->fd >= 0) {
		ev_io_remove(sv->ev, &a->io);
		(void)close(a->fd);
	}
	a->fd = -1;
	if (a->path == NULL)
		return;
	(void)unlink(a->path);
	char *slash = strrchr(a->path, '/');
	if (a->is_in_tmp && slash != NULL) {
		*slash = '\0';
		(void)rmdir(a->path);
	}
	free(a->path);
	a->path = NULL;
}

/* ---- programs connect ---------------------------------------------------------------------------
 */
static void on_rest(struct ev_timer *t, uint64_t now_us)
{
	struct server *sv = t->arg;
	(void)now_us;
	ev_io_want(sv->ev, &sv->agent.io, EV_IN);
}

static void on_connection(struct ev_io *io, unsigned happened)
{
	struct server *sv = io->arg;
	(void)happened;
	for (unsigned i = 0; i < ACCEPTS_MAX; i++) {
		int fd = -1;
		err_t e = os_accept(io->fd, &fd);
		if (e == OK)
			e = joints_open(&sv->joints, sv->agent.type, cslice_of(NULL, 0), fd);
		if (e == E_AGAIN)
			break;
		if (e == OK)
			continue;
		/* No descriptor or channel is left: the next one waits a moment. */
		log_debug1("a connection to the forwarded agent is not served: %s", err_text(e));
		ev_io_want(sv->ev, io, 0);
		ev_timer_set(sv->ev, &sv->agent.rest, ev_now(sv->ev) + REST_US);
		break;
	}
	pump_kick(&sv->pump);
}

/* ---- the request ------------------------------------------------------------------------------
 */
static bool is_allowed(const struct session_start *st)
{
	return st->conf->allow_agent_forwarding && !st->conf->disable_forwarding &&
	       st->permit.agent_forwarding;
}

static err_t start(struct server *sv)
{
	struct server_agent *a = &sv->agent;
	err_t e = listen_at_home(a, sv->start->user->home);
	if (e == OK && !is_own_directory(a->path)) {
		log_debug1("agent socket: others may write to the directory of %s", a->path);
		sess_agent_end(sv);
		e = E_PERMISSION;
	}
	if (e != OK)
		TRY(listen_in_tmp(a));
	int flags = fcntl(a->fd, F_GETFL);
	if (flags < 0 || fcntl(a->fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return E_IO;
	a->rest = (struct ev_timer){.at_us = UINT64_MAX, .on = on_rest, .arg = sv};
	a->io = (struct ev_io){.fd = a->fd, .want = EV_IN, .on = on_connection, .arg = sv};
	return ev_io_add(sv->ev, &a->io);
}

static bool request(struct sess *s, struct cslice body, const char *type)
{
	struct server *sv = s->server;
	if (body.n != 0)
		return false;
	if (!is_allowed(sv->start)) {
		log_debug1("agent forwarding is not allowed");
		return false;
	}
	if (sv->agent.path != NULL) { /* another session of the connection has asked */
		log_debug1("authentication agent forwarding requested twice");
		return true;
	}
	sv->agent.type = type;
	err_t e = start(sv);
	if (e == OK)
		return true;
	sess_agent_end(sv);
	log_put(LOG_L_ERROR, "agent forwarding for %s: no socket can be made: %s",
		sv->start->user->name, err_text(e));
	return false;
}

bool sess_on_agent(struct sess *s, struct cslice body)
{
	return request(s, body, "auth-agent@openssh.com");
}

bool sess_on_agent_new(struct sess *s, struct cslice body)
{
	return request(s, body, "agent-connect");
}
