/* SPDX-License-Identifier: ISC */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "app/sshd/files.h"

static char top[64], home[96], dir[128], file[160];

static int make_tree(void **state)
{
	strcpy(top, "/tmp/bowline-files.XXXXXX");
	if (mkdtemp(top) == NULL)
		return -1;
	(void)snprintf(home, sizeof(home), "%s/home", top);
	(void)snprintf(dir, sizeof(dir), "%s/.ssh", home);
	(void)snprintf(file, sizeof(file), "%s/keys", dir);
	if (mkdir(home, 0755) != 0 || mkdir(dir, 0700) != 0)
		return -1;
	int fd = open(file, O_CREAT | O_WRONLY, 0600);
	if (fd < 0 || write(fd, "words", 5) != 5)
		return -1;
	return close(fd);
}

static int remove_tree(void **state)
{
	(void)unlink(file);
	(void)rmdir(dir);
	(void)rmdir(home);
	return rmdir(top);
}

static err_t strict(const char *up_to, struct buf *why)
{
	struct stat st;
	buf_clear(why);
	assert_int_equal(stat(file, &st), 0);
	err_t e = file_is_strict(file, &st, up_to, geteuid(), why);
	buf_put_u8(why, 0);
	return e;
}

static void each_path_and_mode_is_named(void **state)
{
	static const struct {
		const char *path;
		mode_t good, bad;
		const char *kind;
	} cases[] = {{file, 0600, 0620, "file"}, {file, 0600, 0602, "file"},
		{dir, 0700, 0770, "directory"}, {home, 0755, 0757, "directory"}};
	struct buf why;
	char want[512];
	buf_init(&why, 4096);
	assert_int_equal(strict(home, &why), OK);
	for (size_t i = 0; i < ARRAY_N(cases); i++) {
		assert_int_equal(chmod(cases[i].path, cases[i].bad), 0);
		assert_int_equal(strict(home, &why), E_PERMISSION);
		(void)snprintf(want, sizeof(want),
			"bad ownership or modes for %s %s (owner %u, mode %04o)", cases[i].kind,
			cases[i].path, (unsigned)geteuid(), (unsigned)cases[i].bad);
		assert_string_equal((const char *)why.p, want);
		assert_int_equal(chmod(cases[i].path, cases[i].good), 0);
	}
	/* above the home nothing is asked; without one everything up to the root (and /tmp is open
	 * to all) */
	assert_int_equal(chmod(top, 0777), 0);
	assert_int_equal(strict(home, &why), OK);
	assert_int_equal(strict("/nowhere", &why), E_PERMISSION);
	assert_int_equal(chmod(top, 0700), 0);
	buf_done(&why);
}

static void another_owner_is_refused(void **state)
{
	struct buf why;
	struct stat st;
	buf_init(&why, 4096);
	assert_int_equal(stat(file, &st), 0);
	st.st_uid = 12345;
	assert_int_equal(file_is_strict(file, &st, home, geteuid(), &why), E_PERMISSION);
	buf_done(&why);
}

static void only_regular_files_up_to_a_size_are_read(void **state)
{
	struct buf out;
	char fifo[200];
	buf_init(&out, 1 << 20);
	assert_int_equal(file_read(file, 100, &out), OK);
	assert_true(cslice_eq_str(buf_bytes(&out), "words"));
	buf_clear(&out);
	assert_int_equal(file_read(file, 4, &out), E_LIMIT);
	assert_int_equal(file_read(dir, 100, &out), E_FORMAT);
	assert_int_equal(file_read("/dev/zero", 100, &out), E_FORMAT);
	(void)snprintf(fifo, sizeof(fifo), "%s/fifo", dir);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	assert_int_equal(file_read(fifo, 100, &out), E_FORMAT); /* and does not wait */
	assert_int_equal(unlink(fifo), 0);
	assert_int_equal(file_read(fifo, 100, &out), E_NOT_FOUND);
	buf_done(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_path_and_mode_is_named),
		cmocka_unit_test(another_owner_is_refused),
		cmocka_unit_test(only_regular_files_up_to_a_size_are_read),
	};
	return cmocka_run_group_tests(tests, make_tree, remove_tree);
}
