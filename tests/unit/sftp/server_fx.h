/* SPDX-License-Identifier: ISC */
/*
 * server_fx - a server on files in memory, and a client that speaks by the rows of sftp.def
 *
 * send_x(fx, (struct sf_x){...}) sends a request with the next id (of an extension: with its name);
 * next_reply gives the replies in their order.
 */
#ifndef SFTP_SERVER_FX_H
#define SFTP_SERVER_FX_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/rng.h"
#include "memfs.h"
#include "sftp/server.h"

#define STR(text) cslice_str(text)

struct fx {
	struct memfs fs;
	struct sf_server *s;
	uint32_t id; /* of the last request */
	struct buf out, log;
	size_t out_at;
	size_t split;  /* bytes fed at once; 0: all */
	bool is_stuck; /* nothing is taken out */
	err_t err;
};

struct reply {
	uint8_t no;
	uint32_t id, code;  /* code: of STATUS */
	struct cslice body; /* what follows the number; borrowed until the next request */
};

static void fx_say(void *arg, enum log_level level, const char *text)
{
	struct fx *x = arg;
	(void)level;
	buf_printf(&x->log, "%s\n", text);
	buf_put_u8(&x->log, 0);
	x->log.n--; /* a C string */
}

static inline void fx_start_with(struct fx *x, struct sf_policy policy, size_t handles, bool init)
{
	*x = (struct fx){0};
	memfs_init(&x->fs);
	buf_init(&x->out, 64 << 20);
	buf_init(&x->log, 16 << 20);
	struct sf_server_env env = {.fs = &memfs_face,
		.fs_arg = &x->fs,
		.policy = policy,
		.handles_max = handles,
		.say = fx_say,
		.say_arg = x,
		.level = LOG_L_VERBOSE};
	assert_int_equal(sf_server_new(&x->s, &env), OK);
	if (init) {
		struct slice room = sf_server_space(x->s);
		memcpy(room.p, "\0\0\0\5\1\0\0\0\3", 9);
		sf_server_fed(x->s, 9);
		assert_int_equal(sf_server_run(x->s), OK);
		sf_server_sent(x->s, sf_server_ready(x->s).n);
	}
}

static inline void fx_start(struct fx *x)
{
	fx_start_with(x, (struct sf_policy){0}, 16, true);
}

static inline void fx_end(struct fx *x)
{
	sf_server_free(x->s);
	assert_int_equal(x->fs.opens_n, 0);
	memfs_done(&x->fs);
	buf_done(&x->out);
	buf_done(&x->log);
}

static inline void take_out(struct fx *x)
{
	struct cslice ready = sf_server_ready(x->s);
	buf_put(&x->out, ready.p, ready.n);
	sf_server_sent(x->s, ready.n);
}

/* Lets the server do what it can. */
static inline void turn(struct fx *x)
{
	struct cslice ready;
	do {
		x->err = sf_server_run(x->s);
		ready = sf_server_ready(x->s);
		if (!x->is_stuck)
			take_out(x);
	} while (!x->is_stuck && x->err == OK && (ready.n > 0 || sf_server_is_busy(x->s)));
}

/* Gives what was not taken any more. */
static inline size_t feed(struct fx *x, struct cslice bytes)
{
	while (bytes.n > 0) {
		struct slice room = sf_server_space(x->s);
		size_t n = num_min(num_min(bytes.n, room.n), x->split != 0 ? x->split : SIZE_MAX);
		if (n == 0)
			break;
		memcpy(room.p, bytes.p, n);
		sf_server_fed(x->s, n);
		bytes = cslice_of(bytes.p + n, bytes.n - n);
		turn(x);
	}
	return bytes.n;
}

static inline struct reply next_reply(struct fx *x)
{
	struct rd r = rd_of(cslice_of(x->out.p + x->out_at, x->out.n - x->out_at));
	struct cslice frame = rd_str(&r);
	assert_false(r.bad);
	assert_true(frame.n >= 5 && frame.n <= SF_FRAME_MAX);
	x->out_at += 4 + frame.n;
	struct reply reply = {.no = frame.p[0], .body = cslice_of(frame.p + 1, frame.n - 1)};
	reply.id = be32_get(reply.body.p);
	if (reply.no == SF_MSG_status)
		reply.code = be32_get(reply.body.p + 4);
	return reply;
}

static inline struct reply reply_to_last(struct fx *x)
{
	struct reply r = next_reply(x);
	assert_int_equal(r.id, x->id);
	assert_int_equal(x->out_at, x->out.n);
	return r;
}

static inline void expect_code(struct fx *x, enum sf_code code)
{
	struct reply r = reply_to_last(x);
	assert_int_equal(r.no, SF_MSG_status);
	assert_int_equal(r.code, code);
}

/* The handle that is the answer; borrowed from `out`. */
static inline struct cslice expect_handle(struct fx *x, uint8_t out[8])
{
	struct sf_handle m;
	struct reply r = reply_to_last(x);
	assert_int_equal(r.no, SF_MSG_handle);
	assert_int_equal(sf_get_handle(r.body, &m), OK);
	assert_int_equal(m.handle.n, 8);
	memcpy(out, m.handle.p, 8);
	return cslice_of(out, 8);
}

/* Requests as bytes, appended; and as sent at once. */
#define FRAME(name)                                                                                \
	static inline void put_frame_##name(struct fx *x, struct buf *b, struct sf_##name m)       \
	{                                                                                          \
		m.id = ++x->id;                                                                    \
		size_t n = sf_size_##name(&m);                                                     \
		buf_put_u32(b, (uint32_t)n + 1);                                                   \
		buf_put_u8(b, SF_MSG_##name);                                                      \
		struct wr w = wr_of((struct slice){buf_room(b, n), n});                            \
		sf_put_##name(&w, &m);                                                             \
		assert_int_equal(wr_end(&w), OK);                                                  \
	}
#define EXT_FRAME(name)                                                                            \
	static inline void put_frame_##name(struct fx *x, struct buf *b, struct sf_##name m)       \
	{                                                                                          \
		struct sf_extended e = {.request = STR(sf_ext_wire(SF_EXT_##name))};               \
		e.id = ++x->id;                                                                    \
		size_t n = sf_size_extended(&e) + sf_size_##name(&m);                              \
		buf_put_u32(b, (uint32_t)n + 1);                                                   \
		buf_put_u8(b, SF_MSG_extended);                                                    \
		struct wr w = wr_of((struct slice){buf_room(b, n), n});                            \
		sf_put_extended(&w, &e);                                                           \
		sf_put_##name(&w, &m);                                                             \
		assert_int_equal(wr_end(&w), OK);                                                  \
	}
#define SENDER(name)                                                                               \
	static inline void send_##name(struct fx *x, struct sf_##name m)                           \
	{                                                                                          \
		struct buf b;                                                                      \
		buf_init(&b, 1 << 20);                                                             \
		put_frame_##name(x, &b, m);                                                        \
		assert_int_equal(feed(x, buf_bytes(&b)), 0);                                       \
		buf_done(&b);                                                                      \
	}
#define Q(name, no, changes)                  FRAME(name) SENDER(name)
#define X(name, policy, wire, value, changes) EXT_FRAME(name) SENDER(name)
#include "sftp/sftp.def"

static inline struct cslice open_file(
	struct fx *x, const char *path, uint32_t flags, uint8_t out[8])
{
	send_open(x, (struct sf_open){.path = STR(path), .flags = flags});
	return expect_handle(x, out);
}

#endif
