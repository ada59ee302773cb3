/* SPDX-License-Identifier: ISC */
/*
 * child - an ssh of the user's choice, or a server on this machine, with two pipes
 *
 * Its arguments are those that OpenSSH's scp and sftp give: wrappers look at them.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/copy/copy_int.h"

#define TICK_US  ((uint64_t)2000)
#define PATIENCE ((uint64_t)10 * 1000000) /* then it is asked to end */
#define FORCE_US ((uint64_t)2 * 1000000)  /* and then it is ended */

/* ---- its arguments ----------------------------------------------------------------------------
 */
struct words {
	const char **v; /* borrowed words, NULL behind the last */
	size_t n, cap;
	bool has_failed;
};

static void add(struct words *w, const char *word)
{
	if (w->n + 1 >= w->cap) {
		size_t cap = w->cap > 0 ? 2 * w->cap : 32;
		const char **v = realloc(w->v, cap * sizeof(*v));
		if (v == NULL) {
			w->has_failed = true;
			return;
		}
		w->v = v;
		w->cap = cap;
	}
	w->v[w->n++] = word;
	w->v[w->n] = NULL;
}

/* port: room for its text. */
static void add_ssh(
	struct words *w, const struct copy_options *o, const struct copy_to *to, char port[8])
{
	add(w, o->ssh_program);
	if (to->port != 0) { /* the first one counts */
		(void)snprintf(port, 8, "%u", to->port);
		add(w, "-p");
		add(w, port);
	}
	for (size_t i = 0; i < o->words.n; i++)
		add(w, o->words.v[i]);
	if (to->user != NULL) {
		add(w, "-l");
		add(w, to->user);
	}
	if (to->subsystem != NULL)
		add(w, "-s");
	add(w, "--");
	add(w, to->host);
	add(w, to->subsystem != NULL ? to->subsystem : to->command);
}

static void say_line(const struct copy_options *o, const struct words *w)
{
	struct buf line;
	if (o->verbose == 0)
		return;
	buf_init(&line, 65536);
	for (size_t i = 0; i < w->n; i++)
		buf_printf(&line, " %s", w->v[i]);
	fprintf(stderr, "Executing:%.*s\n", (int)line.n, (const char *)line.p);
	buf_done(&line);
}

static err_t start(struct copy_conn *c, struct words *w)
{
	const struct copy_options *o = c->options;
	if (w->has_failed)
		return E_MEM;
	say_line(o, w);
	/* A ^C ends a command of sftp, and not its connection. */
	bool is_aside = strcmp(o->program, "sftp") == 0;
	err_t e = helper_start(w->v, is_aside, &c->child);
	if (e == OK)
		e = link_fds_new(&c->fds, c->ev, c->child.from, c->child.to);
	else
		fprintf(stderr, "%s: %s cannot be started: %s\r\n", o->program, w->v[0],
			err_text(e));
	return e;
}

/* A path as it is, else the words of a command line. */
static err_t start_server(struct copy_conn *c, struct words *w)
{
	const struct copy_options *o = c->options;
	struct cfg_list parts = {0};
	if (access(o->server, X_OK) == 0) {
		add(w, o->server);
		return start(c, w);
	}
	err_t e = cfg_command_words(o->server, &parts);
	if (e == OK && parts.n == 0)
		e = E_FORMAT;
	if (e != OK) {
		fprintf(stderr, "%s: \"%s\" is no command line\r\n", o->program, o->server);
		return e;
	}
	for (size_t i = 0; i < parts.n; i++)
		add(w, parts.v[i]);
	e = start(c, w);
	cfg_command_words_done(&parts);
	return e;
}

err_t copy_child_start(struct copy_conn *c, const struct copy_to *to)
{
	struct words w = {0};
	char port[8];
	err_t e;
	c->child = (struct helper){.from = -1, .to = -1};
	os_sigpipe_ignore();
	if (c->options->server != NULL) {
		e = start_server(c, &w);
	} else {
		add_ssh(&w, c->options, to, port);
		e = start(c, &w);
	}
	free(w.v);
	if (e != OK)
		helper_end(&c->child);
	return e;
}

/* ---- its end ----------------------------------------------------------------------------------
 */
struct wait {
	struct ev_timer tick;
	struct copy_conn *c;
	uint64_t begin_us, asked_us;
	int status;
	bool has_ended, is_asked;
};

static void on_tick(struct ev_timer *t, uint64_t now_us)
{
	struct wait *w = t->arg;
	struct copy_conn *c = w->c;
	uint64_t us = now_us - w->begin_us;
	w->has_ended = helper_has_ended(&c->child, &w->status);
	if (w->has_ended) {
		ev_stop(c->ev);
		return;
	}
	if (!w->is_asked && (us > PATIENCE || copy_is_interrupted(c->options))) {
		w->is_asked = true;
		w->asked_us = us;
		(void)kill(c->child.pid, SIGTERM);
	}
	if (w->is_asked && us > w->asked_us + FORCE_US)
		(void)kill(c->child.pid, SIGKILL);
	ev_timer_set(c->ev, t, now_us + TICK_US);
}

int copy_child_end(struct copy_conn *c)
{
	struct wait w = {.c = c, .begin_us = os_monotonic_us(), .status = SSH_EXIT_ERROR};
	w.tick = (struct ev_timer){.at_us = UINT64_MAX, .on = on_tick, .arg = &w};
	link_fds_free(c->fds); /* the end of its input */
	c->child.from = c->child.to = -1;
	ev_timer_set(c->ev, &w.tick, w.begin_us);
	while (!w.has_ended)
		if (ev_run(c->ev) != OK)
			break;
	ev_timer_stop(c->ev, &w.tick);
	return w.status;
}
