/* SPDX-License-Identifier: ISC */
/*
 * reader - a remote file read ahead, given on in order
 *
 * The owner (a job) gets its bytes by job_piece, or where it takes whole ranges only by job_block.
 */
#ifndef TRANSFER_READER_H
#define TRANSFER_READER_H

#include "base/list.h"
#include "sftp/client.h"

#define XFER_HANDLE_MAX 256

struct xfer;
struct xfer_end;
struct job;

struct xfer_words { /* the words of a status */
	char text[160];
};

struct xfer_handle {
	size_t n; /* 0: none */
	uint8_t p[XFER_HANDLE_MAX];
};

struct slot { /* one READ */
	struct sf_ask ask;
	struct reader *rd;
	struct list link; /* in rd->slots by offset, or in x->slots */
	uint64_t at;
	uint32_t want, got; /* of the range [at, at + want) */
	uint32_t given;     /* bytes of it that the reader's owner has */
	uint8_t *held;      /* came before its turn; NULL: given on as it comes */
	bool is_asked, is_eof;
	uint32_t code; /* of a status that is neither OK nor EOF */
};

struct reader {
	struct xfer *x;
	struct job *job;
	struct xfer_end *end;
	const struct xfer_handle *handle;
	struct list slots;
	uint64_t next;  /* offset that is asked for next */
	uint64_t at;    /* all before it was given to the owner */
	uint64_t size;  /* as it was told; 0 also when it was not */
	uint64_t until; /* no further than this */
	uint32_t chunk;
	bool is_held;    /* the owner takes whole ranges only (across) */
	bool is_stopped; /* nothing more is asked: the end, an error, or the owner is done */
	bool is_at_end;  /* the file ended at `at` */
	bool has_unasked;
	uint32_t code;         /* of the failure; SF_ok: none */
	struct xfer_words why; /* "": no words for it */
};

void reader_init(
	struct reader *rd, struct job *j, struct xfer_end *end, const struct xfer_handle *h);
void reader_pump(struct reader *rd);
void reader_stop(struct reader *rd);
bool reader_is_over(const struct reader *rd); /* nothing is under way, nothing more comes */
void slot_put(struct xfer *x, struct slot *s);
/* to the owner: */
void job_piece(struct job *j, uint64_t at, struct span piece);
void job_block(struct job *j, struct slot *s); /* takes it */

#endif
