/* SPDX-License-Identifier: ISC */
/* rcp_int - what source and sink of the old protocol share */
#ifndef SFTP_RCP_INT_H
#define SFTP_RCP_INT_H

#include "sftp/rcp.h"

void rcp_side_init(struct rcp_side *s, int phase);
void rcp_side_done(struct rcp_side *s);
/* Sets the sticky error and its words, gives e. */
MUST err_t rcp_fail(struct rcp_side *s, err_t e, const char *fmt, ...) PRINTF(3, 4);

/* Takes a line off *in, up to its end or all there is.  *is_whole: it is complete, without its end
 * in s->line.b.  What is over `keep` bytes: is_text, cut off; else E_LENGTH. */
MUST err_t rcp_line_take(struct rcp_side *s, struct cslice *in, bool is_text, bool *is_whole);
void rcp_line_clear(struct rcp_side *s);
void rcp_line_return(struct rcp_side *s); /* what an event lent */
/* The line without its first `skip` bytes, and without "scp: " where it is an error's text. */
struct cslice rcp_line_text(const struct rcp_side *s, size_t skip);

/* An answer or a message: the byte, and for 1 and 2 the text. */
MUST err_t rcp_put_answer(struct rcp_side *s, uint8_t level, const char *text);
MUST err_t rcp_put_record(struct rcp_side *s, const char *fmt, ...) PRINTF(2, 3);

/* What a record says; *why names what is wrong with it. */
struct rcp_record {
	uint32_t mode;
	uint64_t size;
	struct cslice name;
	struct rcp_times times;
};
/* line: after its letter. */
MUST err_t rcp_parse_times(struct cslice line, struct rcp_record *out, const char **why);
MUST err_t rcp_parse_entry(struct cslice line, struct rcp_record *out, const char **why);

#endif
