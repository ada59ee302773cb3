/* SPDX-License-Identifier: ISC */
/*
 * handles - what a client has open
 *
 * A handle on the wire is its place in the table and how often the place was used before, so one
 * that was closed never means another file.  Places are used in turn.
 */
#ifndef SFTP_HANDLES_H
#define SFTP_HANDLES_H

#include "sftp/sftp.h"

#define SF_HANDLE_SIZE ((size_t)8)
#define SF_HANDLES_CAP ((size_t)1 << 16)

enum sf_kind { SF_H_FREE = 0, SF_H_FILE = 1, SF_H_DIR = 2, SF_H_ANY = 3 };

struct sf_held {
	enum sf_kind kind;
	uint32_t at, uses;
	uint32_t next; /* of the free ones */
	uint64_t fh, bytes_read, bytes_written;
	char *name; /* owned */
};

struct sf_handles {
	struct sf_held *v;
	uint32_t n, max, open_n, free_first, free_last;
};

void sf_handles_init(struct sf_handles *t, size_t max);
void sf_handles_done(struct sf_handles *t); /* all must have been dropped */

static inline bool sf_handles_is_full(const struct sf_handles *t)
{
	return t->open_n >= t->max;
}

/* E_LIMIT: `max` are open.  The pointer holds until the next add. */
MUST err_t sf_handles_add(struct sf_handles *t, enum sf_kind kind, uint64_t fh, const char *name,
	struct sf_held **out);
/* NULL: not one of ours, closed, or of another kind. */
struct sf_held *sf_handles_find(struct sf_handles *t, struct cslice wire, enum sf_kind kind);
void sf_handles_drop(struct sf_handles *t, struct sf_held *h);
void sf_held_wire(const struct sf_held *h, uint8_t out[SF_HANDLE_SIZE]);

#endif
