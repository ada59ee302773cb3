/* SPDX-License-Identifier: ISC */
/*
 * dispatch - what becomes of an opened message
 *
 * The phase table of wire/ssh.def decides whether it may be here at all; what concerns the
 * transport alone is dealt with, everything else becomes TP_EV_MSG.
 */
#include <assert.h>

#include "base/log.h"
#include "transport/tp_int.h"

#define KEX_FIRST        30 /* RFC4253 12: 30 to 49 belong to the key exchange method */
#define CONNECTION_FIRST 80 /* RFC4250 4.1.2 */
#define CONNECTION_LAST  127
#define KEX_LAST         49

enum ssh_phase tp_phase_in(const struct tp *tp)
{
	if (!tp->in_way.is_keyed)
		return SSH_PH_K1;
	if (tp->kex.is_got)
		return SSH_PH_REKEY;
	return tp->is_open ? SSH_PH_OPEN : SSH_PH_AUTH;
}

static bool is_kex_number(uint8_t msg)
{
	return msg >= SSH_MSG_kexinit && msg <= KEX_LAST;
}

/* The peer's guessed packet after a wrong guess: not looked at (RFC 4253 7.1). */
static bool is_skipped(struct tp *tp, uint8_t msg)
{
	if (!tp->kex.skip_guess || msg < KEX_FIRST || msg > KEX_LAST)
		return false;
	tp->kex.skip_guess = false;
	return true;
}

/* RFC4253 7.1 forbids a peer to send data between its KEXINIT and its NEWKEYS, but some that are in
 * use do (AsyncSSH 2.10), and OpenSSH bears with them.  Nothing hangs on it once someone is logged
 * in: the old keys still protect what comes. */
static bool is_late_data(const struct tp *tp, uint8_t msg)
{
	return tp->is_open && tp->kex.is_got && msg >= CONNECTION_FIRST && msg <= CONNECTION_LAST;
}

static err_t check_allowed(const struct tp *tp, uint8_t msg, enum ssh_verdict *verdict)
{
	enum ssh_phase phase = tp_phase_in(tp);
	bool is_strict = phase == SSH_PH_K1 && tp->is_strict;
	/* compat 7.1 kex-strict: nothing but the exchange itself */
	if (is_strict && !is_kex_number(msg) && msg != SSH_MSG_disconnect)
		return E_UNEXPECTED;
	*verdict = ssh_msg_verdict(msg, is_late_data(tp, msg) ? SSH_PH_OPEN : phase, tp->is_server);
	if (*verdict == SSH_REFUSE || (is_strict && *verdict == SSH_UNKNOWN))
		return E_UNEXPECTED;
	/* RFC4253 7.1: after its KEXINIT a peer sends 1 to 29 and its method's messages, known to
	 * us */
	if (*verdict == SSH_UNKNOWN && tp->kex.is_got && msg >= KEX_FIRST)
		return E_UNEXPECTED;
	return OK;
}

static err_t answer_unknown(struct tp *tp, uint8_t msg, uint32_t seq)
{
	log_debug1("unknown message %u, answered with SSH2_MSG_UNIMPLEMENTED", msg);
	if (tp->out.unsent > tp_high_water(tp) + TP_CONTROL_ROOM)
		return E_FLOOD;
	uint8_t body[4];
	be32_put(body, seq);
	return tp_out_msg(tp, SSH_MSG_unimplemented, cslice_of(body, sizeof(body)));
}

static err_t take_disconnect(struct tp *tp, struct cslice body, struct tp_event *ev)
{
	/* Some peers leave the language, or even the words, out. */
	struct rd r = rd_of(body);
	ev->reason = rd_u32(&r);
	struct cslice text = rd_str(&r);
	if (r.bad)
		text = (struct cslice){body.p, 0};
	tp_lend(tp, ev, text);
	ev->type = TP_EV_CLOSED;
	tp->err = E_DISCONNECTED;
	return OK;
}

static err_t take_debug(struct tp *tp, struct cslice body, struct tp_event *ev)
{
	struct ssh_debug m;
	err_t e = ssh_get_debug(body, &m);
	if (e != OK)
		return (tp->peer_flags & TP_PEER_BAD_DEBUG) != 0 ? OK : e;
	ev->type = TP_EV_DEBUG;
	ev->first = m.always_display;
	tp_lend(tp, ev, m.message);
	return OK;
}

static err_t take_ping(struct tp *tp, struct cslice body)
{
	struct ssh_ping m;
	TRY(ssh_get_ping(body, &m));
	return tp_pong(tp, m.data);
}

static err_t take_unimplemented(struct cslice body)
{
	struct ssh_unimplemented m;
	TRY(ssh_get_unimplemented(body, &m));
	log_debug1("the peer does not know our packet %u", m.seq);
	return OK;
}

static err_t take_newkeys(struct tp *tp, struct cslice body)
{
	struct ssh_newkeys m;
	TRY(ssh_get_newkeys(body, &m));
	if (tp->kex.step != TP_STEP_NEWKEYS)
		return E_UNEXPECTED;
	return tp_newkeys_got(tp);
}

static void give(struct tp *tp, struct tp_event *ev, uint8_t msg, struct cslice body)
{
	ev->type = TP_EV_MSG;
	ev->msg = msg;
	tp_lend(tp, ev, body);
}

static err_t act(struct tp *tp, struct tp_event *ev, uint8_t msg, struct cslice payload)
{
	struct cslice body = {payload.p + 1, payload.n - 1};
	switch (msg) {
	case SSH_MSG_disconnect:
		return take_disconnect(tp, body, ev);
	case SSH_MSG_ignore:
	case SSH_MSG_pong:
		return OK;
	case SSH_MSG_unimplemented:
		return take_unimplemented(body);
	case SSH_MSG_debug:
		return take_debug(tp, body, ev);
	case SSH_MSG_ext_info:
		return tp_ext_info_got(tp, body);
	case SSH_MSG_kexinit:
		return tp->kex.is_got ? E_UNEXPECTED : tp_kexinit_got(tp, payload);
	case SSH_MSG_newkeys:
		return take_newkeys(tp, body);
	case SSH_MSG_ping:
		return take_ping(tp, body);
	case SSH_MSG_userauth_request:
		if (!tp->is_open) /* RFC4252 5.1: after success they are ignored */
			give(tp, ev, msg, body);
		return OK;
	default:
		if (msg >= KEX_FIRST && msg <= KEX_LAST)
			return tp_kex_message(tp, msg, body);
		give(tp, ev, msg, body);
		return OK;
	}
}

static void log_refused(uint8_t msg, enum ssh_phase phase)
{
	const char *when = phase == SSH_PH_K1      ? "during the first key exchange"
			   : phase == SSH_PH_REKEY ? "during a key exchange"
			   : phase == SSH_PH_AUTH  ? "before login"
						   : "after login";
	log_debug1("message %u (%s) is not allowed %s", msg, ssh_msg_name(msg), when);
}

err_t tp_dispatch(struct tp *tp, struct tp_event *ev, uint32_t seq, struct cslice payload)
{
	uint8_t msg = payload.p[0];
	if (is_skipped(tp, msg)) {
		log_debug2("wrongly guessed packet skipped");
		return OK;
	}
	enum ssh_verdict verdict;
	err_t e = check_allowed(tp, msg, &verdict);
	if (e != OK) {
		log_refused(msg, tp_phase_in(tp));
		return e;
	}
	if (verdict == SSH_UNKNOWN)
		return answer_unknown(tp, msg, seq);
	return act(tp, ev, msg, payload);
}
