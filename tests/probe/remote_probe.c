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
 *     pull PATH         reads it as fast as the depth of remote_rate lets it, and tells MB/s and
 * depth exec COMMAND      what it prints; ends with its status
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

/* ---- as fast as it goes -----------------------------------------------------------------------
 */
#define PULLS 512

struct pull {
	struct remote *r;
	uint8_t handle[256];
	size_t handle_n;
	uint64_t at, under_way, got;
	bool is_open, is_at_end, is_done;
	struct sf_ask open, v[PULLS];
	size_t free[PULLS], free_n;
	err_t e;
};

static void on_piece(struct sf_ask *a, uint32_t at, struct span piece)
{
	struct pull *p = a->arg;
	(void)at;
	p->got += piece.n;
}

static void on_pulled(struct sf_ask *a, const struct sf_reply *reply)
{
	struct pull *p = a->arg;
	p->under_way -= a->want;
	p->free[p->free_n++] = (size_t)(a - p->v);
	p->is_at_end = p->is_at_end || reply->type != SF_MSG_data;
	if (reply->err != OK)
		p->e = reply->err;
}

static void pull_more(void *arg)
{
	struct pull *p = arg;
	uint32_t n = p->r->read_max;
	if (!p->is_open)
		return;
	while (!p->is_at_end && p->free_n > 0 && p->under_way + n <= p->r->depth) {
		struct sf_ask *a = &p->v[p->free[p->free_n - 1]];
		struct sf_read m = {
			.handle = cslice_of(p->handle, p->handle_n), .offset = p->at, .n = n};
		*a = (struct sf_ask){.on = on_pulled, .on_data = on_piece, .arg = p};
		if (sf_ask_read(p->r->sf, a, &m) != OK)
			break;
		p->free_n--;
		p->at += n;
		p->under_way += n;
	}
	p->is_done = p->is_at_end && p->under_way == 0;
}

static void on_pull_open(struct sf_ask *a, const struct sf_reply *reply)
{
	struct pull *p = a->arg;
	if (reply->type != SF_MSG_handle) {
		p->e = E_NOT_FOUND;
		p->is_done = true;
		return;
	}
	p->handle_n = reply->handle.n;
	memcpy(p->handle, reply->handle.p, p->handle_n);
	p->is_open = true;
	pull_more(p);
}

static err_t do_pull(struct remote *r, const char *path)
{
	static struct pull p;
	p = (struct pull){.r = r};
	for (size_t i = 0; i < PULLS; i++)
		p.free[p.free_n++] = i;
	p.open = (struct sf_ask){.on = on_pull_open, .arg = &p};
	r->on_turn = pull_more;
	r->arg = &p;
	uint64_t begin_us = os_monotonic_us();
	TRY(sf_ask_open(r->sf, &p.open,
		&(struct sf_open){.path = cslice_str(path), .flags = SF_OPEN_READ}));
	TRY(remote_run_until(r, &p.is_done));
	r->on_turn = NULL;
	printf("%llu bytes %.1f MB/s depth %llu rtt %u\n", (unsigned long long)p.got,
		(double)p.got / (double)(os_monotonic_us() - begin_us),
		(unsigned long long)r->depth, r->rtt_us);
	return p.e;
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
	{"pull", do_pull},
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
