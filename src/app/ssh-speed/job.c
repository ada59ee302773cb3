/* SPDX-License-Identifier: ISC */
/* job - one transfer over a channel of its own */
#include <stdio.h>
#include <sys/resource.h>

#include "app/ssh-speed/job.h"
#include "os/random.h"

#define TEXT_MAX         4096
#define PATTERN_N        ((size_t)64 * 1024)
#define PUSH_N           ((size_t)256 * 1024) /* a turn; more leaves the cache before it is sent */
#define COMMAND_MAX      65536
#define STATUS_NOT_FOUND 127

static double cpu_now(void)
{
	struct rusage u;
	if (getrusage(RUSAGE_SELF, &u) != 0)
		return 0;
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e-6;
}

void job_init(struct job *j, enum job_way way, const char *command, uint64_t want)
{
	*j = (struct job){.way = way, .command = command, .want = want};
	buf_init(&j->out, TEXT_MAX);
	buf_init(&j->err, TEXT_MAX);
}

void job_done(struct job *j)
{
	buf_done(&j->out);
	buf_done(&j->err);
}

bool job_has_ended(const struct job *j)
{
	return j->state == JOB_OK || j->state == JOB_FAILED || j->state == JOB_LOST;
}

static void fail(struct job *j, const char *why)
{
	j->state = JOB_FAILED;
	(void)snprintf(j->why, sizeof(j->why), "%s", why);
}

static void begin(struct job *j)
{
	j->state = JOB_MOVING;
	j->begin_us = os_monotonic_us();
	j->begin_cpu_s = cpu_now();
}

static void end(struct job *j)
{
	j->state = JOB_ENDING;
	j->end_us = os_monotonic_us();
	j->end_cpu_s = cpu_now();
}

err_t job_start(struct job *j, struct ssh *s)
{
	j->state = JOB_OPENING;
	j->seen_us = os_monotonic_us();
	return cn_open(s->cn, "session", cslice_of(NULL, 0), &j->chan);
}

static err_t ask_for_command(struct job *j, struct ssh *s)
{
	struct buf body;
	buf_init(&body, COMMAND_MAX);
	buf_put_cstring(&body, j->command);
	err_t e = buf_err(&body);
	log_debug1("Sending command: %s", j->command);
	if (e == OK)
		e = cn_request(s->cn, j->chan, "exec", true, buf_bytes(&body));
	buf_done(&body);
	j->state = JOB_STARTING;
	return e;
}

/* ---- what comes ---------------------------------------------------------------------------------
 */
static bool has_said(const struct buf *b, const char *word)
{
	return b->n > 0 && memmem(b->p, b->n, word, strlen(word)) != NULL;
}

/* stdout of a JOB_UP: the tail is enough, whatever the login scripts print. */
static void take_words(struct job *j, struct cslice data)
{
	if (data.n > TEXT_MAX / 2) {
		data.p += data.n - TEXT_MAX / 2;
		data.n = TEXT_MAX / 2;
	}
	if (j->out.n + data.n > TEXT_MAX)
		buf_eat(&j->out, j->out.n - TEXT_MAX / 2);
	buf_put(&j->out, data.p, data.n);
	if (j->state == JOB_WAITING && has_said(&j->out, JOB_READY)) {
		buf_clear(&j->out);
		begin(j);
	}
	if (j->state == JOB_MOVING && j->moved == j->want && has_said(&j->out, JOB_DONE))
		end(j);
}

static void take_data(struct job *j, struct ssh *s, const struct cn_event *e)
{
	struct cslice data = cslice_of(e->span.p, e->span.n);
	if (j->state == JOB_STARTING) /* some servers start it before they say so */
		j->state = JOB_WAITING;
	if (e->ext != 0) {
		size_t room = j->err.n < TEXT_MAX ? TEXT_MAX - j->err.n : 0;
		buf_put(&j->err, data.p, num_min(data.n, room));
	} else if (j->way == JOB_UP) {
		take_words(j, data);
	} else if (j->state == JOB_WAITING || j->state == JOB_MOVING) {
		if (j->state == JOB_WAITING)
			begin(j);
		else
			j->moved += data.n; /* not the first: it came before the clock ran */
		if (j->moved >= j->want) {
			end(j);
			if (j->is_endless)
				cn_close(s->cn, j->chan);
		}
	}
	cn_consumed(s->cn, j->chan, e->span.n);
}

/* The first line of stderr, made safe, or what the status says. */
static void say_status(struct job *j)
{
	struct buf line;
	const uint8_t *end_of_line = j->err.n > 0 ? memchr(j->err.p, '\n', j->err.n) : NULL;
	size_t n = end_of_line != NULL ? (size_t)(end_of_line - j->err.p) : j->err.n;
	buf_init(&line, TEXT_MAX);
	vis_put(&line, cslice_of(j->err.p, num_min(n, 200)));
	const char *colon = line.n > 0 ? ": " : "";
	if (!j->has_status)
		(void)snprintf(j->why, sizeof(j->why), "the remote command ended early%s%.*s",
			colon, (int)line.n, (const char *)line.p);
	else
		(void)snprintf(j->why, sizeof(j->why),
			"the remote command ended with status %u%s%s%.*s", j->status,
			j->status == STATUS_NOT_FOUND ? " (not found)" : "", colon, (int)line.n,
			(const char *)line.p);
	buf_done(&line);
}

static void on_channel_closed(struct job *j)
{
	if (job_has_ended(j))
		return;
	if (j->state == JOB_ENDING) {
		j->state = JOB_OK;
		return;
	}
	j->state = JOB_FAILED;
	say_status(j);
}

static err_t on_request(struct job *j, struct ssh *s, const struct cn_event *e)
{
	if (cslice_eq_str(e->name, "exit-status")) {
		struct ssh_exit_status m;
		TRY(ssh_get_exit_status(e->data, &m));
		j->has_status = true;
		j->status = m.status;
	}
	return e->want_reply ? cn_reply(s->cn, e->chan, false) : OK;
}

static void on_open_failed(struct job *j, const struct cn_event *e)
{
	struct buf text;
	buf_init(&text, TEXT_MAX);
	vis_put(&text, cslice_of(e->data.p, num_min(e->data.n, 200)));
	(void)snprintf(j->why, sizeof(j->why), "the server opens no session: %.*s", (int)text.n,
		(const char *)text.p);
	buf_done(&text);
	j->state = JOB_LOST;
}

static void on_reply(struct job *j, struct ssh *s, bool ok)
{
	if (j->state != JOB_STARTING)
		return;
	if (ok) {
		j->state = JOB_WAITING;
		return;
	}
	j->is_refused = true;
	fail(j, "the server runs no commands for this login (exec request refused)");
	cn_close(s->cn, j->chan);
}

err_t job_event(struct job *j, struct ssh *s, struct cn_event *e)
{
	j->seen_us = ev_now(s->ev);
	switch (e->type) {
	case CN_EV_OPENED:
		return ask_for_command(j, s);
	case CN_EV_OPEN_FAILED:
		on_open_failed(j, e);
		return OK;
	case CN_EV_OPEN:
		return cn_refuse(s->cn, e->chan, 1, "open failed");
	case CN_EV_DATA:
		take_data(j, s, e);
		return OK;
	case CN_EV_REPLY:
		on_reply(j, s, e->ok);
		return OK;
	case CN_EV_REQUEST:
		return on_request(j, s, e);
	case CN_EV_CLOSED:
		on_channel_closed(j);
		return OK;
	case CN_EV_GLOBAL:
		return e->want_reply ? cn_global_reply(s->cn, false, cslice_of(NULL, 0)) : OK;
	default:
		return OK;
	}
}

/* ---- what goes ----------------------------------------------------------------------------------
 */
/* Random, so that nothing on the way can make it smaller; made once. */
static const uint8_t *pattern(void)
{
	static uint8_t bytes[PATTERN_N];
	static bool is_made;
	if (!is_made)
		rng_fill(os_rng(), bytes, sizeof(bytes));
	is_made = true;
	return bytes;
}

static void fill(const struct iovec *v, size_t n)
{
	uint8_t *to = v->iov_base;
	while (n > 0) {
		size_t piece = num_min(n, PATTERN_N);
		memcpy(to, pattern(), piece);
		to += piece;
		n -= piece;
	}
}

/* Fills the next packets; *used = 0 when there is no room. */
static err_t push_some(struct job *j, struct ssh *s, size_t want, size_t *used)
{
	struct iovec iov[TP_BULK_MAX];
	size_t niov = 0;
	*used = 0;
	err_t e = cn_reserve(s->cn, j->chan, 0, want, iov, &niov);
	if (e == E_AGAIN || e == E_PHASE) /* E_PHASE: closed, its event is on the way */
		return OK;
	TRY(e);
	for (size_t i = 0; i < niov && *used < want; i++) {
		size_t n = num_min(iov[i].iov_len, want - *used);
		fill(&iov[i], n);
		*used += n;
	}
	return cn_commit(s->cn, *used);
}

err_t job_push(struct job *j, struct ssh *s)
{
	if (j->way != JOB_UP || j->state != JOB_MOVING || j->moved == j->want)
		return OK;
	size_t room = (size_t)num_min(PUSH_N, j->want - j->moved), used = 1;
	while (room > 0 && used > 0) {
		TRY(push_some(j, s, room, &used));
		j->moved += used;
		room -= used;
		if (used > 0) {
			j->seen_us = ev_now(s->ev);
			pump_kick(&s->pump);
		}
	}
	if (j->moved == j->want)
		cn_eof(s->cn, j->chan);
	return OK;
}

void job_cut(struct job *j, const char *why)
{
	if (j->state == JOB_ENDING)
		j->state = JOB_OK;
	if (job_has_ended(j) || j->state == JOB_IDLE)
		return;
	if (j->state == JOB_OPENING)
		j->state = JOB_LOST;
	else
		j->state = JOB_FAILED;
	(void)snprintf(j->why, sizeof(j->why), "%s", why);
}

double job_mb_s(const struct job *j)
{
	double us = (double)(j->end_us - j->begin_us);
	return us > 0 ? (double)j->moved / us : 0;
}

double job_cpu_s(const struct job *j)
{
	return j->end_cpu_s - j->begin_cpu_s;
}
