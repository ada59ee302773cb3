/* SPDX-License-Identifier: ISC */
/* What lies outside a directory is not reached from its handle, by no name and by no link. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "transfer/beneath.h"

struct place {
	char top[32];
	struct beneath in;
};

static char *at(const struct place *p, const char *name)
{
	static char path[128];
	(void)snprintf(path, sizeof(path), "%s/%s", p->top, name);
	return path;
}

static void put(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static bool is_text(const char *path, const char *text)
{
	char got[64];
	FILE *f = fopen(path, "r");
	assert_non_null(f);
	size_t n = fread(got, 1, sizeof(got) - 1, f);
	got[n] = '\0';
	assert_int_equal(fclose(f), 0);
	return strcmp(got, text) == 0;
}

/* in/ with file, sub/file, out -> ../outside, file-out -> ../outside/file */
static int set_up(void **state)
{
	struct place *p = calloc(1, sizeof(*p));
	assert_non_null(p);
	(void)snprintf(p->top, sizeof(p->top), "/tmp/beneath.XXXXXX");
	assert_non_null(mkdtemp(p->top));
	assert_int_equal(mkdir(at(p, "in"), 0755), 0);
	assert_int_equal(mkdir(at(p, "in/sub"), 0755), 0);
	assert_int_equal(mkdir(at(p, "outside"), 0755), 0);
	put(at(p, "in/file"), "inside");
	put(at(p, "in/sub/file"), "deep");
	put(at(p, "outside/file"), "outside");
	assert_int_equal(symlink("../outside", at(p, "in/out")), 0);
	assert_int_equal(symlink("../outside/file", at(p, "in/file-out")), 0);
	assert_int_equal(beneath_open(&p->in, at(p, "in")), OK);
	*state = p;
	return 0;
}

static int tear_down(void **state)
{
	struct place *p = *state;
	char command[64];
	beneath_close(&p->in);
	(void)snprintf(command, sizeof(command), "rm -rf '%s'", p->top);
	assert_int_equal(system(command), 0);
	free(p);
	return 0;
}

static void both_ways(void (*check)(struct place *), struct place *p)
{
	for (int i = 0; i < 2; i++) {
		p->in.is_walked = i == 1;
		check(p);
	}
}

static err_t open_file(struct place *p, const char *path, unsigned flags)
{
	int fd = -1;
	err_t e = beneath_file(&p->in, path, flags, 0644, &fd);
	if (e == OK)
		assert_int_equal(close(fd), 0);
	else
		assert_int_equal(fd, -1);
	return e;
}

static void check_outside(struct place *p)
{
	static const char *const paths[] = {"", ".", "..", "/etc/passwd", "../outside/file",
		"sub/../file", "sub//file", "sub/", "./file", "sub/.", "out/file", "out/new",
		"file-out", "sub/../../outside/file"};
	unsigned w = BENEATH_WRITE | BENEATH_CREATE;
	for (size_t i = 0; i < ARRAY_N(paths); i++) {
		struct beneath dir = BENEATH_NONE;
		struct beneath_info info;
		assert_int_not_equal(open_file(p, paths[i], BENEATH_READ), OK);
		assert_int_not_equal(open_file(p, paths[i], w), OK);
		assert_int_not_equal(open_file(p, paths[i], w | BENEATH_NEW), OK);
		assert_int_not_equal(beneath_dir(&p->in, paths[i], &dir), OK);
		assert_int_equal(dir.fd, -1);
		assert_int_not_equal(beneath_mkdir(&p->in, paths[i], 0755), OK);
		if (strcmp(paths[i], "file-out") != 0)
			assert_int_not_equal(beneath_stat(&p->in, paths[i], &info), OK);
	}
	assert_int_not_equal(access(at(p, "outside/new"), F_OK), 0);
	assert_true(is_text(at(p, "outside/file"), "outside"));
	assert_int_not_equal(open_file(p, "out", BENEATH_READ), OK);
	struct beneath dir = BENEATH_NONE;
	assert_int_not_equal(beneath_dir(&p->in, "out", &dir), OK);
}

static void nothing_outside_is_reached(void **state)
{
	both_ways(check_outside, *state);
}

static void check_inside(struct place *p)
{
	struct beneath sub;
	struct beneath_info info;
	assert_int_equal(open_file(p, "file", BENEATH_READ), OK);
	assert_int_equal(open_file(p, "sub/file", BENEATH_READ | BENEATH_WRITE), OK);
	assert_int_equal(open_file(p, "sub/none", BENEATH_WRITE), E_NOT_FOUND);
	assert_int_equal(p->in.why, ENOENT);
	assert_int_equal(open_file(p, "file/none", BENEATH_READ), E_NOT_FOUND);
	assert_int_equal(p->in.why, ENOTDIR);
	assert_int_equal(beneath_mkdir(&p->in, "sub", 0755), E_IO);
	assert_int_equal(p->in.why, EEXIST);
	assert_int_equal(beneath_mkdir(&p->in, "sub/made", 0700), OK);
	assert_int_equal(beneath_dir(&p->in, "sub/made", &sub), OK);
	int fd;
	assert_int_equal(beneath_file(&sub, "new", BENEATH_WRITE | BENEATH_CREATE, 0640, &fd), OK);
	assert_int_equal(write(fd, "abc", 3), 3);
	assert_int_equal(close(fd), 0);
	assert_int_equal(open_file(p, "sub/made/new", BENEATH_WRITE), OK);
	assert_int_equal(beneath_stat(&p->in, "sub/made/new", &info), OK); /* not truncated */
	assert_int_equal(info.size, 3);
	assert_int_equal(info.kind, BENEATH_FILE);
	assert_int_equal(beneath_stat(&p->in, "file-out", &info), OK);
	assert_int_equal(info.kind, BENEATH_LINK);
	assert_int_equal(
		open_file(p, "sub/made/new", BENEATH_WRITE | BENEATH_CREATE | BENEATH_NEW), E_IO);
	beneath_close(&sub);
	assert_int_equal(sub.fd, -1);
	assert_int_equal(unlink(at(p, "in/sub/made/new")), 0);
	assert_int_equal(rmdir(at(p, "in/sub/made")), 0);
}

static void what_is_inside_is_reached(void **state)
{
	both_ways(check_inside, *state);
}

static void check_swap(struct place *p)
{
	struct beneath sub;
	int fd;
	char moved[64];
	(void)snprintf(moved, sizeof(moved), "%s/moved", p->top);
	assert_int_equal(beneath_dir(&p->in, "sub", &sub), OK);
	assert_int_equal(rename(at(p, "in/sub"), moved), 0);
	assert_int_equal(symlink("../outside", at(p, "in/sub")), 0);
	/* the handle stays in what it opened */
	assert_int_equal(beneath_file(&sub, "file", BENEATH_WRITE, 0, &fd), OK);
	assert_int_equal(write(fd, "DEEP", 4), 4);
	assert_int_equal(close(fd), 0);
	assert_int_not_equal(open_file(p, "sub/file", BENEATH_WRITE), OK);
	beneath_close(&sub);
	assert_true(is_text(at(p, "outside/file"), "outside"));
	assert_int_equal(unlink(at(p, "in/sub")), 0);
	assert_int_equal(rename(moved, at(p, "in/sub")), 0);
	assert_true(is_text(at(p, "in/sub/file"), "DEEP"));
}

static void a_swapped_directory_is_not_followed(void **state)
{
	both_ways(check_swap, *state);
}

static void a_fifo_does_not_hang(void **state)
{
	struct place *p = *state;
	assert_int_equal(mkfifo(at(p, "in/fifo"), 0600), 0);
	assert_int_equal(open_file(p, "fifo", BENEATH_WRITE), E_IO);
	assert_int_equal(p->in.why, ENXIO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(nothing_outside_is_reached, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_is_inside_is_reached, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_swapped_directory_is_not_followed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_fifo_does_not_hang, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
