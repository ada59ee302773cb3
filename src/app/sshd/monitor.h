/* SPDX-License-Identifier: ISC */
/*
 * monitor - the state of one connection's monitor, shared by monitor.c and mon_*.c
 *
 * The monitor decides.  It takes nothing from the network process on trust: the session id is the
 * hash of the first exchange, hashed and signed by itself, the data under a user's signature it
 * builds itself, and the key is the one that it looked up itself.
 */
#ifndef APP_SSHD_MONITOR_H
#define APP_SSHD_MONITOR_H

#include "app/sshd/sshd.h"
#include "key/authorized_keys.h"
#include "os/ev.h"
#include "os/pty.h"
#include "os/user.h"
#include "privsep/serve.h"

#define MON_PTYS_MAX 64
/* The method as logs name it once there is an answer; log scanners know it by this name. */
#define MON_KBDINT_ANSWER "keyboard-interactive/pam"

struct mon_key {        /* the key asked about last */
	uint32_t token; /* 0 = none */
	struct key *k;
	struct buf alg, blob; /* as asked */
	struct buf shown; /* "ED25519 SHA256:...", of a certificate "ED25519-CERT SHA256:... ID x
			     (serial 1) CA ED25519 SHA256:..." */
	struct ak_result permit;
};

struct mon_methods {  /* what AuthenticationMethods still wants */
	bool is_used; /* else one proof is enough */
	char **left;  /* owned; changed in place */
	size_t n;
	struct buf used; /* strings: the plain blobs of the keys that have served */
};

struct mon_info {         /* what ExposeAuthInfo tells */
	struct buf lines; /* one for each good proof */
	char *path;       /* of the file with them; owned; NULL = none */
};

struct mon_pty {
	char name[PTY_NAME_MAX]; /* "" = free place */
	pid_t pid;
};

struct monitor {
	struct setup *setup;
	struct ev *ev;
	struct conn_fds fds;
	struct ps_server ps;
	struct ev_io chan;
	struct ev_timer grace;
	struct os_ends ends;
	struct buf reply, reply2;         /* what replies point at */
	struct buf version, hostkey_algs; /* NUL-terminated; the same before and after login */

	/* exchange */
	struct buf peer_version; /* of the first exchange, and so of all; empty before */
	uint8_t session_id[HASH_MAX];
	size_t session_id_n;
	uint32_t signed_index;
	char signed_alg[64]; /* of the last exchange */
	uint64_t sign_at_us; /* after login: when the next signature may be made */

	/* user */
	char *asked; /* the name as asked for, `:style` and all: a signature covers this */
	char *name;  /* without the style; printable only through the log */
	char *service;
	bool is_named, is_valid, has_conf;
	struct os_user user; /* valid only */
	struct server_config conf;
	struct mon_key key;
	uint32_t tokens;
	struct mon_methods methods;
	struct ak_result granted; /* by all keys together; DENY: no key was needed */
	const char *method;       /* that let the user in */
	struct mon_info info;

	/* session */
	struct buf frozen; /* the transport's state */
	bool has_state, is_told_end;
	pid_t session;
	struct mon_pty ptys[MON_PTYS_MAX];
	int exit_code;
};

/* The configuration for this connection: the user's after pwnam, the global one before. */
static inline const struct server_config *mon_conf(const struct monitor *m)
{
	return m->has_conf ? &m->conf : &m->setup->global;
}

void mon_stop(struct monitor *m, int code);
/* "authenticating user U ", "invalid user U ", or "" for log lines. */
const char *mon_who(const struct monitor *m, char *room, size_t n);
/* Accepted, Failed, Postponed M for U from A port N ssh2: the lines that log scanners read. */
void mon_log_try(
	const struct monitor *m, const char *verdict, const char *method, const char *what);

/* "Accepted", "Partial" or "Failed". */
const char *mon_verdict_word(err_t e);

/* mon_user.c */
err_t mon_pwnam(void *arg, const struct ps_req_pwnam *req, struct ps_rep_pwnam *rep);
err_t mon_auth_none(void *arg, const struct ps_req_auth_none *req, struct ps_rep_auth_none *rep);
err_t mon_auth_password(
	void *arg, const struct ps_req_auth_password *req, struct ps_rep_auth_password *rep);
err_t mon_kbdint(void *arg, const struct ps_req_kbdint *req, struct ps_rep_kbdint *rep);
/* May this user come in by this method at all?  OK, E_DENIED (told in the log). */
MUST err_t mon_may_enter(struct monitor *m, const char *method, const struct ak_result *permit);

/* mon_allow.c: AllowUsers, DenyUsers, AllowGroups and DenyGroups; a no is told in the log.  host:
 * the peer's name or address; groups: the user's, comma separated. */
bool mon_is_listed(const struct monitor *m, const char *host, const char *groups);

/* mon_key.c */
err_t mon_key_allowed(
	void *arg, const struct ps_req_key_allowed *req, struct ps_rep_key_allowed *rep);
err_t mon_key_verify(void *arg, const struct ps_req_key_verify *req, struct ps_rep_key_verify *rep);
/* A list of lines (authorized_keys, principals), read with the user's rights and held to
 * StrictModes; what is wrong is told, `what` names the kind of file.  Appended. */
MUST err_t mon_key_file(struct monitor *m, const char *path, const char *what, struct buf *text);
/* The query that the key asked about makes of such lines in the file at path; looking is its
 * argument, both live together. */
struct mon_looking {
	struct monitor *m;
	const char *path;
};
struct ak_query mon_key_query(struct mon_looking *looking);
/* %% %h %U %u of a file's name; relative to the home directory.  Appended, with a NUL. */
MUST err_t mon_key_path(const struct monitor *m, const char *pattern, struct buf *out);
void mon_key_init(struct mon_key *key);
void mon_key_clear(struct mon_key *key);

/* mon_methods.c.  start: once the user's configuration is there; E_DENIED: no list of methods can
 * be met (told). */
MUST err_t mon_methods_start(struct monitor *m);
void mon_methods_done(struct mon_methods *w);
bool mon_methods_wants(const struct monitor *m, const char *method); /* now */
void mon_methods_put(const struct monitor *m, struct buf *out);      /* that can continue */
/* A proof by this method was good.  OK: the user is in; E_PARTIAL: more is needed, *left lives
 * until the next reply; E_DENIED: it was not wanted now. */
MUST err_t mon_methods_passed(struct monitor *m, const char *method, struct cslice *left);
bool mon_methods_is_used(const struct monitor *m, const struct key *k); /* true also in doubt */
MUST err_t mon_methods_use(struct monitor *m, const struct key *k);

/* mon_cert.c: the words for the log; appended. */
MUST err_t mon_cert_describe(const struct monitor *m, const struct key *k, struct buf *out);
/* Is the certificate's authority trusted for every user (TrustedUserCAKeys), and the certificate
 * good for this one?  OK, E_DENIED (told in the log). */
MUST err_t mon_cert_trusted(struct monitor *m, struct ak_result *out);
void mon_cert_refused(const struct monitor *m, const char *reason);
void mon_cert_accepted(const struct monitor *m, const char *where); /* " via F" */

/* mon_command.c: runs the command of a keyword, its tokens expanded for the key asked about, and
 * appends what it printed.  E_NOT_FOUND: there is none; other errors are told
 * in the log. */
struct mon_command {
	const char *keyword;
	const char *line, *user; /* the values of the keyword and of keywordUser */
	size_t output_max;       /* bytes; of more nothing counts */
};
MUST err_t mon_command(struct monitor *m, const struct mon_command *c, struct buf *out);

/* mon_revoked.c: the key asked about is in none of RevokedKeys.  OK, or an error (told in the log).
 */
MUST err_t mon_key_not_revoked(const struct monitor *m);

/* What the way in allows: everything but for keys with options. */
struct ak_permit mon_permit(const struct monitor *m);
/* The options of one more key hold from now on.  E_DENIED (told): they contradict those before. */
MUST err_t mon_grant(struct monitor *m, const struct ak_result *r);

/* mon_info.c.  add: a proof was good; blob: of the key, else empty.  expose: where the user is to
 * know, the file is made; what keeps it from that is told. */
void mon_info_init(struct mon_info *info);
void mon_info_done(struct mon_info *info);
void mon_info_add(struct mon_info *info, const char *method, struct cslice blob);
void mon_info_expose(struct monitor *m);
void mon_info_remove(struct monitor *m);

/* mon_session.c */
err_t mon_state(void *arg, const struct ps_req_state *req, struct ps_rep_state *rep);
err_t mon_pty(void *arg, const struct ps_req_pty *req, struct ps_rep_pty *rep);
err_t mon_pty_end(void *arg, const struct ps_req_pty_end *req, struct ps_rep_pty_end *rep);
/* Starts the session process in the place of the network process. */
MUST err_t mon_session_start(struct monitor *m);
void mon_ptys_end(struct monitor *m);

/* moduli.c: a safe prime for the group exchange, p and g appended as magnitudes.  E_NOT_FOUND: none
 * fits. */
MUST err_t moduli_choose(
	const char *file, const struct ps_req_moduli *want, struct buf *p, struct buf *g);
/* Pure part: the same over the text of the file. */
MUST err_t moduli_pick(struct cslice text, const struct ps_req_moduli *want, struct rng *rng,
	struct buf *p, struct buf *g);

#endif
