/* SPDX-License-Identifier: ISC */
/* aes - what the AES modes of this folder share */
#include "crypto/ipsecmb/aes.h"

err_t mb_aes_init(
	struct mb_aes *a, IMB_CIPHER_MODE mode, IMB_CIPHER_DIRECTION direction, struct cslice key)
{
	IMB_MGR *m = mb_manager();
	if (m == NULL)
		return E_UNSUPPORTED;
	if (key.n != 16 && key.n != 24 && key.n != 32)
		return E_BUG;
	*a = (struct mb_aes){.m = m, .mode = mode, .direction = direction};
	a->size = key.n == 16   ? IMB_KEY_128_BYTES
		  : key.n == 24 ? IMB_KEY_192_BYTES
				: IMB_KEY_256_BYTES;
	keyexp_t expand = key.n == 16 ? m->keyexp_128 : key.n == 24 ? m->keyexp_192 : m->keyexp_256;
	/* the library makes both kinds of round keys; counter mode only ever encrypts */
	bool is_inverse = mode == IMB_CIPHER_CBC && direction == IMB_DIR_DECRYPT;
	uint8_t other[MB_AES_ROUND_KEYS_MAX] __attribute__((aligned(64)));
	expand(key.p, is_inverse ? other : a->keys, is_inverse ? a->keys : other);
	wipe(other, sizeof(other));
	return OK;
}

err_t mb_aes_run(struct mb_aes *a, const uint8_t iv[16], uint8_t *data, size_t n)
{
	IMB_JOB job = {
		.cipher_mode = a->mode,
		.hash_alg = IMB_AUTH_NULL,
		.cipher_direction = a->direction,
		.enc_keys = a->keys,
		.dec_keys = a->keys,
		.key_len_in_bytes = a->size,
		.src = data,
		.dst = data,
		.msg_len_to_cipher_in_bytes = n,
		.iv = iv,
		.iv_len_in_bytes = 16,
	};
	uint32_t done =
		IMB_SUBMIT_CIPHER_BURST_NOCHECK(a->m, &job, 1, a->mode, a->direction, a->size);
	return done == 1 && job.status == IMB_STATUS_COMPLETED ? OK : E_CRYPTO;
}
