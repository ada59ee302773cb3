/* SPDX-License-Identifier: ISC */
/*
 * The old protocol of scp, both roles, whole and in pieces.
 *
 * The streams marked "recorded" are what OpenSSH 9.2's scp -f and scp -t say.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "sftp/rcp.h"

#define BYTES(text) cslice_of(text, sizeof(text) - 1)

/* ---- pieces -----------------------------------------------------------------------------------
 */

enum { WHOLE, SINGLE, RANDOM, CUTS };

struct cutter {
	struct cslice all;
	size_t given;
	int how;
	struct rng_seeded rng;
};

static struct cutter cut(struct cslice all, int how)
{
	struct cutter c = {.all = all, .how = how};
	rng_seeded_init(&c.rng, all.n + 7);
	return c;
}

/* More of the stream behind what was not taken yet. */
static bool more(struct cutter *c, struct cslice *in)
{
	size_t left = c->all.n - c->given;
	if (left == 0)
		return false;
	size_t n = c->how == WHOLE    ? left
		   : c->how == SINGLE ? 1
				      : num_min(left, 1 + rng_below(&c->rng.rng, 9));
	*in = cslice_of(c->all.p + c->given - in->n, in->n + n);
	c->given += n;
	return true;
}

/* ---- the sink ---------------------------------------------------------------------------------
 */

struct run {
	struct buf log, out;
	err_t err, end;
	char why[256];
	bool was_data;
};

static void run_done(struct run *r)
{
	buf_done(&r->log);
	buf_done(&r->out);
}

static void note(struct run *r, const struct rcp_event *e)
{
	static const char *const names[] = {[RCP_EV_FILE] = "file",
		[RCP_EV_FILE_END] = "end",
		[RCP_EV_DIR] = "dir",
		[RCP_EV_DIR_END] = "up",
		[RCP_EV_OVER] = "over",
		[RCP_EV_GO] = "go",
		[RCP_EV_REFUSED] = "refused",
		[RCP_EV_WARNING] = "warning",
		[RCP_EV_FATAL] = "fatal"};
	if (e->type == RCP_EV_DATA) {
		buf_printf(&r->log, "%s%.*s", r->was_data ? "" : " =", (int)e->data.n,
			(const char *)e->data.p);
		r->was_data = true;
		return;
	}
	r->was_data = false;
	buf_printf(&r->log, " %s", names[e->type]);
	if (e->name.n > 0)
		buf_printf(&r->log, ":%.*s:%o:%llu", (int)e->name.n, (const char *)e->name.p,
			e->mode, (unsigned long long)e->size);
	if (e->text.n > 0)
		buf_printf(&r->log, ":%.*s", (int)e->text.n, (const char *)e->text.p);
	if (e->has_times)
		buf_printf(&r->log, ":%llu.%u:%llu.%u", (unsigned long long)e->times.mtime,
			e->times.mtime_us, (unsigned long long)e->times.atime, e->times.atime_us);
}

struct sink_case {
	bool is_recursive;
	const char *asked;  /* NULL = any name */
	const char *refuse; /* this name is answered by "no room" */
	struct cslice in;
	const char *log;
	struct cslice out; /* without the greeting */
	err_t err, end;
	const char *why; /* part of it */
};

static struct run sink_run(const struct sink_case *c, int how)
{
	struct run r = {0};
	struct rcp_asked asked = {0};
	struct rcp_sink s;
	struct cutter pieces = cut(c->in, how);
	struct cslice in = {0};
	buf_init(&r.log, 1 << 16);
	buf_init(&r.out, 1 << 16);
	if (c->asked != NULL)
		assert_int_equal(rcp_asked_init(&asked, c->asked, c->is_recursive), OK);
	rcp_sink_init(&s, c->is_recursive, c->asked != NULL ? &asked : NULL);
	assert_int_equal(rcp_sink_greet(&s, NULL), OK);
	while (r.err == OK) {
		struct rcp_event e;
		r.err = rcp_sink_next(&s, &in, &e);
		if (r.err == OK && e.type == RCP_EV_NONE) {
			if (!more(&pieces, &in))
				break;
			continue;
		}
		bool is_all = in.n == 0 && pieces.given == c->in.n;
		if (r.err != OK)
			break;
		note(&r, &e);
		bool is_asked = e.type != RCP_EV_DATA && e.type < RCP_EV_OVER;
		bool is_refused = c->refuse != NULL && cslice_eq_str(e.name, c->refuse);
		if (is_asked) {
			assert_int_equal(rcp_sink_next(&s, &in, &e), E_PHASE);
			assert_int_equal(rcp_sink_answer(&s, is_refused ? "no room" : NULL), OK);
		}
		assert_int_equal(rcp_sink_answer(&s, NULL), E_PHASE);
		if (e.type == RCP_EV_FATAL || e.type == RCP_EV_OVER || is_all)
			break;
	}
	struct cslice ready = rcp_ready(&s.side);
	assert_true(ready.n > 0 && ready.p[0] == 0);
	buf_put(&r.out, ready.p + 1, ready.n - 1);
	rcp_sent(&s.side, ready.n);
	assert_int_equal(rcp_ready(&s.side).n, 0);
	r.end = rcp_sink_end(&s);
	(void)snprintf(r.why, sizeof(r.why), "%s", rcp_why(&s.side));
	rcp_sink_done(&s);
	rcp_asked_done(&asked);
	return r;
}

static void sink_check(const struct sink_case *c)
{
	for (int how = 0; how < CUTS; how++) {
		struct run r = sink_run(c, how);
		buf_put_u8(&r.log, 0);
		assert_string_equal(r.log.n > 1 ? (char *)r.log.p + 1 : "", c->log);
		assert_int_equal(r.err, c->err);
		assert_int_equal(r.end, c->end);
		if (c->why != NULL)
			assert_non_null(strstr(r.why, c->why));
		if (c->out.p != NULL) {
			assert_int_equal(r.out.n, c->out.n);
			assert_memory_equal(r.out.p, c->out.p, c->out.n);
		}
		run_done(&r);
	}
}

static void sink_takes_what_openssh_sends(void **state)
{
	(void)state;
	const struct sink_case cases[] = {
		{.is_recursive = true, /* recorded: scp -f -r -p src/tree */
			.asked = "src/tree",
			.in = BYTES("T1234567890 0 1234567891 0\nD0755 0 tree\n"
				    "T1234567890 0 1234567891 0\nC4751 5 file\nhello\0"
				    "T1234567890 0 1234567891 0\nD0755 0 sub\n"
				    "T1234567890 0 1234567891 0\nC0644 0 empty\n\0E\nE\n"),
			.log = "dir:tree:755:0:1234567890.0:1234567891.0 "
			       "file:file:4751:5:1234567890.0:1234567891.0 =hello end "
			       "dir:sub:755:0:1234567890.0:1234567891.0 "
			       "file:empty:644:0:1234567890.0:1234567891.0 end up up",
			.out = BYTES("\0\0\0\0\0\0\0\0\0\0\0\0")},
		{.asked = "src/tree/file", /* recorded */
			.in = BYTES("C4751 5 file\nhello\0"),
			.log = "file:file:4751:5 =hello end",
			.out = BYTES("\0\0")},
		{.asked = "src/none", /* recorded */
			.in = BYTES("\1scp: src/none: No such file or directory\n"),
			.log = "warning:src/none: No such file or directory",
			.out = BYTES("")},
		{.asked = "src/tree", /* recorded, without -r */
			.in = BYTES("\1scp: src/tree: not a regular file\n"),
			.log = "warning:src/tree: not a regular file",
			.out = BYTES("")},
	};
	for (size_t i = 0; i < ARRAY_N(cases); i++)
		sink_check(&cases[i]);
}

static void sink_goes_on_after_failures(void **state)
{
	(void)state;
	const struct sink_case cases[] = {
		{.refuse = "a",
			.in = BYTES("C0644 5 a\nC0644 5 b\nhello\0"),
			.log = "file:a:644:5 file:b:644:5 =hello end",
			.out = BYTES("\1scp: no room\n\0\0")},
		{.is_recursive = true, /* a refused directory is left out by the source */
			.refuse = "d",
			.in = BYTES("D0755 0 d\nD0700 0 e\nE\n"),
			.log = "dir:d:755:0 dir:e:700:0 up",
			.out = BYTES("\1scp: no room\n\0\0")},
		{.in = BYTES("C0644 5 f\nhello\1scp: f: Input/output error\nC0600 0 g\n\0"),
			.log = "file:f:644:5 =hello end:f: Input/output error file:g:600:0 end",
			.out = BYTES("\0\0\0\0")},
		{.in = BYTES("C0644 0 f\n\1\n"), .log = "file:f:644:0 end:error"},
		{.in = BYTES("\1one\n\1scp: two\nC0644 0 f\n\0"),
			.log = "warning:one warning:two file:f:644:0 end"},
		{.in = BYTES("\1one\n\2scp: two\nC0644 0 f\n\0"), .log = "warning:one fatal:two"},
		{.in = BYTES("C0644 2 f\nab\2gone\n"), .log = "file:f:644:2 =ab fatal:gone"},
		/* what the shell's start files print, or the shell itself */
		{.in = BYTES("Welcome to this host\nC0644 0 f\n\0"),
			.log = "fatal:Welcome to this host"},
		{.in = BYTES("E\n"), .log = "over", .out = BYTES("\0")},
		/* times are for one record */
		{.in = BYTES("T5 1 6 999999\nC0644 0 f\n\0C0644 0 g\n\0"),
			.log = "file:f:644:0:5.1:6.999999 end file:g:644:0 end"},
		{.in = BYTES("T18446744073709551615 0 0 0\nC0000 0 f\n\0"),
			.log = "file:f:0:0:18446744073709551615.0:0.0 end"},
		/* libssh2 writes a setuid mode with five digits */
		{.in = BYTES("C04755 0 f\n\0"), .log = "file:f:4755:0 end"},
		{.in = BYTES("C0644 9223372036854775807 f\nabc"),
			.log = "file:f:644:9223372036854775807 =abc",
			.end = E_CLOSED,
			.why = "lost connection"},
		{.is_recursive = true,
			.in = BYTES("D0755 0 d\n"),
			.log = "dir:d:755:0",
			.end = E_CLOSED},
		{.in = BYTES("C0644 1"), .log = "", .end = E_CLOSED},
		{.in = BYTES(""), .log = ""},
	};
	for (size_t i = 0; i < ARRAY_N(cases); i++)
		sink_check(&cases[i]);
}

static void sink_refuses_what_is_not_the_protocol(void **state)
{
	(void)state;
	const struct {
		struct cslice in;
		const char *why;
	} rows[] = {
		{BYTES("C755 2 file\n"), "bad mode"},
		{BYTES("C08 2 file\n"), "bad mode"},
		{BYTES("C10644 2 file\n"), "bad mode"},
		{BYTES("C006444 2 file\n"), "mode not delimited"},
		{BYTES("C0644\n"), "mode not delimited"},
		{BYTES("C0644  2 file\n"), "size not present"},
		{BYTES("C0644 -2 file\n"), "size not present"},
		{BYTES("C0644 2\n"), "size not delimited"},
		{BYTES("C0644 2x file\n"), "size not delimited"},
		{BYTES("C0644 9223372036854775808 f\n"), "size out of range"},
		{BYTES("C0644 99999999999999999999 f\n"), "size out of range"}, /* recorded */
		{BYTES("T\n"), "mtime.sec not delimited"},
		{BYTES("T1 1000000 1 0\n"), "mtime.usec not delimited"},
		{BYTES("T1 0 -1 0\n"), "atime.sec not delimited"},
		{BYTES("T1 0 1 0 \n"), "atime.usec not delimited"},
		{BYTES("T99999999999999999999 0 1 0\n"), "mtime.sec not delimited"},
		{BYTES("\n"), "expected control record"},
		{BYTES("C0644 0 f\n\0X\n"), "expected control record"},
		{BYTES("C0644 0 f\n\0\0"), "expected control record"},
		{BYTES("Ex\n"), "a directory's end is odd"},
	};
	for (size_t i = 0; i < ARRAY_N(rows); i++) {
		struct sink_case c = {.is_recursive = true, .in = rows[i].in};
		for (int how = 0; how < CUTS; how++) {
			struct run r = sink_run(&c, how);
			if (strcmp(rows[i].why, "expected control record") == 0 && r.err == OK) {
				/* no line yet: a byte 0 is none */
				assert_int_equal(r.end, E_CLOSED);
			} else {
				assert_int_equal(r.err, E_FORMAT);
				assert_non_null(strstr(r.why, rows[i].why));
				/* the source is told, and that it is over */
				assert_true(r.out.n > 2 && r.out.p[r.out.n - 1] == '\n');
				assert_non_null(memchr(r.out.p, 2, r.out.n));
			}
			run_done(&r);
		}
	}
}

static void names_that_lead_elsewhere_end_the_copy(void **state)
{
	(void)state;
	const struct cslice rows[] = {
		/* the eight servers of the regression suite, by what is hostile about them */
		BYTES("D0755 0 /dir/rootpathdir\n"),
		BYTES("D0755 0 ../../../dir/dotpathdir\n"),
		BYTES("D0755 0 ..\n"),
		BYTES("D0555 0 \n"),
		BYTES("D0555 0 .\n"),
		BYTES("C0755 2 extra/file\n"),
		BYTES("C0755 2 /etc/passwd\n"),
		BYTES("C0755 2 ..\n"),
		BYTES("C0755 2 .\n"),
		BYTES("C0755 2 \n"),
		BYTES("C0755 2 a\0b\n"),
		BYTES("C0755 2 a\033[2Jb\n"),
		BYTES("C0755 2 a\177\n"),
		BYTES("C0755 2 a\rb\n"),
		BYTES("D0755 0 a/\n"),
	};
	for (size_t i = 0; i < ARRAY_N(rows); i++) {
		for (int deep = 0; deep < 2; deep++) {
			struct buf b;
			buf_init(&b, 1024);
			if (deep)
				buf_put(&b, "D0755 0 name\n", 13);
			buf_put(&b, rows[i].p, rows[i].n);
			buf_put(&b, "xy\0E\n", 5);
			struct sink_case c = {.is_recursive = true,
				.in = buf_bytes(&b),
				.log = deep ? "dir:name:755:0" : "",
				.err = E_DENIED,
				.end = E_DENIED,
				.why = "error: unexpected filename: "};
			sink_check(&c);
			buf_done(&b);
		}
	}
	const struct sink_case plain = {.in = BYTES("D0755 0 name\n"),
		.log = "",
		.out = BYTES("\2scp: protocol error: received directory without -r\n"),
		.err = E_DENIED,
		.end = E_DENIED};
	sink_check(&plain);
	const struct sink_case extra = {.asked = "/x/data",
		.in = BYTES("C0755 2 extrafile\nxy\0"),
		.log = "",
		.err = E_DENIED,
		.end = E_DENIED,
		.why = "filename does not match request: extrafile"};
	sink_check(&extra);
	const struct sink_case deeper = {.is_recursive = true, /* only what was asked for is */
		.asked = "/x/data",
		.in = BYTES("D0755 0 data\nC0755 2 file\nxy\0E\nD0755 0 more\n"),
		.log = "dir:data:755:0 file:file:755:2 =xy end up",
		.err = E_DENIED,
		.end = E_DENIED};
	sink_check(&deeper);
}

static void sink_has_limits(void **state)
{
	(void)state;
	struct buf b;
	struct rcp_sink s;
	struct rcp_event e;
	buf_init(&b, 1 << 20);
	/* a name as long as it may be, and one more */
	for (size_t n = SF_NAME_MAX; n <= SF_NAME_MAX + 1; n++) {
		buf_clear(&b);
		buf_put(&b, "C0644 0 ", 8);
		memset(buf_room(&b, n), 'n', n);
		buf_put_u8(&b, '\n');
		struct cslice in = buf_bytes(&b);
		rcp_sink_init(&s, false, NULL);
		assert_int_equal(rcp_sink_greet(&s, NULL), OK);
		assert_int_equal(rcp_sink_next(&s, &in, &e), n <= SF_NAME_MAX ? OK : E_LENGTH);
		rcp_sink_done(&s);
	}
	/* a record without end */
	buf_clear(&b);
	memset(buf_room(&b, 1 << 16), 'C', 1 << 16);
	struct cslice in = buf_bytes(&b);
	rcp_sink_init(&s, false, NULL);
	assert_int_equal(rcp_sink_greet(&s, NULL), OK);
	assert_int_equal(rcp_sink_next(&s, &in, &e), E_LENGTH);
	assert_int_equal(rcp_sink_next(&s, &in, &e), E_LENGTH);
	rcp_sink_done(&s);
	/* a text is cut, one without end refused */
	buf_clear(&b);
	buf_put_u8(&b, 1);
	memset(buf_room(&b, 1 << 15), 't', 1 << 15);
	buf_put_u8(&b, '\n');
	in = buf_bytes(&b);
	rcp_sink_init(&s, false, NULL);
	assert_int_equal(rcp_sink_greet(&s, NULL), OK);
	assert_int_equal(rcp_sink_next(&s, &in, &e), OK);
	assert_int_equal(e.type, RCP_EV_WARNING);
	assert_int_equal(e.text.n, RCP_TEXT_MAX - 1);
	rcp_sink_done(&s);
	buf_clear(&b);
	buf_put_u8(&b, 1);
	memset(buf_room(&b, 1 << 17), 't', 1 << 17);
	in = buf_bytes(&b);
	rcp_sink_init(&s, false, NULL);
	assert_int_equal(rcp_sink_greet(&s, NULL), OK);
	assert_int_equal(rcp_sink_next(&s, &in, &e), E_LENGTH);
	rcp_sink_done(&s);
	buf_done(&b);
}

static void sink_may_take_nothing(void **state)
{
	(void)state;
	struct rcp_sink s;
	struct rcp_event e;
	struct cslice in = BYTES("C0644 0 f\n");
	rcp_sink_init(&s, false, NULL);
	assert_int_equal(rcp_sink_next(&s, &in, &e), E_PHASE);
	assert_int_equal(rcp_sink_greet(&s, "src/tree/file: Not a directory"), OK);
	assert_true(cslice_eq(rcp_ready(&s.side),
		BYTES("\1scp: src/tree/file: Not a directory\n"))); /* recorded */
	assert_int_equal(rcp_sink_greet(&s, NULL), E_PHASE);
	assert_int_equal(rcp_sink_next(&s, &in, &e), OK);
	assert_int_equal(e.type, RCP_EV_NONE);
	rcp_sink_done(&s);
}

static void depth_and_unread_answers_have_limits(void **state)
{
	(void)state;
	struct rcp_sink s;
	struct rcp_event e;
	rcp_sink_init(&s, true, NULL);
	assert_int_equal(rcp_sink_greet(&s, NULL), OK);
	for (int i = 0; i < RCP_DEPTH_MAX; i++) {
		struct cslice in = BYTES("D0755 0 d\n");
		assert_int_equal(rcp_sink_next(&s, &in, &e), OK);
		assert_int_equal(e.type, RCP_EV_DIR);
		assert_int_equal(rcp_sink_answer(&s, NULL), OK);
	}
	struct cslice in = BYTES("D0755 0 d\n");
	assert_int_equal(rcp_sink_next(&s, &in, &e), E_LENGTH);
	rcp_sink_done(&s);

	err_t err = OK;
	int i = 0;
	rcp_sink_init(&s, false, NULL);
	assert_int_equal(rcp_sink_greet(&s, NULL), OK);
	for (; i < 100000 && err == OK; i++) {
		struct cslice times = BYTES("T1 0 1 0\n");
		err = rcp_sink_next(&s, &times, &e);
	}
	assert_int_equal(err, E_FLOOD);
	assert_true(i > 1000 && rcp_ready(&s.side).n < 65536);
	rcp_sink_done(&s);
}

/* ---- the source -------------------------------------------------------------------------------
 */

struct talk {
	struct rcp_source s;
	struct buf said;
};

static void talk_start(struct talk *t)
{
	rcp_source_init(&t->s);
	buf_init(&t->said, 1 << 16);
}

static void talk_end(struct talk *t)
{
	rcp_source_done(&t->s);
	buf_done(&t->said);
}

/* The next event out of an answer that comes in pieces; NONE when it is not one yet. */
static struct rcp_event hear(struct talk *t, struct cslice answer, int how)
{
	struct cutter pieces = cut(answer, how);
	struct cslice in = {0};
	struct rcp_event e = {0};
	while (e.type == RCP_EV_NONE && more(&pieces, &in))
		assert_int_equal(rcp_source_next(&t->s, &in, &e), OK);
	assert_int_equal(in.n, 0);
	return e;
}

static void say(struct talk *t)
{
	struct cslice ready = rcp_ready(&t->s.side);
	buf_put(&t->said, ready.p, ready.n);
	rcp_sent(&t->s.side, ready.n);
}

#define GO(t) assert_int_equal(hear(t, BYTES("\0"), WHOLE).type, RCP_EV_GO)

static void put_file(struct talk *t, const char *name, uint32_t mode, const char *content)
{
	assert_int_equal(rcp_source_file(&t->s, name, mode, strlen(content)), OK);
	assert_int_equal(rcp_source_room(&t->s), 0); /* not before the answer */
	say(t);
	assert_int_equal(rcp_source_file(&t->s, name, mode, 1), E_PHASE);
	assert_int_equal(rcp_source_file_end(&t->s, NULL), E_PHASE);
	GO(t);
	assert_int_equal(rcp_source_room(&t->s), strlen(content));
	if (content[0] != '\0')
		assert_int_equal(rcp_source_file_end(&t->s, NULL), E_PHASE);
	buf_put(&t->said, content, strlen(content));
	rcp_source_filled(&t->s, strlen(content));
	assert_int_equal(rcp_source_file_end(&t->s, NULL), OK);
	say(t);
	GO(t);
}

static void source_says_what_openssh_says(void **state)
{
	(void)state;
	static const char recorded[] = /* scp -f -r -p src/tree */
		"T1234567890 0 1234567891 0\nD0755 0 tree\n"
		"T1234567890 0 1234567891 0\nC4751 5 file\nhello\0"
		"T1234567890 0 1234567891 0\nD0755 0 sub\n"
		"T1234567890 0 1234567891 0\nC0644 0 empty\n\0E\nE\n";
	const struct rcp_times times = {.mtime = 1234567890, .atime = 1234567891};
	struct talk t;
	talk_start(&t);
	assert_int_equal(rcp_source_times(&t.s, &times), E_PHASE); /* not before the greeting */
	GO(&t);
#define TIMES()                                                                                    \
	assert_int_equal(rcp_source_times(&t.s, &times), OK);                                      \
	say(&t);                                                                                   \
	GO(&t)
	TIMES();
	assert_int_equal(rcp_source_dir(&t.s, "tree", 040755), OK);
	say(&t);
	GO(&t);
	TIMES();
	put_file(&t, "file", 0104751, "hello");
	TIMES();
	assert_int_equal(rcp_source_dir(&t.s, "sub", 0755), OK);
	say(&t);
	GO(&t);
	TIMES();
	put_file(&t, "empty", 0644, "");
	for (int i = 0; i < 2; i++) {
		assert_int_equal(rcp_source_dir_end(&t.s), OK);
		say(&t);
		GO(&t);
	}
	assert_int_equal(rcp_source_dir_end(&t.s), E_PHASE);
	assert_int_equal(t.said.n, sizeof(recorded) - 1);
	assert_memory_equal(t.said.p, recorded, t.said.n);
	talk_end(&t);
}

static void source_hears_refusals(void **state)
{
	(void)state;
	for (int how = 0; how < CUTS; how++) {
		struct talk t;
		struct rcp_event e;
		talk_start(&t);
		GO(&t);
		assert_int_equal(rcp_source_file(&t.s, "f", 0644, 5), OK);
		say(&t);
		e = hear(&t, BYTES("\1scp: /nonexistent/x: No such file or directory\n"), how);
		assert_int_equal(e.type, RCP_EV_REFUSED);
		assert_true(cslice_eq_str(e.text, "/nonexistent/x: No such file or directory"));
		put_file(&t, "g", 0644, "xyz"); /* in step */
		/* after all of a file: recorded, scp -t /dev/full */
		assert_int_equal(rcp_source_file(&t.s, "h", 0600, 1), OK);
		say(&t);
		GO(&t);
		rcp_source_filled(&t.s, 1);
		assert_int_equal(rcp_source_file_end(&t.s, "h: shrank\nwhile read"), OK);
		assert_true(cslice_eq(rcp_ready(&t.s.side),
			BYTES("\1scp: h: shrank?while read\n"))); /* one line */
		say(&t);
		e = hear(&t, BYTES("\1scp: /dev/full: No space left on device\n"), how);
		assert_int_equal(e.type, RCP_EV_REFUSED);
		/* what old ones say unasked is told, and changes nothing */
		e = hear(&t, BYTES("\1scp: d: set times: nope\n"), how);
		assert_int_equal(e.type, RCP_EV_WARNING);
		put_file(&t, "i", 0644, "");
		assert_int_equal(rcp_source_dir(&t.s, "d", 0755), OK);
		say(&t);
		e = hear(&t, BYTES("\2gone\n"), how);
		assert_int_equal(e.type, RCP_EV_FATAL);
		assert_true(cslice_eq_str(e.text, "gone"));
		assert_int_equal(rcp_source_dir_end(&t.s), E_PHASE);
		talk_end(&t);
	}
}

static void source_hears_a_shell_and_a_liar(void **state)
{
	(void)state;
	for (int how = 0; how < CUTS; how++) {
		struct talk t;
		talk_start(&t);
		struct rcp_event e = hear(&t, BYTES("sh: scp: not found\n"), how);
		assert_int_equal(e.type, RCP_EV_FATAL);
		assert_true(cslice_eq_str(e.text, "sh: scp: not found"));
		talk_end(&t);
		talk_start(&t); /* recorded: scp -t -d FILE greets so */
		e = hear(&t, BYTES("\1scp: src/tree/file: Not a directory\n"), how);
		assert_int_equal(e.type, RCP_EV_FATAL);
		talk_end(&t);
	}
	struct talk t;
	struct rcp_event e;
	talk_start(&t);
	GO(&t);
	static const uint8_t zeros[65];
	struct cslice in = {zeros, 64}; /* as many answers to nothing as are kept */
	assert_int_equal(rcp_source_next(&t.s, &in, &e), OK);
	assert_int_equal(e.type, RCP_EV_NONE);
	assert_int_equal(rcp_source_file(&t.s, "f", 0644, 0), OK);
	assert_int_equal(rcp_source_next(&t.s, &in, &e), OK);
	assert_int_equal(e.type, RCP_EV_GO);
	assert_int_equal(rcp_source_file_end(&t.s, NULL), OK);
	assert_int_equal(rcp_source_next(&t.s, &in, &e), OK);
	assert_int_equal(e.type, RCP_EV_GO);
	assert_int_equal(rcp_source_next(&t.s, &in, &e), OK);
	assert_int_equal(e.type, RCP_EV_NONE);
	in = cslice_of(zeros, 3);
	assert_int_equal(rcp_source_next(&t.s, &in, &e), E_FORMAT);
	assert_int_equal(rcp_source_file(&t.s, "f", 0644, 0), E_FORMAT);
	assert_true(rcp_why(&t.s.side)[0] != '\0');
	talk_end(&t);
	talk_start(&t);
	GO(&t);
	static uint8_t junk[1 << 17] = {1};
	memset(junk + 1, 'x', sizeof(junk) - 1);
	in = cslice_of(junk, sizeof(junk));
	assert_int_equal(rcp_source_next(&t.s, &in, &e), E_LENGTH);
	talk_end(&t);
}

static void source_sends_no_name_that_breaks_a_line(void **state)
{
	(void)state;
	struct talk t;
	char name[SF_NAME_MAX + 2];
	talk_start(&t);
	GO(&t);
	assert_int_equal(rcp_source_file(&t.s, "a\nC0644 0 b", 0644, 0), E_NAME);
	assert_int_equal(rcp_source_dir(&t.s, "a\n", 0755), E_NAME);
	assert_int_equal(rcp_source_file(&t.s, "", 0644, 0), E_NAME);
	assert_int_equal(rcp_source_file(&t.s, "a/b", 0644, 0), E_NAME);
	memset(name, 'n', sizeof(name));
	name[SF_NAME_MAX + 1] = '\0';
	assert_int_equal(rcp_source_file(&t.s, name, 0644, 0), E_NAME);
	assert_int_equal(rcp_source_file(&t.s, "f", 0644, RCP_SIZE_MAX + 1), E_LIMIT);
	assert_int_equal(rcp_ready(&t.s.side).n, 0);
	assert_int_equal(rcp_source_warn(&t.s, "x: gone"), OK);
	say(&t);
	name[SF_NAME_MAX] = '\0';
	put_file(&t, name, 0644, "");
	assert_memory_equal(t.said.p, "\1scp: x: gone\nC0644 0 n", 23);
	talk_end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sink_takes_what_openssh_sends),
		cmocka_unit_test(sink_goes_on_after_failures),
		cmocka_unit_test(sink_refuses_what_is_not_the_protocol),
		cmocka_unit_test(names_that_lead_elsewhere_end_the_copy),
		cmocka_unit_test(sink_has_limits),
		cmocka_unit_test(sink_may_take_nothing),
		cmocka_unit_test(depth_and_unread_answers_have_limits),
		cmocka_unit_test(source_says_what_openssh_says),
		cmocka_unit_test(source_hears_refusals),
		cmocka_unit_test(source_hears_a_shell_and_a_liar),
		cmocka_unit_test(source_sends_no_name_that_breaks_a_line),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
