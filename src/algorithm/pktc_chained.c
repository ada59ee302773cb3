/* SPDX-License-Identifier: ISC */
/*
 * pktc_chained - CBC ciphers and arcfour with any MAC, encrypt-then-MAC or plain
 *
 * What a packet decrypts to depends on the packets before it, so the cipher's state goes on from
 * call to call and packets run in order.  For the hand-over to another context, CBC tells the last
 * block of cipher text as its next IV, and arcfour skips key stream until it stands at the block
 * that the place of the packet names.
 *
 * Plain: the first block is decrypted for its length and kept here until open comes for the rest.
 * That length is believed before the MAC is checked; how the engine keeps what becomes of it from
 * telling anything is written down in pktc_ctr.c and in packet_in.c.  With CBC it is graver than
 * with CTR: any block seen before can be put there and its clear text asked for.
 */
#include "algorithm/pktc_mac.h"
#include "algorithm/pktc_rows.h"

#define BLOCK_MAX 16
#define SKIP_MAX  (((uint64_t)1 << 27) + 65536) /* blocks; rekeying by volume comes at 1 GiB */

struct ctx {
	struct cipher *cipher;
	struct pktc_mac mac;
	uint64_t stands_at; /* stream: blocks of the packets that are done */
	uint8_t block;
	bool is_stream, has_first;
	uint8_t first[BLOCK_MAX]; /* decrypted by length, not yet asked for by open */
	uint8_t iv[BLOCK_MAX];    /* of the next packet */
};

struct kind {
	enum cipher_id id; /* AES: by the size of the key */
	uint16_t drop;     /* bytes of key stream that are thrown away */
};

static const struct kind kinds[PROT_N] = {
	[PROT_AES_CBC] = {CIPHER_AES128_CBC, 0},
	[PROT_3DES_CBC] = {CIPHER_3DES_CBC, 0},
	[PROT_BLOWFISH_CBC] = {CIPHER_BLOWFISH_CBC, 0},
	[PROT_CAST128_CBC] = {CIPHER_CAST128_CBC, 0},
	[PROT_ARCFOUR] = {CIPHER_ARCFOUR, 0},
	[PROT_ARCFOUR_1536] = {CIPHER_ARCFOUR, 1536}, /* RFC4345 4 */
};

static err_t drop(struct cipher *cipher, uint64_t n)
{
	uint8_t waste[1024] = {0};
	err_t e = OK;
	for (size_t part; e == OK && n > 0; n -= part) {
		part = (size_t)(n < sizeof(waste) ? n : sizeof(waste));
		e = cipher_crypt(cipher, waste, waste, part);
	}
	wipe(waste, sizeof(waste));
	return e;
}

static err_t init(
	struct ctx *c, enum prot_id prot, enum pktc_dir dir, struct cslice key, struct cslice iv)
{
	enum cipher_id id = kinds[prot].id;
	if (prot == PROT_AES_CBC) {
		static const enum cipher_id by_size[] = {
			CIPHER_AES128_CBC, CIPHER_AES192_CBC, CIPHER_AES256_CBC};
		if (key.n != 16 && key.n != 24 && key.n != 32)
			return E_BUG;
		id = by_size[key.n / 8 - 2];
	}
	TRY(cipher_new(&c->cipher, id, key, iv, dir == PKTC_SEAL));
	c->is_stream = id == CIPHER_ARCFOUR;
	c->block = c->is_stream ? 8 : (uint8_t)cipher_block(id); /* RFC4253 6: 8 at least */
	if (iv.n > 0)
		memcpy(c->iv, iv.p, iv.n);
	return drop(c->cipher, kinds[prot].drop);
}

static void done(void *ctx)
{
	struct ctx *c = ctx;
	pktc_mac_done(&c->mac);
	cipher_free(c->cipher);
	wipe(c, sizeof(*c));
}

static void chain(const void *ctx, struct pktc_at at, uint8_t *iv)
{
	const struct ctx *c = ctx;
	memcpy(iv, c->iv, c->block);
}

/* ---- where the cipher stands ---- */

/* Before the first byte of a packet. */
static err_t come_to(struct ctx *c, struct pktc_at at)
{
	if (!c->is_stream || c->stands_at == at.block)
		return OK;
	if (at.block < c->stands_at || at.block - c->stands_at > SKIP_MAX)
		return E_BUG;
	TRY(drop(c->cipher, (at.block - c->stands_at) * c->block));
	c->stands_at = at.block;
	return OK;
}

/* After the last one of n; last is the end of its cipher text. */
static void go_on(struct ctx *c, const uint8_t *last, size_t n)
{
	c->stands_at += n / c->block;
	memcpy(c->iv, last, c->block);
}

/* Does a packet's part that is encrypted consist of blocks, one at least? */
static bool is_whole(const struct ctx *c, size_t n)
{
	return n >= c->block && n % c->block == 0;
}

/* ---- encrypt-then-MAC ---- */

static err_t etm_length(void *ctx, struct pktc_at at, const uint8_t *first, uint32_t *packet_length)
{
	*packet_length = be32_get(first);
	return OK;
}

static void etm_seal(void *ctx, struct pktc_at at, uint8_t *pkt, size_t n)
{
	struct ctx *c = ctx;
	if (!is_whole(c, n - 4) || come_to(c, at) != OK ||
		cipher_crypt(c->cipher, pkt + 4, pkt + 4, n - 4) != OK ||
		pktc_mac_tag(&c->mac, at.seq, pkt, n, pkt + n) != OK) {
		pktc_spoil(pkt, n, c->mac.size);
		return;
	}
	go_on(c, pkt + n - c->block, n - 4);
}

static err_t etm_open(void *ctx, struct pktc_at at, uint8_t *pkt, size_t n)
{
	struct ctx *c = ctx;
	uint8_t last[BLOCK_MAX] = {0};
	err_t e = pktc_mac_check(&c->mac, at.seq, pkt, n, pkt + n);
	if (e == OK && !is_whole(c, n - 4))
		e = E_LENGTH;
	if (e == OK)
		e = come_to(c, at);
	if (e == OK) {
		memcpy(last, pkt + n - c->block, c->block);
		e = cipher_crypt(c->cipher, pkt + 4, pkt + 4, n - 4);
	}
	if (e != OK)
		wipe(pkt, n);
	else
		go_on(c, last, n - 4);
	return e;
}

/* ---- plain MAC ---- */

static err_t plain_length(
	void *ctx, struct pktc_at at, const uint8_t *first, uint32_t *packet_length)
{
	struct ctx *c = ctx;
	TRY(come_to(c, at));
	TRY(cipher_crypt(c->cipher, first, c->first, c->block));
	c->has_first = true;
	*packet_length = be32_get(c->first);
	return OK;
}

static void plain_seal(void *ctx, struct pktc_at at, uint8_t *pkt, size_t n)
{
	struct ctx *c = ctx;
	if (!is_whole(c, n) || come_to(c, at) != OK ||
		pktc_mac_tag(&c->mac, at.seq, pkt, n, pkt + n) != OK ||
		cipher_crypt(c->cipher, pkt, pkt, n) != OK) {
		pktc_spoil(pkt, n, c->mac.size);
		return;
	}
	go_on(c, pkt + n - c->block, n);
}

/* Decrypts what length has left, and puts its block in front. */
static err_t plain_decrypt(struct ctx *c, struct pktc_at at, uint8_t *pkt, size_t n)
{
	if (!is_whole(c, n))
		return E_LENGTH;
	size_t have = c->has_first ? c->block : 0;
	if (have == 0)
		TRY(come_to(c, at));
	TRY(cipher_crypt(c->cipher, pkt + have, pkt + have, n - have));
	memcpy(pkt, c->first, have);
	return OK;
}

static err_t plain_open(void *ctx, struct pktc_at at, uint8_t *pkt, size_t n)
{
	struct ctx *c = ctx;
	uint8_t last[BLOCK_MAX] = {0};
	if (n >= c->block)
		memcpy(last, pkt + n - c->block, c->block);
	err_t e = plain_decrypt(c, at, pkt, n);
	if (e == OK)
		e = pktc_mac_check(&c->mac, at.seq, pkt, n, pkt + n);
	if (e != OK)
		wipe(pkt, n);
	else
		go_on(c, last, n);
	wipe(c->first, sizeof(c->first));
	c->has_first = false;
	return e;
}

/* ---- rows ---- */

/* Ciphers: id, block, name, its chain.  A row's init knows what the row is, since a context starts
 * empty. */
#define CIPHERS(X)                                                                                 \
	X(AES_CBC, 16, "aes-cbc", chain)                                                           \
	X(3DES_CBC, 8, "3des-cbc", chain)                                                          \
	X(BLOWFISH_CBC, 8, "blowfish-cbc", chain)                                                  \
	X(CAST128_CBC, 8, "cast128-cbc", chain)                                                    \
	X(ARCFOUR, 8, "arcfour", NULL)                                                             \
	X(ARCFOUR_1536, 8, "arcfour past 1536 bytes", NULL)

#define INIT(id, tag_n, many_n, mac_shown, cipher, block_n, shown, chain_fn)                       \
	static err_t init_##cipher##_##id(void *ctx, enum pktc_dir dir, struct cslice key,         \
		struct cslice iv, struct cslice mac_key)                                           \
	{                                                                                          \
		struct ctx *c = ctx;                                                               \
		TRY(init(c, PROT_##cipher, dir, key, iv));                                         \
		return pktc_mac_make(&c->mac, MACI_##id, mac_key);                                 \
	}
#define INITS(...) PKTC_MACS(INIT, __VA_ARGS__)
CIPHERS(INITS)

#define ROW(cipher, block_n, shown, chain_fn, id, tag_n, mode, peek_n, clear)                      \
	{                                                                                          \
		.name = shown " by libcrypto", .ctx_size = sizeof(struct ctx), .block = block_n,   \
		.tag = tag_n, .peek = peek_n, .clear_len = clear, .cost_block = block_n,           \
		.init = init_##cipher##_##id, .done = done, .length = mode##_length,               \
		.seal = mode##_seal, .open = mode##_open, .chain = chain_fn,                       \
	}
#define MAC_ROWS(id, tag_n, many_n, mac_shown, cipher, block_n, shown, chain_fn)                   \
	[MACI_##id] = {                                                                            \
		ROW(cipher, block_n, shown " and " mac_shown, chain_fn, id, tag_n, plain, block_n, \
			0),                                                                        \
		ROW(cipher, block_n, shown " and " mac_shown "-etm", chain_fn, id, tag_n, etm, 4,  \
			4),                                                                        \
	},
#define ROWS(cipher, ...) [PROT_##cipher] = {PKTC_MACS(MAC_ROWS, cipher, __VA_ARGS__)},

const struct pktc *pktc_chained_row(enum prot_id prot, enum mac_id mac, bool is_etm)
{
	static const struct pktc rows[PROT_N][MACI_N][2] = {CIPHERS(ROWS)};
	const struct pktc *row = &rows[prot][mac][is_etm ? 1 : 0];
	return row->name != NULL ? row : NULL;
}
