/* SPDX-License-Identifier: ISC */
/*
 * frozen - an engine is thawed from hostile bytes: refused, or it stands, gives the same bytes
 * again, and can be fed
 */
#include "stage.h"

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	stage_global();
	return 0;
}

static void again(struct stage *s, const struct buf *a)
{
	struct buf b;
	struct tp *next;
	buf_init(&b, 1 << 24);
	PROMISE(tp_thaw(&next, &s->env, buf_bytes(a), s->now_us) == OK);
	PROMISE(tp_freeze(next, &b) == OK);
	PROMISE(cslice_eq(buf_bytes(a), buf_bytes(&b)));
	tp_free(s->tp);
	s->tp = next;
	buf_done(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct cslice in = {data, n};
	struct stage s;
	struct buf a;
	uint8_t how = fuzz_u8(&in);
	stage_init(&s, how & 1 ? TP_SERVER : TP_CLIENT);
	struct cslice after = fuzz_take(&in, (size_t)(how >> 1) * 4);
	buf_init(&a, 1 << 24);
	if (tp_thaw(&s.tp, &s.env, in, s.now_us) != OK) {
		PROMISE(s.tp == NULL);
	} else {
		s.has_version = s.is_negotiated = s.is_keyed = true;
		PROMISE(tp_session_id(s.tp).n >= 20 && tp_error(s.tp) == OK);
		if (tp_freeze(s.tp, &a) == OK)
			again(&s, &a);
		stage_pump(&s);
		stage_feed(&s, after);
		stage_say(&s, cslice_of("\2\0\0\0\0", 5), false);
		stage_tick(&s, 1000000);
	}
	buf_done(&a);
	stage_done(&s);
	return 0;
}
