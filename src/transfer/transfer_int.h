/* SPDX-License-Identifier: ISC */
/*
 * transfer_int - what the files of the copying engine share
 *
 * A walker reads a directory of the source, a place is a directory of the destination, a job is
 * one file (or something of which is not known yet what it is).  The plan makes jobs as long as
 * the window is open; each job goes through its phases by itself; movers are the jobs whose bytes
 * flow.  Nothing is freed while a request refers to it: x->asks counts those.
 */
#ifndef TRANSFER_TRANSFER_INT_H
#define TRANSFER_TRANSFER_INT_H

#include <dirent.h>
#include <sys/stat.h>

#include "base/list.h"
#include "transfer/beneath.h"
#include "transfer/reader.h"
#include "transfer/transfer.h"

#define XFER_DEPTH_MAX  64                   /* directories in one another, as in OpenSSH */
#define XFER_BREADTH    64                   /* directories of the source read at once */
#define XFER_GATHER     64                   /* pieces in one write to a local file */
#define XFER_GATHER_MAX ((size_t)512 * 1024) /* bytes of it */
#define XFER_HANDLE_MAX 256
#define XFER_BLOCK      ((size_t)256 * 1024)

struct xfer_meta { /* of a source; what is not known is not `has` */
	bool has_size, has_mode, has_times;
	uint32_t mode; /* with the type */
	uint64_t size, dev, ino;
	uint32_t atime, mtime, atime_ns, mtime_ns;
};

/* ---- a directory of the destination -------------------------------------------------------------
 */
enum place_state { PLACE_ASKED, PLACE_READY, PLACE_FAILED };

struct place {
	struct xfer *x;
	struct place *parent; /* NULL: of an item */
	size_t item;          /* that it belongs to */
	size_t refs;
	enum place_state state;
	bool is_new, is_ending;
	struct beneath dir; /* local */
	char *path;
	const char *name; /* last part of path */
	struct xfer_meta m;
	struct list waiting; /* of job.ready */
	struct list link;    /* in x->endings, while something has to be asked */
	enum place_ask { PLACE_MKDIR, PLACE_STAT, PLACE_ATTR } next;
	struct sf_ask ask;
	struct xfer_words words; /* of the MKDIR that failed */
};

struct sum { /* of bytes, to tell contents apart that no one made alike */
	uint64_t a, b, n;
	uint8_t tail[8];
};

/* ---- one file -----------------------------------------------------------------------------------
 */
enum job_phase {
	JOB_FROM_STAT,
	JOB_FROM_REAL, /* a link to a directory: is it one of those that it is in? */
	JOB_FROM_REAL_DIR,
	JOB_PLACE, /* the directory that it goes to is being made */
	JOB_FROM_OPEN,
	JOB_TO_STAT, /* how much is there */
	JOB_TO_OPEN,
	JOB_COMPARE, /* what is there, before it is continued */
	JOB_DATA,
	JOB_TO_SIZE,
	JOB_TO_ATTR,
	JOB_TO_SYNC,
	JOB_TO_CLOSE,
	JOB_RENAME,
	JOB_CHECK_OPEN, /* the destination again, to read it back */
	JOB_CHECK,
	JOB_CUT,    /* a WRITE failed though later ones did not: back to a prefix */
	JOB_REMOVE, /* what failed beside its destination */
	JOB_DRAIN,  /* it is over; answers still have to come */
	JOB_PHASES
};

struct job {
	struct list link, ready; /* in x->jobs; in x->ready or a place's waiting */
	struct list mover;       /* in x->movers */
	struct xfer *x;
	struct place *to_dir; /* NULL: `to` is the person's own path */
	char *from, *to;      /* whole; to: where the bytes go (beside the target when atomic) */
	char *target;         /* the name that it gets; NULL: `to` */
	size_t item;          /* that it belongs to */
	unsigned depth;
	enum job_phase phase;
	bool is_item, is_peer_name, is_link, is_unknown;
	bool is_asked; /* `ask` is under way */
	bool has_failed, is_told, is_opened, is_created, is_excl, is_done, is_ended;
	bool needs_stat, is_stat_asked, is_path_asked, is_regular, is_small_end, is_not_new,
		has_hole_end;
	bool is_closed;
	struct xfer_meta m;
	struct sf_ask ask, stat_ask;
	int in, out, at_fd; /* at_fd, at_name: where a local source is while it is planned */
	const char *at_name;
	struct xfer_handle from_h, to_h, check_h;
	struct reader rd;
	uint64_t old_size;   /* of the destination */
	uint64_t start;      /* bytes that were there and are kept */
	uint64_t at;         /* next byte to be sent */
	uint64_t broken_at;  /* where a WRITE failed */
	uint64_t done;       /* bytes that the destination has taken, in order */
	uint64_t reached;    /* counted as progress */
	uint64_t data_until; /* sparse: how far data goes */
	uint64_t compared, compare_until;
	struct sum sums[2]; /* across: of the destination and of the source */
	unsigned pass;
	bool is_different, is_read_end, is_compared;
	size_t writes;      /* WRITEs without an answer */
	struct list blocks; /* across: slots that wait to be written */
	size_t blocks_bytes;
	uint32_t block_at;
	char *real; /* JOB_FROM_REAL */
};

/* ---- a directory of the source ------------------------------------------------------------------
 */
#define WALK_AHEAD 8

struct batch { /* entries of one READDIR */
	struct list link;
	struct cslice rest;
	uint32_t count;
	size_t n;
	uint8_t p[];
};

struct walk_ask {
	struct sf_ask ask;
	struct walker *w;
	bool is_asked;
};

struct walker {
	struct list link;
	struct xfer *x;
	struct place *to;
	char *from;
	size_t item;
	unsigned depth;
	DIR *dir; /* local */
	struct xfer_handle handle;
	struct walk_ask asks[WALK_AHEAD];
	struct list batches;
	size_t asked_n, ahead;
	bool is_opened, is_eof, is_over;
};

struct xfer_end {         /* one of both ends */
	struct remote *r; /* NULL: local */
	uint64_t bytes;   /* of READs and WRITEs under way */
	size_t requests;  /* the same */
};

struct gather {
	struct job *job;
	uint64_t at;
	size_t n, bytes;
	struct span spans[XFER_GATHER];
};

struct rate {
	uint64_t bytes_s, at_us, tokens;
};

struct xfer {
	struct xfer_env env;
	struct ev *ev;
	struct xfer_end from, to;
	struct xfer_item_own {
		char *from, *to;
		bool is_peer_name, has_failed;
	} * items;
	size_t items_n, items_cap, items_at;
	struct list walkers, jobs, ready, movers, endings, refused, slots, wslots;
	size_t walkers_n, jobs_n, unknown_n, files_max;
	size_t batch_bytes; /* of names that are ahead */
	size_t asks;        /* requests that refer to something of ours */
	size_t places;
	struct gather gather;
	struct rate rate;
	struct ev_timer timer;
	struct xfer_progress p;
	uint64_t p_at_us;
	uint8_t *scratch; /* twice XFER_BLOCK bytes */
	err_t end;        /* why it stops before the end */
	size_t left_told, left_more;
	unsigned interrupts;
	bool is_running, is_over, is_freed, is_in_turn, is_again;
};

/* transfer.c */
void xfer_say(struct xfer *x, enum log_level level, const char *fmt, ...) PRINTF(3, 4);
void xfer_count_failure(struct xfer *x, size_t item); /* of that item, or of what is in it */
struct xfer_words xfer_status_words(const struct sf_reply *r);
/* The end of the connection is noted; true when that is what the reply says. */
bool xfer_is_lost(struct xfer *x, const struct sf_reply *r);
/* OK: asked, one more is counted.  E_AGAIN: later.  Else the connection is over. */
MUST err_t xfer_asked(struct xfer *x, err_t e);
void xfer_answered(struct xfer *x);
void xfer_turn(struct xfer *x);
bool xfer_is_open(const struct xfer *x); /* the window has room for one more file */
char *xfer_join(const char *dir, const char *name);
const char *xfer_last(const char *path);

/* rate.c: bytes that may go now; 0 = wait_us first */
void rate_init(struct rate *t, uint64_t bytes_s, uint64_t now_us);
uint64_t rate_room(struct rate *t, uint64_t now_us, uint64_t wish);
void rate_took(struct rate *t, uint64_t n);
uint64_t rate_wait_us(const struct rate *t);

/* progress.c */
void progress_bytes(struct job *j, uint64_t reached);
void progress_file_end(struct job *j);
void progress_turn(struct xfer *x, bool is_end);

/* plan.c */
void plan_turn(struct xfer *x);
void plan_stop(struct xfer *x); /* no more files */
/* A directory of the source that goes to `to` below (NULL: the person's path) */
void plan_dir(struct job *j);
/* plan_remote.c: the next entry; false = none for now (or never: is_over) */
void walk_remote_step(struct walker *w); /* asks for what is to be read next */
bool walk_remote_peek(struct walker *w, struct sf_entry *out);
void walk_remote_take(struct walker *w);
void walk_remote_free(struct walker *w);
void walker_free(struct walker *w);

/* place.c */
/* For the directory that j is. */
struct place *place_new(struct job *j);
void place_keep(struct place *p);
void place_drop(struct place *p);
void place_turn(struct xfer *x);

/* job.c */
struct job *job_new(struct xfer *x, char *from, char *to); /* takes both */
void job_start(struct job *j);
void job_wake(struct job *j);
void job_step(struct job *j);
void job_go(struct job *j, enum job_phase phase);
void job_fail(struct job *j); /* it was told */
void job_stop(struct job *j); /* not told: all ends */
void job_done(struct job *j);
void job_free(struct job *j);
void job_report_reader(struct job *j, const char *what, const char *path);
MUST err_t job_ask(struct job *j, err_t e); /* after sf_ask_ with j->ask */

/* job_from.c, job_to.c: phases */
void job_from_stat(struct job *j);
void job_from_real(struct job *j);
void job_from_open(struct job *j);
void job_to_stat(struct job *j);
void job_to_open(struct job *j);
void job_to_size(struct job *j);
void job_to_attr(struct job *j);
void job_to_sync(struct job *j);
void job_to_close(struct job *j);
void job_rename(struct job *j);
void job_cut(struct job *j);
void job_remove(struct job *j);
void job_abandon(struct job *j);
void job_check_open(struct job *j);
void job_data_begin(struct job *j);
void job_data_end(struct job *j); /* all bytes are there */
struct sf_attr job_attr(const struct job *j);
/* local.c */
bool local_stat(struct xfer *x, const char *path, struct xfer_meta *out, int *why);
void meta_of_stat(struct xfer_meta *m, const struct stat *st);
void meta_of_attr(struct xfer_meta *m, const struct sf_attr *a);
bool local_open_from(struct job *j);
bool local_open_to(struct job *j);
void local_finish(struct job *j);
void local_remove(struct job *j);
void local_copy(struct job *j); /* local to local: a part of it */
/* compare.c: the destination's first `until` bytes (in JOB_CHECK: and no more) with the source */
void compare_begin(struct job *j, enum job_phase phase, uint64_t until);
void compare_push(struct job *j);
void compare_step(struct job *j);
void compare_piece(struct job *j, uint64_t at, struct cslice piece);
/* up.c, down.c, across.c */
bool up_push(struct job *j); /* false: no room now */
bool across_push(struct job *j);
void down_piece(struct job *j, uint64_t at, struct span piece);
void down_flush(struct xfer *x);
void movers_turn(struct xfer *x);
struct wslot;
void wslots_free(struct xfer *x);
#endif
