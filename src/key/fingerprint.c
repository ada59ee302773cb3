/* SPDX-License-Identifier: ISC */
/* fingerprint - hashes of public blobs as people compare them: base64, hex, syllables, picture */
#include <stdio.h>

#include "base/text.h"
#include "key/ops.h"

static err_t digest(const struct key *k, enum hash_id h, uint8_t d[HASH_MAX])
{
	struct buf blob;
	buf_init(&blob, KEY_BLOB_MAX);
	err_t e = key_blob(k, &blob);
	if (e == OK)
		e = hash_once(h, buf_bytes(&blob), d);
	buf_done(&blob);
	return e;
}

/* "sha256" -> "SHA256" */
static void put_hash_name(struct buf *out, enum hash_id h)
{
	for (const char *p = hash_name(h); *p != '\0'; p++)
		buf_put_u8(out, (uint8_t)(*p >= 'a' && *p <= 'z' ? *p - 'a' + 'A' : *p));
}

err_t key_fingerprint(const struct key *k, enum hash_id h, struct buf *out)
{
	uint8_t d[HASH_MAX];
	TRY(digest(k, h, d));
	size_t start = out->n, n = hash_size(h);
	put_hash_name(out, h);
	if (h == HASH_MD5) {
		for (size_t i = 0; i < n; i++)
			buf_printf(out, ":%02x", d[i]);
	} else {
		buf_put_u8(out, ':');
		base64_encode(out, cslice_of(d, n));
		while (out->err == OK && out->n > 0 && out->p[out->n - 1] == '=')
			out->n--;
	}
	if (buf_err(out) != OK)
		out->n = start;
	return buf_err(out);
}

/*
 * Bubble Babble: five-letter groups vowel-consonant-vowel-consonant, with a running checksum in the
 * vowels, framed by 'x'.  Digests here have an even number of bytes.
 */
err_t key_fingerprint_babble(const struct key *k, enum hash_id h, struct buf *out)
{
	static const char vowels[] = "aeiouy", consonants[] = "bcdfghklmnprstvzx";
	uint8_t d[HASH_MAX];
	TRY(digest(k, h, d));
	size_t start = out->n, n = hash_size(h);
	uint32_t sum = 1;
	buf_put_u8(out, 'x');
	for (size_t i = 0; i + 1 < n; i += 2) {
		uint32_t a = d[i], b = d[i + 1];
		buf_put_u8(out, (uint8_t)vowels[((a >> 6) + sum) % 6]);
		buf_put_u8(out, (uint8_t)consonants[a >> 2 & 15]);
		buf_put_u8(out, (uint8_t)vowels[((a & 3) + sum / 6) % 6]);
		buf_put_u8(out, (uint8_t)consonants[b >> 4]);
		buf_put_u8(out, '-');
		buf_put_u8(out, (uint8_t)consonants[b & 15]);
		sum = (sum * 5 + a * 7 + b) % 36;
	}
	buf_put_u8(out, (uint8_t)vowels[sum % 6]);
	buf_put_u8(out, 'x'); /* the consonant that stands for "even length" */
	buf_put_u8(out, (uint8_t)vowels[sum / 6]);
	buf_put_u8(out, 'x');
	if (buf_err(out) != OK)
		out->n = start;
	return buf_err(out);
}

/* ---- the picture: a walk over a board, each pair of digest bits one diagonal step
 * ------------------------------ */
#define BOARD_X 17
#define BOARD_Y 9

static void put_border(struct buf *out, const char *title)
{
	size_t n = strlen(title), left = n < BOARD_X ? (BOARD_X - n) / 2 : 0;
	buf_put_u8(out, '+');
	for (size_t i = 0; i < left; i++)
		buf_put_u8(out, '-');
	buf_put(out, title, n);
	for (size_t i = left + n; i < BOARD_X; i++)
		buf_put_u8(out, '-');
	buf_put_u8(out, '+');
}

static size_t step(size_t at, bool forward, size_t size)
{
	if (forward)
		return at + 1 < size ? at + 1 : at;
	return at > 0 ? at - 1 : 0;
}

err_t key_randomart(const struct key *k, enum hash_id h, struct buf *out)
{
	static const char ink[] = " .o+=*BOX@%&#/^SE";
	const uint8_t start_mark = sizeof(ink) - 3, end_mark = sizeof(ink) - 2;
	uint8_t d[HASH_MAX], visits[BOARD_Y][BOARD_X] = {{0}};
	size_t x = BOARD_X / 2, y = BOARD_Y / 2, begin = out->n;
	TRY(digest(k, h, d));
	for (size_t i = 0; i < hash_size(h); i++) {
		for (unsigned shift = 0; shift < 8; shift += 2) {
			x = step(x, (d[i] >> shift & 1) != 0, BOARD_X);
			y = step(y, (d[i] >> shift & 2) != 0, BOARD_Y);
			if (visits[y][x] < start_mark - 1)
				visits[y][x]++;
		}
	}
	visits[BOARD_Y / 2][BOARD_X / 2] = start_mark;
	visits[y][x] = end_mark;
	char title[32];
	int n = snprintf(title, sizeof(title), "[%s %u]", key_shown(k), key_bits(k));
	if (n < 0 || n > BOARD_X)
		(void)snprintf(title, sizeof(title), "[%s]", key_shown(k));
	put_border(out, title);
	for (size_t row = 0; row < BOARD_Y; row++) {
		buf_put(out, "\n|", 2);
		for (size_t col = 0; col < BOARD_X; col++)
			buf_put_u8(out, (uint8_t)ink[visits[row][col]]);
		buf_put_u8(out, '|');
	}
	buf_put_u8(out, '\n');
	struct buf name;
	buf_init(&name, 32);
	buf_put_u8(&name, '[');
	put_hash_name(&name, h);
	buf_put(&name, "]", 2); /* with the NUL */
	err_t e = buf_err(&name);
	if (e == OK) {
		put_border(out, (const char *)name.p);
		buf_put_u8(out, '\n');
		e = buf_err(out);
	}
	buf_done(&name);
	if (e != OK)
		out->n = begin;
	return e;
}
