/* SPDX-License-Identifier: ISC */
/* client_int - what the files of the client share */
#ifndef SFTP_CLIENT_INT_H
#define SFTP_CLIENT_INT_H

#include <assert.h>

#include "sftp/client.h"

#define SF_CLIENT_OUT_MAX ((size_t)1 << 20) /* requests that wait to be sent */
#define SF_HANDLE_MAX     ((size_t)256)     /* section 6.3 */

/* Requests under way, by number. */
struct sf_pending {
	struct sf_ask **buckets;
	size_t mask; /* buckets - 1 */
	size_t n;
};

enum sf_in_state {
	SF_IN_LENGTH, /* the four bytes of a frame's length */
	SF_IN_HEAD,   /* the first bytes of what may be DATA */
	SF_IN_FRAME,  /* the rest of a frame that is put together */
	SF_IN_DATA,   /* bytes of a file, lent as they come */
	SF_IN_SKIP    /* what follows them inside the frame */
};

#define SF_DATA_HEAD 9 /* number, id, length of the data */

struct sf_client {
	err_t err;
	struct sf_pending pending;
	uint32_t next_id;

	uint8_t *out;
	size_t out_at, out_n, out_cap;

	enum sf_in_state in_state;
	uint8_t *in; /* the frame that is put together, grown as it comes */
	size_t in_n, in_cap;
	size_t left;         /* bytes of the frame that have not come yet; of its length first */
	size_t data_left;    /* of the file, in SF_IN_DATA */
	struct sf_ask *data; /* its request; NULL after sf_client_end */
	uint8_t first[SF_FIRST_MAX];
	size_t first_n;

	bool has_version, is_ready;
	uint32_t version;
	uint32_t exts; /* bit SF_EXT_x */
	struct sf_caps caps;
	struct sf_ask limits;
	uint64_t moved;
};

/* client_pending.c */
MUST err_t sf_pending_init(struct sf_pending *p);
void sf_pending_done(struct sf_pending *p); /* must be empty */
MUST err_t sf_pending_add(struct sf_pending *p, struct sf_ask *a);
struct sf_ask *sf_pending_find(const struct sf_pending *p, uint32_t id);
void sf_pending_remove(struct sf_pending *p, struct sf_ask *a);
/* All of them, the oldest first, joined by `next`; none is left. */
struct sf_ask *sf_pending_take_all(struct sf_pending *p, uint32_t next_id);

/* client_ask.c */
MUST err_t sf_client_put_init(struct sf_client *c);
MUST err_t sf_client_ask_limits(struct sf_client *c);
/* What a request can be answered with, besides STATUS. */
enum {
	SF_WANTS_STATUS,
	SF_WANTS_HANDLE,
	SF_WANTS_DATA,
	SF_WANTS_NAME,
	SF_WANTS_ATTRS,
	SF_WANTS_EXTENDED
};

/* client_reply.c: a whole frame, number and body. */
MUST err_t sf_client_frame(struct sf_client *c, struct cslice frame);
/* The head of a DATA: its request, and how much there is. */
MUST err_t sf_client_data_begin(
	struct sf_client *c, const uint8_t head[SF_DATA_HEAD], size_t frame_n);
void sf_client_data_end(struct sf_client *c);

#endif
