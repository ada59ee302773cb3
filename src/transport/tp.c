/* SPDX-License-Identifier: ISC */
/*
 * tp - the life of an engine: making and freeing it, polling, questions, errors
 *
 * Everything that can go wrong ends in tp_fail, once: the error is kept, one DISCONNECT (or a
 * server's plain line before the versions are known) is queued, the secrets of a running exchange
 * are wiped, and nothing is processed any more.
 */
#include <assert.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/text.h"
#include "transport/tp_int.h"

/* ---- life ---- */

static void init_parts(struct tp *tp)
{
	tp->in_way.pktc = tp->out_way.pktc = &pktc_none;
	tp->max_packet = TP_PACKET_FIRST;
	tp_raise_max_packet(tp, tp->env->limits.max_packet);
	buf_init(&tp->peer_version, TP_LINE_MAX);
	buf_init(&tp->noise, 256);
	buf_init(&tp->hostkey, TP_PACKET_MAX);
	buf_init(&tp->first_hostkey, TP_PACKET_MAX);
	buf_init(&tp->first_signature, TP_PACKET_MAX);
	buf_init(&tp->ext, TP_PACKET_MAX);
	buf_init(&tp->pongs, TP_PONGS_MAX);
	buf_init(&tp->in.z_buf, TP_PACKET_MAX);
	buf_init(&tp->out.z_buf, TP_PACKET_MAX);
	tp_kex_init(tp);
}

err_t tp_alloc(struct tp **out, const struct tp_env *env, uint64_t now_us)
{
	struct tp *tp = calloc(1, sizeof(*tp));
	if (tp == NULL)
		return E_MEM;
	tp->env = env;
	tp->is_server = env->role == TP_SERVER;
	tp->now_us = tp->moved_us = tp->keyed_us = now_us;
	init_parts(tp);
	err_t e = text_dup(cslice_str(env->version), &tp->my_version);
	if (e != OK) {
		tp_free(tp);
		return e;
	}
	*out = tp;
	return OK;
}

err_t tp_new(struct tp **out, const struct tp_env *env, uint64_t now_us)
{
	struct tp *tp;
	TRY(tp_alloc(&tp, env, now_us));
	err_t e = tp_version_send(tp);
	if (e == OK && !env->wait_version)
		e = tp_kexinit_send(tp);
	if (e != OK) {
		tp_free(tp);
		return e;
	}
	*out = tp;
	return OK;
}

void tp_free(struct tp *tp)
{
	if (tp == NULL)
		return;
	buf_done(&tp->pongs);
	buf_done(&tp->ext);
	buf_done(&tp->hostkey);
	buf_done(&tp->first_hostkey);
	buf_done(&tp->first_signature);
	buf_done(&tp->noise);
	buf_done(&tp->peer_version);
	tp_kex_done(tp);
	tp_out_done(tp);
	tp_in_done(tp);
	tp_way_done(&tp->in_way);
	tp_way_done(&tp->out_way);
	free(tp->my_version);
	wipe_free(tp, sizeof(*tp));
}

/* ---- errors ---- */

static void put_disconnect(struct tp *tp, uint32_t reason, const char *text)
{
	struct buf b;
	buf_init(&b, 4096);
	buf_put_u32(&b, reason);
	buf_put_cstring(&b, text);
	buf_put_cstring(&b, "");
	err_t e = buf_err(&b);
	if (e == OK)
		e = tp_out_msg(tp, SSH_MSG_disconnect, buf_bytes(&b));
	if (e != OK)
		log_debug2("no DISCONNECT could be queued: %s", err_text(e));
	buf_done(&b);
}

/* What both ways of ending have in common. */
static void end(struct tp *tp, err_t e)
{
	tp->err = e;
	tp->ask = TP_EV_NONE;
	tp->pending_n = 0; /* they may point into what is over */
	tp_kex_wipe(tp);
}

void tp_fail(struct tp *tp, err_t e)
{
	if (tp->err != OK || e == OK)
		return;
	if (e == E_AGAIN)
		e = E_BUG; /* not an error: it must not come here */
	tp_cancel(tp);
	if (!tp->has_peer_version)
		tp_version_refuse(tp, e);
	else if (err_disconnect(e) != 0)
		put_disconnect(tp, err_disconnect(e), err_text(e));
	end(tp, e);
}

err_t tp_disconnect(struct tp *tp, uint32_t reason, const char *text)
{
	TRY(tp->err);
	tp_cancel(tp);
	if (tp->has_peer_version)
		put_disconnect(tp, reason, text);
	end(tp, E_CANCELLED);
	return OK;
}

err_t tp_error(const struct tp *tp)
{
	return tp->err;
}

err_t tp_fed_eof(struct tp *tp)
{
	TRY(tp->err);
	/* what waits unread is lost with the connection; the words of the peer said more only when
	 * they were parsed */
	bool is_noise = !tp->has_peer_version && (tp->noise.n > 0 || tp->in.end > tp->in.at);
	if (is_noise && tp->noise.n == 0) {
		struct tp_in *in = &tp->in;
		buf_put(&tp->noise, in->c->p + in->at, num_min(in->end - in->at, tp->noise.limit));
	}
	end(tp, is_noise ? E_NOT_SSH : E_CLOSED);
	return tp->err;
}

/* ---- events and questions ---- */

void tp_event_add(struct tp *tp, const struct tp_event *ev)
{
	assert(tp->pending_n < ARRAY_N(tp->pending));
	tp->pending[tp->pending_n++] = *ev;
}

struct tp_event *tp_ask_event(struct tp *tp, enum tp_ev_type type)
{
	tp->ask = type;
	if (++tp->ask_last == 0)
		tp->ask_last = 1;
	tp_event_add(tp, &(struct tp_event){.type = type, .ask = tp->ask_last});
	return &tp->pending[tp->pending_n - 1];
}

static bool take_pending(struct tp *tp, struct tp_event *ev)
{
	if (tp->pending_n == 0)
		return false;
	*ev = tp->pending[0];
	tp->pending_n--;
	memmove(tp->pending, tp->pending + 1, tp->pending_n * sizeof(tp->pending[0]));
	return true;
}

static err_t step(struct tp *tp, struct tp_event *ev)
{
	for (;;) {
		if (tp->out.rsv != NULL || tp->ask != TP_EV_NONE)
			return OK;
		TRY(tp_pongs_flush(tp));
		TRY(tp_rekey_step(tp));
		bool progress = false;
		if (tp->has_peer_version)
			TRY(tp_packet_step(tp, ev, &progress));
		else
			TRY(tp_version_step(tp, ev, &progress));
		if (progress)
			tp->moved_us = tp->now_us;
		if (ev->type != TP_EV_NONE || take_pending(tp, ev) || !progress)
			return OK;
	}
}

err_t tp_poll(struct tp *tp, struct tp_event *out)
{
	tp_in_unlend(tp);
	struct tp_event ev = {.type = TP_EV_NONE};
	if (!take_pending(tp, &ev)) {
		TRY(tp->err);
		err_t e = step(tp, &ev);
		if (e != OK) {
			tp_fail(tp, e);
			return tp->err;
		}
	}
	*out = ev;
	return OK;
}

err_t tp_answer(struct tp *tp, uint32_t ask, err_t verdict, struct cslice data)
{
	TRY(tp->err);
	enum tp_ev_type type = tp->ask;
	if (type == TP_EV_NONE || ask != tp->ask_last)
		return E_PHASE;
	tp->ask = TP_EV_NONE;
	err_t e = verdict;
	if (e == OK && type == TP_EV_ASK_HOSTKEY)
		e = tp_client_hostkey_ok(tp);
	else if (e == OK && type == TP_EV_ASK_SIGN)
		e = tp_server_signed(tp, data);
	else if (e == OK)
		e = tp_server_group(tp, data);
	if (e != OK)
		tp_fail(tp, e);
	return tp->err;
}

/* ---- control and what is known ---- */

static void start_compression(struct tp_way *way)
{
	way->z_on = way->mat.comp != NULL && way->mat.comp->comp == COMP_ZLIB;
}

void tp_set_open(struct tp *tp)
{
	tp->is_open = true;
	start_compression(&tp->in_way);
	start_compression(&tp->out_way);
}

void tp_raise_max_packet(struct tp *tp, uint32_t max)
{
	tp->max_packet = (uint32_t)num_min(num_max(max, tp->max_packet), TP_PACKET_MAX);
}

bool tp_is_rekeying(const struct tp *tp)
{
	return tp->kex.is_sent;
}

bool tp_is_open(const struct tp *tp)
{
	return tp->is_open;
}

struct cslice tp_session_id(const struct tp *tp)
{
	return (struct cslice){tp->session_id, tp->session_id_n};
}

struct cslice tp_peer_version(const struct tp *tp)
{
	return buf_bytes(&tp->peer_version);
}

const struct alg_choice *tp_choice(const struct tp *tp)
{
	return &tp->choice;
}

struct cslice tp_hostkey_blob(const struct tp *tp)
{
	return buf_bytes(&tp->hostkey);
}

struct cslice tp_first_hostkey(const struct tp *tp)
{
	return buf_bytes(&tp->first_hostkey);
}

struct cslice tp_first_signature(const struct tp *tp)
{
	return buf_bytes(&tp->first_signature);
}

struct cslice tp_peer_noise(const struct tp *tp)
{
	return buf_bytes(&tp->noise);
}

void tp_counts(const struct tp *tp, struct tp_counts *out)
{
	*out = tp->counts;
}
