/* SPDX-License-Identifier: ISC */
/*
 * Packet protections: what all of them promise, for each cipher, MAC and implementation that runs
 * here.  The bytes themselves are checked against a foreign implementation in
 * tests/vectors/pktc_test.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "algorithm/alg.h"
#include "crypto/ipsecmb/mb.h"
#include "crypto/pick.h"

#define ROOM (70000 + 128)

struct side {
	const struct pktc *row;
	void *ctx;
};

/* One cipher with one MAC, and key material for it. */
struct pair {
	const struct alg_cipher *cipher;
	const struct alg_mac *mac;
	uint8_t key[64], iv[16], mac_key[64];
};

typedef void pair_fn(const struct pair *p, enum pick_impl impl);

static struct side make(const struct pair *p, enum pick_impl impl, enum pktc_dir dir)
{
	pick_force_impl(impl);
	struct side s = {.row = pktc_for(p->cipher, p->mac, impl == PICK_IPSECMB)};
	pick_force_impl(PICK_N);
	assert_non_null(s.row);
	size_t size = (s.row->ctx_size + 63) / 64 * 64;
	s.ctx = aligned_alloc(64, size);
	memset(s.ctx, 0, size);
	assert_int_equal(s.row->init(s.ctx, dir, cslice_of(p->key, p->cipher->key),
				 cslice_of(p->iv, p->cipher->iv),
				 cslice_of(p->mac_key, p->mac != NULL ? p->mac->key : 0)),
		OK);
	return s;
}

/* Packets run in order, and one that was refused is the last. */
static bool is_chained(const struct pair *p)
{
	return (p->cipher->flags & AF_CHAINED) != 0;
}

/* A size near n that the row can seal: any, or whole blocks in a chain. */
static size_t fit(const struct pair *p, const struct pktc *row, size_t n)
{
	if (!is_chained(p))
		return n;
	size_t unit = n > row->clear_len ? n - row->clear_len : 1;
	return row->clear_len + (unit + row->block - 1) / row->block * row->block;
}

static void drop(struct side *s)
{
	s->row->done(s->ctx);
	for (size_t i = 0; i < s->row->ctx_size; i++)
		assert_int_equal(((uint8_t *)s->ctx)[i], 0); /* wiped */
	free(s->ctx);
}

/* Does this implementation have a row of its own?  Of the chains, few have. */
static bool has_row(const struct pair *p, enum pick_impl impl)
{
	if (pick_gcm(impl) == NULL)
		return false;
	pick_force_impl(impl);
	bool is_own = impl == PICK_LIBCRYPTO || !is_chained(p) ||
		      pktc_for(p->cipher, p->mac, true) != pktc_for(p->cipher, p->mac, false);
	pick_force_impl(PICK_N);
	return is_own;
}

/* Calls f for all that the tables hold. */
static void each_pair(pair_fn *f)
{
	struct rng_seeded r;
	rng_seeded_init(&r, 11);
	for (size_t i = 0; i < alg_ciphers_n; i++) {
		bool is_aead = (alg_ciphers[i].flags & AF_AEAD) != 0;
		for (size_t k = 0; k < (is_aead ? 1 : alg_macs_n); k++) {
			struct pair p = {
				&alg_ciphers[i], is_aead ? NULL : &alg_macs[k], {0}, {0}, {0}};
			rng_fill(&r.rng, p.key, sizeof(p.key));
			rng_fill(&r.rng, p.iv, sizeof(p.iv));
			rng_fill(&r.rng, p.mac_key, sizeof(p.mac_key));
			for (enum pick_impl impl = PICK_LIBCRYPTO; impl < PICK_N; impl++)
				if (has_row(&p, impl))
					f(&p, impl);
		}
	}
}

static void fill(uint8_t *pkt, size_t n, uint8_t seed)
{
	be32_put(pkt, (uint32_t)(n - 4));
	for (size_t i = 4; i < n; i++)
		pkt[i] = (uint8_t)(i * 31 + seed);
}

/* ---- sealing and opening ---- */

static uint8_t clear[ROOM], left[ROOM], right[ROOM];

static void round_trips(const struct pair *p, enum pick_impl impl)
{
	struct side seal = make(p, impl, PKTC_SEAL), open = make(p, impl, PKTC_OPEN);
	struct pktc_at at = {.seq = UINT32_MAX - 3, .packet = 5, .block = 77};
	for (size_t at_n = 16; at_n < 400; at_n += 1 + at_n / 50) {
		size_t n = fit(p, seal.row, at_n);
		for (size_t shift = 0; shift < 5;
			shift++) { /* not aligned, and nothing written outside */
			uint8_t *pkt = left + 1 + shift;
			fill(clear, n, (uint8_t)shift);
			memset(left, 0xee, sizeof(left[0]) * (n + 200));
			memcpy(pkt, clear, n);
			seal.row->seal(seal.ctx, at, pkt, n);
			assert_memory_not_equal(pkt + 4, clear + 4, n - 4);
			assert_int_equal(pkt[-1], 0xee);
			assert_int_equal(pkt[n + seal.row->tag], 0xee);
			uint32_t length = 0;
			assert_int_equal(open.row->length(open.ctx, at, pkt, &length), OK);
			assert_int_equal(length, n - 4);
			assert_int_equal(open.row->open(open.ctx, at, pkt, n), OK);
			assert_memory_equal(pkt, clear, n);
			assert_int_equal(pkt[-1], 0xee);
			assert_int_equal(pkt[n + seal.row->tag], 0xee);
			at.seq++;
			at.packet++;
			at.block += n / 8 + 1;
		}
	}
	drop(&open);
	drop(&seal);
}

static void sealed_packets_open_at_any_length_and_alignment(void **state)
{
	(void)state;
	each_pair(round_trips);
}

static void geometry(const struct pair *p, enum pick_impl impl)
{
	struct side s = make(p, impl, PKTC_SEAL);
	bool is_outside = p->mac == NULL || (p->mac->flags & AF_ETM) != 0;
	assert_int_equal(s.row->tag, p->mac != NULL ? p->mac->tag : 16);
	assert_int_equal(s.row->block, p->cipher->block);
	assert_int_equal(s.row->clear_len, is_outside ? 4 : 0);
	assert_int_equal(s.row->peek, is_outside ? 4 : p->cipher->block);
	assert_int_equal(s.row->cost_block, p->cipher->block);
	assert_non_null(strstr(s.row->name, pick_impl_name(impl)));
	drop(&s);
}

static void rows_have_the_geometry_of_their_algorithms(void **state)
{
	(void)state;
	each_pair(geometry);
	assert_int_equal(pktc_none.block, 8);
	assert_int_equal(pktc_none.tag, 0);
	assert_int_equal(pktc_none.clear_len, 0);
}

/* The length is handed out as it stands, however absurd: the engine judges it. */
static void any_length(const struct pair *p, enum pick_impl impl)
{
	static const uint32_t lengths[] = {
		0, 1, 11, 12, 35000, 262144, 0x7fffffff, 0x80000000, 0xffffffff};
	for (size_t i = 0; i < ARRAY_N(lengths); i++) {
		struct side seal = make(p, impl, PKTC_SEAL), open = make(p, impl, PKTC_OPEN);
		struct pktc_at at = {.seq = (uint32_t)i, .packet = i, .block = 10 * i};
		uint32_t length = 0;
		size_t n = fit(p, seal.row, 64);
		fill(left, n, 1);
		be32_put(left, lengths[i]);
		seal.row->seal(seal.ctx, at, left, n);
		memcpy(right, left, n);
		assert_int_equal(open.row->length(open.ctx, at, left, &length), OK);
		assert_int_equal(length, lengths[i]);
		assert_memory_equal(left, right, n); /* the packet itself is as it came */
		drop(&open);
		drop(&seal);
	}
}

static void length_tells_the_number_as_it_stands(void **state)
{
	(void)state;
	each_pair(any_length);
}

/* padding_length 0..255 in packets of each small length: open neither cares nor reads outside. */
static void padding_matrix(const struct pair *p, enum pick_impl impl)
{
	struct side seal = make(p, impl, PKTC_SEAL), open = make(p, impl, PKTC_OPEN);
	struct pktc_at at = {0};
	for (size_t n = 4; n < 68; n++)
		for (size_t padding = 0; padding < 256 && fit(p, open.row, n) == n;
			padding += n % 16 == 4 ? 1 : 51) {
			uint8_t *pkt =
				malloc(n + open.row->tag); /* exact, for the address sanitizer */
			fill(pkt, n, 9);
			if (n > 4)
				pkt[4] = (uint8_t)padding;
			memcpy(clear, pkt, n);
			seal.row->seal(seal.ctx, at, pkt, n);
			assert_int_equal(open.row->open(open.ctx, at, pkt, n), OK);
			assert_memory_equal(pkt, clear, n);
			free(pkt);
			at.seq++;
			at.packet++;
			at.block += 9;
		}
	drop(&open);
	drop(&seal);
}

static void every_padding_and_packet_length_is_opened_as_it_is(void **state)
{
	(void)state;
	each_pair(padding_matrix);
}

/* ---- forgery ---- */

static void refuse(struct side *open, struct pktc_at at, uint8_t *pkt, size_t n)
{
	static const uint8_t zero[256];
	assert_int_equal(open->row->open(open->ctx, at, pkt, n), E_MAC);
	assert_memory_equal(pkt, zero, n);
}

static void renew(struct side *open, const struct pair *p, enum pick_impl impl)
{
	drop(open);
	*open = make(p, impl, PKTC_OPEN);
}

static void forge(const struct pair *p, enum pick_impl impl)
{
	enum { LEAST = 48 };
	struct side seal = make(p, impl, PKTC_SEAL), open = make(p, impl, PKTC_OPEN);
	struct pktc_at at = {.seq = 3, .packet = 3, .block = 30};
	const size_t N = fit(p, seal.row, LEAST);
	bool is_spoilt = is_chained(p) && seal.row->clear_len == 0; /* by each that is refused */
	fill(clear, N, 5);
	memcpy(left, clear, N);
	seal.row->seal(seal.ctx, at, left, N);
	for (size_t bit = 0; bit < 8 * (N + (size_t)open.row->tag); bit++) {
		memcpy(right, left, N + open.row->tag);
		right[bit / 8] ^= (uint8_t)(1 << bit % 8);
		refuse(&open, at, right, N);
		if (is_spoilt)
			renew(&open, p, impl);
	}
	struct pktc_at next = {.seq = 4, .packet = 4, .block = 30};
	memcpy(right, left, N + open.row->tag);
	refuse(&open, next, right, N); /* the same packet again in another place */
	if (is_spoilt)
		renew(&open, p, impl);
	memcpy(right, left, N + open.row->tag);
	assert_int_equal(
		open.row->open(open.ctx, at, right, N), OK); /* and the context is not spoilt */
	assert_memory_equal(right, clear, N);
	drop(&open);
	drop(&seal);
}

static void each_flipped_bit_and_each_replay_is_refused_and_wiped(void **state)
{
	(void)state;
	each_pair(forge);
}

/* ---- two implementations ---- */

static void compare(const struct pair *base, enum pick_impl impl)
{
	if (impl != PICK_IPSECMB)
		return;
	struct rng_seeded r;
	rng_seeded_init(&r, base->key[0]);
	struct pair p = *base;
	memset(p.iv + 8, 0xff, 8); /* carries are near, in both halves */
	p.iv[15] = 0xf0;
	p.iv[11] = 0xff;
	struct side lib = make(&p, PICK_LIBCRYPTO, PKTC_SEAL),
		    mb = make(&p, PICK_IPSECMB, PKTC_SEAL);
	struct side lib_open = make(&p, PICK_LIBCRYPTO, PKTC_OPEN),
		    mb_open = make(&p, PICK_IPSECMB, PKTC_OPEN);
	struct pktc_at at = {0};
	uint64_t blocks = 0;
	for (size_t i = 0; i < 60; i++) {
		size_t n = i < 40 ? 4 + rng_below(&r.rng, 2000) : 4 + rng_below(&r.rng, 70000 - 4);
		size_t shift = rng_below(&r.rng, 64);
		at.seq = rng_below(&r.rng, UINT32_MAX);
		at.packet = i < 50 ? i : (uint64_t)rng_below(&r.rng, UINT32_MAX) << 20;
		at.block = i < 20 ? i
				  : (uint64_t)rng_below(&r.rng, UINT32_MAX)
					    << rng_below(&r.rng, 30);
		if (is_chained(&p)) {
			n = fit(&p, lib.row, n);
			at = (struct pktc_at){.seq = at.seq, .packet = i, .block = blocks};
			blocks += (n - 4) / lib.row->block;
		}
		fill(clear, n, (uint8_t)i);
		memcpy(left, clear, n);
		memcpy(right + shift, clear, n);
		lib.row->seal(lib.ctx, at, left, n);
		mb.row->seal(mb.ctx, at, right + shift, n);
		assert_memory_equal(left, right + shift, n + lib.row->tag);
		assert_int_equal(lib_open.row->open(lib_open.ctx, at, right + shift, n), OK);
		assert_int_equal(mb_open.row->open(mb_open.ctx, at, left, n), OK);
		assert_memory_equal(right + shift, clear, n);
		assert_memory_equal(left, clear, n);
	}
	drop(&mb_open);
	drop(&lib_open);
	drop(&mb);
	drop(&lib);
}

static void both_implementations_make_the_same_bytes(void **state)
{
	(void)state;
	if (pick_gcm(PICK_IPSECMB) == NULL)
		skip(); /* one implementation runs here */
	each_pair(compare);
}

/* The engine may build a second context from the same keys and go on with it at any packet. */
static void change_over(const struct pair *p, enum pick_impl impl)
{
	if (is_chained(p))
		return;
	struct side seals[] = {make(p, PICK_LIBCRYPTO, PKTC_SEAL), make(p, impl, PKTC_SEAL)};
	struct side opens[] = {make(p, PICK_LIBCRYPTO, PKTC_OPEN), make(p, impl, PKTC_OPEN)};
	struct pktc_at at = {0};
	for (size_t i = 0; i < 24; i++) {
		struct side *seal = &seals[i / 3 % 2], *open = &opens[i / 5 % 2];
		size_t n = 4 + 16 * (i + 1) - (seal->row->clear_len == 0 ? 4 : 0);
		fill(left, n, (uint8_t)i);
		memcpy(clear, left, n);
		seal->row->seal(seal->ctx, at, left, n);
		assert_int_equal(open->row->open(open->ctx, at, left, n), OK);
		assert_memory_equal(left, clear, n);
		at.seq++;
		at.packet++;
		at.block += (n - seal->row->clear_len) / 16;
	}
	for (size_t i = 0; i < 2; i++) {
		drop(&seals[i]);
		drop(&opens[i]);
	}
}

static void a_connection_can_change_its_implementation_between_packets(void **state)
{
	(void)state;
	each_pair(change_over);
}

/* A chain goes on in a context that is made from the keys, from where the chain stands (its next
 * IV) and from the place of the packet; also when the length of the packet was asked before. */
static void follow(struct side *s, const struct pair *p, struct pktc_at at, enum pick_impl impl,
	enum pktc_dir dir)
{
	struct pair next = *p;
	if (s->row->chain != NULL)
		s->row->chain(s->ctx, at, next.iv);
	drop(s);
	*s = make(&next, impl, dir);
}

static void chain_over(const struct pair *p, enum pick_impl impl)
{
	if (!is_chained(p))
		return;
	struct side seal = make(p, impl, PKTC_SEAL), open = make(p, impl, PKTC_OPEN);
	struct side steady = make(p, impl, PKTC_SEAL); /* never changes over */
	struct pktc_at at = {.packet = 123456789};
	for (size_t i = 0; i < 40; i++) {
		enum pick_impl to = i / 2 % 2 == 0 ? impl : PICK_LIBCRYPTO;
		size_t n = fit(p, seal.row, 16 + i * i);
		uint32_t length = 0;
		fill(clear, n, (uint8_t)i);
		memcpy(left, clear, n);
		memcpy(right, clear, n);
		steady.row->seal(steady.ctx, at, right, n);
		seal.row->seal(seal.ctx, at, left, n);
		assert_memory_equal(left, right, n + seal.row->tag);
		if (i % 3 == 0) {
			assert_int_equal(open.row->length(open.ctx, at, left, &length), OK);
			follow(&open, p, at, to, PKTC_OPEN);
		}
		assert_int_equal(open.row->length(open.ctx, at, left, &length), OK);
		assert_int_equal(length, n - 4);
		assert_int_equal(open.row->open(open.ctx, at, left, n), OK);
		assert_memory_equal(left, clear, n);
		at.seq++;
		at.packet++;
		at.block += (n - seal.row->clear_len) / seal.row->block;
		if (i % 2 == 0)
			follow(&seal, p, at, to, PKTC_SEAL);
		if (i % 5 == 0)
			follow(&open, p, at, to, PKTC_OPEN);
	}
	drop(&steady);
	drop(&open);
	drop(&seal);
}

static void a_chain_goes_on_in_another_context(void **state)
{
	(void)state;
	each_pair(chain_over);
}

static void a_stream_neither_goes_back_nor_skips_without_end(void **state)
{
	(void)state;
	struct pair p = {alg_cipher_find(cslice_str("arcfour")),
		alg_mac_find(cslice_str("hmac-sha1")), {1}, {0}, {2}};
	uint64_t bad[] = {3, 0, ((uint64_t)1 << 28) + 5, UINT64_MAX};
	for (size_t i = 0; i < ARRAY_N(bad); i++) {
		struct side open = make(&p, PICK_LIBCRYPTO, PKTC_OPEN),
			    seal = make(&p, PICK_LIBCRYPTO, PKTC_SEAL);
		struct pktc_at at = {.block = 0};
		uint32_t length = 0;
		static const uint8_t zero[64];
		fill(left, 32, 1);
		seal.row->seal(seal.ctx, at, left, 32);
		assert_int_equal(open.row->open(open.ctx, at, left, 32), OK);
		at.block = bad[i];
		assert_int_equal(open.row->length(open.ctx, at, left, &length), E_BUG);
		assert_int_equal(open.row->open(open.ctx, at, left, 32), E_BUG);
		fill(left, 32, 1);
		seal.row->seal(seal.ctx, at, left, 32);
		assert_memory_equal(left, zero, 32 + seal.row->tag);
		drop(&seal);
		drop(&open);
	}
}

/* A part of a block has no meaning in a chain: nothing leaves, nothing is believed. */
static void broken_block(const struct pair *p, enum pick_impl impl)
{
	if (!is_chained(p))
		return;
	for (size_t n = 4; n < 40; n++) {
		struct side seal = make(p, impl, PKTC_SEAL), open = make(p, impl, PKTC_OPEN);
		static const uint8_t zero[256];
		bool is_good = fit(p, seal.row, n) == n;
		fill(left, n, 1);
		seal.row->seal(seal.ctx, (struct pktc_at){0}, left, n);
		assert_int_equal(memcmp(left, zero, n + seal.row->tag) != 0, is_good);
		err_t e = open.row->open(open.ctx, (struct pktc_at){0}, left, n);
		assert_int_equal(e == OK, is_good);
		if (!is_good)
			assert_memory_equal(left, zero, n);
		drop(&open);
		drop(&seal);
	}
}

static void parts_of_blocks_are_refused_in_a_chain(void **state)
{
	(void)state;
	each_pair(broken_block);
}

/* First of all tests: nothing has started libipsec-mb yet. */
static void a_short_session_does_not_start_the_fast_library(void **state)
{
	(void)state;
	for (size_t i = 0; i < alg_ciphers_n; i++) {
		const struct pktc *row = pktc_for(&alg_ciphers[i], &alg_macs[0], false);
		assert_non_null(strstr(row->name, "libcrypto"));
		assert_null(strstr(row->name, "ipsec-mb"));
	}
	assert_false(mb_has_started());
	(void)pktc_for(alg_cipher_find(cslice_str("aes128-ctr")), &alg_macs[0], true);
	assert_int_equal(mb_has_started(), mb_runs());
}

static void the_fast_row_falls_back_to_libcrypto(void **state)
{
	(void)state;
	pick_force_impl(PICK_LIBCRYPTO);
	for (size_t i = 0; i < alg_ciphers_n; i++)
		assert_ptr_equal(pktc_for(&alg_ciphers[i], &alg_macs[0], true),
			pktc_for(&alg_ciphers[i], &alg_macs[0], false));
	pick_force_impl(PICK_N);
}

/* ---- the rest ---- */

static void wrong_key_sizes_are_refused_and_done_cleans_up(void **state)
{
	(void)state;
	uint8_t key[65] = {0};
	for (size_t i = 0; i < alg_ciphers_n; i++)
		for (enum pick_impl impl = PICK_LIBCRYPTO; impl < PICK_N; impl++) {
			const struct alg_cipher *c = &alg_ciphers[i];
			pick_force_impl(impl);
			const struct pktc *row =
				pktc_for(c, alg_mac_find(cslice_str("umac-64@openssh.com")), true);
			void *ctx = calloc(1, row->ctx_size);
			assert_int_not_equal(row->init(ctx, PKTC_SEAL, cslice_of(key, c->key + 1u),
						     cslice_of(key, c->iv), cslice_of(key, 16)),
				OK);
			row->done(ctx);
			if (c->iv > 0)
				assert_int_not_equal(
					row->init(ctx, PKTC_SEAL, cslice_of(key, c->key),
						cslice_of(key, c->iv - 1u), cslice_of(key, 16)),
					OK);
			row->done(ctx);
			free(ctx);
		}
	pick_force_impl(PICK_N);
	const struct alg_mac none = {.name = "none", .mac = MACI_NONE};
	assert_null(pktc_for(alg_cipher_find(cslice_str("aes128-ctr")), NULL, false));
	assert_null(pktc_for(alg_cipher_find(cslice_str("aes128-ctr")), &none, false));
}

static void before_the_first_keys_nothing_changes(void **state)
{
	(void)state;
	uint8_t ctx[64] = {0}, pkt[64], was[64];
	struct pktc_at at = {0};
	uint32_t length = 0;
	fill(pkt, sizeof(pkt), 3);
	memcpy(was, pkt, sizeof(pkt));
	assert_int_equal(pktc_none.init(ctx, PKTC_SEAL, cslice_of(NULL, 0), cslice_of(NULL, 0),
				 cslice_of(NULL, 0)),
		OK);
	pktc_none.seal(ctx, at, pkt, sizeof(pkt));
	assert_int_equal(pktc_none.length(ctx, at, pkt, &length), OK);
	assert_int_equal(length, 60);
	assert_int_equal(pktc_none.open(ctx, at, pkt, sizeof(pkt)), OK);
	assert_memory_equal(pkt, was, sizeof(pkt));
	pktc_none.done(ctx);
}

static int start(void **state)
{
	(void)state;
	return crypto_init() == OK ? 0 : -1;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_short_session_does_not_start_the_fast_library),
		cmocka_unit_test(sealed_packets_open_at_any_length_and_alignment),
		cmocka_unit_test(rows_have_the_geometry_of_their_algorithms),
		cmocka_unit_test(length_tells_the_number_as_it_stands),
		cmocka_unit_test(every_padding_and_packet_length_is_opened_as_it_is),
		cmocka_unit_test(each_flipped_bit_and_each_replay_is_refused_and_wiped),
		cmocka_unit_test(both_implementations_make_the_same_bytes),
		cmocka_unit_test(a_connection_can_change_its_implementation_between_packets),
		cmocka_unit_test(a_chain_goes_on_in_another_context),
		cmocka_unit_test(a_stream_neither_goes_back_nor_skips_without_end),
		cmocka_unit_test(parts_of_blocks_are_refused_in_a_chain),
		cmocka_unit_test(the_fast_row_falls_back_to_libcrypto),
		cmocka_unit_test(wrong_key_sizes_are_refused_and_done_cleans_up),
		cmocka_unit_test(before_the_first_keys_nothing_changes),
	};
	return cmocka_run_group_tests(tests, start, NULL);
}
