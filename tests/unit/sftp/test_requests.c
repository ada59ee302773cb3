/* SPDX-License-Identifier: ISC */
/* The SFTP server's engine: what each request does, and which ones a policy refuses. */
#include <stdio.h>

#include "server_fx.h"

/* ---- every request, for the policies ----------------------------------------------------------
 */

static const struct {
	const char *name;
	bool changes; /* written from OpenSSH's manual, not from sftp.def */
} expected[] = {
	{"open", false},
	{"close", false},
	{"read", false},
	{"write", true},
	{"lstat", false},
	{"fstat", false},
	{"setstat", true},
	{"fsetstat", true},
	{"opendir", false},
	{"readdir", false},
	{"remove", true},
	{"mkdir", true},
	{"rmdir", true},
	{"realpath", false},
	{"stat", false},
	{"rename", true},
	{"readlink", false},
	{"symlink", true},
	{"posix-rename", true},
	{"statvfs", false},
	{"fstatvfs", false},
	{"hardlink", true},
	{"fsync", true},
	{"lsetstat", true},
	{"limits", false},
	{"expand-path", false},
	{"copy-data", true},
	{"home-directory", false},
	{"users-groups-by-id", false},
};

static struct cslice file_handle, dir_handle;

/* One request each, in the order of the list, that would work. */
static void send_one(struct fx *x, size_t which)
{
	struct sf_attr mode = {.flags = SF_A_MODE, .mode = 0600};
	struct cslice h = file_handle;
	switch (which) {
	case 0:
		send_open(x, (struct sf_open){.path = STR("/file"), .flags = SF_OPEN_READ});
		break;
	case 1:
		send_close(x, (struct sf_close){.handle = h});
		break;
	case 2:
		send_read(x, (struct sf_read){.handle = h, .n = 5});
		break;
	case 3:
		send_write(x, (struct sf_write){.handle = h, .data = STR("x")});
		break;
	case 4:
		send_lstat(x, (struct sf_lstat){.path = STR("/file")});
		break;
	case 5:
		send_fstat(x, (struct sf_fstat){.handle = h});
		break;
	case 6:
		send_setstat(x, (struct sf_setstat){.path = STR("/file"), .a = mode});
		break;
	case 7:
		send_fsetstat(x, (struct sf_fsetstat){.handle = h, .a = mode});
		break;
	case 8:
		send_opendir(x, (struct sf_opendir){.path = STR("/")});
		break;
	case 9:
		send_readdir(x, (struct sf_readdir){.handle = dir_handle});
		break;
	case 10:
		send_remove(x, (struct sf_remove){.path = STR("/dangling")});
		break;
	case 11:
		send_mkdir(x, (struct sf_mkdir){.path = STR("/made")});
		break;
	case 12:
		send_rmdir(x, (struct sf_rmdir){.path = STR("/dir/empty")});
		break;
	case 13:
		send_realpath(x, (struct sf_realpath){.path = STR("/file")});
		break;
	case 14:
		send_stat(x, (struct sf_stat){.path = STR("/file")});
		break;
	case 15:
		send_rename(x, (struct sf_rename){.from = STR("/file"), .to = STR("/file2")});
		break;
	case 16:
		send_readlink(x, (struct sf_readlink){.path = STR("/link")});
		break;
	case 17:
		send_symlink(x, (struct sf_symlink){.target = STR("t"), .path = STR("/sym")});
		break;
	case 18:
		send_posix_rename(
			x, (struct sf_posix_rename){.from = STR("/file"), .to = STR("/link")});
		break;
	case 19:
		send_statvfs(x, (struct sf_statvfs){.path = STR("/")});
		break;
	case 20:
		send_fstatvfs(x, (struct sf_fstatvfs){.handle = h});
		break;
	case 21:
		send_hardlink(x, (struct sf_hardlink){.from = STR("/file"), .to = STR("/hard")});
		break;
	case 22:
		send_fsync(x, (struct sf_fsync){.handle = h});
		break;
	case 23:
		send_lsetstat(x, (struct sf_lsetstat){.path = STR("/link"), .a = mode});
		break;
	case 24:
		send_limits(x, (struct sf_limits){0});
		break;
	case 25:
		send_expand_path(x, (struct sf_expand_path){.path = STR("~")});
		break;
	case 26:
		send_copy_data(x, (struct sf_copy_data){.from = h, .to = h});
		break;
	case 27:
		send_home_directory(x, (struct sf_home_directory){.user = STR("me")});
		break;
	case 28:
		send_users_groups_by_id(x, (struct sf_users_groups_by_id){.uids = STR("\1\1\1\1")});
		break;
	default:
		fail();
	}
}

/* A server that has a file and a directory open (which a policy may forbid, so from before). */
static void start_with(struct fx *x, struct sf_policy policy)
{
	static uint8_t f8[8], d8[8];
	file_handle = cslice_of(f8, 8);
	dir_handle = cslice_of(d8, 8);
	fx_start_with(x, policy, 16, true);
	be32_put(f8 + 4, 1);
	be32_put(d8, 1);
	be32_put(d8 + 4, 1);
	bool may_open = sf_policy_verdict(&policy, SF_REQ_open) == SF_ALLOW;
	bool may_list = sf_policy_verdict(&policy, SF_REQ_opendir) == SF_ALLOW;
	if (may_open)
		(void)open_file(x, "/file", SF_OPEN_READ, f8);
	send_opendir(x, (struct sf_opendir){.path = STR("/dir")});
	if (may_list)
		(void)expect_handle(x, d8);
	else
		expect_code(x, SF_permission_denied);
	x->fs.calls = x->fs.changes = 0;
}

static bool was_refused(struct fx *x)
{
	struct reply r = reply_to_last(x);
	return r.no == SF_MSG_status && r.code == SF_permission_denied;
}

static void read_only_changes_nothing(void **state)
{
	assert_int_equal(ARRAY_N(expected), SF_REQ_N);
	for (size_t i = 0; i < SF_REQ_N; i++) {
		struct fx x;
		start_with(&x, (struct sf_policy){.is_read_only = true});
		send_one(&x, i);
		assert_string_equal(sf_req_name((enum sf_req)i), expected[i].name);
		assert_int_equal(was_refused(&x), expected[i].changes);
		assert_int_equal(x.fs.changes, 0);
		fx_end(&x);
	}
	for (uint32_t flags = 0; flags < 64; flags++) {
		struct fx x;
		start_with(&x, (struct sf_policy){.is_read_only = true});
		send_open(&x, (struct sf_open){.path = STR("/file"), .flags = flags});
		bool changes = (flags & (SF_OPEN_WRITE | SF_OPEN_CREATE | SF_OPEN_TRUNC)) != 0;
		assert_int_equal(was_refused(&x), changes);
		assert_int_equal(x.fs.changes, 0);
		assert_int_equal(x.fs.calls, changes ? 0 : 1);
		fx_end(&x);
	}
}

static void what_a_list_denies_is_not_done(void **state)
{
	for (size_t denied = 0; denied < SF_REQ_N; denied++) {
		for (size_t i = 0; i < SF_REQ_N; i++) {
			struct fx x;
			struct cslice unknown;
			struct sf_policy policy = {0};
			assert_int_equal(sf_policy_names(STR(expected[denied].name), &policy.denied,
						 &unknown),
				OK);
			start_with(&x, policy);
			send_one(&x, i);
			assert_int_equal(was_refused(&x), i == denied);
			assert_true(i != denied || x.fs.calls == 0);
			fx_end(&x);
		}
	}
}

static void only_what_a_list_allows_is_done(void **state)
{
	for (size_t allowed = 0; allowed < SF_REQ_N; allowed++) {
		for (size_t i = 0; i < SF_REQ_N; i++) {
			struct fx x;
			struct cslice unknown;
			struct sf_policy policy = {.has_allowed = true};
			assert_int_equal(sf_policy_names(STR(expected[allowed].name),
						 &policy.allowed, &unknown),
				OK);
			start_with(&x, policy);
			send_one(&x, i);
			assert_int_equal(was_refused(&x), i != allowed);
			assert_true(i == allowed || x.fs.calls == 0);
			fx_end(&x);
		}
	}
}

static void lists_of_requests_are_read_whole(void **state)
{
	uint64_t set = 0;
	struct cslice unknown;
	assert_int_equal(
		sf_policy_names(STR("remove,posix-rename@openssh.com,statvfs"), &set, &unknown),
		OK);
	assert_true(set == ((uint64_t)1 << SF_REQ_remove | (uint64_t)1 << SF_REQ_posix_rename |
				   (uint64_t)1 << SF_REQ_statvfs));
	set = 0;
	assert_int_equal(sf_policy_names(STR("opn,write,unlink"), &set, &unknown), E_NAME);
	assert_true(cslice_eq_str(unknown, "opn"));
	assert_true(set == (uint64_t)1 << SF_REQ_write);
	set = 0;
	assert_int_equal(sf_policy_names(STR(""), &set, &unknown), OK);
	assert_true(set == 0);
}

static void denied_wins_over_allowed_and_is_not_advertised(void **state)
{
	struct fx x;
	struct sf_policy policy = {.has_allowed = true, .allowed = UINT64_MAX};
	policy.denied = (uint64_t)1 << SF_REQ_copy_data;
	fx_start_with(&x, policy, 16, false);
	assert_int_equal(feed(&x, cslice_of("\0\0\0\5\1\0\0\0\3", 9)), 0);
	struct sf_version v;
	struct sf_pair p;
	unsigned n = 0;
	assert_int_equal(sf_get_version(next_reply(&x).body, &v), OK);
	for (; sf_next_pair(&v.extensions, &p) == OK; n++)
		assert_false(cslice_eq_str(p.name, "copy-data"));
	assert_int_equal(n, SF_EXT_N - 1);
	send_copy_data(&x, (struct sf_copy_data){.n = 1});
	expect_code(&x, SF_permission_denied);
	assert_non_null(strstr((char *)x.log.p, "Refusing denylisted copy-data request\n"));
	fx_end(&x);
}

/* ---- what requests do -------------------------------------------------------------------------
 */

static void rename_replaces_only_when_told(void **state)
{
	struct fx x;
	fx_start(&x);
	send_rename(&x, (struct sf_rename){.from = STR("/file"), .to = STR("/dir/inner")});
	expect_code(&x, SF_failure);
	assert_int_equal(x.fs.nodes[memfs_find(&x.fs, "/dir/inner")].n, 0);
	send_posix_rename(
		&x, (struct sf_posix_rename){.from = STR("/file"), .to = STR("/dir/inner")});
	expect_code(&x, SF_ok);
	assert_int_equal(x.fs.nodes[memfs_find(&x.fs, "/dir/inner")].n, 5);
	assert_int_equal(memfs_find(&x.fs, "/file"), -1);
	fx_end(&x);
}

static void symlink_takes_its_target_first(void **state)
{
	struct fx x;
	struct sf_name m;
	struct sf_entry e;
	fx_start(&x);
	send_symlink(&x, (struct sf_symlink){.target = STR("dir/inner"), .path = STR("/s")});
	expect_code(&x, SF_ok);
	send_readlink(&x, (struct sf_readlink){.path = STR("/s")});
	struct reply r = reply_to_last(&x);
	assert_int_equal(r.no, SF_MSG_name);
	assert_int_equal(sf_get_name(r.body, &m), OK);
	assert_int_equal(m.count, 1);
	assert_int_equal(sf_next_entry(&m.entries, &e), OK);
	assert_true(
		cslice_eq_str(e.filename, "dir/inner") && cslice_eq_str(e.longname, "dir/inner"));
	assert_int_equal(e.a.flags, 0);
	fx_end(&x);
}

static void symlink_of_a_client_by_the_draft(void **state)
{
	struct fx x;
	fx_start(&x);
	sf_server_free(x.s);
	struct sf_server_env env = {
		.fs = &memfs_face, .fs_arg = &x.fs, .handles_max = 4, .has_link_first = true};
	assert_int_equal(sf_server_new(&x.s, &env), OK);
	(void)feed(&x, cslice_of("\0\0\0\5\1\0\0\0\3", 9));
	x.out_at = x.out.n;
	send_symlink(&x, (struct sf_symlink){.target = STR("/new"), .path = STR("/file")});
	expect_code(&x, SF_ok);
	send_readlink(&x, (struct sf_readlink){.path = STR("/new")});
	struct reply r = reply_to_last(&x);
	struct sf_name m;
	struct sf_entry e;
	assert_int_equal(r.no, SF_MSG_name);
	assert_int_equal(sf_get_name(r.body, &m), OK);
	assert_int_equal(sf_next_entry(&m.entries, &e), OK);
	assert_true(cslice_eq_str(e.filename, "/file"));
	fx_end(&x);
}

static void a_path_is_expanded(void **state)
{
	static const struct {
		const char *path, *is;
	} cases[] = {
		{"~", "/"},
		{"~/x y", "/./x y"},
		{"~me", "/home/me"},
		{"~me/a/b", "/home/me/a/b"},
		{"rel", "/rel"},
		{"/abs/~me", "/abs/~me"},
		{"", "/"},
	};
	struct fx x;
	fx_start(&x);
	for (size_t i = 0; i < ARRAY_N(cases); i++) {
		struct sf_name m;
		struct sf_entry e;
		send_expand_path(&x, (struct sf_expand_path){.path = STR(cases[i].path)});
		assert_int_equal(sf_get_name(reply_to_last(&x).body, &m), OK);
		assert_int_equal(sf_next_entry(&m.entries, &e), OK);
		assert_true(cslice_eq_str(e.filename, cases[i].is));
	}
	send_expand_path(&x, (struct sf_expand_path){.path = STR("~nobody-here/x")});
	struct sf_status st;
	assert_int_equal(sf_get_status(reply_to_last(&x).body, &st), OK);
	assert_int_equal(st.code, SF_no_such_file);
	assert_true(cslice_eq_str(st.message, "no such user"));
	fx_end(&x);
}

static void setting_goes_on_after_a_failure_and_tells_it(void **state)
{
	struct sf_attr a = {.flags = SF_A_SIZE | SF_A_OWNER | SF_A_MODE | SF_A_TIMES,
		.size = 2,
		.uid = 3,
		.gid = 4,
		.mode = 0107640,
		.atime = 5,
		.mtime = 6};
	for (unsigned bad = 0; bad <= 4; bad++) {
		struct fx x;
		fx_start(&x);
		x.fs.fail_at = bad;
		send_setstat(&x, (struct sf_setstat){.path = STR("/link"), .a = a});
		expect_code(&x, bad == 0 ? SF_ok : SF_failure);
		const struct mem_node *d = &x.fs.nodes[memfs_find(&x.fs, "/file")];
		assert_int_equal(d->n, bad == 1 ? 5 : 2);
		assert_int_equal(d->mode, bad == 2 ? 0644 : 07640);
		assert_int_equal(d->mtime, bad == 3 ? 0 : 6);
		assert_int_equal(d->gid, bad == 4 ? 0 : 4);
		assert_non_null(strstr((char *)x.log.p, "set \"/link\" size 2\n"));
		assert_non_null(strstr((char *)x.log.p, "set \"/link\" mode 107640\n"));
		assert_non_null(
			strstr((char *)x.log.p, "set \"/link\" modtime 20010909-01:06:00\n"));
		assert_non_null(strstr((char *)x.log.p, "set \"/link\" owner 3 group 4\n"));
		fx_end(&x);
	}
}

static void a_link_itself_is_set_but_has_no_size(void **state)
{
	struct fx x;
	struct sf_attr a = {.flags = SF_A_OWNER, .uid = 9, .gid = 9};
	fx_start(&x);
	send_lsetstat(&x, (struct sf_lsetstat){.path = STR("/link"), .a = a});
	expect_code(&x, SF_ok);
	assert_int_equal(x.fs.nodes[memfs_find(&x.fs, "/file")].uid, 0);
	a.flags |= SF_A_SIZE;
	unsigned calls = x.fs.calls;
	send_lsetstat(&x, (struct sf_lsetstat){.path = STR("/link"), .a = a});
	expect_code(&x, SF_bad_message);
	assert_int_equal(x.fs.calls, calls);
	fx_end(&x);
}

static void a_directory_is_listed_in_small_replies(void **state)
{
	struct fx x;
	uint8_t h8[8];
	unsigned seen = 0, replies = 0;
	fx_start(&x);
	memfs_put(&x.fs, "/many", "", 0);
	for (unsigned i = 0; i < 400; i++) { /* all names of one file */
		char name[256];
		(void)snprintf(name, sizeof(name), "/dir/%0200u", i);
		assert_int_equal(memfs_face.link(&x.fs, "/many", name), SF_ok);
	}
	send_opendir(&x, (struct sf_opendir){.path = STR("/dir")});
	struct cslice h = expect_handle(&x, h8);
	for (;; replies++) {
		send_readdir(&x, (struct sf_readdir){.handle = h});
		struct reply r = reply_to_last(&x);
		struct sf_name m;
		struct sf_entry e;
		if (r.no == SF_MSG_status) {
			assert_int_equal(r.code, SF_eof);
			break;
		}
		assert_true(r.body.n < 34000);
		assert_int_equal(sf_get_name(r.body, &m), OK);
		for (; m.count > 0; m.count--, seen++)
			assert_int_equal(sf_next_entry(&m.entries, &e), OK);
		assert_int_equal(m.entries.n, 0);
	}
	assert_int_equal(seen, 401);
	assert_true(replies >= 5 && replies <= 10);
	send_close(&x, (struct sf_close){.handle = h});
	expect_code(&x, SF_ok);
	assert_non_null(strstr((char *)x.log.p, "opendir \"/dir\"\n"));
	assert_non_null(strstr((char *)x.log.p, "closedir \"/dir\"\n"));
	fx_end(&x);
}

static void an_entry_looks_like_ls(void **state)
{
	static const struct {
		uint32_t mode, uid, mtime;
		const char *is;
	} cases[] = {
		{0644, 0, 1000000000, "-rw-r--r--    1 root     root            7 Sep  9 01:40 n"},
		{07777, 0, 900000000, "-rwsrwsrwt    1 root     root            7 Sep  9  2001 n"},
		{07000, 12, 1100000000,
			"---S--S--T    1 12       root            7 Sep  9 01:20 n"},
	};
	for (size_t i = 0; i < ARRAY_N(cases); i++) {
		struct fx x;
		uint8_t h8[8];
		struct sf_name m;
		struct sf_entry e;
		fx_start(&x);
		assert_int_equal(memfs_face.rmdir(&x.fs, "/dir"), SF_failure);
		assert_int_equal(memfs_face.remove(&x.fs, "/dir/inner"), SF_ok);
		memfs_put(&x.fs, "/dir/n", "1234567", 7);
		struct mem_node *d = &x.fs.nodes[memfs_find(&x.fs, "/dir/n")];
		d->mode = cases[i].mode;
		d->uid = cases[i].uid;
		d->mtime = cases[i].mtime;
		send_opendir(&x, (struct sf_opendir){.path = STR("/dir")});
		struct cslice h = expect_handle(&x, h8);
		send_readdir(&x, (struct sf_readdir){.handle = h});
		assert_int_equal(sf_get_name(reply_to_last(&x).body, &m), OK);
		assert_int_equal(sf_next_entry(&m.entries, &e), OK);
		assert_true(cslice_eq_str(e.filename, "n"));
		assert_true(cslice_eq_str(e.longname, cases[i].is));
		fx_end(&x);
	}
}

static void names_of_ids_come_in_order(void **state)
{
	struct fx x;
	struct sf_id_names n;
	fx_start(&x);
	send_users_groups_by_id(
		&x, (struct sf_users_groups_by_id){
			    .uids = cslice_of("\0\0\0\0\0\0\0\5\0\0\0\0", 12), .gids = STR("")});
	struct reply r = reply_to_last(&x);
	assert_int_equal(r.no, SF_MSG_extended_reply);
	assert_int_equal(sf_get_id_names(cslice_of(r.body.p + 4, r.body.n - 4), &n), OK);
	assert_true(cslice_eq(n.users, cslice_of("\0\0\0\4root\0\0\0\0\0\0\0\4root", 20)));
	assert_int_equal(n.groups.n, 0);
	send_users_groups_by_id(&x, (struct sf_users_groups_by_id){.uids = STR("\1\1\1")});
	expect_code(&x, SF_bad_message);
	uint8_t *many = calloc(1, SF_DATA_MAX - 2048); /* names that fit no reply */
	assert_non_null(many);
	send_users_groups_by_id(
		&x, (struct sf_users_groups_by_id){.uids = cslice_of(many, SF_DATA_MAX - 2048)});
	expect_code(&x, SF_failure);
	free(many);
	fx_end(&x);
}

/* ---- copying ----------------------------------------------------------------------------------
 */

static void data_is_copied_between_files(void **state)
{
	struct fx x;
	uint8_t a8[8], b8[8], *mega = malloc(MEM_FILE);
	assert_non_null(mega);
	for (size_t i = 0; i < MEM_FILE; i++)
		mega[i] = (uint8_t)(i * 7 >> 8);
	fx_start(&x);
	memfs_put(&x.fs, "/mega", mega, MEM_FILE);
	struct cslice a = open_file(&x, "/mega", SF_OPEN_READ, a8);
	struct cslice b = open_file(&x, "/to", SF_OPEN_WRITE | SF_OPEN_CREATE, b8);
	send_copy_data(&x, (struct sf_copy_data){.from = a, .from_offset = 100, .to = b});
	expect_code(&x, SF_ok);
	const struct mem_node *d = &x.fs.nodes[memfs_find(&x.fs, "/to")];
	assert_int_equal(d->n, MEM_FILE - 100);
	assert_memory_equal(d->data, mega + 100, MEM_FILE - 100);
	send_copy_data(&x, (struct sf_copy_data){
				   .from = a, .from_offset = 5, .n = 10, .to = b, .to_offset = 3});
	expect_code(&x, SF_ok);
	assert_memory_equal(d->data, mega + 100, 3);
	assert_memory_equal(d->data + 3, mega + 5, 10);
	assert_memory_equal(d->data + 13, mega + 113, 100);
	send_copy_data(&x,
		(struct sf_copy_data){.from = a, .from_offset = MEM_FILE - 5, .n = 10, .to = b});
	expect_code(&x, SF_eof);
	send_copy_data(&x, (struct sf_copy_data){.from = a, .to = b, .to_offset = MEM_FILE - 9});
	expect_code(&x, SF_failure); /* no room for it */
	free(mega);
	fx_end(&x);
}

static void a_file_is_not_copied_into_itself(void **state)
{
	struct fx x;
	uint8_t a8[8], b8[8];
	fx_start(&x);
	assert_int_equal(memfs_face.link(&x.fs, "/file", "/same"), SF_ok);
	struct cslice a = open_file(&x, "/file", SF_OPEN_READ | SF_OPEN_WRITE, a8);
	struct cslice b = open_file(&x, "/same", SF_OPEN_READ | SF_OPEN_WRITE, b8);
	send_copy_data(&x, (struct sf_copy_data){.from = a, .to = a, .to_offset = 5});
	expect_code(&x, SF_failure);
	send_copy_data(&x, (struct sf_copy_data){.from = a, .to = b, .to_offset = 5});
	expect_code(&x, SF_failure);
	assert_int_equal(x.fs.nodes[memfs_find(&x.fs, "/file")].n, 5);
	fx_end(&x);
}

/* A file without an end, as a device may be: it comes in parts, and requests behind it wait. */
static enum sf_code endless(void *fs, uint64_t fh, uint64_t offset, struct slice room, size_t *n)
{
	(void)fs, (void)fh, (void)offset;
	memset(room.p, 'z', room.n);
	*n = room.n;
	return SF_ok;
}

static enum sf_code swallow(void *fs, uint64_t fh, uint64_t offset, struct cslice data)
{
	(void)fs, (void)fh, (void)offset, (void)data;
	return SF_ok;
}

static void a_long_copy_gives_way(void **state)
{
	struct fx x;
	struct sf_fs face = memfs_face;
	face.read = endless;
	face.write = swallow;
	fx_start(&x);
	sf_server_free(x.s);
	struct sf_server_env env = {.fs = &face, .fs_arg = &x.fs, .handles_max = 4};
	assert_int_equal(sf_server_new(&x.s, &env), OK);
	struct buf b;
	buf_init(&b, 4096);
	buf_put(&b, "\0\0\0\5\1\0\0\0\3", 9);
	put_frame_open(&x, &b, (struct sf_open){.path = STR("/file"), .flags = SF_OPEN_READ});
	put_frame_open(&x, &b, (struct sf_open){.path = STR("/dir/inner"), .flags = SF_OPEN_WRITE});
	put_frame_copy_data(&x, &b,
		(struct sf_copy_data){.from = cslice_of("\0\0\0\0\0\0\0\1", 8),
			.n = (uint64_t)40 << 20,
			.to = cslice_of("\0\0\0\1\0\0\0\1", 8)});
	put_frame_stat(&x, &b, (struct sf_stat){.path = STR("/file")});
	struct slice room = sf_server_space(x.s);
	memcpy(room.p, b.p, b.n);
	sf_server_fed(x.s, b.n);
	assert_int_equal(sf_server_run(x.s), OK);
	take_out(&x);
	unsigned turns = 0;
	for (; sf_server_is_busy(x.s); turns++) {
		assert_int_equal(sf_server_ready(x.s).n, 0);
		assert_int_equal(sf_server_run(x.s), OK);
	}
	assert_true(turns >= 5 && turns < 40);
	take_out(&x);
	(void)next_reply(&x);
	for (uint32_t id = 1; id <= 4; id++)
		assert_int_equal(next_reply(&x).id, id);
	buf_done(&b);
	fx_end(&x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(read_only_changes_nothing),
		cmocka_unit_test(what_a_list_denies_is_not_done),
		cmocka_unit_test(only_what_a_list_allows_is_done),
		cmocka_unit_test(lists_of_requests_are_read_whole),
		cmocka_unit_test(denied_wins_over_allowed_and_is_not_advertised),
		cmocka_unit_test(rename_replaces_only_when_told),
		cmocka_unit_test(symlink_takes_its_target_first),
		cmocka_unit_test(symlink_of_a_client_by_the_draft),
		cmocka_unit_test(a_path_is_expanded),
		cmocka_unit_test(setting_goes_on_after_a_failure_and_tells_it),
		cmocka_unit_test(a_link_itself_is_set_but_has_no_size),
		cmocka_unit_test(a_directory_is_listed_in_small_replies),
		cmocka_unit_test(an_entry_looks_like_ls),
		cmocka_unit_test(names_of_ids_come_in_order),
		cmocka_unit_test(data_is_copied_between_files),
		cmocka_unit_test(a_file_is_not_copied_into_itself),
		cmocka_unit_test(a_long_copy_gives_way),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
