/* SPDX-License-Identifier: ISC */
/* The SFTP server's engine on files in memory: frames, handles, bytes of files, back pressure. */
#include "server_fx.h"

static void version_lists_the_extensions_and_nothing_goes_before_it(void **state)
{
	struct fx x;
	fx_start_with(&x, (struct sf_policy){0}, 16, false);
	assert_int_equal(feed(&x, cslice_of("\0\0\0\11\1\0\0\0\6\0\0\0\0", 13)), 0);
	struct reply r = next_reply(&x);
	assert_int_equal(r.no, SF_MSG_version);
	struct sf_version v;
	struct sf_pair p;
	assert_int_equal(sf_get_version(r.body, &v), OK);
	assert_int_equal(v.version, 3);
	for (size_t i = 0; i < SF_EXT_N; i++) {
		assert_int_equal(sf_next_pair(&v.extensions, &p), OK);
		assert_true(cslice_eq_str(p.name, sf_ext_wire((enum sf_ext)i)));
		assert_true(cslice_eq_str(p.value, sf_ext_value((enum sf_ext)i)));
	}
	assert_int_equal(v.extensions.n, 0);
	fx_end(&x);

	fx_start_with(&x, (struct sf_policy){0}, 16, false);
	send_remove(&x, (struct sf_remove){.path = STR("/file")});
	assert_int_equal(x.err, E_UNEXPECTED);
	assert_int_equal(x.out.n, 0);
	assert_int_equal(x.fs.calls, 0);
	fx_end(&x);
}

static void frames_of_no_or_too_many_bytes_end_it(void **state)
{
	static const struct {
		const char *bytes;
		size_t n;
		err_t err;
	} cases[] = {
		{"\0\0\0\0", 4, E_LENGTH},
		{"\0\4\0\1\5", 5, E_LENGTH},
		{"\xff\xff\xff\xff\5", 5, E_LENGTH},
		{"\0\0\0\1\5", 5, E_FORMAT},
		{"\0\0\0\4\5\0\0\0", 8, E_FORMAT},
		{"\0\0\0\3\1\0\0", 7, E_FORMAT},
	};
	for (size_t i = 0; i < ARRAY_N(cases); i++) {
		struct fx x;
		fx_start(&x);
		(void)feed(&x, cslice_of(cases[i].bytes, cases[i].n));
		assert_int_equal(x.err, cases[i].err);
		assert_int_equal(sf_server_space(x.s).n, 0);
		assert_int_equal(sf_server_run(x.s), cases[i].err);
		assert_int_equal(x.fs.calls, 0);
		fx_end(&x);
	}
}

static void what_is_not_known_is_unsupported(void **state)
{
	struct fx x;
	fx_start(&x);
	for (unsigned no = 0; no < 256; no++) {
		bool is_known = (no >= 3 && no <= 20) || no == 200 || no == SF_MSG_init;
		uint8_t frame[9] = {0, 0, 0, 5, (uint8_t)no, 0, 0, 0, (uint8_t)no};
		if (is_known)
			continue;
		x.id = no;
		assert_int_equal(feed(&x, cslice_of(frame, sizeof(frame))), 0);
		expect_code(&x, SF_op_unsupported);
	}
	x.id = 7;
	assert_int_equal(feed(&x, cslice_of("\0\0\0\14\xc8\0\0\0\7\0\0\0\3abc", 16)), 0);
	expect_code(&x, SF_op_unsupported);
	assert_int_equal(x.fs.calls, 0);
	fx_end(&x);
}

static void a_malformed_request_is_answered_and_not_done(void **state)
{
	struct fx x;
	fx_start(&x);
	for (unsigned no = 3; no <= 20; no++) {
		uint8_t frame[] = {0, 0, 0, 10, (uint8_t)no, 0, 0, 0, (uint8_t)no, 0, 0, 0, 2, 'x'};
		x.id = no;
		assert_int_equal(feed(&x, cslice_of(frame, sizeof(frame))), 0);
		expect_code(&x, SF_bad_message);
	}
	char *path = malloc(SF_PATH_MAX + 1);
	assert_non_null(path);
	memset(path, 'x', SF_PATH_MAX);
	send_remove(&x, (struct sf_remove){.path = cslice_of(path, SF_PATH_MAX)});
	expect_code(&x, SF_bad_message);
	send_rename(&x, (struct sf_rename){.from = STR("a"), .to = cslice_of(path, SF_PATH_MAX)});
	expect_code(&x, SF_bad_message);
	send_remove(&x, (struct sf_remove){.path = cslice_of("fi\0le", 5)});
	expect_code(&x, SF_bad_message);
	assert_int_equal(x.fs.calls, 0);
	send_remove(&x, (struct sf_remove){.path = cslice_of(path, SF_PATH_MAX - 1)});
	expect_code(&x, SF_no_such_file);
	assert_int_equal(x.fs.calls, 1);
	free(path);
	fx_end(&x);
}

static void files_are_written_and_read(void **state)
{
	struct fx x;
	uint8_t h8[8];
	struct sf_data d;
	fx_start(&x);
	struct cslice h = open_file(&x, "/new", SF_OPEN_READ | SF_OPEN_WRITE | SF_OPEN_CREATE, h8);
	send_write(&x, (struct sf_write){.handle = h, .offset = 3, .data = STR("data")});
	expect_code(&x, SF_ok);
	send_write(&x, (struct sf_write){.handle = h, .offset = 0, .data = STR("")});
	expect_code(&x, SF_ok);
	send_read(&x, (struct sf_read){.handle = h, .offset = 1, .n = UINT32_MAX});
	struct reply r = reply_to_last(&x);
	assert_int_equal(r.no, SF_MSG_data);
	assert_int_equal(sf_get_data(r.body, &d), OK);
	assert_int_equal(r.body.n, 4 + 4 + 6);
	assert_true(cslice_eq(d.data, cslice_of("\0\0data", 6)));
	assert_int_equal(x.fs.largest, SF_DATA_MAX);
	send_read(&x, (struct sf_read){.handle = h, .offset = 7, .n = 10});
	expect_code(&x, SF_eof);
	send_read(&x, (struct sf_read){.handle = h, .offset = UINT64_MAX, .n = 10});
	expect_code(&x, SF_eof);
	send_read(&x, (struct sf_read){.handle = h, .offset = 0, .n = 0});
	assert_int_equal(reply_to_last(&x).no, SF_MSG_data);
	send_fsync(&x, (struct sf_fsync){.handle = h});
	expect_code(&x, SF_ok);
	send_close(&x, (struct sf_close){.handle = h});
	expect_code(&x, SF_ok);
	assert_non_null(
		strstr((char *)x.log.p, "open \"/new\" flags READ,WRITE,CREATE mode 0666\n"));
	assert_non_null(strstr((char *)x.log.p, "close \"/new\" bytes read 6 written 4\n"));
	assert_null(strstr((char *)x.log.p, "sent status Success"));
	fx_end(&x);
}

static void a_handle_is_good_once_and_for_its_kind(void **state)
{
	struct fx x;
	uint8_t f8[8], d8[8], again8[8];
	fx_start(&x);
	struct cslice f = open_file(&x, "/file", SF_OPEN_READ, f8);
	send_opendir(&x, (struct sf_opendir){.path = STR("/dir")});
	struct cslice d = expect_handle(&x, d8);
	send_readdir(&x, (struct sf_readdir){.handle = f});
	expect_code(&x, SF_failure);
	send_read(&x, (struct sf_read){.handle = d, .n = 5});
	expect_code(&x, SF_failure);
	send_fstat(&x, (struct sf_fstat){.handle = d});
	expect_code(&x, SF_failure);
	send_read(&x, (struct sf_read){.handle = cslice_of(f.p, 7), .n = 5});
	expect_code(&x, SF_failure);
	send_read(&x, (struct sf_read){.handle = cslice_of("\0\0\0\0\0\0\0\1\0", 9), .n = 5});
	expect_code(&x, SF_failure);
	send_read(&x, (struct sf_read){.handle = cslice_of("\x7f\xff\xff\xff\0\0\0\1", 8), .n = 5});
	expect_code(&x, SF_failure);
	send_read(&x, (struct sf_read){.handle = STR(""), .n = 5});
	expect_code(&x, SF_failure);
	send_close(&x, (struct sf_close){.handle = f});
	expect_code(&x, SF_ok);
	send_close(&x, (struct sf_close){.handle = f});
	expect_code(&x, SF_no_such_file);
	for (size_t i = 0; i < 40; i++) { /* through all places of the table */
		struct cslice again = open_file(&x, "/file", SF_OPEN_READ, again8);
		assert_false(cslice_eq(again, f));
		send_write(&x, (struct sf_write){.handle = f, .data = STR("no")});
		expect_code(&x, SF_failure);
		send_close(&x, (struct sf_close){.handle = again});
		expect_code(&x, SF_ok);
	}
	fx_end(&x);
	assert_int_equal(x.fs.opens_n, 0);
}

static void the_table_of_handles_has_an_end(void **state)
{
	struct fx x;
	uint8_t h8[8];
	fx_start_with(&x, (struct sf_policy){0}, 20, true);
	for (size_t i = 0; i < 20; i++)
		(void)open_file(&x, "/file", SF_OPEN_READ, h8);
	unsigned calls = x.fs.calls;
	send_open(
		&x, (struct sf_open){.path = STR("/new"), .flags = SF_OPEN_WRITE | SF_OPEN_CREATE});
	expect_code(&x, SF_failure);
	assert_int_equal(x.fs.calls, calls); /* nothing was made */
	send_opendir(&x, (struct sf_opendir){.path = STR("/")});
	expect_code(&x, SF_failure);
	send_close(&x, (struct sf_close){.handle = cslice_of(h8, 8)});
	expect_code(&x, SF_ok);
	(void)open_file(&x, "/file", SF_OPEN_READ, h8);
	send_limits(&x, (struct sf_limits){0});
	struct sf_limit_values v;
	struct reply r = reply_to_last(&x);
	assert_int_equal(sf_get_limit_values(cslice_of(r.body.p + 4, r.body.n - 4), &v), OK);
	assert_true(v.packet == 262144 && v.read == 261120 && v.write == 261120 && v.handles == 20);
	fx_end(&x);
}

/* ---- the same bytes, however they come --------------------------------------------------------
 */

static void script(struct fx *x, struct buf *b)
{
	static uint8_t big[SF_DATA_MAX];
	struct cslice h = cslice_of("\0\0\0\0\0\0\0\1", 8), d = cslice_of("\0\0\0\1\0\0\0\1", 8);
	uint32_t flags = SF_OPEN_READ | SF_OPEN_WRITE | SF_OPEN_CREATE;
	put_frame_open(x, b, (struct sf_open){.path = STR("/big"), .flags = flags});
	put_frame_opendir(x, b, (struct sf_opendir){.path = STR("/")});
	put_frame_write(x, b, (struct sf_write){.handle = h, .data = cslice_of(big, sizeof(big))});
	put_frame_write(x, b, (struct sf_write){.handle = h, .offset = 9, .data = STR("text")});
	put_frame_readdir(x, b, (struct sf_readdir){.handle = d});
	put_frame_readdir(x, b, (struct sf_readdir){.handle = d});
	put_frame_stat(x, b, (struct sf_stat){.path = STR("/link")});
	put_frame_lstat(x, b, (struct sf_lstat){.path = STR("/link")});
	put_frame_fstat(x, b, (struct sf_fstat){.handle = h});
	put_frame_read(x, b, (struct sf_read){.handle = h, .n = 100000});
	put_frame_mkdir(x, b, (struct sf_mkdir){.path = STR("/dir/sub")});
	put_frame_rename(x, b, (struct sf_rename){.from = STR("/file"), .to = STR("/dir/sub/f")});
	put_frame_posix_rename(
		x, b, (struct sf_posix_rename){.from = STR("/big"), .to = STR("/link")});
	put_frame_symlink(x, b, (struct sf_symlink){.target = STR("t"), .path = STR("/s")});
	put_frame_readlink(x, b, (struct sf_readlink){.path = STR("/s")});
	put_frame_hardlink(x, b, (struct sf_hardlink){.from = STR("/dir/inner"), .to = STR("/in")});
	put_frame_realpath(x, b, (struct sf_realpath){.path = STR("")});
	put_frame_expand_path(x, b, (struct sf_expand_path){.path = STR("~me/x")});
	put_frame_expand_path(x, b, (struct sf_expand_path){.path = STR("~/x")});
	put_frame_home_directory(x, b, (struct sf_home_directory){.user = STR("me")});
	put_frame_statvfs(x, b, (struct sf_statvfs){.path = STR("/")});
	put_frame_fstatvfs(x, b, (struct sf_fstatvfs){.handle = h});
	put_frame_fsync(x, b, (struct sf_fsync){.handle = h});
	put_frame_setstat(x, b, (struct sf_setstat){.path = STR("/in"), .a = {.flags = SF_A_MODE}});
	put_frame_fsetstat(x, b, (struct sf_fsetstat){.handle = h, .a = {.flags = SF_A_TIMES}});
	put_frame_lsetstat(
		x, b, (struct sf_lsetstat){.path = STR("/s"), .a = {.flags = SF_A_OWNER}});
	put_frame_users_groups_by_id(
		x, b, (struct sf_users_groups_by_id){.uids = cslice_of("\0\0\0\0\0\0\0\1", 8)});
	put_frame_remove(x, b, (struct sf_remove){.path = STR("/in")});
	put_frame_rmdir(x, b, (struct sf_rmdir){.path = STR("/dir")});
	put_frame_close(x, b, (struct sf_close){.handle = h});
}

static void replies_are_the_same_however_the_bytes_come(void **state)
{
	static const size_t splits[] = {0, 1, 3, 7, 1000, 65536, 261000};
	struct buf first;
	buf_init(&first, 4 << 20);
	for (size_t i = 0; i < ARRAY_N(splits); i++) {
		struct fx x;
		struct buf b;
		fx_start(&x);
		buf_init(&b, 1 << 20);
		script(&x, &b);
		x.split = splits[i];
		assert_int_equal(feed(&x, buf_bytes(&b)), 0);
		assert_int_equal(x.err, OK);
		if (i == 0) {
			buf_put(&first, x.out.p, x.out.n);
			for (uint32_t id = 1; id <= x.id; id++)
				assert_int_equal(next_reply(&x).id, id);
		}
		assert_true(cslice_eq(buf_bytes(&first), buf_bytes(&x.out)));
		buf_done(&b);
		fx_end(&x);
	}
	buf_done(&first);
}

/* ---- between packets ---- */
/* n bytes in pieces of `size`. */
static size_t cut(uint8_t *p, size_t n, size_t size, struct iovec *out, size_t most)
{
	size_t made = 0;
	for (; n > 0 && made < most; made++) {
		size_t part = num_min(n, size);
		out[made] = (struct iovec){p, part};
		p += part;
		n -= part;
	}
	return made;
}

#define PIECES 40000

/* All of b through sf_server_serve, `fed` bytes more each time; replies into x->out. */
static void serve_all(struct fx *x, struct buf *b, const size_t sizes[3])
{
	static struct iovec in[PIECES], out[PIECES];
	static uint8_t room[300000];
	size_t at = 0, fed = 0;
	for (unsigned idle = 0; idle < 3;) {
		fed = num_min(b->n, fed + sizes[0]);
		struct sf_work w = {.in = in, .out = out};
		w.in_n = cut(b->p + at, fed - at, sizes[1], in, PIECES);
		w.out_n = cut(room, num_min(sizes[2], sizeof(room)), num_max(sizes[2] / 3, 1), out,
			PIECES);
		x->err = sf_server_serve(x->s, &w);
		assert_true(w.used <= fed - at && w.made <= sizes[2]);
		assert_true(sf_server_ready(x->s).n <= SF_FRAME_MAX + 4);
		at += w.used;
		buf_put(&x->out, room, w.made);
		idle = w.used + w.made == 0 && fed == b->n ? idle + 1 : 0;
		if (x->err != OK)
			break;
	}
	assert_true(x->err != OK || at == b->n);
}

static void replies_are_the_same_between_packets(void **state)
{
	/* bytes more each time, bytes a packet, room for replies */
	static const size_t ways[][3] = {{4 << 20, 4 << 20, 300000}, {4 << 20, 32768, 300000},
		{32768, 32768, 32768}, {262200, 1000, 5}, {1000, 7, 300000}, {4096, 4096, 100013},
		{4 << 20, 300, 100012}, {4 << 20, 32768, 1}};
	struct fx x;
	struct buf b, first;
	buf_init(&first, 4 << 20);
	buf_init(&b, 4 << 20);
	fx_start(&x);
	script(&x, &b);
	assert_int_equal(feed(&x, buf_bytes(&b)), 0);
	buf_put(&first, x.out.p, x.out.n);
	unsigned calls = x.fs.calls;
	fx_end(&x);
	for (size_t i = 0; i < ARRAY_N(ways); i++) {
		fx_start(&x);
		serve_all(&x, &b, ways[i]);
		assert_int_equal(x.err, OK);
		assert_true(cslice_eq(buf_bytes(&first), buf_bytes(&x.out)));
		assert_true(x.fs.calls >= calls); /* a file is written from each packet */
		fx_end(&x);
	}
	buf_done(&b);
	buf_done(&first);
}

static void what_is_written_between_packets_is_what_came(void **state)
{
	static const size_t ways[][3] = {
		{4 << 20, 4 << 20, 300000}, {32768, 32768, 32768}, {9999, 333, 500}};
	uint8_t *bytes = malloc(SF_DATA_MAX);
	assert_non_null(bytes);
	for (size_t i = 0; i < SF_DATA_MAX; i++)
		bytes[i] = (uint8_t)(i * 7 + i / 251);
	for (size_t i = 0; i < ARRAY_N(ways); i++) {
		struct fx x;
		struct buf b;
		uint8_t h8[8];
		struct sf_data d;
		fx_start(&x);
		buf_init(&b, 4 << 20);
		struct cslice h =
			open_file(&x, "/new", SF_OPEN_READ | SF_OPEN_WRITE | SF_OPEN_CREATE, h8);
		put_frame_write(&x, &b,
			(struct sf_write){
				.handle = h, .offset = 1, .data = cslice_of(bytes, SF_DATA_MAX)});
		put_frame_write(&x, &b,
			(struct sf_write){
				.handle = STR("12345678"), .data = STR("another handle")});
		put_frame_write(&x, &b,
			(struct sf_write){.handle = STR("short"), .data = STR("no handle")});
		put_frame_write(
			&x, &b, (struct sf_write){.handle = h, .offset = 0, .data = STR("X")});
		put_frame_read(&x, &b, (struct sf_read){.handle = h, .n = UINT32_MAX});
		put_frame_read(&x, &b, (struct sf_read){.handle = h, .offset = 5000, .n = 999});
		put_frame_read(&x, &b, (struct sf_read){.handle = h, .offset = 1 << 20, .n = 9});
		serve_all(&x, &b, ways[i]);
		assert_int_equal(x.err, OK);
		assert_int_equal(next_reply(&x).code, SF_ok);
		assert_int_equal(next_reply(&x).code, SF_failure);
		assert_int_equal(next_reply(&x).code, SF_failure);
		assert_int_equal(next_reply(&x).code, SF_ok);
		assert_int_equal(sf_get_data(next_reply(&x).body, &d), OK);
		assert_int_equal(d.data.n, SF_DATA_MAX);
		assert_int_equal(d.data.p[0], 'X');
		assert_memory_equal(d.data.p + 1, bytes, SF_DATA_MAX - 1);
		assert_int_equal(sf_get_data(next_reply(&x).body, &d), OK);
		assert_true(cslice_eq(d.data, cslice_of(bytes + 4999, 999)));
		assert_int_equal(next_reply(&x).code, SF_eof);
		buf_done(&b);
		fx_end(&x);
	}
	free(bytes);
}

static void a_read_only_server_refuses_writes_between_packets(void **state)
{
	struct fx x;
	struct buf b;
	fx_start_with(&x, (struct sf_policy){.is_read_only = true}, 16, true);
	buf_init(&b, 1 << 20);
	put_frame_write(&x, &b,
		(struct sf_write){.handle = cslice_of("\0\0\0\0\0\0\0\1", 8), .data = STR("data")});
	serve_all(&x, &b, (size_t[3]){100, 100, 100});
	assert_int_equal(next_reply(&x).code, SF_permission_denied);
	assert_int_equal(x.fs.changes, 0);
	buf_done(&b);
	fx_end(&x);
	/* and nothing goes before INIT */
	fx_start_with(&x, (struct sf_policy){0}, 16, false);
	buf_init(&b, 1 << 20);
	put_frame_write(&x, &b,
		(struct sf_write){.handle = cslice_of("\0\0\0\0\0\0\0\1", 8), .data = STR("data")});
	serve_all(&x, &b, (size_t[3]){100, 100, 100});
	assert_int_equal(x.err, E_UNEXPECTED);
	assert_int_equal(x.fs.calls, 0);
	buf_done(&b);
	fx_end(&x);
}

/* What fails inside is told, once a request, and nothing stays open. */
static void any_call_may_fail(void **state)
{
	unsigned calls = 1;
	for (unsigned at = 1; at <= calls; at++) {
		struct fx x;
		struct buf b;
		fx_start(&x);
		x.fs.fail_at = at;
		buf_init(&b, 1 << 20);
		script(&x, &b);
		assert_int_equal(feed(&x, buf_bytes(&b)), 0);
		assert_int_equal(x.err, OK);
		unsigned failures = 0;
		for (uint32_t id = 1; id <= x.id; id++) {
			struct reply r = next_reply(&x);
			assert_int_equal(r.id, id);
			failures += r.no == SF_MSG_status && r.code != SF_ok && r.code != SF_eof;
		}
		assert_int_equal(x.out_at, x.out.n);
		/* the last of the script's readdir calls says what one call less would too */
		if (strstr((char *)x.log.p, "sent status") == NULL)
			assert_true(at > 4);
		else
			assert_true(failures >= 1);
		calls = at == 1 ? 60 : calls;
		calls = x.fs.calls > calls ? x.fs.calls : calls;
		buf_done(&b);
		fx_end(&x);
	}
	assert_true(calls > 30);
}

static void requests_wait_while_replies_do(void **state)
{
	struct fx x;
	struct buf b;
	uint8_t h8[8], *mega = calloc(1, MEM_FILE);
	assert_non_null(mega);
	fx_start(&x);
	buf_init(&b, 4 << 20);
	memfs_put(&x.fs, "/mega", mega, MEM_FILE);
	struct cslice h = open_file(&x, "/mega", SF_OPEN_READ | SF_OPEN_WRITE, h8);
	for (uint32_t i = 0; i < 20; i++)
		put_frame_read(
			&x, &b, (struct sf_read){.handle = h, .offset = i << 14, .n = 65536});
	for (uint32_t i = 0; i < 4; i++)
		put_frame_write(
			&x, &b, (struct sf_write){.handle = h, .data = cslice_of(mega, 200000)});
	x.is_stuck = true;
	unsigned calls = x.fs.calls;
	size_t left = feed(&x, buf_bytes(&b));
	assert_true(left > 0); /* it took no more */
	assert_true(sf_server_ready(x.s).n <= 2 * (SF_FRAME_MAX + 4));
	assert_true(x.fs.calls - calls <= 8);
	x.is_stuck = false;
	take_out(&x);
	turn(&x);
	for (unsigned turns = 0; turns < 20 && left > 0; turns++)
		left = feed(&x, cslice_of(b.p + b.n - left, left));
	for (unsigned turns = 0; turns < 20; turns++)
		turn(&x);
	for (uint32_t id = 2; id <= x.id; id++) {
		struct sf_data d;
		struct reply r = next_reply(&x);
		assert_int_equal(r.id, id);
		assert_int_equal(r.no, id < 22 ? SF_MSG_data : SF_MSG_status);
		assert_int_equal(r.no == SF_MSG_data ? sf_get_data(r.body, &d) : OK, OK);
		assert_true(r.no != SF_MSG_data || d.data.n == 65536);
	}
	assert_int_equal(left, 0);
	assert_int_equal(x.out_at, x.out.n);
	free(mega);
	buf_done(&b);
	fx_end(&x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(version_lists_the_extensions_and_nothing_goes_before_it),
		cmocka_unit_test(frames_of_no_or_too_many_bytes_end_it),
		cmocka_unit_test(what_is_not_known_is_unsupported),
		cmocka_unit_test(a_malformed_request_is_answered_and_not_done),
		cmocka_unit_test(files_are_written_and_read),
		cmocka_unit_test(a_handle_is_good_once_and_for_its_kind),
		cmocka_unit_test(the_table_of_handles_has_an_end),
		cmocka_unit_test(replies_are_the_same_however_the_bytes_come),
		cmocka_unit_test(replies_are_the_same_between_packets),
		cmocka_unit_test(what_is_written_between_packets_is_what_came),
		cmocka_unit_test(a_read_only_server_refuses_writes_between_packets),
		cmocka_unit_test(any_call_may_fail),
		cmocka_unit_test(requests_wait_while_replies_do),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
