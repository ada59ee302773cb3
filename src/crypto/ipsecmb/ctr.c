/* SPDX-License-Identifier: ISC */
/*
 * ctr - AES-CTR by libipsec-mb
 *
 * The library counts in the last 32 bits of the block only, as IPsec does; SSH counts in all 128
 * (RFC 4344 4).  So a packet is cut where the low 32 bits turn over.  The burst call works on our
 * own job and is done when it returns.
 */
#include <stdlib.h>

#include <intel-ipsec-mb.h>

#include "crypto/ipsecmb/mb.h"

#define ROUND_KEYS_MAX (16 * 15)

struct mb_ctr {
	uint8_t enc[ROUND_KEYS_MAX] __attribute__((aligned(64)));
	uint8_t dec[ROUND_KEYS_MAX] __attribute__((aligned(64))); /* made with enc, not used */
	IMB_MGR *m;
	IMB_KEY_SIZE_BYTES key_size;
	uint64_t iv_high, iv_low;
};

static err_t make(void **out, struct cslice key, const uint8_t iv[16])
{
	IMB_MGR *m = mb_manager();
	if (m == NULL)
		return E_UNSUPPORTED;
	if (key.n != 16 && key.n != 24 && key.n != 32)
		return E_BUG;
	struct mb_ctr *c = aligned_alloc(64, sizeof(*c));
	if (c == NULL)
		return E_MEM;
	*c = (struct mb_ctr){.m = m, .iv_high = be64_get(iv), .iv_low = be64_get(iv + 8)};
	c->key_size = key.n == 16   ? IMB_KEY_128_BYTES
		      : key.n == 24 ? IMB_KEY_192_BYTES
				    : IMB_KEY_256_BYTES;
	keyexp_t expand = key.n == 16 ? m->keyexp_128 : key.n == 24 ? m->keyexp_192 : m->keyexp_256;
	expand(key.p, c->enc, c->dec);
	wipe(c->dec, sizeof(c->dec));
	*out = c;
	return OK;
}

static void drop(void *c)
{
	wipe_free(c, sizeof(struct mb_ctr));
}

/* n bytes with the counter block `at`, whose low 32 bits do not turn over in them. */
static err_t run(struct mb_ctr *c, const uint8_t at[16], uint8_t *data, size_t n)
{
	IMB_JOB job = {
		.cipher_mode = IMB_CIPHER_CNTR,
		.hash_alg = IMB_AUTH_NULL,
		.cipher_direction = IMB_DIR_ENCRYPT,
		.enc_keys = c->enc,
		.dec_keys = c->enc,
		.key_len_in_bytes = c->key_size,
		.src = data,
		.dst = data,
		.msg_len_to_cipher_in_bytes = n,
		.iv = at,
		.iv_len_in_bytes = 16,
	};
	uint32_t done = IMB_SUBMIT_CIPHER_BURST_NOCHECK(
		c->m, &job, 1, IMB_CIPHER_CNTR, IMB_DIR_ENCRYPT, c->key_size);
	return done == 1 && job.status == IMB_STATUS_COMPLETED ? OK : E_CRYPTO;
}

static err_t crypt(void *ctr, uint64_t block, uint8_t *data, size_t n)
{
	struct mb_ctr *c = ctr;
	while (n > 0) {
		uint8_t at[16];
		uint64_t low;
		be64_put(at, c->iv_high + (__builtin_add_overflow(c->iv_low, block, &low) ? 1 : 0));
		be64_put(at + 8, low);
		uint64_t blocks = ((uint64_t)1 << 32) - (low & UINT32_MAX);
		size_t part = blocks > SIZE_MAX / 16 ? n : num_min(n, (size_t)blocks * 16);
		TRY(run(c, at, data, part));
		data += part;
		n -= part;
		block += blocks;
	}
	return OK;
}

const struct pick_ctr *mb_ctr(void)
{
	static const struct pick_ctr face = {make, drop, crypt};
	return mb_runs() ? &face : NULL;
}
