/* SPDX-License-Identifier: ISC */
/*
 * client - the SFTP client: requests out, replies in, any number at once
 *
 *     out:    sf_ask_NAME, or sf_write_head and the data behind it, in the order of the calls;
 *             send sf_client_ready, sf_client_sent
 *     in:     sf_client_fed with what came, cut anywhere; it calls sf_ask.on once for each request
 *
 * The first request is INIT, made by sf_client_new.  Until its answer has come (sf_client_is_ready)
 * nothing may be asked.  Replies are matched by number only; one that belongs to no request, or is
 * of a kind that its request cannot have, ends the connection (E_UNEXPECTED).
 */
#ifndef SFTP_CLIENT_H
#define SFTP_CLIENT_H

#include "base/chunk.h"
#include "sftp/sftp.h"

struct sf_client;
struct sf_ask;

/* The answer.  Slices live until the call back returns. */
struct sf_reply {
	err_t err;             /* not OK: no answer will come, the connection is over */
	enum sf_msg type;      /* SF_MSG_status, _handle, _data (the last piece), _name, _attrs,
				  _extended_reply */
	uint32_t code;         /* of status: as it came, but a yes to what has another answer is a
				  failure, and no data are the end of the file; SF_ok for the others */
	struct cslice message; /* of status: the server's words, unsafe to print; may be empty */
	struct cslice handle;
	struct sf_name name; /* walk with sf_next_entry */
	struct sf_attr attr;
	struct cslice body; /* of extended_reply */
	uint32_t data_n;    /* of data: bytes of the whole reply, at most what was asked for */
};

/*
 * A request under way.  It lives in its owner, unmoved, from the ask to `on`; both functions may
 * ask again (also with the same struct, from `on`).
 */
struct sf_ask {
	void (*on)(struct sf_ask *a, const struct sf_reply *r);
	/* For READ: bytes of the file, from asked offset + at, as they come and in order; `on`
	 * follows. The span may be kept.  NULL for all others. */
	void (*on_data)(struct sf_ask *a, uint32_t at, struct span piece);
	void *arg;
	/* own */
	uint32_t id, want, got; /* want: bytes of READ */
	uint8_t expects;
	struct sf_ask *next;
};

struct sf_client_env {
	struct chunk_pool *pool; /* unused when spans come from the caller; may be NULL */
};

/* What the server said of itself: VERSION, then LIMITS when it has that (asked for by itself). */
struct sf_caps {
	uint64_t packet, read, write, handles; /* bytes of data; handles 0 = not said */
};
#define SF_DATA_SAFE ((uint32_t)32768) /* of one READ or WRITE towards servers without LIMITS */

MUST err_t sf_client_new(struct sf_client **out, const struct sf_client_env *env);
/* Every request under way gets its `on` with E_CLOSED.  NULL is fine. */
void sf_client_free(struct sf_client *c);

struct cslice sf_client_ready(const struct sf_client *c);
void sf_client_sent(struct sf_client *c, size_t n);
/* E_LENGTH, E_FORMAT, E_UNEXPECTED; sticky. */
MUST err_t sf_client_fed(struct sf_client *c, struct span in);
/* The connection has ended: `why` for every request under way, in their order. */
void sf_client_end(struct sf_client *c, err_t why);

bool sf_client_is_ready(
	const struct sf_client *c); /* VERSION came, and LIMITS where there is one */
uint32_t sf_client_version(const struct sf_client *c);
bool sf_client_has(const struct sf_client *c, enum sf_ext x);
struct sf_caps sf_client_caps(const struct sf_client *c); /* at most SF_DATA_MAX, at least 1 */
size_t sf_client_pending(const struct sf_client *c);      /* requests without an answer yet */
/* Bytes of files that have been moved up to now: come by READ, or by WRITE with an answer. */
uint64_t sf_client_moved(const struct sf_client *c);
/* What came first, at most SF_FIRST_MAX bytes, while it was no VERSION: a shell that prints. */
#define SF_FIRST_MAX ((size_t)200)
struct cslice sf_client_first(const struct sf_client *c);

/* sf_ask_NAME(c, ask, &(struct sf_NAME){...}): id is filled in.  E_LIMIT: too much is waiting to be
 * sent, push first; E_UNSUPPORTED: the server does not have this extension; E_MEM: no room, or more
 * than fits a frame; E_PHASE: not ready yet; else the error that ended the connection. */
#define SF_ASK(name)                                                                               \
	MUST err_t sf_ask_##name(struct sf_client *c, struct sf_ask *a, const struct sf_##name *m);
#define Q(name, no, changes)                  SF_ASK(name)
#define X(name, policy, wire, value, changes) SF_ASK(name)
#include "sftp/sftp.def"

/*
 * sf_write_head - a WRITE whose n bytes of data the caller sends itself, right behind the head
 *
 * Nothing else may be asked between; what sf_client_ready has must be sent before the head: E_AGAIN
 * while there is something.  a->want becomes n.
 */
#define SF_WRITE_HEAD_MAX ((size_t)4 + 1 + 4 + 4 + 256 + 8 + 4)
struct sf_write_at {
	struct cslice handle;
	uint64_t offset;
	uint32_t n; /* of data, at most SF_DATA_MAX */
};
struct sf_head {
	uint8_t p[SF_WRITE_HEAD_MAX];
	size_t n;
};
MUST err_t sf_write_head(
	struct sf_client *c, struct sf_ask *a, const struct sf_write_at *at, struct sf_head *out);
size_t sf_write_head_size(size_t handle_n); /* before the data is read: what the head will take */

#endif
