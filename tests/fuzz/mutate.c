/* SPDX-License-Identifier: ISC */
/* mutate - libFuzzer's custom mutator for inputs that are scripts (script.h) */
#include "base/rng.h"
#include "script.h"
#include "wire/ssh.h"

#define STEPS_MAX 256
#define ROOM      ((size_t)1 << 17)

size_t LLVMFuzzerMutate(uint8_t *data, size_t n, size_t max);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t n, size_t max, unsigned int seed);

static struct rng_seeded dice;

static uint32_t roll(uint32_t bound)
{
	return rng_below(&dice.rng, bound);
}

/* ---- messages made from the rows ---- */

static const char *const words[] = {
	"",
#define KEX(name, ...)     name,
#define HOSTKEY(name, ...) name,
#define CIPHER(name, ...)  name,
#define MAC(name, ...)     name,
#define COMP(name, ...)    name,
#include "algorithm/kex.def"
#include "algorithm/hostkey.def"
#include "algorithm/cipher.def"
#include "algorithm/mac.def"
#include "algorithm/compression.def"
	"ext-info-c",
	"ext-info-s",
	"kex-strict-c-v00@openssh.com",
	"kex-strict-s-v00@openssh.com",
	"server-sig-algs",
	"ssh-userauth",
	"ssh-connection",
	"me",
	"none",
	"password",
	"publickey",
	"keyboard-interactive",
	"publickey-hostbound-v00@openssh.com",
	"ext-info-in-auth@openssh.com",
	"publickey,password,keyboard-interactive",
	"session",
	"direct-tcpip",
	"forwarded-tcpip",
	"x11",
	"auth-agent@openssh.com",
	"shell",
	"exec",
	"pty-req",
	"env",
	"subsystem",
	"signal",
	"window-change",
	"exit-status",
	"exit-signal",
	"eow@openssh.com",
	"keepalive@openssh.com",
	"tcpip-forward",
	"no-more-sessions@openssh.com",
	"hostkeys-00@openssh.com",
};

static void gen_number(struct wr *w)
{
	static const uint32_t known[] = {0, 1, 2, 3, 4, 255, 256, 1024, 2048, 8192, 32768, 35000,
		65536, 262144, 2097152, INT32_MAX, 0x80000000u, UINT32_MAX - 1, UINT32_MAX};
	wr_u32(w, known[roll(roll(2) == 0 ? 4 : ARRAY_N(known))]);
}

static void gen_string(struct wr *w)
{
	static const uint8_t zeros[2048];
	switch (roll(8)) {
	case 0: { /* a key or a signature */
		uint8_t b[4 + 11 + 4 + 64] = {0, 0, 0, 11};
		memcpy(b + 4, "ssh-ed25519", 11);
		b[18] = roll(2) == 0 ? 32 : 64;
		rng_fill(&dice.rng, b + 19, 64);
		wr_str(w, cslice_of(b, 19 + (size_t)b[18]));
		return;
	}
	case 1: {
		uint8_t b[133];
		rng_fill(&dice.rng, b, sizeof(b));
		b[0] = roll(2) == 0 ? 4 : b[0];
		static const size_t sizes[] = {0, 1, 32, 64, 65, 97, 133};
		wr_str(w, cslice_of(b, sizes[roll(ARRAY_N(sizes))]));
		return;
	}
	case 2:
		wr_str(w, cslice_of(zeros, roll(sizeof(zeros))));
		return;
	default:
		wr_str(w, cslice_str(words[roll(ARRAY_N(words))]));
	}
}

static void gen_names(struct wr *w)
{
	uint8_t list[512];
	size_t n = 0;
	for (uint32_t i = roll(4) + 1; i > 0; i--) {
		struct cslice s = cslice_str(words[roll(ARRAY_N(words))]);
		if (s.n == 0 || s.n + 1 > sizeof(list) - n)
			continue;
		if (n > 0)
			list[n++] = ',';
		memcpy(list + n, s.p, s.n);
		n += s.n;
	}
	wr_str(w, cslice_of(list, n));
}

static void gen_rest(struct wr *w)
{
	for (uint32_t i = roll(4); i > 0; i--) {
		if (roll(2) == 0)
			wr_u8(w, (uint8_t)roll(3));
		else if (roll(3) == 0)
			gen_number(w);
		else
			gen_string(w);
	}
}

static void gen_mpint(struct wr *w)
{
	uint8_t b[256];
	rng_fill(&dice.rng, b, sizeof(b));
	b[0] |= 0x40;
	wr_mpint(w, cslice_of(b, roll(2) == 0 ? sizeof(b) : roll(sizeof(b))));
}

static void gen_raw16(struct wr *w)
{
	static const uint8_t cookie[16] = "cookie";
	wr_raw(w, cslice_of(cookie, 16));
}

#define GEN_u8(w)       wr_u8(w, (uint8_t)roll(256))
#define GEN_u32(w)      gen_number(w)
#define GEN_u64(w)      wr_u64(w, (uint64_t)roll(UINT32_MAX) << roll(32))
#define GEN_flag(w)     wr_u8(w, (uint8_t)roll(2))
#define GEN_str(w)      gen_string(w)
#define GEN_secret(w)   gen_string(w)
#define GEN_text(w)     gen_string(w)
#define GEN_names(w)    gen_names(w)
#define GEN_mpint(w)    gen_mpint(w)
#define GEN_rest(w)     gen_rest(w)
#define GEN_raw16(w)    gen_raw16(w)
#define GEN(kind, name) GEN_##kind(w);

#define M(name, no, phase, to)                                                                     \
	static void gen_##name(struct wr *w)                                                       \
	{                                                                                          \
		wr_u8(w, no);                                                                      \
		FIELDS_##name(GEN)                                                                 \
	}
#include "wire/ssh.def"
#undef M

static void (*const makers[])(struct wr *) = {
#define M(name, no, phase, to) gen_##name,
#include "wire/ssh.def"
#undef M
};

/* A whole new step, its head included. */
static size_t gen_step(uint8_t *room, size_t max)
{
	uint8_t body[8192];
	struct wr w = wr_of((struct slice){body, sizeof(body)});
	uint8_t kind = roll(4) != 0 ? SCRIPT_MSG : (uint8_t)roll(SCRIPT_KINDS);
	if (kind == SCRIPT_MSG || kind == SCRIPT_PACKED)
		makers[roll(ARRAY_N(makers))](&w);
	else if (kind == SCRIPT_TICK)
		gen_number(&w);
	else if (kind == SCRIPT_ODD) {
		wr_u8(&w, (uint8_t)roll(256));
		wr_u8(&w, (uint8_t)roll(256));
		makers[roll(ARRAY_N(makers))](&w);
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
	rng_seeded_init(&dice, seed);
	if (max < SCRIPT_HEAD || roll(20) == 0)
		return LLVMFuzzerMutate(data, n, max);
	parse(cslice_of(data, n), &s);
	return change(&s, data, max);
}
