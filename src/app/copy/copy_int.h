/* SPDX-License-Identifier: ISC */
/* copy_int - what the files of copy share: a connection is a login of our own, or a child */
#ifndef APP_COPY_COPY_INT_H
#define APP_COPY_COPY_INT_H

#include "app/copy/copy.h"

struct session { /* of our own login */
	struct link_channel *link;
	const struct copy_options *options;
	const struct copy_to *to; /* until it is open */
	uint32_t chan, status;
	bool is_open, is_closed, is_refused, has_status, is_late;
};

struct copy_conn {
	const struct copy_options *options;
	struct ev *ev;
	struct ssh *ssh; /* NULL: a child */
	struct session session;
	struct helper child;
	struct link_fds *fds;
};

/* login.c */
MUST err_t copy_login(struct copy_conn *c, const struct copy_to *to);
MUST err_t copy_login_again(struct copy_conn *c, const struct copy_to *to, int *status);
int copy_logout(struct copy_conn *c);
/* child.c */
MUST err_t copy_child_start(struct copy_conn *c, const struct copy_to *to);
int copy_child_end(struct copy_conn *c);

/* The level of messages that the options ask for. */
enum log_level copy_level(const struct copy_options *o);
bool copy_is_interrupted(const struct copy_options *o);

#endif
