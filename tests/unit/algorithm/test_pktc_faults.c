/* SPDX-License-Identifier: ISC */
/*
 * Packet protections when the library fails in the middle of a packet, and that they allocate
 * nothing
 *
 * Built with the wrappers of tests/unit/crypto/faults.c.  The library's own memory is counted too.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <openssl/crypto.h>

#include "algorithm/alg.h"
#include "crypto/pick.h"
#include "faults.h"

#define N_MAX 100

struct side {
	const struct pktc *row;
	_Alignas(64) uint8_t ctx[512];
};

struct pair {
	const struct alg_cipher *cipher;
	const struct alg_mac *mac;
};

static const uint8_t key[64] = {1, 2, 3};
static size_t allocations;

static void *counted_malloc(size_t n, const char *file, int line)
{
	allocations++;
	return malloc(n);
}

static void *counted_realloc(void *p, size_t n, const char *file, int line)
{
	allocations++;
	return realloc(p, n);
}

static void counted_free(void *p, const char *file, int line)
{
	free(p);
}

static err_t start(struct side *s, const struct pair *p, enum pick_impl impl, enum pktc_dir dir)
{
	pick_force_impl(impl);
	*s = (struct side){.row = pktc_for(p->cipher, p->mac, impl == PICK_IPSECMB)};
	pick_force_impl(PICK_N);
	assert_true(s->row->ctx_size <= sizeof(s->ctx));
	return s->row->init(s->ctx, dir, cslice_of(key, p->cipher->key),
		cslice_of(key, p->cipher->iv), cslice_of(key, p->mac != NULL ? p->mac->key : 0));
}

static void each_pair(void (*f)(const struct pair *p, enum pick_impl impl))
{
	for (size_t i = 0; i < alg_ciphers_n; i++) {
		bool is_aead = (alg_ciphers[i].flags & AF_AEAD) != 0;
		for (size_t k = 0; k < (is_aead ? 1 : alg_macs_n); k++)
			for (enum pick_impl impl = PICK_LIBCRYPTO; impl < PICK_N; impl++)
				if (pick_gcm(impl) != NULL)
					f(&(struct pair){&alg_ciphers[i],
						  is_aead ? NULL : &alg_macs[k]},
						impl);
	}
}

/* Whole blocks for every row. */
static size_t size_for(const struct pktc *row, size_t n)
{
	return row->clear_len == 0 ? n : n + 4;
}

static bool is_zero(const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (p[i] != 0)
			return false;
	return true;
}

static void fill(uint8_t *pkt, size_t n)
{
	memset(pkt, 0x61, n + 64);
	be32_put(pkt, (uint32_t)n - 4);
}

static void fail_in_seal(const struct pair *p, enum pick_impl impl)
{
	struct side s;
	uint8_t pkt[N_MAX + 64];
	for (size_t n = 1;; n++) {
		assert_int_equal(start(&s, p, impl, PKTC_SEAL), OK);
		const size_t N = size_for(s.row, N_MAX - 4);
		fill(pkt, N);
		faults_arm(n, n % 2 == 0);
		s.row->seal(s.ctx, (struct pktc_at){0}, pkt, N);
		bool failed = faults_hit() != NULL;
		faults_arm(0, false);
		s.row->done(s.ctx);
		assert_int_equal(is_zero(pkt, N + s.row->tag), failed);
		if (!failed)
			return;
	}
}

static void nothing_leaves_when_sealing_fails(void **state)
{
	(void)state;
	each_pair(fail_in_seal);
}

static void fail_in_open(const struct pair *p, enum pick_impl impl)
{
	struct side seal, open;
	uint8_t pkt[N_MAX + 64];
	for (size_t n = 1;; n++) {
		assert_int_equal(start(&seal, p, impl, PKTC_SEAL), OK);
		assert_int_equal(start(&open, p, impl, PKTC_OPEN), OK);
		const size_t N = size_for(seal.row, N_MAX - 4);
		fill(pkt, N);
		seal.row->seal(seal.ctx, (struct pktc_at){0}, pkt, N);
		faults_arm(n, n % 2 == 0);
		err_t e = open.row->open(open.ctx, (struct pktc_at){0}, pkt, N);
		bool failed = faults_hit() != NULL;
		faults_arm(0, false);
		open.row->done(open.ctx);
		seal.row->done(seal.ctx);
		assert_int_equal(e != OK, failed);
		assert_int_equal(is_zero(pkt, N), failed);
		if (!failed)
			return;
	}
}

static void nothing_is_believed_when_opening_fails(void **state)
{
	(void)state;
	each_pair(fail_in_open);
}

/* A batch of so few packets that libcrypto's MAC is asked for them, and one of more. */
static void fail_in_batch(const struct pair *p, enum pick_impl impl, size_t packets)
{
	static uint8_t pkt[4 + 4 * (N_MAX + 64)];
	struct pktc_one v[4];
	struct side seal, open;
	for (size_t n = 1;; n++) {
		assert_int_equal(start(&seal, p, impl, PKTC_SEAL), OK);
		assert_int_equal(start(&open, p, impl, PKTC_OPEN), OK);
		const size_t N = size_for(seal.row, N_MAX - 4);
		for (size_t i = 0; i < packets; i++) {
			v[i] = (struct pktc_one){
				{.seq = (uint32_t)i}, pkt + 4 + i * (N_MAX + 64), N};
			fill(v[i].pkt, N);
		}
		faults_arm(n, n % 2 == 0);
		seal.row->seal_many(seal.ctx, v, packets);
		bool failed = faults_hit() != NULL;
		faults_arm(0, false);
		for (size_t i = 0; i < packets; i++)
			assert_int_equal(is_zero(v[i].pkt, N + seal.row->tag), failed);
		if (open.row->open_many != NULL && !failed) {
			faults_arm(1, false);
			size_t opened = open.row->open_many(open.ctx, v, packets);
			assert_int_equal(opened, faults_hit() != NULL ? 0 : packets);
			faults_arm(0, false);
		}
		open.row->done(open.ctx);
		seal.row->done(seal.ctx);
		if (!failed)
			return;
	}
}

static void fail_in_batches(const struct pair *p, enum pick_impl impl)
{
	struct side s;
	assert_int_equal(start(&s, p, impl, PKTC_SEAL), OK);
	bool has_batch = s.row->seal_many != NULL;
	s.row->done(s.ctx);
	for (size_t packets = 1; has_batch && packets <= 4; packets++)
		fail_in_batch(p, impl, packets);
}

static void nothing_of_a_batch_leaves_or_is_believed_when_it_fails(void **state)
{
	(void)state;
	each_pair(fail_in_batches);
}

static void fail_in_length(const struct pair *p, enum pick_impl impl)
{
	struct side seal, open;
	uint8_t pkt[N_MAX + 64];
	assert_int_equal(start(&seal, p, impl, PKTC_SEAL), OK);
	assert_int_equal(start(&open, p, impl, PKTC_OPEN), OK);
	const size_t N = size_for(seal.row, N_MAX - 4);
	fill(pkt, N);
	seal.row->seal(seal.ctx, (struct pktc_at){0}, pkt, N);
	for (size_t n = 1;; n++) {
		uint32_t length = 12345;
		faults_arm(n, n % 2 == 0);
		err_t e = open.row->length(open.ctx, (struct pktc_at){0}, pkt, &length);
		bool failed = faults_hit() != NULL;
		faults_arm(0, false);
		assert_int_equal(e != OK, failed);
		assert_int_equal(length, failed ? 12345 : N - 4);
		if (!failed)
			break;
	}
	open.row->done(open.ctx);
	seal.row->done(seal.ctx);
}

static void no_length_is_told_when_decrypting_it_fails(void **state)
{
	(void)state;
	each_pair(fail_in_length);
}

static void fail_in_init(const struct pair *p, enum pick_impl impl)
{
	struct side s;
	for (size_t n = 1;; n++) {
		faults_arm(n, n % 2 == 0);
		err_t e = start(&s, p, impl, PKTC_SEAL);
		bool failed = faults_hit() != NULL;
		faults_arm(0, false);
		s.row->done(s.ctx); /* frees what there is: the leak checker looks */
		assert_int_equal(e != OK, failed);
		if (!failed)
			return;
	}
}

static void no_context_is_made_when_a_part_of_it_fails(void **state)
{
	(void)state;
	each_pair(fail_in_init);
}

static void count_allocations(const struct pair *p, enum pick_impl impl)
{
	struct side seal, open;
	static uint8_t pkt[40000];
	assert_int_equal(start(&seal, p, impl, PKTC_SEAL), OK);
	assert_int_equal(start(&open, p, impl, PKTC_OPEN), OK);
	size_t before = allocations, ours = faults_allocations();
	for (size_t i = 0; i < 20; i++) {
		struct pktc_at at = {.seq = (uint32_t)i, .packet = i, .block = 5000 * i};
		size_t n = size_for(seal.row, i < 10 ? 64 : 32768);
		uint32_t length = 0;
		be32_put(pkt, (uint32_t)n - 4);
		seal.row->seal(seal.ctx, at, pkt, n);
		assert_int_equal(open.row->length(open.ctx, at, pkt, &length), OK);
		assert_int_equal(open.row->open(open.ctx, at, pkt, n), OK);
	}
	assert_int_equal(allocations, before);
	assert_int_equal(faults_allocations(), ours);
	open.row->done(open.ctx);
	seal.row->done(seal.ctx);
}

static void count_allocations_of_batches(const struct pair *p, enum pick_impl impl)
{
	enum { EACH = 8192 };
	static uint8_t pkt[64 + PKTC_MANY * (EACH + 64)];
	struct pktc_one v[PKTC_MANY];
	struct side seal, open;
	struct pktc_at at = {0};
	assert_int_equal(start(&seal, p, impl, PKTC_SEAL), OK);
	assert_int_equal(start(&open, p, impl, PKTC_OPEN), OK);
	size_t before = allocations, ours = faults_allocations();
	for (size_t n = 1; seal.row->seal_many != NULL && n <= PKTC_MANY; n++) {
		for (size_t i = 0; i < n; i++) {
			size_t size = size_for(seal.row, EACH - 16);
			v[i] = (struct pktc_one){at, pkt + 64 + i * (EACH + 64), size};
			be32_put(v[i].pkt, (uint32_t)size - 4);
			at.seq++;
			at.packet++;
			at.block += size / seal.row->block;
		}
		seal.row->seal_many(seal.ctx, v, n);
		if (open.row->open_many != NULL)
			assert_int_equal(open.row->open_many(open.ctx, v, n), n);
	}
	assert_int_equal(allocations, before);
	assert_int_equal(faults_allocations(), ours);
	open.row->done(open.ctx);
	seal.row->done(seal.ctx);
}

static void packets_are_sealed_and_opened_without_allocating(void **state)
{
	(void)state;
	assert_true(allocations > 0 && faults_allocations() > 0); /* the counters do count */
	each_pair(count_allocations);
	each_pair(count_allocations_of_batches);
}

static int prepare(void **state)
{
	(void)state;
	if (CRYPTO_set_mem_functions(counted_malloc, counted_realloc, counted_free) != 1)
		return -1;
	return crypto_init() == OK ? 0 : -1;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_leaves_when_sealing_fails),
		cmocka_unit_test(nothing_is_believed_when_opening_fails),
		cmocka_unit_test(nothing_of_a_batch_leaves_or_is_believed_when_it_fails),
		cmocka_unit_test(no_length_is_told_when_decrypting_it_fails),
		cmocka_unit_test(no_context_is_made_when_a_part_of_it_fails),
		cmocka_unit_test(packets_are_sealed_and_opened_without_allocating),
	};
	return cmocka_run_group_tests(tests, prepare, NULL);
}
