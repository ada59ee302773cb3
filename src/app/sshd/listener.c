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

#include "app/sshd/lines.h"
#include "app/sshd/sshd.h"
#include "app/sshd/startups.h"
#include "app/sshd/zygote.h"
#include "os/child.h"
#include "os/ev.h"
#include "os/failed.h"
#include "os/fdpass.h"
#include "os/random.h"

#define SOCKETS_MAX   64
#define KEYS_MAX      (1 << 20)
#define COMMAND_MAX   8192
#define FULL_PAUSE_US 100000u /* no descriptor or memory for a connection: it waits so long */
#define FULL_TELL_US  10000000u

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
	struct lines lines;
	struct list waiting;
	size_t waiting_n;
	struct buf command;    /* the arguments, for the title */
	struct ev_timer pause; /* after it connections are taken again */
	bool is_single, is_throttling;
	pid_t single; /* the process whose end is ours */
	uint64_t drop_told_us, full_told_us;
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
	l->exit_code = code;
	ev_stop(l->ev);
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
		err_t e = os_failed();
		free(w);
		return e;
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
	TRY(fdpass_pair(chan));
	const int for_monitor[3] = {conn, chan[0], status};
	err_t e = lines_send(&l->lines, LINE_NET, &chan[1], 1);
	if (e == OK)
		e = lines_send(&l->lines, LINE_MONITOR, for_monitor, 3);
	(void)close(chan[0]);
	(void)close(chan[1]);
	if (l->is_single)
		l->single = lines_pid(&l->lines, LINE_MONITOR);
	lines_sent(&l->lines);
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

/* Connections wait in the sockets' queues while they are not taken. */
static void take_connections(struct listener *l, bool is_wanted)
{
	for (size_t i = 0; i < l->sockets_n; i++)
		ev_io_want(l->ev, &l->sockets[i], is_wanted ? EV_IN : 0);
}

static void on_ready(void *arg)
{
	take_connections(arg, true);
}

static void on_pause(struct ev_timer *t, uint64_t now_us)
{
	take_connections(t->arg, true);
}

static err_t accept_one(struct listener *l, int fd, int *conn)
{
	if (!lines_ready(&l->lines)) {
		take_connections(l, false);
		return E_AGAIN;
	}
	err_t e = os_accept(fd, conn);
	if (e == E_LIMIT) {
		if (l->full_told_us == 0 || ev_now(l->ev) - l->full_told_us >= FULL_TELL_US) {
			log_put(LOG_L_ERROR, "accept: %s", strerror(errno));
			l->full_told_us = ev_now(l->ev);
		}
		take_connections(l, false);
		ev_timer_set(l->ev, &l->pause, os_monotonic_us() + FULL_PAUSE_US);
	}
	return e;
}

static void on_connection(struct ev_io *io, unsigned happened)
{
	struct listener *l = io->arg;
	uint8_t bytes[16];
	int conn, status = -1;
	if (accept_one(l, io->fd, &conn) != OK)
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

static void listen_on(struct listener *l, const char *host, uint16_t port)
{
	struct buf why;
	buf_init(&why, 8192);
	if (os_listen(&(struct os_listen_at){host, port, conf_family(l->c)}, on_bound, l, &why) !=
			OK ||
		why.n > 0)
		conf_tell(LOG_L_ERROR, &why);
	buf_done(&why);
}

static void listen_all(struct listener *l)
{
	for (size_t i = 0; i < l->c->listen_addresses.n; i++) {
		char host[CFG_HOST_MAX];
		uint16_t port;
		if (cfg_listen_address(l->c->listen_addresses.v[i], host, sizeof(host), &port) !=
			OK)
			continue; /* was checked when it was read */
		const char *any = strcmp(host, "*") == 0 ? NULL : host;
		for (size_t p = 0; p < l->c->ports.n && port == 0; p++)
			listen_on(l, any, conf_port(l->c, p));
		if (port != 0)
			listen_on(l, any, port);
	}
	for (size_t p = 0; l->c->listen_addresses.n == 0 && p < l->c->ports.n; p++)
		listen_on(l, NULL, conf_port(l->c, p));
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
		lines_reaped(&l->lines, pid, status);
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
	host_keys_put(keys, &l->lines.keys);
	host_keys_done(keys);
	err_t e = buf_err(&blob) != OK ? E_MEM : buf_err(&l->lines.keys);
	if (e == OK)
		e = child_memory_file(buf_bytes(&blob), &l->lines.setup);
	buf_done(&blob);
	return e;
}

static err_t prepare(struct listener *l, struct host_keys *keys)
{
	static const int signals[] = {SIGCHLD, SIGTERM, SIGQUIT, SIGINT, SIGHUP};
	TRY(ev_new(&l->ev));
	l->lines = (struct lines){.ev = l->ev,
		.argv = l->options->argv,
		.forks = l->is_single || l->c->reexec_per_connection ? 1 : ZYGOTE_FORKS,
		.is_single = l->is_single,
		.on_ready = on_ready,
		.arg = l};
	buf_init(&l->lines.keys, KEYS_MAX);
	l->pause = (struct ev_timer){.at_us = UINT64_MAX, .on = on_pause, .arg = l};
	TRY(child_open_self(&l->lines.self));
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
	lines_start(&l.lines);
	e = ev_run(l.ev);
	if (has_pid_file(&l))
		(void)unlink(c->pid_file);
	buf_done(&l.command);
	lines_done(&l.lines);
	return e == OK ? l.exit_code : EXIT_FATAL;
}
