/* SPDX-License-Identifier: ISC */
/*
 * cbc - decryption of AES-CBC by libipsec-mb
 *
 * Blocks are decrypted independently of each other, many at a time.  Encryption is a chain, and
 * libcrypto does it as quickly as the CPU can.
 */
#include <stdlib.h>

#include "crypto/ipsecmb/aes.h"

static err_t make(void **out, struct cslice key)
{
	struct mb_aes *c = aligned_alloc(64, sizeof(*c));
	if (c == NULL)
		return E_MEM;
	err_t e = mb_aes_init(c, IMB_CIPHER_CBC, IMB_DIR_DECRYPT, key);
	if (e != OK) {
		free(c);
		return e;
	}
	*out = c;
	return OK;
}

static void drop(void *c)
{
	wipe_free(c, sizeof(struct mb_aes));
}

static err_t decrypt(void *cbc, const uint8_t iv[16], uint8_t *data, size_t n)
{
	return n % 16 == 0 ? mb_aes_run(cbc, iv, data, n) : E_BUG;
}

const struct pick_cbc *mb_cbc(void)
{
	static const struct pick_cbc face = {make, drop, decrypt};
	return mb_runs() ? &face : NULL;
}
