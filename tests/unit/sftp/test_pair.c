/* SPDX-License-Identifier: ISC */
/* Both engines together, on files in memory: what one asks for by the rows the other one does. */
#include "client_fx.h"
#include "server_fx.h"

struct pair {
	struct cx c;
	struct fx s;
	size_t split; /* bytes that arrive at once; 0 = all */
};

static void start(struct pair *p, size_t split)
{
	fx_start_with(&p->s, (struct sf_policy){0}, 16, false);
	cx_start(&p->c);
	p->split = split;
}

static void end(struct pair *p)
{
	cx_end(&p->c);
	fx_end(&p->s);
}

/* Until nothing is under way. */
static void settle(struct pair *p)
{
	struct cslice out, in;
	do {
		out = sf_client_ready(p->c.c);
		p->s.split = p->split;
		assert_int_equal(feed(&p->s, out), 0);
		sf_client_sent(p->c.c, out.n);
		turn(&p->s);
		assert_int_equal(p->s.err, OK);
		in = cslice_of(p->s.out.p + p->s.out_at, p->s.out.n - p->s.out_at);
		p->s.out_at = p->s.out.n;
		while (in.n > 0) {
			size_t n = num_min(in.n, p->split != 0 ? p->split : in.n);
			assert_int_equal(cx_feed(&p->c, in.p, n), OK);
			in = cslice_of(in.p + n, in.n - n);
		}
	} while (sf_client_ready(p->c.c).n > 0);
	assert_int_equal(sf_client_pending(p->c.c), 0);
}

#define ASK(p, name, ...)                                                                          \
	do {                                                                                       \
		buf_clear(&(p)->c.told);                                                           \
		assert_int_equal(sf_ask_##name((p)->c.c, cx_ask(&(p)->c, 0),                       \
					 &(struct sf_##name){__VA_ARGS__}),                        \
			OK);                                                                       \
		settle(p);                                                                         \
		assert_int_equal((p)->c.answers[0], 1);                                            \
		(p)->c.answers[0] = 0;                                                             \
	} while (0)

static void expect_status(struct pair *p, uint32_t code)
{
	assert_int_equal(p->c.last.type, SF_MSG_status);
	assert_int_equal(p->c.last.code, code);
}

static void expect_told(struct pair *p, const char *part)
{
	buf_put_u8(&p->c.told, 0);
	if (strstr((const char *)p->c.told.p, part) == NULL)
		fail_msg("\"%s\" is not in %s", part, (const char *)p->c.told.p);
}

/* 0 = whole, single bytes, and pieces that fit no frame. */
static const size_t splits[] = {0, 1, 7, 1000};

static void every_request_is_understood(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_N(splits); i++) {
		struct pair p;
		struct sf_attr mode = {.flags = SF_A_MODE, .mode = 0700};
		start(&p, splits[i]);
		settle(&p);
		assert_true(sf_client_is_ready(p.c.c));
		assert_int_equal(sf_client_caps(p.c.c).read, SF_DATA_MAX);
		assert_int_equal(sf_client_caps(p.c.c).handles, 16);
		for (int x = 0; x < SF_EXT_N; x++)
			assert_true(sf_client_has(p.c.c, (enum sf_ext)x));
		ASK(&p, stat, .path = STR("/file"));
		assert_int_equal(p.c.last.attr.size, 5);
		ASK(&p, lstat, .path = STR("/link"));
		assert_int_equal(p.c.last.attr.mode & 0170000, 0120000);
		ASK(&p, readlink, .path = STR("/link"));
		expect_told(&p, "<");
		ASK(&p, realpath, .path = STR("/dir/inner"));
		expect_told(&p, "</dir/inner>");
		ASK(&p, mkdir, .path = STR("/new"), .a = mode);
		expect_status(&p, SF_ok);
		ASK(&p, setstat, .path = STR("/new"), .a = mode);
		expect_status(&p, SF_ok);
		ASK(&p, lsetstat, .path = STR("/new"), .a = mode);
		expect_status(&p, SF_ok);
		ASK(&p, symlink, .target = STR("file"), .path = STR("/sym"));
		expect_status(&p, SF_ok);
		ASK(&p, hardlink, .from = STR("/file"), .to = STR("/hard"));
		expect_status(&p, SF_ok);
		ASK(&p, rename, .from = STR("/hard"), .to = STR("/hard2"));
		expect_status(&p, SF_ok);
		ASK(&p, posix_rename, .from = STR("/hard2"), .to = STR("/hard3"));
		expect_status(&p, SF_ok);
		ASK(&p, statvfs, .path = STR("/"));
		assert_int_equal(p.c.last.type, SF_MSG_extended_reply);
		ASK(&p, expand_path, .path = STR("~"));
		assert_int_equal(p.c.last.type, SF_MSG_name);
		ASK(&p, home_directory, .user = STR(""));
		assert_int_equal(p.c.last.type, SF_MSG_name);
		ASK(&p, users_groups_by_id, .uids = cslice_of("\0\0\0\0", 4));
		assert_int_equal(p.c.last.type, SF_MSG_extended_reply);
		ASK(&p, remove, .path = STR("/hard3"));
		expect_status(&p, SF_ok);
		ASK(&p, rmdir, .path = STR("/new"));
		expect_status(&p, SF_ok);
		ASK(&p, rmdir, .path = STR("/new"));
		expect_status(&p, SF_no_such_file);
		end(&p);
	}
}

/* The handle is a copy: the reply's dies. */
static uint8_t handle_bytes[256];
static size_t handle_n;

static void on_handle(struct sf_ask *a, const struct sf_reply *r)
{
	assert_int_equal(r->type, SF_MSG_handle);
	memcpy(handle_bytes, r->handle.p, r->handle.n);
	handle_n = r->handle.n;
	cx_on(a, r);
}

static struct cslice open_handle(struct pair *p, const char *path, uint32_t flags)
{
	struct sf_ask *a = cx_ask(&p->c, 1);
	struct sf_open m = {.path = STR(path), .flags = flags};
	a->on = on_handle;
	assert_int_equal(sf_ask_open(p->c.c, a, &m), OK);
	settle(p);
	return cslice_of(handle_bytes, handle_n);
}

#define FILE_N ((size_t)300000)

/* WRITE as bulk does it: the head, then the data behind it. */
static void write_some(
	struct pair *p, struct sf_ask *a, const struct sf_write_at *at, const uint8_t *data)
{
	struct sf_head head;
	assert_int_equal(sf_write_head(p->c.c, a, at, &head), OK);
	assert_int_equal(feed(&p->s, cslice_of(head.p, head.n)), 0);
	assert_int_equal(feed(&p->s, cslice_of(data, at->n)), 0);
}

static void a_file_goes_there_and_comes_back(void **state)
{
	(void)state;
	static uint8_t file[FILE_N];
	for (size_t i = 0; i < FILE_N; i++)
		file[i] = (uint8_t)(i * 7 + i / 251);
	for (size_t i = 0; i < ARRAY_N(splits); i++) {
		struct pair p;
		start(&p, splits[i]);
		settle(&p);
		struct cslice h =
			open_handle(&p, "/big", SF_OPEN_READ | SF_OPEN_WRITE | SF_OPEN_CREATE);
		for (size_t at = 0, k = 2; at < FILE_N; at += 100000, k++)
			write_some(&p, cx_ask(&p.c, k),
				&(struct sf_write_at){.handle = h, .offset = at, .n = 100000},
				file + at);
		settle(&p);
		assert_int_equal(sf_client_moved(p.c.c), FILE_N);
		ASK(&p, fsync, .handle = h);
		expect_status(&p, SF_ok);
		ASK(&p, fstat, .handle = h);
		assert_int_equal(p.c.last.attr.size, FILE_N);
		for (size_t at = 0, k = 10; at < FILE_N + 200000; at += 200000, k++)
			assert_int_equal(
				sf_ask_read(p.c.c, cx_ask(&p.c, k),
					&(struct sf_read){.handle = h, .offset = at, .n = 200000}),
				OK);
		settle(&p);
		assert_int_equal(p.c.data.n, FILE_N);
		assert_memory_equal(p.c.data.p, file, FILE_N);
		assert_int_equal(p.c.last.code, SF_eof);
		assert_int_equal(sf_client_moved(p.c.c), 2 * FILE_N);
		ASK(&p, close, .handle = h);
		expect_status(&p, SF_ok);
		end(&p);
	}
}

static void a_directory_is_read_to_its_end(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_N(splits); i++) {
		struct pair p;
		start(&p, splits[i]);
		settle(&p);
		struct sf_ask *a = cx_ask(&p.c, 1);
		a->on = on_handle;
		assert_int_equal(
			sf_ask_opendir(p.c.c, a, &(struct sf_opendir){.path = STR("/")}), OK);
		settle(&p);
		struct cslice h = cslice_of(handle_bytes, handle_n);
		buf_clear(&p.c.told);
		for (size_t k = 2; k < 5; k++)
			assert_int_equal(sf_ask_readdir(p.c.c, cx_ask(&p.c, k),
						 &(struct sf_readdir){.handle = h}),
				OK);
		settle(&p);
		expect_told(&p, "<file>");
		expect_told(&p, "<dangling>");
		assert_int_equal(p.c.last.code, SF_eof);
		ASK(&p, close, .handle = h);
		end(&p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_request_is_understood),
		cmocka_unit_test(a_file_goes_there_and_comes_back),
		cmocka_unit_test(a_directory_is_read_to_its_end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
