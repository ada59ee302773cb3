/* SPDX-License-Identifier: ISC */
/* ci - what the parts of ssh-copy-id share */
#ifndef APP_SSH_COPY_ID_CI_H
#define APP_SSH_COPY_ID_CI_H

#include "app/copy/copy.h"
#include "key/authorized_keys.h"
#include "transfer/remote.h"

#define CI_FAILED   1
#define CI_FILE_MAX ((size_t)16 << 20) /* an authorized_keys */
#define CI_KEYS_MAX ((size_t)1 << 20)  /* the lines that are to be added */

struct ci_key {
	char *line;       /* as it will stand in the file, without its end */
	char *shown;      /* "ED25519 SHA256:... comment", safe to print */
	struct buf blob;  /* what is compared */
	bool is_there;    /* already */
	uint32_t line_at; /* where; 0 = a second time among the keys themselves */
	bool is_limited;  /* that line has options */
};

struct ci_keys {
	struct ci_key *v;
	size_t n, cap;
	size_t to_add; /* after merge */
};

struct ci {
	struct copy_options copy;
	struct buf shown_options; /* -F and -o for the last sentence */
	const char *port;         /* -p */
	const char *identity;     /* -i with a name */
	const char *target;       /* -t */
	bool is_forced, is_dry_run, is_sftp_only, wants_default; /* -i without a name */
	bool is_help;
	struct me me;
	struct ci_keys keys;
	struct dest dest;
	struct ev *ev;
	struct copy_conn *conn;
	struct remote remote;
	bool is_interrupted;
	int signo;
};

/* To stderr: "ssh-copy-id: INFO: ...". */
void ci_say(const char *kind, const char *fmt, ...) PRINTF(2, 3);
/* The same as ERROR; gives CI_FAILED, for `return`. */
int ci_fail(const char *fmt, ...) PRINTF(1, 2);

/* args.c: what is wrong has been told.  E_USAGE: the usage follows. */
MUST err_t ci_args(struct ci *c, int argc, char **argv, const char **destination);
void ci_usage(void);

/* keys.c: fills c->keys, or says why not. */
MUST err_t ci_keys_load(struct ci *c);
void ci_keys_free(struct ci_keys *k);
/* Every key of a text of lines is added; what is none is left out.  E_KEY_PUBLIC: a private key. */
MUST err_t ci_keys_add(struct ci_keys *k, struct cslice text);

/*
 * ci_merge - what has to follow the text of the file so that every key is in it
 *
 * A key is there when a line has its blob and is not about certificates; is_forced: only when the
 * whole line is there.  tail: the bytes, with an end for the last line where that has none; empty
 * when all are there.  Marks each key.  E_FORMAT: the file is UTF-16, which no server reads.
 */
MUST err_t ci_merge(struct cslice file, struct ci_keys *keys, bool is_forced, struct buf *tail);

/* place.c: over SFTP.  OK: done, or told why not (*status).  Else SFTP does not begin: it is not
 * there, or what should be it says something else; nothing was done, and nothing told. */
MUST err_t ci_place_sftp(struct ci *c, int *status);
/* shell.c: by commands of the shell at the other end, over the same connection. */
int ci_place_shell(struct ci *c);
/* Says what was found for each key.  False: there is nothing to do. */
bool ci_report(const struct ci *c);

#endif
