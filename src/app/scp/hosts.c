/* SPDX-License-Identifier: ISC */
/* hosts - the connections of a run: one for each host and direction, kept until the end */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "app/scp/scp.h"

static bool is_same(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static bool is_for(const struct host *h, const struct target *t, bool is_source)
{
	return h->is_source == is_source && h->port == t->port && is_same(h->user, t->user) &&
	       is_same(h->host, t->host);
}

static void on_signal(void *arg, int signo)
{
	struct scp *s = arg;
	s->signo = signo;
	s->is_interrupted = true;
	if (s->xfer != NULL)
		xfer_interrupt(s->xfer);
	for (struct host *h = s->hosts; h != NULL; h = h->next)
		remote_interrupt(&h->remote);
	ev_stop(s->ev);
}

/* Before it, they end the process at once: a question may be open. */
err_t hosts_signals(struct scp *s)
{
	static const int caught[] = {SIGHUP, SIGINT, SIGTERM};
	if (s->has_signals)
		return OK;
	s->has_signals = true;
	s->copy.is_interrupted = &s->is_interrupted;
	return ev_signals(s->ev, caught, ARRAY_N(caught), on_signal, s);
}

static err_t connect_to(struct scp *s, const struct copy_to *to, struct copy_conn **out)
{
	err_t e = s->is_interrupted ? E_INTERRUPTED : copy_connect(out, &s->copy, to, s->ev);
	if (e == OK) {
		e = hosts_signals(s);
		if (e != OK)
			(void)copy_close(*out);
	}
	if (e != OK) {
		s->is_lost = true;
		s->failed++;
	}
	if (e != OK && e != E_INTERRUPTED) /* also for those who silence the rest by -q */
		scp_say(s, LOG_L_ERROR,
			s->mode == SCP_OLD ? "lost connection" : "Connection closed");
	return e;
}

err_t hosts_command(
	struct scp *s, const struct target *t, const char *command, struct copy_conn **out)
{
	struct copy_to to = {.user = t->user, .host = t->host, .port = t->port, .command = command};
	return connect_to(s, &to, out);
}

static err_t start(struct scp *s, struct host *h)
{
	struct copy_to to = {
		.user = h->user, .host = h->host, .port = h->port, .subsystem = "sftp"};
	TRY(connect_to(s, &to, &h->conn));
	err_t e = s->is_interrupted
			  ? E_INTERRUPTED
			  : remote_start(&h->remote, copy_link(h->conn), s->buffer, s->requests);
	if (e == OK)
		return OK;
	if (e == E_INTERRUPTED || e == E_SERVICE) /* told */
		s->failed++;
	else
		scp_fail(
			s, "%s", e == E_CLOSED ? "Connection closed" : remote_words(&h->remote, e));
	if (e == E_CLOSED && s->copy.ssh_program != NULL)
		scp_say(s, LOG_L_INFO,
			"where the login worked the server may have no SFTP: scp -O uses the old "
			"protocol");
	s->is_lost = true;
	remote_done(&h->remote);
	(void)copy_close(h->conn);
	return e;
}

err_t hosts_sftp(struct scp *s, const struct target *t, bool is_source, struct host **out)
{
	struct host *h = s->hosts;
	while (h != NULL && !is_for(h, t, is_source))
		h = h->next;
	if (h != NULL && h->remote.end != OK) {
		s->failed++; /* the end of the connection has been told */
		return h->remote.end;
	}
	if (h == NULL) {
		h = calloc(1, sizeof(*h));
		if (h == NULL) {
			scp_fail(s, "%s", err_text(E_MEM));
			return E_MEM;
		}
		h->user = t->user;
		h->host = t->host;
		h->port = t->port;
		h->is_source = is_source;
		h->next = s->hosts;
		s->hosts = h; /* now, for a signal ends also the wait for its first word */
		err_t e = start(s, h);
		if (e != OK) {
			s->hosts = h->next;
			free(h);
			return e;
		}
	}
	*out = h;
	return OK;
}

void hosts_close(struct scp *s)
{
	while (s->hosts != NULL) {
		struct host *h = s->hosts;
		s->hosts = h->next;
		remote_done(&h->remote);
		/* A server that ends with an error after all was answered has lost nothing. */
		(void)copy_close(h->conn);
		free(h);
	}
}
