/* SPDX-License-Identifier: ISC */
/*
 * rcp - the old protocol of scp (-O): what the program calls
 *
 * Each function runs the loop until its copy is over.  What fails is told by env->say, once, and
 * counted in *failed; the exit status is 1 when anything was, as also when the connection is lost
 * or the peer breaks the protocol.  OK in all these cases, E_INTERRUPTED, or E_IO when the loop
 * itself failed.  The protocol itself is in sftp/rcp.h.
 */
#ifndef APP_SCP_RCP_H
#define APP_SCP_RCP_H

#include "transfer/transfer.h"

struct rcp_opts {
	bool is_recursive;      /* -r */
	bool keep;              /* -p */
	bool is_dir_target;     /* -d, or several sources: the target must be a directory */
	bool any_name;          /* -T: names that were not asked for are taken too */
	bool is_verbose;        /* -v, for the command at the other end */
	uint64_t limit_bytes_s; /* -l; 0 = none */
};

struct rcp_env {
	struct ev *ev;
	struct rcp_opts opts;
	/* As in struct xfer_env: one line, safe to print, without "scp: " and its end. */
	void (*say)(void *arg, enum log_level level, const char *text);
	void (*progress)(void *arg, const struct xfer_progress *p); /* NULL = none */
	void *arg;
	uint32_t umask; /* for new local files */
	/* A signal's event sets it and calls ev_stop: the copy ends, E_INTERRUPTED.  May be NULL.
	 */
	const bool *is_interrupted;
};

/*
 * rcp_command - what is run at the other end: "scp -r -p -t PATH"
 *
 *   role   't': it takes files, 'f': it gives them
 *   path   as the user wrote it: the shell there takes it apart; "" = "."
 *   out    given: the caller frees it
 */
MUST err_t rcp_command(const struct rcp_opts *opts, char role, const char *path, char **out);

/* Local files to the `scp -t` at the other end of the link.  paths: as given, without patterns. */
MUST err_t rcp_send(struct link *link, const struct rcp_env *env, const char *const *paths,
	size_t n, uint64_t *failed);

/* From the `scp -f` at the other end to the local path `to`.  asked: the path of its command; names
 * that do not match it are refused. */
MUST err_t rcp_fetch(struct link *link, const struct rcp_env *env, const char *asked,
	const char *to, uint64_t *failed);

/* From the `scp -f` at one link to the `scp -t` at another (-3); every name is judged as in
 * rcp_fetch. */
MUST err_t rcp_across(struct link *from, struct link *to, const struct rcp_env *env,
	const char *asked, uint64_t *failed);

/* What a command at the other end prints, to stdout until it ends (-R). */
MUST err_t rcp_show(struct link *link, struct ev *ev);

/* scp -t PATH, scp -f PATH...: on stdin and stdout.  Gives the exit status. */
struct rcp_served {
	bool is_source; /* -f; else -t */
	bool is_recursive, keep, is_dir_target;
};
int rcp_main(const struct rcp_served *how, const char *const *paths, size_t n);

#endif
