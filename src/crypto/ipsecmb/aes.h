/* SPDX-License-Identifier: ISC */
/*
 * aes - what the AES modes of this folder share: round keys, and one job for the burst call
 *
 * The burst call works on our own job and is done when it returns.
 */
#ifndef CRYPTO_IPSECMB_AES_H
#define CRYPTO_IPSECMB_AES_H

#include <intel-ipsec-mb.h>

#include "crypto/ipsecmb/mb.h"

#define MB_AES_ROUND_KEYS_MAX (16 * 15)

struct mb_aes {
	uint8_t keys[MB_AES_ROUND_KEYS_MAX] __attribute__((aligned(64)));
	IMB_MGR *m;
	IMB_KEY_SIZE_BYTES size;
	IMB_CIPHER_MODE mode;
	IMB_CIPHER_DIRECTION direction;
};

/* Round keys of a key of 16, 24 or 32 bytes (E_BUG else); E_UNSUPPORTED where libipsec-mb does not
 * run.  Whoever holds it wipes it. */
MUST err_t mb_aes_init(
	struct mb_aes *a, IMB_CIPHER_MODE mode, IMB_CIPHER_DIRECTION direction, struct cslice key);
/* In place. */
MUST err_t mb_aes_run(struct mb_aes *a, const uint8_t iv[16], uint8_t *data, size_t n);

#endif
