/* SPDX-License-Identifier: ISC */
/*
 * plan - which file comes next
 *
 * Directories are read as far as the window wants files, never further: what is held is a buffer a
 * directory being read.  The newest directory is read first, so of a local tree only a path's worth
 * of them is open.  Of a remote tree up to XFER_BREADTH are asked for at once; beyond that only the
 * deepest one opens others, which is bounded by the depth.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "transfer/transfer_int.h"

/* ---- directories ------------------------------------------------------------------------------
 */
void walker_free(struct walker *w)
{
	if (w->dir != NULL)
		(void)closedir(w->dir);
	walk_remote_free(w);
	list_remove(&w->link);
	w->x->walkers_n--;
	place_drop(w->to);
	free(w->from);
	free(w);
}

static bool is_inside_itself(const struct job *j)
{
	for (const struct place *p = j->to_dir; p != NULL; p = p->parent)
		if (p->m.dev == j->m.dev && p->m.ino == j->m.ino)
			return true;
	return false;
}

static DIR *open_local(struct job *j)
{
	struct xfer *x = j->x;
	int fd = openat(j->at_fd, j->at_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOCTTY);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	if (dir == NULL) {
		xfer_say(x, LOG_L_ERROR, "local opendir \"%s\": %s", j->from, strerror(errno));
		if (fd >= 0)
			(void)close(fd);
	}
	return dir;
}

void plan_dir(struct job *j)
{
	struct xfer *x = j->x;
	struct walker *w = NULL;
	DIR *dir = NULL;
	if (x->from.r == NULL && j->is_link && is_inside_itself(j)) {
		xfer_say(x, LOG_L_ERROR,
			"local \"%s\": this link leads back to a directory that it is in", j->from);
		job_fail(j);
		return;
	}
	if (x->from.r == NULL)
		dir = open_local(j);
	if (x->from.r != NULL || dir != NULL)
		w = calloc(1, sizeof(*w));
	struct place *to = w != NULL || x->from.r == NULL ? place_new(j) : NULL;
	if (w == NULL || to == NULL) {
		if (dir != NULL)
			(void)closedir(dir);
		free(w);
		place_drop(to); /* made, though there is nothing to fill it with */
		if (j->to == NULL)
			j->to = strdup("");
		job_fail(j);
		return;
	}
	*w = (struct walker){.x = x,
		.to = to,
		.from = j->from,
		.item = j->item,
		.depth = j->depth + 1,
		.dir = dir};
	list_init(&w->batches);
	j->from = NULL;
	list_push(&x->walkers, &w->link);
	x->walkers_n++;
	x->is_again = true;
	if (x->from.r != NULL)
		walk_remote_step(w);
	job_free(j);
}

/* ---- entries ----------------------------------------------------------------------------------
 */
static struct job *new_entry(struct walker *w, const char *name)
{
	struct job *j = job_new(w->x, xfer_join(w->from, name), xfer_join(w->to->path, name));
	if (j == NULL) {
		xfer_say(w->x, LOG_L_ERROR, "%s: out of memory", name);
		xfer_count_failure(w->x, w->item);
		return NULL;
	}
	j->to_dir = w->to;
	j->item = w->item;
	place_keep(w->to);
	j->depth = w->depth;
	return j;
}

static bool is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* What is neither file nor directory, or a link that is not to be followed. */
static void left_out(struct xfer *x, const char *dir, const char *name)
{
	if (x->from.r != NULL)
		xfer_say(x, LOG_L_INFO, "download \"%s%s%s\": not a regular file", dir,
			dir[0] != '\0' && dir[strlen(dir) - 1] == '/' ? "" : "/", name);
	else
		xfer_say(x, LOG_L_INFO, "%s: not a regular file", name);
}

static void start_local(struct job *j, int dirfd, const char *name)
{
	struct xfer *x = j->x;
	j->at_fd = dirfd;
	j->at_name = name;
	bool is_dir = S_ISDIR(j->m.mode);
	if (!is_dir && S_ISREG(j->m.mode) && !local_open_from(j))
		return;
	(void)x;
	job_start(j);
}

static void local_entry(struct walker *w, const char *name)
{
	struct xfer *x = w->x;
	struct stat st;
	int fd = dirfd(w->dir);
	int e = fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW);
	bool is_link = e == 0 && S_ISLNK(st.st_mode);
	if (is_link && x->env.opts.follow)
		e = fstatat(fd, name, &st, 0);
	int why = errno;
	if (e == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) {
		left_out(x, w->from, name);
		return;
	}
	struct job *j = new_entry(w, name);
	if (j == NULL)
		return;
	if (e != 0) {
		xfer_say(x, LOG_L_ERROR, "%s \"%s\": %s", is_link ? "open local" : "local lstat",
			j->from, strerror(why));
		job_fail(j);
		return;
	}
	j->is_link = is_link;
	meta_of_stat(&j->m, &st);
	start_local(j, fd, name);
}

/* False: none any more. */
static bool walk_local(struct walker *w)
{
	errno = 0;
	struct dirent *e = readdir(w->dir);
	if (e != NULL) {
		if (!is_dots(e->d_name))
			local_entry(w, e->d_name);
		return true;
	}
	if (errno != 0) {
		xfer_say(w->x, LOG_L_ERROR, "local readdir \"%s\": %s", w->from, strerror(errno));
		xfer_count_failure(w->x, w->item);
	}
	w->is_over = true;
	return false;
}

static bool may_open_dir(const struct walker *w)
{
	const struct xfer *x = w->x;
	if (x->walkers_n + x->unknown_n < XFER_BREADTH)
		return true;
	if (x->unknown_n > 0)
		return false;
	list_each (at, tmp, &x->walkers)
		if (LIST_ENTRY(at, struct walker, link)->depth > w->depth)
			return false;
	return true;
}

/* A name that the server sent: one part of a path, and not one that leads elsewhere. */
static char *safe_name(struct walker *w, struct cslice name)
{
	bool is_bad = name.n == 0 || memchr(name.p, '/', name.n) != NULL ||
		      memchr(name.p, 0, name.n) != NULL;
	char *copy = NULL;
	if (!is_bad)
		return text_dup(name, &copy) == OK ? copy : NULL;
	xfer_say(w->x, LOG_L_ERROR, "Server sent suspect path \"%.*s\" during readdir of \"%s\"",
		(int)num_min(name.n, 1024), (const char *)name.p, w->from);
	xfer_count_failure(w->x, w->item);
	return NULL;
}

static void remote_entry(struct walker *w, const struct sf_entry *e, bool is_unknown)
{
	struct xfer *x = w->x;
	uint32_t kind = e->a.mode & S_IFMT;
	bool is_link = (e->a.flags & SF_A_MODE) != 0 && kind == S_IFLNK;
	char *name = safe_name(w, e->filename);
	if (name == NULL || is_dots(name)) {
		free(name);
		return;
	}
	bool is_other = !is_unknown && kind != S_IFREG && kind != S_IFDIR && kind != 0;
	if (is_other || (is_link && !x->env.opts.follow)) {
		left_out(x, w->from, name);
		free(name);
		return;
	}
	struct job *j = new_entry(w, name);
	free(name);
	if (j == NULL)
		return;
	j->is_link = is_link;
	if (is_unknown) {
		j->is_unknown = true;
		x->unknown_n++;
		job_go(j, JOB_FROM_STAT);
		return;
	}
	meta_of_attr(&j->m, &e->a);
	job_start(j);
}

/* False: none for now. */
static bool walk_remote(struct walker *w)
{
	struct sf_entry e;
	if (!walk_remote_peek(w, &e))
		return false;
	bool has_mode = (e.a.flags & SF_A_MODE) != 0;
	bool is_unknown = !has_mode || (S_ISLNK(e.a.mode) && w->x->env.opts.follow);
	if ((is_unknown || S_ISDIR(e.a.mode)) && !may_open_dir(w))
		return false;
	walk_remote_take(w);
	remote_entry(w, &e, is_unknown);
	return true;
}

/* ---- items ------------------------------------------------------------------------------------
 */
static void start_item(struct xfer *x, struct xfer_item_own *item)
{
	struct stat st;
	size_t index = (size_t)(item - x->items);
	struct job *j = job_new(x, item->from, item->to);
	item->from = item->to = NULL;
	if (j == NULL) {
		xfer_count_failure(x, index);
		return;
	}
	j->item = index;
	j->is_item = true;
	j->is_peer_name = item->is_peer_name;
	if (x->from.r != NULL) {
		j->is_unknown = true;
		x->unknown_n++;
		job_go(j, JOB_FROM_STAT);
	} else if (stat(j->from, &st) < 0) {
		xfer_say(x, LOG_L_ERROR, "stat local \"%s\": %s", j->from, strerror(errno));
		job_fail(j);
	} else {
		meta_of_stat(&j->m, &st);
		start_local(j, AT_FDCWD, j->from);
	}
}

static bool next_item(struct xfer *x)
{
	bool is_busy = x->unknown_n + x->walkers_n >= XFER_BREADTH;
	if (x->items_at == x->items_n || is_busy)
		return false;
	if (x->from.r == NULL && !list_is_empty(&x->walkers))
		return false;
	start_item(x, &x->items[x->items_at++]);
	return true;
}

/* ---- all of it --------------------------------------------------------------------------------
 */
static bool next_entry(struct xfer *x)
{
	for (struct list *at = x->walkers.prev; at != &x->walkers;) {
		struct walker *w = LIST_ENTRY(at, struct walker, link);
		at = at->prev;
		if (w->to->state == PLACE_FAILED)
			w->is_over = true;
		bool is_one = !w->is_over && (w->dir != NULL ? walk_local(w) : walk_remote(w));
		if (is_one)
			return true;
		if (w->is_over && w->asked_n == 0)
			walker_free(w);
	}
	return false;
}

void plan_turn(struct xfer *x)
{
	if (x->end != OK)
		return;
	list_each (at, tmp, &x->walkers)
		if (x->from.r != NULL)
			walk_remote_step(LIST_ENTRY(at, struct walker, link));
	while (xfer_is_open(x) && (next_entry(x) || next_item(x)))
		x->is_again = true;
}

void plan_stop(struct xfer *x)
{
	list_each (at, tmp, &x->walkers) {
		struct walker *w = LIST_ENTRY(at, struct walker, link);
		w->is_over = true;
		if (w->asked_n == 0)
			walker_free(w);
	}
}
