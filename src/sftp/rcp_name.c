/* SPDX-License-Identifier: ISC */
/*
 * rcp_name - which names a peer may send
 *
 * What was asked for went through the shell of the other end, so the names that may come are not
 * known, only their patterns: the request is taken apart here as a shell does it, and each word's
 * last part is a pattern.  Where this knows less than that shell, names are refused rather than
 * let in.
 */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "sftp/rcp_int.h"

#define PATTERNS_MAX 4096
#define REQUEST_MAX  ((size_t)64 << 10)

/* ---- the verdict ------------------------------------------------------------------------------
 */

static bool is_plain_name(struct cslice name)
{
	if (name.n == 0 || name.n > SF_NAME_MAX)
		return false;
	if (cslice_eq_str(name, ".") || cslice_eq_str(name, ".."))
		return false;
	for (size_t i = 0; i < name.n; i++) {
		uint8_t c = name.p[i];
		if (c < ' ' || c == 0x7f || c == '/')
			return false;
	}
	return true;
}

/* A pattern that matches no file is what the shell hands on. */
static bool is_literally(const char *pattern, struct cslice name)
{
	size_t i = 0;
	for (; *pattern != '\0'; pattern++, i++) {
		if (pattern[0] == '\\' && pattern[1] != '\0')
			pattern++;
		if (i >= name.n || name.p[i] != (uint8_t)*pattern)
			return false;
	}
	return i == name.n;
}

bool rcp_asked_literally(const struct rcp_asked *asked, struct cslice name)
{
	for (size_t i = 0; i < asked->n; i++) {
		if (is_literally(asked->v[i], name))
			return true;
	}
	return false;
}

enum rcp_verdict rcp_name_judge(const struct rcp_asked *asked, struct cslice name)
{
	if (!is_plain_name(name))
		return RCP_DENY;
	if (asked == NULL || asked->is_any)
		return RCP_ALLOW;
	for (size_t i = 0; i < asked->n; i++) {
		if (rcp_pattern_match(asked->v[i], name) || is_literally(asked->v[i], name))
			return RCP_ALLOW;
	}
	return RCP_DENY_UNASKED;
}

/* ---- patterns ---------------------------------------------------------------------------------
 */

/* Bytes of the character at p: more than one only for well-formed UTF-8.  *code: its number. */
static size_t character(const uint8_t *p, size_t n, uint32_t *code)
{
	size_t more = p[0] >= 0xf0 ? 3 : p[0] >= 0xe0 ? 2 : p[0] >= 0xc0 ? 1 : 0;
	uint32_t v = more == 3 ? p[0] & 7u : more == 2 ? p[0] & 15u : more == 1 ? p[0] & 31u : p[0];
	if (more >= n)
		more = 0;
	for (size_t i = 1; i <= more; i++) {
		if ((p[i] & 0xc0) != 0x80)
			more = 0;
		else
			v = v << 6 | (p[i] & 63u);
	}
	*code = more == 0 ? p[0] : v;
	return more + 1;
}

static bool in_class(struct cslice name, uint32_t c)
{
	static const struct {
		const char *name;
		const char *ranges; /* pairs */
	} classes[] = {
		{"alpha", "azAZ"},
		{"digit", "09"},
		{"alnum", "azAZ09"},
		{"upper", "AZ"},
		{"lower", "az"},
		{"xdigit", "afAF09"},
		{"punct", "!/:@[`{~"},
		{"graph", "!~"},
		{"print", " ~"},
		{"blank", "  \t\t"},
		{"space", "  \t\r"},
	};
	for (size_t i = 0; i < ARRAY_N(classes); i++) {
		if (!cslice_eq_str(name, classes[i].name))
			continue;
		for (const char *r = classes[i].ranges; r[0] != '\0'; r += 2) {
			if (c >= (uint8_t)r[0] && c <= (uint8_t)r[1])
				return true;
		}
	}
	return false;
}

/* One character of a set; '\' takes the next as it is. */
static size_t set_character(const uint8_t *p, size_t n, uint32_t *code)
{
	size_t skip = p[0] == '\\' && n > 1 ? 1 : 0;
	return skip + character(p + skip, n - skip, code);
}

/* The set at p, after its '[': its length, 0 when it has no end.  *is_in: c is in it. */
static size_t set_match(const uint8_t *p, size_t n, uint32_t c, bool *is_in)
{
	size_t at = 0;
	bool is_not = n > 0 && (p[0] == '!' || p[0] == '^'), found = false;
	at += is_not;
	for (bool first = true; at < n && (first || p[at] != ']'); first = false) {
		if (p[at] == '[' && at + 1 < n && p[at + 1] == ':') {
			const uint8_t *end = memmem(p + at + 2, n - at - 2, ":]", 2);
			if (end != NULL) {
				found |= in_class(
					cslice_of(p + at + 2, (size_t)(end - p) - at - 2), c);
				at = (size_t)(end - p) + 2;
				continue;
			}
		}
		uint32_t low, high;
		at += set_character(p + at, n - at, &low);
		high = low;
		if (at + 1 < n && p[at] == '-' && p[at + 1] != ']') {
			at++;
			at += set_character(p + at, n - at, &high);
		}
		found |= c >= low && c <= high;
	}
	if (at >= n)
		return 0;
	*is_in = found != is_not;
	return at + 1;
}

/* One character of the name against one piece of the pattern that is not '*': the piece's length,
 * 0 when it does not match. */
static size_t piece(const uint8_t *p, size_t n, uint32_t c)
{
	bool is_in = false;
	uint32_t want;
	if (p[0] == '?')
		return 1;
	if (p[0] == '[') {
		size_t set = set_match(p + 1, n - 1, c, &is_in);
		if (set > 0)
			return is_in ? set + 1 : 0;
	}
	size_t used = set_character(p, n, &want);
	return want == c ? used : 0;
}

bool rcp_pattern_match(const char *pattern, struct cslice name)
{
	const uint8_t *p = (const uint8_t *)pattern;
	size_t n = strlen(pattern), at = 0, i = 0;
	size_t star_at = SIZE_MAX, star_i = 0; /* the last '*': only it may take more */
	uint32_t c;
	/* a shell's * and ? leave hidden files out */
	if (name.n > 0 && name.p[0] == '.' && strchr("*?[", p[0]) != NULL)
		return false;
	while (i < name.n) {
		if (at < n && p[at] == '*') {
			star_at = ++at;
			star_i = i;
			continue;
		}
		size_t one = character(name.p + i, name.n - i, &c);
		size_t used = at < n ? piece(p + at, n - at, c) : 0;
		if (used > 0) {
			at += used;
			i += one;
		} else if (star_at != SIZE_MAX) {
			star_i += character(name.p + star_i, name.n - star_i, &c);
			i = star_i;
			at = star_at;
		} else {
			return false;
		}
	}
	while (at < n && p[at] == '*')
		at++;
	return at == n;
}

/* ---- the request ------------------------------------------------------------------------------
 */

/* A word of the request is kept as a pattern: what was quoted has a '\' before it. */
struct words {
	struct buf b; /* each with its NUL */
	bool is_odd;  /* more than words: ; | & and the like */
};

static void put_quoted(struct buf *b, uint8_t c)
{
	if (c != '/') /* parts it also in quotes */
		buf_put_u8(b, '\\');
	buf_put_u8(b, c);
}

/* Inside quotes, up to their end: bytes taken.  $ and ` keep their meaning in double ones. */
static size_t quoted(struct buf *b, struct cslice in, uint8_t quote)
{
	size_t i = 0;
	for (; i < in.n && in.p[i] != quote; i++) {
		bool is_double = quote == '"';
		if (is_double && in.p[i] == '\\' && i + 1 < in.n &&
			memchr("$`\"\\", in.p[i + 1], 4) != NULL)
			put_quoted(b, in.p[++i]);
		else if (is_double && (in.p[i] == '$' || in.p[i] == '`'))
			buf_put_u8(b, in.p[i]);
		else
			put_quoted(b, in.p[i]);
	}
	return i + (i < in.n);
}

static void split(struct words *w, struct cslice in)
{
	bool is_word = false;
	for (size_t i = 0; i < in.n; i++) {
		uint8_t c = in.p[i];
		if (c == ' ' || c == '\t') {
			if (is_word)
				buf_put_u8(&w->b, 0);
			is_word = false;
			continue;
		}
		is_word = true;
		if (c == '\\' && i + 1 < in.n)
			put_quoted(&w->b, in.p[++i]);
		else if (c == '\'' || c == '"')
			i += quoted(&w->b, cslice_of(in.p + i + 1, in.n - i - 1), c);
		else
			buf_put_u8(&w->b, c);
		w->is_odd |= strchr(";|&<>()\n", c) != NULL;
	}
	if (is_word)
		buf_put_u8(&w->b, 0);
}

/* The {a,b} that comes first in a word: where it is, and where its commas are. */
struct brace {
	size_t at, end;
};

/* From an unquoted '{' at s[at]: the place of its '}', 0 when it has none or no comma. */
static size_t brace_end(const char *s, size_t at)
{
	bool has_comma = false;
	for (size_t depth = 0; s[at] != '\0'; at++) {
		if (s[at] == '\\' && s[at + 1] != '\0')
			at++;
		else if (s[at] == '{')
			depth++;
		else if (s[at] == ',' && depth == 1)
			has_comma = true;
		else if (s[at] == '}' && --depth == 0)
			return has_comma ? at : 0;
	}
	return 0;
}

static bool brace_find(const char *s, struct brace *out)
{
	for (size_t i = 0; s[i] != '\0'; i++) {
		if (s[i] == '\\' && s[i + 1] != '\0') {
			i++;
		} else if (s[i] == '{' && brace_end(s, i) != 0) {
			*out = (struct brace){i, brace_end(s, i)};
			return true;
		}
	}
	return false;
}

static err_t push(struct rcp_asked *a, struct cslice text)
{
	if (a->n >= PATTERNS_MAX)
		return E_LIMIT;
	char **v = realloc(a->v, (a->n + 1) * sizeof(*v));
	if (v == NULL)
		return E_MEM;
	a->v = v;
	TRY(text_dup(text, &a->v[a->n]));
	a->n++;
	return OK;
}

/* s with one alternative, [from, to) of it, in the place of the brace. */
static err_t push_choice(struct rcp_asked *a, const char *s, struct brace at, struct brace choice)
{
	struct buf b;
	buf_init(&b, 2 * REQUEST_MAX);
	buf_put(&b, s, at.at);
	buf_put(&b, s + choice.at, choice.end - choice.at);
	buf_put(&b, s + at.end + 1, strlen(s + at.end + 1));
	err_t e = buf_err(&b);
	if (e == OK)
		e = push(a, buf_bytes(&b));
	buf_done(&b);
	return e;
}

/* Every alternative in place of the brace at the end of the list. */
static err_t push_choices(struct rcp_asked *a, const char *s, struct brace at)
{
	size_t from = at.at + 1, depth = 0;
	for (size_t i = from; i <= at.end; i++) {
		if (s[i] == '\\' && i + 1 < at.end) {
			i++;
		} else if (i == at.end || (s[i] == ',' && depth == 0)) {
			TRY(push_choice(a, s, at, (struct brace){from, i}));
			from = i + 1;
		} else if (s[i] == '{') {
			depth++;
		} else if (s[i] == '}') {
			depth--;
		}
	}
	return OK;
}

/* Words become words without braces: each that has one goes, its alternatives come. */
static err_t unbrace(struct rcp_asked *a)
{
	struct brace at;
	for (size_t i = 0, steps = 0; i < a->n;) {
		if (!brace_find(a->v[i], &at)) {
			i++;
			continue;
		}
		if (++steps > PATTERNS_MAX)
			return E_LIMIT;
		char *word = a->v[i];
		a->v[i] = a->v[--a->n];
		err_t e = push_choices(a, word, at);
		free(word);
		TRY(e);
	}
	return OK;
}

/* Leaves the last part of a path.  True when it names a file: not "", "." or "..", and nothing that
 * only a shell knows. */
static bool keep_last(char *word)
{
	bool is_home = word[0] == '~';
	size_t n = strlen(word), from = 0;
	while (n > 1 && word[n - 1] == '/')
		word[--n] = '\0';
	for (size_t i = 0; i < n; i++) {
		if (word[i] == '/')
			from = i + 1;
	}
	if (from == 0 && is_home)
		return false;
	memmove(word, word + from, n - from + 1);
	bool is_dots = strcmp(word, ".") == 0 || strcmp(word, "..") == 0;
	for (const char *p = word; *p != '\0'; p++) {
		if (*p == '\\' && p[1] != '\0')
			p++;
		else if (*p == '$' || *p == '`')
			return false;
	}
	return word[0] != '\0' && !is_dots;
}

static err_t words_of(struct rcp_asked *a, const char *path, bool *is_odd)
{
	struct words w = {0};
	buf_init(&w.b, 2 * REQUEST_MAX);
	split(&w, cslice_str(path));
	*is_odd = w.is_odd;
	err_t e = buf_err(&w.b);
	for (size_t at = 0, n; at < w.b.n && e == OK; at += n + 1) {
		n = strlen((const char *)w.b.p + at);
		e = push(a, cslice_of(w.b.p + at, n));
	}
	buf_done(&w.b);
	return e == OK ? unbrace(a) : e;
}

err_t rcp_asked_init(struct rcp_asked *out, const char *path, bool is_recursive)
{
	struct rcp_asked a = {0};
	bool is_odd = false;
	err_t e = strlen(path) <= REQUEST_MAX ? words_of(&a, path, &is_odd) : E_LIMIT;
	if (e != OK) {
		rcp_asked_done(&a);
		return e;
	}
	is_odd |= a.n == 0;
	for (size_t i = 0; i < a.n;) {
		if (keep_last(a.v[i])) {
			i++;
			continue;
		}
		is_odd = true;
		free(a.v[i]);
		a.v[i] = a.v[--a.n];
	}
	a.is_any = is_recursive && is_odd;
	*out = a;
	return OK;
}

void rcp_asked_done(struct rcp_asked *a)
{
	for (size_t i = 0; i < a->n; i++)
		free(a->v[i]);
	free(a->v);
	*a = (struct rcp_asked){0};
}
