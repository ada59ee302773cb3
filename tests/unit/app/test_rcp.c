/* SPDX-License-Identifier: ISC */
/*
 * The old protocol of scp with files of this machine: both ends of ours joined by pipes, and
 * scripted peers that are hostile, broken or gone.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "app/scp/rcp.h"

/* ---- a place with files -----------------------------------------------------------------------
 */

struct fx {
	char top[40];
	struct ev *ev;
	char said[8192]; /* what was said, a line each */
	uint64_t failed;
	int peers_status;
	uint64_t progress_done, progress_files;
};

static const char *at(const struct fx *x, const char *name)
{
	static char paths[8][256];
	static unsigned next;
	char *path = paths[next++ % 8];
	(void)snprintf(path, sizeof(paths[0]), "%s/%s", x->top, name);
	return path;
}

static void put_bytes(const char *path, const char *p, size_t n)
{
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	assert_int_equal(fwrite(p, 1, n, f), n);
	assert_int_equal(fclose(f), 0);
}

static void put(const char *path, const char *text)
{
	put_bytes(path, text, strlen(text));
}

static const char *text_of(const char *path)
{
	static char text[256];
	FILE *f = fopen(path, "r");
	if (f == NULL)
		return "(none)";
	size_t n = fread(text, 1, sizeof(text) - 1, f);
	text[n] = '\0';
	assert_int_equal(fclose(f), 0);
	return text;
}

static uint32_t mode_of(const char *path)
{
	struct stat st;
	assert_int_equal(stat(path, &st), 0);
	return st.st_mode & 07777;
}

static int64_t mtime_of(const char *path)
{
	struct stat st;
	assert_int_equal(stat(path, &st), 0);
	return st.st_mtime;
}

static void set_mtime(const char *path, int64_t when)
{
	const struct timespec t[2] = {{.tv_sec = when}, {.tv_sec = when}};
	assert_int_equal(utimensat(AT_FDCWD, path, t, 0), 0);
}

static int set_up(void **state)
{
	struct fx *x = calloc(1, sizeof(*x));
	assert_non_null(x);
	(void)snprintf(x->top, sizeof(x->top), "/tmp/rcp-test.XXXXXX");
	assert_non_null(mkdtemp(x->top));
	assert_int_equal(ev_new(&x->ev), OK);
	(void)umask(022);
	os_sigpipe_ignore();
	*state = x;
	return 0;
}

static int tear_down(void **state)
{
	struct fx *x = *state;
	char command[80];
	ev_free(x->ev);
	(void)snprintf(command, sizeof(command), "rm -rf '%s'", x->top);
	assert_int_equal(system(command), 0);
	free(x);
	return 0;
}

/* ---- a peer -----------------------------------------------------------------------------------
 */

struct peer {
	pid_t pid;
	struct link_fds *fds;
};

typedef int peer_fn(void *arg); /* on stdin and stdout; gives the exit status */

static struct peer peer_start(struct fx *x, peer_fn *fn, void *arg)
{
	int in[2], out[2];
	struct peer p = {0};
	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	(void)fflush(NULL);
	p.pid = fork();
	assert_true(p.pid >= 0);
	if (p.pid == 0) {
		(void)dup2(in[0], 0);
		(void)dup2(out[1], 1);
		for (int fd = 3; fd < 64; fd++)
			(void)close(fd);
		_exit(fn(arg));
	}
	assert_int_equal(close(in[0]), 0);
	assert_int_equal(close(out[1]), 0);
	assert_int_equal(link_fds_new(&p.fds, x->ev, out[0], in[1]), OK);
	return p;
}

static void peer_end(struct fx *x, struct peer *p)
{
	int status = 0;
	link_fds_free(p->fds);
	assert_int_equal(waitpid(p->pid, &status, 0), p->pid);
	assert_true(WIFEXITED(status));
	x->peers_status = WEXITSTATUS(status);
}

struct served {
	struct rcp_served how;
	const char *path;
};

static int serve(void *arg)
{
	const struct served *s = arg;
	return rcp_main(&s->how, &s->path, 1);
}

/* One that says what it says, and then hears until the end. */
static int recite(void *arg)
{
	const struct cslice *text = arg;
	char heard[256];
	size_t n = 0;
	while (n < text->n) {
		ssize_t put_n = write(1, text->p + n, text->n - n);
		if (put_n <= 0)
			return 1;
		n += (size_t)put_n;
	}
	(void)close(1);
	while (read(0, heard, sizeof(heard)) > 0)
		;
	return 0;
}

static void say(void *arg, enum log_level level, const char *text)
{
	struct fx *x = arg;
	size_t n = strlen(x->said);
	if (level >= LOG_L_DEBUG1)
		return;
	(void)snprintf(x->said + n, sizeof(x->said) - n, "%s\n", text);
}

static void progress(void *arg, const struct xfer_progress *p)
{
	struct fx *x = arg;
	assert_true(p->file_done <= p->file_size && p->done <= p->size);
	x->progress_done = p->done;
	x->progress_files = p->files_done;
}

static struct rcp_env env_of(struct fx *x, struct rcp_opts opts)
{
	x->said[0] = '\0';
	x->failed = 0;
	return (struct rcp_env){.ev = x->ev,
		.opts = opts,
		.say = say,
		.progress = progress,
		.arg = x,
		.umask = 022};
}

static struct served served_of(struct rcp_opts opts, bool is_source, const char *path)
{
	return (struct served){.how = {.is_source = is_source,
				       .is_recursive = opts.is_recursive,
				       .keep = opts.keep,
				       .is_dir_target = opts.is_dir_target},
		.path = path};
}

static err_t send_to(struct fx *x, struct rcp_opts opts, const char *from, const char *to)
{
	struct served s = served_of(opts, false, to);
	struct rcp_env env = env_of(x, opts);
	struct peer p = peer_start(x, serve, &s);
	err_t e = rcp_send(link_fds_face(p.fds), &env, &from, 1, &x->failed);
	peer_end(x, &p);
	return e;
}

static err_t fetch_from(struct fx *x, struct rcp_opts opts, const char *from, const char *to)
{
	struct served s = served_of(opts, true, from);
	struct rcp_env env = env_of(x, opts);
	struct peer p = peer_start(x, serve, &s);
	err_t e = rcp_fetch(link_fds_face(p.fds), &env, from, to, &x->failed);
	peer_end(x, &p);
	return e;
}

static err_t fetch_recited(
	struct fx *x, struct rcp_opts opts, struct cslice text, const char *asked, const char *to)
{
	struct rcp_env env = env_of(x, opts);
	struct peer p = peer_start(x, recite, &text);
	err_t e = rcp_fetch(link_fds_face(p.fds), &env, asked, to, &x->failed);
	peer_end(x, &p);
	return e;
}

#define BYTES(text) cslice_of(text, sizeof(text) - 1)
#define R           ((struct rcp_opts){.is_recursive = true})
#define RP          ((struct rcp_opts){.is_recursive = true, .keep = true})
#define P           ((struct rcp_opts){.keep = true})
#define PLAIN       ((struct rcp_opts){0})

static void well(const struct fx *x, err_t e)
{
	if (e != OK || x->failed != 0 || x->said[0] != '\0' || x->peers_status != 0)
		fail_msg("%s, %llu failed, peer %d: %s", err_name(e), (unsigned long long)x->failed,
			x->peers_status, x->said);
}

static void said(const struct fx *x, const char *part)
{
	if (strstr(x->said, part) == NULL)
		fail_msg("not said: %s in: %s", part, x->said);
}

/* ---- copies -----------------------------------------------------------------------------------
 */

#define LARGE ((size_t)3 << 20)

/* tree/{file 4751, empty, large, sub 0500/deep}, all of 1234567890 */
static void make_tree(struct fx *x)
{
	char *large = malloc(LARGE);
	assert_non_null(large);
	for (size_t i = 0; i < LARGE; i++)
		large[i] = (char)(i * 7 + i / 4096);
	assert_int_equal(mkdir(at(x, "tree"), 0755), 0);
	assert_int_equal(mkdir(at(x, "tree/sub"), 0755), 0);
	put(at(x, "tree/file"), "hello");
	put(at(x, "tree/empty"), "");
	put(at(x, "tree/sub/deep"), "deep");
	put_bytes(at(x, "tree/large"), large, LARGE);
	free(large);
	assert_int_equal(chmod(at(x, "tree/file"), 04751), 0);
	assert_int_equal(chmod(at(x, "tree/sub"), 0500), 0);
	static const char *const all[] = {
		"tree/file", "tree/empty", "tree/sub/deep", "tree/large", "tree/sub", "tree"};
	for (size_t i = 0; i < ARRAY_N(all); i++)
		set_mtime(at(x, all[i]), 1234567890);
}

static void same_tree(struct fx *x, const char *copy, bool is_kept)
{
	static const char *const files[] = {"file", "empty", "large", "sub/deep", "sub", ""};
	char command[400];
	(void)snprintf(command, sizeof(command), "diff -r '%s' '%s'", at(x, "tree"), at(x, copy));
	assert_int_equal(system(command), 0);
	for (size_t i = 0; i < ARRAY_N(files); i++) {
		char from[64], to[64];
		(void)snprintf(from, sizeof(from), "tree/%s", files[i]);
		(void)snprintf(to, sizeof(to), "%s/%s", copy, files[i]);
		uint32_t mode = mode_of(at(x, from));
		assert_int_equal(mode_of(at(x, to)), is_kept ? mode : mode & 0755);
		assert_true((mtime_of(at(x, to)) == 1234567890) == is_kept);
	}
}

static void trees_go_both_ways(void **state)
{
	struct fx *x = *state;
	make_tree(x);
	well(x, send_to(x, RP, at(x, "tree"), at(x, "up")));
	same_tree(x, "up", true);
	assert_int_equal(x->progress_done, LARGE + 9);
	assert_int_equal(x->progress_files, 4);
	well(x, send_to(x, R, at(x, "tree"), at(x, "plain")));
	same_tree(x, "plain", false);
	well(x, fetch_from(x, RP, at(x, "tree"), at(x, "down")));
	same_tree(x, "down", true);
	assert_int_equal(x->progress_done, LARGE + 9);
	assert_int_equal(mkdir(at(x, "into"), 0755), 0);
	well(x, fetch_from(x, R, at(x, "tree"), at(x, "into")));
	same_tree(x, "into/tree", false);
	well(x, fetch_from(x, R, at(x, "tree"), at(x, "into"))); /* over itself */
	same_tree(x, "into/tree", false);
}

static void a_tree_goes_from_one_to_another(void **state)
{
	struct fx *x = *state;
	make_tree(x);
	struct served from = served_of(RP, true, at(x, "tree"));
	struct served to = served_of(RP, false, at(x, "copy"));
	struct rcp_env env = env_of(x, RP);
	struct peer first = peer_start(x, serve, &from), second = peer_start(x, serve, &to);
	err_t e = rcp_across(link_fds_face(first.fds), link_fds_face(second.fds), &env,
		at(x, "tree"), &x->failed);
	peer_end(x, &first);
	peer_end(x, &second);
	well(x, e);
	same_tree(x, "copy", true);
	/* a target that is none: told, and both ends are over */
	from = served_of(PLAIN, true, at(x, "tree/file"));
	to = served_of(PLAIN, false, at(x, "nowhere/file"));
	env = env_of(x, PLAIN);
	first = peer_start(x, serve, &from);
	second = peer_start(x, serve, &to);
	e = rcp_across(link_fds_face(first.fds), link_fds_face(second.fds), &env,
		at(x, "tree/file"), &x->failed);
	peer_end(x, &first);
	peer_end(x, &second);
	assert_int_equal(e, OK);
	assert_int_equal(x->failed, 1);
	said(x, "nowhere/file: No such file or directory");
}

static void names_are_judged_between_two_hosts_too(void **state)
{
	struct fx *x = *state;
	static const struct cslice rows[] = {{(const uint8_t *)"D0755 0 ..\n", 11},
		{(const uint8_t *)"C0755 2 other\nab\0", 17},
		{(const uint8_t *)"C0755 2 ../name\nab\0", 19}};
	for (size_t i = 0; i < ARRAY_N(rows); i++) {
		struct cslice text = rows[i];
		struct served to = served_of(R, false, at(x, "in"));
		struct rcp_env env = env_of(x, R);
		(void)mkdir(at(x, "in"), 0755);
		struct peer first = peer_start(x, recite, &text),
			    second = peer_start(x, serve, &to);
		err_t e = rcp_across(link_fds_face(first.fds), link_fds_face(second.fds), &env,
			"name", &x->failed);
		peer_end(x, &first);
		peer_end(x, &second);
		assert_int_equal(e, OK);
		assert_int_equal(x->failed, 1);
		assert_int_equal(rmdir(at(x, "in")), 0); /* empty */
	}
}

static void a_file_survives_a_copy_onto_itself(void **state)
{
	struct fx *x = *state;
	make_tree(x);
	well(x, send_to(x, PLAIN, at(x, "tree/large"), at(x, "tree/large")));
	well(x, fetch_from(x, PLAIN, at(x, "tree/large"), at(x, "tree/large")));
	well(x, send_to(x, P, at(x, "tree/file"), at(x, "tree")));
	assert_string_equal(text_of(at(x, "tree/file")), "hello");
	struct stat st;
	assert_int_equal(stat(at(x, "tree/large"), &st), 0);
	assert_int_equal(st.st_size, LARGE);
}

static void a_longer_file_is_cut_and_keeps_its_mode(void **state)
{
	struct fx *x = *state;
	put(at(x, "from"), "short");
	put(at(x, "to"), "something longer");
	assert_int_equal(chmod(at(x, "to"), 0640), 0);
	well(x, send_to(x, PLAIN, at(x, "from"), at(x, "to")));
	assert_string_equal(text_of(at(x, "to")), "short");
	assert_int_equal(mode_of(at(x, "to")), 0640);
	/* a link that is the target itself is the person's */
	assert_int_equal(symlink("to", at(x, "link")), 0);
	put(at(x, "from"), "other");
	well(x, fetch_from(x, PLAIN, at(x, "from"), at(x, "link")));
	assert_string_equal(text_of(at(x, "to")), "other");
}

static void setuid_comes_only_with_keep(void **state)
{
	struct fx *x = *state;
	put(at(x, "from"), "x");
	assert_int_equal(chmod(at(x, "from"), 06755), 0);
	well(x, fetch_from(x, PLAIN, at(x, "from"), at(x, "a")));
	assert_int_equal(mode_of(at(x, "a")), 0755);
	well(x, send_to(x, PLAIN, at(x, "from"), at(x, "b")));
	assert_int_equal(mode_of(at(x, "b")), 0755);
	well(x, fetch_from(x, P, at(x, "from"), at(x, "c")));
	assert_int_equal(mode_of(at(x, "c")), 06755);
	err_t e = fetch_recited(x, R, BYTES("D7777 0 d\nC7777 1 f\nx\0E\n"), "d", at(x, "d"));
	assert_int_equal(e, OK);
	assert_int_equal(mode_of(at(x, "d")), 0755);
	assert_int_equal(mode_of(at(x, "d/f")), 0755);
}

static void the_rate_is_kept(void **state)
{
	struct fx *x = *state;
	make_tree(x);
	struct rcp_opts opts = {.limit_bytes_s = 8 << 20};
	for (int i = 0; i < 2; i++) {
		uint64_t begin = os_monotonic_us();
		if (i == 0)
			well(x, send_to(x, opts, at(x, "tree/large"), at(x, "copy")));
		else
			well(x, fetch_from(x, opts, at(x, "tree/large"), at(x, "copy")));
		assert_true(os_monotonic_us() - begin >= 250000); /* 3 MiB at 8 MiB/s: 375 ms */
	}
}

/* ---- what cannot be copied --------------------------------------------------------------------
 */

static void one_bad_file_does_not_end_a_tree(void **state)
{
	struct fx *x = *state;
	make_tree(x);
	assert_int_equal(chmod(at(x, "tree/sub"), 0755), 0);
	assert_int_equal(mkfifo(at(x, "tree/fifo"), 0600), 0);
	assert_int_equal(symlink("nothing", at(x, "tree/dangling")), 0);
	assert_int_equal(symlink("..", at(x, "tree/sub/loop")), 0);
	put(at(x, "tree/line\nfeed"), "x");
	for (int way = 0; way < 2; way++) {
		const char *copy = way == 0 ? "up" : "down";
		err_t e = way == 0 ? send_to(x, R, at(x, "tree"), at(x, copy))
				   : fetch_from(x, R, at(x, "tree"), at(x, copy));
		char path[64];
		assert_int_equal(e, OK);
		assert_int_equal(x->failed, 4);
		assert_int_equal(x->peers_status, 1);
		said(x, "tree/fifo: not a regular file");
		said(x, "tree/dangling: No such file or directory");
		said(x, "tree/sub/loop: a link to a directory that it is in");
		said(x, way == 0 ? "line\\012feed: the old protocol" : "line?feed: the old");
		(void)snprintf(path, sizeof(path), "%s/sub/deep", copy);
		assert_string_equal(text_of(at(x, path)), "deep");
		(void)snprintf(path, sizeof(path), "%s/file", copy);
		assert_string_equal(text_of(at(x, path)), "hello");
	}
}

static void directories_need_recursion(void **state)
{
	struct fx *x = *state;
	make_tree(x);
	assert_int_equal(fetch_from(x, PLAIN, at(x, "tree"), at(x, "to")), OK);
	assert_int_equal(x->failed, 1);
	said(x, "tree: not a regular file");
	assert_int_equal(send_to(x, PLAIN, at(x, "tree"), at(x, "to")), OK);
	assert_int_equal(x->failed, 1);
	assert_int_not_equal(access(at(x, "to"), F_OK), 0);
	/* "." is sent by its own name */
	char dot[64];
	(void)snprintf(dot, sizeof(dot), "%s/.", at(x, "tree"));
	well(x, send_to(x, R, dot, at(x, "to")));
	same_tree(x, "to", false);
}

static void a_target_must_be_what_was_said(void **state)
{
	struct fx *x = *state;
	struct rcp_opts dir = {.is_dir_target = true};
	put(at(x, "from"), "new");
	put(at(x, "file"), "old");
	assert_int_equal(send_to(x, dir, at(x, "from"), at(x, "file")), OK);
	said(x, "file: Not a directory");
	assert_int_equal(fetch_from(x, dir, at(x, "from"), at(x, "file")), OK);
	said(x, "file: Not a directory");
	assert_int_equal(send_to(x, dir, at(x, "from"), at(x, "none")), OK);
	said(x, "none: No such file or directory");
	assert_string_equal(text_of(at(x, "file")), "old");
	assert_int_not_equal(access(at(x, "none"), F_OK), 0);
	assert_int_equal(x->failed, 1);
	/* a file in the place of a directory */
	make_tree(x);
	assert_int_equal(send_to(x, R, at(x, "tree"), at(x, "file")), OK);
	said(x, "file: Not a directory");
	assert_string_equal(text_of(at(x, "file")), "old");
}

static void a_full_disk_is_told_with_what_is_left(void **state)
{
	struct fx *x = *state;
	put(at(x, "from"), "hello");
	assert_int_equal(fetch_from(x, PLAIN, at(x, "from"), "/dev/full"), OK);
	said(x, "/dev/full: No space left on device");
	assert_int_equal(x->failed, 1);
	assert_int_equal(x->peers_status, 1);
	assert_int_equal(send_to(x, PLAIN, at(x, "from"), "/dev/full"), OK);
	said(x, "/dev/full: No space left on device");
}

static void a_lost_connection_tells_what_is_left(void **state)
{
	struct fx *x = *state;
	struct cslice cut = BYTES("C0644 10 f\nNEW");
	assert_int_equal(fetch_recited(x, PLAIN, cut, "f", at(x, "new")), OK);
	said(x, "new: lost connection (it holds the first 3 of 10 bytes)");
	assert_string_equal(text_of(at(x, "new")), "NEW");
	put(at(x, "old"), "something longer");
	assert_int_equal(fetch_recited(x, PLAIN, cut, "f", at(x, "old")), OK);
	said(x, "old: lost connection (its first 3 bytes are new, of 10)");
	assert_string_equal(text_of(at(x, "old")), "NEWething longer");
	assert_int_equal(x->failed, 1);
	put(at(x, "old"), "untouched");
	assert_int_equal(fetch_recited(x, PLAIN, BYTES("C0644 10 f\n"), "f", at(x, "old")), OK);
	said(x, "old: lost connection (it is as it was)");
	assert_string_equal(text_of(at(x, "old")), "untouched");
	assert_int_equal(fetch_recited(x, PLAIN, BYTES(""), "f", at(x, "old")), OK);
	assert_int_equal(x->failed, 1);
	said(x, "nothing came");
	put(at(x, "from"), "x");
	const char *from = at(x, "from");
	struct cslice gone = BYTES("\0");
	struct rcp_env env = env_of(x, PLAIN);
	struct peer p = peer_start(x, recite, &gone);
	assert_int_equal(rcp_send(link_fds_face(p.fds), &env, &from, 1, &x->failed), OK);
	peer_end(x, &p);
	assert_int_equal(x->failed, 1);
	said(x, "from: lost connection (0 of 1 bytes were sent)");
}

/* What a sink hears of a file that shrinks once it was told of. */
static void a_file_that_shrinks_is_filled_up_and_told(void **state)
{
	struct fx *x = *state;
	static char got[20000];
	size_t n = 0;
	int in[2], out[2];
	put(at(x, "from"), "hello, this will be shorter");
	struct served s = served_of(PLAIN, true, at(x, "from"));
	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		(void)dup2(in[0], 0);
		(void)dup2(out[1], 1);
		for (int fd = 3; fd < 64; fd++)
			(void)close(fd);
		_exit(serve(&s));
	}
	assert_int_equal(close(out[1]), 0);
	assert_int_equal(write(in[1], "", 1), 1);
	while (n == 0 || got[n - 1] != '\n')
		n += (size_t)read(out[0], got + n, sizeof(got) - n);
	assert_memory_equal(got, "C0644 27 from\n", n);
	assert_int_equal(truncate(at(x, "from"), 5), 0);
	assert_int_equal(write(in[1], "", 1), 1);
	n = 0;
	while (n == 0 || got[n - 1] != '\n')
		n += (size_t)read(out[0], got + n, sizeof(got) - n);
	assert_int_equal(write(in[1], "", 1), 1);
	for (ssize_t more; (more = read(out[0], got + n, sizeof(got) - n)) > 0;)
		n += (size_t)more;
	assert_memory_equal(got, "hello\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1scp: ", 33);
	assert_non_null(strstr(got + 28, "it became shorter while it was read"));
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(WEXITSTATUS(status), 1);
	(void)close(in[0]);
	(void)close(in[1]);
	(void)close(out[0]);
}

/* ---- hostile peers ----------------------------------------------------------------------------
 */

static void nothing_outside_of_the_target_is_made(void **state)
{
	struct fx *x = *state;
	static const struct {
		struct cslice text;
	} rows[] = {
#define S(t)                                                                                       \
	{                                                                                          \
		{                                                                                  \
			(const uint8_t *)(t), sizeof(t) - 1                                        \
		}                                                                                  \
	}
		/* the eight servers of the regression suite, and more of their kind */
		S("D0755 0 //tmp/rootpathdir\nC755 2 rootpathfile\nX\n"),
		S("D0755 0 ../dotpathdir\nC755 2 file\nX\n"),
		S("D0755 0 ..\nD0755 0 ..\nC755 2 file\nX\n"),
		S("D0755 0 name\nD0755 0 ..\nC0755 2 file\nab\0"),
		S("D0755 0 name\nD0755 0 ..\nD0755 0 ..\nC0755 2 file\nab\0"),
		S("D0000 0 \nX\n"),
		S("D0000 0 .\nX\n"),
		S("C0755 2 extrafile\nab\0"),
		S("C0755 2 ../file\nab\0"),
		S("D0755 0 name\nC0755 2 ../../file\nab\0"),
		S("D0755 0 name\nC0755 2 .\nab\0"),
		S("C0755 2 /tmp/rootpathfile\nab\0"),
		S("T1 0 1 0\nD0000 0 .\n"),
#undef S
	};
	struct rcp_opts all[] = {PLAIN, R, RP, P};
	for (size_t i = 0; i < ARRAY_N(rows) * ARRAY_N(all); i++) {
		char command[200];
		assert_int_equal(mkdir(at(x, "place"), 0755), 0);
		assert_int_equal(mkdir(at(x, "place/in"), 0750), 0);
		put(at(x, "place/file"), "mine");
		set_mtime(at(x, "place/in"), 1000);
		(void)fetch_recited(x, all[i % ARRAY_N(all)], rows[i / ARRAY_N(all)].text, "name",
			at(x, "place/in"));
		assert_true(x->failed > 0);
		assert_int_equal(mode_of(at(x, "place/in")), 0750);
		assert_string_equal(text_of(at(x, "place/file")), "mine");
		assert_int_not_equal(access("/tmp/rootpathdir", F_OK), 0);
		assert_int_not_equal(access("/tmp/rootpathfile", F_OK), 0);
		assert_int_not_equal(access(at(x, "place/in/extrafile"), F_OK), 0);
		assert_int_not_equal(access(at(x, "place/dotpathdir"), F_OK), 0);
		/* but for the directory that was asked for there is nothing */
		(void)rmdir(at(x, "place/in/name"));
		assert_int_equal(rmdir(at(x, "place/in")), 0);
		(void)snprintf(command, sizeof(command), "rm -rf '%s'", at(x, "place"));
		assert_int_equal(system(command), 0);
	}
}

static void a_server_that_takes_files_judges_too(void **state)
{
	struct fx *x = *state;
	put(at(x, "from"), "x");
	assert_int_equal(mkdir(at(x, "in"), 0755), 0);
	int way[2], back[2];
	struct served s = served_of(RP, false, at(x, "in"));
	assert_int_equal(pipe2(way, O_CLOEXEC), 0);
	assert_int_equal(pipe2(back, O_CLOEXEC), 0);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		(void)dup2(way[0], 0);
		(void)dup2(back[1], 1);
		for (int fd = 3; fd < 64; fd++)
			(void)close(fd);
		_exit(serve(&s));
	}
	assert_int_equal(close(back[1]), 0);
	static const char text[] = "D0000 0 .\nC0644 1 ../evil\nx\0";
	char got[200] = {0};
	size_t n = 0;
	assert_int_equal(write(way[1], text, sizeof(text) - 1), sizeof(text) - 1);
	for (ssize_t more; (more = read(back[0], got + n, sizeof(got) - 1 - n)) > 0;)
		n += (size_t)more;
	assert_memory_equal(got, "\0\2scp: error: unexpected filename: .\n", 37);
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(WEXITSTATUS(status), 1);
	assert_int_equal(mode_of(at(x, "in")), 0755);
	assert_int_not_equal(access(at(x, "evil"), F_OK), 0);
	(void)close(way[0]);
	(void)close(way[1]);
	(void)close(back[0]);
}

static void links_inside_a_tree_are_not_followed(void **state)
{
	struct fx *x = *state;
	assert_int_equal(mkdir(at(x, "outside"), 0755), 0);
	put(at(x, "outside/file"), "mine");
	assert_int_equal(mkdir(at(x, "tree"), 0755), 0);
	assert_int_equal(symlink("../outside", at(x, "tree/dir")), 0);
	assert_int_equal(symlink("../outside/file", at(x, "tree/link")), 0);
	struct cslice text = BYTES("D0755 0 tree\n"
				   "D0755 0 dir\n" /* refused, so its content is the tree's */
				   "C0644 3 link\n"
				   "C0644 3 plain\nNEW\0"
				   "E\n");
	assert_int_equal(fetch_recited(x, R, text, "tree", x->top), OK);
	assert_int_equal(x->failed, 2);
	said(x, "tree/dir: ");
	said(x, "tree/link: is a symbolic link, which is not followed here");
	assert_string_equal(text_of(at(x, "outside/file")), "mine");
	assert_string_equal(text_of(at(x, "tree/plain")), "NEW");
	/* also one that bears the name that was asked for, and by a server */
	assert_int_equal(symlink("../outside/file", at(x, "tree/tree")), 0);
	struct cslice again = BYTES("D0755 0 tree\nC0644 3 tree\nE\n");
	assert_int_equal(fetch_recited(x, R, again, "tree", x->top), OK);
	said(x, "tree/tree: is a symbolic link, which is not followed here");
	assert_int_equal(mkdir(at(x, "from"), 0755), 0);
	assert_int_equal(mkdir(at(x, "from/tree"), 0755), 0);
	put(at(x, "from/tree/link"), "EVIL");
	assert_int_equal(send_to(x, R, at(x, "from/tree"), x->top), OK);
	assert_int_equal(x->failed, 1);
	said(x, "tree/link: is a symbolic link, which is not followed here");
	assert_string_equal(text_of(at(x, "outside/file")), "mine");
}

static void links_are_followed_where_the_person_named_them(void **state)
{
	struct fx *x = *state;
	assert_int_equal(mkdir(at(x, "outside"), 0755), 0);
	assert_int_equal(mkdir(at(x, "in"), 0755), 0);
	put(at(x, "outside/file"), "old");
	assert_int_equal(symlink("../outside/file", at(x, "in/link")), 0);
	assert_int_equal(symlink("../outside", at(x, "in/dir")), 0);
	struct cslice text = BYTES("C0644 3 link\nNEW\0");
	struct cslice tree = BYTES("D0755 0 dir\nC0644 3 file\nEVL\0E\n");
	/* the server chose it */
	assert_int_equal(fetch_recited(x, PLAIN, text, "*", at(x, "in")), OK);
	said(x, "in/link: is a symbolic link, which is not followed here");
	assert_int_equal(fetch_recited(x, R, tree, "d*", at(x, "in")), OK);
	assert_int_equal(x->failed, 2); /* the directory, and the file that is not in it */
	struct rcp_opts any = {.any_name = true};
	assert_int_equal(fetch_recited(x, any, text, "link", at(x, "in")), OK);
	assert_int_equal(x->failed, 2);
	assert_string_equal(text_of(at(x, "outside/file")), "old");
	/* the person did */
	well(x, fetch_recited(x, PLAIN, text, "x/link", at(x, "in")));
	assert_string_equal(text_of(at(x, "outside/file")), "NEW");
	put(at(x, "link"), "served");
	well(x, send_to(x, PLAIN, at(x, "link"), at(x, "in")));
	assert_string_equal(text_of(at(x, "outside/file")), "served");
}

static void a_peers_name_is_a_file_or_nothing(void **state)
{
	struct fx *x = *state;
	assert_int_equal(mkdir(at(x, "in"), 0755), 0);
	assert_int_equal(mkfifo(at(x, "in/fifo"), 0600), 0);
	int fd = open(at(x, "in/fifo"), O_RDWR); /* somebody reads it */
	assert_true(fd >= 0);
	struct cslice text = BYTES("C0644 3 fifo\nNEW\0");
	assert_int_equal(fetch_recited(x, PLAIN, text, "*", at(x, "in")), OK);
	assert_int_equal(x->failed, 2); /* the refused file's data is no record */
	said(x, "in/fifo: not a regular file");
	assert_int_equal(close(fd), 0);
}

static void what_the_peer_says_is_shown_safely(void **state)
{
	struct fx *x = *state;
	struct cslice evil = BYTES("\1scp: \033[2Jred\a\nC0644 0 f\n\0");
	assert_int_equal(fetch_recited(x, PLAIN, evil, "f", at(x, "f")), OK);
	assert_int_equal(x->failed, 1);
	said(x, "\\033[2Jred\\007");
	assert_null(strchr(x->said, '\033'));
	struct cslice shell = BYTES("bash: scp: command not found\n");
	assert_int_equal(fetch_recited(x, PLAIN, shell, "f", at(x, "f")), OK);
	said(x, "bash: scp: command not found");
	assert_int_equal(x->failed, 1);
	struct cslice none = BYTES("\1scp: a: No such file or directory\n");
	assert_int_equal(fetch_recited(x, PLAIN, none, "a b", at(x, "f")), OK);
	said(x, "a b: with -O the other end's shell splits this at its blanks");
	static const char *const whole[] = {"a\\ b", "'a b'", "\"a b\"", "ab"};
	for (size_t i = 0; i < ARRAY_N(whole); i++) {
		assert_int_equal(fetch_recited(x, PLAIN, none, whole[i], at(x, "f")), OK);
		assert_null(strstr(x->said, "blanks"));
	}
}

/* ---- commands ---------------------------------------------------------------------------------
 */

static void commands_are_those_of_openssh(void **state)
{
	(void)state;
	static const struct {
		struct rcp_opts opts;
		char role;
		const char *path, *command;
	} rows[] = {
		{{0}, 't', "/x", "scp -t /x"},
		{{0}, 'f', "", "scp -f ."},
		{{0}, 'f', "-x", "scp -f -- -x"},
		{{.is_recursive = true, .keep = true}, 'f', "~/a\\ b", "scp -r -p -f ~/a\\ b"},
		{{.is_dir_target = true, .is_verbose = true}, 't', "d", "scp -v -d -t d"},
		{{.is_dir_target = true}, 'f', "d", "scp -f d"},
	};
	for (size_t i = 0; i < ARRAY_N(rows); i++) {
		char *command = NULL;
		assert_int_equal(
			rcp_command(&rows[i].opts, rows[i].role, rows[i].path, &command), OK);
		assert_string_equal(command, rows[i].command);
		free(command);
	}
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(trees_go_both_ways),
		CASE(a_tree_goes_from_one_to_another),
		CASE(names_are_judged_between_two_hosts_too),
		CASE(a_file_survives_a_copy_onto_itself),
		CASE(a_longer_file_is_cut_and_keeps_its_mode),
		CASE(setuid_comes_only_with_keep),
		CASE(the_rate_is_kept),
		CASE(one_bad_file_does_not_end_a_tree),
		CASE(directories_need_recursion),
		CASE(a_target_must_be_what_was_said),
		CASE(a_full_disk_is_told_with_what_is_left),
		CASE(a_lost_connection_tells_what_is_left),
		CASE(a_file_that_shrinks_is_filled_up_and_told),
		CASE(nothing_outside_of_the_target_is_made),
		CASE(a_server_that_takes_files_judges_too),
		CASE(links_inside_a_tree_are_not_followed),
		CASE(links_are_followed_where_the_person_named_them),
		CASE(a_peers_name_is_a_file_or_nothing),
		CASE(what_the_peer_says_is_shown_safely),
		CASE(commands_are_those_of_openssh),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
