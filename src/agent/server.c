/* SPDX-License-Identifier: ISC */
/* server - one connection of an agent: frames, the lock, and whose turn it is */
#include <stdlib.h>

#include "agent/server_int.h"

#define HEAD     4
#define FULL     (HEAD + AGENT_FRAME_MAX)
#define PIECE    ((size_t)4 << 10)
#define KEEP_MAX ((size_t)8 << 10) /* of memory between two requests */

err_t ag_new(struct ag **out, struct ag_store *store)
{
	struct ag *a = calloc(1, sizeof(*a));
	if (a == NULL)
		return E_MEM;
	a->store = store;
	buf_init(&a->in, FULL + PIECE);
	buf_init(&a->out, FULL);
	buf_init(&a->question, AGENT_FRAME_MAX);
	*out = a;
	return OK;
}

void ag_free(struct ag *a)
{
	if (a == NULL)
		return;
	ag_way_done(&a->way);
	buf_done(&a->question);
	buf_done(&a->out);
	buf_done(&a->in);
	free(a);
}

/* The body of the frame at the front, with its number.  E_AGAIN: it is not all there. */
static err_t front(const struct ag *a, struct cslice *frame)
{
	if (a->in.n < HEAD)
		return E_AGAIN;
	size_t n = be32_get(a->in.p);
	if (n == 0 || n > AGENT_FRAME_MAX)
		return E_LENGTH;
	if (a->in.n - HEAD < n)
		return E_AGAIN;
	*frame = cslice_of(a->in.p + HEAD, n);
	return OK;
}

struct slice ag_space(struct ag *a)
{
	struct slice none = {NULL, 0};
	struct cslice frame;
	if (a->err != OK || front(a, &frame) != E_AGAIN)
		return none;
	/* Memory grows with what has come, not with what a length announces. */
	uint8_t *at = buf_room(&a->in, PIECE);
	if (at == NULL) {
		a->err = a->in.err;
		return none;
	}
	a->in.n -= PIECE;
	return (struct slice){at, PIECE};
}

void ag_fed(struct ag *a, size_t n)
{
	a->in.n += num_min(n, a->in.cap - a->in.n);
}

err_t ag_reply(struct ag *a, enum agent_msg no, struct cslice body)
{
	size_t n = 0;
	TRY(num_add(body.n, 1, &n));
	buf_put_u32(&a->out, (uint32_t)n);
	buf_put_u8(&a->out, (uint8_t)no);
	buf_put(&a->out, body.p, body.n);
	err_t e = buf_err(&a->out);
	if (e != OK)
		buf_clear(&a->out);
	return e;
}

static const struct {
	uint8_t no;
	ag_handler *run;
} handlers[] = {
	{AGENT_MSG_request_identities, ag_on_identities},
	{AGENT_MSG_sign_request, ag_on_sign},
	{AGENT_MSG_add_identity, ag_on_add},
	{AGENT_MSG_add_id_constrained, ag_on_add_constrained},
	{AGENT_MSG_remove_identity, ag_on_remove},
	{AGENT_MSG_remove_all_identities, ag_on_remove_all},
	{AGENT_MSG_add_smartcard_key, ag_on_smartcard},
	{AGENT_MSG_remove_smartcard_key, ag_on_smartcard},
	{AGENT_MSG_add_smartcard_key_constrained, ag_on_smartcard_constrained},
	{AGENT_MSG_lock, ag_on_lock},
	{AGENT_MSG_unlock, ag_on_unlock},
	{AGENT_MSG_extension, ag_on_extension},
};

/* As an agent without keys. */
static err_t no_keys(struct ag *a)
{
	static const uint8_t zero[4];
	return ag_reply(a, AGENT_MSG_identities_answer, cslice_of(zero, sizeof(zero)));
}

static err_t dispatch(struct ag *a, struct cslice frame, const struct ag_now *now)
{
	uint8_t no = frame.p[0];
	struct cslice body = cslice_of(frame.p + 1, frame.n - 1);
	bool is_locked = ag_store_is_locked(a->store);
	enum agent_when_locked when = agent_msg_when_locked(no);
	if (!agent_msg_is_for(no, true)) {
		ag_store_say(a->store, LOG_L_DEBUG1, "message %u is not known", no);
		return E_UNEXPECTED;
	}
	if (is_locked && when == AGENT_LOCKED_NO_KEYS)
		return no_keys(a);
	if (is_locked && when == AGENT_LOCKED_NO) {
		ag_store_say(a->store, LOG_L_INFO, "%s is refused: the agent is locked",
			agent_msg_name(no));
		return E_DENIED;
	}
	for (size_t i = 0; i < ARRAY_N(handlers); i++)
		if (handlers[i].no == no)
			return handlers[i].run(a, body, now);
	return E_BUG; /* a row that nobody handles */
}

/* The request at the front is over. */
static void next_request(struct ag *a)
{
	buf_eat(&a->in, HEAD + (size_t)be32_get(a->in.p));
	if (a->in.n == 0 && a->in.cap > KEEP_MAX)
		buf_done(&a->in);
	buf_clear(&a->question);
	a->ask = 0;
	a->is_told = a->is_answered = a->is_late = false;
	a->until_us = 0;
}

static err_t one_request(struct ag *a, struct cslice frame, const struct ag_now *now)
{
	const struct cslice none = {NULL, 0};
	err_t e = a->is_late ? E_DENIED : dispatch(a, frame, now);
	if (e == E_AGAIN)
		return e;
	enum agent_msg no = e == OK ? AGENT_MSG_success : AGENT_MSG_failure;
	/* The extension is known, it was the request that was wrong. */
	if (e != OK && e != E_NAME && frame.p[0] == AGENT_MSG_extension)
		no = AGENT_MSG_extension_failure;
	e = a->out.n > 0 ? OK : ag_reply(a, no, none);
	next_request(a);
	return e;
}

err_t ag_poll(struct ag *a, const struct ag_now *now, struct ag_event *ev)
{
	struct cslice frame;
	*ev = (struct ag_event){AG_EV_NONE, 0, NULL};
	while (a->err == OK && a->out.n == 0 && a->ask == 0 && now->us >= a->until_us) {
		err_t e = front(a, &frame);
		if (e == OK)
			e = one_request(a, frame, now);
		if (e == E_AGAIN)
			break;
		a->err = e;
	}
	if (a->ask != 0 && !a->is_told) {
		a->is_told = true;
		*ev = (struct ag_event){AG_EV_CONFIRM, a->ask, (const char *)a->question.p};
	}
	return a->err;
}

err_t ag_answer(struct ag *a, uint32_t ask, err_t verdict)
{
	if (ask == 0 || a->ask != ask || !a->is_told)
		return E_PHASE;
	a->ask = 0;
	a->is_answered = true;
	a->verdict = verdict;
	return OK;
}

struct cslice ag_ready(const struct ag *a)
{
	return buf_bytes(&a->out);
}

void ag_sent(struct ag *a, size_t n)
{
	buf_eat(&a->out, n);
	if (a->out.n == 0 && a->out.cap > KEEP_MAX)
		buf_done(&a->out);
}

uint64_t ag_deadline(const struct ag *a)
{
	return a->err == OK && a->until_us > 0 ? a->until_us : AG_NEVER;
}
