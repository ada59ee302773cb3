/* SPDX-License-Identifier: ISC */
/*
 * glob - one part of a path pattern against one name
 *
 * A star remembers where it stands; when what follows does not fit, only the last star takes one
 * byte more, so no pattern makes it exponential.
 */
#include <ctype.h>

#include "transfer/glob.h"

/* ---- [ ] --------------------------------------------------------------------------------------
 */
static const struct {
	const char *name;
	int (*is)(int c);
} classes[] = {
	{"alnum", isalnum},
	{"alpha", isalpha},
	{"blank", isblank},
	{"cntrl", iscntrl},
	{"digit", isdigit},
	{"graph", isgraph},
	{"lower", islower},
	{"print", isprint},
	{"punct", ispunct},
	{"space", isspace},
	{"upper", isupper},
	{"xdigit", isxdigit},
};

/* "[:name:]" at the begin of s: its length, and whether c is one; 0 when it is none. */
static size_t class_at(struct cslice s, uint8_t c, bool *is_in)
{
	for (size_t i = 0; i < ARRAY_N(classes); i++) {
		size_t n = strlen(classes[i].name);
		if (s.n < n + 4 || memcmp(s.p, "[:", 2) != 0 ||
			memcmp(s.p + 2, classes[i].name, n) != 0 ||
			memcmp(s.p + 2 + n, ":]", 2) != 0)
			continue;
		*is_in = *is_in || classes[i].is(c) != 0;
		return n + 4;
	}
	return 0;
}

/* One byte of a set, perhaps quoted. */
static uint8_t set_byte(struct cslice s, size_t *at)
{
	if (s.p[*at] == '\\' && *at + 1 < s.n)
		++*at;
	return s.p[(*at)++];
}

/* A set at the begin of s: its length, 0 when it has no end. */
static size_t set_at(struct cslice s, uint8_t c, bool *matches)
{
	size_t at = 1;
	bool is_in = false, is_not = at < s.n && (s.p[at] == '!' || s.p[at] == '^');
	at += is_not;
	for (bool is_first = true; at < s.n && (is_first || s.p[at] != ']'); is_first = false) {
		size_t n = class_at(cslice_of(s.p + at, s.n - at), c, &is_in);
		at += n;
		if (n > 0)
			continue;
		uint8_t low = set_byte(s, &at), high = low;
		if (at + 1 < s.n && s.p[at] == '-' && s.p[at + 1] != ']') {
			at++;
			high = set_byte(s, &at);
		}
		is_in = is_in || (low <= c && c <= high);
	}
	if (at >= s.n)
		return 0;
	*matches = is_in != is_not;
	return at + 1;
}

/* ---- a byte -----------------------------------------------------------------------------------
 */
/* What stands at the begin of pattern, which is no star, against one byte: its length when it
 * matches, else 0. */
static size_t one(struct cslice pattern, uint8_t c)
{
	bool matches = false;
	size_t n;
	if (pattern.n == 0)
		return 0;
	switch (pattern.p[0]) {
	case '?':
		return 1;
	case '[':
		n = set_at(pattern, c, &matches);
		if (n > 0)
			return matches ? n : 0;
		break;
	case '\\':
		if (pattern.n > 1)
			return pattern.p[1] == c ? 2 : 0;
		break;
	default:
		break;
	}
	return pattern.p[0] == c ? 1 : 0;
}

static bool begins_with_dot(struct cslice pattern)
{
	size_t at = pattern.n > 1 && pattern.p[0] == '\\' ? 1 : 0;
	return pattern.n > at && pattern.p[at] == '.';
}

bool glob_part(struct cslice pattern, struct cslice name)
{
	size_t p = 0, s = 0, star_p = SIZE_MAX, star_s = 0;
	if (name.n > 0 && name.p[0] == '.' && !begins_with_dot(pattern))
		return false;
	while (s < name.n) {
		if (p < pattern.n && pattern.p[p] == '*') {
			star_p = ++p;
			star_s = s;
			continue;
		}
		size_t n = one(cslice_of(pattern.p + p, pattern.n - p), name.p[s]);
		if (n > 0) {
			p += n;
			s++;
		} else if (star_p != SIZE_MAX) {
			p = star_p;
			s = ++star_s;
		} else {
			return false;
		}
	}
	while (p < pattern.n && pattern.p[p] == '*')
		p++;
	return p == pattern.n;
}

bool glob_has_magic(struct cslice pattern)
{
	bool matches;
	for (size_t i = 0; i < pattern.n; i++) {
		uint8_t c = pattern.p[i];
		if (c == '*' || c == '?')
			return true;
		if (c == '[' && set_at(cslice_of(pattern.p + i, pattern.n - i), 0, &matches) > 0)
			return true;
		if (c == '\\')
			i++;
	}
	return false;
}

size_t glob_plain(struct cslice pattern, struct slice room)
{
	size_t n = 0;
	for (size_t i = 0; i < pattern.n; i++) {
		if (pattern.p[i] == '\\' && i + 1 < pattern.n)
			i++;
		room.p[n++] = pattern.p[i];
	}
	return n;
}
