/* SPDX-License-Identifier: ISC */
/*
 * pktc_ctr - AES in counter mode (RFC 4344) with any MAC, encrypt-then-MAC or plain
 *
 * `at.block` is the position of the packet in the key stream, so packets are independent.
 *
 * Plain: the length is encrypted, and the MAC covers the clear packet.  To know where the tag is,
 * the length of the first block must be believed before the MAC is checked.  Someone on the path
 * who changes that block could learn from the bytes that are awaited before the connection ends.
 * Two things together prevent it: length() hands out the number as it stands and never judges it,
 * and the engine answers a bad one not at once but reads on to the largest packet and then ends
 * with the error of a wrong MAC (tp_in).  open() always decrypts and hashes the whole packet,
 * whatever is in it.
 */
#include "algorithm/pktc_many.h"
#include "algorithm/pktc_rows.h"

struct ctx {
	const struct pick_ctr *impl;
	void *ctr;
	struct pktc_mac mac;
	struct pktc_many many;
};

static err_t init(struct ctx *c, enum pick_impl impl, struct cslice key, struct cslice iv)
{
	if (iv.n != 16)
		return E_BUG;
	c->impl = pick_ctr(impl);
	if (c->impl == NULL)
		return E_UNSUPPORTED;
	return c->impl->make(&c->ctr, key, iv.p);
}

static void done(void *ctx)
{
	struct ctx *c = ctx;
	pktc_many_done(&c->many);
	pktc_mac_done(&c->mac);
	if (c->ctr != NULL)
		c->impl->free(c->ctr);
	wipe(c, sizeof(*c));
}

static err_t etm_length(void *ctx, struct pktc_at at, const uint8_t *first, uint32_t *packet_length)
{
	*packet_length = be32_get(first);
	return OK;
}

static void etm_seal(void *ctx, struct pktc_at at, uint8_t *pkt, size_t n)
{
	struct ctx *c = ctx;
	if (c->impl->crypt(c->ctr, at.block, pkt + 4, n - 4) != OK ||
		pktc_mac_tag(&c->mac, at.seq, pkt, n, pkt + n) != OK)
		pktc_spoil(pkt, n, c->mac.size);
}

static err_t etm_open(void *ctx, struct pktc_at at, uint8_t *pkt, size_t n)
{
	struct ctx *c = ctx;
	err_t e = pktc_mac_check(&c->mac, at.seq, pkt, n, pkt + n);
	if (e == OK)
		e = c->impl->crypt(c->ctr, at.block, pkt + 4, n - 4);
	if (e != OK)
		wipe(pkt, n);
	return e;
}

static void etm_seal_many(void *ctx, const struct pktc_one *v, size_t n)
{
	struct ctx *c = ctx;
	err_t e = OK;
	for (size_t i = 0; i < n && e == OK; i++)
		e = c->impl->crypt(c->ctr, v[i].at.block, v[i].pkt + 4, v[i].n - 4);
	if (e == OK)
		e = pktc_many_tag(&c->many, &c->mac, v, n);
	for (size_t i = 0; i < n && e != OK; i++)
		pktc_spoil(v[i].pkt, v[i].n, c->mac.size);
}

static size_t etm_open_many(void *ctx, const struct pktc_one *v, size_t n)
{
	struct ctx *c = ctx;
	size_t right = pktc_many_check(&c->many, &c->mac, v, n);
	for (size_t i = 0; i < right; i++)
		if (c->impl->crypt(c->ctr, v[i].at.block, v[i].pkt + 4, v[i].n - 4) != OK)
			return i; /* open will meet the same fault */
	return right;
}

static err_t plain_length(
	void *ctx, struct pktc_at at, const uint8_t *first, uint32_t *packet_length)
{
	struct ctx *c = ctx;
	uint8_t block[16];
	memcpy(block, first, sizeof(block));
	err_t e = c->impl->crypt(c->ctr, at.block, block, sizeof(block));
	if (e == OK)
		*packet_length = be32_get(block);
	wipe(block, sizeof(block));
	return e;
}

static void plain_seal(void *ctx, struct pktc_at at, uint8_t *pkt, size_t n)
{
	struct ctx *c = ctx;
	if (pktc_mac_tag(&c->mac, at.seq, pkt, n, pkt + n) != OK ||
		c->impl->crypt(c->ctr, at.block, pkt, n) != OK)
		pktc_spoil(pkt, n, c->mac.size);
}

static void plain_seal_many(void *ctx, const struct pktc_one *v, size_t n)
{
	struct ctx *c = ctx;
	err_t e = pktc_many_tag(&c->many, &c->mac, v, n);
	for (size_t i = 0; i < n && e == OK; i++)
		e = c->impl->crypt(c->ctr, v[i].at.block, v[i].pkt, v[i].n);
	for (size_t i = 0; i < n && e != OK; i++)
		pktc_spoil(v[i].pkt, v[i].n, c->mac.size);
}

static err_t plain_open(void *ctx, struct pktc_at at, uint8_t *pkt, size_t n)
{
	struct ctx *c = ctx;
	err_t e = c->impl->crypt(c->ctr, at.block, pkt, n);
	if (e == OK)
		e = pktc_mac_check(&c->mac, at.seq, pkt, n, pkt + n);
	if (e != OK)
		wipe(pkt, n);
	return e;
}

/* A row's init knows what the row is, since a context starts empty. */
#define INIT(id, which)                                                                            \
	static err_t init_##id##_##which(void *ctx, enum pktc_dir dir, struct cslice key,          \
		struct cslice iv, struct cslice mac_key)                                           \
	{                                                                                          \
		struct ctx *c = ctx;                                                               \
		TRY(init(c, PICK_##which, key, iv));                                               \
		TRY(pktc_mac_make(&c->mac, MACI_##id, mac_key));                                   \
		return pktc_many_make(&c->many, PICK_##which, MACI_##id, mac_key);                 \
	}
#define INITS(id, tag, many, shown)                                                                \
	INIT(id, LIBCRYPTO)                                                                        \
	INIT(id, IPSECMB)
PKTC_MACS(INITS)

#define ROW(id, tag_n, shown, which, by, mode, peek_n, clear)                                      \
	.name = "aes-ctr and " shown " by " by, .ctx_size = sizeof(struct ctx), .block = 16,       \
	.tag = tag_n, .peek = peek_n, .clear_len = clear, .cost_block = 16,                        \
	.init = init_##id##_##which, .done = done, .length = mode##_length, .seal = mode##_seal,   \
	.open = mode##_open
#define ROWS(id, tag_n, n, shown)                                                                  \
	[MACI_##id] = {                                                                            \
		{{ROW(id, tag_n, shown, LIBCRYPTO, "libcrypto", plain, 16, 0)},                    \
			{ROW(id, tag_n, shown, IPSECMB, "ipsec-mb", plain, 16, 0), .many = n,      \
				.seal_many = n > 0 ? plain_seal_many : NULL}},                     \
		{{ROW(id, tag_n, shown "-etm", LIBCRYPTO, "libcrypto", etm, 4, 4)},                \
			{ROW(id, tag_n, shown "-etm", IPSECMB, "ipsec-mb", etm, 4, 4), .many = n,  \
				.seal_many = n > 0 ? etm_seal_many : NULL,                         \
				.open_many = n > 0 ? etm_open_many : NULL}},                       \
	},

const struct pktc *pktc_ctr_row(enum pick_impl impl, enum mac_id mac, bool is_etm)
{
	static const struct pktc rows[MACI_N][2][PICK_N] = {PKTC_MACS(ROWS)};
	const struct pktc *row = &rows[mac][is_etm ? 1 : 0][impl];
	return row->name != NULL ? row : NULL;
}
