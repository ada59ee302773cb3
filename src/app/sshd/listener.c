/* SPDX-License-Identifier: ISC */
/*
 * listener - accepts connections and hands them to warm processes; reads no byte of any peer
 *
 * For each connection it makes the channel between monitor and network process and sends one end to
 * each zygote.  What it hears back is one byte when the peer is logged in, or the end of the pipe:
 * that is all MaxStartups needs.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "app/sshd/sshd.h"
#include "app/sshd/startups.h"
#include "app/sshd/zygote.h"
#include "os/child.h"
#include "os/ev.h"
#include "os/fdpass.h"
#include "os/random.h"

#define SOCKETS_MAX   64
#define STARTS_MAX    5 /* zygotes that end before they are ready, in a row */
#define NEXT_BEFORE   4 /* forks left when the next zygote is started */
#define KEYS_PIPE_MAX (1 << 20)
#define COMMAND_MAX   8192

extern char **environ;

struct zygote {
	const char *role;
	pid_t pid; /* 0 = none */
	int control;
	size_t forks;
	bool is_ready;
	struct ev_io io;
	struct listener *owner;
};

enum { LINE_MONITOR, LINE_NET, LINES };

struct waiting { /* a connection that is logging in */
	struct list link;
	struct ev_io io; /* status pipe */
	struct source source;
	struct listener *owner;
};

struct listener {
	const struct sshd_options *options;
	const struct server_config *c;
	struct ev *ev;
	struct ev_io sockets[SOCKETS_MAX];
	size_t sockets_n;
	struct zygote *now[LINES], *next[LINES];
	struct list waiting;
	size_t waiting_n;
	int self;                 /* the program, open since the start */
	int setup;                /* memory file: the configuration */
	struct buf keys, command; /* command: the arguments, for the title */
	bool is_single, is_ending, is_throttling;
	pid_t single; /* the process whose end is ours */
	uint64_t drop_told_us;
	size_t failed_starts;
	uint32_t drops;
	int exit_code;
};

static void show(const struct listener *l)
{
	const struct cfg_startups *most = &l->c->max_startups;
	title_set(&l->options->title, "sshd: %.*s[listener] %zu of %u-%u startups",
		(int)l->command.n, (const char *)l->command.p, l->waiting_n, (unsigned)most->start,
		(unsigned)most->full);
}

static void stop(struct listener *l, int code)
{
	l->is_ending = true;
	l->exit_code = code;
	ev_stop(l->ev);
}

/* ---- zygotes ---- */
static void start_zygotes(struct listener *l);

static void zygote_free(struct zygote *z)
{
	if (z == NULL)
		return;
	ev_io_remove(z->owner->ev, &z->io);
	(void)close(z->control);
	free(z);
}

static void on_zygote(struct ev_io *io, unsigned happened)
{
	struct zygote *z = io->arg;
	struct listener *l = z->owner;
	uint8_t byte;
	struct fdpass_got got;
	err_t e = fdpass_recv(z->control, (struct slice){&byte, 1}, false, &got);
	if (e == E_AGAIN)
		return;
	if (e == OK) {
		fdpass_close(&got);
		z->is_ready = true;
		l->failed_starts = 0;
		return;
	}
	/* It has ended: its forks are used up and its children have gone, a child has crashed, or
	 * it could not start.  The one that is warm already takes its place. */
	log_put(LOG_L_VERBOSE, "%s zygote has ended", z->role);
	if (!z->is_ready && ++l->failed_starts >= STARTS_MAX) {
		log_put(LOG_L_FATAL, "%s processes cannot be started", z->role);
		stop(l, EXIT_FATAL);
		return;
	}
	for (size_t i = 0; i < LINES; i++) {
		if (l->next[i] == z)
			l->next[i] = NULL;
		if (l->now[i] == z) {
			l->now[i] = l->next[i];
			l->next[i] = NULL;
		}
	}
	zygote_free(z);
	if (!l->is_single)
		start_zygotes(l);
}

/* In the child: descriptors 3, 4, 5 as zygote.h says, then the program again. */
static NORETURN void exec_zygote(struct listener *l, const char *role, int control, int keys)
{
	char flag[] = "-R"; /* exec takes no const; it changes nothing */
	char *argv[] = {l->options->argv[0], flag, (char *)(uintptr_t)role, NULL};
	bool is_net = strcmp(role, "net") == 0;
	int fds[4] = {control, is_net ? -1 : l->setup, is_net ? -1 : keys, l->self};
	os_signals_reset();
	if (child_keep_fds(fds, 4) != OK)
		_exit(EXIT_FATAL);
	for (int fd = ZYGOTE_CONTROL; fd < fds[3]; fd++)
		(void)fcntl(fd, F_SETFD, 0);
	(void)child_reexec(fds[3], argv, environ);
	_exit(EXIT_FATAL);
}

/* The keys fit into the pipe, so nobody waits. */
static err_t fill_keys(const struct listener *l, int *out)
{
	int fds[2];
	if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) != 0)
		return E_IO;
	if (l->keys.n > 65536)
		(void)fcntl(fds[1], F_SETPIPE_SZ, KEYS_PIPE_MAX);
	bool is_in = write(fds[1], l->keys.p, l->keys.n) == (ssize_t)l->keys.n;
	(void)close(fds[1]);
	if (!is_in) {
		(void)close(fds[0]);
		return E_IO;
	}
	*out = fds[0];
	return OK;
}

static err_t zygote_start(struct listener *l, size_t line, struct zygote **out)
{
	int pair[2], keys = -1;
	struct zygote *z = calloc(1, sizeof(*z));
	if (z == NULL)
		return E_MEM;
	z->role = line == LINE_NET ? "net" : "monitor";
	z->owner = l;
	err_t e = fdpass_pair(pair);
	if (e != OK) {
		free(z);
		return e;
	}
	if (line == LINE_MONITOR)
		e = fill_keys(l, &keys);
	if (e == OK) {
		z->pid = fork();
		if (z->pid == 0)
			exec_zygote(l, z->role, pair[1], keys);
		if (z->pid < 0)
			e = E_IO;
	}
	(void)close(pair[1]);
	if (keys >= 0)
		(void)close(keys);
	z->control = pair[0];
	z->io = (struct ev_io){.fd = pair[0], .want = EV_IN, .on = on_zygote, .arg = z};
	if (e == OK)
		e = ev_io_add(l->ev, &z->io);
	if (e != OK) {
		(void)close(pair[0]);
		free(z);
		return e;
	}
	*out = z;
	return OK;
}

static void start_zygotes(struct listener *l)
{
	for (size_t i = 0; i < LINES; i++)
		if (l->now[i] == NULL && zygote_start(l, i, &l->now[i]) != OK)
			log_put(LOG_L_ERROR, "fork: %s", strerror(errno));
}

/* A zygote with forks left; the next one is started while this one still has some. */
static struct zygote *zygote_get(struct listener *l, size_t line)
{
	size_t most = l->c->reexec_per_connection || l->is_single ? 1 : ZYGOTE_FORKS;
	if (l->now[line] != NULL && l->now[line]->forks >= most) {
		zygote_free(l->now[line]); /* the end of its control socket lets it go when its
					      children have */
		l->now[line] = l->next[line];
		l->next[line] = NULL;
	}
	if (l->now[line] == NULL && zygote_start(l, line, &l->now[line]) != OK)
		return NULL;
	return l->now[line];
}

static void zygote_after(struct listener *l, size_t line)
{
	if (l->is_single)
		return;
	if (l->c->reexec_per_connection) { /* it has the request; nothing more will come */
		zygote_free(l->now[line]);
		l->now[line] = NULL;
		return;
	}
	if (l->next[line] == NULL && l->now[line]->forks >= ZYGOTE_FORKS - NEXT_BEFORE &&
		zygote_start(l, line, &l->next[line]) != OK)
		log_put(LOG_L_ERROR, "fork: %s", strerror(errno));
}

/* ---- connections ---- */
static void waiting_free(struct waiting *w)
{
	ev_io_remove(w->owner->ev, &w->io);
	(void)close(w->io.fd);
	list_remove(&w->link);
	w->owner->waiting_n--;
	show(w->owner);
	free(w);
}

static void on_status(struct ev_io *io, unsigned happened)
{
	waiting_free(io->arg); /* logged in, or ended */
}

static bool may_start(struct listener *l, const struct source *source)
{
	uint32_t same = 0, most = source_limit(l->c->per_source_max_startups);
	list_each (at, tmp, &l->waiting)
		same += source_eq(&LIST_ENTRY(at, struct waiting, link)->source, source);
	if (source->n > 0 && same >= most)
		return false;
	return startups_check(&l->c->max_startups, l->waiting_n, rng_below(os_rng(), 100)) ==
	       STARTUPS_TAKE;
}

static void drop(struct listener *l, int conn)
{
	static const char words[] = "Not allowed at this time\r\n";
	struct os_ends ends;
	ssize_t n = send(conn, words, sizeof(words) - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
	(void)n;
	l->drops++;
	if (!l->is_throttling)
		log_put(LOG_L_ERROR, "beginning MaxStartups throttling");
	/* One line a second is enough for a flood. */
	if (!l->is_throttling || ev_now(l->ev) - l->drop_told_us >= 1000000) {
		os_ends_of(conn, &ends);
		log_put(LOG_L_INFO, "drop connection #%zu from [%s]:%u on [%s]:%u past MaxStartups",
			l->waiting_n, ends.remote, ends.remote_port, ends.local, ends.local_port);
		l->drop_told_us = ev_now(l->ev);
	}
	l->is_throttling = true;
}

static err_t waiting_new(struct listener *l, const struct source *source, int *status)
{
	int fds[2];
	struct waiting *w = calloc(1, sizeof(*w));
	if (w == NULL)
		return E_MEM;
	if (pipe2(fds, O_CLOEXEC) != 0) {
		free(w);
		return E_IO;
	}
	w->owner = l;
	w->source = *source;
	w->io = (struct ev_io){.fd = fds[0], .want = EV_IN, .on = on_status, .arg = w};
	if (ev_io_add(l->ev, &w->io) != OK) {
		(void)close(fds[0]);
		(void)close(fds[1]);
		free(w);
		return E_IO;
	}
	list_push(&l->waiting, &w->link);
	l->waiting_n++;
	show(l);
	*status = fds[1];
	return OK;
}

static err_t hand_over(struct listener *l, int conn, int status)
{
	int chan[2];
	struct zygote *m = zygote_get(l, LINE_MONITOR), *n = zygote_get(l, LINE_NET);
	if (m == NULL || n == NULL)
		return E_IO;
	TRY(fdpass_pair(chan));
	int for_monitor[3] = {conn, chan[0], status};
	err_t e = fdpass_send(n->control, cslice_of("F", 1), &chan[1], 1, true);
	if (e == OK)
		e = fdpass_send(m->control, cslice_of("F", 1), for_monitor, 3, true);
	(void)close(chan[0]);
	(void)close(chan[1]);
	m->forks++;
	n->forks++;
	if (l->is_single)
		l->single = m->pid;
	zygote_after(l, LINE_MONITOR);
	zygote_after(l, LINE_NET);
	return e;
}

static void close_sockets(struct listener *l)
{
	for (size_t i = 0; i < l->sockets_n; i++) {
		ev_io_remove(l->ev, &l->sockets[i]);
		(void)close(l->sockets[i].fd);
	}
	l->sockets_n = 0;
}

static void on_connection(struct ev_io *io, unsigned happened)
{
	struct listener *l = io->arg;
	uint8_t bytes[16];
	int conn, status;
	if (os_accept(io->fd, &conn) != OK)
		return;
	struct source source = source_mask(
		cslice_of(bytes, os_source_of(conn, bytes)), l->c->per_source_net_block);
	if (!may_start(l, &source)) {
		drop(l, conn);
		(void)close(conn);
		return;
	}
	l->is_throttling = l->is_throttling && l->waiting_n >= l->c->max_startups.start;
	if (l->c->tcp_keepalive)
		os_keepalive(conn);
	err_t e = waiting_new(l, &source, &status);
	if (e == OK) {
		e = hand_over(l, conn, status);
		(void)close(status);
	}
	(void)close(conn);
	if (e != OK)
		log_put(LOG_L_ERROR, "connection dropped: %s", err_text(e));
	if (l->is_single)
		close_sockets(l);
}

/* ---- sockets ---- */
static void on_bound(void *arg, int fd, const struct os_ends *local)
{
	struct listener *l = arg;
	if (l->sockets_n == SOCKETS_MAX) {
		(void)close(fd);
		return;
	}
	struct ev_io *io = &l->sockets[l->sockets_n];
	*io = (struct ev_io){.fd = fd, .want = EV_IN, .on = on_connection, .arg = l};
	if (ev_io_add(l->ev, io) != OK) {
		(void)close(fd);
		return;
	}
	l->sockets_n++;
	log_put(LOG_L_INFO, "Server listening on %s port %u.", local->local, local->local_port);
}

static void listen_on(struct listener *l, const char *host, const char *port)
{
	static const int families[] = {AF_UNSPEC, AF_INET, AF_INET6};
	struct buf why;
	uint32_t number = 0;
	buf_init(&why, 8192);
	if (strcmp(port, "ssh") == 0)
		port = "22";
	if (text_u32(cslice_str(port), &number) != OK || number == 0 || number > 65535)
		log_put(LOG_L_ERROR, "bad port %s", port);
	else if (os_listen(&(struct os_listen_at){host, (uint16_t)number,
				   families[l->c->address_family]},
			 on_bound, l, &why) != OK ||
		 why.n > 0) {
		struct cslice rest = buf_bytes(&why);
		while (rest.n > 0) {
			const uint8_t *end = memchr(rest.p, '\n', rest.n);
			size_t n = end != NULL ? (size_t)(end - rest.p) : rest.n;
			log_put(LOG_L_ERROR, "%.*s", (int)n, (const char *)rest.p);
			rest = cslice_of(rest.p + n + (end != NULL), rest.n - n - (end != NULL));
		}
	}
	buf_done(&why);
}

/* ListenAddress: host, host:port, [v6], [v6]:port, v6. */
static void listen_address(struct listener *l, const char *word)
{
	char host[256];
	const char *port = NULL, *end = NULL;
	if (word[0] == '[' && (end = strchr(word, ']')) != NULL) {
		word++;
		port = end[1] == ':' ? end + 2 : NULL;
	} else {
		const char *colon = strchr(word, ':');
		bool is_v6 = colon != NULL && strchr(colon + 1, ':') != NULL;
		end = colon != NULL && !is_v6 ? colon : word + strlen(word);
		port = *end == ':' ? end + 1 : NULL;
	}
	(void)snprintf(host, sizeof(host), "%.*s", (int)(end - word), word);
	const char *any = strcmp(host, "*") == 0 ? NULL : host;
	if (port != NULL) {
		listen_on(l, any, port);
		return;
	}
	for (size_t i = 0; i < l->c->ports.n; i++)
		listen_on(l, any, l->c->ports.v[i]);
}

static void listen_all(struct listener *l)
{
	for (size_t i = 0; i < l->c->listen_addresses.n; i++)
		listen_address(l, l->c->listen_addresses.v[i]);
	for (size_t i = 0; l->c->listen_addresses.n == 0 && i < l->c->ports.n; i++)
		listen_on(l, NULL, l->c->ports.v[i]);
}

/* ---- life ---- */
static bool has_pid_file(const struct listener *l)
{
	return l->options->debug == 0 && l->c->pid_file != NULL &&
	       strcmp(l->c->pid_file, "none") != 0;
}

static void write_pid_file(const struct listener *l)
{
	if (!has_pid_file(l))
		return;
	FILE *f = fopen(l->c->pid_file, "we");
	if (f == NULL) {
		log_put(LOG_L_ERROR, "Couldn't create pid file \"%s\": %s", l->c->pid_file,
			strerror(errno));
		return;
	}
	(void)fprintf(f, "%ld\n", (long)getpid());
	(void)fclose(f);
}

static void restart(struct listener *l)
{
	log_put(LOG_L_INFO, "Received SIGHUP; restarting.");
	if (has_pid_file(l))
		(void)unlink(l->c->pid_file);
	close_sockets(l);
	os_signals_reset();
	child_close_from(3);
	(void)execv(l->options->argv[0], l->options->argv);
	log_put(LOG_L_ERROR, "RESTART FAILED: av[0]='%s', error: %s.", l->options->argv[0],
		strerror(errno));
	exit(EXIT_FATAL);
}

static void reap(struct listener *l)
{
	int status;
	pid_t pid;
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_CRASH)
			log_put(LOG_L_ERROR,
				"a process serving a peer has crashed: its line is replaced");
		if (pid == l->single)
			stop(l, WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FATAL);
	}
}

static void on_signal(void *arg, int signo)
{
	struct listener *l = arg;
	switch (signo) {
	case SIGCHLD:
		reap(l);
		break;
	case SIGHUP:
		restart(l);
		break;
	default:
		log_put(LOG_L_INFO, "Received signal %d; terminating.", signo);
		stop(l, signo == SIGTERM ? 0 : EXIT_FATAL);
		break;
	}
}

static err_t make_setup(struct listener *l, const struct server_config *c, struct host_keys *keys)
{
	struct setup s = {.lines = l->options->lines, .is_single = l->is_single};
	struct buf blob;
	s.log = (struct srvlog){.to_stderr = l->options->to_stderr,
		.is_quiet = l->options->is_quiet,
		.facility = c->syslog_facility,
		.level = log_level()};
	rng_fill(os_rng(), s.secret, sizeof(s.secret));
	buf_init(&blob, (size_t)64 * 1024 * 1024);
	setup_put(&s, &blob);
	host_keys_put(keys, &l->keys);
	host_keys_done(keys);
	err_t e = buf_err(&blob) != OK ? E_MEM : buf_err(&l->keys);
	if (e == OK)
		e = child_memory_file(buf_bytes(&blob), &l->setup);
	buf_done(&blob);
	return e;
}

static err_t prepare(struct listener *l, struct host_keys *keys)
{
	static const int signals[] = {SIGCHLD, SIGTERM, SIGQUIT, SIGINT, SIGHUP};
	TRY(ev_new(&l->ev));
	TRY(child_open_self(&l->self));
	TRY(make_setup(l, l->c, keys));
	TRY(ev_signals(l->ev, signals, ARRAY_N(signals), on_signal, l));
	child_ignore_pipe();
	return OK;
}

int listener_main(
	const struct sshd_options *o, const struct server_config *c, struct host_keys *keys)
{
	static struct listener l; /* large, and alive as long as the process */
	l.options = o;
	l.c = c;
	l.is_single = o->debug > 0;
	list_init(&l.waiting);
	buf_init(&l.keys, KEYS_PIPE_MAX);
	buf_init(&l.command, COMMAND_MAX);
	for (int i = 0; i < o->argc; i++)
		buf_printf(&l.command, "%s ", o->argv[i]);
	err_t e = prepare(&l, keys);
	if (e != OK) {
		log_put(LOG_L_FATAL, "start failed: %s", err_text(e));
		return EXIT_FATAL;
	}
	listen_all(&l);
	if (l.sockets_n == 0) {
		log_put(LOG_L_FATAL, "Cannot bind any address.");
		return EXIT_FATAL;
	}
	write_pid_file(&l);
	show(&l);
	if (!c->reexec_per_connection)
		start_zygotes(&l);
	e = ev_run(l.ev);
	if (has_pid_file(&l))
		(void)unlink(c->pid_file);
	buf_done(&l.command);
	buf_done(&l.keys);
	return e == OK ? l.exit_code : EXIT_FATAL;
}
