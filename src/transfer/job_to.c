/* SPDX-License-Identifier: ISC */
/*
 * job_to - the destination of a file: opening it, and what is done once its bytes are there
 *
 * It is written in place and never truncated before: a file that is copied onto itself stays whole.
 * Its size is set at the end, where it was longer.  In a directory that this copy made the file
 * must be new (EXCL), which saves asking for its size; where that fails (names that differ in case
 * only) it is opened as any other.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "os/random.h"
#include "transfer/transfer_int.h"

static bool heard(struct job *j, const struct sf_reply *r, enum job_phase phase)
{
	j->is_asked = false;
	job_wake(j);
	return !xfer_is_lost(j->x, r) && j->phase == phase;
}

static bool is_ok(const struct sf_reply *r)
{
	return r->type == SF_MSG_status && r->code == SF_ok;
}

static void fail(struct job *j, const char *what, const char *path, const struct sf_reply *r)
{
	xfer_say(j->x, LOG_L_ERROR, "%s \"%s\": %s", what, path, xfer_status_words(r).text);
	job_fail(j);
}

/* ---- what is there ----------------------------------------------------------------------------
 */
static bool wants_resume(const struct job *j)
{
	return j->x->env.opts.resume || j->x->env.opts.resume_checked;
}

/* old_size bytes are there; false: j has ended. */
static bool resume_at(struct job *j)
{
	struct xfer *x = j->x;
	const struct xfer_opts *o = &x->env.opts;
	uint64_t size = j->m.size;
	if (!wants_resume(j) || !j->is_regular)
		return true;
	if (j->old_size > size && !o->resume_checked) {
		if (x->to.r != NULL)
			xfer_say(x, LOG_L_ERROR,
				"resume \"%s\": destination file same size or larger", j->to);
		else
			xfer_say(x, LOG_L_ERROR,
				"Unable to resume download of \"%s\": local file is larger than "
				"remote",
				j->from);
		job_fail(j);
		return false;
	}
	if (j->old_size <= size)
		j->start = j->old_size;
	return true;
}

static void on_stat(struct sf_ask *a, const struct sf_reply *r)
{
	struct job *j = a->arg;
	struct xfer *x = j->x;
	if (heard(j, r, JOB_TO_STAT)) {
		if (r->type == SF_MSG_attrs) {
			uint32_t kind = r->attr.mode & S_IFMT;
			bool has_mode = (r->attr.flags & SF_A_MODE) != 0;
			j->is_regular = !has_mode || kind == S_IFREG || kind == 0;
			j->old_size = (r->attr.flags & SF_A_SIZE) != 0 ? r->attr.size : 0;
		}
		if (resume_at(j))
			job_go(j, JOB_TO_OPEN);
	}
	xfer_answered(x);
}

static void name_beside(struct job *j)
{
	char name[32];
	uint8_t random[8];
	const char *last = xfer_last(j->to);
	size_t n = (size_t)(last - j->to);
	rng_fill(os_rng(), random, sizeof(random));
	(void)snprintf(
		name, sizeof(name), ".bowline-%016llx", (unsigned long long)be64_get(random));
	char *to = malloc(n + sizeof(name));
	if (to == NULL)
		return;
	memcpy(to, j->to, n);
	memcpy(to + n, name, strlen(name) + 1);
	j->target = j->to;
	j->to = to;
}

void job_to_stat(struct job *j)
{
	if (!wants_resume(j)) {
		job_go(j, JOB_TO_OPEN);
		return;
	}
	struct sf_stat m = {.path = cslice_str(j->to)};
	j->ask = (struct sf_ask){.on = on_stat, .arg = j};
	if (job_ask(j, sf_ask_stat(j->x->to.r->sf, &j->ask, &m)) != OK)
		return;
}

/* ---- opening ----------------------------------------------------------------------------------
 */
static void opened(struct job *j)
{
	const struct xfer_opts *o = &j->x->env.opts;
	j->is_opened = true;
	j->at = j->done = j->start;
	progress_bytes(j, j->start);
	if (o->resume_checked && j->start > 0)
		compare_begin(j, JOB_COMPARE, j->start);
	else
		job_data_begin(j);
}

/* Servers may refuse questions one by one: then the path is asked about, not the handle. */
static bool ask_by_path(struct job *j)
{
	struct sf_stat m = {.path = cslice_str(j->to)};
	if (j->is_path_asked)
		return false;
	j->is_path_asked = true;
	return xfer_asked(j->x, sf_ask_stat(j->x->to.r->sf, &j->stat_ask, &m)) == OK;
}

static void on_old(struct sf_ask *a, const struct sf_reply *r)
{
	struct job *j = a->arg;
	struct xfer *x = j->x;
	if (r->err == OK && r->type == SF_MSG_status && ask_by_path(j)) {
		xfer_answered(x);
		return;
	}
	j->is_stat_asked = false;
	job_wake(j);
	if (!xfer_is_lost(x, r) && r->type == SF_MSG_attrs) {
		uint32_t kind = r->attr.mode & S_IFMT;
		bool has_mode = (r->attr.flags & SF_A_MODE) != 0;
		j->is_regular = !has_mode || kind == S_IFREG || kind == 0;
		j->old_size = (r->attr.flags & SF_A_SIZE) != 0 ? r->attr.size : 0;
	} else if (r->err == OK) { /* then the size is set in any case */
		j->is_regular = true;
		j->old_size = UINT64_MAX;
	}
	xfer_answered(x);
}

/* How long it was: asked for while its bytes are sent. */
static void ask_old(struct job *j)
{
	struct sf_fstat m = {.handle = cslice_of(j->to_h.p, j->to_h.n)};
	j->stat_ask = (struct sf_ask){.on = on_old, .arg = j};
	if (xfer_asked(j->x, sf_ask_fstat(j->x->to.r->sf, &j->stat_ask, &m)) != OK)
		return;
	j->needs_stat = false;
	j->is_stat_asked = true;
}

static void on_open(struct sf_ask *a, const struct sf_reply *r)
{
	struct job *j = a->arg;
	struct xfer *x = j->x;
	bool is_live = heard(j, r, JOB_TO_OPEN);
	if (r->err == OK && r->type == SF_MSG_handle) {
		j->to_h.n = r->handle.n;
		memcpy(j->to_h.p, r->handle.p, r->handle.n);
		j->is_created = true;
	}
	if (is_live && r->type == SF_MSG_handle) {
		j->is_regular = j->is_regular || j->is_excl;
		j->needs_stat = !j->is_excl && !wants_resume(j);
		if (j->needs_stat)
			ask_old(j);
		opened(j);
	} else if (is_live && j->is_excl && j->target == NULL) {
		j->is_excl = false;
		j->is_not_new = true;
	} else if (is_live) {
		fail(j, "dest open", j->target != NULL ? j->target : j->to, r);
	}
	xfer_answered(x);
}

void job_to_open(struct job *j)
{
	struct xfer *x = j->x;
	const struct xfer_opts *o = &x->env.opts;
	if (o->atomic && j->target == NULL)
		name_beside(j);
	if (x->to.r == NULL) {
		if (!local_open_to(j))
			job_fail(j);
		else if (resume_at(j))
			opened(j);
		return;
	}
	struct sf_open m = {
		.path = cslice_str(j->to), .flags = SF_OPEN_WRITE | SF_OPEN_CREATE, .a = {0}};
	if (j->m.has_mode)
		m.a = (struct sf_attr){.flags = SF_A_MODE, .mode = j->m.mode & 0777};
	if (o->resume_checked && j->start > 0)
		m.flags |= SF_OPEN_READ;
	bool is_new = j->to_dir != NULL && j->to_dir->is_new && !j->is_not_new;
	j->is_excl = (is_new && j->start == 0) || j->target != NULL;
	if (j->is_excl)
		m.flags |= SF_OPEN_EXCL;
	j->ask = (struct sf_ask){.on = on_open, .arg = j};
	if (job_ask(j, sf_ask_open(x->to.r->sf, &j->ask, &m)) != OK)
		return;
}

/* ---- bytes ------------------------------------------------------------------------------------
 */
void job_data_begin(struct job *j)
{
	if (j->x->from.r != NULL) {
		reader_init(&j->rd, j, &j->x->from, &j->from_h);
		j->rd.next = j->rd.at = j->start;
		j->rd.is_held = j->x->to.r != NULL;
	}
	job_go(j, JOB_DATA);
}

static bool needs_size(const struct job *j)
{
	return j->is_regular && (j->old_size > j->at || j->has_hole_end);
}

/* The last byte was sent; where nothing else is to be done CLOSE follows at once. */
void job_data_end(struct job *j)
{
	const struct xfer_opts *o = &j->x->env.opts;
	if (j->x->to.r == NULL) {
		local_finish(j);
		return;
	}
	if (j->needs_stat)
		ask_old(j);
	if (j->needs_stat || j->is_stat_asked)
		return;
	if (j->writes > 0 && (needs_size(j) || o->keep || o->fsync))
		return;
	job_go(j, needs_size(j) ? JOB_TO_SIZE : JOB_TO_ATTR);
}

/* ---- afterwards -------------------------------------------------------------------------------
 */
static void on_size(struct sf_ask *a, const struct sf_reply *r)
{
	struct job *j = a->arg;
	struct xfer *x = j->x;
	if (heard(j, r, JOB_TO_SIZE)) {
		if (is_ok(r))
			job_go(j, JOB_TO_ATTR);
		else
			fail(j, "remote fsetstat", j->to, r);
	}
	xfer_answered(x);
}

void job_to_size(struct job *j)
{
	struct sf_fsetstat m = {.handle = cslice_of(j->to_h.p, j->to_h.n),
		.a = {.flags = SF_A_SIZE, .size = j->at}};
	j->ask = (struct sf_ask){.on = on_size, .arg = j};
	if (job_ask(j, sf_ask_fsetstat(j->x->to.r->sf, &j->ask, &m)) != OK)
		return;
}

struct sf_attr job_attr(const struct job *j)
{
	struct sf_attr a = {0};
	if (j->m.has_mode) {
		a.flags |= SF_A_MODE;
		a.mode = j->m.mode & 0777;
	}
	if (j->m.has_times) {
		a.flags |= SF_A_TIMES;
		a.atime = j->m.atime;
		a.mtime = j->m.mtime;
	}
	return a;
}

static void on_attr(struct sf_ask *a, const struct sf_reply *r)
{
	struct job *j = a->arg;
	struct xfer *x = j->x;
	if (heard(j, r, JOB_TO_ATTR)) {
		if (is_ok(r))
			job_go(j, JOB_TO_SYNC);
		else
			fail(j, "remote fsetstat", j->to, r);
	}
	xfer_answered(x);
}

void job_to_attr(struct job *j)
{
	struct sf_fsetstat m = {.handle = cslice_of(j->to_h.p, j->to_h.n), .a = job_attr(j)};
	if (!j->x->env.opts.keep || m.a.flags == 0) {
		job_go(j, JOB_TO_SYNC);
		return;
	}
	j->ask = (struct sf_ask){.on = on_attr, .arg = j};
	if (job_ask(j, sf_ask_fsetstat(j->x->to.r->sf, &j->ask, &m)) != OK)
		return;
}

static void on_sync(struct sf_ask *a, const struct sf_reply *r)
{
	struct job *j = a->arg;
	struct xfer *x = j->x;
	if (heard(j, r, JOB_TO_SYNC)) {
		if (is_ok(r))
			job_go(j, JOB_TO_CLOSE);
		else
			fail(j, "remote fsync", j->to, r);
	}
	xfer_answered(x);
}

void job_to_sync(struct job *j)
{
	struct remote *to = j->x->to.r;
	struct sf_fsync m = {.handle = cslice_of(j->to_h.p, j->to_h.n)};
	if (!j->x->env.opts.fsync || !sf_client_has(to->sf, SF_EXT_fsync)) {
		job_go(j, JOB_TO_CLOSE);
		return;
	}
	j->ask = (struct sf_ask){.on = on_sync, .arg = j};
	if (job_ask(j, sf_ask_fsync(to->sf, &j->ask, &m)) != OK)
		return;
}

static void on_close(struct sf_ask *a, const struct sf_reply *r)
{
	struct job *j = a->arg;
	struct xfer *x = j->x;
	if (heard(j, r, JOB_TO_CLOSE)) {
		if (is_ok(r))
			j->is_closed = true;
		else
			fail(j, "close remote", j->to, r);
	}
	xfer_answered(x);
}

void job_to_close(struct job *j)
{
	const struct xfer_opts *o = &j->x->env.opts;
	struct sf_close m = {.handle = cslice_of(j->to_h.p, j->to_h.n)};
	if (j->is_closed) {
		if (j->writes > 0)
			return;
		j->done = j->at;
		progress_bytes(j, j->at);
		if (j->target != NULL)
			job_go(j, JOB_RENAME);
		else if (o->checksum && j->is_regular)
			job_go(j, JOB_CHECK_OPEN);
		else
			job_done(j);
		return;
	}
	if (j->to_h.n == 0)
		return;
	j->ask = (struct sf_ask){.on = on_close, .arg = j};
	if (job_ask(j, sf_ask_close(j->x->to.r->sf, &j->ask, &m)) == OK)
		j->to_h.n = 0; /* whatever it answers */
}

static void on_rename(struct sf_ask *a, const struct sf_reply *r)
{
	struct job *j = a->arg;
	struct xfer *x = j->x;
	if (heard(j, r, JOB_RENAME)) {
		if (is_ok(r)) {
			free(j->to);
			j->to = j->target;
			j->target = NULL;
			if (x->env.opts.checksum)
				job_go(j, JOB_CHECK_OPEN);
			else
				job_done(j);
		} else {
			xfer_say(x, LOG_L_ERROR, "remote rename \"%s\" to \"%s\": %s", j->to,
				j->target, xfer_status_words(r).text);
			job_fail(j);
		}
	}
	xfer_answered(x);
}

void job_rename(struct job *j)
{
	struct sf_client *sf = j->x->to.r->sf;
	struct cslice from = cslice_str(j->to), to = cslice_str(j->target);
	j->ask = (struct sf_ask){.on = on_rename, .arg = j};
	err_t e = sf_client_has(sf, SF_EXT_posix_rename)
			  ? sf_ask_posix_rename(
				    sf, &j->ask, &(struct sf_posix_rename){.from = from, .to = to})
			  : sf_ask_rename(sf, &j->ask, &(struct sf_rename){.from = from, .to = to});
	if (job_ask(j, e) != OK)
		return;
}

/* ---- what failed ------------------------------------------------------------------------------
 */
static void on_cut(struct sf_ask *a, const struct sf_reply *r)
{
	struct job *j = a->arg;
	struct xfer *x = j->x;
	if (heard(j, r, JOB_CUT) && !is_ok(r))
		xfer_say(x, LOG_L_ERROR, "remote setstat \"%s\": %s", j->to,
			xfer_status_words(r).text);
	if (j->phase == JOB_CUT)
		job_go(j, JOB_DRAIN);
	xfer_answered(x);
}

/* What was there before is never cut: it may be the source itself. */
void job_cut(struct job *j)
{
	struct xfer *x = j->x;
	struct sf_setstat m = {
		.path = cslice_str(j->to), .a = {.flags = SF_A_SIZE, .size = j->broken_at}};
	if (j->writes > 0 && x->to.r->end == OK)
		return;
	bool needs_it = x->to.r != NULL && x->to.r->end == OK && j->is_regular &&
			j->broken_at < j->at && j->old_size <= j->broken_at;
	j->ask = (struct sf_ask){.on = on_cut, .arg = j};
	err_t e = needs_it ? job_ask(j, sf_ask_setstat(x->to.r->sf, &j->ask, &m)) : E_CLOSED;
	if (e != OK && e != E_AGAIN)
		job_go(j, JOB_DRAIN);
}

/* ---- what failed beside its destination -------------------------------------------------------
 */
static void on_remove(struct sf_ask *a, const struct sf_reply *r)
{
	struct job *j = a->arg;
	struct xfer *x = j->x;
	if (heard(j, r, JOB_REMOVE) && !is_ok(r))
		xfer_say(x, LOG_L_ERROR, "remote delete \"%s\": %s", j->to,
			xfer_status_words(r).text);
	if (j->phase == JOB_REMOVE)
		job_go(j, JOB_DRAIN);
	xfer_answered(x);
}

void job_remove(struct job *j)
{
	struct remote *to = j->x->to.r;
	if (to == NULL) {
		local_remove(j);
		job_go(j, JOB_DRAIN);
		return;
	}
	if (j->writes > 0 && to->end == OK)
		return;
	if (to->end != OK) {
		xfer_say(j->x, LOG_L_ERROR, "\"%s\" was left behind", j->to);
		job_go(j, JOB_DRAIN);
		return;
	}
	struct sf_remove m = {.path = cslice_str(j->to)};
	j->ask = (struct sf_ask){.on = on_remove, .arg = j};
	err_t e = sf_ask_remove(to->sf, &j->ask, &m);
	if (e != OK && e != E_LIMIT)
		job_go(j, JOB_DRAIN);
	else if (job_ask(j, e) != OK)
		return;
}

/* ---- the destination is read back -------------------------------------------------------------
 */
static void on_check_open(struct sf_ask *a, const struct sf_reply *r)
{
	struct job *j = a->arg;
	struct xfer *x = j->x;
	bool is_live = heard(j, r, JOB_CHECK_OPEN);
	if (r->err == OK && r->type == SF_MSG_handle) {
		j->check_h.n = r->handle.n;
		memcpy(j->check_h.p, r->handle.p, r->handle.n);
	}
	if (is_live && r->type == SF_MSG_handle)
		compare_begin(j, JOB_CHECK, j->at);
	else if (is_live)
		fail(j, "remote open", j->to, r);
	xfer_answered(x);
}

void job_check_open(struct job *j)
{
	struct sf_open m = {.path = cslice_str(j->to), .flags = SF_OPEN_READ};
	j->ask = (struct sf_ask){.on = on_check_open, .arg = j};
	if (job_ask(j, sf_ask_open(j->x->to.r->sf, &j->ask, &m)) != OK)
		return;
}
