/* SPDX-License-Identifier: ISC */
/*
 * pktc_cbc - AES-CBC with encrypt-then-MAC, decrypted by libipsec-mb
 *
 * The same bytes as pktc_chained.c makes.  A packet's IV is the last block of cipher text of the
 * packet before, which is gone once that one has been opened.  So the IVs are kept, by the number
 * of the packet: of as many packets as may be opened together, and the one that comes next.  Then
 * the hand-over can go back to any packet of a run.  Sealing is libcrypto's.
 */
#include "algorithm/pktc_many.h"
#include "algorithm/pktc_rows.h"

#define BLOCK 16
#define IVS   (PKTC_MANY + 1)

struct ctx {
	struct cipher *seal; /* or, for the other direction: */
	const struct pick_cbc *impl;
	void *open;
	struct pktc_mac mac;
	struct pktc_many many;
	uint8_t first_iv[BLOCK]; /* of the packet that comes first, whatever its number */
	bool has_begun;
	uint8_t iv[IVS][BLOCK];
};

static err_t init(struct ctx *c, enum pktc_dir dir, struct cslice key, struct cslice iv)
{
	static const enum cipher_id by_size[] = {
		CIPHER_AES128_CBC, CIPHER_AES192_CBC, CIPHER_AES256_CBC};
	if (iv.n != BLOCK || (key.n != 16 && key.n != 24 && key.n != 32))
		return E_BUG;
	memcpy(c->first_iv, iv.p, BLOCK);
	if (dir == PKTC_SEAL)
		return cipher_new(&c->seal, by_size[key.n / 8 - 2], key, iv, true);
	c->impl = pick_cbc(PICK_IPSECMB);
	return c->impl != NULL ? c->impl->make(&c->open, key) : E_UNSUPPORTED;
}

static void done(void *ctx)
{
	struct ctx *c = ctx;
	pktc_many_done(&c->many);
	pktc_mac_done(&c->mac);
	if (c->open != NULL)
		c->impl->free(c->open);
	cipher_free(c->seal);
	wipe(c, sizeof(*c));
}

static void chain(const void *ctx, struct pktc_at at, uint8_t *iv)
{
	const struct ctx *c = ctx;
	memcpy(iv, c->has_begun ? c->iv[at.packet % IVS] : c->first_iv, BLOCK);
}

static const uint8_t *iv_of(struct ctx *c, struct pktc_at at)
{
	uint8_t *iv = c->iv[at.packet % IVS];
	if (!c->has_begun)
		memcpy(iv, c->first_iv, BLOCK);
	c->has_begun = true;
	return iv;
}

/* pkt, still or already encrypted, says where the next one goes on. */
static void note(struct ctx *c, struct pktc_at at, const uint8_t *pkt, size_t n)
{
	memcpy(c->iv[(at.packet + 1) % IVS], pkt + n - BLOCK, BLOCK);
}

static bool is_whole(size_t n)
{
	return n >= 4 + BLOCK && (n - 4) % BLOCK == 0;
}

static err_t length(void *ctx, struct pktc_at at, const uint8_t *first, uint32_t *packet_length)
{
	*packet_length = be32_get(first);
	return OK;
}

static err_t encrypt(struct ctx *c, struct pktc_at at, uint8_t *pkt, size_t n)
{
	if (!is_whole(n))
		return E_LENGTH;
	(void)iv_of(c, at); /* the cipher has it */
	TRY(cipher_crypt(c->seal, pkt + 4, pkt + 4, n - 4));
	note(c, at, pkt, n);
	return OK;
}

static err_t decrypt(struct ctx *c, struct pktc_at at, uint8_t *pkt, size_t n)
{
	if (!is_whole(n))
		return E_LENGTH;
	const uint8_t *iv = iv_of(c, at);
	note(c, at, pkt, n);
	return c->impl->decrypt(c->open, iv, pkt + 4, n - 4);
}

static void seal(void *ctx, struct pktc_at at, uint8_t *pkt, size_t n)
{
	struct ctx *c = ctx;
	if (encrypt(c, at, pkt, n) != OK || pktc_mac_tag(&c->mac, at.seq, pkt, n, pkt + n) != OK)
		pktc_spoil(pkt, n, c->mac.size);
}

static err_t open(void *ctx, struct pktc_at at, uint8_t *pkt, size_t n)
{
	struct ctx *c = ctx;
	err_t e = pktc_mac_check(&c->mac, at.seq, pkt, n, pkt + n);
	if (e == OK)
		e = decrypt(c, at, pkt, n);
	if (e != OK)
		wipe(pkt, n);
	return e;
}

static void seal_many(void *ctx, const struct pktc_one *v, size_t n)
{
	struct ctx *c = ctx;
	err_t e = OK;
	for (size_t i = 0; i < n && e == OK; i++)
		e = encrypt(c, v[i].at, v[i].pkt, v[i].n);
	if (e == OK)
		e = pktc_many_tag(&c->many, &c->mac, v, n);
	for (size_t i = 0; i < n && e != OK; i++)
		pktc_spoil(v[i].pkt, v[i].n, c->mac.size);
}

static size_t open_many(void *ctx, const struct pktc_one *v, size_t n)
{
	struct ctx *c = ctx;
	size_t right = pktc_many_check(&c->many, &c->mac, v, n);
	for (size_t i = 0; i < right; i++)
		if (decrypt(c, v[i].at, v[i].pkt, v[i].n) != OK)
			return i; /* open will meet the same fault */
	return right;
}

#define INIT(id, tag_n, many_n, shown)                                                             \
	static err_t init_##id(void *ctx, enum pktc_dir dir, struct cslice key, struct cslice iv,  \
		struct cslice mac_key)                                                             \
	{                                                                                          \
		struct ctx *c = ctx;                                                               \
		TRY(init(c, dir, key, iv));                                                        \
		TRY(pktc_mac_make(&c->mac, MACI_##id, mac_key));                                   \
		return pktc_many_make(&c->many, PICK_IPSECMB, MACI_##id, mac_key);                 \
	}
PKTC_MACS(INIT)

#define ROW(id, tag_n, many_n, shown)                                                              \
	[MACI_##id] = {                                                                            \
		.name = "aes-cbc and " shown "-etm by ipsec-mb",                                   \
		.ctx_size = sizeof(struct ctx),                                                    \
		.block = BLOCK,                                                                    \
		.tag = tag_n,                                                                      \
		.peek = 4,                                                                         \
		.clear_len = 4,                                                                    \
		.cost_block = BLOCK,                                                               \
		.many = many_n,                                                                    \
		.init = init_##id,                                                                 \
		.done = done,                                                                      \
		.length = length,                                                                  \
		.seal = seal,                                                                      \
		.open = open,                                                                      \
		.seal_many = many_n > 0 ? seal_many : NULL,                                        \
		.open_many = many_n > 0 ? open_many : NULL,                                        \
		.chain = chain,                                                                    \
	},

const struct pktc *pktc_cbc_row(enum mac_id mac)
{
	static const struct pktc rows[MACI_N] = {PKTC_MACS(ROW)};
	return rows[mac].name != NULL ? &rows[mac] : NULL;
}
