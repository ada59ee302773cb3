/* SPDX-License-Identifier: ISC */
/*
 * ssh - what the parts of the client at the keyboard share
 *
 * app/client logs in; here are the command line and the session.  Every way out goes through
 * ssh_finish, which brings the terminal back.
 */
#ifndef APP_SSH_SSH_H
#define APP_SSH_SSH_H

#include "app/client/client.h"
#include "os/tty.h"
#include "run/chanio.h"

enum ssh_mode { SSH_CONNECT, SSH_DUMP, SSH_QUERY, SSH_VERSION, SSH_KEYS };

struct cli {
	enum ssh_mode mode;
	const char *log_file; /* -E */
	const char *query;    /* -Q */
	uint32_t tty_asked;
};

struct escape {
	int character; /* -1 = none */
	bool at_line_start, is_pending;
};

struct session {
	struct chanio io;
	struct escape escape;
	struct tty_raw raw;
	uint32_t chan;
	bool is_open, is_closed, has_tty, has_started, has_status;
	uint32_t replies_due; /* of pty-req and exec */
	bool pty_reply_due;
	uint32_t status;
};

/* args.c: E_USAGE and friends have been told; the caller exits with 255. */
MUST err_t args_parse(struct ssh *s, int argc, char **argv);

/* query.c: -Q, -V.  Gives the exit status. */
int query_print(const char *term);
void version_print(void);

/* session.c */
MUST err_t session_start(struct ssh *s);
MUST err_t session_events(struct ssh *s); /* after every message */
MUST err_t session_poll(struct ssh *s);   /* once a turn, before writing */
void session_resize(struct ssh *s);
void session_say_closed(const struct ssh *s); /* the line that ends a session with a terminal */
void session_stop(struct ssh *s);             /* terminal back, descriptors back */
void session_end(struct ssh *s);              /* in order, with the status of the command */
/* The connection is over, what has arrived is the user's: true when a slow reader has not taken all
 * of it yet; then `done` follows. */
bool session_drain(struct ssh *s, void (*done)(void *arg));

/* escape.c: a filter for chanio. */
size_t escape_filter(void *arg, uint8_t *p, size_t n);

#endif
