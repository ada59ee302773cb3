/* SPDX-License-Identifier: ISC */
/* gen - fields of messages, likely and unlikely ones, for the mutator */
#include "base/rng.h"
#include "gen.h"

static struct rng_seeded dice;

void gen_seed(uint64_t seed)
{
	rng_seeded_init(&dice, seed);
}

uint32_t gen_roll(uint32_t bound)
{
	return rng_below(&dice.rng, bound);
}

static const char *const words[] = {
	"",
#define KEX(name, ...)      name,
#define HOSTKEY(name, ...)  name,
#define HOSTCERT(name, ...) name,
#define CIPHER(name, ...)   name,
#define MAC(name, ...)      name,
#define COMP(name, ...)     name,
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

void gen_u32(struct wr *w)
{
	static const uint32_t known[] = {0, 1, 2, 3, 4, 255, 256, 1024, 2048, 8192, 32768, 35000,
		65536, 262144, 2097152, INT32_MAX, 0x80000000u, UINT32_MAX - 1, UINT32_MAX};
	wr_u32(w, known[gen_roll(gen_roll(2) == 0 ? 4 : ARRAY_N(known))]);
}

void gen_str(struct wr *w)
{
	static const uint8_t zeros[2048];
	switch (gen_roll(8)) {
	case 0: { /* a key or a signature */
		uint8_t b[4 + 11 + 4 + 64] = {0, 0, 0, 11};
		memcpy(b + 4, "ssh-ed25519", 11);
		b[18] = gen_roll(2) == 0 ? 32 : 64;
		rng_fill(&dice.rng, b + 19, 64);
		wr_str(w, cslice_of(b, 19 + (size_t)b[18]));
		return;
	}
	case 1: {
		uint8_t b[133];
		rng_fill(&dice.rng, b, sizeof(b));
		b[0] = gen_roll(2) == 0 ? 4 : b[0];
		static const size_t sizes[] = {0, 1, 32, 64, 65, 97, 133};
		wr_str(w, cslice_of(b, sizes[gen_roll(ARRAY_N(sizes))]));
		return;
	}
	case 2:
		wr_str(w, cslice_of(zeros, gen_roll(sizeof(zeros))));
		return;
	default:
		wr_str(w, cslice_str(words[gen_roll(ARRAY_N(words))]));
	}
}

void gen_names(struct wr *w)
{
	uint8_t list[512];
	size_t n = 0;
	for (uint32_t i = gen_roll(4) + 1; i > 0; i--) {
		struct cslice s = cslice_str(words[gen_roll(ARRAY_N(words))]);
		if (s.n == 0 || s.n + 1 > sizeof(list) - n)
			continue;
		if (n > 0)
			list[n++] = ',';
		memcpy(list + n, s.p, s.n);
		n += s.n;
	}
	wr_str(w, cslice_of(list, n));
}

void gen_rest(struct wr *w)
{
	for (uint32_t i = gen_roll(4); i > 0; i--) {
		if (gen_roll(2) == 0)
			wr_u8(w, (uint8_t)gen_roll(3));
		else if (gen_roll(3) == 0)
			gen_u32(w);
		else
			gen_str(w);
	}
}

void gen_mpint(struct wr *w)
{
	uint8_t b[256];
	rng_fill(&dice.rng, b, sizeof(b));
	b[0] |= 0x40;
	wr_mpint(w, cslice_of(b, gen_roll(2) == 0 ? sizeof(b) : gen_roll(sizeof(b))));
}

void gen_raw16(struct wr *w)
{
	static const uint8_t cookie[16] = "cookie";
	wr_raw(w, cslice_of(cookie, 16));
}

void gen_u8(struct wr *w)
{
	wr_u8(w, (uint8_t)gen_roll(256));
}

void gen_flag(struct wr *w)
{
	wr_u8(w, (uint8_t)gen_roll(2));
}

void gen_u64(struct wr *w)
{
	wr_u64(w, (uint64_t)gen_roll(UINT32_MAX) << gen_roll(32));
}
