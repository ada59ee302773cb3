/* SPDX-License-Identifier: ISC */
/* The client's engine against a server made by hand, and against recorded bytes of another one. */
#include "client_fx.h"

/* What the sftp-server of OpenSSH 9.2 said: a directory with "file", 6 bytes. */
static const char recorded[] =
	/* VERSION */
	"\000\000\001>\002\000\000\000\003\000\000\000\030posix-rename@openssh.com\000\000"
	"\000\0011\000\000\000\023statvfs@openssh.com\000\000\000\0012\000\000\000\024fs"
	"tatvfs@openssh.com\000\000\000\0012\000\000\000\024hardlink@openssh.com\000\000"
	"\000\0011\000\000\000\021fsync@openssh.com\000\000\000\0011\000\000\000\024lset"
	"stat@openssh.com\000\000\000\0011\000\000\000\022limits@openssh.com\000\000\000"
	"\0011\000\000\000\027expand-path@openssh.com\000\000\000\0011\000\000\000\011co"
	"py-data\000\000\000\0011\000\000\000\016home-directory\000\000\000\0011\000\000"
	"\000\036users-groups-by-id@openssh.com\000\000\000\0011"
	/* LIMITS */
	"\000\000\000%\311\000\000\000\000\000\000\000\000\000\004\000\000\000\000\000\000"
	"\000\003\374\000\000\000\000\000\000\003\374\000\000\000\000\000\000\000N\033"
	/* STAT */
	"\000\000\000%i\000\000\000\001\000\000\000\017\000\000\000\000\000\000\000\006\000"
	"\000\000\000\000\000\000\000\000\000\201\240k\015\366#eS\361\000"
	/* OPEN */
	"\000\000\000\015f\000\000\000\002\000\000\000\004\000\000\000\000"
	/* READ */
	"\000\000\000\017g\000\000\000\003\000\000\000\006hello\012"
	/* READ at the end */
	"\000\000\000\034e\000\000\000\004\000\000\000\001\000\000\000\013End of file\000"
	"\000\000\000"
	/* CLOSE */
	"\000\000\000\030e\000\000\000\005\000\000\000\000\000\000\000\007Success\000\000"
	"\000\000"
	/* STAT of nothing */
	"\000\000\000\035e\000\000\000\006\000\000\000\002\000\000\000\014No such file\000"
	"\000\000\000";
#define RECORDED_N (sizeof(recorded) - 1)

/* The script to it: all that can be asked without knowing an answer. */
static void ask_recorded(struct cx *x)
{
	struct cslice h = cslice_of("\0\0\0\0", 4);
	assert_int_equal(
		sf_ask_stat(x->c, cx_ask(x, 0), &(struct sf_stat){.path = STR("file")}), OK);
	assert_int_equal(sf_ask_open(x->c, cx_ask(x, 1),
				 &(struct sf_open){.path = STR("file"), .flags = SF_OPEN_READ}),
		OK);
	assert_int_equal(
		sf_ask_read(x->c, cx_ask(x, 2), &(struct sf_read){.handle = h, .n = 100}), OK);
	assert_int_equal(sf_ask_read(x->c, cx_ask(x, 3),
				 &(struct sf_read){.handle = h, .offset = 6, .n = 100}),
		OK);
	assert_int_equal(sf_ask_close(x->c, cx_ask(x, 4), &(struct sf_close){.handle = h}), OK);
	assert_int_equal(
		sf_ask_stat(x->c, cx_ask(x, 5), &(struct sf_stat){.path = STR("none")}), OK);
}

/* Feeds it in pieces of `piece` bytes after a first one of `first`. */
static void play(struct cx *x, size_t first, size_t piece)
{
	size_t at = 0;
	bool has_asked = false;
	while (at < RECORDED_N) {
		size_t n = num_min(at == 0 && first > 0 ? first : piece, RECORDED_N - at);
		/* LIMITS end at 363: no later byte may come before it was asked for */
		if (at < 363)
			n = num_min(n, 363 - at);
		assert_int_equal(cx_feed(x, recorded + at, n), OK);
		at += n;
		if (sf_client_is_ready(x->c) && !has_asked) {
			ask_recorded(x);
			has_asked = true;
		}
	}
}

static const char expected[] =
	"0: type 105 err 0 code 0 data 0 handle 0 size 6 body 0 \"\"\n"
	"1: type 102 err 0 code 0 data 0 handle 4 size 0 body 0 \"\"\n"
	"2: type 103 err 0 code 0 data 6 handle 0 size 0 body 0 \"\"\n"
	"3: type 101 err 0 code 1 data 0 handle 0 size 0 body 0 \"End of file\"\n"
	"4: type 101 err 0 code 0 data 0 handle 0 size 0 body 0 \"Success\"\n"
	"5: type 101 err 0 code 2 data 0 handle 0 size 0 body 0 \"No such file\"\n";

static void check_played(struct cx *x)
{
	assert_int_equal(x->told.n, sizeof(expected) - 1);
	assert_memory_equal(x->told.p, expected, sizeof(expected) - 1);
	assert_true(cslice_eq_str(buf_bytes(&x->data), "hello\n"));
	assert_int_equal(sf_client_pending(x->c), 0);
	assert_int_equal(sf_client_moved(x->c), 6);
}

static void recorded_bytes_mean_the_same_however_they_are_cut(void **state)
{
	(void)state;
	for (size_t i = 0; i < RECORDED_N; i++) {
		struct cx x;
		cx_start(&x);
		play(&x, i, RECORDED_N);
		check_played(&x);
		cx_end(&x);
	}
	for (size_t piece = 1; piece < 40; piece++) {
		struct cx x;
		cx_start(&x);
		play(&x, 0, piece);
		check_played(&x);
		cx_end(&x);
	}
}

static void the_first_bytes_are_the_drafts(void **state)
{
	(void)state;
	struct cx x;
	cx_start(&x);
	struct cslice out = sf_client_ready(x.c);
	assert_true(cslice_eq(out, cslice_of("\0\0\0\5\1\0\0\0\3", 9)));
	sf_client_sent(x.c, 4);
	assert_int_equal(sf_client_ready(x.c).n, 5);
	sf_client_sent(x.c, 5);
	assert_false(sf_client_is_ready(x.c));
	assert_int_equal(
		sf_ask_stat(x.c, cx_ask(&x, 0), &(struct sf_stat){.path = STR("/")}), E_PHASE);
	assert_int_equal(cx_feed(&x, recorded, 322), OK);
	assert_false(sf_client_is_ready(x.c)); /* it has LIMITS: they are asked for */
	out = sf_client_ready(x.c);
	static const char limits[] = "\0\0\0\33\310\0\0\0\0\0\0\0\22limits@openssh.com";
	assert_true(cslice_eq(out, cslice_of(limits, sizeof(limits) - 1)));
	assert_int_equal(cx_feed(&x, recorded + 322, 41), OK);
	assert_true(sf_client_is_ready(x.c));
	struct sf_caps caps = sf_client_caps(x.c);
	assert_int_equal(caps.read, 261120);
	assert_int_equal(caps.write, 261120);
	assert_int_equal(caps.packet, 262144);
	assert_int_equal(caps.handles, 0x4e1b);
	assert_int_equal(sf_client_version(x.c), 3);
	for (int i = 0; i < SF_EXT_N; i++)
		assert_true(sf_client_has(x.c, (enum sf_ext)i));
	cx_end(&x);
}

/* ---- what a server says of itself -------------------------------------------------------------
 */
static void an_extension_counts_with_its_version_only(void **state)
{
	(void)state;
	struct cx x;
	cx_start(&x);
	assert_int_equal(CX_FEED(&x, "\0\0\0\70\2\0\0\0\3"
				     "\0\0\0\11copy-data\0\0\0\1"
				     "2"
				     "\0\0\0\16home-directory\0\0\0\1"
				     "1"
				     "\0\0\0\1x\0\0\0\1y"),
		OK);
	assert_true(sf_client_is_ready(x.c));
	assert_false(sf_client_has(x.c, SF_EXT_copy_data));
	assert_true(sf_client_has(x.c, SF_EXT_home_directory));
	assert_int_equal(
		sf_ask_copy_data(x.c, cx_ask(&x, 0), &(struct sf_copy_data){0}), E_UNSUPPORTED);
	assert_int_equal(sf_client_pending(x.c), 0);
	assert_int_equal(sf_client_caps(x.c).read, 32768);
	assert_int_equal(sf_client_caps(x.c).write, 32768);
	cx_end(&x);
}

static void caps_stay_within_what_can_be(void **state)
{
	(void)state;
	static const struct {
		uint64_t packet, read, write, got_read, got_write;
	} v[] = {
		{262144, 261120, 261120, 261120, 261120},
		{0, 0, 0, 32768, 32768},
		{UINT64_MAX, UINT64_MAX, UINT64_MAX, SF_DATA_MAX, SF_DATA_MAX},
		{34000, 100000, 100, 32976, 100},
		{1, 1, 1, 1, 1},
		{1024, 5000, 5000, 1, 1},
		{0, 1000, 70000, 1000, 70000},
	};
	for (size_t i = 0; i < ARRAY_N(v); i++) {
		struct cx x;
		uint8_t b[32];
		cx_start(&x);
		assert_int_equal(CX_FEED(&x, "\0\0\0\40\2\0\0\0\3"
					     "\0\0\0\22limits@openssh.com\0\0\0\1"
					     "1"),
			OK);
		be64_put(b, v[i].packet);
		be64_put(b + 8, v[i].read);
		be64_put(b + 16, v[i].write);
		be64_put(b + 24, 7);
		assert_int_equal(cx_reply(&x, SF_MSG_extended_reply, 0, b, sizeof(b)), OK);
		assert_true(sf_client_is_ready(x.c));
		assert_int_equal(sf_client_caps(x.c).read, v[i].got_read);
		assert_int_equal(sf_client_caps(x.c).write, v[i].got_write);
		assert_int_equal(sf_client_caps(x.c).handles, 7);
		cx_end(&x);
	}
}

static void a_server_that_refuses_limits_is_ready_too(void **state)
{
	(void)state;
	struct cx x;
	cx_start(&x);
	assert_int_equal(CX_FEED(&x, "\0\0\0\40\2\0\0\0\3"
				     "\0\0\0\22limits@openssh.com\0\0\0\1"
				     "1"),
		OK);
	assert_false(sf_client_is_ready(x.c));
	assert_int_equal(CX_REPLY(&x, SF_MSG_status, 0, "\0\0\0\10"), OK);
	assert_true(sf_client_is_ready(x.c));
	assert_int_equal(sf_client_caps(x.c).read, 32768);
	cx_end(&x);
}

/* ---- what a server must not do ----------------------------------------------------------------
 */
static void wrong_bytes_end_the_connection(void **state)
{
	(void)state;
	static const struct {
		const char *bytes;
		size_t n;
		err_t e;
	} v[] = {
#define ROW(text, e) {text, sizeof(text) - 1, e}
		ROW("\0\0\0\0", E_LENGTH),
		ROW("\0\4\0\1", E_LENGTH),
		ROW("\377\377\377\377", E_LENGTH),
		ROW("Welcome to the machine", E_LENGTH),
		ROW("\0\0\0\1\2", E_FORMAT), /* VERSION without one */
		ROW("\0\0\0\5\2\0\0\0\4", E_VERSION),
		ROW("\0\0\0\10\2\0\0\0\3\0\0\0", E_FORMAT),         /* half a pair */
		ROW("\0\0\0\5\1\0\0\0\3", E_UNEXPECTED),            /* INIT */
		ROW("\0\0\0\11\145\0\0\0\0\0\0\0\0", E_UNEXPECTED), /* STATUS first */
		/* no request is under way */
		ROW("\0\0\0\5\2\0\0\0\3\0\0\0\11\145\0\0\0\0\0\0\0\0", E_UNEXPECTED),
		ROW("\0\0\0\5\2\0\0\0\3\0\0\0\11\147\0\0\0\0\0\0\0\0", E_UNEXPECTED),
		ROW("\0\0\0\5\2\0\0\0\3\0\0\0\3\145\0\0", E_FORMAT), /* no number */
		ROW("\0\0\0\5\2\0\0\0\3\0\0\0\0", E_LENGTH),
#undef ROW
	};
	for (size_t i = 0; i < ARRAY_N(v); i++) {
		struct cx whole, single;
		cx_start(&whole);
		cx_start(&single);
		assert_int_equal(cx_feed(&whole, v[i].bytes, v[i].n), v[i].e);
		err_t e = OK;
		for (size_t k = 0; k < v[i].n && e == OK; k++)
			e = cx_feed(&single, v[i].bytes + k, 1);
		assert_int_equal(e, v[i].e);
		/* for ever */
		assert_int_equal(CX_FEED(&whole, "\0\0\0\5\2\0\0\0\3"), v[i].e);
		assert_int_equal(sf_ask_stat(whole.c, cx_ask(&whole, 0),
					 &(struct sf_stat){.path = STR("/")}),
			v[i].e);
		cx_end(&whole);
		cx_end(&single);
	}
}

static void what_a_shell_printed_is_kept_for_the_message(void **state)
{
	(void)state;
	struct cx x;
	cx_start(&x);
	assert_int_equal(CX_FEED(&x, "Wel"), OK);
	assert_int_equal(CX_FEED(&x, "come\nbash: no"), E_LENGTH);
	assert_true(cslice_eq_str(sf_client_first(x.c), "Welcome\nbash: no"));
	cx_end(&x);
	cx_start_plain(&x);
	assert_int_equal(sf_client_first(x.c).n, 0);
	cx_end(&x);
}

/* ---- which answer fits which request ----------------------------------------------------------
 */
enum request { R_OPEN, R_READ, R_NAME, R_ATTRS, R_STATUS, R_N };

static struct sf_ask *ask_one(struct cx *x, enum request r)
{
	struct sf_ask *a = cx_ask(x, 0);
	struct cslice h = STR("h");
	err_t e = OK;
	if (r == R_OPEN)
		e = sf_ask_open(x->c, a, &(struct sf_open){.path = STR("a")});
	else if (r == R_READ)
		e = sf_ask_read(x->c, a, &(struct sf_read){.handle = h, .n = 8});
	else if (r == R_NAME)
		e = sf_ask_readdir(x->c, a, &(struct sf_readdir){.handle = h});
	else if (r == R_ATTRS)
		e = sf_ask_fstat(x->c, a, &(struct sf_fstat){.handle = h});
	else
		e = sf_ask_remove(x->c, a, &(struct sf_remove){.path = STR("a")});
	assert_int_equal(e, OK);
	return a;
}

static void each_request_takes_its_own_kind_of_answer(void **state)
{
	(void)state;
	static const struct {
		uint8_t no;
		const char *rest;
		size_t n;
		enum request fits; /* R_N: all */
	} v[] = {
		{SF_MSG_status, "\0\0\0\4\0\0\0\0\0\0\0\0", 12, R_N},
		{SF_MSG_handle, "\0\0\0\1h", 5, R_OPEN},
		{SF_MSG_data, "\0\0\0\1d", 5, R_READ},
		{SF_MSG_name, "\0\0\0\0", 4, R_NAME},
		{SF_MSG_attrs, "\0\0\0\0", 4, R_ATTRS},
	};
	for (size_t i = 0; i < ARRAY_N(v); i++) {
		for (int r = 0; r < R_N; r++) {
			struct cx x;
			bool fits = v[i].fits == R_N || (int)v[i].fits == r;
			cx_start_plain(&x);
			struct sf_ask *a = ask_one(&x, (enum request)r);
			err_t e = cx_reply(&x, v[i].no, a->id, v[i].rest, v[i].n);
			assert_int_equal(e, fits ? OK : E_UNEXPECTED);
			assert_int_equal(x.answers[0], fits ? 1 : 0);
			/* twice is once too often */
			if (fits)
				assert_int_equal(cx_reply(&x, v[i].no, a->id, v[i].rest, v[i].n),
					E_UNEXPECTED);
			cx_end(&x);
		}
	}
}

static void other_numbers_and_kinds_are_refused(void **state)
{
	(void)state;
	for (unsigned no = 0; no < 256; no++) {
		struct cx x;
		cx_start_plain(&x);
		struct sf_ask *a = ask_one(&x, R_STATUS);
		err_t e = CX_REPLY(&x, (uint8_t)no, a->id, "\0\0\0\0\0\0\0\0\0\0\0\0");
		assert_int_equal(e == OK, no == SF_MSG_status);
		cx_end(&x);
	}
	struct cx x;
	cx_start_plain(&x);
	struct sf_ask *a = ask_one(&x, R_STATUS);
	assert_int_equal(CX_REPLY(&x, SF_MSG_status, a->id + 1, "\0\0\0\0"), E_UNEXPECTED);
	assert_int_equal(x.answers[0], 0);
	cx_end(&x);
}

static void malformed_answers_are_refused(void **state)
{
	(void)state;
	static const struct {
		enum request r;
		uint8_t no;
		const char *rest;
		size_t n;
		err_t e;
	} v[] = {
		{R_STATUS, SF_MSG_status, "\0\0\0", 3, E_FORMAT},
		{R_STATUS, SF_MSG_status, "\0\0\0\4\0\0\0\2x", 9, E_FORMAT},
		{R_OPEN, SF_MSG_handle, "\0\0\0\2h", 5, E_FORMAT},
		{R_ATTRS, SF_MSG_attrs, "\0\0\0\1\0", 5, E_FORMAT},
		{R_NAME, SF_MSG_name, "\0\0", 2, E_FORMAT},
		{R_READ, SF_MSG_data, "\0\0\0\11abcdefghi", 13, E_LENGTH}, /* 8 were asked for */
		{R_READ, SF_MSG_data, "\0\0\0\4abc", 7, E_FORMAT},
		{R_READ, SF_MSG_data,
			"\377\377\377\377"
			"1",
			5, E_FORMAT},
	};
	for (size_t i = 0; i < ARRAY_N(v); i++) {
		struct cx x;
		cx_start_plain(&x);
		struct sf_ask *a = ask_one(&x, v[i].r);
		assert_int_equal(cx_reply(&x, v[i].no, a->id, v[i].rest, v[i].n), v[i].e);
		assert_int_equal(x.answers[0], 0);
		assert_int_equal(x.data.n, 0);
		cx_end(&x);
	}
}

static void a_handle_is_at_most_256_bytes(void **state)
{
	(void)state;
	uint8_t b[4 + 257] = {0, 0, 1, 0};
	struct cx x;
	cx_start_plain(&x);
	assert_int_equal(cx_reply(&x, SF_MSG_handle, ask_one(&x, R_OPEN)->id, b, 4 + 256), OK);
	b[3] = 1;
	assert_int_equal(
		cx_reply(&x, SF_MSG_handle, ask_one(&x, R_OPEN)->id, b, 4 + 257), E_FORMAT);
	cx_end(&x);
}

static void a_yes_without_what_was_asked_for_is_a_no(void **state)
{
	(void)state;
	for (int r = 0; r < R_N; r++) {
		struct cx x;
		cx_start_plain(&x);
		struct sf_ask *a = ask_one(&x, (enum request)r);
		assert_int_equal(CX_REPLY(&x, SF_MSG_status, a->id, "\0\0\0\0"), OK);
		assert_int_equal(x.last.code, r == R_STATUS ? SF_ok : SF_failure);
		cx_end(&x);
	}
}

static void data_without_a_byte_is_the_end(void **state)
{
	(void)state;
	struct cx x;
	cx_start_plain(&x);
	struct sf_ask *a = ask_one(&x, R_READ);
	assert_int_equal(CX_REPLY(&x, SF_MSG_data, a->id, "\0\0\0\0"), OK);
	assert_int_equal(x.answers[0], 1);
	assert_int_equal(x.last.type, SF_MSG_status);
	assert_int_equal(x.last.code, SF_eof);
	/* and more bytes in the frame are passed over */
	a = ask_one(&x, R_READ);
	assert_int_equal(CX_REPLY(&x, SF_MSG_data, a->id, "\0\0\0\2hirest"), OK);
	assert_int_equal(x.last.data_n, 2);
	a = ask_one(&x, R_STATUS);
	assert_int_equal(CX_REPLY(&x, SF_MSG_status, a->id, "\0\0\0\0"), OK);
	assert_int_equal(x.answers[0], 3);
	assert_true(cslice_eq_str(buf_bytes(&x.data), "hi"));
	cx_end(&x);
}

/* ---- many ---------------------------------------------------------------------------------------
 */
#define MANY 1000

static unsigned many_order[MANY], many_n;

static void on_many(struct sf_ask *a, const struct sf_reply *r)
{
	struct sf_ask *first = a->arg;
	assert_true(r->err == OK || r->err == E_CLOSED || r->err == E_TIMEOUT);
	many_order[many_n++] = (unsigned)(a - first);
}

static void ask_many(struct cx *x, struct sf_ask *v)
{
	many_n = 0;
	for (unsigned i = 0; i < MANY; i++) {
		v[i] = (struct sf_ask){.on = on_many, .arg = v};
		assert_int_equal(sf_ask_stat(x->c, &v[i], &(struct sf_stat){.path = STR("a")}), OK);
	}
	assert_int_equal(sf_client_pending(x->c), MANY);
}

static void answers_come_in_any_order(void **state)
{
	(void)state;
	static struct sf_ask v[MANY];
	struct cx x;
	cx_start_plain(&x);
	ask_many(&x, v);
	for (unsigned i = 0; i < MANY; i++) {
		unsigned k = i * 7 % MANY; /* 7 and 1000 have no common part: each once */
		assert_int_equal(CX_REPLY(&x, SF_MSG_status, v[k].id, "\0\0\0\2"), OK);
		assert_int_equal(many_order[i], k);
	}
	assert_int_equal(sf_client_pending(x.c), 0);
	cx_end(&x);
}

static void the_end_is_told_to_each_in_order(void **state)
{
	(void)state;
	static struct sf_ask v[MANY];
	struct cx x;
	for (int way = 0; way < 2; way++) {
		cx_start_plain(&x);
		ask_many(&x, v);
		assert_int_equal(CX_REPLY(&x, SF_MSG_status, v[5].id, "\0\0\0\2"), OK);
		if (way == 0)
			sf_client_end(x.c, E_TIMEOUT);
		else
			sf_client_free(x.c);
		assert_int_equal(many_n, MANY);
		for (unsigned i = 1; i < MANY; i++)
			assert_int_equal(many_order[i], i <= 5 ? i - 1 : i);
		if (way == 0) {
			assert_int_equal(CX_FEED(&x, "\0"), E_TIMEOUT);
			sf_client_free(x.c);
		}
		x.c = NULL;
		cx_end(&x);
	}
}

static void on_ask_again(struct sf_ask *a, const struct sf_reply *r)
{
	struct cx *x = a->arg;
	many_n++;
	if (r->err != OK) {
		assert_int_equal(sf_ask_stat(x->c, a, &(struct sf_stat){.path = STR("a")}), r->err);
		return;
	}
	assert_int_equal(sf_ask_stat(x->c, a, &(struct sf_stat){.path = STR("a")}), OK);
}

static void the_same_request_may_be_asked_again_from_its_answer(void **state)
{
	(void)state;
	struct cx x;
	cx_start_plain(&x);
	many_n = 0;
	struct sf_ask a = {.on = on_ask_again, .arg = &x};
	assert_int_equal(sf_ask_stat(x.c, &a, &(struct sf_stat){.path = STR("a")}), OK);
	for (uint32_t i = 0; i < 10; i++) {
		assert_int_equal(a.id, i);
		assert_int_equal(CX_REPLY(&x, SF_MSG_status, i, "\0\0\0\2"), OK);
		assert_int_equal(sf_client_pending(x.c), 1);
	}
	sf_client_end(x.c, E_CLOSED);
	assert_int_equal(many_n, 11);
	cx_end(&x);
}

static void on_data_ends(struct sf_ask *a, uint32_t at, struct span piece)
{
	struct cx *x = a->arg;
	(void)at, (void)piece;
	sf_client_end(x->c, E_INTERRUPTED);
}

static void the_end_may_come_from_within(void **state)
{
	(void)state;
	struct cx x;
	cx_start_plain(&x);
	struct sf_ask *a = ask_one(&x, R_READ);
	a->on_data = on_data_ends;
	assert_int_equal(CX_REPLY(&x, SF_MSG_data, a->id, "\0\0\0\2hi"), E_INTERRUPTED);
	assert_int_equal(x.answers[0], 1);
	assert_int_equal(x.last.err, E_INTERRUPTED);
	cx_end(&x);
}

/* ---- out ----------------------------------------------------------------------------------------
 */
static void what_waits_to_be_sent_is_bounded(void **state)
{
	(void)state;
	static struct sf_ask v[200];
	static uint8_t path[10000];
	struct cx x;
	size_t n = 0;
	err_t e = OK;
	memset(path, 'p', sizeof(path));
	cx_start_plain(&x);
	while (e == OK && n < ARRAY_N(v) - 1) {
		v[n] = (struct sf_ask){.on = cx_on, .arg = &x};
		e = sf_ask_stat(
			x.c, &v[n], &(struct sf_stat){.path = cslice_of(path, sizeof(path))});
		n += e == OK;
	}
	assert_int_equal(e, E_LIMIT);
	assert_int_equal(sf_client_pending(x.c), n);
	assert_true(n > 90 && sf_client_ready(x.c).n <= 1 << 20);
	sf_client_sent(x.c, 20000); /* some goes: one more fits */
	v[n] = (struct sf_ask){.on = on_many, .arg = v};
	assert_int_equal(
		sf_ask_stat(x.c, &v[n], &(struct sf_stat){.path = cslice_of(path, sizeof(path))}),
		OK);
	/* a frame too many cannot be asked at all */
	struct sf_ask long_one = {.on = cx_on, .arg = &x};
	static uint8_t huge[SF_FRAME_MAX];
	assert_int_equal(sf_ask_stat(x.c, &long_one,
				 &(struct sf_stat){.path = cslice_of(huge, sizeof(huge))}),
		E_MEM);
	for (size_t i = 0; i <= n; i++) {
		v[i].on = on_many;
		v[i].arg = v;
	}
	cx_end(&x);
}

static void a_write_head_is_the_begin_of_a_write(void **state)
{
	(void)state;
	struct cx x;
	struct sf_head head;
	uint8_t copy[100], long_handle[257] = {0};
	cx_start_plain(&x);
	struct sf_write_at at = {.handle = STR("handle"), .offset = 77, .n = 4};
	struct sf_write m = {.handle = at.handle, .offset = 77, .data = STR("data")};
	assert_int_equal(sf_ask_write(x.c, cx_ask(&x, 0), &m), OK);
	assert_int_equal(sf_write_head(x.c, cx_ask(&x, 1), &at, &head), E_AGAIN);
	struct cslice by_ask = sf_client_ready(x.c);
	size_t copy_n = by_ask.n;
	memcpy(copy, by_ask.p, by_ask.n);
	sf_client_sent(x.c, by_ask.n);
	assert_int_equal(sf_write_head(x.c, cx_ask(&x, 1), &at, &head), OK);
	assert_int_equal(head.n, sf_write_head_size(at.handle.n));
	assert_int_equal(head.n + 4, copy_n);
	copy[8]++; /* the number of the second one */
	assert_memory_equal(copy, head.p, head.n);
	assert_int_equal(CX_REPLY(&x, SF_MSG_status, x.asks[1].id, "\0\0\0\0"), OK);
	assert_int_equal(sf_client_moved(x.c), 4);
	assert_int_equal(CX_REPLY(&x, SF_MSG_status, x.asks[0].id, "\0\0\0\4"), OK);
	assert_int_equal(sf_client_moved(x.c), 4); /* that one failed */
	at.handle = cslice_of(long_handle, 257);
	assert_int_equal(sf_write_head(x.c, cx_ask(&x, 2), &at, &head), E_MEM);
	cx_end(&x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_bytes_are_the_drafts),
		cmocka_unit_test(recorded_bytes_mean_the_same_however_they_are_cut),
		cmocka_unit_test(an_extension_counts_with_its_version_only),
		cmocka_unit_test(caps_stay_within_what_can_be),
		cmocka_unit_test(a_server_that_refuses_limits_is_ready_too),
		cmocka_unit_test(wrong_bytes_end_the_connection),
		cmocka_unit_test(what_a_shell_printed_is_kept_for_the_message),
		cmocka_unit_test(each_request_takes_its_own_kind_of_answer),
		cmocka_unit_test(other_numbers_and_kinds_are_refused),
		cmocka_unit_test(malformed_answers_are_refused),
		cmocka_unit_test(a_handle_is_at_most_256_bytes),
		cmocka_unit_test(a_yes_without_what_was_asked_for_is_a_no),
		cmocka_unit_test(data_without_a_byte_is_the_end),
		cmocka_unit_test(answers_come_in_any_order),
		cmocka_unit_test(the_end_is_told_to_each_in_order),
		cmocka_unit_test(the_same_request_may_be_asked_again_from_its_answer),
		cmocka_unit_test(the_end_may_come_from_within),
		cmocka_unit_test(what_waits_to_be_sent_is_bounded),
		cmocka_unit_test(a_write_head_is_the_begin_of_a_write),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
