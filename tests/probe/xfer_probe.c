/* SPDX-License-Identifier: ISC */
/*
 * xfer_probe - the copying of files and trees that scp and sftp stand on, for tests
 *
 *     xfer_probe [options as sftp's] [-x OPTION]... [user@]host... up|down|across|local FROM TO...
 *
 * across needs two hosts (with -D: the same server twice); local needs none.  OPTION: recursive,
 * keep, follow, resume, resume_checked, fsync, atomic, sparse, checksum, limit=BYTES, requests=N,
 * buffer=N, peer (names of destinations came from the server), count (files and failures on
 * stdout), interrupt=N (once N bytes are there), progress.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/copy/copy.h"
#include "base/text.h"
#include "transfer/transfer.h"

#define FAILED 1

struct wishes {
	struct xfer_opts opts;
	uint64_t buffer, requests, interrupt_at;
	bool is_peer, counts, shows;
	struct xfer *x;
	struct xfer_progress last;
};

static const struct {
	const char *name;
	size_t at;
} switches[] = {
#define S(name)                                                                                    \
	{                                                                                          \
#name, offsetof(struct xfer_opts, name)                                            \
	}
	{"recursive", offsetof(struct xfer_opts, is_recursive)},
	S(keep),
	S(follow),
	S(resume),
	S(resume_checked),
	S(fsync),
	S(atomic),
	S(sparse),
	S(checksum),
};

static err_t take_option(struct wishes *w, const char *word)
{
	for (size_t i = 0; i < ARRAY_N(switches); i++)
		if (strcmp(word, switches[i].name) == 0) {
			*(bool *)((char *)&w->opts + switches[i].at) = true;
			return OK;
		}
	const char *eq = strchr(word, '=');
	struct cslice name = cslice_of(word, eq != NULL ? (size_t)(eq - word) : strlen(word));
	uint64_t n = 0;
	if (eq != NULL)
		TRY(text_u64(cslice_str(eq + 1), &n));
	if (cslice_eq_str(name, "limit"))
		w->opts.limit_bytes_s = n;
	else if (cslice_eq_str(name, "buffer"))
		w->buffer = n;
	else if (cslice_eq_str(name, "requests"))
		w->requests = n;
	else if (cslice_eq_str(name, "interrupt"))
		w->interrupt_at = n;
	else if (cslice_eq_str(name, "peer"))
		w->is_peer = true;
	else if (cslice_eq_str(name, "count"))
		w->counts = true;
	else if (cslice_eq_str(name, "progress"))
		w->shows = true;
	else
		return E_USAGE;
	return OK;
}

static void say(void *arg, enum log_level level, const char *text)
{
	(void)arg;
	fprintf(stderr, "%s%s\n", level > LOG_L_ERROR ? "note: " : "", text);
}

static void progress(void *arg, const struct xfer_progress *p)
{
	struct wishes *w = arg;
	w->last = *p;
	if (w->shows)
		printf("%s %llu/%llu %llu/%llu%s%s\n", p->name != NULL ? p->name : "-",
			(unsigned long long)p->file_done, (unsigned long long)p->file_size,
			(unsigned long long)p->done, (unsigned long long)p->size,
			p->is_file_end ? " end" : "", p->is_end ? " all" : "");
	if (w->interrupt_at > 0 && p->done >= w->interrupt_at) {
		w->interrupt_at = 0;
		xfer_interrupt(w->x);
	}
}

static int copy(struct wishes *w, struct xfer_env *env, char **paths, int n)
{
	env->say = say;
	env->progress = progress;
	env->arg = w;
	env->opts = w->opts;
	env->umask = (uint32_t)umask(0);
	(void)umask((mode_t)env->umask);
	if (n < 2 || n % 2 != 0 || xfer_new(&w->x, env) != OK)
		return FAILED;
	err_t e = OK;
	for (int i = 0; i < n && e == OK; i += 2)
		e = xfer_add(w->x, &(struct xfer_item){paths[i], paths[i + 1], w->is_peer});
	if (e == OK)
		e = xfer_run(w->x);
	if (e != OK)
		fprintf(stderr, "probe: %s\n", err_text(e));
	if (w->counts)
		printf("files %llu of %llu bytes %llu failed %llu\n",
			(unsigned long long)w->last.files_done, (unsigned long long)w->last.files,
			(unsigned long long)w->last.done, (unsigned long long)w->last.failed);
	int status = e != OK || xfer_failed(w->x) > 0 ? FAILED : 0;
	xfer_free(w->x);
	return status;
}

struct side {
	struct copy_conn *c;
	struct remote r;
};

static int open_side(struct side *s, const struct copy_options *o, const char *host,
	const struct wishes *w, struct ev *ev)
{
	struct dest d = {0};
	if (o->server == NULL && dest_parse(host, &d) != OK)
		return FAILED;
	struct copy_to to = {.user = d.user, .host = d.host, .port = d.port, .subsystem = "sftp"};
	err_t e = copy_connect(&s->c, o, &to, ev);
	free(d.user);
	free(d.host);
	if (e == OK)
		e = remote_start(
			&s->r, copy_link(s->c), (uint32_t)w->buffer, (uint32_t)w->requests);
	if (e == OK)
		return 0;
	fprintf(stderr, "probe: %s\n", s->r.sf != NULL ? remote_words(&s->r, e) : err_text(e));
	return FAILED;
}

static int close_side(struct side *s)
{
	if (s->c == NULL)
		return 0;
	if (s->r.sf != NULL)
		remote_done(&s->r);
	return copy_close(s->c);
}

static bool is_verb(const char *word)
{
	return strcmp(word, "up") == 0 || strcmp(word, "down") == 0 ||
	       strcmp(word, "across") == 0 || strcmp(word, "local") == 0;
}

static int run(struct wishes *w, struct copy_options *o, char **words, struct ev *ev)
{
	struct side sides[2] = {0};
	int hosts = 0, status = 0, n;
	while (words[hosts] != NULL && !is_verb(words[hosts]))
		hosts++;
	if (words[hosts] == NULL)
		return FAILED;
	char verb = words[hosts][0], **paths = words + hosts + 1;
	for (n = 0; paths[n] != NULL; n++)
		;
	int needed = verb == 'a' ? 2 : verb == 'l' ? 0 : 1;
	for (int i = 0; i < needed && status == 0; i++)
		status = open_side(
			&sides[i], o, hosts > 0 ? words[i < hosts ? i : hosts - 1] : "", w, ev);
	struct xfer_env env = {.ev = ev};
	env.ends.from = verb == 'd' || verb == 'a' ? &sides[0].r : NULL;
	env.ends.to = verb == 'u' ? &sides[0].r : verb == 'a' ? &sides[1].r : NULL;
	if (status == 0)
		status = copy(w, &env, paths, n);
	for (int i = 0; i < needed; i++)
		if (close_side(&sides[i]) != 0 && status == 0)
			status = FAILED;
	return status;
}

int main(int argc, char **argv)
{
	struct copy_options o;
	struct wishes w = {0};
	struct ev *ev;
	int c, status = FAILED;
	if (copy_options_init(&o, "sftp") != OK || ev_new(&ev) != OK)
		return FAILED;
	while ((c = getopt(argc, argv, "+46CD:F:i:o:P:qS:vx:")) != -1)
		if (c == '?' ||
			(c == 'x' ? take_option(&w, optarg) : copy_flag(&o, (char)c, optarg)) != OK)
			return FAILED;
	if (copy_options_end(&o) == OK)
		status = run(&w, &o, argv + optind, ev);
	copy_options_done(&o);
	ev_free(ev);
	return fflush(stdout) == 0 ? status : FAILED;
}
