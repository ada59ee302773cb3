/* SPDX-License-Identifier: ISC */
/* What the programs add to the key layer: local time, and key files on disk. */
#include "help.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "app/common/keyfile.h"
#include "app/common/localtime.h"

static void local_time_follows_the_zone_and_its_summer_time(void **state)
{
	(void)state;
	static const struct {
		const char *zone;
		struct ak_civil t;
		uint64_t want;
	} cases[] = {
		{"UTC0", {2020, 2, 29, 12, 0, 0}, 1582977600},
		{"XST-1XDT,M3.5.0,M10.5.0/3", {2020, 2, 29, 12, 0, 0}, 1582977600 - 3600},
		{"XST-1XDT,M3.5.0,M10.5.0/3", {2020, 7, 1, 12, 0, 0}, 1593604800 - 7200},
		{"XST5", {2020, 2, 29, 12, 0, 0}, 1582977600 + 5 * 3600},
	};
	for (size_t i = 0; i < ARRAY_N(cases); i++) {
		uint64_t s = 0;
		(void)setenv("TZ", cases[i].zone, 1);
		tzset();
		assert_true(local_time(&cases[i].t, &s));
		assert_int_equal(s, cases[i].want);
	}
}

struct asked {
	uint32_t times;
	const char *answers[3];
	err_t gives;
};

static err_t answer(void *arg, const char *path, uint32_t try, struct buf *passphrase)
{
	struct asked *a = arg;
	(void)path;
	assert_int_equal(try, a->times);
	const char *text = a->answers[a->times++];
	buf_put(passphrase, text, strlen(text));
	return a->gives;
}

/* A copy of a test file, readable by its owner only. */
static void private_copy(const char *name, char path[64])
{
	struct buf text = help_file(name);
	(void)snprintf(path, 64, "/tmp/bowline-key-XXXXXX");
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text.p, text.n), (ssize_t)text.n);
	assert_int_equal(close(fd), 0);
	buf_done(&text);
}

static void passphrases_are_asked_for_as_often_as_allowed(void **state)
{
	(void)state;
	static const struct {
		struct asked asked;
		uint32_t tries, times;
		err_t want;
		bool has_words;
	} cases[] = {
		{{0, {"x", HELP_PASSPHRASE, "never"}, OK}, 3, 2, OK, false},
		{{0, {"x", "y", "z"}, OK}, 3, 3, E_PASSPHRASE, true},
		{{0, {"x", "y", HELP_PASSPHRASE}, OK}, 2, 2, E_PASSPHRASE, true},
		{{0, {"", HELP_PASSPHRASE, ""}, OK}, 3, 1, E_PASSPHRASE, true},
		{{0, {"x", "y", "z"}, E_CANCELLED}, 3, 1, E_CANCELLED, false},
	};
	char path[64];
	private_copy("ed25519_pw", path);
	for (size_t i = 0; i < ARRAY_N(cases); i++) {
		struct asked asked = cases[i].asked;
		struct keyfile_ask ask = {.fn = answer, .arg = &asked, .tries = cases[i].tries};
		struct key *k = NULL;
		struct buf why;
		buf_init(&why, 4096);
		err_t e = keyfile_load_private(&k, path, &ask, NULL, &why);
		assert_int_equal(e, cases[i].want);
		assert_int_equal(asked.times, cases[i].times);
		assert_int_equal(why.n > 0, cases[i].has_words);
		assert_int_equal(k != NULL, e == OK);
		key_free(k);
		buf_done(&why);
	}
	(void)unlink(path);
}

static void a_file_open_to_others_is_refused_before_any_question(void **state)
{
	(void)state;
	static const mode_t modes[] = {0640, 0604, 0660, 0601, 0644};
	char path[64];
	private_copy("ed25519_pw", path);
	for (size_t i = 0; i < ARRAY_N(modes); i++) {
		struct asked asked = {.answers = {HELP_PASSPHRASE}};
		struct keyfile_ask ask = {.fn = answer, .arg = &asked, .tries = 1};
		struct key *k = NULL;
		struct buf why;
		buf_init(&why, 4096);
		assert_int_equal(chmod(path, modes[i]), 0);
		assert_err(keyfile_load_private(&k, path, &ask, NULL, &why), E_PERMISSION);
		assert_null(k);
		assert_int_equal(asked.times, 0);
		assert_non_null(memmem(why.p, why.n, "UNPROTECTED PRIVATE KEY FILE!", 29));
		buf_done(&why);
	}
	(void)unlink(path);
}

static void absent_files_and_directories_have_the_words_of_the_system(void **state)
{
	(void)state;
	static const char *const cases[][2] = {
		{"/tmp/bowline-absent",
			"Load key \"/tmp/bowline-absent\": No such file or directory\n"},
		{"/tmp", "Load key \"/tmp\": Is a directory\n"},
	};
	for (size_t i = 0; i < ARRAY_N(cases); i++) {
		struct key *k = NULL;
		struct buf why;
		buf_init(&why, 4096);
		assert_int_not_equal(keyfile_load_private(&k, cases[i][0], NULL, NULL, &why), OK);
		assert_text(&why, cases[i][1]);
		buf_done(&why);
	}
}

static void a_dropped_file_leaves_nothing_a_committed_one_everything(void **state)
{
	(void)state;
	char path[64];
	struct keyfile_staged s = {NULL, NULL};
	struct buf text;
	struct stat st;
	private_copy("ed25519", path);
	assert_ok(keyfile_stage(&s, path, cslice_str("new"), 0600));
	assert_int_equal(access(s.temporary, F_OK), 0);
	char *temporary = strdup(s.temporary);
	keyfile_drop(&s);
	assert_int_equal(access(temporary, F_OK), -1);
	free(temporary);
	buf_init(&text, 4096);
	assert_ok(keyfile_read(path, &text));
	assert_int_not_equal(text.n, 3);
	buf_clear(&text);
	assert_ok(keyfile_replace(path, cslice_str("new"), 0640));
	assert_ok(keyfile_read(path, &text));
	assert_text(&text, "new");
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0640);
	buf_done(&text);
	(void)unlink(path);
}

/* `ssh-keygen -f /dev/stdout`: a link to an open pipe, which no path leads to. */
static void what_is_no_file_is_written_into_and_stays(void **state)
{
	(void)state;
	char link[64], target[64], got[16];
	int fds[2];
	struct stat st;
	private_copy("ed25519", link); /* a name of our own */
	assert_int_equal(unlink(link), 0);
	assert_int_equal(pipe(fds), 0);
	(void)snprintf(target, sizeof(target), "/proc/self/fd/%d", fds[1]);
	assert_int_equal(symlink(target, link), 0);
	assert_ok(keyfile_replace(link, cslice_str("secret"), 0600));
	assert_int_equal(lstat(link, &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_int_equal(read(fds[0], got, sizeof(got)), 6);
	assert_memory_equal(got, "secret", 6);
	(void)close(fds[0]);
	(void)close(fds[1]);
	(void)unlink(link);

	assert_int_equal(mkfifo(link, 0600), 0);
	fds[0] = open(link, O_RDONLY | O_NONBLOCK);
	assert_true(fds[0] >= 0);
	assert_ok(keyfile_replace(link, cslice_str("secret"), 0600));
	assert_int_equal(lstat(link, &st), 0);
	assert_true(S_ISFIFO(st.st_mode));
	assert_int_equal(read(fds[0], got, sizeof(got)), 6);
	(void)close(fds[0]);
	(void)unlink(link);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(local_time_follows_the_zone_and_its_summer_time),
		cmocka_unit_test(passphrases_are_asked_for_as_often_as_allowed),
		cmocka_unit_test(a_file_open_to_others_is_refused_before_any_question),
		cmocka_unit_test(absent_files_and_directories_have_the_words_of_the_system),
		cmocka_unit_test(a_dropped_file_leaves_nothing_a_committed_one_everything),
		cmocka_unit_test(what_is_no_file_is_written_into_and_stays),
	};
	return cmocka_run_group_tests(tests, help_init, NULL);
}
