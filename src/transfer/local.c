/* SPDX-License-Identifier: ISC */
/* local - the local disk as source and as destination */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "transfer/transfer_int.h"

static uint32_t seconds(time_t t)
{
	return t < 0 ? 0 : t > UINT32_MAX ? UINT32_MAX : (uint32_t)t;
}

void meta_of_stat(struct xfer_meta *m, const struct stat *st)
{
	*m = (struct xfer_meta){.has_size = true,
		.has_mode = true,
		.has_times = true,
		.mode = st->st_mode,
		.size = st->st_size < 0 ? 0 : (uint64_t)st->st_size,
		.dev = st->st_dev,
		.ino = st->st_ino,
		.atime = seconds(st->st_atim.tv_sec),
		.mtime = seconds(st->st_mtim.tv_sec),
		.atime_ns = (uint32_t)st->st_atim.tv_nsec,
		.mtime_ns = (uint32_t)st->st_mtim.tv_nsec};
}

void meta_of_attr(struct xfer_meta *m, const struct sf_attr *a)
{
	*m = (struct xfer_meta){.has_size = (a->flags & SF_A_SIZE) != 0,
		.has_mode = (a->flags & SF_A_MODE) != 0,
		.has_times = (a->flags & SF_A_TIMES) != 0};
	if (m->has_size)
		m->size = a->size;
	if (m->has_mode)
		m->mode = a->mode;
	if (m->has_times) {
		m->atime = a->atime;
		m->mtime = a->mtime;
	}
}

/* ---- source -----------------------------------------------------------------------------------
 */
/* What was found to be a file is opened, and looked at again. */
bool local_open_from(struct job *j)
{
	struct xfer *x = j->x;
	struct stat st;
	int flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
	if (!j->is_link && !j->is_item)
		flags |= O_NOFOLLOW;
	j->in = openat(j->at_fd, j->at_name, flags);
	if (j->in < 0) {
		xfer_say(x, LOG_L_ERROR, "open local \"%s\": %s", j->from, strerror(errno));
		job_fail(j);
		return false;
	}
	if (fstat(j->in, &st) < 0 || !S_ISREG(st.st_mode)) {
		xfer_say(x, LOG_L_ERROR, "local \"%s\" is not a regular file", j->from);
		job_fail(j);
		return false;
	}
	meta_of_stat(&j->m, &st);
	return true;
}

/* ---- destination ------------------------------------------------------------------------------
 */
static const char *open_words(err_t e, int why)
{
	return e == E_DENIED && why == ELOOP ? "is a symbolic link, which is not followed here"
					     : strerror(why);
}

static bool open_beneath(struct job *j, struct beneath *dir, uint32_t mode)
{
	const struct xfer_opts *o = &j->x->env.opts;
	unsigned flags = BENEATH_WRITE | BENEATH_CREATE;
	if (o->resume_checked || o->checksum)
		flags |= BENEATH_READ;
	if (j->target != NULL)
		flags |= BENEATH_NEW;
	err_t e = beneath_file(dir, xfer_last(j->to), flags, mode, &j->out);
	if (e == OK)
		return true;
	xfer_say(j->x, LOG_L_ERROR, "open local \"%s\": %s", j->to, open_words(e, dir->why));
	return false;
}

static bool open_named(struct job *j, uint32_t mode)
{
	const struct xfer_opts *o = &j->x->env.opts;
	int flags = (o->resume_checked || o->checksum ? O_RDWR : O_WRONLY) | O_CREAT | O_NOCTTY |
		    O_CLOEXEC | (j->target != NULL ? O_EXCL : 0);
	j->out = open(j->to, flags, (mode_t)mode);
	if (j->out >= 0)
		return true;
	xfer_say(j->x, LOG_L_ERROR, "open local \"%s\": %s", j->to, strerror(errno));
	return false;
}

/* The directory of a name that the server chose; the person's part of the path is followed. */
static bool open_peer_named(struct job *j, uint32_t mode)
{
	size_t n = (size_t)(xfer_last(j->to) - j->to);
	char *dir_path = n > 0 ? strndup(j->to, n) : strdup(".");
	struct beneath dir = BENEATH_NONE;
	bool is_open = dir_path != NULL && beneath_open(&dir, dir_path) == OK;
	if (!is_open)
		xfer_say(j->x, LOG_L_ERROR, "open local \"%s\": %s", j->to, strerror(dir.why));
	bool is_ok = is_open && open_beneath(j, &dir, mode);
	beneath_close(&dir);
	free(dir_path);
	return is_ok;
}

bool local_open_to(struct job *j)
{
	struct xfer *x = j->x;
	struct stat st;
	uint32_t mode = (j->m.has_mode ? j->m.mode : 0666) & 0777 & ~x->env.umask;
	mode |= S_IWUSR; /* until it is complete */
	bool is_named_by_peer = j->to_dir != NULL || j->is_peer_name;
	bool is_ok = j->to_dir != NULL ? open_beneath(j, &j->to_dir->dir, mode)
		     : j->is_peer_name ? open_peer_named(j, mode)
				       : open_named(j, mode);
	if (!is_ok)
		return false;
	j->is_created = true;
	if (fstat(j->out, &st) < 0 || (is_named_by_peer && !S_ISREG(st.st_mode))) {
		xfer_say(x, LOG_L_ERROR, "open local \"%s\": not a regular file", j->to);
		return false;
	}
	j->is_regular = S_ISREG(st.st_mode);
	j->old_size = j->is_regular ? (uint64_t)st.st_size : 0;
	return true;
}

/* ---- the end of a file ------------------------------------------------------------------------
 */
static bool failed(struct job *j, const char *what)
{
	xfer_say(j->x, LOG_L_ERROR, "%s \"%s\": %s", what, j->to, strerror(errno));
	return false;
}

static bool set_attributes(struct job *j)
{
	const struct xfer_opts *o = &j->x->env.opts;
	bool is_ok = true;
	if (o->keep && j->is_regular && j->m.has_mode && fchmod(j->out, j->m.mode & 0777) < 0)
		is_ok = failed(j, "local chmod");
	struct timespec t[2] = {{.tv_sec = j->m.atime, .tv_nsec = j->m.atime_ns},
		{.tv_sec = j->m.mtime, .tv_nsec = j->m.mtime_ns}};
	if (o->keep && j->is_regular && j->m.has_times && futimens(j->out, t) < 0)
		is_ok = failed(j, "local set times");
	if (o->fsync && j->is_regular && fsync(j->out) < 0)
		is_ok = failed(j, "local sync");
	return is_ok;
}

static int dir_of(const struct job *j)
{
	return j->to_dir != NULL ? j->to_dir->dir.fd : AT_FDCWD;
}

static const char *name_in(const struct job *j, const char *path)
{
	return j->to_dir != NULL ? xfer_last(path) : path;
}

static bool put_in_place(struct job *j)
{
	int at = dir_of(j);
	if (j->target == NULL)
		return true;
	if (renameat(at, name_in(j, j->to), at, name_in(j, j->target)) < 0) {
		xfer_say(j->x, LOG_L_ERROR, "rename local \"%s\" to \"%s\": %s", j->to, j->target,
			strerror(errno));
		return false;
	}
	free(j->to);
	j->to = j->target;
	j->target = NULL;
	return true;
}

static bool close_to(struct job *j)
{
	bool is_kept = j->x->env.opts.checksum && j->is_regular;
	int fd = j->out;
	if (is_kept)
		return true;
	j->out = -1;
	return close(fd) == 0 ? true : failed(j, "close local");
}

void local_finish(struct job *j)
{
	struct xfer *x = j->x;
	bool is_ok = true;
	if (j->is_regular && (j->old_size > j->at || j->has_hole_end) &&
		ftruncate(j->out, (off_t)j->at) < 0)
		is_ok = failed(j, "local ftruncate");
	if (!is_ok || !set_attributes(j) || !close_to(j) || !put_in_place(j)) {
		job_fail(j);
		return;
	}
	j->done = j->at;
	progress_bytes(j, j->at);
	if (x->env.opts.checksum && j->is_regular)
		compare_begin(j, JOB_CHECK, j->at);
	else
		job_done(j);
}

void local_remove(struct job *j)
{
	if (unlinkat(dir_of(j), name_in(j, j->to), 0) < 0 && errno != ENOENT)
		(void)failed(j, "delete local");
}

/* ---- from disk to disk ------------------------------------------------------------------------
 */
#define COPY_PART ((size_t)8 * 1024 * 1024) /* a turn */

static ssize_t copy_some(struct job *j, size_t n)
{
	off_t from = (off_t)j->at, to = (off_t)j->at;
	ssize_t got = j->is_regular ? copy_file_range(j->in, &from, j->out, &to, n, 0) : -1;
	if (got > 0)
		return got;
	/* not between these two, or a file of a kind that tells no size */
	got = pread(j->in, j->x->scratch, XFER_BLOCK, from);
	if (got <= 0)
		return got;
	ssize_t put = j->is_regular ? pwrite(j->out, j->x->scratch, (size_t)got, to)
				    : write(j->out, j->x->scratch, (size_t)got);
	if (put <= 0) {
		(void)failed(j, "write local");
		job_fail(j);
		return 0;
	}
	return put;
}

void local_copy(struct job *j)
{
	struct xfer *x = j->x;
	size_t n = (size_t)rate_room(&x->rate, os_monotonic_us(), COPY_PART);
	if (n == 0 || j->is_read_end)
		return;
	ssize_t got = copy_some(j, n);
	if (j->has_failed)
		return;
	if (got < 0) {
		xfer_say(x, LOG_L_ERROR, "read local \"%s\": %s", j->from, strerror(errno));
		job_fail(j);
		return;
	}
	rate_took(&x->rate, (uint64_t)got);
	j->at += (uint64_t)got;
	j->done = j->at;
	progress_bytes(j, j->at);
	j->is_read_end = got == 0;
}
