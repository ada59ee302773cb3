/* SPDX-License-Identifier: ISC */
/*
 * config - ssh_config and sshd_config from declarative tables (client.def, server.def)
 *
 * Two steps.  cfg_lines_* turns text into lines (Include followed through the injected env),
 * checking nothing but syntax. client_config_eval / server_config_eval walk the lines for one
 * situation (host, or connection) and give the values: the first value wins, Host and Match blocks
 * decide.  So the server parses once and evaluates for each connection, and the lines can be handed
 * to another process (cfg_lines_put / cfg_lines_get).
 *
 * No globals: a const struct is passed.  Each value remembers its file and line (cfg_origin).
 */
#ifndef CONFIG_CONFIG_H
#define CONFIG_CONFIG_H

#include "algorithm/alg.h"
#include "base/buf.h"

struct cfg_list {
	char **v;
	size_t n;
};
struct cfg_rekey {
	uint64_t bytes, seconds; /* 0 = default / none */
};
struct cfg_startups {
	uint32_t start, rate, full;
};
struct cfg_subsystems {
	struct cfg_list names, commands; /* same length */
};

/* What config may ask of the world; any may be NULL (then: no such file, no match). */
struct cfg_env {
	void *arg;
	/* Reads a regular file whole into out.  is_user: the owner and mode rules of compat 3.1
	 * apply (E_PERMISSION). */
	err_t (*read_file)(void *arg, const char *path, bool is_user, struct buf *out);
	/* Expands a glob to sorted paths. */
	err_t (*glob)(void *arg, const char *pattern, struct cfg_list *out);
	/* Match exec: true when `command` ends with status 0. */
	bool (*exec)(void *arg, const char *command);
	const char *(*getenv)(void *arg, const char *name);
	/* One sentence without line end: warnings and deprecations. */
	void (*warn)(void *arg, const char *text);
	void (*debug)(void *arg, const char *text);
};

struct cfg_lines;
MUST err_t cfg_lines_new(struct cfg_lines **out);
void cfg_lines_free(struct cfg_lines *l);
/* -o: "Key=Value" or "Key Value"; counts as file "command-line", line 0. */
MUST err_t cfg_lines_option(struct cfg_lines *l, const char *option, struct buf *why);
struct cfg_source {
	const char *name;        /* for messages */
	bool is_user;            /* `~` and the owner rules of compat 3.1 apply */
	const char *include_dir; /* where relative Includes start */
};
/* One file's text.  why: the message. */
MUST err_t cfg_lines_text(struct cfg_lines *l, struct cslice text, const struct cfg_source *from,
	const struct cfg_env *env, struct buf *why);
void cfg_lines_put(const struct cfg_lines *l, struct buf *out);
MUST err_t cfg_lines_get(struct cfg_lines **out, struct cslice frozen);

struct cfg_origin {
	const char *file; /* borrowed from the lines; NULL = default */
	uint32_t line;
};

struct cfg_addkeys {
	int how;             /* CFG_ADD_* */
	uint32_t lifetime_s; /* 0 = none */
};

#define CFG_C_flag      bool
#define CFG_C_enum      int
#define CFG_C_u32       uint32_t
#define CFG_C_port      uint16_t
#define CFG_C_time      int64_t /* seconds, -1 = none */
#define CFG_C_text      char *
#define CFG_C_line      char *
#define CFG_C_list      struct cfg_list
#define CFG_C_ports     struct cfg_list
#define CFG_C_addrs     struct cfg_list
#define CFG_C_alg       char * /* resolved comma-separated names, never NULL after eval */
#define CFG_C_rekey     struct cfg_rekey
#define CFG_C_escape    int /* character, -1 = none */
#define CFG_C_addkeys   struct cfg_addkeys
#define CFG_C_startups  struct cfg_startups
#define CFG_C_subsystem struct cfg_subsystems
#define CFG_C_methods   struct cfg_list
#define CFG_C_command   char * /* NULL = none */
#define CFG_C_set       unsigned

#define ALIAS(from, to)
#define DEAD(keyword, how)
#define LATER(keyword, how)

#define OPT(keyword, field, kind, argument, dflt, flags) CFG_C_##kind field;
struct client_config {
#include "config/client.def"
	bool ciphers_set; /* the user chose: no re-ordering by CPU */
	bool identity_files_set, certificate_files_set, user_known_hosts_set;
	bool hostkey_algs_set; /* an explicit list (no + - ^): no re-ordering by known keys */
	struct cfg_own *own;
};
struct server_config {
#include "config/server.def"
	bool host_keys_set; /* the user named them: each must be there */
	struct cfg_own *own;
};
#undef OPT
#undef ALIAS
#undef DEAD
#undef LATER

/* enum values, in the order of the names tables */
enum { CFG_FAMILY_ANY, CFG_FAMILY_INET, CFG_FAMILY_INET6 };
enum { CFG_TTY_NO, CFG_TTY_YES, CFG_TTY_FORCE, CFG_TTY_AUTO };
enum { CFG_STRICT_NO, CFG_STRICT_YES, CFG_STRICT_ASK, CFG_STRICT_ACCEPT_NEW };
enum { CFG_UPDATE_NO, CFG_UPDATE_YES, CFG_UPDATE_ASK };
enum { CFG_SESSION_NONE, CFG_SESSION_SUBSYSTEM, CFG_SESSION_DEFAULT };
enum { CFG_PUBKEY_NO, CFG_PUBKEY_YES, CFG_PUBKEY_UNBOUND, CFG_PUBKEY_HOSTBOUND };
enum { CFG_ROOT_NO, CFG_ROOT_YES, CFG_ROOT_PROHIBIT_PASSWORD, CFG_ROOT_FORCED_COMMANDS };
enum { CFG_WEAK_NO, CFG_WEAK_YES, CFG_WEAK_NO_PQ_KEX };
enum { CFG_ADD_NO, CFG_ADD_YES, CFG_ADD_ASK, CFG_ADD_CONFIRM };
enum { CFG_COMP_NO, CFG_COMP_YES };                   /* delayed = yes */
enum { CFG_PUBKEY_TOUCH = 1, CFG_PUBKEY_VERIFY = 2 }; /* bits */
/* fingerprint_hash: enum hash_id; log_level: enum log_level of base/log.h; syslog_facility: the
 * LOG_* number >> 3 */

struct client_situation {
	const char *host_arg; /* as typed */
	const char *local_user, *home;
	const char *local_host; /* may be NULL: %l %L unknown */
	uint32_t uid;
	const char *command; /* remote command for Match, NULL = none */
};
/* why: the messages, one a line, ready for stderr ("F: line N: Bad configuration option: x"). */
MUST err_t client_config_eval(struct client_config *out, const struct cfg_lines *l,
	const struct client_situation *s, const struct cfg_env *env, struct buf *why);
void client_config_done(struct client_config *c);
/* -G: one `keyword value` a line, lower case (compat 2.1.4). */
MUST err_t client_config_dump(
	const struct client_config *c, const struct client_situation *s, struct buf *out);
/* Tokens and ~ and ${ENV} of a value (compat 3.4), appended to out. */
struct client_expansion {
	const struct client_config *config;
	const struct client_situation *situation;
	const struct cfg_env *env;
	const char *allowed; /* the token letters that this place takes */
	bool with_env;
	struct buf *why; /* the message on E_CONFIG */
};
MUST err_t client_config_expand(
	const struct client_expansion *x, const char *value, struct buf *out);

struct server_situation { /* NULL members: not known (the global evaluation); Match on them is false
			   */
	const char *user, *groups; /* comma separated */
	const char *address, *host, *local_address;
	uint16_t local_port;
	bool is_invalid_user,
		is_test; /* is_test: an unknown attribute that a Match needs is an error (-T -C) */
};
MUST err_t server_config_eval(struct server_config *out, const struct cfg_lines *l,
	const struct server_situation *s, const struct cfg_env *env, struct buf *why);
void server_config_done(struct server_config *c);
/* -T: lower-case keywords (scripts grep them). */
MUST err_t server_config_dump(const struct server_config *c, struct buf *out);

/*
 * The words of a command as in a configuration line: blanks part them, quotes keep them together, #
 * ends them.  gives out.  E_FORMAT: a quote is open.
 */
MUST err_t cfg_command_words(const char *command, struct cfg_list *out);
void cfg_command_words_done(struct cfg_list *words);

/*
 * A word of ListenAddress: host, host:port, v6, [v6], [v6]:port; port 0: none was given.  E_FORMAT:
 * neither of these; E_NOT_FOUND: no host; E_LIMIT: no port number.
 */
#define CFG_HOST_MAX 1026
MUST err_t cfg_listen_address(const char *word, char *host, size_t host_n, uint16_t *port);

/* Times (compat 3.1): "90", "1h30m", "none" = -1. */
MUST err_t cfg_time(struct cslice s, int64_t *seconds);

#endif
