/* SPDX-License-Identifier: ISC */
/* text - base64, name lists, patterns, safe printing */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

static const char base64_alphabet[] =
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void base64_encode(struct buf *out, struct cslice in)
{
	for (size_t at = 0; at < in.n; at += 3) {
		size_t n = num_min(in.n - at, 3);
		uint32_t v = (uint32_t)in.p[at] << 16 | (n > 1 ? (uint32_t)in.p[at + 1] << 8 : 0) |
			     (n > 2 ? in.p[at + 2] : 0);
		char q[4] = {base64_alphabet[v >> 18 & 63], base64_alphabet[v >> 12 & 63],
			n > 1 ? base64_alphabet[v >> 6 & 63] : '=',
			n > 2 ? base64_alphabet[v & 63] : '='};
		buf_put(out, q, sizeof(q));
	}
}

static int base64_value(uint8_t c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

err_t base64_decode(struct buf *out, struct cslice in, bool allow_space)
{
	uint32_t bits = 0;
	size_t have = 0, pads = 0, start = out->n;
	for (size_t i = 0; i < in.n; i++) {
		uint8_t c = in.p[i];
		if (allow_space && (c == ' ' || c == '\t' || c == '\r' || c == '\n'))
			continue;
		if (c == '=' && have >= 2 && have + pads < 4) {
			pads++;
			continue;
		}
		int v = base64_value(c);
		if (v < 0 || pads > 0)
			return out->n = start, E_FORMAT;
		bits = bits << 6 | (uint32_t)v;
		if (++have == 4) {
			buf_put(out,
				(uint8_t[3]){
					(uint8_t)(bits >> 16), (uint8_t)(bits >> 8), (uint8_t)bits},
				3);
			have = 0;
			bits = 0;
		}
	}
	if ((have == 0 && pads > 0) || (have != 0 && have + pads != 4))
		return out->n = start, E_FORMAT;
	if (have == 2)
		buf_put_u8(out, (uint8_t)(bits >> 4));
	if (have == 3)
		buf_put(out, (uint8_t[2]){(uint8_t)(bits >> 10), (uint8_t)(bits >> 2)}, 2);
	return buf_err(out);
}

bool list_next(struct cslice *rest, struct cslice *name)
{
	if (rest->p == NULL)
		return false;
	if (rest->n == 0) {
		rest->p = NULL;
		return false;
	}
	const uint8_t *comma = memchr(rest->p, ',', rest->n);
	size_t n = comma != NULL ? (size_t)(comma - rest->p) : rest->n;
	*name = cslice_of(rest->p, n);
	size_t eaten = comma != NULL ? n + 1 : n;
	*rest = cslice_of(rest->p + eaten, rest->n - eaten);
	return true;
}

bool list_has(struct cslice list, struct cslice name)
{
	struct cslice one;
	while (list_next(&list, &one))
		if (cslice_eq(one, name))
			return true;
	return false;
}

/* One remembered star is enough: the last star may always take what an earlier one gave back. */
bool glob_match(struct cslice pattern, struct cslice text)
{
	size_t p = 0, t = 0, star = SIZE_MAX, star_t = 0;
	while (t < text.n) {
		if (p < pattern.n && pattern.p[p] == '*') {
			star = p++;
			star_t = t;
		} else if (p < pattern.n && (pattern.p[p] == '?' || pattern.p[p] == text.p[t])) {
			p++;
			t++;
		} else if (star != SIZE_MAX) {
			p = star + 1;
			t = ++star_t;
		} else {
			return false;
		}
	}
	while (p < pattern.n && pattern.p[p] == '*')
		p++;
	return p == pattern.n;
}

enum pattern_verdict glob_match_list(struct cslice patterns, struct cslice text)
{
	enum pattern_verdict verdict = PATTERN_NONE;
	struct cslice one;
	while (list_next(&patterns, &one)) {
		bool negated = one.n > 0 && one.p[0] == '!';
		if (negated)
			one = cslice_of(one.p + 1, one.n - 1);
		if (!glob_match(one, text))
			continue;
		if (negated)
			return PATTERN_NEGATED;
		verdict = PATTERN_MATCH;
	}
	return verdict;
}

/* Length of the valid, printable UTF-8 sequence at s, 0 when there is none. */
static size_t utf8_len(struct cslice s)
{
	uint8_t c = s.p[0];
	size_t n = c >= 0xf0 && c < 0xf5   ? 4
		   : c >= 0xe0 && c < 0xf0 ? 3
		   : c >= 0xc2 && c < 0xe0 ? 2
					   : 0;
	if (n == 0 || s.n < n)
		return 0;
	uint32_t v = c & (0xffu >> (n + 1));
	for (size_t i = 1; i < n; i++) {
		if ((s.p[i] & 0xc0) != 0x80)
			return 0;
		v = v << 6 | (s.p[i] & 0x3fu);
	}
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	bool bad = v < least[n] || v > 0x10ffff || (v >= 0xd800 && v <= 0xdfff);
	bool control = v < 0xa0 || v == 0x200e || v == 0x200f || (v >= 0x2028 && v <= 0x202e) ||
		       (v >= 0x2066 && v <= 0x2069) || v == 0xfeff; /* C1 and direction overrides */
	return bad || control ? 0 : n;
}

void vis_put(struct buf *out, struct cslice s)
{
	for (size_t i = 0; i < s.n;) {
		uint8_t c = s.p[i];
		size_t n = c >= 0x80 ? utf8_len(cslice_of(s.p + i, s.n - i)) : 0;
		if (n > 0) {
			buf_put(out, s.p + i, n);
			i += n;
			continue;
		}
		if ((c >= 0x20 && c < 0x7f) || c == '\t')
			buf_put_u8(out, c);
		else
			buf_printf(out, "\\%03o", c);
		i++;
	}
}

void vis_put_lines(struct buf *out, struct cslice s)
{
	while (s.n > 0) {
		size_t n = 0;
		while (n < s.n && s.p[n] != '\n' && s.p[n] != '\r')
			n++;
		vis_put(out, cslice_of(s.p, n));
		if (n < s.n)
			buf_put_u8(out, s.p[n++]);
		s = cslice_of(s.p + n, s.n - n);
	}
}

void ascii_lower(char *s)
{
	for (; *s != '\0'; s++)
		if (*s >= 'A' && *s <= 'Z')
			*s = (char)(*s - 'A' + 'a');
}

static uint8_t lower(uint8_t c)
{
	return c >= 'A' && c <= 'Z' ? (uint8_t)(c - 'A' + 'a') : c;
}

bool ascii_eq_nocase(struct cslice a, const char *b)
{
	size_t n = strlen(b);
	if (a.n != n)
		return false;
	for (size_t i = 0; i < n; i++)
		if (lower(a.p[i]) != lower((uint8_t)b[i]))
			return false;
	return true;
}

#define NEAR_MAX 64

static size_t distance(struct cslice a, struct cslice b)
{
	size_t row[NEAR_MAX + 1];
	for (size_t j = 0; j <= b.n; j++)
		row[j] = j;
	for (size_t i = 1; i <= a.n; i++) {
		size_t diagonal = row[0];
		row[0] = i;
		for (size_t j = 1; j <= b.n; j++) {
			size_t above = row[j];
			size_t change = diagonal + (lower(a.p[i - 1]) != lower(b.p[j - 1]));
			row[j] = num_min(change, num_min(above, row[j - 1]) + 1);
			diagonal = above;
		}
	}
	return row[b.n];
}

const char *text_nearest(struct cslice word, const char *const *names, size_t n)
{
	const char *best = NULL;
	size_t least = 3;
	if (word.n > NEAR_MAX)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		struct cslice name = cslice_str(names[i]);
		if (name.n > NEAR_MAX)
			continue;
		size_t d = distance(word, name);
		if (d < least) {
			least = d;
			best = names[i];
		}
	}
	return best;
}

err_t text_u64(struct cslice s, uint64_t *out)
{
	uint64_t v = 0;
	if (s.n == 0)
		return E_FORMAT;
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] < '0' || s.p[i] > '9')
			return E_FORMAT;
		if (__builtin_mul_overflow(v, 10, &v) ||
			__builtin_add_overflow(v, (uint64_t)(s.p[i] - '0'), &v))
			return E_LIMIT;
	}
	*out = v;
	return OK;
}

err_t text_u32(struct cslice s, uint32_t *out)
{
	uint64_t v;
	TRY(text_u64(s, &v));
	if (v > UINT32_MAX)
		return E_LIMIT;
	*out = (uint32_t)v;
	return OK;
}

err_t text_dup(struct cslice s, char **out)
{
	if (s.n > 0 && memchr(s.p, 0, s.n) != NULL)
		return E_FORMAT;
	char *p = malloc(s.n + 1);
	if (p == NULL)
		return E_MEM;
	if (s.n > 0)
		memcpy(p, s.p, s.n);
	p[s.n] = '\0';
	*out = p;
	return OK;
}
