/* SPDX-License-Identifier: ISC */
/* sess - the state of the session process, shared by session.c and sess_*.c */
#ifndef APP_SSHD_SESS_H
#define APP_SSHD_SESS_H

#include "app/sftp-server/hosted.h"
#include "app/sshd/session.h"
#include "base/list.h"
#include "os/ev.h"
#include "os/pty.h"
#include "privsep/ask.h"
#include "run/joint.h"
#include "run/spanq.h"

#define SESS_ENV_MAX 128 /* variables that a client may set for a session */
#define NOLOGIN_FILE "/etc/nologin"

/* NAME=VALUE in order; a second value of a name takes the place of the first. */
struct env_list {
	char **v; /* NULL-terminated, owned */
	size_t n, cap;
};
void env_init(struct env_list *e);
void env_done(struct env_list *e);
MUST err_t env_set(struct env_list *e, const char *name, const char *value);
MUST err_t env_set_pair(
	struct env_list *e, const char *pair); /* NAME=VALUE; E_FORMAT without a name */
const char *env_get(const struct env_list *e, const char *name);

struct server;

enum sess_sftp { SFTP_NONE, SFTP_SERVE, SFTP_REFUSE }; /* internal-sftp, and was it asked for? */
enum sess_kind { SESS_NEW, SESS_SHELL, SESS_COMMAND, SESS_SUBSYSTEM, SESS_FORCED };

struct sess_files {       /* sftp served by this process */
	struct hosted *h; /* NULL: it is not */
	struct spanq in;
	struct cfg_list words;
	struct me me;
	bool waits, is_eof; /* for room; nothing more comes */
	err_t err;
};

struct sess { /* a channel of type "session" */
	struct list link;
	struct server *server;
	uint32_t chan;
	uint32_t id; /* for the log */
	enum sess_kind kind;
	enum sess_sftp sftp;
	bool has_pty, has_io;
	int master, slave;
	char tty[PTY_NAME_MAX];
	char *term, *command, *original; /* owned */
	struct env_list client_env;
	uint64_t last_time;
	char *last_host;
	pid_t pid; /* 0 = not started or ended */
	bool is_exited, is_exit_told, is_out_done, is_eof_told, is_close_told;
	struct ev_timer eof_hold; /* EOF waits a moment for the exit status */
	int status;
	struct chanio io;
	struct sess_files files;
};

struct server_agent {     /* the client's agent, lent to the programs here */
	int fd;           /* listens; -1 = not asked for */
	char *path;       /* owned; NULL = none */
	const char *type; /* of the channels to the client */
	bool is_in_tmp;
	struct ev_io io;
	struct ev_timer rest; /* no descriptor was left */
};

struct server {
	const struct session_start *start;
	struct ev *ev;
	struct tp *tp;
	struct pump pump;
	struct cn *cn;
	struct ps_client ps;
	struct ev_io chan; /* readable only when the monitor has gone: replies are waited for */
	struct chunk_pool pool;
	struct alg_policy policy;
	struct tp_env tp_env;
	struct tp_hostkey keys[HOST_KEYS_MAX];
	struct hosted_place place;
	size_t files_n; /* sessions that are served files here */
	enum log_level log_level;
	struct list sessions;
	size_t sessions_n;
	struct joints joints; /* of all forwarding */
	struct server_agent agent;
	uint32_t next_id;
	bool no_more_sessions;
	bool has_root;        /* in a root directory of its own (ChrootDirectory) */
	bool is_closed;       /* has_root: logins were stopped (nologin) when it entered */
	struct ev_timer rest; /* until the first quiet moment */
	uint64_t rest_packets;
	struct ev_timer alive;
	uint64_t seen_packets;
	uint32_t unanswered;
};

/* sess_chroot.c: ChrootDirectory, where there is one; what is wrong is told. */
MUST err_t sess_chroot(struct server *sv);

/* sess_request.c: a channel request of this session; the answer for the peer. */
bool sess_request(struct sess *s, struct cslice name, struct cslice body);

/* sess_child.c: runs the shell, the command or the subsystem. */
MUST err_t sess_start(struct sess *s);
/* The child has ended, or its output: tell the peer, and close when both have. */
void sess_check_end(struct sess *s);
/* All output has been taken: EOF follows. */
void sess_out_done(struct sess *s);

/* sess_env.c: the environment of a session in the order of compat 8.1. */
MUST err_t sess_env(const struct sess *s, struct env_list *out);

/* sess_hostkeys.c: the host keys told once, and proofs of them, as the reply to a global request.
 */
MUST err_t sess_tell_hostkeys(struct server *sv);
bool sess_is_prove(struct cslice name);
MUST err_t sess_prove_hostkeys(struct server *sv, struct cslice question);

/* sess_login.c: in the child, before the shell: nologin, expired password, motd, last login, rc. */
void sess_login_words(const struct sess *s);
bool sess_has_rc(const struct sess *s);
void sess_run_rc(const struct sess *s, const struct env_list *env);
bool sess_is_closed(const struct sess *s); /* by nologin */
void sess_refuse_nologin(const struct sess *s);
void sess_change_password(const struct sess *s);

/* sess_files.c: sftp served by this process.  sess_files_start gives an error where the session
 * wants one of its own. */
MUST err_t sess_files_start(struct sess *s);
MUST err_t sess_files_event(struct sess *s, struct cn_event *e);
MUST err_t sess_files_turn(struct sess *s); /* does a part of what was asked */
void sess_files_stop(struct sess *s);

/* sess_agent.c: the requests, and the end, which may come at any time. */
bool sess_on_agent(struct sess *s, struct cslice body);
bool sess_on_agent_new(struct sess *s, struct cslice body);
void sess_agent_end(struct server *sv);

/* sess_sftp.c: is the command internal-sftp, with or without arguments?  In the child: serves. */
bool sess_is_sftp(const char *command);
NORETURN void sess_run_sftp(const struct sess *s, const struct env_list *env);

/* The log goes to the monitor. */
void sess_log(struct server *sv);
/* The process's title: the user and his terminals. */
void sess_show(const struct server *sv);
struct sess *sess_find(struct server *sv, uint32_t chan);
void sess_free(struct sess *s);

#endif
