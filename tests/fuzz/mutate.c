/* SPDX-License-Identifier: ISC */
/* mutate - libFuzzer's custom mutator for inputs that are scripts (script.h) */
#include "gen.h"
#include "script.h"

#define STEPS_MAX 256
#define ROOM      ((size_t)1 << 17)

size_t LLVMFuzzerMutate(uint8_t *data, size_t n, size_t max);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t n, size_t max, unsigned int seed);

#define roll(bound) gen_roll(bound)

/* A whole new step, its head included. */
static size_t gen_step(uint8_t *room, size_t max)
{
	uint8_t body[8192];
	struct wr w = wr_of((struct slice){body, sizeof(body)});
	uint8_t kind = roll(4) != 0 ? SCRIPT_MSG : (uint8_t)roll(SCRIPT_KINDS);
	if (kind == SCRIPT_MSG || kind == SCRIPT_PACKED)
		gen_messages[roll((uint32_t)gen_messages_n)](&w);
	else if (kind == SCRIPT_TICK)
		gen_u32(&w);
	else if (kind == SCRIPT_ODD) {
		wr_u8(&w, (uint8_t)roll(256));
		wr_u8(&w, (uint8_t)roll(256));
		gen_messages[roll((uint32_t)gen_messages_n)](&w);
	} else {
		wr_u8(&w, (uint8_t)roll(16));
		gen_rest(&w);
	}
	if (w.bad || w.n + 3 > max)
		return 0;
	room[0] = kind;
	room[1] = (uint8_t)(w.n >> 8);
	room[2] = (uint8_t)w.n;
	memcpy(room + 3, body, w.n);
	return w.n + 3;
}

/* ---- changing a script ---- */

struct script {
	struct cslice head, steps[STEPS_MAX]; /* heads included */
	size_t n;
};

static void parse(struct cslice in, struct script *s)
{
	s->n = 0;
	s->head = fuzz_take(&in, SCRIPT_HEAD);
	while (in.n >= 3 && s->n < STEPS_MAX) {
		size_t n = 3 + ((size_t)in.p[1] << 8 | in.p[2]);
		s->steps[s->n++] = fuzz_take(&in, n);
	}
}

static void put(struct slice *out, size_t max, struct cslice s)
{
	size_t n = num_min(s.n, max - out->n);
	if (n > 0)
		memcpy(out->p + out->n, s.p, n);
	out->n += n;
}

/* The last step of an input may be cut short: its length is made right. */
static void put_step(struct slice *out, size_t max, struct cslice s)
{
	if (s.n < 3 || s.n > max - out->n)
		return;
	uint8_t *at = out->p + out->n;
	put(out, max, s);
	at[1] = (uint8_t)((s.n - 3) >> 8);
	at[2] = (uint8_t)(s.n - 3);
}

static struct cslice change_step(struct cslice step, uint8_t *room, size_t max)
{
	if (step.n < 3 || step.n > max)
		return step;
	memcpy(room, step.p, step.n);
	if (roll(16) == 0)
		room[0] = (uint8_t)roll(SCRIPT_KINDS);
	else
		step.n = 3 + LLVMFuzzerMutate(room + 3, step.n - 3, num_min(max - 3, 65535));
	return cslice_of(room, step.n);
}

static size_t change(struct script *s, uint8_t *data, size_t max)
{
	static uint8_t room[ROOM], fresh[ROOM];
	struct slice out = {room, 0};
	max = num_min(max, ROOM);
	uint8_t head[SCRIPT_HEAD] = {0};
	memcpy(head, s->head.p, s->head.n);
	uint32_t what = roll(12);
	if (what == 0)
		head[roll(SCRIPT_HEAD)] = (uint8_t)roll(256);
	put(&out, max, cslice_of(head, sizeof(head)));
	size_t at = roll((uint32_t)s->n + 1);
	for (size_t i = 0; i <= s->n; i++) {
		if (i == at && what >= 1 && what <= 4)
			put_step(&out, max, cslice_of(fresh, gen_step(fresh, sizeof(fresh))));
		if (i == s->n)
			break;
		if (i == at && (what == 4 || what == 5))
			continue;
		if (i == at && what == 6 && i + 1 < s->n) {
			put_step(&out, max, s->steps[i + 1]);
			put_step(&out, max, s->steps[i]);
			i++;
			continue;
		}
		if (i == at && what == 7)
			put_step(&out, max, s->steps[i]);
		struct cslice step = s->steps[i];
		if (i == at && what >= 8)
			step = change_step(step, fresh, num_min(max, sizeof(fresh)));
		put_step(&out, max, step);
	}
	memcpy(data, out.p, out.n);
	return out.n;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t n, size_t max, unsigned int seed)
{
	static struct script s;
	gen_seed(seed);
	if (max < SCRIPT_HEAD || roll(20) == 0)
		return LLVMFuzzerMutate(data, n, max);
	parse(cslice_of(data, n), &s);
	return change(&s, data, max);
}
