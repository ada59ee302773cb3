/* SPDX-License-Identifier: ISC */
/*
 * sshd - what the files of this program share
 *
 * One binary, four roles (doc/architecture.md): listener.c accepts; zygote.c forks warm children;
 * monitor.c (with mon_*.c) decides, with privilege; net.c speaks to the peer before login;
 * session.c (with sess_*.c) serves the user after it.
 */
#ifndef APP_SSHD_SSHD_H
#define APP_SSHD_SSHD_H

#include <sys/types.h>

#include "base/buf.h"
#include "base/log.h"
#include "config/config.h"
#include "key/key.h"
#include "os/listen.h"
#include "os/title.h"

#define EXIT_FATAL 255
#define EXIT_GRACE 3 /* LoginGraceTime is over (compat 9.1) */
#define EXIT_CRASH 4 /* a child of this process ended by a signal */

/* PATH of all but root. */
#define PATH_USER "/usr/local/bin:/usr/bin:/bin:/usr/games"

#define HOST_KEYS_MAX 32 /* with those that stand for certificates, */
#define HOST_KEYS_OWN 16 /* and without them */

/* ---- logs (srvlog.c) ---- */
struct srvlog {
	bool to_stderr, is_quiet;
	int facility;
	enum log_level level;
};
/* Starts to log; the struct is borrowed for the life of the process. */
void srvlog_start(const struct srvlog *log);

/* ---- the command line (options.c) ---- */
struct sshd_options {
	bool is_foreground, is_inetd, is_test, is_dump, is_dump_only, is_quiet, to_stderr,
		is_reexec, is_config_missing;
	int debug;
	const char *role; /* -R: what this process is, for processes run by ourselves */
	const char *config_file, *log_file;
	const char *test_spec; /* -C */
	char *ports[32];
	size_t ports_n;
	struct cfg_lines *lines; /* -o -h -g -4 -6, in order */
	int argc;
	char **argv;
	struct title title;
};
/* Ends the process on wrong usage, for -V and -?. */
void options_parse(struct sshd_options *o, int argc, char **argv);

/* ---- configuration (conf.c) ---- */
extern const struct cfg_env
	conf_env_quiet; /* for evaluations after the first: warnings have been given */
/* Reads the file behind the lines of the command line.  Errors are told on stderr. */
MUST err_t conf_read(struct sshd_options *o);
/* The global values; -p applied. */
MUST err_t conf_global(const struct sshd_options *o, struct server_config *out);

/* Can each ListenAddress be found?  What cannot is told. */
MUST err_t conf_check_addresses(const struct server_config *c);
int conf_family(const struct server_config *c); /* AF_... of AddressFamily */
uint16_t conf_port(const struct server_config *c, size_t i);
void conf_tell(enum log_level level, const struct buf *lines); /* each line to the log */

/* Is there a list of AuthenticationMethods that can be met (mon_methods.c)? */
bool mon_methods_possible(const struct server_config *c);

/* ---- host keys (hostkeys.c) ---- */
/* A certificate is a host key more: the private key once again, which carries it. */
struct host_key {
	char *path;
	struct buf text; /* the file, for handing over; wiped */
	char *agent;     /* NULL: the private half is here; else text is the public line */
	struct buf cert; /* the line of the certificate; empty: a plain key */
	struct key *k;
	struct buf blob; /* public; of a certificate, that */
};
struct host_keys {
	struct host_key v[HOST_KEYS_MAX];
	size_t n;
};
/* Reads those that are there and private enough; what is wrong with the others is logged. */
void host_keys_read(struct host_keys *keys, const struct server_config *c);
void host_keys_put(const struct host_keys *keys, struct buf *out); /* with private parts */
MUST err_t host_keys_get(struct host_keys *out, struct cslice frozen);
void host_keys_done(struct host_keys *keys); /* wipes */

/* hostkey_agent.c.  The socket of HostKeyAgent, owned; NULL: none, or nobody answers (told). */
char *host_agent_path(const struct server_config *c);
/* A host key of which only the public half need be there: path, or path.pub. */
MUST err_t host_agent_read(struct host_key *h, const char *path, const char *agent);
/* By the key itself or by the agent; alg: of the signature.  Appended.  Blocks. */
MUST err_t host_key_sign(
	const struct host_key *h, struct cslice alg, struct cslice tbs, struct buf *sig);

/* ---- what a monitor starts from (setup.c) ---- */
struct setup {
	struct cfg_lines *lines;
	struct server_config global;
	struct host_keys keys;
	struct srvlog log;
	struct title title;
	bool is_single;          /* -d: one connection, then the zygote ends */
	uint8_t secret[32];      /* for the time that a failed try takes; a new one each start */
	struct buf typical_hash; /* NUL-terminated */
};
void setup_put(const struct setup *s, struct buf *out); /* without the keys */
MUST err_t setup_get(struct setup *out, struct cslice frozen);
/* First uses that are dear once: hashes, key exchange.  After it a fork has them. */
MUST err_t setup_warm(struct setup *s);

/* ---- roles ---- */
struct sandbox;
int listener_main(
	const struct sshd_options *o, const struct server_config *c, struct host_keys *keys);
int zygote_main(const char *role, const struct title *title); /* "monitor", "net" */
/* is_dropped: root directory and identity have been given up already */
NORETURN void net_main(
	int chan, const struct sandbox *sandbox, bool is_dropped, const struct title *title);
MUST err_t net_drop(void);
struct conn_fds {
	int in, out;      /* the peer: one socket or two pipe ends */
	int chan;         /* the network process */
	int status, told; /* a byte is written to each when the user is in; -1 = nobody listens */
};
/* One connection.  Gives the exit code. */
int monitor_main(struct setup *s, const struct conn_fds *fds);

/* Warm-up of what every role uses. */
MUST err_t warm_crypto(void);

#endif
