/* SPDX-License-Identifier: ISC */
/* The two files of a key pair: cut off or refused at every step, they are never mixed.  Links. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "app/common/keyfile.h"

/* The step that goes wrong, counted from 1; 0 = none. */
static struct {
	int at, count;
	bool is_crash;
} fault;

int __real_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to)
{
	if (++fault.count == fault.at) {
		if (fault.is_crash)
			_exit(9);
		errno = EIO;
		return -1;
	}
	return __real_rename(from, to);
}

static char dir[] = "/tmp/bowline-pair-XXXXXX";

static const char *in_dir(const char *name)
{
	static char room[4][128];
	static int next;
	next = (next + 1) % 4;
	(void)snprintf(room[next], sizeof(room[next]), "%s/%s", dir, name);
	return room[next];
}

static void put(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	assert_int_equal(fputs(text, f) >= 0, 1);
	assert_int_equal(fclose(f), 0);
}

/* "old", "new", or "-" where there is nothing. */
static const char *holds(const char *name)
{
	static char room[2][16];
	static int next;
	next = 1 - next;
	FILE *f = fopen(in_dir(name), "r");
	if (f == NULL)
		return "-";
	size_t n = fread(room[next], 1, 15, f);
	room[next][n] = 0;
	(void)fclose(f);
	return room[next];
}

static err_t replace(bool *is_private_in)
{
	struct keyfile_staged private = {NULL, NULL}, public = {NULL, NULL};
	assert_int_equal(keyfile_stage(&private, in_dir("id"), cslice_str("new"), 0600), OK);
	assert_int_equal(keyfile_stage(&public, in_dir("id.pub"), cslice_str("new"), 0644), OK);
	err_t e = keyfile_commit_pair(&private, &public, is_private_in);
	int why = errno;
	keyfile_drop(&public);
	keyfile_drop(&private);
	errno = why;
	return e;
}

static bool is_one_of(const char *const (*states)[2], size_t n)
{
	const char *private = holds("id"), *public = holds("id.pub");
	for (size_t i = 0; i < n; i++)
		if (strcmp(private, states[i][0]) == 0 && strcmp(public, states[i][1]) == 0)
			return true;
	return false;
}

static void a_pair_is_never_mixed(void **state)
{
	static const char *const fine[][2] = {
		{"old", "old"}, {"old", "-"}, {"new", "-"}, {"new", "new"}};
	(void)state;
	for (int at = 1; at <= 4; at++) {
		put(in_dir("id"), "old");
		put(in_dir("id.pub"), "old");
		pid_t pid = fork();
		if (pid == 0) {
			bool is_private_in;
			fault.at = at;
			fault.is_crash = true;
			_exit(replace(&is_private_in) == OK ? 0 : 1);
		}
		int status;
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), at < 4 ? 9 : 0); /* three steps in all */
		assert_true(is_one_of(fine, ARRAY_N(fine)));
	}
	assert_string_equal(holds("id"), "new");
	assert_string_equal(holds("id.pub"), "new");
}

static size_t files(void)
{
	char command[128];
	(void)snprintf(command, sizeof(command), "ls -A %s | wc -l", dir);
	FILE *f = popen(command, "r");
	size_t n = 0;
	assert_non_null(f);
	assert_int_equal(fscanf(f, "%zu", &n), 1);
	(void)pclose(f);
	return n;
}

static void what_is_refused_leaves_a_pair_or_a_private_key(void **state)
{
	static const struct {
		const char *private, *public;
		bool is_private_in;
	} after[] = {{"old", "old", false}, {"old", "old", false}, {"new", "-", true}};
	(void)state;
	char command[64];
	(void)snprintf(command, sizeof(command), "rm -f %s/*", dir); /* what the crashes left */
	assert_int_equal(system(command), 0);
	for (int at = 1; at <= 3; at++) {
		bool is_private_in = !after[at - 1].is_private_in;
		put(in_dir("id"), "old");
		put(in_dir("id.pub"), "old");
		fault.count = 0;
		fault.at = at;
		fault.is_crash = false;
		assert_int_equal(replace(&is_private_in), E_IO);
		fault.at = 0;
		assert_int_equal(errno, EIO);
		assert_string_equal(holds("id"), after[at - 1].private);
		assert_string_equal(holds("id.pub"), after[at - 1].public);
		assert_int_equal(is_private_in, after[at - 1].is_private_in);
		assert_int_equal(files(), at < 3 ? 2 : 1); /* nothing else is left */
	}
}

static void a_link_to_nothing_is_followed_as_any_link(void **state)
{
	static const char *const links[][3] = {/* name, where it points, the file then */
		{"a", "goal-a", "goal-a"}, {"b", "./goal-b", "goal-b"}, {"c", "c2", "goal-c"},
		{"c2", "goal-c", "goal-c"}};
	struct stat st;
	(void)state;
	for (size_t i = 0; i < ARRAY_N(links); i++)
		assert_int_equal(symlink(links[i][1], in_dir(links[i][0])), 0);
	assert_int_equal(symlink(in_dir("goal-d"), in_dir("d")), 0); /* absolute */
	assert_int_equal(symlink("no-dir/x", in_dir("e")), 0);
	assert_int_equal(symlink("f", in_dir("f")), 0);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(keyfile_replace(in_dir(links[i][0]), cslice_str("new"), 0600), OK);
		assert_string_equal(holds(links[i][2]), "new");
		assert_int_equal(lstat(in_dir(links[i][0]), &st), 0);
		assert_true(S_ISLNK(st.st_mode));
	}
	assert_int_equal(keyfile_replace(in_dir("d"), cslice_str("new"), 0600), OK);
	assert_string_equal(holds("goal-d"), "new");
	assert_int_equal(keyfile_replace(in_dir("e"), cslice_str("new"), 0600), E_IO);
	assert_int_equal(errno, ENOENT);
	assert_int_equal(keyfile_replace(in_dir("f"), cslice_str("new"), 0600), E_IO);
	assert_int_equal(errno, ELOOP);
}

static int make_dir(void **state)
{
	(void)state;
	return mkdtemp(dir) != NULL ? 0 : -1;
}

static int remove_dir(void **state)
{
	char command[64];
	(void)state;
	(void)snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pair_is_never_mixed),
		cmocka_unit_test(what_is_refused_leaves_a_pair_or_a_private_key),
		cmocka_unit_test(a_link_to_nothing_is_followed_as_any_link),
	};
	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
