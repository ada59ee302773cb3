/* SPDX-License-Identifier: ISC */
/*
 * alg_advice - what a user is told about the names of algorithms
 *
 * The name that was meant, what is old in an agreement, and whether this system's library has what
 * a row needs.
 */
#include "algorithm/alg.h"

#define WORD_MAX 64

/* ---- the name that was meant ---- */

/* Hyphens of typesetting in UTF-8: word processors put them into commands that are copied. */
static const char *const hyphens[] = {"\xe2\x80\x90", "\xe2\x80\x91", "\xe2\x80\x92",
	"\xe2\x80\x93", "\xe2\x80\x94", "\xe2\x80\x95", "\xe2\x88\x92", "\xef\xb9\xa3",
	"\xef\xbc\x8d", "\xc2\xad"};

static size_t hyphen_at(struct cslice s)
{
	for (size_t i = 0; i < ARRAY_N(hyphens); i++) {
		size_t n = strlen(hyphens[i]);
		if (s.n >= n && memcmp(s.p, hyphens[i], n) == 0)
			return n;
	}
	return 0;
}

/* The word with plain hyphens; empty when it is too long for any name. */
static struct cslice plain_word(struct cslice word, uint8_t out[WORD_MAX])
{
	size_t n = 0;
	while (word.n > 0 && n < WORD_MAX) {
		size_t step = hyphen_at(word);
		out[n++] = step > 0 ? '-' : word.p[0];
		step = step > 0 ? step : 1;
		word = cslice_of(word.p + step, word.n - step);
	}
	return cslice_of(out, word.n > 0 ? 0 : n);
}

/* How far a name is from one of which only the beginning was written; 0 = it is none. */
static uint32_t beginning_cost(struct cslice begin, const struct alg_name *name)
{
	size_t n = strlen(name->name);
	if (begin.n < 3 || n <= begin.n || memcmp(name->name, begin.p, begin.n) != 0)
		return 0;
	bool is_word = strchr("-@", name->name[begin.n]) != NULL;
	return (is_word ? 1 : 10000) + (name->rank != 0 ? name->rank : 1000);
}

const char *alg_nearest(enum alg_kind kind, struct cslice name)
{
	const char *names[128];
	uint8_t plain[WORD_MAX];
	struct alg_name row;
	const char *best = NULL;
	uint32_t least = UINT32_MAX;
	size_t n = 0;
	struct cslice word = plain_word(name, plain);
	for (size_t i = 0; n < ARRAY_N(names) && alg_name_at(kind, i, &row); i++) {
		uint32_t cost = beginning_cost(word, &row);
		names[n++] = row.name;
		if (cost != 0 && cost < least) {
			least = cost;
			best = row.name;
		}
	}
	const char *near = word.n > 0 ? text_nearest(word, names, n) : NULL;
	return near != NULL ? near : best;
}

/* ---- what the library has ---- */

bool alg_is_there(enum alg_kind kind, struct cslice name)
{
	const struct alg_cipher *cipher = kind == ALG_CIPHER ? alg_cipher_find(name) : NULL;
	const struct alg_mac *mac = kind == ALG_MAC ? alg_mac_find(name) : NULL;
	if (mac != NULL && mac->mac == MACI_HMAC_RIPEMD160)
		return hash_is_there(HASH_RIPEMD160);
	if (cipher == NULL)
		return true;
	switch (cipher->prot) {
	case PROT_BLOWFISH_CBC:
		return cipher_is_there(CIPHER_BLOWFISH_CBC);
	case PROT_CAST128_CBC:
		return cipher_is_there(CIPHER_CAST128_CBC);
	case PROT_ARCFOUR:
	case PROT_ARCFOUR_1536:
		return cipher_is_there(CIPHER_ARCFOUR);
	default:
		return true;
	}
}

/* ---- what is old in an agreement ---- */

static void put_old(struct buf *out, const char *what, const char *name, uint32_t flags)
{
	if ((flags & AF_LEGACY) != 0)
		buf_printf(out, "%s%s %s", out->n > 0 ? ", " : "", what, name);
}

void alg_legacy_names(const struct alg_choice *c, struct buf *out)
{
	put_old(out, "key exchange", c->kex->name, c->kex->flags);
	put_old(out, "host key signature", c->hostkey->name, c->hostkey->flags);
	put_old(out, "cipher", c->c2s.cipher->name, c->c2s.cipher->flags);
	if (c->s2c.cipher != c->c2s.cipher)
		put_old(out, "cipher", c->s2c.cipher->name, c->s2c.cipher->flags);
	if (c->c2s.mac != NULL)
		put_old(out, "MAC", c->c2s.mac->name, c->c2s.mac->flags);
	if (c->s2c.mac != NULL && c->s2c.mac != c->c2s.mac)
		put_old(out, "MAC", c->s2c.mac->name, c->s2c.mac->flags);
}
