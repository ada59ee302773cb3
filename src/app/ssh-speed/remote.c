/* SPDX-License-Identifier: ISC */
/*
 * remote - the run against a host: the scout, then a login a cipher
 *
 * A drive is a number of steps over as few connections as the server lets it be: one that opens no
 * second session, or closes after the first, costs another login.
 */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "app/ssh-speed/remote.h"
#include "build_config.h"
#include "os/drop.h"
#include "run/path.h"

#define SECOND_US 1000000
#define STALL_US  (60 * (uint64_t)SECOND_US)
#define CLOSE_US  (2 * (uint64_t)SECOND_US) /* for the end of a channel whose data are through */
#define TICK_US   (SECOND_US / 5)
#define CONNECT_S 15 /* once the host has answered; a signal waits no longer */
#define LIST_MAX  65536
#define GB        1e9

const struct report_column remote_columns[] = {
	[REMOTE_UP] = {"up_mb_s", "up", "MB/s", REPORT_BAR},
	[REMOTE_DOWN] = {"down_mb_s", "down", "MB/s", REPORT_BAR},
	[REMOTE_CPU] = {"client_cpu_s_per_gb", "CPU-s/GB", "client", REPORT_PLAIN},
	[REMOTE_LOGIN] = {"login_ms", "login", "ms", REPORT_PLAIN},
	[REMOTE_TURNS] = {"round_trips", "trips", "", REPORT_PLAIN},
	[REMOTE_RTT] = {"rtt_ms", "RTT", "ms", REPORT_PLAIN},
};
const size_t remote_columns_n = ARRAY_N(remote_columns);

/* ---- steps --------------------------------------------------------------------------------------
 */
static void give_up(struct session *x, const char *why)
{
	(void)snprintf(x->why, sizeof(x->why), "%s", why);
}

static void note_figures(struct session *x)
{
	const struct job *j = &x->job;
	struct remote_figures *f = &x->figures;
	if (x->step == STEP_UP) {
		f->up_mb_s = job_mb_s(j);
		f->up_cpu_s = job_cpu_s(j);
		f->up_bytes = j->moved;
	} else if (x->step == STEP_DOWN) {
		f->down_mb_s = job_mb_s(j);
		f->down_cpu_s = job_cpu_s(j);
		f->down_bytes = j->moved;
	}
}

/* The next command of the table, or the end. */
static void probe_on(struct session *x)
{
	bool is_up = x->step == STEP_PROBE_UP;
	size_t *at = is_up ? &x->up_at : &x->down_at;
	char next[REMOTE_COMMAND_MAX], why[sizeof(x->job.why)];
	log_debug1("%s: %s", x->job.command, x->job.why);
	if (!x->job.is_refused && probe_command(is_up ? JOB_UP : JOB_DOWN, *at + 1, 0, next)) {
		++*at;
		return;
	}
	(void)snprintf(why, sizeof(why), "%s", x->job.why);
	if (x->job.is_refused)
		give_up(x, why);
	else
		(void)snprintf(x->why, sizeof(x->why),
			"no command was found there that %s data; the last one tried was `%.100s`: "
			"%.200s",
			is_up ? "takes" : "gives", x->job.command, why);
}

static void end_job(struct session *x)
{
	struct job *j = &x->job;
	if (j->state == JOB_OK) {
		note_figures(x);
		x->step++;
		x->jobs_ended++;
	} else if (j->state == JOB_FAILED && x->step < STEP_PROBED) {
		probe_on(x);
		x->jobs_ended++;
	} else if (j->state == JOB_FAILED) {
		give_up(x, j->why);
	}
	/* JOB_LOST: the same step again, on another connection */
}

static bool is_at_end(const struct session *x)
{
	return x->step == STEP_PROBED || x->step == STEP_END || x->why[0] != '\0';
}

/* Begins the job of the step. */
static err_t start_job(struct ssh *s)
{
	struct session *x = s->session;
	bool is_probe = x->step < STEP_PROBED;
	enum job_way way = x->step == STEP_PROBE_UP || x->step == STEP_UP ? JOB_UP : JOB_DOWN;
	char *command = way == JOB_UP ? x->up : x->down;
	uint64_t bytes = is_probe ? probe_bytes(way) : x->options->bytes;
	if (!probe_command(way, way == JOB_UP ? x->up_at : x->down_at, bytes, command))
		return E_BUG;
	if (x->has_job)
		job_done(&x->job);
	job_init(&x->job, way, command, bytes);
	x->job.is_endless = probe_is_endless(way, way == JOB_UP ? x->up_at : x->down_at);
	x->has_job = true;
	return job_start(&x->job, s);
}

/* ---- what app/client asks -----------------------------------------------------------------------
 */
static void on_signal(void *arg, int signo)
{
	struct ssh *s = arg;
	s->session->signo = signo;
	ssh_finish(s, SSH_EXIT_ERROR, "disconnected by user");
}

static err_t catch_signals(struct ssh *s)
{
	static const int caught[] = {SIGINT, SIGTERM, SIGHUP};
	return ssh_catch_signals(s, caught, ARRAY_N(caught), on_signal);
}

static double share_of_job(const struct job *j)
{
	return j->want > 0 ? (double)j->moved / (double)j->want : 0;
}

static void show(struct session *x)
{
	char what[160], rate[32];
	const struct job *j = &x->job;
	double us = (double)(os_monotonic_us() - j->begin_us);
	if (x->step < STEP_PROBED || j->state != JOB_MOVING || us <= 0 || log_level() > LOG_L_INFO)
		return;
	report_number((double)j->moved / us, rate);
	(void)snprintf(what, sizeof(what), "%s %s %s MB/s", x->doing,
		j->way == JOB_UP ? "up" : "down", rate);
	double part = (j->way == JOB_DOWN ? 0.5 : 0) + 0.5 * share_of_job(j);
	progress_show(what, x->done + part * x->share);
}

/* Is anything still going on? */
static void on_tick(struct ev_timer *t, uint64_t now_us)
{
	struct ssh *s = t->arg;
	struct session *x = s->session;
	if (s->is_done)
		return;
	if (x->job.state == JOB_ENDING && now_us > x->job.end_us + CLOSE_US) {
		job_cut(&x->job, "");
		end_job(x);
		ssh_finish(s, 0, "disconnected by user");
		return;
	}
	if (now_us > x->job.seen_us && now_us - x->job.seen_us > STALL_US) {
		(void)snprintf(x->why, sizeof(x->why),
			"nothing moved for 60 seconds (%llu of %llu bytes went %s)",
			(unsigned long long)x->job.moved, (unsigned long long)x->job.want,
			x->job.way == JOB_UP ? "up" : "down");
		ssh_finish(s, SSH_EXIT_ERROR, NULL);
		return;
	}
	ev_timer_set(s->ev, t, now_us + TICK_US);
}

static void note_login(struct ssh *s)
{
	struct session *x = s->session;
	struct remote_figures *f = &x->figures;
	const struct alg_choice *c = tp_choice(s->tp);
	if (isfinite(f->login_ms))
		return; /* a second connection of the same cipher */
	f->login_ms = (double)(os_monotonic_us() - s->started_us - s->asked_us) / 1000;
	f->turns = s->turns + (s->is_proxied ? 0 : 1); /* the handshake of TCP */
	uint32_t rtt_us = path_rtt_us(s->fd_in);
	f->rtt_ms = rtt_us > 0 ? (double)rtt_us / 1000 : NAN;
	if (c->c2s.mac != NULL)
		(void)snprintf(f->mac, sizeof(f->mac), "%s", c->c2s.mac->name);
}

static err_t note_host(struct ssh *s)
{
	struct session *x = s->session;
	struct report *r = x->report;
	struct cslice v = tp_peer_version(s->tp);
	const struct alg_choice *c = tp_choice(s->tp);
	TRY(report_fact(r, "host", "host", "%s@%s port %u", s->user, s->host, s->cfg.port));
	TRY(report_fact(r, "server", "server", "%.*s", (int)num_min(v.n, 255), (const char *)v.p));
	TRY(report_fact(r, "kex", "key exchange", "%s, %s", c->kex->name, c->hostkey->name));
	return OK;
}

static err_t logged_in(struct ssh *s)
{
	struct session *x = s->session;
	struct cn_limits limits = {.max_packet = 32768, .window_max = path_window(s->fd_in)};
	note_login(s);
	if (s->logins == 0) {
		stop_watch();
		TRY(note_host(s));
		TRY(catch_signals(s));
		(void)snprintf(s->pinned, sizeof(s->pinned), "%s", s->ends.peer);
	}
	TRY(cn_new(&s->cn, &(struct cn_env){.tp = s->tp, .limits = limits}));
	x->timer = (struct ev_timer){.at_us = UINT64_MAX, .on = on_tick, .arg = s};
	ev_timer_set(s->ev, &x->timer, ev_now(s->ev) + TICK_US);
	return start_job(s);
}

static err_t after_job(struct ssh *s)
{
	struct session *x = s->session;
	bool is_lost = x->job.state == JOB_LOST;
	end_job(x);
	if (is_at_end(x) || is_lost) {
		ssh_finish(s, 0, "disconnected by user");
		return OK;
	}
	return start_job(s);
}

static err_t on_events(struct ssh *s)
{
	while (!s->is_done) {
		struct cn_event e = {0};
		TRY(cn_poll(s->cn, &e));
		if (e.type == CN_EV_NONE)
			break;
		TRY(job_event(&s->session->job, s, &e));
		if (job_has_ended(&s->session->job))
			TRY(after_job(s));
	}
	return OK;
}

static err_t on_poll(struct ssh *s)
{
	TRY(on_events(s));
	if (s->is_done)
		return OK;
	TRY(job_push(&s->session->job, s));
	show(s->session);
	return cn_flush(s->cn);
}

static void on_closed(struct ssh *s)
{
	struct session *x = s->session;
	progress_clear();
	if (!s->is_done) {
		bool had_channel = s->cn != NULL && x->job.state != JOB_IDLE;
		if (had_channel) {
			job_cut(&x->job, err_text(s->why));
			end_job(x);
		}
		/* A server of one session a connection ends it thus: no failure. */
		bool is_expected = had_channel && x->job.state != JOB_FAILED;
		if (!is_expected) {
			connect_say_end(s, s->why);
			x->is_told = true;
			if (x->why[0] == '\0')
				give_up(x, err_text(s->why));
		}
	}
	s->is_done = true;
	ev_stop(s->ev);
}

static void on_words(struct ssh *s)
{
	(void)s;
	progress_clear();
}

static void on_prompt_signal(struct ssh *s, int signo)
{
	s->session->signo = signo;
	ssh_finish(s, SSH_EXIT_ERROR, NULL);
}

static const struct ssh_hooks hooks = {.logged_in = logged_in,
	.events = on_events,
	.poll = on_poll,
	.closed = on_closed,
	.words = on_words,
	.prompt_signal = on_prompt_signal};

/* ---- drives -------------------------------------------------------------------------------------
 */
static err_t one_connection(struct ssh *s)
{
	struct session *x = s->session;
	x->job.state = JOB_IDLE;
	err_t e = ssh_connect(s);
	if (e == OK && s->logins > 0)
		e = catch_signals(s);
	if (e == OK)
		e = ev_run(s->ev);
	if (e != OK && x->why[0] == '\0')
		give_up(x, e == E_NOT_FOUND || e == E_TIMEOUT || e == E_IO ? "it cannot be reached"
									   : err_text(e));
	if (e != OK)
		x->is_told = true; /* by app/client */
	if (s->is_refused && x->why[0] == '\0')
		give_up(x, "the login was refused");
	x->is_told = x->is_told || s->is_refused;
	return e;
}

/* Steps from `from` to the end, over one connection or more. */
static void drive(struct ssh *s, enum step from, const char *ciphers)
{
	struct session *x = s->session;
	uint32_t ended_before;
	x->step = from;
	x->why[0] = '\0';
	x->is_told = false;
	x->figures = (struct remote_figures){
		.login_ms = NAN, .rtt_ms = NAN, .turns = NAN, .up_mb_s = NAN, .down_mb_s = NAN};
	s->ciphers = ciphers;
	do {
		ended_before = x->jobs_ended;
		err_t e = one_connection(s);
		if (s->tp != NULL && !s->is_logged_in && x->why[0] == '\0' && x->signo == 0)
			give_up(x, e != OK ? err_text(e) : "the login did not succeed");
		ssh_again(s);
		if (x->jobs_ended == ended_before && !is_at_end(x))
			give_up(x, x->job.why[0] != '\0' ? x->job.why : "the connection ended");
	} while (!is_at_end(x) && x->signo == 0);
	if (x->signo == 0)
		x->signo = stop_signal();
}

/* ---- the report ---------------------------------------------------------------------------------
 */
static err_t note_way(struct session *x)
{
	TRY(report_fact(x->report, "amount", "amount", "%.0f MiB up and down a cipher",
		(double)x->options->bytes / (1 << 20)));
	if (!probe_command(JOB_UP, x->up_at, x->options->bytes, x->up) ||
		!probe_command(JOB_DOWN, x->down_at, x->options->bytes, x->down))
		return E_BUG;
	TRY(report_fact(x->report, "up_command", "up into", "%s", x->up));
	return report_fact(x->report, "down_command", "down from", "%s", x->down);
}

static err_t note_cipher(struct session *x, const char *name)
{
	const struct remote_figures *f = &x->figures;
	struct report_line *l;
	uint64_t bytes = f->up_bytes + f->down_bytes;
	TRY(report_line(x->sheet, name, f->mac[0] != '\0' ? f->mac : NULL, &l));
	l->v[REMOTE_UP] = f->up_mb_s;
	l->v[REMOTE_DOWN] = f->down_mb_s;
	if (bytes > 0)
		l->v[REMOTE_CPU] = (f->up_cpu_s + f->down_cpu_s) * GB / (double)bytes;
	l->v[REMOTE_LOGIN] = f->login_ms;
	l->v[REMOTE_TURNS] = f->turns;
	l->v[REMOTE_RTT] = f->rtt_ms;
	return x->why[0] != '\0' ? report_why_not(l, x->why) : OK;
}

static err_t measure_cipher(struct ssh *s, const char *name)
{
	struct session *x = s->session;
	if (!list_has(buf_bytes(&s->peer_ciphers), cslice_str(name))) {
		struct report_line *l;
		if (x->options->ciphers == NULL)
			return OK; /* nobody asked for it by name */
		TRY(report_line(x->sheet, name, NULL, &l));
		return report_why_not(l, "the server does not offer it");
	}
	x->doing = name;
	drive(s, STEP_UP, name);
	progress_clear();
	/* a cipher that was interrupted before it had any figure is left out */
	if (x->signo != 0 && !isfinite(x->figures.up_mb_s))
		return OK;
	return note_cipher(x, name);
}

static size_t count_names(struct cslice list)
{
	struct cslice name;
	size_t n = 0;
	while (list_next(&list, &name))
		n++;
	return n;
}

static err_t measure_all(struct ssh *s)
{
	struct session *x = s->session;
	struct cslice rest = cslice_of(x->wanted.p, x->wanted.n - 1), name;
	struct report_sheet row = {.id = "ciphers",
		.title = "Through the connection, by cipher",
		.name_title = "cipher",
		.by_id = "mac",
		.by_title = "MAC",
		.columns = remote_columns,
		.columns_n = remote_columns_n};
	TRY(report_sheet(x->report, &row, &x->sheet));
	x->share = 1.0 / (double)num_max(count_names(rest), 1);
	while (x->signo == 0 && list_next(&rest, &name)) {
		char text[80];
		(void)snprintf(text, sizeof(text), "%.*s", (int)name.n, (const char *)name.p);
		TRY(measure_cipher(s, text));
		x->done += x->share;
	}
	return ciphers_choose(x->report, x->sheet, s, x->options->bytes);
}

/* ---- the run ------------------------------------------------------------------------------------
 */
static void say_failure(const struct ssh *s)
{
	const struct session *x = s->session;
	if (x->why[0] != '\0' && !x->is_told)
		fprintf(stderr, "ssh-speed: %s: %s\n", s->host, x->why);
}

/* Logs in once, finds out what there is; then the ciphers. */
static err_t run(struct ssh *s, int *status)
{
	struct session *x = s->session;
	TRY(ciphers_wanted(s, x->options, &x->wanted));
	drive(s, STEP_PROBE_UP, (const char *)x->wanted.p);
	if (x->why[0] != '\0' || x->signo != 0) {
		say_failure(s);
		*status = SPEED_FATAL;
		return OK;
	}
	if (s->cfg.connect_timeout <= 0)
		s->cfg.connect_timeout = CONNECT_S;
	TRY(note_way(x));
	TRY(measure_all(s));
	for (size_t i = 0; i < x->sheet->lines_n; i++)
		if (x->sheet->lines[i].why_not != NULL)
			*status = SPEED_FAILED;
	return OK;
}

int remote_run(struct ssh *s, const struct speed_options *o, struct report *r)
{
	static struct ask_memory memory; /* wiped below */
	static struct session session;   /* both: one a process */
	int status = SPEED_OK;
	drop_dumpable(); /* passwords and keys pass through */
	session = (struct session){.options = o, .report = r};
	s->hooks = &hooks;
	s->session = &session;
	s->memory = &memory;
	r->title = "SSH to a host, measured";
	buf_init(&session.wanted, LIST_MAX);
	err_t e = setup_config(s);
	if (e == OK)
		e = report_fact(r, "version", "client", "%s", BOWLINE_RELEASE);
	if (e == OK)
		e = run(s, &status);
	else
		session.is_told = true;
	if (e != OK && !session.is_told)
		fprintf(stderr, "ssh-speed: %s\n", err_text(e));
	if (session.has_job)
		job_done(&session.job);
	buf_done(&session.wanted);
	ask_memory_done(&memory);
	r->is_interrupted = session.signo != 0;
	s->memory = NULL;
	if (session.signo != 0)
		return 128 + session.signo;
	return e != OK ? SPEED_FATAL : status;
}
