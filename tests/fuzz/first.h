/* SPDX-License-Identifier: ISC */
/*
 * first - a whole connection before login, as bytes on a wire: what first_server.c and
 * first_client.c share
 *
 * An input: u8 n, n orders, then the peer's stream.  An order is two bits of what and six of how
 * much; when they are used up the rest of the stream is fed as it fits.  The engine's randomness is
 * fixed, so a recorded stream of an honest peer is understood to its end.
 */
#ifndef FUZZ_FIRST_H
#define FUZZ_FIRST_H

#include "auth_stage.h"

#define FIRST_ORDERS 32

static inline void first_order(struct auth *a, uint8_t order, struct cslice *stream)
{
	size_t how = order & 63;
	switch (order >> 6) {
	case 0:
		stage_feed(&a->s, fuzz_take(stream, how + 1));
		break;
	case 1:
		stage_feed(&a->s, fuzz_take(stream, (how + 1) * 64));
		break;
	case 2:
		stage_tick(&a->s, how * how * 1000);
		break;
	default:
		a->s.is_stalled = how & 1;
		a->s.is_late = how & 2;
		a->s.piece = how & 4 ? 1 : 0;
		if (how & 8)
			(void)!tp_fed_eof(a->s.tp);
	}
	stage_pump(&a->s);
}

static inline void first_run(struct auth *a, struct cslice in)
{
	struct cslice orders = fuzz_take(&in, fuzz_u8(&in) % FIRST_ORDERS);
	stage_pump(&a->s);
	while (orders.n > 0)
		first_order(a, fuzz_u8(&orders), &in);
	stage_feed(&a->s, in);
	stage_pump(&a->s);
}

#endif
