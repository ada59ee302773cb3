/* SPDX-License-Identifier: ISC */
/*
 * remote_rate - how many bytes to keep under way
 *
 * What is delivered in the smallest round trip is what the path holds.  GAIN times that is kept
 * under way: as long as more under way brings more, the measured rate grows and the depth with it;
 * once the path is full the rate stays, and so does the depth.  On a short path the round trip is
 * next to nothing and the depth stays DEPTH_MIN, which fits the processor's cache.
 */
#include "transfer/remote.h"

#define DEPTH_MIN   ((uint64_t)1 << 20)
#define DEPTH_MAX   ((uint64_t)64 << 20)
#define DEPTH_FIRST ((uint64_t)16 << 20) /* at most, before anything was measured */
#define RATE_FIRST  64                   /* bytes a microsecond: what is hoped for at first */
#define GAIN        2
#define TURN_US     20000 /* no shorter time says anything about a rate */
#define SLOWLY      8     /* a smaller need is followed in steps of this part */

static uint64_t clamp(uint64_t n, uint64_t low, uint64_t high)
{
	return n < low ? low : n > high ? high : n;
}

void remote_rate_sample(struct remote *r, uint64_t us)
{
	if (us == 0 || us > UINT32_MAX || (r->rtt_us != 0 && us >= r->rtt_us)) {
		if (r->depth == 0)
			r->depth = DEPTH_MIN;
		return;
	}
	bool is_first = r->rate_at_us == 0;
	r->rtt_us = (uint32_t)us;
	if (is_first)
		r->depth = clamp(us * RATE_FIRST, DEPTH_MIN, DEPTH_FIRST);
}

static void follow(struct remote *r, uint64_t bytes, uint64_t us)
{
	uint64_t path = (uint64_t)((double)bytes / (double)us * (double)r->rtt_us);
	uint64_t want = clamp(GAIN * path + DEPTH_MIN, DEPTH_MIN, DEPTH_MAX);
	if (want > r->depth)
		r->depth = want < 2 * r->depth ? want : 2 * r->depth;
	else if (bytes > 0)
		r->depth -= (r->depth - want) / SLOWLY;
}

void remote_rate_turn(struct remote *r, uint64_t now_us, uint64_t moved)
{
	uint64_t turn_us = r->rtt_us > TURN_US ? r->rtt_us : TURN_US;
	if (r->rate_at_us != 0 && now_us - r->rate_at_us < turn_us)
		return;
	if (r->rate_at_us != 0)
		follow(r, moved - r->rate_bytes, now_us - r->rate_at_us);
	r->rate_at_us = now_us;
	r->rate_bytes = r->delivered = moved;
}
