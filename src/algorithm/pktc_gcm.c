/* SPDX-License-Identifier: ISC */
/*
 * pktc_gcm - aes128-gcm@openssh.com, aes256-gcm@openssh.com (RFC 5647, negotiated as a cipher
 * alone)
 *
 * The nonce is the 4 fixed bytes of the IV and its 8-byte counter, which grows by one a packet (RFC
 * 5647 7.1): so `at.packet` says it all.  The packet length is additional data and travels in
 * clear.
 */
#include "algorithm/pktc_rows.h"

struct ctx {
	const struct pick_gcm *impl;
	void *gcm;
	uint8_t fixed[4];
	uint64_t counter;
};

static err_t init(struct ctx *c, enum pick_impl impl, struct cslice key, struct cslice iv)
{
	if (iv.n != 12)
		return E_BUG;
	c->impl = pick_gcm(impl);
	if (c->impl == NULL)
		return E_UNSUPPORTED;
	memcpy(c->fixed, iv.p, 4);
	c->counter = be64_get(iv.p + 4);
	return c->impl->make(&c->gcm, key);
}

static err_t init_libcrypto(
	void *ctx, enum pktc_dir dir, struct cslice key, struct cslice iv, struct cslice mac_key)
{
	return init(ctx, PICK_LIBCRYPTO, key, iv);
}

static err_t init_ipsecmb(
	void *ctx, enum pktc_dir dir, struct cslice key, struct cslice iv, struct cslice mac_key)
{
	return init(ctx, PICK_IPSECMB, key, iv);
}

static void done(void *ctx)
{
	struct ctx *c = ctx;
	if (c->gcm != NULL)
		c->impl->free(c->gcm);
	wipe(c, sizeof(*c));
}

static void nonce_of(const struct ctx *c, struct pktc_at at, uint8_t nonce[12])
{
	memcpy(nonce, c->fixed, 4);
	be64_put(nonce + 4, c->counter + at.packet);
}

static err_t length(void *ctx, struct pktc_at at, const uint8_t *first, uint32_t *packet_length)
{
	*packet_length = be32_get(first);
	return OK;
}

static void seal(void *ctx, struct pktc_at at, uint8_t *pkt, size_t n)
{
	struct ctx *c = ctx;
	uint8_t nonce[12];
	nonce_of(c, at, nonce);
	if (c->impl->seal(c->gcm, nonce, cslice_of(pkt, 4), (struct slice){pkt + 4, n - 4},
		    pkt + n) != OK)
		pktc_spoil(pkt, n, 16);
}

static err_t open(void *ctx, struct pktc_at at, uint8_t *pkt, size_t n)
{
	struct ctx *c = ctx;
	uint8_t nonce[12];
	nonce_of(c, at, nonce);
	err_t e = c->impl->open(
		c->gcm, nonce, cslice_of(pkt, 4), (struct slice){pkt + 4, n - 4}, pkt + n);
	if (e != OK)
		wipe(pkt, n);
	return e;
}

#define ROW(impl, shown)                                                                           \
	{                                                                                          \
		.name = "aes-gcm by " shown, .ctx_size = sizeof(struct ctx), .block = 16,          \
		.tag = 16, .peek = 4, .clear_len = 4, .cost_block = 16, .init = init_##impl,       \
		.done = done, .length = length, .seal = seal, .open = open,                        \
	}

const struct pktc *pktc_gcm_row(enum pick_impl impl)
{
	static const struct pktc rows[PICK_N] = {
		[PICK_LIBCRYPTO] = ROW(libcrypto, "libcrypto"),
		[PICK_IPSECMB] = ROW(ipsecmb, "ipsec-mb"),
	};
	return &rows[impl];
}
