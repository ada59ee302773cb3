/* SPDX-License-Identifier: ISC */
/* pktc_mac - HMAC and UMAC with one face */
#include "algorithm/pktc_mac.h"

err_t pktc_mac_make(struct pktc_mac *m, enum mac_id id, struct cslice key)
{
	struct pktc_mac made = {0};
	switch (id) {
	case MACI_HMAC_SHA1:
		made.size = 20;
		TRY(hmac_new(&made.hmac, HASH_SHA1, key));
		break;
	case MACI_HMAC_SHA256:
		made.size = 32;
		TRY(hmac_new(&made.hmac, HASH_SHA256, key));
		break;
	case MACI_HMAC_SHA512:
		made.size = 64;
		TRY(hmac_new(&made.hmac, HASH_SHA512, key));
		break;
	case MACI_UMAC64:
	case MACI_UMAC128:
		if (key.n != 16)
			return E_BUG;
		made.size = id == MACI_UMAC64 ? 8 : 16;
		TRY(umac_new(&made.umac, made.size, key.p));
		break;
	default:
		return E_BUG;
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
	return hmac_tag(m->hmac, (struct cslice[]){{number + 4, 4}, {pkt, n}}, 2, tag);
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
