/* SPDX-License-Identifier: ISC */
/* direct - between two hosts without this one in between (-R): the first runs scp to the second */
#include <stdlib.h>

#include "app/scp/scp.h"

/* Both paths go as they were written: the shell there takes them apart, as with OpenSSH. */
static err_t command_of(const struct scp *s, const struct target *from, struct buf *out)
{
	const struct target *to = &s->to;
	bool is_v6 = strchr(to->host, ':') != NULL;
	buf_printf(out, "scp%s%s%s%s -- %s %s%s%s%s%s:%s", s->copy.verbose > 0 ? " -v" : "",
		s->opts.is_recursive ? " -r" : "", s->opts.keep ? " -p" : "",
		s->is_quiet ? " -q" : "", from->path, to->user != NULL ? to->user : "",
		to->user != NULL ? "@" : "", is_v6 ? "[" : "", to->host, is_v6 ? "]" : "",
		to->path);
	buf_put_u8(out, 0);
	return buf_err(out);
}

static bool may_go(struct scp *s)
{
	const struct target *to = &s->to;
	if (to->port != 0) {
		scp_fail(s, "target port not supported with two remote hosts and the -R option");
		return false;
	}
	const char *bad = to->user != NULL && !dest_user_is_fine(to->user) ? to->user
			  : !dest_host_is_fine(to->host)                   ? to->host
									   : NULL;
	if (bad == NULL)
		return true;
	char *safe = scp_safe(bad);
	scp_fail(s, "%s: invalid %s name", safe, bad == to->host ? "host" : "user");
	free(safe);
	return false;
}

void direct_copy(struct scp *s, size_t source)
{
	struct buf command;
	struct copy_conn *c;
	if (!may_go(s))
		return;
	buf_init(&command, SCP_COMMAND_MAX);
	err_t e = command_of(s, &s->sources[source], &command);
	if (e != OK)
		scp_fail(s, "%s", err_text(e));
	else
		e = hosts_command(s, &s->sources[source], (const char *)command.p, &c);
	buf_done(&command);
	if (e != OK)
		return;
	e = rcp_show(copy_link(c), s->ev);
	if (copy_close(c) != 0 || e != OK)
		s->failed++;
}
