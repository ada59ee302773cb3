/* SPDX-License-Identifier: ISC */
/*
 * hosted - the SFTP server inside a process that serves other things too
 *
 * The host moves the bytes (sf_server_serve); what the program has by being a process - start
 * directory, umask, log - each hosted server has for itself: the process takes on directory and
 * umask of the one that is served.
 */
#ifndef APP_SFTP_HOSTED_H
#define APP_SFTP_HOSTED_H

#include <sys/types.h>

#include "app/common/me.h"
#include "sftp/server.h"

struct hosted;

struct hosted_place {             /* one for all that a process hosts */
	const struct hosted *now; /* whose directory and umask the process has; NULL: its own */
	mode_t mask;              /* its own */
};

struct hosted_env {
	int argc;
	char **argv; /* borrowed, as all below, until hosted_free */
	const struct me *me;
	const char *from;    /* the client's address, for the log */
	bool has_link_first; /* of the client: sf_server_env */
	bool may_lack_home;  /* then it starts in the root directory */
	struct hosted_place *place;
	void (*log_back)(void *arg); /* the log is the host's again */
	void *arg;
};

/*
 * hosted_new - reads the command line and is ready to serve
 *
 * E_USAGE: only a process of its own can do what is asked (a usage, a list, -e), or tell what is
 * wrong with it.  E_NOT_FOUND: there is no home directory.
 */
MUST err_t hosted_new(struct hosted **out, const struct hosted_env *env);
MUST err_t hosted_serve(struct hosted *h, struct sf_work *w);
/* Replies wait, or a long request is under way. */
bool hosted_has_more(const struct hosted *h);
/* why: OK or the error of hosted_serve, for the log. */
void hosted_free(struct hosted *h, err_t why);

#endif
