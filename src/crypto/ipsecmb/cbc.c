/* SPDX-License-Identifier: ISC */
/*
 * cbc - decryption of AES-CBC by libipsec-mb
 *
 * Blocks are decrypted independently of each other, many at a time.  Encryption is a chain, and
 * libcrypto does it as quickly as the CPU can.
 */
#include <stdlib.h>

#include <intel-ipsec-mb.h>

#include "crypto/ipsecmb/mb.h"

#define ROUND_KEYS_MAX (16 * 15)

struct mb_cbc {
	uint8_t enc[ROUND_KEYS_MAX] __attribute__((aligned(64))); /* made with dec, not used */
	uint8_t dec[ROUND_KEYS_MAX] __attribute__((aligned(64)));
	IMB_MGR *m;
	IMB_KEY_SIZE_BYTES key_size;
};

static err_t make(void **out, struct cslice key)
{
	IMB_MGR *m = mb_manager();
	if (m == NULL)
		return E_UNSUPPORTED;
	if (key.n != 16 && key.n != 24 && key.n != 32)
		return E_BUG;
	struct mb_cbc *c = aligned_alloc(64, sizeof(*c));
	if (c == NULL)
		return E_MEM;
	*c = (struct mb_cbc){.m = m};
	c->key_size = key.n == 16   ? IMB_KEY_128_BYTES
		      : key.n == 24 ? IMB_KEY_192_BYTES
				    : IMB_KEY_256_BYTES;
	keyexp_t expand = key.n == 16 ? m->keyexp_128 : key.n == 24 ? m->keyexp_192 : m->keyexp_256;
	expand(key.p, c->enc, c->dec);
	wipe(c->enc, sizeof(c->enc));
	*out = c;
	return OK;
}

static void drop(void *c)
{
	wipe_free(c, sizeof(struct mb_cbc));
}

static err_t decrypt(void *cbc, const uint8_t iv[16], uint8_t *data, size_t n)
{
	struct mb_cbc *c = cbc;
	if (n % 16 != 0)
		return E_BUG;
	IMB_JOB job = {
		.cipher_mode = IMB_CIPHER_CBC,
		.hash_alg = IMB_AUTH_NULL,
		.cipher_direction = IMB_DIR_DECRYPT,
		.enc_keys = c->dec,
		.dec_keys = c->dec,
		.key_len_in_bytes = c->key_size,
		.src = data,
		.dst = data,
		.msg_len_to_cipher_in_bytes = n,
		.iv = iv,
		.iv_len_in_bytes = 16,
	};
	uint32_t done = IMB_SUBMIT_CIPHER_BURST_NOCHECK(
		c->m, &job, 1, IMB_CIPHER_CBC, IMB_DIR_DECRYPT, c->key_size);
	return done == 1 && job.status == IMB_STATUS_COMPLETED ? OK : E_CRYPTO;
}

const struct pick_cbc *mb_cbc(void)
{
	static const struct pick_cbc face = {make, drop, decrypt};
	return mb_runs() ? &face : NULL;
}
