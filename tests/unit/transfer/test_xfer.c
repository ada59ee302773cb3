/* SPDX-License-Identifier: ISC */
/* The copying engine between a directory of its own and servers with files in memory. */
#include "mem_fx.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/rng.h"
#include "transfer/transfer.h"

#define FILES 9

struct fx {
	struct ev *ev;
	struct mx *m[2];
	char dir[32];
	size_t said;
	char last[256];
	struct xfer_progress p;
	uint64_t failed;
};

static void say(void *arg, enum log_level level, const char *text)
{
	struct fx *x = arg;
	(void)level;
	x->said++;
	(void)snprintf(x->last, sizeof(x->last), "%s", text);
}

static void progress(void *arg, const struct xfer_progress *p)
{
	((struct fx *)arg)->p = *p;
}

static void start(struct fx *x, size_t remotes, size_t handles)
{
	*x = (struct fx){0};
	(void)snprintf(x->dir, sizeof(x->dir), "%s/bowline-xfer-XXXXXX",
		access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	assert_non_null(mkdtemp(x->dir));
	assert_int_equal(ev_new(&x->ev), OK);
	for (size_t i = 0; i < remotes; i++)
		x->m[i] = mx_new(x->ev, handles);
}

static void end(struct fx *x)
{
	char command[256];
	for (size_t i = 0; i < 2; i++)
		if (x->m[i] != NULL)
			mx_free(x->m[i]);
	ev_free(x->ev);
	(void)snprintf(command, sizeof(command), "chmod -R u+w %s; rm -r %s", x->dir, x->dir);
	assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c) */
}

/* ---- files ------------------------------------------------------------------------------------
 */
static size_t size_of(size_t i)
{
	static const size_t sizes[] = {0, 1, 4096, 30000, 300000, 17};
	return sizes[i % ARRAY_N(sizes)];
}

static uint8_t *bytes_of(size_t i, size_t *n)
{
	struct rng_seeded rng;
	*n = size_of(i);
	uint8_t *p = malloc(*n + 1);
	assert_non_null(p);
	rng_seeded_init(&rng, i + 1);
	rng_fill(&rng.rng, p, *n);
	return p;
}

static void name_of(size_t i, char out[32])
{
	(void)snprintf(out, 32, i % 3 == 0 ? "sub/f%zu" : "f%zu", i);
}

static void plant_local(struct fx *x)
{
	char path[128], name[32];
	(void)snprintf(path, sizeof(path), "%s/tree", x->dir);
	assert_int_equal(mkdir(path, 0755), 0);
	(void)snprintf(path, sizeof(path), "%s/tree/sub", x->dir);
	assert_int_equal(mkdir(path, 0755), 0);
	for (size_t i = 0; i < FILES; i++) {
		size_t n;
		uint8_t *p = bytes_of(i, &n);
		name_of(i, name);
		(void)snprintf(path, sizeof(path), "%s/tree/%s", x->dir, name);
		int fd = open(path, O_WRONLY | O_CREAT, 0644);
		assert_true(fd >= 0 && write(fd, p, n) == (ssize_t)n);
		close(fd);
		free(p);
	}
}

static void plant_remote(struct mx *m)
{
	char path[64], name[32];
	assert_int_equal(memfs_face.mkdir(&m->fs, "/tree", 0755), SF_ok);
	assert_int_equal(memfs_face.mkdir(&m->fs, "/tree/sub", 0755), SF_ok);
	for (size_t i = 0; i < FILES; i++) {
		size_t n;
		uint8_t *p = bytes_of(i, &n);
		name_of(i, name);
		(void)snprintf(path, sizeof(path), "/tree/%s", name);
		memfs_put(&m->fs, path, p, n);
		free(p);
	}
	m->fs.calls = 0;
}

enum state { ABSENT, PREFIX, WHOLE, WRONG };

static enum state compare(const uint8_t *got, size_t got_n, size_t i)
{
	size_t n;
	uint8_t *p = bytes_of(i, &n);
	enum state s = got_n > n || (got_n > 0 && memcmp(got, p, got_n) != 0) ? WRONG
		       : got_n == n                                           ? WHOLE
									      : PREFIX;
	free(p);
	return s;
}

static enum state local_state(const struct fx *x, size_t i)
{
	static uint8_t got[400000];
	char path[128], name[32];
	name_of(i, name);
	(void)snprintf(path, sizeof(path), "%s/copy/%s", x->dir, name);
	int fd = open(path, O_RDONLY);
	if (fd < 0)
		return ABSENT;
	ssize_t n = read(fd, got, sizeof(got));
	close(fd);
	assert_true(n >= 0);
	return compare(got, (size_t)n, i);
}

static enum state remote_state(struct mx *m, size_t i)
{
	char path[64], name[32];
	name_of(i, name);
	(void)snprintf(path, sizeof(path), "/copy/%s", name);
	int node = memfs_find(&m->fs, path);
	if (node < 0)
		return ABSENT;
	return compare(m->fs.nodes[node].data, m->fs.nodes[node].n, i);
}

/* ---- a copy of the tree -----------------------------------------------------------------------
 */
enum verb { UP, DOWN, ACROSS };
static const enum verb verbs[] = {UP, DOWN, ACROSS};

static err_t copy(struct fx *x, enum verb v, struct xfer_opts opts)
{
	char tree[96] = "/tree", to[96] = "/copy";
	struct xfer *t;
	struct xfer_env env = {.ev = x->ev, .opts = opts, .say = say, .progress = progress};
	env.opts.is_recursive = true;
	env.arg = x;
	env.umask = 022;
	env.ends.from = v == UP ? NULL : &x->m[0]->r;
	env.ends.to = v == UP ? &x->m[0]->r : v == ACROSS ? &x->m[1]->r : NULL;
	if (v == UP)
		(void)snprintf(tree, sizeof(tree), "%s/tree", x->dir);
	if (v == DOWN)
		(void)snprintf(to, sizeof(to), "%s/copy", x->dir);
	assert_int_equal(xfer_new(&t, &env), OK);
	assert_int_equal(xfer_add(t, &(struct xfer_item){.from = tree, .to = to}), OK);
	err_t e = xfer_run(t);
	x->failed = xfer_failed(t);
	xfer_free(t);
	return e;
}

static void plant(struct fx *x, enum verb v)
{
	if (v == UP)
		plant_local(x);
	else
		plant_remote(x->m[0]);
}

static enum state state_of(struct fx *x, enum verb v, size_t i)
{
	return v == DOWN ? local_state(x, i) : remote_state(x->m[v == ACROSS ? 1 : 0], i);
}

static void a_tree_arrives_whole(void **state)
{
	static const size_t splits[] = {0, 1, 7, 4096};
	(void)state;
	for (size_t v = 0; v < ARRAY_N(verbs); v++)
		for (size_t s = 0; s < ARRAY_N(splits); s++) {
			struct fx x;
			start(&x, v == ACROSS ? 2 : 1, 30);
			plant(&x, verbs[v]);
			x.m[0]->split = splits[s];
			assert_int_equal(copy(&x, verbs[v], (struct xfer_opts){0}), OK);
			assert_int_equal(x.failed, 0);
			assert_int_equal(x.said, 0);
			assert_int_equal(x.p.files_done, FILES);
			assert_int_equal(x.p.done, x.p.size);
			assert_true(x.p.is_end);
			for (size_t i = 0; i < FILES; i++)
				assert_int_equal(state_of(&x, verbs[v], i), WHOLE);
			struct sf_attr a; /* by then all CLOSEs were done */
			assert_int_equal(remote_stat(&x.m[0]->r, "/", false, &a), OK);
			assert_int_equal(x.m[0]->fs.opens_n, 0);
			end(&x);
		}
}

/* A server that lets three things be open at once is never asked for a fourth. */
static void few_handles_are_enough(void **state)
{
	(void)state;
	for (size_t v = 0; v < 2; v++) {
		struct fx x;
		start(&x, 1, 6);
		plant(&x, verbs[v]);
		assert_int_equal(copy(&x, verbs[v], (struct xfer_opts){0}), OK);
		assert_int_equal(x.failed, 0);
		end(&x);
	}
}

/* Each call of the file system fails once: either all is there, or it was told and counted. */
static void no_failure_is_silent(void **state)
{
	static const struct xfer_opts kinds[] = {{0}, {.keep = true}, {.atomic = true},
		{.checksum = true}, {.resume_checked = true}};
	(void)state;
	for (size_t v = 0; v < ARRAY_N(verbs); v++)
		for (size_t k = 0; k < ARRAY_N(kinds); k++) {
			bool was_reached = true;
			for (unsigned at = 1; was_reached; at += 1 + at / 8) {
				struct fx x;
				start(&x, v == ACROSS ? 2 : 1, 30);
				plant(&x, verbs[v]);
				struct memfs *fs = &x.m[v == ACROSS ? at % 2 : 0]->fs;
				fs->calls = 0;
				fs->fail_at = at;
				assert_int_equal(copy(&x, verbs[v], kinds[k]), OK);
				was_reached = fs->calls >= at;
				size_t bad = 0;
				for (size_t i = 0; i < FILES; i++) {
					enum state s = state_of(&x, verbs[v], i);
					assert_int_not_equal(s, WRONG);
					bad += s != WHOLE;
				}
				if (bad > 0)
					assert_true(x.failed > 0);
				if (x.failed > 0)
					assert_true(x.said > 0);
				end(&x);
			}
		}
}

/* The connection ends after so many bytes: what is there is a prefix, and it is told. */
static void a_lost_connection_leaves_prefixes(void **state)
{
	(void)state;
	for (size_t v = 0; v < ARRAY_N(verbs); v++) {
		bool was_reached = true;
		for (size_t lives = 1; was_reached; lives += 1 + lives / 2) {
			struct fx x;
			start(&x, v == ACROSS ? 2 : 1, 30);
			plant(&x, verbs[v]);
			x.m[0]->lives = lives;
			err_t e = copy(&x, verbs[v], (struct xfer_opts){0});
			was_reached = x.m[0]->is_dead;
			assert_int_equal(e, was_reached ? E_CLOSED : OK);
			for (size_t i = 0; i < FILES; i++)
				assert_int_not_equal(state_of(&x, verbs[v], i), WRONG);
			end(&x);
		}
	}
}

/* Little room at a time, as when the window is small. */
static void little_room_is_enough(void **state)
{
	(void)state;
	struct fx x;
	start(&x, 1, 30);
	plant(&x, UP);
	x.m[0]->room = 20000;
	assert_int_equal(copy(&x, UP, (struct xfer_opts){0}), OK);
	for (size_t i = 0; i < FILES; i++)
		assert_int_equal(state_of(&x, UP, i), WHOLE);
	end(&x);
}

/* Half of a file, or as many other bytes, are there. */
static void plant_part(struct fx *x, enum verb v, size_t i)
{
	char path[128], name[32];
	size_t n;
	uint8_t *p = bytes_of(i, &n);
	name_of(i, name);
	n /= 2;
	if (i % 4 == 0 && n > 0)
		p[n - 1] ^= 1;
	if (v == DOWN) {
		(void)snprintf(path, sizeof(path), "%s/copy/%s", x->dir, name);
		int fd = open(path, O_WRONLY | O_CREAT, 0644);
		assert_true(fd >= 0 && write(fd, p, n) == (ssize_t)n);
		close(fd);
	} else {
		(void)snprintf(path, sizeof(path), "/copy/%s", name);
		memfs_put(&x->m[v == ACROSS ? 1 : 0]->fs, path, p, n);
	}
	free(p);
}

static void what_is_there_is_compared(void **state)
{
	(void)state;
	for (size_t v = 0; v < ARRAY_N(verbs); v++) {
		struct fx x;
		start(&x, v == ACROSS ? 2 : 1, 30);
		plant(&x, verbs[v]);
		char path[64];
		for (size_t i = 0; i < 2; i++) {
			const char *inner = i == 0 ? "/copy" : "/copy/sub";
			struct memfs *fs = &x.m[v == ACROSS ? 1 : 0]->fs;
			(void)snprintf(path, sizeof(path), "%s%s", x.dir, inner);
			if (verbs[v] == DOWN)
				assert_int_equal(mkdir(path, 0755), 0);
			else
				assert_int_equal(memfs_face.mkdir(fs, inner, 0755), SF_ok);
		}
		for (size_t i = 0; i < FILES; i++)
			plant_part(&x, verbs[v], i);
		assert_int_equal(
			copy(&x, verbs[v], (struct xfer_opts){.resume_checked = true}), OK);
		assert_int_equal(x.failed, 0);
		for (size_t i = 0; i < FILES; i++)
			assert_int_equal(state_of(&x, verbs[v], i), WHOLE);
		end(&x);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_tree_arrives_whole),
		cmocka_unit_test(few_handles_are_enough),
		cmocka_unit_test(no_failure_is_silent),
		cmocka_unit_test(a_lost_connection_leaves_prefixes),
		cmocka_unit_test(little_room_is_enough),
		cmocka_unit_test(what_is_there_is_compared),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
