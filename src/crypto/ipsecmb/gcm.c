/* SPDX-License-Identifier: ISC */
/* gcm - AES-GCM by libipsec-mb's direct calls: one call a message, no state but the key */
#include <stdlib.h>

#include <intel-ipsec-mb.h>

#include "crypto/ipsecmb/mb.h"

struct mb_gcm {
	struct gcm_key_data key; /* 64-byte aligned */
	aes_gcm_enc_dec_t seal, open;
};

static err_t make(void **out, struct cslice key)
{
	IMB_MGR *m = mb_manager();
	if (m == NULL)
		return E_UNSUPPORTED;
	if (key.n != 16 && key.n != 32)
		return E_BUG;
	struct mb_gcm *g = aligned_alloc(64, sizeof(*g));
	if (g == NULL)
		return E_MEM;
	memset(g, 0, sizeof(*g));
	if (key.n == 16) {
		IMB_AES128_GCM_PRE(m, key.p, &g->key);
		g->seal = m->gcm128_enc;
		g->open = m->gcm128_dec;
	} else {
		IMB_AES256_GCM_PRE(m, key.p, &g->key);
		g->seal = m->gcm256_enc;
		g->open = m->gcm256_dec;
	}
	*out = g;
	return OK;
}

static void drop(void *g)
{
	wipe_free(g, sizeof(struct mb_gcm));
}

static err_t seal(
	void *gcm, const uint8_t nonce[12], struct cslice aad, struct slice data, uint8_t tag[16])
{
	struct mb_gcm *g = gcm;
	struct gcm_context_data work;
	g->seal(&g->key, &work, data.p, data.p, data.n, nonce, aad.p, aad.n, tag, 16);
	wipe(&work, sizeof(work));
	return OK;
}

static err_t open(void *gcm, const uint8_t nonce[12], struct cslice aad, struct slice data,
	const uint8_t tag[16])
{
	struct mb_gcm *g = gcm;
	struct gcm_context_data work;
	uint8_t want[16];
	g->open(&g->key, &work, data.p, data.p, data.n, nonce, aad.p, aad.n, want, 16);
	bool right = ct_eq(want, tag, 16);
	wipe(&work, sizeof(work));
	wipe(want, sizeof(want));
	if (right)
		return OK;
	wipe(data.p, data.n);
	return E_MAC;
}

const struct pick_gcm *mb_gcm(void)
{
	static const struct pick_gcm face = {make, drop, seal, open};
	return mb_runs() ? &face : NULL;
}
