/* SPDX-License-Identifier: ISC */
/*
 * rcp - the old protocol of scp, both roles: bytes in, events and bytes out
 *
 * The source tells of files by records, one line each, and the sink answers each with one byte:
 *
 *   C0644 SIZE NAME   a file; then SIZE bytes and the source's own answer byte
 *   D0755 0 NAME      a directory; what follows is in it, up to
 *   E                 its end
 *   T MTIME US ATIME US  the times of the next C or D   (without the first blank)
 *
 *   answer 0: fine; 1 TEXT: not done, go on; 2 TEXT: the end
 *
 * The caller holds the bytes that came: x_next takes as much of them as makes the next event.
 * File data never lies in here: the sink lends it where it came in, the source says how much may go
 * out.  Errors are sticky; x_ready still gives what is to be sent, and x_why is for the person.
 */
#ifndef SFTP_RCP_H
#define SFTP_RCP_H

#include "base/buf.h"
#include "sftp/fs.h"

#define RCP_RECORD_MAX ((size_t)2048) /* a record with its end */
#define RCP_TEXT_MAX   ((size_t)1024) /* of an error's text; what is longer is cut */
#define RCP_TEXT_SKIP  ((size_t)64 << 10)
#define RCP_DEPTH_MAX  512
#define RCP_SIZE_MAX   ((uint64_t)INT64_MAX)

/* ---- names that the peer sends ---------------------------------------------------------------
 */
enum rcp_verdict { RCP_DENY = 0, RCP_DENY_UNASKED, RCP_ALLOW };

/* What was asked for: the names that may come.  Made from the path as the shell of the other end
 * gets it: words, quotes, {a,b} and patterns. */
struct rcp_asked {
	char **v; /* patterns, the last part of each path; owned */
	size_t n;
	bool is_any; /* nothing was asked for by name */
};
/* is_recursive: a name that only the other end's shell can know (~, $x) lets any name in. */
MUST err_t rcp_asked_init(struct rcp_asked *a, const char *path, bool is_recursive);
void rcp_asked_done(struct rcp_asked *a);

/* The one place where a name is judged.  asked: NULL = any (deeper in a tree, -T, a server). */
enum rcp_verdict rcp_name_judge(const struct rcp_asked *asked, struct cslice name);

/* Was it asked for by this very name, not by a pattern? */
bool rcp_asked_literally(const struct rcp_asked *asked, struct cslice name);

/* Shell patterns: * ? [a-z] [!a] [[:alpha:]] and \; a character of UTF-8 counts as one. */
bool rcp_pattern_match(const char *pattern, struct cslice name);

/* ---- events ----------------------------------------------------------------------------------
 */
enum rcp_ev {
	RCP_EV_NONE, /* more bytes are needed; all were taken */
	/* sink; all but DATA and OVER are to be answered by rcp_sink_answer */
	RCP_EV_FILE,     /* name, mode, size, times */
	RCP_EV_DATA,     /* data, and its place `at` in the file */
	RCP_EV_FILE_END, /* all data is there; text: what failed at the source, else empty */
	RCP_EV_DIR,      /* name, mode, times */
	RCP_EV_DIR_END,
	RCP_EV_OVER, /* the source says that nothing more comes */
	/* source */
	RCP_EV_GO,      /* the record, or the file, was taken */
	RCP_EV_REFUSED, /* it was not: text */
	/* both */
	RCP_EV_WARNING, /* the peer tells of a failure: text */
	RCP_EV_FATAL    /* and gives up */
};

struct rcp_times {
	uint64_t mtime, atime;
	uint32_t mtime_us, atime_us;
};

struct rcp_event {
	enum rcp_ev type;
	struct cslice name, text, data; /* borrowed until the next call */
	uint32_t mode;                  /* at most 07777 */
	uint64_t size, at;
	bool has_times;
	struct rcp_times times;
};

/* What both roles keep; own. */
struct rcp_line {
	struct buf b;
	size_t skipped;
};
struct rcp_side {
	int phase;
	err_t err;
	struct rcp_line line;
	bool is_lent; /* the line, by the last event */
	struct buf out;
	struct buf why;
};

/* ---- the sink: scp -t, and the client that fetches -------------------------------------------
 */
struct rcp_sink {
	struct rcp_side side;
	const struct rcp_asked *asked;
	bool is_recursive, is_first, has_times;
	char kind; /* of the record that is to be answered */
	uint32_t depth;
	uint64_t size, at;
	struct rcp_times times;
};

/* asked: borrowed as long as the sink lives, or NULL. */
void rcp_sink_init(struct rcp_sink *s, bool is_recursive, const struct rcp_asked *asked);
/* First of all.  text: why nothing can be taken, NULL = it can. */
MUST err_t rcp_sink_greet(struct rcp_sink *s, const char *text);
void rcp_sink_done(struct rcp_sink *s);
/*
 * rcp_sink_next - the next event out of *in, which moves on
 *
 * E_FORMAT    not the protocol
 * E_LENGTH    a record, a name, a depth that is too large
 * E_DENIED    a name that is not taken, or a directory where none was wanted
 * E_FLOOD     answers are not taken off
 * E_PHASE     an answer is owed
 */
MUST err_t rcp_sink_next(struct rcp_sink *s, struct cslice *in, struct rcp_event *out);
/* text: what failed, NULL = nothing. */
MUST err_t rcp_sink_answer(struct rcp_sink *s, const char *text);
/* The stream has ended: OK when that was the place for it, else E_CLOSED. */
MUST err_t rcp_sink_end(struct rcp_sink *s);

/* ---- the source: scp -f, and the client that sends -------------------------------------------
 */
struct rcp_source {
	struct rcp_side side;
	char kind;     /* of the record that is to be answered */
	uint64_t left; /* data bytes to be sent yet */
	uint32_t depth;
	uint32_t early; /* answers to what was not said yet */
};

void rcp_source_init(struct rcp_source *s);
void rcp_source_done(struct rcp_source *s);
/* Errors as of the sink.  The first GO is the sink's greeting.  *in may be empty: answers may have
 * come early. */
MUST err_t rcp_source_next(struct rcp_source *s, struct cslice *in, struct rcp_event *out);
/* Each is answered by GO or REFUSED.  E_NAME: a name that a record cannot hold. */
MUST err_t rcp_source_times(struct rcp_source *s, const struct rcp_times *times);
MUST err_t rcp_source_file(struct rcp_source *s, const char *name, uint32_t mode, uint64_t size);
MUST err_t rcp_source_dir(struct rcp_source *s, const char *name, uint32_t mode);
MUST err_t rcp_source_dir_end(struct rcp_source *s);
/* After the GO of a file: how many bytes of it may follow what was sent; 0 while rcp_source_ready
 * is not empty.  Then how many did. */
uint64_t rcp_source_room(const struct rcp_source *s);
void rcp_source_filled(struct rcp_source *s, uint64_t n);
bool rcp_source_is_sent(const struct rcp_source *s); /* all of it: rcp_source_file_end is next */
/* All of it was sent; text: what failed while reading it.  Answered. */
MUST err_t rcp_source_file_end(struct rcp_source *s, const char *text);
/* Something could not be sent at all.  Between records; not answered. */
MUST err_t rcp_source_warn(struct rcp_source *s, const char *text);

/* ---- both --------------------------------------------------------------------------------------
 */
struct cslice rcp_ready(const struct rcp_side *s);
void rcp_sent(struct rcp_side *s, size_t n);
/* What went wrong, in words; "" = nothing.  Holds names that are not safe to print. */
const char *rcp_why(const struct rcp_side *s);

#endif
