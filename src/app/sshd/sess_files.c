/* SPDX-License-Identifier: ISC */
/*
 * sess_files - sftp served in the session process itself: no child, no pipe
 *
 * Bytes that arrived are used where they lie in the opened packets, replies are made where they are
 * sealed.  Each turn does a bounded part, so other channels have theirs; where replies have no room
 * nothing more is done, and soon the window is shut.
 */
#include "build_config.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "app/sshd/sess.h"
#include "transport/peer.h"

#define TURN_IN     ((size_t)1024 * 1024) /* bytes of requests a turn; a whole one always has room */
#define TURN_OUT    ((size_t)320 * 1024)  /* room asked for: the longest reply to READ, and some */
#define TURN_WORDS  ((size_t)32 * 1024)
#define TURNS       4
#define SFTP_SERVER LIBEXECDIR "/sftp-server"

/* Clients that send SYMLINK as the draft has it unless the server's version is one of OpenSSH's. */
static const char link_first[] = "libssh_*";

/* ---- may it be? ---- */
/* Shells whose start-up does nothing to a file server; any other one is asked to run it. */
static bool is_plain_shell(const char *shell)
{
	static const char *const dirs[] = {"/bin/", "/usr/bin/", "/usr/local/bin/"};
	static const char *const names[] = {"sh", "bash", "dash", "zsh", "ksh", "fish"};
	for (size_t d = 0; d < ARRAY_N(dirs); d++) {
		size_t n = strlen(dirs[d]);
		if (strncmp(shell, dirs[d], n) != 0)
			continue;
		for (size_t i = 0; i < ARRAY_N(names); i++)
			if (strcmp(shell + n, names[i]) == 0)
				return true;
	}
	return false;
}

/* No shell would make anything else of it than its words. */
static bool is_plain_command(const char *command)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				    "0123456789/._-,:+@% \t";
	return strspn(command, plain) == strlen(command);
}

static bool is_same_file(const char *a, const char *b)
{
	struct stat x, y;
	return stat(a, &x) == 0 && stat(b, &y) == 0 && S_ISREG(x.st_mode) && x.st_dev == y.st_dev &&
	       x.st_ino == y.st_ino;
}

/* The program that was installed with this one, or built beside it. */
static bool is_own_program(const char *path)
{
	char self[4096], other[4200];
	if (is_same_file(path, SFTP_SERVER))
		return true;
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	if (n <= 0)
		return false;
	self[n] = '\0';
	char *slash = strrchr(self, '/');
	if (slash == NULL)
		return false;
	*slash = '\0';
	(void)snprintf(other, sizeof(other), "%s/../sftp-server/sftp-server", self);
	return is_same_file(path, other);
}

/* A subsystem's command that is our own program, and would run as it stands. */
static bool is_own_server(const struct sess *s)
{
	return s->kind == SESS_SUBSYSTEM && s->files.words.n > 0 && !s->server->has_root &&
	       is_plain_shell(s->server->start->user->shell) && is_plain_command(s->command) &&
	       is_own_program(s->files.words.v[0]);
}

/* Something is to be said or run before it: that wants a process of its own. */
static bool has_ceremony(const struct sess *s)
{
	return s->has_pty || s->server->start->has_to_change_password || sess_is_closed(s) ||
	       sess_has_rc(s);
}

static void log_back(void *arg)
{
	sess_log(arg);
}

err_t sess_files_start(struct sess *s)
{
	const struct session_start *st = s->server->start;
	if (s->command == NULL || s->sftp == SFTP_REFUSE || has_ceremony(s) ||
		cfg_command_words(s->command, &s->files.words) != OK)
		return E_USAGE;
	if (s->sftp != SFTP_SERVE && !is_own_server(s)) {
		cfg_command_words_done(&s->files.words);
		return E_USAGE;
	}
	s->files.me = (struct me){.uid = st->user->uid,
		.name = st->user->name,
		.home = st->user->home,
		.shell = st->user->shell};
	struct hosted_env env = {.argc = (int)s->files.words.n,
		.argv = s->files.words.v,
		.me = &s->files.me,
		.from = st->ends.remote,
		.has_link_first = peer_is(tp_peer_version(s->server->tp), link_first),
		.may_lack_home = s->server->has_root,
		.place = &s->server->place,
		.log_back = log_back,
		.arg = s->server};
	err_t e = hosted_new(&s->files.h, &env);
	if (e != OK) {
		cfg_command_words_done(&s->files.words);
		return e;
	}
	spanq_init(&s->files.in);
	s->server->files_n++;
	sess_show(s->server);
	return OK;
}

/* ---- the bytes ---- */
err_t sess_files_event(struct sess *s, struct cn_event *e)
{
	switch (e->type) {
	case CN_EV_DATA:
		if (e->ext == 0)
			return spanq_put(&s->files.in, &e->span, false);
		cn_consumed(s->server->cn, s->chan, e->span.n);
		return OK;
	case CN_EV_ROOM:
		s->files.waits = false;
		return OK;
	case CN_EV_EOF:
		s->files.is_eof = true;
		return OK;
	default:
		return OK;
	}
}

/* Most requests are answered with a few bytes; one that reads is not. */
static size_t room_wanted(const struct sess *s, const struct sf_work *w)
{
	uint8_t head[5];
	struct vec in = vec_of(w->in, w->in_n);
	if (hosted_has_more(s->files.h) || in.left < sizeof(head))
		return TURN_OUT;
	vec_peek(&in, (struct slice){head, sizeof(head)});
	return head[4] == SF_MSG_read || head[4] == SF_MSG_readdir ? TURN_OUT : TURN_WORDS;
}

/* One part; moved: bytes of either direction. */
static err_t serve_part(struct sess *s, size_t *moved)
{
	struct server *sv = s->server;
	struct iovec in[SPANQ_PIECES], out[TP_BULK_MAX];
	struct sf_work w = {.in = in, .out = out};
	w.in_n = spanq_gather(&s->files.in, TURN_IN, in, SPANQ_PIECES);
	err_t e = cn_reserve(sv->cn, s->chan, 0, room_wanted(s, &w), out, &w.out_n);
	if (e == E_AGAIN)
		s->files.waits = true;
	if (e != OK)
		return e;
	s->files.err = hosted_serve(s->files.h, &w);
	TRY(cn_commit(sv->cn, w.made));
	spanq_advance(&s->files.in, w.used);
	cn_consumed(sv->cn, s->chan, w.used);
	*moved = w.used + w.made;
	return OK;
}

/* Nothing more can be done: at the end of the input, or after an error. */
static void end_if_over(struct sess *s, bool is_idle)
{
	if (s->files.h == NULL || !is_idle || hosted_has_more(s->files.h) ||
		(s->files.err == OK && !s->files.is_eof))
		return;
	err_t why = s->files.err;
	sess_files_stop(s);
	s->status = W_EXITCODE(why == OK ? 0 : EXIT_FATAL, 0);
	s->is_out_done = true;
	sess_check_end(s);
}

err_t sess_files_turn(struct sess *s)
{
	bool is_idle = false;
	for (int i = 0; i < TURNS && !is_idle && !s->files.waits; i++) {
		size_t moved = 0;
		if (s->files.in.n < 4 && !hosted_has_more(s->files.h)) {
			is_idle = true;
			break;
		}
		err_t e = serve_part(s, &moved);
		if (e == E_AGAIN)
			return OK;
		if (e == E_PHASE) { /* nobody would hear it */
			sess_files_stop(s);
			return OK;
		}
		TRY(e);
		is_idle = moved == 0 && !hosted_has_more(s->files.h);
	}
	if (!is_idle && !s->files.waits)
		pump_kick(&s->server->pump);
	end_if_over(s, is_idle);
	return OK;
}

void sess_files_stop(struct sess *s)
{
	if (s->files.h == NULL)
		return;
	hosted_free(s->files.h, s->files.err);
	s->files.h = NULL;
	cn_consumed(s->server->cn, s->chan, s->files.in.n);
	spanq_done(&s->files.in);
	cfg_command_words_done(&s->files.words);
	s->is_exited = true;
	s->status = 0;
	s->server->files_n--;
	sess_show(s->server);
}
