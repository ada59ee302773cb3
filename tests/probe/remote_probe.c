/* SPDX-License-Identifier: ISC */
/*
 * remote_probe - the connection and the file system that scp and sftp stand on, for tests
 *
 *     remote_probe [options as sftp's] [user@]host... COMMAND ARGUMENT
 *
 *     ls DIRECTORY      name and size of each entry, sorted by name
 *     stat PATH         its size
 *     glob PATTERN      the paths
 *     both PATH         as stat, over a connection to each of two hosts at once
 *     exec COMMAND      what it prints; ends with its status
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "app/copy/copy.h"
#include "transfer/remote.h"

#define FAILED 1

static int by_name(const void *a, const void *b)
{
	return strcmp(
		((const struct remote_entry *)a)->name, ((const struct remote_entry *)b)->name);
}

static err_t do_ls(struct remote *r, const char *path)
{
	struct remote_dir d = {0};
	TRY(remote_list(r, path, &d));
	if (d.n > 0)
		qsort(d.v, d.n, sizeof(*d.v), by_name);
	for (size_t i = 0; i < d.n; i++)
		printf("%s %llu\n", d.v[i].name, (unsigned long long)d.v[i].a.size);
	remote_dir_free(&d);
	return OK;
}

static err_t do_stat(struct remote *r, const char *path)
{
	struct sf_attr a = {0};
	TRY(remote_stat(r, path, false, &a));
	printf("%llu\n", (unsigned long long)a.size);
	return OK;
}

static err_t do_glob(struct remote *r, const char *pattern)
{
	struct remote_paths p = {0};
	TRY(remote_glob(r, pattern, false, &p));
	for (size_t i = 0; i < p.n; i++)
		printf("%s\n", p.v[i]);
	remote_paths_free(&p);
	return OK;
}

typedef err_t do_fn(struct remote *r, const char *argument);
static const struct {
	const char *name;
	do_fn *fn;
} commands[] = {
	{"ls", do_ls},
	{"stat", do_stat},
	{"both", do_stat},
	{"glob", do_glob},
};

/* ---- the output of a command ------------------------------------------------------------------
 */
struct output {
	struct ev *ev;
	bool is_over;
	err_t why;
};

static void on_bytes(void *arg, struct span in)
{
	(void)arg;
	(void)fwrite(in.p, 1, in.n, stdout);
}

static void on_end(void *arg, err_t why)
{
	struct output *o = arg;
	o->is_over = true;
	o->why = why;
	ev_stop(o->ev);
}

static int run_command(const struct copy_options *o, struct copy_to *to, struct ev *ev)
{
	struct copy_conn *c;
	struct output out = {.ev = ev};
	if (copy_connect(&c, o, to, ev) != OK)
		return SSH_EXIT_ERROR;
	struct link *l = copy_link(c);
	l->arg = &out;
	l->on_bytes = on_bytes;
	l->on_end = on_end;
	l->ops->finish(l);
	while (!out.is_over)
		if (ev_run(ev) != OK)
			break;
	return copy_close(c);
}

/* ---- a file system ----------------------------------------------------------------------------
 */
struct side {
	struct copy_conn *c;
	struct remote r;
};

static int open_side(
	struct side *s, const struct copy_options *o, struct copy_to *to, struct ev *ev)
{
	to->subsystem = "sftp";
	if (copy_connect(&s->c, o, to, ev) != OK) {
		fprintf(stderr, "probe: no connection\n");
		return FAILED;
	}
	err_t e = remote_start(&s->r, copy_link(s->c), 0, 0);
	if (e == OK)
		return 0;
	fprintf(stderr, "probe: %s\n", remote_words(&s->r, e));
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

static int use(struct side *s, const char *command, const char *argument)
{
	for (size_t i = 0; i < ARRAY_N(commands); i++) {
		if (strcmp(commands[i].name, command) != 0)
			continue;
		err_t e = commands[i].fn(&s->r, argument);
		if (e == OK)
			return 0;
		fprintf(stderr, "probe: %s: %s\n", argument, remote_words(&s->r, e));
		return FAILED;
	}
	return FAILED;
}

static int run(struct copy_options *o, char **words, int n, struct ev *ev)
{
	struct side sides[2] = {0};
	int status = 0, last = 0, hosts = o->server != NULL ? 1 : n - 2;
	const char *command = words[n - 2], *argument = words[n - 1];
	for (int i = 0; i < hosts && i < 2 && status == 0; i++) {
		struct dest d = {0};
		if (o->server == NULL && dest_parse(words[i], &d) != OK)
			return FAILED;
		struct copy_to to = {.user = d.user, .host = d.host, .port = d.port};
		if (strcmp(command, "exec") == 0) {
			to.command = argument;
			status = run_command(o, &to, ev);
		} else {
			status = open_side(&sides[i], o, &to, ev);
		}
		free(d.user);
		free(d.host);
	}
	for (int i = 0; i < hosts && i < 2 && status == 0 && sides[i].c != NULL; i++)
		status = use(&sides[i], command, argument);
	for (int i = 0; i < 2; i++)
		last = close_side(&sides[i]) != 0 ? FAILED : last;
	return status != 0 ? status : last;
}

int main(int argc, char **argv)
{
	struct copy_options o;
	struct ev *ev;
	int c, status = FAILED;
	if (copy_options_init(&o, "sftp") != OK || ev_new(&ev) != OK)
		return FAILED;
	while ((c = getopt(argc, argv, "46CD:F:i:o:P:qS:v")) != -1)
		if (c == '?' || copy_flag(&o, (char)c, optarg) != OK)
			return FAILED;
	if (argc - optind >= 2 && copy_options_end(&o) == OK)
		status = run(&o, argv + optind, argc - optind, ev);
	copy_options_done(&o);
	ev_free(ev);
	return fflush(stdout) == 0 ? status : FAILED;
}
