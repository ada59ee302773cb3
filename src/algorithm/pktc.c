/* SPDX-License-Identifier: ISC */
/* pktc - the packet protection that fits a cipher and a MAC, and the one before the first keys */
#include "algorithm/pktc_rows.h"

static err_t none_init(
	void *ctx, enum pktc_dir dir, struct cslice key, struct cslice iv, struct cslice mac_key)
{
	return OK;
}

static void none_done(void *ctx)
{
}

static err_t none_length(
	void *ctx, struct pktc_at at, const uint8_t *first, uint32_t *packet_length)
{
	*packet_length = be32_get(first);
	return OK;
}

static void none_seal(void *ctx, struct pktc_at at, uint8_t *pkt, size_t n)
{
}

static err_t none_open(void *ctx, struct pktc_at at, uint8_t *pkt, size_t n)
{
	return OK;
}

/* RFC 4253 6: without a cipher the block is 8 and the length is part of the padded unit. */
const struct pktc pktc_none = {
	.name = "none",
	.ctx_size = 1,
	.block = 8,
	.tag = 0,
	.peek = 4,
	.clear_len = 0,
	.cost_block = 8,
	.init = none_init,
	.done = none_done,
	.length = none_length,
	.seal = none_seal,
	.open = none_open,
};

static enum pick_impl impl_for(bool use_fast, enum pick_what what)
{
	return use_fast ? pick_fastest(what) : PICK_LIBCRYPTO;
}

const struct pktc *pktc_for(
	const struct alg_cipher *cipher, const struct alg_mac *mac, bool use_fast)
{
	switch (cipher->prot) {
	case PROT_AES128_GCM:
	case PROT_AES256_GCM:
		return pktc_gcm_row(impl_for(use_fast, PICK_GCM));
	case PROT_CHACHAPOLY:
		return pktc_chacha_row(impl_for(use_fast, PICK_POLY1305));
	case PROT_AES128_CTR:
	case PROT_AES192_CTR:
	case PROT_AES256_CTR:
		if (mac == NULL)
			return NULL;
		return pktc_ctr_row(
			impl_for(use_fast, PICK_CTR), mac->mac, (mac->flags & AF_ETM) != 0);
	case PROT_AES_CBC:
		if (mac == NULL)
			return NULL;
		if ((mac->flags & AF_ETM) != 0 && impl_for(use_fast, PICK_CTR) == PICK_IPSECMB)
			return pktc_cbc_row(mac->mac);
		return pktc_chained_row(cipher->prot, mac->mac, (mac->flags & AF_ETM) != 0);
	default:
		return mac == NULL ? NULL
				   : pktc_chained_row(
					     cipher->prot, mac->mac, (mac->flags & AF_ETM) != 0);
	}
}
