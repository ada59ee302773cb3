/* SPDX-License-Identifier: ISC */
/*
 * pktc_chacha - chacha20-poly1305@openssh.com
 *
 * Two keys: the second half of the key material hides the packet length, the first half the rest.
 * The nonce is the sequence number.  Block 0 of the payload cipher gives the Poly1305 key, the
 * payload starts at block 1; the tag covers the hidden length and the hidden payload and is checked
 * before anything but the length is decrypted.
 */
#include "algorithm/pktc_rows.h"

struct ctx {
	struct chacha *payload, *length;
	const struct pick_poly1305 *impl;
	void *poly;
};

static err_t init(struct ctx *c, enum pick_impl impl, struct cslice key)
{
	if (key.n != 64)
		return E_BUG;
	c->impl = pick_poly1305(impl);
	if (c->impl == NULL)
		return E_UNSUPPORTED;
	TRY(chacha_new(&c->payload, key.p));
	TRY(chacha_new(&c->length, key.p + 32));
	return c->impl->make(&c->poly);
}

static err_t init_libcrypto(
	void *ctx, enum pktc_dir dir, struct cslice key, struct cslice iv, struct cslice mac_key)
{
	return init(ctx, PICK_LIBCRYPTO, key);
}

static err_t init_ipsecmb(
	void *ctx, enum pktc_dir dir, struct cslice key, struct cslice iv, struct cslice mac_key)
{
	return init(ctx, PICK_IPSECMB, key);
}

static void done(void *ctx)
{
	struct ctx *c = ctx;
	if (c->poly != NULL)
		c->impl->free(c->poly);
	chacha_free(c->length);
	chacha_free(c->payload);
	wipe(c, sizeof(*c));
}

/* The tag of the hidden packet. */
static err_t tag_of(
	struct ctx *c, const uint8_t nonce[8], const uint8_t *pkt, size_t n, uint8_t tag[16])
{
	uint8_t key[32] = {0};
	err_t e = chacha_crypt(c->payload, nonce, 0, key, sizeof(key));
	if (e == OK)
		e = c->impl->tag(c->poly, key, cslice_of(pkt, n), tag);
	wipe(key, sizeof(key));
	return e;
}

static err_t length(void *ctx, struct pktc_at at, const uint8_t *first, uint32_t *packet_length)
{
	struct ctx *c = ctx;
	uint8_t nonce[8], clear[4];
	be64_put(nonce, at.seq);
	memcpy(clear, first, 4);
	TRY(chacha_crypt(c->length, nonce, 0, clear, 4));
	*packet_length = be32_get(clear);
	return OK;
}

static void seal(void *ctx, struct pktc_at at, uint8_t *pkt, size_t n)
{
	struct ctx *c = ctx;
	uint8_t nonce[8];
	be64_put(nonce, at.seq);
	if (chacha_crypt(c->length, nonce, 0, pkt, 4) != OK ||
		chacha_crypt(c->payload, nonce, 1, pkt + 4, n - 4) != OK ||
		tag_of(c, nonce, pkt, n, pkt + n) != OK)
		pktc_spoil(pkt, n, 16);
}

static err_t open(void *ctx, struct pktc_at at, uint8_t *pkt, size_t n)
{
	struct ctx *c = ctx;
	uint8_t nonce[8], tag[16];
	be64_put(nonce, at.seq);
	err_t e = tag_of(c, nonce, pkt, n, tag);
	if (e == OK && !ct_eq(tag, pkt + n, 16))
		e = E_MAC;
	if (e == OK)
		e = chacha_crypt(c->length, nonce, 0, pkt, 4);
	if (e == OK)
		e = chacha_crypt(c->payload, nonce, 1, pkt + 4, n - 4);
	wipe(tag, sizeof(tag));
	if (e != OK)
		wipe(pkt, n);
	return e;
}

#define ROW(impl, shown)                                                                           \
	{                                                                                          \
		.name = "chacha20-poly1305 by " shown, .ctx_size = sizeof(struct ctx), .block = 8, \
		.tag = 16, .peek = 4, .clear_len = 4, .cost_block = 8, .init = init_##impl,        \
		.done = done, .length = length, .seal = seal, .open = open,                        \
	}

const struct pktc *pktc_chacha_row(enum pick_impl impl)
{
	static const struct pktc rows[PICK_N] = {
		[PICK_LIBCRYPTO] = ROW(libcrypto, "libcrypto"),
		[PICK_IPSECMB] = ROW(ipsecmb, "libcrypto and ipsec-mb"),
	};
	return &rows[impl];
}
