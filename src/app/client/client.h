/* SPDX-License-Identifier: ISC */
/*
 * client - what every program that logs in shares: configuration, connection, login
 *
 * One struct holds all that a run knows; the parts are in the order of a run: options, setup,
 * connect, hostkey, identity, login.  What comes after the login is the program's, by ssh_hooks.  A
 * run may log in several times, one after the other: ssh_again ends a connection and keeps what was
 * read and answered before.
 */
#ifndef APP_CLIENT_CLIENT_H
#define APP_CLIENT_CLIENT_H

#include "app/common/agent_client.h"
#include "app/client/forward.h"
#include "app/client/update.h"
#include "app/common/me.h"
#include "auth/au.h"
#include "config/config.h"
#include "connection/cn.h"
#include "os/dial.h"
#include "os/helper.h"
#include "os/logsink.h"
#include "run/pump.h"

#define SSH_EXIT_ERROR 255

struct ssh;

/* What the program does; each is set. */
struct ssh_hooks {
	err_t (*logged_in)(struct ssh *s);
	err_t (*events)(struct ssh *s); /* after every message for s->cn */
	err_t (*poll)(struct ssh *s);   /* once a turn, before writing, when there is s->cn */
	void (*closed)(struct ssh *s);  /* the connection is over, s->why says why */
	void (*words)(struct ssh *s);   /* something is about to be said: the terminal back */
	void (*prompt_signal)(struct ssh *s, int signo); /* one came while a question was open */
};

struct ssh_args {
	struct cfg_lines *options; /* the command line's -o, and what stands for one */
	const char *config_file;   /* -F */
	bool use_syslog, has_user_option;
	const char *forward_agent; /* -A, -a: over every ForwardAgent; NULL = neither */
	bool has_level;            /* -v, -q */
	enum log_level level;
	char *user, *host;  /* owned */
	uint16_t port;      /* of an ssh:// destination; 0 = none */
	struct buf command; /* the words, joined by blanks; with a NUL once there is one */
	bool has_command;
};

struct identity {
	char *name;
	struct key *pub;
	struct key *priv;         /* at hand; else NULL */
	char *comment;            /* of the private file, once it was opened; NULL = not known */
	bool is_agent, is_listed; /* listed: a file that the user named */
	char *shown;              /* name, type, fingerprint and where it is */
	bool is_in_agent;         /* the agent has it, whoever signs */
	const char *fate;         /* what happened on this side, for the message; NULL = nothing */
};
#define IDENTITIES_MAX 256

/* What the search for keys met, for the message when none was taken. */
struct keys_found {
	enum { AGENT_OFF, AGENT_UNSET, AGENT_FAILED, AGENT_ASKED } agent;
	uint32_t agent_n;  /* keys in it */
	char *public_only; /* the first file without its private half */
};

/* What was asked for in secret once is not asked for again: for programs that log in several times.
 * An answer that the same login wants a second time was wrong and is asked for anew. */
#define MEMORY_MAX 16
struct ask_memory {
	struct {
		char *question;
		struct buf answer;
		uint32_t used_in; /* the login that it was given to last */
	} v[MEMORY_MAX];
	size_t n;
};
void ask_memory_done(struct ask_memory *m); /* wipes */

struct known_file {
	char *path;
	struct buf text;
	bool is_user; /* of UserKnownHostsFile */
};
#define KNOWN_FILES_MAX 64

struct ssh {
	const struct ssh_hooks *hooks;
	const char *program; /* its name, for messages */
	struct cli *cli;     /* the program's own, as is: */
	struct session *session;
	struct ssh_args args;
	struct me me;
	struct cfg_env cfg_env;
	struct client_config cfg;
	bool has_cfg;
	struct client_situation situation;
	char *host; /* of the connection, lower case */
	char *user;
	const char *known_name; /* HostKeyAlias, or host; for known_hosts */
	uint16_t known_port;    /* 22 with an alias */
	struct buf known_shown; /* as known_hosts has it: "host", "[host]:port"; NUL-terminated */
	struct known_file known[KNOWN_FILES_MAX];
	size_t known_n;
	struct logsink log;

	struct ev *ev;
	struct ev *shared_ev; /* of a run with several connections at once; NULL = one of its own */
	int fd_in, fd_out;
	struct helper proxy;
	bool is_proxied;
	struct dial_ends ends;
	struct ev_timer connect_timer, alive_timer;
	struct chunk_pool pool;
	struct alg_policy policy;
	struct buf cipher_list, hostkey_list;
	struct buf version;
	struct tp_env tp_env;
	struct tp *tp;
	struct pump pump;

	struct agent_client agent;
	struct identity ids[IDENTITIES_MAX];
	struct au_identity au_ids[IDENTITIES_MAX];
	size_t ids_n, ids_named; /* the first ids_named are what the user named */
	struct keys_found found;
	struct buf methods;
	struct au_client_env au_env;
	struct au_client *au;
	bool has_keys, is_login_started, is_logged_in, is_refused;
	bool is_key_changed; /* not the known host key, and the run went on: nothing is lent */
	struct cn *cn;
	struct forward forward;
	struct host_update update;
	uint64_t started_us, alive_packets;
	uint32_t alive_missed;

	/* for runs with several logins */
	uint32_t logins;           /* begun before this one */
	struct ask_memory *memory; /* NULL = none */
	const char *ciphers;       /* to propose in place of the configuration's; NULL = those */
	char pinned[64];           /* the address to go to; empty = look the name up */
	struct buf accepted;       /* the host key that was found good before */
	struct buf peer_ciphers;   /* what the server offers */
	uint64_t asked_us;         /* of this login, spent on the person */
	/* Waits for the other end: something came after something was sent, and not sooner than
	 * half a round trip. */
	uint32_t turns, rtt_us;
	uint64_t sent_bytes, sent_us, answered_bytes;

	bool has_more_sessions; /* the program may open another one, after the first */
	bool is_done;
	err_t why; /* of the connection's end */
	int exit_status;
};

/* options.c: the options that stand for a keyword of the configuration, or are like one. */
void ssh_args_init(struct ssh_args *a);
void ssh_args_done(struct ssh_args *a);
/* -o keyword="value", quoted so that the value stays one word. */
MUST err_t ssh_option(struct ssh *s, const char *keyword, const char *value);
/* The same for programs that keep the lines themselves: keyword and value, or the text of a -o. */
MUST err_t client_option(struct cfg_lines *lines, const char *keyword, const char *value);
MUST err_t client_option_text(struct cfg_lines *lines, const char *text);
bool client_option_is_user(const char *text); /* of a -o: does it set User? */
/* -i: a file that cannot be read is told, and left out. */
MUST err_t client_option_identity(struct cfg_lines *lines, const char *home, const char *path);
typedef err_t ssh_flag_fn(struct ssh *s, const char *argument);
ssh_flag_fn ssh_flag_config_file, ssh_flag_identity, ssh_flag_login, ssh_flag_option, ssh_flag_port,
	ssh_flag_quiet, ssh_flag_verbose;
/* [user@]host or ssh://...; what is wrong is told. */
MUST err_t ssh_take_destination(struct ssh *s, const char *text);

/* dest.c: [user@]host or ssh://...  Gives copies (user may stay NULL). */
struct dest {
	char *user, *host;
	uint16_t port;
};
MUST err_t dest_parse(const char *text, struct dest *out);
/* scheme://[user@]host[:port][/path].  Gives copies; path: decoded, without the slash in front;
 * NULL = none.  E_FORMAT: it is none. */
MUST err_t dest_parse_uri(const char *scheme, const char *text, struct dest *out, char **path);
/* Of [user@]host:path the colon that ends the host: before any slash, not the first byte, not
 * inside [ ].  NULL: a local path. */
const char *dest_colon(const char *text);
bool dest_user_is_fine(const char *user);
bool dest_host_is_fine(const char *host);

/* setup.c: configuration, names, log level. */
MUST err_t setup_config(struct ssh *s);
/* Tokens, ${} and ~ of a configuration value.  Gives a copy. */
MUST err_t setup_expand(struct ssh *s, const char *value, const char *letters, char **out);
#define TOKENS_ALL   "%CdhijkLlnpru"
#define TOKENS_PROXY "%hnpr"
bool value_is_none(const char *value);

/* connect.c: descriptors, the engine, and the words when it ends. */
MUST err_t connect_start(struct ssh *s);
void connect_done(struct ssh *s);
/* "ADDRESS port N" of the peer, or "UNKNOWN port 65535". */
void connect_peer(const struct ssh *s, char text[96]);
void connect_say_end(struct ssh *s, err_t why);

/* hostkey.c */
MUST err_t hostkey_check(struct ssh *s, const struct tp_event *e);
/* revoked.c: none of RevokedHostKeys has the key.  OK, or an error that was told. */
MUST err_t hostkey_not_revoked(struct ssh *s, const struct key *k);
/* The HostKeyAlgorithms to propose: types that are known for this host come first. */
MUST err_t hostkey_order(struct ssh *s, struct buf *out);
void hostkey_done(struct ssh *s);

/* identity.c */
void identities_load(struct ssh *s);
/* The key that let the user in the last time goes behind what was named (LastKeyFile); and, after a
 * login, what to remember of it. */
void last_key_first(struct ssh *s);
void last_key_save(struct ssh *s);
void identities_done(struct ssh *s);
MUST err_t identity_sign(
	struct ssh *s, uint32_t id, struct cslice alg, struct cslice tbs, struct buf *sig);

/* identity_cert.c */
/* The user certificate of a file; NULL: it has none (debug words). */
struct key *identity_cert_read(const char *path);
uint32_t identity_rank(const struct key *k); /* within its group: the least goes first */
bool identity_is_same(const struct key *a, const struct key *b); /* certificates and all */
/* Of a certificate the plain key among those to be tried; NULL: none. */
struct identity *identity_plain_of(struct ssh *s, const struct key *cert, uint32_t *index);

/* unlock.c: the private half of a key file: from the keychain or the person (UseKeychain); into the
 * agent, once, where AddKeysToAgent wants it. */
void identity_unlock(struct ssh *s, struct identity *id);
void identity_to_agent(struct ssh *s, struct identity *id);

/* Shown for each, as -Z prints them and the debug words have them. */
void identities_show(struct ssh *s);
/* Keys of the agent that are not there any more are not offered. */
void identities_hide(struct ssh *s, const bool there[IDENTITIES_MAX]);

/* agent_bind.c: at the login, with the host's proof at hand. */
void identities_bind(struct ssh *s);

/* The socket of the agent to be asked, and of one that a value names.  Gives copies; NULL = none.
 */
char *identity_agent_path(struct ssh *s);
char *identity_agent_path_of(struct ssh *s, const char *value);

/* ask.c: a question to the person: terminal or askpass. */
enum ask_kind { ASK_SECRET, ASK_ECHOED, ASK_PERMISSION };
MUST err_t ask(struct ssh *s, enum ask_kind kind, const char *question, struct buf *answer);
MUST err_t ask_passphrase(void *arg, const char *path, uint32_t try, struct buf *passphrase);

/* login.c */
MUST err_t login_start(struct ssh *s);
MUST err_t login_message(struct ssh *s, uint8_t msg, struct cslice body);
MUST err_t login_poll(struct ssh *s);

/* request.c: after the login, of every session. */
/* The connection engine, and (chan may be NULL) a session's channel. */
MUST err_t ssh_open_session(struct ssh *s, uint32_t *chan);
MUST err_t ssh_request(
	struct ssh *s, uint32_t chan, const char *name, bool want_reply, struct buf *body);
MUST err_t ssh_request_env(struct ssh *s, uint32_t chan); /* SendEnv, SetEnv */
/* A global request with a reply. */
MUST err_t ssh_global(struct ssh *s, const char *name, struct cslice body);
/* "exec", "shell", "subsystem"; with a reply. */
MUST err_t ssh_request_program(struct ssh *s, uint32_t chan, const char *name, const char *command);
void ssh_set_qos(struct ssh *s, bool has_tty);
void ssh_say_open_failed(const struct cn_event *e);
void ssh_say_exit_signal(const struct ssh_exit_signal *m);
void ssh_alive_arm(struct ssh *s); /* ServerAliveInterval */

/* refused.c: the cause, for the person. */
void login_say_refused(struct ssh *s, struct cslice methods);
/* The server has ended the login by itself: what had been tried. */
void login_say_cut(struct ssh *s, struct cslice text);

/* client.c: the run. */
/* Before all else: stdin, stdout, stderr are open, the log goes to stderr, the library runs, who we
 * are is known.  What fails has been told. */
MUST err_t ssh_begin(struct ssh *s);
/* Connects; then ev_run(s->ev), which is shared_ev where that is set. */
MUST err_t ssh_connect(struct ssh *s);
/* From now on signals are events.  Before it they end the process at once: a file, an agent or a
 * token may keep it waiting. */
MUST err_t ssh_catch_signals(struct ssh *s, const int *signos, size_t n, ev_signal_fn *fn);
/* The connection is taken down, all else stays: ssh_connect may follow. */
void ssh_again(struct ssh *s);
void ssh_done(struct ssh *s);
/* The run ends with this status once what has to be sent is out. */
void ssh_finish(struct ssh *s, int status, const char *disconnect_text);
void ssh_say(enum log_level level, const char *fmt, ...) PRINTF(2, 3);
/* Each line of a text. */
void ssh_say_lines(enum log_level level, struct cslice text);

#endif
