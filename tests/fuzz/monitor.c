/* SPDX-License-Identifier: ISC */
/*
 * monitor - the privileged side of the server, asked by a network process that was taken over
 *
 * The model knows which requests were served and with which verdict, and from the design, not from
 * the table, which may follow.
 *
 * head: verdicts of the rows that log in, by turns; failures allowed
 */
#include <sys/socket.h>
#include <unistd.h>

#include "gen.h"
#include "privsep/serve.h"
#include "script.h"

struct model {
	struct ps_server s;
	struct cslice verdicts;
	uint32_t served[PS_MSG_END], answers, failures;
	bool is_in, is_session, is_over;
	err_t last;
};

static int ends[2];

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	return socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
}

#define M(name, no, by, phase, flags)                                                              \
	static void message_##name(struct wr *w)                                                   \
	{                                                                                          \
		wr_u8(w, no);                                                                      \
		REQ_##name(GEN)                                                                    \
	}
#include "privsep/monitor.def"
#undef M

gen_message_fn *const gen_messages[] = {
#define M(name, no, by, phase, flags) message_##name,
#include "privsep/monitor.def"
#undef M
};
const size_t gen_messages_n = ARRAY_N(gen_messages);

/* ---- what may be served when ---- */

static void check_before_login(const struct model *m, uint8_t no)
{
	const uint32_t *n = m->served;
	bool is_named = n[PS_pwnam] == 1, is_signed = n[PS_sign_host] == 1;
	PROMISE(n[no] == 0 || no == PS_auth_password || no == PS_key_allowed ||
		no == PS_key_verify || no == PS_kbdint || no == PS_log);
	PROMISE(no != PS_pty && no != PS_pty_end && no != PS_prove_host && no != PS_state);
	PROMISE((no == PS_start) <= (n[PS_start] == 0));
	if (no == PS_moduli || no == PS_sign_host)
		PROMISE(n[PS_start] == 1 && !is_signed && !is_named);
	if (no == PS_pwnam)
		PROMISE(is_signed);
	if (no >= PS_auth_none && no <= PS_kbdint)
		PROMISE(is_signed && is_named);
}

static void check_request(struct model *m, uint8_t no)
{
	PROMISE(!m->is_over);
	if (m->is_session)
		PROMISE(no == PS_moduli || no == PS_sign_host || no == PS_log || no == PS_ended ||
			no == PS_pty || no == PS_pty_end || no == PS_prove_host);
	else if (m->is_in)
		PROMISE((no == PS_state || no == PS_log || no == PS_ended) &&
			(no == PS_log || m->served[no] == 0));
	else
		check_before_login(m, no);
	m->served[no]++;
}

static err_t verdict_of(struct model *m, uint8_t no)
{
	static const err_t verdicts[] = {
		E_DENIED, OK, E_AGAIN, E_DENIED, E_DENIED, E_MEM, E_DENIED, E_DENIED};
	if ((ps_msg_flags(no) & MF_AUTH) == 0)
		return OK;
	err_t e = verdicts[m->verdicts.n > 0
				   ? m->verdicts.p[m->answers++ % m->verdicts.n] % ARRAY_N(verdicts)
				   : 0];
	m->is_in = m->is_in || e == OK;
	if (e == E_DENIED && no != PS_auth_none)
		m->failures++;
	return e;
}

#define M(name, no, by, phase, flags)                                                              \
	static err_t on_##name(                                                                    \
		void *arg, const struct ps_req_##name *req, struct ps_rep_##name *rep)             \
	{                                                                                          \
		(void)req;                                                                         \
		(void)rep;                                                                         \
		check_request(arg, no);                                                            \
		return ((struct model *)arg)->last = verdict_of(arg, no);                          \
	}
#include "privsep/monitor.def"
#undef M

static const struct ps_handlers handlers = {
#define M(name, no, by, phase, flags) .name = on_##name,
#include "privsep/monitor.def"
#undef M
};

/* ---- what comes back ---- */

/* Whole frames, of rows that answer; one that says yes follows a yes. */
static void check_replies(const struct model *m)
{
	static uint8_t room[1 << 16];
	ssize_t n = recv(ends[1], room, sizeof(room), MSG_DONTWAIT);
	struct rd r = rd_of(cslice_of(room, n > 0 ? (size_t)n : 0));
	while (r.n > 0) {
		struct cslice frame = rd_str(&r);
		PROMISE(!r.bad && frame.n >= 1 && frame.n <= PS_FRAME_MAX);
		uint8_t no = frame.p[0];
		PROMISE(no < PS_MSG_END && m->served[no] > 0);
		PROMISE((ps_msg_flags(no) & MF_QUIET) == 0);
		if ((ps_msg_flags(no) & MF_AUTH) != 0)
			PROMISE(frame.n >= 2 && (frame.p[1] == 0 || m->is_in));
	}
}

static void feed(struct model *m, struct cslice bytes)
{
	if (m->is_over)
		return;
	err_t e = ps_server_fed(&m->s, bytes);
	PROMISE(ps_rules_is_in(&m->s.rules) <= m->is_in);
	PROMISE(m->failures <= m->s.rules.max_tries + 1);
	check_replies(m);
	m->is_over = e != OK; /* the caller ends the connection */
}

static void ask(struct model *m, struct cslice message)
{
	static uint8_t frame[4 + 65536];
	be32_put(frame, (uint32_t)message.n);
	memcpy(frame + 4, message.p, message.n);
	feed(m, cslice_of(frame, 4 + message.n));
}

static void to_session(struct model *m)
{
	if (m->is_over)
		return;
	bool may = m->is_in && m->served[PS_state] == 1;
	err_t e = ps_server_session(&m->s, ends[0]);
	PROMISE((e == OK) <= may);
	m->is_session = e == OK;
	m->is_over = e != OK;
	memset(m->served, 0, sizeof(m->served));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct cslice in = {data, n};
	struct script_step step;
	struct model m = {.verdicts = fuzz_take(&in, SCRIPT_HEAD)};
	ps_server_init(&m.s, ends[0], &handlers, &m);
	m.s.rules.max_tries = 3;
	while (!m.is_over && script_next(&in, &step)) {
		struct cslice d = step.data;
		if (step.kind == SCRIPT_RAW)
			feed(&m, d);
		else if (step.kind == SCRIPT_OWN && !m.is_session)
			to_session(&m);
		else if (d.n > 0)
			ask(&m, d);
	}
	ps_server_done(&m.s);
	return 0;
}
