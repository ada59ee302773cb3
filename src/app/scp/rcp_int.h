/* SPDX-License-Identifier: ISC */
/*
 * rcp_int - what the roles of the old protocol share: the loop, the links, the words
 *
 * A run has one link, or two from one server to another.  Bytes that come are given to the role's
 * `take` as far as it takes them now; the rest is kept with its packet.  In every turn the role's
 * `turn` sends what it can.
 */
#ifndef APP_SCP_RCP_INT_H
#define APP_SCP_RCP_INT_H

#include "app/scp/rcp.h"
#include "sftp/rcp.h"

#define RCP_TEXT_ROOM ((size_t)8192)

struct rcp_run;

struct rcp_io {
	struct rcp_run *run;
	struct link *link;
	struct rcp_side *side; /* of the engine that speaks over it */
	struct span *kept;     /* came and was not taken yet, in order */
	size_t kept_at, kept_n, kept_cap;
	bool is_ended, is_finished;
	err_t why; /* of the end */
};

struct rcp_role {
	/* Takes off *in what it can; what is left comes again. */
	void (*take)(struct rcp_run *r, struct rcp_io *io, struct cslice *in);
	void (*turn)(struct rcp_run *r);
	/* Nothing more comes over io. */
	void (*ended)(struct rcp_run *r, struct rcp_io *io);
	/* The person stops it: tells what it leaves. */
	void (*stopped)(struct rcp_run *r);
};

struct rcp_run {
	const struct rcp_env *env;
	const struct rcp_role *role;
	void *own; /* of the role */
	struct rcp_io io[2];
	size_t ios;
	bool is_server; /* failures are told to the peer only */
	bool is_over;
	err_t err; /* what ended it early */
	uint64_t failed;
	struct xfer_progress p;
	char text[RCP_TEXT_ROOM]; /* of the last failure */
	/* -l: bytes that may pass grow with time */
	uint64_t rate_at_us, rate_room;
	struct ev_timer timer;
};

void rcp_run_init(struct rcp_run *r, const struct rcp_env *env);
void rcp_run_link(struct rcp_run *r, struct link *link, struct rcp_side *side);
/* Until it is over; then it has let go of the links. */
MUST err_t rcp_run_loop(struct rcp_run *r);
void rcp_run_over(struct rcp_run *r, err_t e);
/* What the program is to know of e, which ended the run. */
MUST err_t rcp_result(err_t e);

/* A line for the person, made safe. */
void rcp_tell(struct rcp_run *r, enum log_level level, const char *fmt, ...) PRINTF(3, 4);
/* A failure: counted, told, and given as the text for the peer. */
const char *rcp_failed(struct rcp_run *r, const char *fmt, ...) PRINTF(2, 3);
/* What the peer says of its failure. */
void rcp_peer_failed(struct rcp_run *r, struct cslice text);
/* The engine's sticky error. */
void rcp_broken(struct rcp_run *r, const struct rcp_side *side, err_t e);

/* What the engine wants to say, as far as there is room; true when all is out. */
bool rcp_flush(struct rcp_run *r, struct rcp_io *io);
/* As much of data as there is room for now. */
size_t rcp_put_some(struct rcp_run *r, struct rcp_io *io, struct cslice data);
/* No more from us. */
void rcp_finish(struct rcp_io *io);

/* At most want bytes may pass now; 0: later, by the timer. */
size_t rcp_rate(struct rcp_run *r, size_t want);
void rcp_rate_used(struct rcp_run *r, size_t n);

void rcp_progress_begin(struct rcp_run *r, const char *name, uint64_t size);
void rcp_progress_data(struct rcp_run *r, uint64_t n);
void rcp_progress_end(struct rcp_run *r);

/* "dir/name"; NULL without memory.  Owned by the caller. */
char *rcp_join(const char *dir, const char *name);

/* The roles, for clients and servers; r is ready but for its role and link. */
struct rcp_sending {
	const char *const *paths;
	size_t n;
};
MUST err_t rcp_source_run(struct rcp_run *r, struct link *link, const struct rcp_sending *what);
struct rcp_taking {
	const char *to;
	const struct rcp_asked *asked; /* NULL = any name */
};
MUST err_t rcp_sink_run(struct rcp_run *r, struct link *link, const struct rcp_taking *what);

#endif
