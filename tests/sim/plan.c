/* SPDX-License-Identifier: ISC */
/* plan - what a seed stands for */
#include "sim.h"

#define PICK(r, table) table[rng_below(&(r)->rng, ARRAY_N(table))]

static const char *const kexes[] = {"curve25519-sha256", "curve25519-sha256",
	"mlkem768x25519-sha256", "ecdh-sha2-nistp256", "curve25519-sha256@libssh.org",
	"diffie-hellman-group-exchange-sha256", "sntrup761x25519-sha512"};
static const char *const ciphers[] = {"aes128-gcm@openssh.com", "aes256-gcm@openssh.com",
	"chacha20-poly1305@openssh.com", "aes128-ctr", "aes192-ctr", "aes256-ctr"};
static const char *const macs[] = {"hmac-sha2-256-etm@openssh.com", "umac-64-etm@openssh.com",
	"umac-128@openssh.com", "hmac-sha1", "hmac-sha2-512"};
static const uint32_t sizes[] = {0, 1, 100, 5000, 40000, 300000, 1500000};

static bool one_in(struct rng_seeded *r, uint32_t n)
{
	return rng_below(&r->rng, n) == 0;
}

static void draw_link(struct rng_seeded *r, struct sim_link_plan *l, bool is_quick)
{
	static const uint64_t delays[] = {0, 50, 1000, 20000, 150000};
	static const uint64_t rates[] = {0, 0, 100000, 1000000, 100000000};
	static const uint32_t pieces[] = {1, 7, 100, 1448, SIM_PIECE};
	static const size_t rooms[] = {4096, 65536, 1048576};
	*l = (struct sim_link_plan){.delay_us = PICK(r, delays),
		.bytes_a_s = is_quick ? 0 : PICK(r, rates),
		.piece = PICK(r, pieces),
		.stall_every = is_quick || !one_in(r, 4) ? 0 : 1 + rng_below(&r->rng, 200),
		.room = PICK(r, rooms),
		.harm_at = SIM_NEVER};
	if (l->piece < 100) /* byte by byte is for short ways */
		l->delay_us = 10;
}

/* Where it hurts: any byte of the handshake, or later. */
static uint64_t draw_place(struct rng_seeded *r)
{
	static const uint32_t within[] = {40, 3000, 8000, 100000};
	return rng_below(&r->rng, PICK(r, within));
}

static void draw_limits(struct rng_seeded *r, struct sim_plan *p)
{
	static const uint64_t bytes[] = {0, 0, 1, 20000, 200000};
	static const uint32_t windows[] = {0, 0, 1000, 40000};
	for (size_t i = 0; i < 2; i++) {
		p->limits[i].rekey_bytes = PICK(r, bytes);
		p->limits[i].rekey_us = one_in(r, 6) ? 300000 : 0;
		p->limits[i].high_water = one_in(r, 4) ? 10000 : 0;
		uint32_t window = PICK(r, windows);
		p->cn_limits[i].window_first = window;
		p->cn_limits[i].window_max = window == 0 ? 0 : window * 3;
		p->cn_limits[i].max_packet = one_in(r, 4) ? 200 + rng_below(&r->rng, 5000) : 0;
	}
	/* a byte a key is slow: only with little to carry */
	if (p->limits[0].rekey_bytes == 1 || p->limits[1].rekey_bytes == 1)
		for (size_t i = 0; i < SIM_CHANS; i++)
			for (size_t k = 0; k < 3; k++)
				p->length[i][k] %= 5001;
}

static void draw_streams(struct rng_seeded *r, struct sim_plan *p)
{
	p->chans = 1 + rng_below(&r->rng, SIM_CHANS);
	p->refused = one_in(r, 5) ? rng_below(&r->rng, SIM_CHANS) : SIM_CHANS;
	bool is_slow = p->up.piece < 1000 || p->down.piece < 1000 ||
		       (p->up.bytes_a_s != 0 && p->up.bytes_a_s < 1000000);
	for (size_t i = 0; i < SIM_CHANS; i++)
		for (size_t k = 0; k < 3; k++)
			p->length[i][k] = sizes[rng_below(&r->rng, is_slow ? 4 : ARRAY_N(sizes))];
}

static void draw_harm(struct rng_seeded *r, struct sim_plan *p)
{
	static const enum sim_harm harms[] = {
		SIM_HONEST, SIM_HONEST, SIM_HONEST, SIM_FLIP, SIM_CUT, SIM_HOSTILE};
	p->harm = PICK(r, harms);
	if (p->harm == SIM_FLIP || p->harm == SIM_CUT)
		*(one_in(r, 2) ? &p->up.harm_at : &p->down.harm_at) = draw_place(r);
}

bool sim_plan_has(const struct sim_plan *p, uint32_t index)
{
	return index < SIM_CHANS ? index < p->chans : index - SIM_CHANS < p->backs;
}

/* Drawn last: a seed means for the rest what it meant without these. */
static void draw_backs(struct rng_seeded *r, struct sim_plan *p)
{
	bool is_small = p->limits[0].rekey_bytes == 1 || p->limits[1].rekey_bytes == 1 ||
			p->up.piece < 1000 || p->down.piece < 1000 ||
			(p->up.bytes_a_s != 0 && p->up.bytes_a_s < 1000000);
	p->backs = rng_below(&r->rng, SIM_BACKS + 1);
	p->refused_back = SIM_CHANS + (one_in(r, 6) ? rng_below(&r->rng, SIM_BACKS) : SIM_BACKS);
	for (size_t i = SIM_CHANS; i < SIM_ALL; i++)
		for (size_t k = 0; k < 2; k++)
			p->length[i][k] = sizes[rng_below(&r->rng, is_small ? 4 : 6)];
}

void sim_plan_draw(struct sim_plan *p, uint64_t seed)
{
	struct rng_seeded r;
	rng_seeded_init(&r, seed * 0xbf58476d1ce4e5b9u + 1); /* no multiple of its own step */
	*p = (struct sim_plan){.seed = seed};
	p->is_quick = one_in(&r, 8);
	draw_link(&r, &p->up, p->is_quick);
	draw_link(&r, &p->down, p->is_quick);
	draw_harm(&r, p);
	draw_streams(&r, p);
	draw_limits(&r, p);
	p->kex = PICK(&r, kexes);
	p->cipher = PICK(&r, ciphers);
	p->mac = PICK(&r, macs);
	p->comp = one_in(&r, 4) ? "zlib@openssh.com" : "none";
	p->login = (enum sim_login)rng_below(&r.rng, SIM_LOGINS);
	p->is_late = one_in(&r, 3);
	p->is_bulk = one_in(&r, 2);
	p->rekey_every_us = one_in(&r, 3) ? 1000 + rng_below(&r.rng, 500000) : 0;
	p->fail_delay_us = one_in(&r, 3) ? 5000 : 0;
	if (p->is_quick) {
		p->kex = "curve25519-sha256";
		p->login = SIM_KEY_SURE;
		p->is_late = false;
		p->harm = SIM_HONEST;
		p->up.harm_at = p->down.harm_at = SIM_NEVER;
		p->up.room = p->down.room = 1048576;
		p->up.piece = p->down.piece = SIM_PIECE;
		p->up.delay_us = p->down.delay_us = 50000;
	}
	draw_backs(&r, p);
}
