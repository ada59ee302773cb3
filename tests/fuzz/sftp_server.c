/* SPDX-License-Identifier: ISC */
/*
 * sftp_server - the SFTP server's engine, on files in memory, asked by a hostile client
 *
 * Each request has one reply with its id, in their order, and a read-only server alters nothing.
 *
 * head: policy (and whether the bytes come in packets, and how long ones), the call of the file
 * system that fails, handles (and the room for replies), what is denied
 */
#include "base/buf.h"
#include "memfs.h"
#include "script.h"
#include "sftp/server.h"

#define ASKED_MAX 512
#define OUT_MAX   (2 * (SF_FRAME_MAX + 4))

struct model {
	struct memfs fs;
	struct sf_server *s;
	bool is_raw, is_over, is_read_only;
	uint32_t asked[ASKED_MAX]; /* ids whose replies are to come */
	size_t asked_n, answered;
	uint8_t reply[4 + SF_FRAME_MAX]; /* the one that is under way */
	size_t reply_n;
	size_t handles;
	/* between packets: */
	size_t piece, room; /* bytes a packet, room for replies; piece 0: by the buffers */
	struct buf in;      /* has come and is not used yet */
};

#define PIECES 1024

static void say(void *arg, enum log_level level, const char *text)
{
	(void)arg;
	PROMISE(level >= LOG_L_FATAL && strlen(text) > 0);
}

/* A whole reply. */
static void check_reply(struct model *m, struct cslice frame)
{
	PROMISE(frame.n >= 5);
	struct sf_status st;
	struct sf_name names;
	struct sf_entry entry;
	struct cslice body = {frame.p + 1, frame.n - 1};
	switch (frame.p[0]) {
	case SF_MSG_version:
		return;
	case SF_MSG_status:
		PROMISE(sf_get_status(body, &st) == OK && st.code <= SF_op_unsupported);
		break;
	case SF_MSG_name:
		PROMISE(sf_get_name(body, &names) == OK && names.count > 0);
		for (; names.count > 0; names.count--)
			PROMISE(sf_next_entry(&names.entries, &entry) == OK);
		PROMISE(names.entries.n == 0);
		break;
	default:
		PROMISE(frame.p[0] == SF_MSG_handle || frame.p[0] == SF_MSG_data ||
			frame.p[0] == SF_MSG_attrs || frame.p[0] == SF_MSG_extended_reply);
	}
	if (m->is_raw)
		return;
	PROMISE(m->answered < m->asked_n);
	PROMISE(be32_get(body.p) == m->asked[m->answered++]);
}

static void take_bytes(struct model *m, const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n;) {
		size_t want = m->reply_n < 4 ? 4 : 4 + be32_get(m->reply);
		PROMISE(want <= sizeof(m->reply) && (m->reply_n < 4 || want > 4));
		size_t part = num_min(want - m->reply_n, n - i);
		memcpy(m->reply + m->reply_n, p + i, part);
		m->reply_n += part;
		i += part;
		if (m->reply_n > 4 && m->reply_n == 4 + be32_get(m->reply)) {
			check_reply(m, cslice_of(m->reply + 4, m->reply_n - 4));
			m->reply_n = 0;
		}
	}
}

static void take_replies(struct model *m, size_t most)
{
	struct cslice ready = sf_server_ready(m->s);
	PROMISE(ready.n <= OUT_MAX);
	if (m->piece != 0)
		return; /* they go out by themselves */
	most = num_min(most, ready.n);
	take_bytes(m, ready.p, most);
	sf_server_sent(m->s, most);
}

static size_t cut(uint8_t *p, size_t n, size_t size, struct iovec *out)
{
	size_t made = 0;
	size = num_max(size, n / (PIECES - 1) + 1);
	for (; n > 0; made++) {
		size_t part = num_min(n, size);
		out[made] = (struct iovec){p, part};
		p += part;
		n -= part;
	}
	return made;
}

/* False when nothing moved. */
static bool serve(struct model *m)
{
	static struct iovec in[PIECES], out[PIECES];
	static uint8_t room[1 << 16];
	struct sf_work w = {.in = in, .out = out};
	w.in_n = cut(m->in.p, m->in.n, m->piece, in);
	w.out_n = cut(room, m->room, m->room / 3 + 1, out);
	err_t e = sf_server_serve(m->s, &w);
	PROMISE(w.used <= m->in.n && w.made <= m->room);
	PROMISE(!m->is_over || e != OK);
	PROMISE(e == OK || e == E_LENGTH || e == E_FORMAT || e == E_UNEXPECTED);
	m->is_over = e != OK;
	PROMISE(!m->is_read_only || m->fs.changes == 0);
	PROMISE(m->fs.opens_n <= m->handles && m->fs.largest <= SF_FRAME_MAX + 4);
	take_bytes(m, room, w.made);
	if (w.used > 0)
		memmove(m->in.p, m->in.p + w.used, m->in.n - w.used);
	m->in.n -= w.used;
	return w.used + w.made > 0 || sf_server_is_busy(m->s);
}

static void run(struct model *m)
{
	if (m->piece != 0) {
		(void)serve(m);
		return;
	}
	err_t e = sf_server_run(m->s);
	PROMISE(!m->is_over || e != OK);
	PROMISE(e == OK || e == E_LENGTH || e == E_FORMAT || e == E_UNEXPECTED);
	m->is_over = e != OK;
	PROMISE(!m->is_read_only || m->fs.changes == 0);
	PROMISE(m->fs.opens_n <= m->handles && m->fs.largest <= SF_FRAME_MAX + 4);
}

/* With all replies taken as they come, everything is done in the end. */
static void run_all(struct model *m)
{
	size_t n;
	while (m->piece != 0 && !m->is_over && serve(m))
		;
	if (m->piece != 0)
		return;
	do {
		run(m);
		n = sf_server_ready(m->s).n;
		take_replies(m, SIZE_MAX);
	} while (!m->is_over && (n > 0 || sf_server_is_busy(m->s)));
}

static void feed(struct model *m, struct cslice bytes)
{
	if (m->piece != 0) {
		buf_put(&m->in, bytes.p, bytes.n);
		PROMISE(buf_err(&m->in) == OK);
		while (!m->is_over && serve(m) && m->in.n > 0)
			;
		return;
	}
	while (bytes.n > 0 && !m->is_over) {
		struct slice room = sf_server_space(m->s);
		size_t n = num_min(room.n, bytes.n);
		if (n == 0) { /* only while replies wait */
			PROMISE(sf_server_ready(m->s).n > 0 || sf_server_is_busy(m->s));
			run_all(m);
			continue;
		}
		memcpy(room.p, bytes.p, n);
		sf_server_fed(m->s, n);
		bytes = cslice_of(bytes.p + n, bytes.n - n);
		run(m);
	}
}

static void ask(struct model *m, struct cslice message)
{
	uint8_t head[4];
	if (message.n < 1 || m->asked_n == ASKED_MAX)
		return;
	if (message.n < 5 || message.p[0] == SF_MSG_init)
		m->is_raw = true;
	else
		m->asked[m->asked_n++] = be32_get(message.p + 1);
	be32_put(head, (uint32_t)message.n);
	feed(m, cslice_of(head, 4));
	feed(m, message);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static struct model m;
	struct cslice in = {data, n};
	struct script_step step;
	uint8_t policy = fuzz_u8(&in), fail_at = fuzz_u8(&in), handles = fuzz_u8(&in);
	m = (struct model){.is_read_only = (policy & 1) != 0, .handles = 1 + handles % 8};
	buf_init(&m.in, 4 << 20);
	m.piece = (policy & 8) != 0 ? 1 + (size_t)(policy >> 4) * (policy >> 4) * 97 : 0;
	m.room = 1 + (size_t)(handles >> 3) * (handles >> 3) * 61;
	memfs_init(&m.fs);
	m.fs.fail_at = fail_at;
	struct sf_server_env env = {.fs = &memfs_face,
		.fs_arg = &m.fs,
		.policy = {.is_read_only = m.is_read_only, .denied = (uint64_t)fuzz_u8(&in) << 8},
		.handles_max = m.handles,
		.say = (policy & 4) != 0 ? say : NULL,
		.level = LOG_L_DEBUG3};
	PROMISE(sf_server_new(&m.s, &env) == OK);
	if ((policy & 2) == 0)
		feed(&m, cslice_of("\0\0\0\5\1\0\0\0\3", 9));
	while (!m.is_over && script_next(&in, &step)) {
		if (step.kind == SCRIPT_RAW) {
			m.is_raw = true;
			feed(&m, step.data);
		} else if (step.kind == SCRIPT_DRAIN) {
			take_replies(&m, fuzz_u16(&step.data));
			run(&m);
		} else {
			ask(&m, step.data);
		}
	}
	run_all(&m);
	PROMISE(m.is_over || m.is_raw || m.answered == m.asked_n);
	sf_server_free(m.s);
	PROMISE(m.fs.opens_n == 0);
	buf_done(&m.in);
	memfs_done(&m.fs);
	return 0;
}
