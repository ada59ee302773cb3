/* SPDX-License-Identifier: ISC */
/* sa - what the files of ssh-agent share */
#ifndef APP_SSH_AGENT_SA_H
#define APP_SSH_AGENT_SA_H

#include <sys/types.h>

#include "agent/server.h"
#include "os/ev.h"

#define AGENT_SOCKETS_MAX 8

enum { AGENT_OK = 0, AGENT_FATAL = 1, AGENT_ENDED = 2 };

struct agent_options {
	const char *path, *hash, *lifetime, *option, *providers;
	bool csh, foreground, debug, kill, launchd, sh, in_tmp, no_clean, version, stable;
	unsigned clean;
	bool allow_remote; /* by -O */
	enum hash_id hash_id;
	uint32_t lifetime_s;
	char **command; /* NULL = none */
};
/* AGENT_OK: go on.  Everything is checked; csh is set by $SHELL where nobody says. */
int agent_args(struct agent_options *o, int argc, char **argv);

/* What a shell is to run. */
void agent_show(const struct agent_options *o, const char *path, pid_t pid);
int agent_kill(const struct agent_options *o);

/* ---- the process that serves --------------------------------------------------------------------
 */
struct agent_listen {
	int fds[AGENT_SOCKETS_MAX];
	size_t n;
	char *path, *folder; /* to be removed at the end; NULL = not ours */
	bool is_activated;   /* by who holds the socket and will start us again */
	pid_t parent;        /* ends when it does; 0 = nobody */
};
/* Until a signal; gives the exit status. */
int agent_serve(const struct agent_options *o, const struct agent_listen *l);

/* ---- sockets that somebody else made ------------------------------------------------------------
 * By LISTEN_FDS: E_NOT_FOUND when it is not for this process. */
MUST err_t agent_listen_fds(struct agent_listen *l);
/* By launchd; why: a sentence. */
MUST err_t agent_listen_launchd(struct agent_listen *l, struct buf *why);

/* ---- the stable agent ---------------------------------------------------------------------------
 * Its pid, when it answers at the path. */
MUST err_t agent_stable_find(const char *path, pid_t *pid);
/* Everyone who looks for it or starts it holds this; E_IO. */
MUST err_t agent_stable_lock(const char *path, int *fd);

/* ---- questions ----------------------------------------------------------------------------------
 * One at a time is shown, the others wait in a row. */
struct agent_asker;
struct agent_question {
	struct list link; /* own */
	const char *text; /* borrowed until done, or agent_ask_drop */
	void (*done)(void *arg, err_t verdict);
	bool (*is_wanted)(void *arg); /* does whoever wants to know still wait? */
	void *arg;
};
MUST err_t agent_asker_new(struct agent_asker **out, struct ev *ev);
void agent_asker_free(struct agent_asker *a);
void agent_ask(struct agent_asker *a, struct agent_question *q);
void agent_ask_drop(
	struct agent_asker *a, struct agent_question *q); /* fine when it is in no row */
void agent_asker_child(struct agent_asker *a);            /* SIGCHLD came */

#endif
