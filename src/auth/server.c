/* SPDX-License-Identifier: ISC */
/*
 * server - the server's side of RFC 4252: one request at a time, and one way to be let in
 *
 * admit() is the only place that makes a connection authenticated; it is reached from au_server_end
 * with AU_ADMITTED, which only au_server_judge gives, for the verdict OK of a question that this
 * request asked.  While a question is open or a failure waits, nothing else is looked at.
 */
#include <stdlib.h>

#include "auth/au_server.h"
#include "base/log.h"
#include "base/secret.h"

#define REQUESTS_MAX   1024 /* compat 7.3 */
#define TRIES_DEFAULT  6
#define NAME_MAX_BYTES ((size_t)64 << 10)
#define BODY_MAX       ((size_t)256 << 10)
#define WAITING_MAX    ((size_t)512 << 10)
#define BANNER_PART    32000u

static const struct au_server_method *const methods[] = {
	&au_server_none,
	&au_server_publickey,
	&au_server_hostbound,
	&au_server_password,
	&au_server_kbdint,
};

/* ---- events and questions ---- */
static const struct au_server_method *method_find(struct cslice name)
{
	for (size_t i = 0; i < ARRAY_N(methods); i++)
		if (cslice_eq_str(name, methods[i]->name))
			return methods[i];
	return NULL;
}

/* An event may wait while the next message takes the place of this one, so it names the method from
 * the table. */
static struct cslice method_shown(const struct au_server *au)
{
	const struct au_server_method *m = method_find(buf_bytes(&au->method_name));
	return cslice_str(m != NULL ? m->name : "unknown");
}

static err_t event(struct au_server *au, struct au_event ev)
{
	if (au->events_n == AU_SERVER_EVENTS)
		return E_PHASE;
	ev.user = buf_bytes(&au->user);
	ev.service = buf_bytes(&au->service);
	if (ev.method.p == NULL)
		ev.method = method_shown(au);
	au->events[au->events_n++] = ev;
	return OK;
}

err_t au_server_ask(struct au_server *au, struct au_event ev)
{
	ev.ask = au->ask_last + 1;
	TRY(event(au, ev));
	au->ask_last = au->ask = ev.ask;
	au->ask_type = ev.type;
	return OK;
}

/* ---- the end of a request ---- */
static err_t open_if_sent(struct au_server *au)
{
	if (!au->is_admitted || au->is_open || !tq_is_empty(&au->out))
		return OK;
	TRY(event(au, (struct au_event){.type = AU_EV_LOGGED_IN,
			      .data = cslice_str(au->method->listed != NULL ? au->method->listed
									    : au->method->name),
			      .alg = au->alg,
			      .blob = au->blob,
			      .attempt = au->failures}));
	au->is_open = true;
	tp_set_open(au->env->tp);
	return OK;
}

static err_t admit(struct au_server *au)
{
	TRY(tq_put_userauth_success(&au->out, TQ_OWN, &(struct ssh_userauth_success){0}));
	au->is_admitted = true;
	return open_if_sent(au);
}

static uint32_t max_tries(const struct au_server *au)
{
	return au->env->max_tries > 0 ? au->env->max_tries : TRIES_DEFAULT;
}

static err_t send_failure(struct au_server *au)
{
	au->is_failing = false;
	if (au->is_counted)
		au->failures++;
	if (au->failures >= max_tries(au))
		return E_AUTH_TRIES;
	TRY(tq_put(&au->out, TQ_OWN, userauth_failure, .methods = buf_bytes(&au->methods)));
	return event(au, (struct au_event){.type = AU_EV_REFUSED,
				 .alg = au->alg,
				 .blob = au->blob,
				 .attempt = au->failures});
}

/* compat 7.3: a failure takes a least time, the same for every reason; `none` tells nothing and
 * waits for nothing. */
static err_t refuse(struct au_server *au)
{
	if (au->env->fail_delay_us == 0 || au->method == &au_server_none)
		return send_failure(au);
	au->is_failing = true;
	au->is_fail_timed = false;
	au->fail_us = au->request_us;
	return OK;
}

static err_t admit_partly(struct au_server *au, struct cslice left)
{
	if (left.n == 0)
		return refuse(au); /* nothing could follow */
	struct buf copy;
	buf_init(&copy, NAME_MAX_BYTES);
	buf_put(&copy, left.p, left.n);
	if (buf_err(&copy) != OK)
		return buf_err(&copy);
	buf_done(&au->methods);
	au->methods = copy;
	return tq_put(&au->out, TQ_OWN, userauth_failure, .methods = buf_bytes(&au->methods),
		.partial = true);
}

err_t au_server_end(struct au_server *au, enum au_outcome outcome, struct cslice left)
{
	au->ki.is_open = false;
	if (outcome == AU_ADMITTED)
		return admit(au);
	if (outcome == AU_PARTLY)
		return admit_partly(au, left);
	return refuse(au);
}

err_t au_server_judge(struct au_server *au, err_t verdict, struct cslice left)
{
	enum au_outcome outcome = AU_REFUSED;
	if (verdict == OK)
		outcome = AU_ADMITTED;
	else if (verdict == E_PARTIAL)
		outcome = AU_PARTLY;
	return au_server_end(au, outcome, left);
}

/* ---- requests ---- */
static err_t replace(struct buf *b, struct cslice s)
{
	buf_clear(b);
	buf_put(b, s.p, s.n);
	return buf_err(b);
}

static bool method_may(const struct au_server *au, const struct au_server_method *m)
{
	if (m == NULL || au->is_user_barred)
		return false;
	if (!cslice_eq_str(buf_bytes(&au->service), AU_NEXT_SERVICE))
		return false;
	return m->listed == NULL || list_has(buf_bytes(&au->methods), cslice_str(m->listed));
}

static err_t run_method(struct au_server *au)
{
	const struct au_server_method *m = method_find(buf_bytes(&au->method_name));
	bool is_first_none = m == &au_server_none && !au->is_none_seen;
	au->method = m;
	au->is_counted = !is_first_none;
	au->is_none_seen = au->is_none_seen || is_first_none;
	if (!method_may(au, m))
		return au_server_end(au, AU_REFUSED, cslice_of(NULL, 0));
	return m->request(au, buf_bytes(&au->body));
}

/* RFC4252 5: the same user and service all along; a change would need the state of all methods
 * flushed. */
static err_t take_user(struct au_server *au, const struct ssh_userauth_request *m)
{
	if (au->is_user_known) {
		bool is_same = cslice_eq(m->user, buf_bytes(&au->user)) &&
			       cslice_eq(m->service, buf_bytes(&au->service));
		if (!is_same)
			log_debug1("Change of username or service not allowed");
		return is_same ? OK : E_UNEXPECTED;
	}
	TRY(replace(&au->user, m->user));
	return replace(&au->service, m->service);
}

static err_t take_request(struct au_server *au, struct cslice body, uint64_t now_us)
{
	struct ssh_userauth_request m;
	if (!au->is_service_ok)
		return E_UNEXPECTED;
	TRY(ssh_get_userauth_request(body, &m));
	if (++au->requests > REQUESTS_MAX)
		return E_AUTH_TRIES;
	TRY(take_user(au, &m));
	bool was_open = au->ki.is_open;
	au->ki.is_open = false;
	TRY(replace(&au->method_name, m.method));
	TRY(replace(&au->body, m.body));
	if (was_open) /* after the buffers have changed: events point into them */
		TRY(event(au, (struct au_event){.type = AU_EV_KBDINT_STOPPED,
				      .method = cslice_str(au_server_kbdint.name)}));
	au->alg = au->blob = cslice_of(NULL, 0);
	au->request_us = now_us;
	if (au->is_user_known)
		return run_method(au);
	au->is_user_known = true;
	return au_server_ask(au, (struct au_event){.type = AU_EV_ASK_USER});
}

static err_t take_responses(struct au_server *au, struct cslice body, uint64_t now_us)
{
	if (!au->ki.is_open)
		return E_UNEXPECTED;
	if (++au->requests > REQUESTS_MAX)
		return E_AUTH_TRIES;
	TRY(replace(&au->body, body));
	au->request_us = now_us;
	return au_server_kbdint_responses(au, buf_bytes(&au->body));
}

static err_t take_service(struct au_server *au, struct cslice body)
{
	struct ssh_service_request m;
	uint8_t name[4 + sizeof(AU_SERVICE) - 1];
	TRY(ssh_get_service_request(body, &m));
	if (++au->requests > REQUESTS_MAX)
		return E_AUTH_TRIES;
	if (!cslice_eq_str(m.service, AU_SERVICE))
		return E_SERVICE;
	au->is_service_ok = true;
	struct wr w = wr_of((struct slice){name, sizeof(name)});
	wr_str(&w, m.service);
	return tq_put(&au->out, TQ_OWN, service_accept, .service = cslice_of(name, w.n));
}

static err_t take(struct au_server *au, uint8_t msg, struct cslice body, uint64_t now_us)
{
	if (au->is_admitted) /* RFC4252 5.1: requests after success are ignored, silently */
		return msg == SSH_MSG_userauth_request ? OK : E_UNEXPECTED;
	switch (msg) {
	case SSH_MSG_service_request:
		return take_service(au, body);
	case SSH_MSG_userauth_request:
		return take_request(au, body, now_us);
	case SSH_MSG_userauth_info_response:
		return take_responses(au, body, now_us);
	default:
		return E_UNEXPECTED;
	}
}

err_t au_server_msg(struct au_server *au, uint8_t msg, struct cslice body, uint64_t now_us)
{
	TRY(au->err);
	if (au_server_busy(au))
		return E_AGAIN;
	return au->err = take(au, msg, body, now_us);
}

/* ---- the user is known ---- */
static err_t send_sig_algs(struct au_server *au)
{
	struct cslice value;
	struct buf items, algs;
	if (!tp_peer_ext(au->env->tp, AU_EXT_IN_AUTH, &value) || !cslice_eq_str(value, "0"))
		return OK;
	buf_init(&items, NAME_MAX_BYTES);
	buf_init(&algs, NAME_MAX_BYTES);
	alg_plain_names(au->env->pubkey_algs, &algs);
	buf_put_cstring(&items, AU_EXT_SIG_ALGS);
	buf_put_string(&items, buf_bytes(&algs));
	err_t e = buf_err(&algs) == OK ? buf_err(&items) : buf_err(&algs);
	buf_done(&algs);
	if (e == OK)
		e = tq_put(&au->out, TQ_OWN, ext_info, .count = 1, .items = buf_bytes(&items));
	buf_done(&items);
	return e;
}

/* Where a banner may be cut: behind a line, or else between two characters (UTF-8). */
static size_t banner_part(struct cslice text)
{
	if (text.n <= BANNER_PART)
		return text.n;
	const uint8_t *line = memrchr(text.p, '\n', BANNER_PART);
	if (line != NULL)
		return (size_t)(line - text.p) + 1;
	size_t n = BANNER_PART;
	for (size_t i = 0; i < 3 && (text.p[n] & 0xc0) == 0x80; i++)
		n--;
	return n;
}

/* RFC4253 6.1: before login no packet is larger than what everyone takes; RFC4252 5.4: there may be
 * several. */
static err_t send_banner(struct au_server *au)
{
	struct cslice rest = au->env->banner;
	while (rest.n > 0) {
		size_t n = banner_part(rest);
		TRY(tq_put(&au->out, TQ_OWN, userauth_banner, .message = cslice_of(rest.p, n)));
		rest = cslice_of(rest.p + n, rest.n - n);
	}
	return OK;
}

static err_t user_answered(struct au_server *au, err_t verdict)
{
	au->is_user_barred = verdict != OK;
	TRY(replace(&au->methods, cslice_str(au->env->methods)));
	TRY(send_sig_algs(au));
	TRY(send_banner(au));
	return run_method(au);
}

err_t au_server_answer(struct au_server *au, uint32_t ask, err_t verdict, struct cslice data)
{
	TRY(au->err);
	if (ask == 0 || ask != au->ask)
		return E_PHASE;
	au->ask = 0;
	if (au->ask_type == AU_EV_ASK_USER)
		return au->err = user_answered(au, verdict);
	return au->err = au->method->answer(au, verdict, data);
}

/* ---- life and time ---- */
err_t au_server_new(struct au_server **out, const struct au_server_env *env)
{
	struct au_server *au = calloc(1, sizeof(*au));
	if (au == NULL)
		return E_MEM;
	au->env = env;
	tq_init(&au->out, env->tp, WAITING_MAX);
	buf_init(&au->user, NAME_MAX_BYTES);
	buf_init(&au->service, NAME_MAX_BYTES);
	buf_init(&au->methods, NAME_MAX_BYTES);
	buf_init(&au->method_name, NAME_MAX_BYTES);
	buf_init(&au->body, BODY_MAX);
	*out = au;
	return OK;
}

void au_server_free(struct au_server *au)
{
	if (au == NULL)
		return;
	buf_done(&au->body);
	buf_done(&au->method_name);
	buf_done(&au->methods);
	buf_done(&au->service);
	buf_done(&au->user);
	tq_done(&au->out);
	wipe_free(au, sizeof(*au));
}

bool au_server_busy(const struct au_server *au)
{
	return au->ask != 0 || au->is_failing;
}

err_t au_server_poll(struct au_server *au, struct au_event *ev)
{
	TRY(au->err);
	au->err = tq_flush(&au->out);
	if (au->err == OK)
		au->err = open_if_sent(au);
	TRY(au->err);
	*ev = (struct au_event){.type = AU_EV_NONE};
	if (au->events_n == 0)
		return OK;
	*ev = au->events[0];
	au->events_n--;
	memmove(au->events, au->events + 1, au->events_n * sizeof(au->events[0]));
	return OK;
}

uint64_t au_server_deadline(const struct au_server *au)
{
	return au->is_failing ? au->fail_us : UINT64_MAX;
}

/*
 * The first tick learns how long the answer took, and sets the time to the least multiple (by
 * doubling) of the delay that is still ahead; a later one sends.
 */
err_t au_server_tick(struct au_server *au, uint64_t now_us)
{
	TRY(au->err);
	if (!au->is_failing)
		return OK;
	if (!au->is_fail_timed) {
		uint64_t spent = now_us > au->request_us ? now_us - au->request_us : 0;
		uint64_t least = au->env->fail_delay_us;
		while (least <= spent && least < UINT64_MAX / 2)
			least *= 2;
		au->fail_us = au->request_us + least;
		au->is_fail_timed = true;
	}
	if (now_us < au->fail_us)
		return OK;
	return au->err = send_failure(au);
}

uint32_t au_server_failures(const struct au_server *au)
{
	return au->failures;
}
