/* SPDX-License-Identifier: ISC */
/* rcp_client - the old protocol over a link: its command, and the copies from and to this end */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "app/scp/rcp_int.h"

#define COMMAND_MAX ((size_t)64 << 10)

err_t rcp_command(const struct rcp_opts *opts, char role, const char *path, char **out)
{
	struct buf b;
	const struct {
		bool is_on;
		const char *word;
	} words[] = {
		{opts->is_verbose, " -v"},
		{opts->is_recursive, " -r"},
		{opts->keep, " -p"},
		{opts->is_dir_target && role == 't', " -d"},
		{role == 't', " -t"},
		{role == 'f', " -f"},
		{path[0] == '-', " --"},
	};
	buf_init(&b, COMMAND_MAX);
	buf_put(&b, "scp", 3);
	for (size_t i = 0; i < ARRAY_N(words); i++) {
		if (words[i].is_on)
			buf_put(&b, words[i].word, strlen(words[i].word));
	}
	buf_put_u8(&b, ' ');
	if (path[0] == '\0')
		path = ".";
	buf_put(&b, path, strlen(path) + 1);
	err_t e = buf_err(&b);
	char *text = e == OK ? strdup((const char *)b.p) : NULL;
	buf_done(&b);
	if (e != OK)
		return e;
	if (text == NULL)
		return E_MEM;
	*out = text;
	return OK;
}

err_t rcp_send(struct link *link, const struct rcp_env *env, const char *const *paths, size_t n,
	uint64_t *failed)
{
	struct rcp_run r;
	const struct rcp_sending what = {.paths = paths, .n = n};
	rcp_run_init(&r, env);
	err_t e = rcp_source_run(&r, link, &what);
	*failed += r.failed;
	return rcp_result(e);
}

/* The other end's shell makes several words of it. */
static bool has_open_blank(const char *path)
{
	for (const char *p = path; *p != '\0'; p++) {
		if (*p == '\\' && p[1] != '\0')
			p++;
		else if (*p == '\'' || *p == '"')
			return false;
		else if (*p == ' ')
			return true;
	}
	return false;
}

err_t rcp_fetch(struct link *link, const struct rcp_env *env, const char *asked, const char *to,
	uint64_t *failed)
{
	struct rcp_run r;
	struct rcp_asked names = {0};
	const bool any = env->opts.any_name;
	rcp_run_init(&r, env);
	err_t e = any ? OK : rcp_asked_init(&names, asked, env->opts.is_recursive);
	if (e != OK) {
		(void)rcp_failed(&r, "%s: %s", asked, err_text(e));
		*failed += r.failed;
		return rcp_result(e);
	}
	const struct rcp_taking what = {.to = to, .asked = any ? NULL : &names};
	e = rcp_sink_run(&r, link, &what);
	if (r.failed > 0 && has_open_blank(asked))
		rcp_tell(&r, LOG_L_INFO,
			"%s: with -O the other end's shell splits this at its blanks; write '\\ ' "
			"for "
			"one that belongs to a name",
			asked);
	rcp_asked_done(&names);
	*failed += r.failed;
	return rcp_result(e);
}

/* ---- what a command prints --------------------------------------------------------------------
 */

struct show {
	struct ev *ev;
	bool is_over;
	err_t why;
};

static void over(struct show *s, err_t why)
{
	s->is_over = true;
	s->why = why;
	ev_stop(s->ev);
}

static void show_bytes(void *arg, struct span in)
{
	struct show *s = arg;
	while (in.n > 0 && !s->is_over) {
		ssize_t n = write(STDOUT_FILENO, in.p, in.n);
		if (n < 0 && errno != EINTR)
			over(s, E_IO);
		if (n > 0) {
			in.p += n;
			in.n -= (size_t)n;
		}
	}
}

static void show_end(void *arg, err_t why)
{
	over(arg, why);
}

err_t rcp_show(struct link *link, struct ev *ev)
{
	struct show s = {.ev = ev};
	link->on_bytes = show_bytes;
	link->on_room = NULL;
	link->on_end = show_end;
	link->arg = &s;
	link->ops->finish(link);
	link->ops->kick(link);
	err_t e = OK;
	while (!s.is_over && e == OK)
		e = ev_run(ev);
	link->on_bytes = NULL;
	link->on_end = NULL;
	link->arg = NULL;
	return e != OK ? e : s.why;
}
