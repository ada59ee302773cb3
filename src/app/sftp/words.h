/* SPDX-License-Identifier: ISC */
/*
 * words - a line of sftp's as words, and names as words of a line
 *
 * Blanks part words; '...' and "..." and \ take that and every other meaning away; an unquoted #
 * ends the line.  A word comes out as a pattern: a * ? [ or \ that was quoted has a \ before it,
 * one that was not has none, and nothing else has one.  So the same word serves commands that
 * expand patterns and, by word_plain, those that do not.
 */
#ifndef APP_SFTP_WORDS_H
#define APP_SFTP_WORDS_H

#include "base/buf.h"

struct words {
	char **v; /* owned; NULL behind the last one */
	size_t n;
	/* For completion. */
	char quote;     /* the one that is still open at the line's end; 0 = none */
	bool is_inside; /* the line ends in its last word, not behind it */
	size_t last_at; /* where in the line that word begins, with its quote */
};

/* E_FORMAT: a quote is not closed, unless is_open_ok. */
MUST err_t words_split(const char *line, bool is_open_ok, struct words *out);
void words_free(struct words *w);

/* The name that a word means: its escapes taken off, in place. */
void word_plain(char *word);
/* Does it hold a * ? or [ that was not quoted? */
bool word_is_pattern(const char *word);
/* A name as a pattern that means just it. */
void word_put_pattern(struct buf *out, struct cslice name);
/* A name as it is typed behind an open quote (0: none): words_split gives it back. */
void word_put_typed(struct buf *out, struct cslice name, char quote);

#endif
