/* SPDX-License-Identifier: ISC */
/*
 * ctr - AES-CTR by libipsec-mb
 *
 * The library counts in the last 32 bits of the block only, as IPsec does; SSH counts in all 128
 * (RFC 4344 4).  So a packet is cut where the low 32 bits turn over.
 */
#include <stdlib.h>

#include "crypto/ipsecmb/aes.h"

struct mb_ctr {
	struct mb_aes aes;
	uint64_t iv_high, iv_low;
};

static err_t make(void **out, struct cslice key, const uint8_t iv[16])
{
	struct mb_ctr *c = aligned_alloc(64, sizeof(*c));
	if (c == NULL)
		return E_MEM;
	err_t e = mb_aes_init(&c->aes, IMB_CIPHER_CNTR, IMB_DIR_ENCRYPT, key);
	if (e != OK) {
		free(c);
		return e;
	}
	c->iv_high = be64_get(iv);
	c->iv_low = be64_get(iv + 8);
	*out = c;
	return OK;
}

static void drop(void *c)
{
	wipe_free(c, sizeof(struct mb_ctr));
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
		TRY(mb_aes_run(&c->aes, at, data, part));
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
