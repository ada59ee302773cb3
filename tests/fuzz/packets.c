/* SPDX-License-Identifier: ISC */
/*
 * packets - the transport alone, both roles: a peer whose packets are valid and whose messages are
 * not, before the first keys, after them, and logged in
 *
 * head: role, whether fresh or open, whether quick and in runs; suite; feed size and stalls;
 * verdict of questions
 */
#include "stage.h"

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	stage_global();
	return 0;
}

static err_t send_bulk(struct stage *s, size_t want, size_t data_max)
{
	struct tp_bulk bulk = {.head_n = 9, .data_max = data_max, .want = want};
	size_t room = 0;
	TRY(tp_reserve_bulk(s->tp, SSH_MSG_channel_data, &bulk));
	PROMISE(bulk.n >= 1 && bulk.n <= TP_BULK_MAX);
	for (uint32_t i = 0; i < bulk.n; i++) {
		PROMISE(bulk.v[i].data_n <= data_max);
		memset(bulk.v[i].head, 0, bulk.head_n);
		memset(bulk.v[i].data, 1, bulk.v[i].data_n);
		room += bulk.v[i].data_n;
	}
	return tp_commit_bulk(s->tp, num_min(want / 2, room));
}

/* As between two processes: nothing may get lost, and the same state has the same bytes. */
static err_t hand_over(struct stage *s)
{
	struct buf a, b;
	struct tp *next;
	buf_init(&a, 1 << 24);
	buf_init(&b, 1 << 24);
	err_t e = tp_freeze(s->tp, &a);
	if (e == OK) {
		PROMISE(tp_thaw(&next, &s->env, buf_bytes(&a), s->now_us) == OK);
		PROMISE(tp_freeze(next, &b) == OK);
		PROMISE(cslice_eq(buf_bytes(&a), buf_bytes(&b)));
		stage_open_lent(s);
		tp_free(s->tp);
		s->tp = next;
	}
	buf_done(&a);
	buf_done(&b);
	return e;
}

/* We send something ourselves, ask for new keys, or hand the engine over to ourselves. */
static void own(struct stage *s, struct cslice d)
{
	static const uint8_t text[65536];
	err_t before = tp_error(s->tp), e = OK;
	uint8_t what = fuzz_u8(&d);
	size_t n = fuzz_u16(&d);
	switch (what % 5) {
	case 0:
		e = tp_put(s->tp, channel_data, .data = cslice_of(text, n));
		break;
	case 1:
		e = send_bulk(s, n, 1 + n / 3);
		break;
	case 2:
		e = tp_kex_is_active(s->tp) ? E_AGAIN : tp_rekey(s->tp);
		PROMISE(e != OK || tp_is_open(s->tp));
		break;
	case 3:
		s->is_stalled = !s->is_stalled;
		break;
	default:
		if (n % 2 == 1) /* in the middle of what waits */
			(void)stage_poll(s);
		e = hand_over(s);
	}
	PROMISE(e != OK || before == OK || what % 5 == 3);
	stage_pump(s);
}

static void start(struct stage *s, struct cslice *in)
{
	uint8_t scene = fuzz_u8(in), suite = fuzz_u8(in), how = fuzz_u8(in);
	enum tp_role role = scene & 1 ? TP_SERVER : TP_CLIENT;
	stage_init(s, role);
	s->env.use_fast = scene & 8;
	if (scene & 2)
		stage_start_fresh(s);
	else
		stage_start_keyed(s, suite);
	s->is_gathered = scene & 16;
	if ((scene & 6) == 4)
		tp_set_open(s->tp);
	static const size_t pieces[] = {0, 1, 7, 100};
	s->piece = pieces[how & 3];
	s->is_stalled = how & 4;
	s->is_late = how & 8;
	s->env.limits.rekey_packets = how & 16 ? 3 : 0;
	s->env.limits.rekey_us = how & 32 ? 5000000 : 0;
	s->env.limits.high_water = how & 64 ? 4096 : 0;
	s->env.limits.max_packet = how & 128 ? 262144 : 0;
	s->verdict = stage_verdict(fuzz_u8(in));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct cslice in = {data, n};
	struct script_step step;
	struct stage s;
	start(&s, &in);
	bool was_open = tp_is_open(s.tp);
	stage_pump(&s);
	for (unsigned int i = 1; script_next(&in, &step); i++) {
		struct cslice d = step.data;
		if (s.is_gathered && i % 8 == 0)
			stage_pump(&s);
		if (stage_step(&s, &step))
			continue;
		if (step.kind == SCRIPT_OWN) {
			own(&s, d);
		} else {
			err_t verdict = stage_verdict(fuzz_u8(&d));
			stage_answer(&s, verdict, d);
			stage_pump(&s);
		}
	}
	stage_pump(&s);
	PROMISE(tp_is_open(s.tp) == was_open);
	stage_check_end(&s);
	stage_done(&s);
	return 0;
}
