/* SPDX-License-Identifier: ISC */
/* old - by the old protocol (-O): an scp is run at each other end */
#include <stdlib.h>

#include "app/scp/scp.h"

static struct rcp_env env_of(struct scp *s)
{
	return (struct rcp_env){.ev = s->ev,
		.opts = s->old,
		.say = scp_say,
		.progress = s->meter.is_on ? scp_progress : NULL,
		.arg = s,
		.umask = s->umask,
		.is_interrupted = &s->is_interrupted};
}

/* The other end's scp, started. */
static err_t begin(struct scp *s, char role, const struct target *t, struct copy_conn **out)
{
	char *command = NULL;
	struct rcp_opts o = s->old;
	scp_progress_start(s);
	o.is_dir_target = role == 't' && s->sources_n > 1;
	err_t e = rcp_command(&o, role, t->path, &command);
	if (e != OK)
		scp_fail(s, "%s", err_text(e));
	else
		e = hosts_command(s, t, command, out);
	free(command);
	return e;
}

/* What went wrong there and was not told here still counts. */
static void end(struct scp *s, struct copy_conn *c, err_t e, uint64_t failed)
{
	int status = copy_close(c);
	s->failed += failed;
	if (e != OK && e != E_INTERRUPTED)
		s->is_lost = true;
	if (failed == 0 && (e != OK || status != 0))
		s->failed++;
}

void old_upload(struct scp *s)
{
	const char **paths = calloc(s->sources_n, sizeof(*paths));
	size_t n = 0;
	if (paths == NULL) {
		scp_fail(s, "%s", err_text(E_MEM));
		return;
	}
	for (size_t i = 0; i < s->sources_n; i++)
		if (s->sources[i].host == NULL)
			paths[n++] = s->sources[i].path;
	struct copy_conn *c;
	if (n > 0 && begin(s, 't', &s->to, &c) == OK) {
		struct rcp_env env = env_of(s);
		uint64_t failed = 0;
		err_t e = rcp_send(copy_link(c), &env, paths, n, &failed);
		end(s, c, e, failed);
	}
	free(paths);
}

void old_download(struct scp *s, size_t source)
{
	struct copy_conn *c;
	struct rcp_env env = env_of(s);
	uint64_t failed = 0;
	if (begin(s, 'f', &s->sources[source], &c) != OK)
		return;
	err_t e = rcp_fetch(copy_link(c), &env, s->sources[source].path, s->to.path, &failed);
	end(s, c, e, failed);
}

void old_across(struct scp *s, size_t source)
{
	struct copy_conn *from, *to;
	struct rcp_env env = env_of(s);
	uint64_t failed = 0;
	if (begin(s, 'f', &s->sources[source], &from) != OK)
		return;
	if (begin(s, 't', &s->to, &to) != OK) {
		(void)copy_close(from);
		return;
	}
	err_t e =
		rcp_across(copy_link(from), copy_link(to), &env, s->sources[source].path, &failed);
	end(s, from, e, failed);
	end(s, to, e, 0);
}
