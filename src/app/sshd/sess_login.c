/* SPDX-License-Identifier: ISC */
/* sess_login - in the child, before the shell: nologin, expired password, motd, last login, rc */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "app/sshd/files.h"
#include "app/sshd/sess.h"

#define NOLOGIN_EXIT 254
#define SYSTEM_RC    "/etc/ssh/sshrc"
#define PASSWD       "/usr/bin/passwd"
#define WORDS_MAX    ((size_t)256 * 1024)

/* True when there was a file. */
static bool show(const char *path, int fd)
{
	struct buf text;
	buf_init(&text, WORDS_MAX + (32 << 10));
	bool is_there = file_read(path, WORDS_MAX, &text) == OK;
	size_t at = 0;
	while (is_there && at < text.n) {
		ssize_t n = write(fd, text.p + at, text.n - at);
		if (n < 0 && errno != EINTR)
			break;
		at += n > 0 ? (size_t)n : 0;
	}
	buf_done(&text);
	return is_there;
}

bool sess_is_closed(const struct sess *s)
{
	return s->server->is_closed ||
	       (s->server->start->user->uid != 0 && access(NOLOGIN_FILE, F_OK) == 0);
}

void sess_refuse_nologin(const struct sess *s)
{
	if (!sess_is_closed(s))
		return;
	(void)show(NOLOGIN_FILE, STDERR_FILENO);
	_exit(NOLOGIN_EXIT);
}

void sess_change_password(const struct sess *s)
{
	if (!s->server->start->has_to_change_password)
		return;
	(void)dprintf(STDERR_FILENO, "WARNING: Your password has expired.\n");
	if (!s->has_pty) {
		(void)dprintf(STDERR_FILENO, "Password change required but no TTY available.\n");
		_exit(1);
	}
	(void)dprintf(STDERR_FILENO, "You must change your password now and login again!\n");
	(void)execl(PASSWD, "passwd", (char *)NULL);
	(void)dprintf(STDERR_FILENO, "%s: %s\n", PASSWD, strerror(errno));
	_exit(1);
}

void sess_login_words(const struct sess *s)
{
	const struct server_config *c = s->server->start->conf;
	const char *home = s->server->start->user->home;
	char hush[4096], when[64];
	(void)snprintf(hush, sizeof(hush), "%s/.hushlogin", home);
	if (!s->has_pty || s->kind != SESS_SHELL || access(hush, F_OK) == 0)
		return;
	if (c->print_last_log && s->last_time > 0) {
		time_t t = (time_t)s->last_time;
		struct tm tm;
		if (localtime_r(&t, &tm) != NULL &&
			strftime(when, sizeof(when), "%a %b %e %H:%M:%S %Y", &tm) > 0)
			(void)dprintf(STDOUT_FILENO,
				s->last_host[0] != 0 ? "Last login: %s from %s\r\n"
						     : "Last login: %s%s\r\n",
				when, s->last_host);
	}
	if (c->print_motd)
		(void)show("/etc/motd", STDOUT_FILENO);
}

static bool has_own_rc(const struct sess *s)
{
	const struct session_start *st = s->server->start;
	char path[4096];
	(void)snprintf(path, sizeof(path), "%s/.ssh/rc", st->user->home);
	return s->kind != SESS_SUBSYSTEM && s->kind != SESS_FORCED && st->conf->permit_user_rc &&
	       st->permit.user_rc && access(path, R_OK) == 0;
}

bool sess_has_rc(const struct sess *s)
{
	return has_own_rc(s) || access(SYSTEM_RC, R_OK) == 0;
}

void sess_run_rc(const struct sess *s, const struct env_list *env)
{
	const struct session_start *st = s->server->start;
	char line[4200];
	bool is_own = has_own_rc(s);
	if (!is_own && access(SYSTEM_RC, R_OK) != 0)
		return;
	(void)snprintf(line, sizeof(line), "/bin/sh %s", is_own ? ".ssh/rc" : SYSTEM_RC);
	pid_t pid = fork();
	if (pid == 0) {
		char flag[] = "-c"; /* exec takes no const; it changes nothing */
		char *argv[] = {st->user->shell, flag, line, NULL};
		(void)close(STDIN_FILENO); /* the session's input is not the script's */
		(void)execve(is_own ? st->user->shell : "/bin/sh", argv, env->v);
		_exit(1);
	}
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}
