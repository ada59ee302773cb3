/* SPDX-License-Identifier: ISC */
/*
 * hmac - HMAC of several messages at once by libipsec-mb
 *
 * The library has two forms that are worth having.  With the CPU's SHA instructions it works on two
 * messages in turn, which keeps those instructions busy: twice the speed of one message, for any
 * number from two on.  With the widest vectors it puts a message into each of 8 (SHA-512) or 16
 * lanes: the time is that of the longest message, however many there are, so it takes a number of
 * them to win.  A single message is left to libcrypto.
 *
 * The burst call works on our own jobs and is done when it returns, but keeps them in the manager
 * meanwhile.  Two threads may not do that at once: who finds it busy is told E_AGAIN.
 */
#include <stdatomic.h>
#include <stdlib.h>

#include <intel-ipsec-mb.h>

#include "crypto/ipsecmb/mb.h"

#define BLOCK_MAX 128
#define NEVER     (PICK_HMACS_MAX + 1)

static atomic_flag busy = ATOMIC_FLAG_INIT;

struct row {
	enum hash_id id;
	IMB_HASH_ALG alg;
	bool has_sha; /* among the CPU's SHA instructions */
	/* so many messages are quicker by lanes than otherwise: where there are SHA instructions,
	 * and where there are not */
	size_t lanes_from, lanes_from_without;
};

/* clang-format off */
static const struct row rows[] = {
	{HASH_SHA1,   IMB_AUTH_HMAC_SHA_1,   true,  8,     3},
	{HASH_SHA256, IMB_AUTH_HMAC_SHA_256, true,  NEVER, 3},
	{HASH_SHA512, IMB_AUTH_HMAC_SHA_512, false, 3,     3},
};
/* clang-format on */

struct mb_hmacs {
	uint8_t inner[BLOCK_MAX] __attribute__((aligned(64))); /* keyed states */
	uint8_t outer[BLOCK_MAX] __attribute__((aligned(64)));
	const struct row *row;
	IMB_MGR *lanes, *sha; /* sha: NULL where there are no SHA instructions for this hash */
	size_t lanes_from, least;
};

static const struct row *row_of(enum hash_id id)
{
	for (size_t i = 0; i < ARRAY_N(rows); i++)
		if (rows[i].id == id)
			return &rows[i];
	return NULL;
}

static hash_one_block_t one_block(const IMB_MGR *m, enum hash_id id)
{
	return id == HASH_SHA1     ? m->sha1_one_block
	       : id == HASH_SHA256 ? m->sha256_one_block
				   : m->sha512_one_block;
}

/* FIPS 198-1: what the hash is after one block of key xor pad. */
static void keyed(const IMB_MGR *m, enum hash_id id, const uint8_t *key, uint8_t pad, uint8_t *out)
{
	uint8_t block[BLOCK_MAX];
	for (size_t i = 0; i < hash_block(id); i++)
		block[i] = key[i] ^ pad;
	one_block(m, id)(block, out);
	wipe(block, sizeof(block));
}

static void choose(struct mb_hmacs *h)
{
	const struct row *row = h->row;
	h->sha = row->has_sha ? mb_manager_sha() : NULL;
	h->lanes_from = h->sha != NULL ? row->lanes_from : row->lanes_from_without;
	if (h->sha != NULL && !mb_has_avx512())
		h->lanes_from = NEVER; /* half the lanes: the SHA instructions win */
	h->least = h->sha != NULL ? 2 : h->lanes_from;
}

static err_t make(void **out, enum hash_id id, struct cslice key)
{
	IMB_MGR *m = mb_manager();
	const struct row *row = row_of(id);
	if (m == NULL || row == NULL)
		return E_UNSUPPORTED;
	uint8_t block[BLOCK_MAX] = {0};
	if (key.n > hash_block(id))
		TRY(hash_once(id, key, block));
	else if (key.n > 0)
		memcpy(block, key.p, key.n);
	struct mb_hmacs *h = aligned_alloc(64, sizeof(*h));
	if (h != NULL) {
		*h = (struct mb_hmacs){.row = row, .lanes = m};
		choose(h);
		keyed(m, id, block, 0x36, h->inner);
		keyed(m, id, block, 0x5c, h->outer);
		*out = h;
	}
	wipe(block, sizeof(block));
	return h != NULL ? OK : E_MEM;
}

static void drop(void *h)
{
	wipe_free(h, sizeof(struct mb_hmacs));
}

static err_t run(const struct mb_hmacs *h, IMB_MGR *m, const struct pick_hmac_one *v, size_t n)
{
	IMB_JOB jobs[PICK_HMACS_MAX];
	for (size_t i = 0; i < n; i++)
		jobs[i] = (IMB_JOB){
			.cipher_mode = IMB_CIPHER_NULL,
			.hash_alg = h->row->alg,
			.src = v[i].msg.p,
			.msg_len_to_hash_in_bytes = v[i].msg.n,
			.u.HMAC._hashed_auth_key_xor_ipad = h->inner,
			.u.HMAC._hashed_auth_key_xor_opad = h->outer,
			.auth_tag_output = v[i].tag,
			.auth_tag_output_len_in_bytes = hash_size(h->row->id),
		};
	uint32_t done = IMB_SUBMIT_HASH_BURST_NOCHECK(m, jobs, (uint32_t)n, h->row->alg);
	bool is_right = done == n;
	for (size_t i = 0; i < n; i++)
		is_right &= jobs[i].status == IMB_STATUS_COMPLETED;
	return is_right ? OK : E_CRYPTO;
}

static err_t tags(void *hmacs, const struct pick_hmac_one *v, size_t n)
{
	const struct mb_hmacs *h = hmacs;
	if (n > PICK_HMACS_MAX)
		return E_BUG;
	for (size_t i = 0; i < n; i++)
		if (v[i].msg.n == 0) /* would spoil the manager, for ever */
			return E_AGAIN;
	if (n < h->least || atomic_flag_test_and_set_explicit(&busy, memory_order_acquire))
		return E_AGAIN;
	err_t e = run(h, n >= h->lanes_from ? h->lanes : h->sha, v, n);
	atomic_flag_clear_explicit(&busy, memory_order_release);
	return e;
}

const struct pick_hmacs *mb_hmacs(void)
{
	static const struct pick_hmacs face = {make, drop, tags};
	return mb_runs() ? &face : NULL;
}
