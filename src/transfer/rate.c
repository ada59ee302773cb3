/* SPDX-License-Identifier: ISC */
/*
 * rate - no more bytes a second than was asked for
 *
 * What time has earned is spent; at most BURST of it is saved, so that a pause is not followed by
 * a flood.  A request may be a little larger than what is there: the debt is waited for.
 */
#include "transfer/transfer_int.h"

#define BURST_PART 10 /* of a second */
#define LEAST      512

void rate_init(struct rate *t, uint64_t bytes_s, uint64_t now_us)
{
	*t = (struct rate){.bytes_s = bytes_s, .at_us = now_us};
}

uint64_t rate_room(struct rate *t, uint64_t now_us, uint64_t wish)
{
	if (t->bytes_s == 0)
		return wish;
	uint64_t most = t->bytes_s / BURST_PART > LEAST ? t->bytes_s / BURST_PART : LEAST;
	uint64_t us = now_us - t->at_us;
	uint64_t earned = us > 1000000 ? t->bytes_s : t->bytes_s * us / 1000000;
	if (earned > 0) {
		t->tokens = t->tokens + earned < most ? t->tokens + earned : most;
		t->at_us = now_us;
	}
	if (t->tokens < LEAST && t->tokens < wish)
		return 0;
	return t->tokens < wish ? t->tokens : wish;
}

void rate_took(struct rate *t, uint64_t n)
{
	if (t->bytes_s != 0)
		t->tokens = t->tokens > n ? t->tokens - n : 0;
}

uint64_t rate_wait_us(const struct rate *t)
{
	return t->bytes_s == 0 ? UINT64_MAX : 1000000 / (2 * BURST_PART);
}
