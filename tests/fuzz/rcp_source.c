/* SPDX-License-Identifier: ISC */
/*
 * rcp_source - the old protocol's source, answered by a hostile sink
 *
 * It gives a tree of memory.  A sink of ours hears what it says and is answered as the fuzzer
 * answers: whatever those are, what is said is the protocol, and no data goes out that was not
 * asked for.
 *
 * head: what the tree is like, bytes at once
 */
#include <stdio.h>

#include "fuzz.h"
#include "sftp/rcp.h"

#define DEPTH_MAX 4
#define ASKS_MAX  2000

enum waiting { W_GREETING, W_NOTHING, W_TIMES, W_FILE, W_END, W_DIR, W_UP };

struct model {
	struct rcp_source s;
	struct rcp_sink mirror;
	uint8_t shape;
	enum waiting waiting;
	bool is_timed; /* T was said for what comes next */
	bool is_over, is_owed;
	uint32_t depth, asks;
};

static void answer_mirror(struct model *m, const char *text)
{
	if (m->is_owed)
		PROMISE(rcp_sink_answer(&m->mirror, text) == OK);
	m->is_owed = false;
	rcp_sent(&m->mirror.side, SIZE_MAX);
}

/* The mirror hears; what it is to answer waits for the fuzzer. */
static void mirror(struct model *m, struct cslice said)
{
	while (said.n > 0) {
		struct rcp_event e;
		PROMISE(!m->is_owed);
		PROMISE(rcp_sink_next(&m->mirror, &said, &e) == OK);
		PROMISE(e.type != RCP_EV_FATAL && e.type != RCP_EV_OVER);
		m->is_owed = e.type == RCP_EV_FILE || e.type == RCP_EV_FILE_END ||
			     e.type == RCP_EV_DIR || e.type == RCP_EV_DIR_END;
	}
}

static void flush(struct model *m)
{
	struct cslice ready = rcp_ready(&m->s.side);
	PROMISE(ready.n <= 32768);
	if (ready.n > 0)
		PROMISE(rcp_source_room(&m->s) == 0);
	mirror(m, ready);
	rcp_sent(&m->s.side, ready.n);
}

static void give_data(struct model *m)
{
	static const uint8_t zeros[300];
	uint64_t room = rcp_source_room(&m->s);
	PROMISE(room <= sizeof(zeros) && (room > 0 || rcp_source_is_sent(&m->s)));
	mirror(m, cslice_of(zeros, (size_t)room));
	rcp_source_filled(&m->s, room);
	PROMISE(rcp_source_file_end(&m->s, (m->asks & 8) != 0 ? "short\nfile" : NULL) == OK);
	m->waiting = W_END;
	flush(m);
}

/* The next of a tree that has no end. */
static void ask(struct model *m)
{
	const struct rcp_times t = {.mtime = m->asks, .atime = UINT64_MAX, .atime_us = 999999};
	char name[32];
	uint32_t pick = m->shape + m->asks++;
	(void)snprintf(name, sizeof(name), "n%u", pick);
	if (pick % 7 == 0) {
		PROMISE(rcp_source_warn(&m->s, "scp: no such\nthing") == OK);
		flush(m);
	}
	if (pick % 5 == 0 && m->depth > 0 && !m->is_timed) {
		PROMISE(rcp_source_dir_end(&m->s) == OK);
		m->waiting = W_UP;
	} else if (pick % 3 == 0 && !m->is_timed) {
		PROMISE(rcp_source_times(&m->s, &t) == OK);
		m->waiting = W_TIMES;
	} else if (pick % 2 == 0 && m->depth < DEPTH_MAX) {
		PROMISE(rcp_source_dir(&m->s, name, pick) == OK);
		m->waiting = W_DIR;
	} else {
		PROMISE(rcp_source_file(&m->s, name, pick, pick % 300) == OK);
		m->waiting = W_FILE;
	}
	m->is_timed = m->waiting == W_TIMES;
	flush(m);
	PROMISE(rcp_source_file(&m->s, "early", 0, 0) == E_PHASE);
	PROMISE(rcp_source_room(&m->s) == 0);
}

static void granted(struct model *m)
{
	enum waiting was = m->waiting;
	PROMISE(was != W_NOTHING);
	answer_mirror(m, NULL);
	m->waiting = W_NOTHING;
	if (was == W_DIR)
		m->depth++;
	if (was == W_UP)
		m->depth--;
	if (was == W_FILE)
		give_data(m);
}

static void refused(struct model *m)
{
	PROMISE(m->waiting != W_NOTHING && m->waiting != W_GREETING);
	answer_mirror(m, "no");
	if (m->waiting == W_UP)
		m->depth--;
	m->waiting = W_NOTHING;
}

static void hear(struct model *m, struct cslice in)
{
	struct rcp_event e = {.type = RCP_EV_GO};
	while ((in.n > 0 || e.type != RCP_EV_NONE) && !m->is_over) {
		size_t before = in.n;
		err_t failed = rcp_source_next(&m->s, &in, &e);
		if (failed != OK) {
			PROMISE(failed == E_FORMAT || failed == E_LENGTH);
			PROMISE(rcp_why(&m->s.side)[0] != '\0');
			PROMISE(rcp_source_file(&m->s, "f", 0, 0) == failed);
			m->is_over = true;
			return;
		}
		PROMISE(in.n < before || before == 0 || e.type == RCP_EV_GO);
		PROMISE(e.text.n <= RCP_TEXT_MAX);
		if (e.type == RCP_EV_GO)
			granted(m);
		else if (e.type == RCP_EV_REFUSED)
			refused(m);
		else
			PROMISE(e.type == RCP_EV_NONE || e.type == RCP_EV_WARNING ||
				e.type == RCP_EV_FATAL);
		m->is_over = e.type == RCP_EV_FATAL || m->asks > ASKS_MAX;
		if (!m->is_over && m->waiting == W_NOTHING)
			ask(m);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	struct cslice in = {bytes, n};
	struct model m = {.shape = fuzz_u8(&in)};
	uint8_t once = fuzz_u8(&in);
	rcp_source_init(&m.s);
	rcp_sink_init(&m.mirror, true, NULL);
	PROMISE(rcp_sink_greet(&m.mirror, NULL) == OK);
	PROMISE(rcp_source_file(&m.s, "early", 0, 0) == E_PHASE);
	while (in.n > 0 && !m.is_over)
		hear(&m, fuzz_take(&in, once == 0 ? in.n : once));
	rcp_source_done(&m.s);
	rcp_sink_done(&m.mirror);
	return 0;
}
