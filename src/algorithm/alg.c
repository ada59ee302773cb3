/* SPDX-License-Identifier: ISC */
/*
 * alg - the tables of algorithms, and the lists of names made from them
 *
 * The five tables have different rows but the lists need the same three things of each: name, rank,
 * flags.  So every table is seen through a struct alg_name made at the same place from the same
 * .def file.
 */
#include "algorithm/alg.h"
#include "crypto/pick.h"

#define CIPHER(name, prot, key, iv, block, flags, rank, bits, source)                              \
	{name, prot, key, iv, block, flags, rank, bits, source},
const struct alg_cipher alg_ciphers[] = {
#include "algorithm/cipher.def"
};
#undef CIPHER

#define MAC(name, mac, key, tag, flags, rank, source) {name, mac, key, tag, flags, rank, source},
const struct alg_mac alg_macs[] = {
#include "algorithm/mac.def"
};
#undef MAC

#define COMP(name, comp, source) {name, comp, source},
const struct alg_comp alg_comps[] = {
#include "algorithm/compression.def"
};
#undef COMP

#define KEX(name, family, parameter, hash, flags, rank, source)                                    \
	{name, family, parameter, hash, flags, rank, source},
const struct alg_kex alg_kexes[] = {
#include "algorithm/kex.def"
};
#undef KEX

#define HOSTKEY(name, type, hash, flags, rank, source) {name, type, hash, flags, rank, source},
#define HOSTCERT(name, type, hash, flags, rank, source)                                            \
	{name, type, hash, (flags) | AF_CERT, rank, source},
const struct alg_hostkey alg_hostkeys[] = {
#include "algorithm/hostkey.def"
};
#undef HOSTCERT
#define HOSTCERT(...)
static const struct alg_hostkey signatures[] = {
#include "algorithm/hostkey.def"
};
#undef HOSTCERT
#undef HOSTKEY

const size_t alg_ciphers_n = ARRAY_N(alg_ciphers), alg_macs_n = ARRAY_N(alg_macs),
	     alg_comps_n = ARRAY_N(alg_comps), alg_kexes_n = ARRAY_N(alg_kexes),
	     alg_hostkeys_n = ARRAY_N(alg_hostkeys);

static size_t rows_of(enum alg_kind kind)
{
	const size_t n[ALG_KIND_N] = {[ALG_KEX] = alg_kexes_n,
		[ALG_HOSTKEY] = alg_hostkeys_n,
		[ALG_SIGNATURE] = ARRAY_N(signatures),
		[ALG_CIPHER] = alg_ciphers_n,
		[ALG_MAC] = alg_macs_n,
		[ALG_COMPRESSION] = alg_comps_n};
	return n[kind];
}

static struct alg_name row_at(enum alg_kind kind, size_t i)
{
	switch (kind) {
	case ALG_KEX:
		return (struct alg_name){alg_kexes[i].name, alg_kexes[i].flags, alg_kexes[i].rank};
	case ALG_HOSTKEY:
		return (struct alg_name){
			alg_hostkeys[i].name, alg_hostkeys[i].flags, alg_hostkeys[i].rank};
	case ALG_SIGNATURE:
		return (struct alg_name){
			signatures[i].name, signatures[i].flags, signatures[i].rank};
	case ALG_CIPHER:
		return (struct alg_name){
			alg_ciphers[i].name, alg_ciphers[i].flags, alg_ciphers[i].rank};
	case ALG_MAC:
		return (struct alg_name){alg_macs[i].name, alg_macs[i].flags, alg_macs[i].rank};
	default: /* compression: the order of the table is the default */
		return (struct alg_name){alg_comps[i].name, 0, (uint16_t)(i + 1)};
	}
}

/* ---- lists of names ---- */

bool alg_name_at(enum alg_kind kind, size_t i, struct alg_name *out)
{
	if (i >= rows_of(kind))
		return false;
	*out = row_at(kind, i);
	return true;
}

void alg_names(enum alg_kind kind, bool lines, struct buf *out)
{
	for (size_t i = 0; i < rows_of(kind); i++) {
		if (!lines && i > 0)
			buf_put_u8(out, ',');
		buf_printf(out, lines ? "%s\n" : "%s", row_at(kind, i).name);
	}
}

bool alg_known(enum alg_kind kind, struct cslice name)
{
	for (size_t i = 0; i < rows_of(kind); i++)
		if (cslice_eq_str(name, row_at(kind, i).name))
			return true;
	return false;
}

/* Appends one name to the list that begins at `from` in out, unless it is there. */
static void add_name(struct buf *out, size_t from, struct cslice name)
{
	struct cslice list = {NULL, 0};
	if (out->n > from) /* an empty buf has no memory to point into */
		list = cslice_of(out->p + from, out->n - from);
	if (buf_err(out) != OK || list_has(list, name))
		return;
	if (list.n > 0)
		buf_put_u8(out, ',');
	buf_put(out, name.p, name.n);
}

/* The row of the default list that comes after rank `last`; false at the end. */
static bool next_rank(enum alg_kind kind, bool is_server, uint16_t last, struct alg_name *out)
{
	struct alg_name best = {.rank = UINT16_MAX};
	for (size_t i = 0; i < rows_of(kind); i++) {
		struct alg_name r = row_at(kind, i);
		bool offered =
			r.rank != 0 && !(kind == ALG_KEX && is_server && !(r.flags & AF_SERVER));
		if (offered && r.rank > last && r.rank < best.rank)
			best = r;
	}
	if (best.name == NULL)
		return false;
	*out = best;
	return true;
}

/* Appends the default list to the list at `from`, without the names that `except` (patterns) takes
 * away. */
static void add_default(
	enum alg_kind kind, bool is_server, struct cslice except, struct buf *out, size_t from)
{
	struct alg_name r = {.rank = 0};
	while (next_rank(kind, is_server, r.rank, &r))
		if (glob_match_list(except, cslice_str(r.name)) != PATTERN_MATCH)
			add_name(out, from, cslice_str(r.name));
}

void alg_default(enum alg_kind kind, bool is_server, struct buf *out)
{
	add_default(kind, is_server, (struct cslice){NULL, 0}, out, out->n);
}

/* Appends what one word of a user's list means: itself, or the rows that a pattern of a key list
 * matches. */
static err_t add_word(enum alg_kind kind, struct cslice word, struct buf *out, size_t from)
{
	bool found = false;
	for (size_t i = 0; i < rows_of(kind); i++) {
		struct cslice name = cslice_str(row_at(kind, i).name);
		bool has_patterns = kind == ALG_HOSTKEY || kind == ALG_SIGNATURE;
		if (has_patterns ? glob_match(word, name) : cslice_eq(word, name)) {
			add_name(out, from, name);
			found = true;
		}
	}
	return found ? OK : E_NAME;
}

/* Are all words known?  Every comma stands between two words. */
static bool words_known(enum alg_kind kind, struct cslice list, struct cslice *bad)
{
	struct cslice word = {list.p, 0};
	if (list.n == 0 || list.p[list.n - 1] == ',') {
		*bad = word;
		return false;
	}
	struct buf scratch;
	buf_init(&scratch, SIZE_MAX / 2);
	bool known = true;
	while (known && list_next(&list, &word))
		known = add_word(kind, word, &scratch, 0) == OK;
	buf_done(&scratch);
	if (!known)
		*bad = word;
	return known;
}

static void add_words(enum alg_kind kind, struct cslice list, struct buf *out, size_t from)
{
	struct cslice word;
	while (list_next(&list, &word))
		if (add_word(kind, word, out, from) != OK)
			out->err = E_BUG; /* words_known has seen it */
}

err_t alg_list_apply(
	enum alg_kind kind, bool is_server, struct cslice spec, struct buf *out, struct cslice *bad)
{
	static const struct cslice nothing = {NULL, 0};
	size_t from = out->n;
	char sign = spec.n > 0 && memchr("+-^", spec.p[0], 3) != NULL ? (char)spec.p[0] : '=';
	struct cslice list = sign == '=' ? spec : cslice_of(spec.p + 1, spec.n - 1);
	if (sign == '-') {
		add_default(kind, is_server, list, out, from);
		return buf_err(out);
	}
	if (!words_known(kind, list, bad))
		return E_NAME;
	if (sign == '+')
		add_default(kind, is_server, nothing, out, from);
	add_words(kind, list, out, from);
	if (sign == '^')
		add_default(kind, is_server, nothing, out, from);
	return buf_err(out);
}

void alg_plain_names(const char *list, struct buf *out)
{
	struct cslice rest = cslice_str(list), name;
	size_t from = out->n;
	while (list_next(&rest, &name)) {
		bool is_cert = true;
		if (key_alg_sig(name, &is_cert).n > 0 && !is_cert)
			add_name(out, from, name);
	}
}

void alg_client_cipher_default(struct buf *out)
{
	size_t from = out->n;
	for (size_t i = 0; i < alg_ciphers_n && cpu_has_aes(); i++)
		if (alg_ciphers[i].prot == PROT_AES128_GCM ||
			alg_ciphers[i].prot == PROT_AES256_GCM)
			add_name(out, from, cslice_str(alg_ciphers[i].name));
	add_default(ALG_CIPHER, false, (struct cslice){NULL, 0}, out, from);
}

/* ---- look-ups ---- */

#define FIND(type, table)                                                                          \
	const struct alg_##type *alg_##type##_find(struct cslice name)                             \
	{                                                                                          \
		for (size_t i = 0; i < ARRAY_N(table); i++)                                        \
			if (cslice_eq_str(name, table[i].name))                                    \
				return &table[i];                                                  \
		return NULL;                                                                       \
	}

FIND(cipher, alg_ciphers)
FIND(mac, alg_macs)
FIND(comp, alg_comps)
FIND(kex, alg_kexes)
FIND(hostkey, alg_hostkeys)
