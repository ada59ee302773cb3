/* SPDX-License-Identifier: ISC */
/*
 * scp - copies files between this machine and others
 *
 * One struct holds a run.  The parts are in the order of a run: args (command line), target (what a
 * path means), hosts (connections), then local, copy (SFTP), old (-O) or direct (-R).
 */
#ifndef APP_SCP_SCP_H
#define APP_SCP_SCP_H

#include "app/copy/copy.h"
#include "app/copy/meter.h"
#include "app/scp/rcp.h"
#include "transfer/remote.h"
#include "transfer/transfer.h"

#define SCP_FAILED      1
#define SCP_NO_HOST     255 /* a connection failed, as ssh has it */
#define SCP_COMMAND_MAX ((size_t)65536)

/* ---- target.c -----------------------------------------------------------------------------------
 */
struct target {
	char *user, *host; /* host NULL = a local path */
	char *path;        /* "." where nothing was given; owned, as the others */
	uint16_t port;     /* 0 = none given */
};
/* "path", "[user@]host:[path]", "scp://[user@]host[:port][/path]".  E_FORMAT: a URI that is none.
 */
MUST err_t target_parse(const char *text, struct target *out);
void target_done(struct target *t);
/* The last part of a path, without slashes behind it; borrowed.  Empty for "", "/", "." and "..".
 */
struct cslice target_name(const char *path);
/* DIR/NAME, given; dir itself for an empty name. */
MUST err_t target_join(const char *dir, struct cslice name, char **out);

/* ---- the run ------------------------------------------------------------------------------------
 */
enum scp_mode { SCP_SFTP, SCP_OLD, SCP_HELP, SCP_SIDE };

struct host { /* a connection, and the file system behind it */
	struct host *next;
	const char *user, *host; /* of the target that it was made for; borrowed */
	uint16_t port;
	bool is_source;
	struct copy_conn *conn;
	struct remote remote;
};

struct dest_dir { /* the target, looked at once */
	struct host *host;
	char *path; /* as the server wants it; owned */
	bool is_dir;
};

struct batch { /* files between the same two ends, copied together */
	struct host *from, *to;
	struct xfer_item *v; /* owned strings */
	size_t n, cap;
};

struct scp {
	enum scp_mode mode;
	struct copy_options copy;
	struct xfer_opts opts;
	struct rcp_opts old;       /* of the old protocol, and as the side of another scp */
	char side;                 /* 'f', 't'; 0 = none */
	bool is_direct, is_quiet;  /* -R, -q */
	bool has_extras, has_jump; /* an option that only Bowline has; -J */
	uint32_t buffer, requests; /* -X */
	struct target *sources, to;
	const char **source_words;
	const char *to_word;
	size_t sources_n;

	struct ev *ev;
	struct meter meter;
	struct xfer_progress before, last; /* of the copies before this one; with this one */
	struct host *hosts;
	struct xfer *xfer; /* that runs */
	struct batch batch;
	struct dest_dir dest;
	uint32_t umask;
	uint64_t failed;
	bool is_lost; /* a connection could not be made or broke */
	bool has_signals, is_interrupted, has_hinted;
	int signo;
};

/* args.c: what is wrong has been told, with the usage where it helps. */
MUST err_t args_parse(struct scp *s, int argc, char **argv, int *rest);
void args_usage(bool is_long);

/* words.c: "scp: TEXT", around the progress. */
void scp_say(void *scp, enum log_level level, const char *text);
void scp_fail(struct scp *s, const char *fmt, ...) PRINTF(2, 3); /* and one thing more failed */
/* A path was not found: was it written for a shell?  Told once. */
void scp_hint_quotes(struct scp *s, const char *path);
/* An argument of a message, safe to print; given, never NULL. */
char *scp_safe(const char *text);
void scp_progress(void *scp, const struct xfer_progress *p);
void scp_progress_start(struct scp *s); /* a copy begins */

/* hosts.c: E_... = told, and counted. */
MUST err_t hosts_sftp(struct scp *s, const struct target *t, bool is_source, struct host **out);
MUST err_t hosts_command(
	struct scp *s, const struct target *t, const char *command, struct copy_conn **out);
/* SIGINT and the like become events; once. */
MUST err_t hosts_signals(struct scp *s);
void hosts_close(struct scp *s);

/* cp.c, copy.c, old.c, direct.c: one source, or all. */
void cp_copy(struct scp *s, size_t source);
bool cp_target_is_directory(struct scp *s); /* told if not */
void copy_upload(struct scp *s, size_t source);
void copy_download(struct scp *s, size_t source);
void copy_across(struct scp *s, size_t source);
void copy_local(struct scp *s, size_t source); /* with Bowline's own options */
void copy_flush(struct scp *s);                /* the batch is copied */
void old_upload(struct scp *s);                /* all local sources */
void old_download(struct scp *s, size_t source);
void old_across(struct scp *s, size_t source);
void direct_copy(struct scp *s, size_t source);

#endif
