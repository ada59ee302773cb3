/* SPDX-License-Identifier: ISC */
/*
 * The batch forms of packet protections: the same bytes as one by one, for any lengths, any number
 * and any place; a run is opened up to the first packet that is wrong, and no further.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "algorithm/alg.h"
#include "crypto/pick.h"

#define ROOM      ((size_t)2 << 20)
#define FRONT     4
#define TAIL      64
#define UNTOUCHED 0xee

struct pair {
	const struct alg_cipher *cipher;
	const struct alg_mac *mac;
	uint8_t key[64], iv[16], mac_key[64];
};

/* One protection in its batch form, and the plain form by libcrypto to compare with. */
struct bench {
	const struct pair *p;
	const struct pktc *row, *plain;
	void *seal, *open, *plain_seal, *plain_open;
	struct rng_seeded rng;
};

/* Packets one behind the other, in three states. */
struct run {
	struct pktc_one v[PKTC_MANY];
	size_t n, at, end; /* bytes of the memory that they take */
};

static uint8_t clear[ROOM], sealed[ROOM], work[ROOM];

static void *ctx_new(const struct pair *p, const struct pktc *row, enum pktc_dir dir)
{
	size_t size = (row->ctx_size + 63) / 64 * 64;
	void *ctx = aligned_alloc(64, size);
	assert_non_null(ctx);
	memset(ctx, 0, size);
	assert_int_equal(
		row->init(ctx, dir, cslice_of(p->key, p->cipher->key),
			cslice_of(p->iv, p->cipher->iv), cslice_of(p->mac_key, p->mac->key)),
		OK);
	return ctx;
}

static void ctx_drop(const struct pktc *row, void *ctx)
{
	row->done(ctx);
	for (size_t i = 0; i < row->ctx_size; i++)
		assert_int_equal(((uint8_t *)ctx)[i], 0);
	free(ctx);
}

static const struct pktc *row_of(const struct pair *p, enum pick_impl impl)
{
	pick_force_impl(impl);
	const struct pktc *row = pktc_for(p->cipher, p->mac, true);
	pick_force_impl(PICK_N);
	return row;
}

static void contexts_make(struct bench *b)
{
	b->seal = ctx_new(b->p, b->row, PKTC_SEAL);
	b->open = ctx_new(b->p, b->row, PKTC_OPEN);
	b->plain_seal = ctx_new(b->p, b->plain, PKTC_SEAL);
	b->plain_open = ctx_new(b->p, b->plain, PKTC_OPEN);
}

static void contexts_drop(struct bench *b)
{
	ctx_drop(b->plain, b->plain_open);
	ctx_drop(b->plain, b->plain_seal);
	ctx_drop(b->row, b->open);
	ctx_drop(b->row, b->seal);
}

/* A chain does not go on after what was left out. */
static void restart(struct bench *b)
{
	contexts_drop(b);
	contexts_make(b);
}

/* Calls f for every protection that has a batch form; says how many. */
static size_t each_batch(void (*f)(struct bench *b))
{
	size_t done = 0;
	for (size_t i = 0; i < alg_ciphers_n; i++)
		for (size_t k = 0; k < alg_macs_n; k++) {
			struct pair p = {&alg_ciphers[i], &alg_macs[k], {0}, {0}, {0}};
			struct bench b = {.p = &p};
			if ((p.cipher->flags & AF_AEAD) != 0)
				continue;
			b.row = row_of(&p, PICK_IPSECMB);
			b.plain = row_of(&p, PICK_LIBCRYPTO);
			if (b.row == NULL || b.row->many == 0)
				continue;
			rng_seeded_init(&b.rng, 77 + i * 100 + k);
			rng_fill(&b.rng.rng, p.key, sizeof(p.key));
			rng_fill(&b.rng.rng, p.iv, sizeof(p.iv));
			rng_fill(&b.rng.rng, p.mac_key, sizeof(p.mac_key));
			contexts_make(&b);
			f(&b);
			contexts_drop(&b);
			done++;
		}
	return done;
}

static size_t length_any(struct bench *b, size_t most)
{
	size_t unit = b->row->block, n = b->row->clear_len + unit;
	return n + rng_below(&b->rng.rng, (uint32_t)((most - n) / unit + 1)) * unit;
}

/* n packets of random lengths up to `most`, from a random place of the memory on: clear in `clear`,
 * sealed by the plain form in `sealed`, and clear again in `work`. */
static void lay_out(struct bench *b, struct run *r, size_t n, size_t most, struct pktc_at *at)
{
	r->n = n;
	r->at = FRONT + rng_below(&b->rng.rng, 64);
	size_t where = r->at;
	memset(clear, UNTOUCHED, where);
	for (size_t i = 0; i < n; i++) {
		size_t size = length_any(b, most);
		be32_put(clear + where, (uint32_t)size - 4);
		for (size_t k = 4; k < size; k++)
			clear[where + k] = (uint8_t)(k * 7 + i);
		memset(clear + where + size, UNTOUCHED, b->row->tag);
		r->v[i] = (struct pktc_one){*at, work + where, size};
		where += size + b->row->tag;
		at->seq++;
		at->packet++;
		at->block += (size - b->row->clear_len) / b->row->block;
	}
	r->end = where;
	memset(clear + where, UNTOUCHED, TAIL);
	memcpy(sealed, clear, where + TAIL);
	memcpy(work, clear, where + TAIL);
	for (size_t i = 0; i < n; i++)
		b->plain->seal(b->plain_seal, r->v[i].at, sealed + (r->v[i].pkt - work), r->v[i].n);
}

static struct pktc_at start_of(struct bench *b)
{
	return (struct pktc_at){UINT32_MAX - rng_below(&b->rng.rng, 40),
		rng_below(&b->rng.rng, UINT32_MAX),
		(uint64_t)rng_below(&b->rng.rng, UINT32_MAX) << rng_below(&b->rng.rng, 30)};
}

/* Opened up to packet `upto`, sealed from there on. */
static void check_opened(const struct bench *b, const struct run *r, size_t upto)
{
	assert_memory_equal(work, sealed, r->at);
	for (size_t i = 0; i < r->n; i++) {
		size_t from = (size_t)(r->v[i].pkt - work);
		assert_memory_equal(work + from, (i < upto ? clear : sealed) + from, r->v[i].n);
		assert_memory_equal(
			work + from + r->v[i].n, sealed + from + r->v[i].n, b->row->tag);
	}
	assert_memory_equal(work + r->end, sealed + r->end, TAIL);
}

/* ---- the same bytes ---- */

static void same_bytes(struct bench *b)
{
	struct run r;
	struct pktc_at at = start_of(b);
	for (size_t round = 0; round < 60; round++) {
		size_t n = round < 2 * PKTC_MANY ? 1 + round % PKTC_MANY
						 : 1 + rng_below(&b->rng.rng, PKTC_MANY);
		lay_out(b, &r, n, round < 40 ? 1500 : 70000, &at);
		b->row->seal_many(b->seal, r.v, n);
		assert_memory_equal(work, sealed, r.end + TAIL);
		if (b->row->open_many == NULL)
			continue;
		assert_int_equal(b->row->open_many(b->open, r.v, n), n);
		check_opened(b, &r, n);
	}
}

static void a_batch_makes_the_bytes_that_single_packets_have(void **state)
{
	(void)state;
	size_t rows = each_batch(same_bytes);
	if (pick_hmacs(PICK_IPSECMB) == NULL)
		skip(); /* no batch form runs here */
	/* three hashes and three key sizes: CTR in two modes, CBC */
	assert_true(rows >= 3 * 3 * 3);
}

/* Every length of packet_length mod the hash's block, alone among others. */
static void each_length(struct bench *b)
{
	struct run r;
	struct pktc_at at = start_of(b);
	size_t unit = b->row->block;
	for (size_t size = b->row->clear_len + unit; size < 700; size += unit) {
		restart(b);
		lay_out(b, &r, 5, 300, &at);
		restart(b);
		/* five equal ones, laid out anew */
		size_t where = r.at;
		for (size_t i = 0; i < 5; i++) {
			be32_put(work + where, (uint32_t)size - 4);
			memset(work + where + 4, (int)(i + size), size - 4);
			r.v[i].pkt = work + where;
			r.v[i].n = size;
			memcpy(clear + where, work + where, size);
			memcpy(sealed + where, work + where, size);
			b->plain->seal(b->plain_seal, r.v[i].at, sealed + where, size);
			where += size + b->row->tag;
		}
		b->row->seal_many(b->seal, r.v, 5);
		assert_memory_equal(work + r.at, sealed + r.at, where - r.at);
	}
}

static void each_small_length_is_sealed_right(void **state)
{
	(void)state;
	(void)each_batch(each_length);
}

/* ---- what is wrong ---- */

static void damage_each_bit(struct bench *b)
{
	enum { N = 5 };
	struct run r;
	struct pktc_at at = start_of(b);
	if (b->row->open_many == NULL)
		return;
	lay_out(b, &r, N, 100, &at);
	for (size_t hit = 0; hit < N; hit++) {
		size_t from = (size_t)(r.v[hit].pkt - work), n = r.v[hit].n + b->row->tag;
		for (size_t bit = 0; bit < 8 * n; bit++) {
			sealed[from + bit / 8] ^= (uint8_t)(1 << bit % 8);
			memcpy(work, sealed, r.end + TAIL);
			assert_int_equal(b->row->open_many(b->open, r.v, N), hit);
			check_opened(b, &r, hit);
			assert_int_equal(
				b->row->open(b->open, r.v[hit].at, r.v[hit].pkt, r.v[hit].n),
				E_MAC);
			sealed[from + bit / 8] ^= (uint8_t)(1 << bit % 8);
		}
	}
}

static void a_flipped_bit_anywhere_ends_the_run_before_its_packet(void **state)
{
	(void)state;
	(void)each_batch(damage_each_bit);
}

static void damage_each_place(struct bench *b)
{
	struct run r;
	struct pktc_at at = start_of(b);
	if (b->row->open_many == NULL)
		return;
	for (size_t hit = 0; hit < PKTC_MANY; hit++)
		for (size_t second = hit; second < PKTC_MANY; second += 3) {
			restart(b);
			lay_out(b, &r, PKTC_MANY, 2000, &at);
			sealed[r.v[hit].pkt + r.v[hit].n - work] ^= 1;
			if (second != hit) /* a later one makes no difference */
				sealed[r.v[second].pkt + 4 - work] ^= 0x80;
			memcpy(work, sealed, r.end + TAIL);
			assert_int_equal(b->row->open_many(b->open, r.v, PKTC_MANY), hit);
			check_opened(b, &r, hit);
		}
}

static void damage_at_each_place_of_a_run_spares_what_is_before(void **state)
{
	(void)state;
	(void)each_batch(damage_each_place);
}

static void other_places(struct bench *b)
{
	struct run r;
	struct pktc_at at = start_of(b);
	if (b->row->open_many == NULL)
		return;
	for (size_t hit = 0; hit < 6; hit++) {
		restart(b);
		lay_out(b, &r, 6, 500, &at);
		memcpy(work, sealed, r.end + TAIL);
		r.v[hit].at.seq++; /* a packet was left out or comes twice */
		assert_int_equal(b->row->open_many(b->open, r.v, 6), hit);
		check_opened(b, &r, hit);
	}
}

static void a_packet_in_another_place_is_not_opened(void **state)
{
	(void)state;
	(void)each_batch(other_places);
}

/* ---- which rows ---- */

static void batches_are_for_hmac_by_the_fast_library(void **state)
{
	(void)state;
	for (size_t i = 0; i < alg_ciphers_n; i++)
		for (size_t k = 0; k < alg_macs_n; k++) {
			struct pair p = {&alg_ciphers[i], &alg_macs[k], {0}, {0}, {0}};
			bool is_aead = (p.cipher->flags & AF_AEAD) != 0;
			const struct pktc *plain = row_of(&p, PICK_LIBCRYPTO),
					  *fast = row_of(&p, PICK_IPSECMB);
			if (plain == NULL)
				continue;
			assert_int_equal(plain->many, 0);
			assert_null(plain->seal_many);
			assert_null(plain->open_many);
			assert_true(fast->many <= PKTC_MANY);
			assert_int_equal(fast->many > 0, fast->seal_many != NULL);
			if (fast->open_many != NULL) {
				assert_true(fast->many > 0 && !is_aead);
				assert_int_equal(fast->clear_len, 4); /* length in clear */
				assert_int_equal(fast->peek, 4);
			}
		}
}

int main(void)
{
	if (crypto_init() != OK)
		return 1;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_batch_makes_the_bytes_that_single_packets_have),
		cmocka_unit_test(each_small_length_is_sealed_right),
		cmocka_unit_test(a_flipped_bit_anywhere_ends_the_run_before_its_packet),
		cmocka_unit_test(damage_at_each_place_of_a_run_spares_what_is_before),
		cmocka_unit_test(a_packet_in_another_place_is_not_opened),
		cmocka_unit_test(batches_are_for_hmac_by_the_fast_library),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
