/* SPDX-License-Identifier: ISC */
/* connect - a way to the program at the other end: which kind it is */
#include <stdlib.h>

#include "app/copy/copy_int.h"

enum log_level copy_level(const struct copy_options *o)
{
	if (o->is_quiet)
		return LOG_L_QUIET;
	uint32_t level = LOG_L_INFO + (o->verbose > 0 ? LOG_L_DEBUG1 - LOG_L_INFO - 1 : 0);
	return (enum log_level)num_min((size_t)level + o->verbose, LOG_L_DEBUG3);
}

bool copy_is_interrupted(const struct copy_options *o)
{
	return o->is_interrupted != NULL && *o->is_interrupted;
}

err_t copy_connect(struct copy_conn **out, const struct copy_options *o, const struct copy_to *to,
	struct ev *ev)
{
	struct copy_conn *c = calloc(1, sizeof(*c));
	if (c == NULL)
		return E_MEM;
	c->options = o;
	c->ev = ev;
	bool is_child = o->server != NULL || o->ssh_program != NULL;
	err_t e = is_child ? copy_child_start(c, to) : copy_login(c, to);
	if (e != OK) {
		free(c);
		return e;
	}
	*out = c;
	return OK;
}

err_t copy_again(struct copy_conn *c, const struct copy_to *to, int *status)
{
	return c->ssh != NULL ? copy_login_again(c, to, status) : E_UNSUPPORTED;
}

struct link *copy_link(struct copy_conn *c)
{
	return c->ssh != NULL ? link_channel_face(c->session.link) : link_fds_face(c->fds);
}

int copy_close(struct copy_conn *c)
{
	if (c == NULL)
		return SSH_EXIT_ERROR;
	int status = c->ssh != NULL ? copy_logout(c) : copy_child_end(c);
	free(c);
	return status;
}
