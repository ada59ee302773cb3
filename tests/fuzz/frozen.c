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

static void try(struct stage *s, struct cslice frozen, struct cslice after)
{
	struct buf a;
	if (tp_thaw(&s->tp, &s->env, frozen, s->now_us) != OK) {
		PROMISE(s->tp == NULL);
		return;
	}
	buf_init(&a, 1 << 24);
	s->has_version = s->is_negotiated = s->is_keyed = true;
	PROMISE(tp_session_id(s->tp).n >= 20 && tp_session_id(s->tp).n <= HASH_MAX);
	PROMISE(tp_error(s->tp) == OK && s->tp->max_packet <= TP_PACKET_MAX);
	if (tp_freeze(s->tp, &a) == OK)
		again(s, &a);
	stage_pump(s);
	stage_feed(s, after);
	stage_say(s, cslice_of("\2\0\0\0\0", 5), false);
	stage_tick(s, 1000000);
	buf_done(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct cslice in = {data, n}, after = {NULL, 0};
	struct script_step step;
	struct stage s;
	struct buf frozen;
	stage_init(&s, fuzz_u32(&in) & 1 ? TP_SERVER : TP_CLIENT);
	buf_init(&frozen, 1 << 24);
	while (script_next(&in, &step)) {
		if (step.kind == SCRIPT_MSG)
			buf_put_string(&frozen, step.data);
		else if (step.kind == SCRIPT_PACKED)
			buf_put(&frozen, step.data.p, step.data.n);
		else
			after = step.data;
	}
	try(&s, buf_bytes(&frozen), after);
	buf_done(&frozen);
	stage_done(&s);
	return 0;
}
