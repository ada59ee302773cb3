/* SPDX-License-Identifier: ISC */
/*
 * client - the client's side of RFC 4252: which method next, and which answer fits which request
 *
 * At most one request is outstanding, and an answer of the server counts only against it: SUCCESS,
 * FAILURE and the messages of a method are faults when nothing was asked for them.
 */
#include <assert.h>
#include <stdlib.h>

#include "auth/au_client.h"
#include "base/log.h"
#include "base/secret.h"
#include "transport/peer.h"

#define METHODS_MAX  ((size_t)64 << 10)
#define QUESTION_MAX ((size_t)256 << 10)
#define WAITING_MAX  ((size_t)512 << 10)
#define MESSAGES_MAX 4096 /* a server that talks for ever is cut off */

static const struct au_client_method *const methods[] = {
	&au_client_publickey,
	&au_client_kbdint,
	&au_client_password,
};

static const struct au_client_method *method_find(struct cslice name)
{
	for (size_t i = 0; i < ARRAY_N(methods); i++)
		if (cslice_eq_str(name, methods[i]->name))
			return methods[i];
	return NULL;
}

err_t au_client_event(struct au_client *au, struct au_event ev)
{
	if (au->events_n == AU_EVENTS)
		return E_PHASE;
	au->events[au->events_n++] = ev;
	return OK;
}

err_t au_client_ask(struct au_client *au, struct au_event ev)
{
	ev.ask = au->ask_last + 1;
	TRY(au_client_event(au, ev));
	au->ask_last = au->ask = ev.ask;
	au->ask_type = ev.type;
	return OK;
}

err_t au_client_request(
	struct au_client *au, const char *method, struct cslice body, enum au_outstanding out)
{
	enum tq_kind kind = out == AU_OUT_PASSWORD ? TQ_PADDED : TQ_OWN;
	TRY(tq_put(&au->out, kind, userauth_request, .user = cslice_str(au->env.user),
		.service = cslice_str(AU_NEXT_SERVICE), .method = cslice_str(method),
		.body = body));
	au->outstanding = out;
	au->is_secret_tried = au->is_secret_tried || out == AU_OUT_PASSWORD || out == AU_OUT_KBDINT;
	return OK;
}

static err_t try_method(struct au_client *au, const struct au_client_method *m, bool *did)
{
	assert(m != NULL);
	const struct au_client_method *before = au->method;
	au->method = m;
	TRY(m->next(au, did));
	if (*did && before != m)
		log_debug1("Next authentication method: %s", m->name);
	if (!*did)
		au->method = before;
	return OK;
}

err_t au_client_next(struct au_client *au)
{
	struct cslice rest = cslice_str(au->env.methods), name;
	bool did = false;
	while (!did && list_next(&rest, &name)) {
		const struct au_client_method *m = method_find(name);
		if (m != NULL && (!au->methods_known || list_has(buf_bytes(&au->methods), name)))
			TRY(try_method(au, m, &did));
	}
	/* A server that wants a secret lets nobody in without: one request less, and no failure
	 * more in its log. */
	if (!did && !au->is_secret_tried)
		TRY(try_method(au, &au_client_none, &did));
	if (did)
		return OK;
	log_debug1("No more authentication methods to try.");
	au->is_exhausted = true;
	return au_client_event(au,
		(struct au_event){
			.type = AU_EV_FAILED, .id = UINT32_MAX, .data = buf_bytes(&au->methods)});
}

err_t au_client_new(struct au_client **out, const struct au_client_env *env)
{
	struct au_client *au = calloc(1, sizeof(*au));
	if (au == NULL)
		return E_MEM;
	au->env = *env;
	au->pk.tries = calloc(env->ids_n + 1, sizeof(*au->pk.tries));
	if (au->pk.tries == NULL) {
		free(au);
		return E_MEM;
	}
	tq_init(&au->out, env->tp, WAITING_MAX);
	buf_init(&au->methods, METHODS_MAX);
	buf_init(&au->question, QUESTION_MAX);
	buf_init(&au->pk.blob, QUESTION_MAX);
	*out = au;
	return OK;
}

void au_client_free(struct au_client *au)
{
	if (au == NULL)
		return;
	buf_done(&au->pk.blob);
	buf_done(&au->question);
	buf_done(&au->methods);
	tq_done(&au->out);
	free(au->pk.tries);
	wipe_free(au, sizeof(*au));
}

/*
 * The first request goes out before the server has said which methods it takes: the first key when
 * publickey is preferred, which saves the round trip of `none`; else `none`, which brings the list.
 */
static err_t first_request(struct au_client *au)
{
	struct cslice rest = cslice_str(au->env.methods), name;
	const struct au_client_method *first = NULL;
	bool did = false;
	while (first == NULL && list_next(&rest, &name))
		first = method_find(name);
	if (first == &au_client_publickey)
		TRY(try_method(au, first, &did));
	if (!did)
		TRY(try_method(au, &au_client_none, &did));
	return did ? OK : E_BUG;
}

/*
 * libssh's server is still in its key exchange when a request comes in the packet train of our
 * NEWKEYS, and then waits for it for ever: it gets the request after its SERVICE_ACCEPT.
 */
static const char needs_service_first[] = "libssh_*,libssh-*";

static bool waits_for_service(const struct au_client *au)
{
	return au->env.no_pipeline || peer_is(tp_peer_version(au->env.tp), needs_service_first);
}

static err_t start(struct au_client *au)
{
	if (au->is_started)
		return E_PHASE;
	au->is_started = true;
	TRY(tq_put(&au->out, TQ_OWN, service_request, .service = cslice_str(AU_SERVICE)));
	au->service_wanted = true;
	return waits_for_service(au) ? OK : first_request(au);
}

err_t au_client_start(struct au_client *au)
{
	TRY(au->err);
	return au->err = start(au);
}

/* RFC4253 10: exactly one, and for the service that was asked for; some servers leave the name out.
 */
static err_t take_service(struct au_client *au, struct cslice body)
{
	struct rd r = rd_of(body);
	if (!au->service_wanted)
		return E_UNEXPECTED;
	if (body.n > 0 && !cslice_eq_str(rd_str(&r), AU_SERVICE))
		return E_SERVICE;
	TRY(rd_end(&r));
	au->service_wanted = false;
	log_debug1("SSH2_MSG_SERVICE_ACCEPT received");
	return waits_for_service(au) ? first_request(au) : OK;
}

/* An answer to the outstanding request, or a fault. */
static err_t take_answer(struct au_client *au, enum au_outstanding *was)
{
	if (au->outstanding == AU_OUT_NOTHING || au->service_wanted)
		return E_UNEXPECTED;
	*was = au->outstanding;
	au->outstanding = AU_OUT_NOTHING;
	return OK;
}

static bool proves(const struct au_client *au, enum au_outstanding out)
{
	return out == AU_OUT_SIGNED || out == AU_OUT_PASSWORD ||
	       (out == AU_OUT_KBDINT && au->ki.is_answered);
}

static void taken(struct au_client *au, enum au_outstanding was)
{
	au->is_proved = au->is_proved || proves(au, was);
	if (was == AU_OUT_SIGNED || was == AU_OUT_QUERY) {
		au->pk.tries[au->pk.at].fate = AU_KEY_TAKEN;
		au->pk.tries[au->pk.at].is_spent = true;
	}
}

static err_t take_success(struct au_client *au, struct cslice body)
{
	struct ssh_userauth_success m;
	enum au_outstanding was;
	TRY(ssh_get_userauth_success(body, &m));
	TRY(take_answer(au, &was));
	taken(au, was);
	bool is_key = was == AU_OUT_SIGNED || was == AU_OUT_QUERY;
	TRY(au_client_event(au, (struct au_event){.type = AU_EV_SUCCESS,
					.data = cslice_str(au->method->name),
					.id = is_key ? (uint32_t)au->pk.at : UINT32_MAX,
					.is_trivial = !au->is_proved}));
	au->is_done = true;
	tp_set_open(au->env.tp);
	return OK;
}

static err_t take_failure(struct au_client *au, struct cslice body)
{
	struct ssh_userauth_failure m;
	enum au_outstanding was;
	TRY(ssh_get_userauth_failure(body, &m));
	TRY(take_answer(au, &was));
	buf_clear(&au->methods);
	buf_put(&au->methods, m.methods.p, m.methods.n);
	TRY(buf_err(&au->methods));
	au->methods_known = true;
	log_debug1("Authentications that can continue: %.*s", (int)m.methods.n,
		(const char *)m.methods.p);
	if (!m.partial) {
		au->method->refused(au);
		return au_client_next(au);
	}
	taken(au, was);
	TRY(au_client_event(au, (struct au_event){.type = AU_EV_PARTIAL,
					.method = cslice_str(au->method->name),
					.id = UINT32_MAX,
					.data = buf_bytes(&au->methods)}));
	return au_client_next(au);
}

static err_t take_banner(struct au_client *au, struct cslice body)
{
	struct ssh_userauth_banner m;
	TRY(ssh_get_userauth_banner(body, &m));
	return au_client_event(
		au, (struct au_event){.type = AU_EV_BANNER, .id = UINT32_MAX, .data = m.message});
}

static err_t take(struct au_client *au, uint8_t msg, struct cslice body)
{
	if (!au->is_started || au->is_done || ++au->messages > MESSAGES_MAX)
		return E_UNEXPECTED;
	switch (msg) {
	case SSH_MSG_service_accept:
		return take_service(au, body);
	case SSH_MSG_userauth_success:
		return take_success(au, body);
	case SSH_MSG_userauth_failure:
		return take_failure(au, body);
	case SSH_MSG_userauth_banner:
		return take_banner(au, body);
	case SSH_MSG_userauth_60:
		if (au->outstanding == AU_OUT_NOTHING || au->service_wanted ||
			au->method->message == NULL)
			return E_UNEXPECTED;
		return au->method->message(au, body);
	default:
		return E_UNEXPECTED;
	}
}

err_t au_client_msg(struct au_client *au, uint8_t msg, struct cslice body)
{
	TRY(au->err);
	return au->err = take(au, msg, body);
}

err_t au_client_poll(struct au_client *au, struct au_event *ev)
{
	TRY(au->err);
	au->err = tq_flush(&au->out);
	TRY(au->err);
	*ev = (struct au_event){.type = AU_EV_NONE};
	if (au->events_n == 0)
		return OK;
	*ev = au->events[0];
	au->events_n--;
	memmove(au->events, au->events + 1, au->events_n * sizeof(au->events[0]));
	return OK;
}

err_t au_client_answer(struct au_client *au, uint32_t ask, err_t verdict, struct cslice data)
{
	TRY(au->err);
	if (ask == 0 || ask != au->ask)
		return E_PHASE;
	au->ask = 0;
	err_t e = au->method->answer(au, verdict, data);
	if (e == E_USAGE) { /* the answer's form is wrong: the question stays open */
		au->ask = ask;
		return e;
	}
	if (au->ask == 0)
		buf_clear(&au->question);
	return au->err = e;
}

enum au_key_fate au_client_fate(const struct au_client *au, size_t id)
{
	return id < au->env.ids_n ? au->pk.tries[id].fate : AU_KEY_NOT_TRIED;
}

struct cslice au_client_methods(const struct au_client *au)
{
	return buf_bytes(&au->methods);
}
