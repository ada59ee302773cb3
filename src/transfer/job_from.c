/* SPDX-License-Identifier: ISC */
/* job_from - what a source is, and opening it */
#include <stdlib.h>
#include <string.h>

#include "transfer/transfer_int.h"

static bool heard(struct job *j, const struct sf_reply *r)
{
	j->is_asked = false;
	job_wake(j);
	return !xfer_is_lost(j->x, r);
}

static void known(struct job *j)
{
	if (j->is_unknown) {
		j->is_unknown = false;
		j->x->unknown_n--;
	}
}

/* ---- what it is -------------------------------------------------------------------------------
 */
static void refuse(struct job *j, const char *why)
{
	struct xfer *x = j->x;
	if (x->from.r == NULL)
		xfer_say(x, LOG_L_ERROR, "local \"%s\" is %s", j->from, why);
	else
		xfer_say(x, LOG_L_ERROR, "download \"%s\": %s", j->from, why);
	job_fail(j);
}

/* m is known: a file goes on, a directory becomes a walker (and j is gone then). */
void job_start(struct job *j)
{
	struct xfer *x = j->x;
	const struct xfer_opts *o = &x->env.opts;
	uint32_t kind = j->m.mode & S_IFMT;
	if (j->m.has_mode && kind == S_IFDIR) {
		if (!o->is_recursive)
			refuse(j, "not a regular file");
		else if (j->depth >= XFER_DEPTH_MAX) {
			xfer_say(x, LOG_L_ERROR,
				"\"%s\": Maximum directory depth exceeded: %d levels", j->from,
				XFER_DEPTH_MAX);
			job_fail(j);
		} else if (x->from.r != NULL && j->is_link) {
			job_go(j, JOB_FROM_REAL);
		} else {
			known(j);
			plan_dir(j);
		}
		return;
	}
	known(j);
	if (j->m.has_mode && kind != S_IFREG && kind != 0) {
		refuse(j, "not a regular file");
		return;
	}
	x->p.files++;
	x->p.size += j->m.size;
	job_go(j, JOB_PLACE);
}

static void on_stat(struct sf_ask *a, const struct sf_reply *r)
{
	struct job *j = a->arg;
	struct xfer *x = j->x;
	if (!heard(j, r) || j->phase != JOB_FROM_STAT) {
		xfer_answered(x);
		return;
	}
	if (r->type == SF_MSG_attrs) {
		meta_of_attr(&j->m, &r->attr);
		job_start(j);
	} else {
		xfer_say(x, LOG_L_ERROR, "stat remote \"%s\": %s", j->from,
			xfer_status_words(r).text);
		job_fail(j);
	}
	xfer_answered(x);
}

void job_from_stat(struct job *j)
{
	struct sf_stat m = {.path = cslice_str(j->from)};
	j->ask = (struct sf_ask){.on = on_stat, .arg = j};
	if (job_ask(j, sf_ask_stat(j->x->from.r->sf, &j->ask, &m)) != OK)
		return;
}

/* ---- a link to a directory --------------------------------------------------------------------
 */
/* Both are real paths: does the link lead to a directory that the link is in? */
static bool is_loop(const char *link, const char *dir)
{
	size_t n = strlen(link);
	while (n > 1 && link[n - 1] == '/')
		n--;
	return strncmp(link, dir, n) == 0 && (dir[n] == '\0' || dir[n] == '/' || n == 1);
}

static void on_real(struct sf_ask *a, const struct sf_reply *r)
{
	struct job *j = a->arg;
	struct xfer *x = j->x;
	struct sf_entry e = {0};
	if (!heard(j, r) || (j->phase != JOB_FROM_REAL && j->phase != JOB_FROM_REAL_DIR)) {
		xfer_answered(x);
		return;
	}
	struct cslice rest = r->name.entries;
	bool is_ok = r->type == SF_MSG_name && r->name.count == 1 &&
		     sf_next_entry(&rest, &e) == OK &&
		     memchr(e.filename.p, 0, e.filename.n) == NULL;
	char *path = NULL;
	if (!is_ok || text_dup(e.filename, &path) != OK) {
		xfer_say(x, LOG_L_ERROR, "download \"%s\": path canonicalization failed", j->from);
		job_fail(j);
	} else if (j->phase == JOB_FROM_REAL) {
		j->real = path;
		path = NULL;
		job_go(j, JOB_FROM_REAL_DIR);
	} else if (is_loop(j->real, path)) {
		xfer_say(x, LOG_L_ERROR,
			"download \"%s\": this link leads back to a directory that it is in",
			j->from);
		job_fail(j);
	} else {
		known(j);
		plan_dir(j);
	}
	free(path);
	xfer_answered(x);
}

void job_from_real(struct job *j)
{
	const char *last = xfer_last(j->from);
	size_t n = j->phase == JOB_FROM_REAL ? strlen(j->from) : (size_t)(last - j->from);
	struct sf_realpath m = {.path = cslice_of(n > 0 ? j->from : ".", n > 0 ? n : 1)};
	j->ask = (struct sf_ask){.on = on_real, .arg = j};
	if (job_ask(j, sf_ask_realpath(j->x->from.r->sf, &j->ask, &m)) != OK)
		return;
}

/* ---- opening ----------------------------------------------------------------------------------
 */
static void on_open(struct sf_ask *a, const struct sf_reply *r)
{
	struct job *j = a->arg;
	struct xfer *x = j->x;
	bool is_live = heard(j, r);
	if (is_live && r->type == SF_MSG_handle) {
		j->from_h.n = r->handle.n;
		memcpy(j->from_h.p, r->handle.p, r->handle.n);
	}
	if (is_live && j->phase == JOB_FROM_OPEN) {
		if (r->type == SF_MSG_handle) {
			job_go(j, x->to.r != NULL ? JOB_TO_STAT : JOB_TO_OPEN);
		} else {
			xfer_say(x, LOG_L_ERROR, "remote open \"%s\": %s", j->from,
				xfer_status_words(r).text);
			job_fail(j);
		}
	}
	xfer_answered(x);
}

void job_from_open(struct job *j)
{
	struct sf_open m = {.path = cslice_str(j->from), .flags = SF_OPEN_READ};
	j->ask = (struct sf_ask){.on = on_open, .arg = j};
	if (job_ask(j, sf_ask_open(j->x->from.r->sf, &j->ask, &m)) != OK)
		return;
}
