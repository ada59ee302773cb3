/* SPDX-License-Identifier: ISC */
/* sess_env - the environment of a session (compat 8.1) */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/sshd/files.h"
#include "app/sshd/sess.h"

#define PATH_ROOT "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#define MAIL_DIR  "/var/mail"
#define LINES_MAX 1000 /* of ~/.ssh/environment */

void env_init(struct env_list *e)
{
	*e = (struct env_list){NULL, 0, 0};
}

void env_done(struct env_list *e)
{
	for (size_t i = 0; i < e->n; i++)
		free(e->v[i]);
	free(e->v);
	env_init(e);
}

static char **find(const struct env_list *e, const char *name, size_t n)
{
	for (size_t i = 0; i < e->n; i++)
		if (strncmp(e->v[i], name, n) == 0 && e->v[i][n] == '=')
			return &e->v[i];
	return NULL;
}

const char *env_get(const struct env_list *e, const char *name)
{
	char **at = find(e, name, strlen(name));
	return at != NULL ? *at + strlen(name) + 1 : NULL;
}

/* pair: taken. */
static err_t put(struct env_list *e, char *pair, size_t name_n)
{
	char **at = find(e, pair, name_n);
	if (at != NULL) {
		free(*at);
		*at = pair;
		return OK;
	}
	if (e->n + 1 >= e->cap) {
		size_t cap = e->cap + 32;
		char **v = realloc(e->v, cap * sizeof(*v));
		if (v == NULL) {
			free(pair);
			return E_MEM;
		}
		e->v = v;
		e->cap = cap;
	}
	e->v[e->n++] = pair;
	e->v[e->n] = NULL;
	return OK;
}

err_t env_set(struct env_list *e, const char *name, const char *value)
{
	char *pair;
	if (asprintf(&pair, "%s=%s", name, value) < 0)
		return E_MEM;
	return put(e, pair, strlen(name));
}

err_t env_set_pair(struct env_list *e, const char *pair)
{
	const char *eq = strchr(pair, '=');
	if (eq == NULL || eq == pair)
		return E_FORMAT;
	char *copy = strdup(pair);
	return copy != NULL ? put(e, copy, (size_t)(eq - pair)) : E_MEM;
}

static bool may_user_set(const struct server_config *c, const char *pair)
{
	const char *allowed = c->permit_user_environment;
	if (allowed == NULL || strcmp(allowed, "no") == 0)
		return false;
	if (strcmp(allowed, "yes") == 0)
		return true;
	size_t n = strcspn(pair, "=");
	return glob_match_list(cslice_str(allowed), cslice_of(pair, n)) == PATTERN_MATCH;
}

static err_t put_user_file(const struct sess *s, struct env_list *e)
{
	const struct session_start *st = s->server->start;
	const char *allowed = st->conf->permit_user_environment;
	char path[4096];
	struct buf text;
	if (allowed == NULL || strcmp(allowed, "no") == 0)
		return OK;
	(void)snprintf(path, sizeof(path), "%s/.ssh/environment", st->user->home);
	buf_init(&text, (size_t)1 << 20);
	if (file_read(path, 512 << 10, &text) != OK)
		text.n = 0;
	buf_put_u8(&text, 0);
	err_t r = buf_err(&text);
	char *rest = (char *)text.p, *line;
	for (size_t lines = 0; r == OK && (line = strsep(&rest, "\n")) != NULL && lines < LINES_MAX;
		lines++) {
		line += strspn(line, " \t");
		if (line[0] == 0 || line[0] == '#' || !may_user_set(st->conf, line))
			continue;
		r = env_set_pair(e, line);
		if (r == E_FORMAT)
			r = OK; /* a line that is none is left out */
	}
	buf_done(&text);
	return r;
}

static err_t put_account(const struct sess *s, struct env_list *e)
{
	const struct os_user *u = s->server->start->user;
	char mail[512];
	(void)snprintf(mail, sizeof(mail), MAIL_DIR "/%s", u->name);
	TRY(env_set(e, "USER", u->name));
	TRY(env_set(e, "LOGNAME", u->name));
	TRY(env_set(e, "HOME", u->home));
	TRY(env_set(e, "PATH", u->uid == 0 ? PATH_ROOT : PATH_USER));
	if (!s->server->start->conf->use_pam)
		TRY(env_set(e, "MAIL", mail));
	TRY(env_set(e, "SHELL", u->shell));
	if (getenv("TZ") != NULL)
		TRY(env_set(e, "TZ", getenv("TZ")));
	if (s->term != NULL)
		TRY(env_set(e, "TERM", s->term));
	return OK;
}

static err_t put_connection(const struct sess *s, struct env_list *e)
{
	const struct os_ends *a = &s->server->start->ends;
	char text[300];
	(void)snprintf(text, sizeof(text), "%s %u %u", a->remote, a->remote_port, a->local_port);
	TRY(env_set(e, "SSH_CLIENT", text));
	(void)snprintf(text, sizeof(text), "%s %u %s %u", a->remote, a->remote_port, a->local,
		a->local_port);
	TRY(env_set(e, "SSH_CONNECTION", text));
	if (s->server->start->auth_info != NULL)
		TRY(env_set(e, "SSH_USER_AUTH", s->server->start->auth_info));
	if (s->has_pty)
		TRY(env_set(e, "SSH_TTY", s->tty));
	if (s->original != NULL)
		TRY(env_set(e, "SSH_ORIGINAL_COMMAND", s->original));
	return OK;
}

static err_t put_all(const struct sess *s, struct env_list *e)
{
	const struct session_start *st = s->server->start;
	for (size_t i = 0; i < s->client_env.n; i++)
		TRY(env_set_pair(e, s->client_env.v[i]));
	TRY(put_account(s, e));
	for (size_t i = 0; i < st->environment_n; i++)
		if (may_user_set(st->conf, st->environment[i]))
			TRY(env_set_pair(e, st->environment[i]));
	TRY(put_user_file(s, e));
	/* The first of a name wins inside the list, and all of it over what came before. */
	for (size_t i = st->conf->set_env.n; i > 0; i--)
		TRY(env_set_pair(e, st->conf->set_env.v[i - 1]));
	TRY(put_connection(s, e));
	return s->server->agent.path != NULL ? env_set(e, "SSH_AUTH_SOCK", s->server->agent.path)
					     : OK;
}

err_t sess_env(const struct sess *s, struct env_list *out)
{
	struct env_list e;
	env_init(&e);
	err_t r = put_all(s, &e);
	if (r != OK) {
		env_done(&e);
		return r;
	}
	*out = e;
	return OK;
}
