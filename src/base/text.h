/* SPDX-License-Identifier: ISC */
/*
 * text - what the programs do with words: base64, name lists, glob patterns, making peer text safe
 * to print
 */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include "base/buf.h"

/* RFC 4648 base64.  encode appends, without line breaks.  decode appends and refuses anything but
 * the alphabet, correct padding and (when allow_space) white space: E_FORMAT. */
void base64_encode(struct buf *out, struct cslice in);
MUST err_t base64_decode(struct buf *out, struct cslice in, bool allow_space);

/* Name lists (RFC 4251 5): comma separated.  list_next takes the next name off *rest; false at the
 * end. */
bool list_next(struct cslice *rest, struct cslice *name);
bool list_has(struct cslice list, struct cslice name);

/* Shell-like patterns: * and ?, nothing else; linear time in pattern x text.  Case as given. */
bool glob_match(struct cslice pattern, struct cslice text);

enum pattern_verdict { PATTERN_NONE = 0, PATTERN_MATCH, PATTERN_NEGATED };
/* Comma separated patterns, `!` negates; a negated match wins over any other.  Empty list: NONE. */
enum pattern_verdict glob_match_list(struct cslice patterns, struct cslice text);

/* Appends s with everything unprintable as octal escapes (\ooo), valid UTF-8 kept: what a peer
 * sends is data. */
void vis_put(struct buf *out, struct cslice s);
/* The same for text of several lines: their ends (\n, \r) stay. */
void vis_put_lines(struct buf *out, struct cslice s);

/* Lower case, ASCII only, in place. */
void ascii_lower(char *s);
bool ascii_eq_nocase(struct cslice a, const char *b);

/* The nearest of names[] to word (edit distance <= 2), for "did you mean"; NULL when none is near.
 */
const char *text_nearest(struct cslice word, const char *const *names, size_t n);

/* Decimal without sign, blanks or overflow. */
MUST err_t text_u32(struct cslice s, uint32_t *out);
MUST err_t text_u64(struct cslice s, uint64_t *out);
/* strndup for slices: gives a NUL-terminated copy; E_FORMAT when s holds a NUL byte. */
MUST err_t text_dup(struct cslice s, char **out);

#endif
