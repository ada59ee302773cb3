/* SPDX-License-Identifier: ISC */
/* pktc_mac - HMAC and UMAC with one face */
#include "algorithm/pktc_mac.h"

struct mac_row {
	enum hash_id hash; /* HASH_N: UMAC */
	uint8_t tag;       /* the first so many bytes of what the MAC gives */
};

/* clang-format off */
static const struct mac_row rows[MACI_N] = {
	[MACI_HMAC_SHA1]      = {HASH_SHA1,      20},
	[MACI_HMAC_SHA256]    = {HASH_SHA256,    32},
	[MACI_HMAC_SHA512]    = {HASH_SHA512,    64},
	[MACI_HMAC_SHA1_96]   = {HASH_SHA1,      12},
	[MACI_HMAC_MD5]       = {HASH_MD5,       16},
	[MACI_HMAC_MD5_96]    = {HASH_MD5,       12},
	[MACI_HMAC_RIPEMD160] = {HASH_RIPEMD160, 20},
	[MACI_UMAC64]         = {HASH_N,          8},
	[MACI_UMAC128]        = {HASH_N,         16},
};
/* clang-format on */

err_t pktc_mac_make(struct pktc_mac *m, enum mac_id id, struct cslice key)
{
	if (id >= MACI_N || rows[id].tag == 0)
		return E_BUG;
	struct pktc_mac made = {.size = rows[id].tag};
	if (rows[id].hash != HASH_N) {
		TRY(hmac_new(&made.hmac, rows[id].hash, key));
		made.is_short = made.size < hash_size(rows[id].hash);
	} else {
		if (key.n != 16)
			return E_BUG;
		TRY(umac_new(&made.umac, made.size, key.p));
	}
	*m = made;
	return OK;
}

void pktc_mac_done(struct pktc_mac *m)
{
	if (m->umac != NULL)
		umac_free(m->umac);
	hmac_free(m->hmac);
	*m = (struct pktc_mac){0};
}

err_t pktc_mac_tag(struct pktc_mac *m, uint32_t seq, const uint8_t *pkt, size_t n, uint8_t *tag)
{
	uint8_t number[8];
	be64_put(number, seq);
	if (m->umac != NULL)
		return umac_tag(m->umac, number, &(struct cslice){pkt, n}, 1, tag);
	struct cslice parts[] = {{number + 4, 4}, {pkt, n}};
	if (!m->is_short)
		return hmac_tag(m->hmac, parts, ARRAY_N(parts), tag);
	uint8_t whole[HASH_MAX];
	TRY(hmac_tag(m->hmac, parts, ARRAY_N(parts), whole));
	memcpy(tag, whole, m->size);
	wipe(whole, sizeof(whole));
	return OK;
}

err_t pktc_mac_check(
	struct pktc_mac *m, uint32_t seq, const uint8_t *pkt, size_t n, const uint8_t *tag)
{
	uint8_t want[PKTC_MAC_MAX];
	err_t e = pktc_mac_tag(m, seq, pkt, n, want);
	if (e == OK && !ct_eq(want, tag, m->size))
		e = E_MAC;
	wipe(want, sizeof(want));
	return e;
}
