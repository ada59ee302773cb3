/* SPDX-License-Identifier: ISC */
/*
 * umac - UMAC-64 and UMAC-128 (RFC 4418) with AES-128, for messages up to 2^24 bytes
 *
 * A tag is two or four independent 32-bit hashes ("streams") whose keys overlap, xor a pad made
 * from the nonce:
 *
 *     L1  NH over blocks of 1024 bytes: one 32x32-bit product for 8 bytes and stream (umac_nh.c)
 *     L2  a polynomial over the L1 results modulo 2^64 - 59; left out when there is one block
 *     L3  down to 32 bits, modulo 2^36 - 5
 *
 * Up to 2^24 bytes, only the 64-bit half of L2 is ever used (5.4.1), and the upper 8 bytes of what
 * goes into L3 are zero; so the keys for the other halves are skipped.  Constant time in key, nonce
 * and message.
 */
#include <stdlib.h>

#include "crypto/crypto.h"
#include "crypto/own/umac_nh.h"
#include "crypto/own/umac_poly.h"

#define BLOCK       1024
#define CHUNK       UMAC_CHUNK
#define STREAMS     4
#define MESSAGE_MAX ((size_t)1 << 24)
#define NH_KEY      (BLOCK + 16 * (STREAMS - 1))
#define POLY_MASK   0x01ffffff01ffffff

struct umac {
	size_t tag_n, streams;
	umac_nh_fn *nh;
	uint32_t nh_key[NH_KEY / 4];
	uint64_t poly_key[STREAMS];
	uint64_t l3_key[STREAMS][4];
	uint32_t l3_xor[STREAMS];
	/* the pad: CBC with the last output remembered gives single blocks of AES */
	struct cipher *aes;
	uint8_t aes_last[16];
	uint8_t pad_nonce[8], pad[16];
	bool has_pad;
};

struct message {
	uint64_t nh[STREAMS], poly[STREAMS];
	size_t at; /* bytes in this block, a multiple of CHUNK until the end */
	bool is_long;
	uint8_t chunk[CHUNK];
	size_t chunk_n;
};

/* RFC 4418 3.2.1: KDF is AES in counter mode, the index in the upper half of the counter block. */
static err_t kdf(const uint8_t key[16], uint8_t index, uint8_t *out, size_t n)
{
	uint8_t iv[16] = {[7] = index, [15] = 1};
	struct cipher *c;

	TRY(cipher_new(&c, CIPHER_AES128_CTR, cslice_of(key, 16), cslice_of(iv, 16), true));
	memset(out, 0, n);
	err_t e = cipher_crypt(c, out, out, n);
	cipher_free(c);
	return e;
}

static err_t keys_new(struct umac *u, const uint8_t key[16])
{
	struct {
		uint8_t nh[NH_KEY], poly[24 * STREAMS], l3[64 * STREAMS], l3_xor[4 * STREAMS],
			aes[16];
	} w;
	const uint8_t zero[16] = {0};
	err_t e;

	if ((e = kdf(key, 1, w.nh, sizeof(w.nh))) == OK &&
		(e = kdf(key, 2, w.poly, sizeof(w.poly))) == OK &&
		(e = kdf(key, 3, w.l3, sizeof(w.l3))) == OK &&
		(e = kdf(key, 4, w.l3_xor, sizeof(w.l3_xor))) == OK &&
		(e = kdf(key, 0, w.aes, sizeof(w.aes))) == OK) {
		for (size_t i = 0; i < NH_KEY / 4; i++)
			u->nh_key[i] = be32_get(w.nh + 4 * i);
		for (size_t s = 0; s < STREAMS; s++) {
			u->poly_key[s] = be64_get(w.poly + 24 * s) & POLY_MASK;
			for (size_t i = 0; i < 4; i++)
				u->l3_key[s][i] = p36_reduce(be64_get(w.l3 + 64 * s + 8 * (i + 4)));
			u->l3_xor[s] = be32_get(w.l3_xor + 4 * s);
		}
		e = cipher_new(&u->aes, CIPHER_AES128_CBC, cslice_of(w.aes, 16),
			cslice_of(zero, 16), true);
	}
	wipe(&w, sizeof(w));
	return e;
}

err_t umac_new(struct umac **out, size_t tag_n, const uint8_t key[16])
{
	if (tag_n != 8 && tag_n != 16)
		return E_UNSUPPORTED;
	struct umac *u = calloc(1, sizeof(*u));
	if (u == NULL)
		return E_MEM;
	u->tag_n = tag_n;
	u->streams = tag_n / 4;
	u->nh = umac_nh_pick(u->streams);
	err_t e = keys_new(u, key);
	if (e != OK) {
		umac_free(u);
		return e;
	}
	*out = u;
	return OK;
}

void umac_free(struct umac *u)
{
	if (u == NULL)
		return;
	cipher_free(u->aes);
	wipe_free(u, sizeof(*u));
}

static void nh(const struct umac *u, struct message *msg, const uint8_t *m, size_t n)
{
	u->nh(msg->nh, u->nh_key + msg->at / 4, m, n);
	msg->at += n;
}

/* The end of a block: what NH gives plus the length in bits, then L2. */
static void block_end(const struct umac *u, struct message *msg, size_t bytes)
{
	for (size_t s = 0; s < u->streams; s++) {
		uint64_t sum = msg->nh[s] + 8 * (uint64_t)bytes;
		msg->poly[s] = msg->is_long ? poly_step(u->poly_key[s], msg->poly[s], sum) : sum;
		msg->nh[s] = 0;
	}
	msg->at = 0;
}

static void chunk_add(const struct umac *u, struct message *msg, struct cslice *in)
{
	size_t take = num_min(CHUNK - msg->chunk_n, in->n);

	memcpy(msg->chunk + msg->chunk_n, in->p, take);
	msg->chunk_n += take;
	*in = cslice_of(in->p + take, in->n - take);
	if (msg->chunk_n < CHUNK)
		return;
	nh(u, msg, msg->chunk, CHUNK);
	msg->chunk_n = 0;
}

static void absorb(const struct umac *u, struct message *msg, struct cslice in)
{
	while (in.n > 0) {
		/* a full block ends when more follows: the last one is ended by hash_end */
		if (msg->at == BLOCK)
			block_end(u, msg, BLOCK);
		if (msg->chunk_n > 0 || in.n < CHUNK) {
			chunk_add(u, msg, &in);
			continue;
		}
		size_t take = num_min(BLOCK - msg->at, in.n & ~(size_t)(CHUNK - 1));
		nh(u, msg, in.p, take);
		in = cslice_of(in.p + take, in.n - take);
	}
}

static void absorb_end(const struct umac *u, struct message *msg, size_t total)
{
	size_t bytes = msg->at + msg->chunk_n;

	/* 5.2: zeros up to a multiple of 32 bytes, at least 32 */
	if (msg->chunk_n > 0 || total == 0) {
		memset(msg->chunk + msg->chunk_n, 0, CHUNK - msg->chunk_n);
		nh(u, msg, msg->chunk, CHUNK);
	}
	block_end(u, msg, bytes);
}

/* 5.5, L3-HASH of a word (the upper half of its input is zero) */
static uint32_t l3(const struct umac *u, size_t s, uint64_t word)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < 4; i++)
		sum += (word >> 16 * (3 - i) & 0xffff) * u->l3_key[s][i];
	return (uint32_t)p36_reduce(sum) ^ u->l3_xor[s];
}

/* 3.3.1, PDF: two tags of 8 bytes share one block of AES, so the block is kept. */
static err_t pad_make(struct umac *u, const uint8_t nonce[8], uint8_t pad[16])
{
	uint8_t block[16] = {0}, plain[16];
	size_t index = u->tag_n == 8 ? nonce[7] & 1U : 0;

	memcpy(block, nonce, 8);
	block[7] = (uint8_t)(block[7] - index);
	if (!u->has_pad || memcmp(u->pad_nonce, block, 8) != 0) {
		for (size_t i = 0; i < 16; i++)
			plain[i] = block[i] ^ u->aes_last[i];
		u->has_pad = false;
		TRY(cipher_crypt(u->aes, plain, u->pad, 16));
		memcpy(u->aes_last, u->pad, 16);
		memcpy(u->pad_nonce, block, 8);
		u->has_pad = true;
	}
	memcpy(pad, u->pad + u->tag_n * index, u->tag_n);
	return OK;
}

err_t umac_tag(struct umac *u, const uint8_t nonce[8], const struct cslice *parts, size_t parts_n,
	uint8_t *out)
{
	struct message msg = {.poly = {1, 1, 1, 1}};
	uint8_t pad[16];
	size_t total = 0;

	for (size_t i = 0; i < parts_n; i++)
		TRY(num_add(total, parts[i].n, &total));
	if (total > MESSAGE_MAX)
		return E_LIMIT;
	TRY(pad_make(u, nonce, pad));
	msg.is_long = total > BLOCK;
	for (size_t i = 0; i < parts_n; i++)
		absorb(u, &msg, parts[i]);
	absorb_end(u, &msg, total);
	for (size_t s = 0; s < u->streams; s++) {
		uint64_t word = msg.is_long ? poly_reduce(msg.poly[s]) : msg.poly[s];
		be32_put(out + 4 * s, be32_get(pad + 4 * s) ^ l3(u, s, word));
	}
	wipe(&msg, sizeof(msg));
	wipe(pad, sizeof(pad));
	return OK;
}
