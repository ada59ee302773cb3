/* SPDX-License-Identifier: ISC */
/*
 * rekey - when a new exchange is due (RFC 4253 9, RFC 4344 3, compat 6.4)
 *
 * By cipher blocks, bytes and packets of either direction, by time, or because someone asked. Never
 * before login, and never twice without a message between, so that even a limit of one byte lets
 * the session go on.
 */
#include "transport/tp_int.h"

static uint64_t blocks_max(const struct tp *tp, const struct tp_way *way)
{
	uint64_t block = num_max(way->pktc->cost_block, 1);
	/* a block cipher of 2^L bits: not more than 2^(L/4) blocks; small blocks: 1 GiB */
	uint64_t max = block >= 16 ? (uint64_t)1 << 32 : ((uint64_t)1 << 30) / block;
	uint64_t limit = tp->env->limits.rekey_bytes;
	if (limit != 0 && limit / block < max)
		max = limit / block;
	return max;
}

static bool is_used_up(const struct tp *tp, const struct tp_way *way)
{
	uint64_t packets = tp->env->limits.rekey_packets != 0 ? tp->env->limits.rekey_packets
							      : (uint64_t)1 << 31;
	return way->packets > packets || way->cost > blocks_max(tp, way);
}

static bool is_time(const struct tp *tp)
{
	uint64_t limit = tp->env->limits.rekey_us;
	return limit != 0 && tp->now_us >= tp->keyed_us && tp->now_us - tp->keyed_us >= limit;
}

bool tp_rekey_due(const struct tp *tp)
{
	if (!tp->is_open || tp_kex_is_active(tp) || (tp->peer_flags & TP_PEER_NO_REKEY) != 0)
		return false;
	if (tp->want_rekey || is_time(tp))
		return true;
	return is_used_up(tp, &tp->in_way) || is_used_up(tp, &tp->out_way);
}

err_t tp_rekey_step(struct tp *tp)
{
	if (tp->out.rsv != NULL || !tp_rekey_due(tp))
		return OK;
	return tp_kexinit_send(tp);
}

err_t tp_rekey(struct tp *tp)
{
	TRY(tp->err);
	if (tp_kex_is_active(tp))
		return OK;
	if (!tp->is_open)
		return E_PHASE;
	if ((tp->peer_flags & TP_PEER_NO_REKEY) != 0)
		return E_UNSUPPORTED;
	tp->want_rekey = true;
	err_t e = tp_rekey_step(tp);
	if (e != OK)
		tp_fail(tp, e);
	return tp->err;
}

static uint64_t idle_at(const struct tp *tp)
{
	return tp->is_dirty ? tp->moved_us + TP_IDLE_US : UINT64_MAX;
}

uint64_t tp_deadline(const struct tp *tp)
{
	if (tp->err != OK)
		return UINT64_MAX;
	uint64_t at = idle_at(tp), limit = tp->env->limits.rekey_us;
	bool by_time = limit != 0 && tp->is_open && !tp_kex_is_active(tp) &&
		       (tp->peer_flags & TP_PEER_NO_REKEY) == 0;
	if (by_time && tp->keyed_us + limit < at)
		at = tp->keyed_us + limit;
	return at;
}

err_t tp_tick(struct tp *tp, uint64_t now_us)
{
	TRY(tp->err);
	tp->now_us = now_us;
	if (now_us >= idle_at(tp)) {
		tp->is_dirty = false;
		tp_in_release(tp);
		tp_out_release(tp);
		chunk_pool_trim(tp->env->pool);
	}
	err_t e = tp_rekey_step(tp);
	if (e != OK)
		tp_fail(tp, e);
	return tp->err;
}
