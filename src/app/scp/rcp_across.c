/* SPDX-License-Identifier: ISC */
/*
 * rcp_across - from the source at one server to the sink at another
 *
 * This end is the first one's sink and the second one's source: every record is read, judged and
 * written anew, and each answer of the second is the answer to the first.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "app/scp/rcp_int.h"
#include "base/text.h"

enum step {
	S_GREETING,
	S_IDLE,  /* the first may go on */
	S_TIMES, /* the second is to answer */
	S_RECORD,
	S_DATA,
	S_STATUS,
	S_LAST
};

struct across {
	struct rcp_sink in;
	struct rcp_source out;
	enum step step;
	struct rcp_event e; /* the record that is under way; its name is own */
	char *name;
	struct cslice data; /* of the packet that is under way, not sent yet */
	bool has_begun;
};

static struct rcp_io *from(struct rcp_run *r)
{
	return &r->io[0];
}

static struct rcp_io *to(struct rcp_run *r)
{
	return &r->io[1];
}

static void check(struct rcp_run *r, const struct rcp_side *side, err_t e)
{
	if (e != OK)
		rcp_broken(r, side, e);
}

/* The second's answer goes to the first; text: why not. */
static void answer(struct rcp_run *r, struct across *a, const char *text)
{
	a->step = S_IDLE;
	check(r, &a->in.side, rcp_sink_answer(&a->in, text));
}

static void ask(struct rcp_run *r, struct across *a, err_t e, enum step step)
{
	a->step = step;
	if (e == E_NAME || e == E_LIMIT)
		answer(r, a, rcp_failed(r, "%s: %s", a->name, err_text(e)));
	else
		check(r, &a->out.side, e);
}

static void ask_record(struct rcp_run *r, struct across *a)
{
	if (a->e.type == RCP_EV_DIR)
		ask(r, a, rcp_source_dir(&a->out, a->name, a->e.mode), S_RECORD);
	else
		ask(r, a, rcp_source_file(&a->out, a->name, a->e.mode, a->e.size), S_RECORD);
}

static void record(struct rcp_run *r, struct across *a, const struct rcp_event *e)
{
	free(a->name);
	a->name = NULL;
	if (text_dup(e->name, &a->name) != OK) {
		(void)rcp_failed(r, "%s", err_text(E_MEM));
		rcp_run_over(r, E_MEM);
		return;
	}
	a->e = *e;
	if (e->has_times)
		ask(r, a, rcp_source_times(&a->out, &e->times), S_TIMES);
	else
		ask_record(r, a);
}

static void file_end(struct rcp_run *r, struct across *a, struct cslice peers)
{
	char *text = NULL;
	if (peers.n > 0) {
		rcp_peer_failed(r, peers);
		if (text_dup(peers, &text) != OK)
			text = NULL;
	}
	const char *why = text != NULL ? text : peers.n > 0 ? "the source failed" : NULL;
	ask(r, a, rcp_source_file_end(&a->out, why), S_STATUS);
	free(text);
}

/* ---- the first's words ------------------------------------------------------------------------
 */

static void heard(struct rcp_run *r, struct across *a, const struct rcp_event *e)
{
	a->has_begun = true;
	switch (e->type) {
	case RCP_EV_DATA:
		a->data = e->data;
		return;
	case RCP_EV_FILE:
	case RCP_EV_DIR:
		record(r, a, e);
		return;
	case RCP_EV_FILE_END:
		file_end(r, a, e->text);
		return;
	case RCP_EV_DIR_END:
		a->e = *e;
		ask(r, a, rcp_source_dir_end(&a->out), S_RECORD);
		return;
	case RCP_EV_OVER:
		a->step = S_LAST;
		return;
	default:
		rcp_peer_failed(r, e->text);
		if (e->type == RCP_EV_FATAL)
			rcp_run_over(r, OK);
	}
}

/* What is left of the packet is sent on; false when there is no room for all of it now. */
static bool pass_on(struct rcp_run *r, struct across *a, struct cslice *in)
{
	while (a->data.n > 0 && rcp_source_room(&a->out) > 0) {
		size_t n = rcp_rate(r, a->data.n);
		n = rcp_put_some(r, to(r), cslice_of(a->data.p, n));
		if (n == 0)
			return false;
		rcp_source_filled(&a->out, n);
		rcp_rate_used(r, n);
		rcp_progress_data(r, n);
		a->data = cslice_of(a->data.p + n, a->data.n - n);
		*in = cslice_of(in->p + n, in->n - n);
	}
	return a->data.n == 0;
}

static void take_from(struct rcp_run *r, struct across *a, struct cslice *in)
{
	while (in->n > 0 && !r->is_over) {
		bool may_go_on = a->step == S_IDLE || a->step == S_DATA;
		if (!pass_on(r, a, in) || !may_go_on || in->n == 0)
			return;
		/* data is taken off only as it is passed on */
		struct rcp_event e;
		struct cslice rest = *in;
		err_t failed = rcp_sink_next(&a->in, &rest, &e);
		if (failed != OK) {
			rcp_broken(r, &a->in.side, failed);
			return;
		}
		if (e.type != RCP_EV_DATA)
			*in = rest;
		if (e.type != RCP_EV_NONE)
			heard(r, a, &e);
	}
}

/* ---- the second's -----------------------------------------------------------------------------
 */

static void granted(struct rcp_run *r, struct across *a)
{
	switch (a->step) {
	case S_TIMES:
		ask_record(r, a);
		return;
	case S_RECORD:
		answer(r, a, NULL);
		if (a->e.type == RCP_EV_FILE) {
			a->step = S_DATA;
			rcp_progress_begin(r, a->name, a->e.size);
		}
		return;
	case S_STATUS:
		rcp_progress_end(r);
		answer(r, a, NULL);
		return;
	default:
		a->step = S_IDLE;
		return;
	}
}

static void refused(struct rcp_run *r, struct across *a, struct cslice text)
{
	char *copy = NULL;
	rcp_peer_failed(r, text);
	if (text_dup(text, &copy) != OK)
		copy = NULL;
	if (a->step == S_STATUS)
		rcp_progress_end(r);
	answer(r, a, copy != NULL ? copy : "refused");
	free(copy);
}

static void take_to(struct rcp_run *r, struct across *a, struct cslice *in)
{
	struct rcp_event e = {.type = RCP_EV_GO};
	while ((in->n > 0 || e.type != RCP_EV_NONE) && !r->is_over) {
		err_t failed = rcp_source_next(&a->out, in, &e);
		if (failed != OK) {
			rcp_broken(r, &a->out.side, failed);
			return;
		}
		if (e.type == RCP_EV_GO)
			granted(r, a);
		else if (e.type == RCP_EV_REFUSED)
			refused(r, a, e.text);
		else if (e.type != RCP_EV_NONE)
			rcp_peer_failed(r, e.text);
		if (e.type == RCP_EV_FATAL)
			rcp_run_over(r, OK);
	}
}

/* ---- the role ---------------------------------------------------------------------------------
 */

static void take(struct rcp_run *r, struct rcp_io *io, struct cslice *in)
{
	struct across *a = r->own;
	if (io == from(r))
		take_from(r, a, in);
	else
		take_to(r, a, in);
}

static void turn(struct rcp_run *r)
{
	struct across *a = r->own;
	struct cslice nothing = {0};
	take_to(r, a, &nothing); /* answers that came early */
	if (a->step == S_LAST && rcp_flush(r, to(r)))
		rcp_finish(to(r));
}

static void lost(struct rcp_run *r, const struct across *a, const struct rcp_io *io)
{
	const char *where = io == from(r) ? "the first host" : "the second host";
	if (a->step == S_DATA || a->step == S_STATUS)
		(void)rcp_failed(r,
			"%s: lost connection to %s (%" PRIu64 " of %" PRIu64
			" bytes were passed on)",
			a->name, where, r->p.file_done, r->p.file_size);
	else
		(void)rcp_failed(r, "lost connection to %s", where);
	rcp_run_over(r, io->why != OK ? io->why : E_CLOSED);
}

static void stopped(struct rcp_run *r)
{
	const struct across *a = r->own;
	if (a->step == S_DATA || a->step == S_STATUS)
		(void)rcp_failed(r,
			"%s: interrupted (%" PRIu64 " of %" PRIu64 " bytes were passed on)",
			a->name, r->p.file_done, r->p.file_size);
}

static void ended(struct rcp_run *r, struct rcp_io *io)
{
	struct across *a = r->own;
	if (io == to(r)) {
		if (a->step == S_LAST && io->why == OK)
			rcp_run_over(r, OK);
		else
			lost(r, a, io);
		return;
	}
	if (a->step == S_LAST)
		return;
	if (a->step == S_GREETING && io->why == OK && !to(r)->is_ended)
		return; /* what it says is heard once the second is there */
	if (io->why != OK || a->step != S_IDLE || rcp_sink_end(&a->in) != OK) {
		lost(r, a, io);
		return;
	}
	if (!a->has_begun)
		(void)rcp_failed(r, "nothing came from the first host: is scp there?");
	a->step = S_LAST;
	turn(r);
}

static const struct rcp_role role = {
	.take = take, .turn = turn, .ended = ended, .stopped = stopped};

err_t rcp_across(struct link *first, struct link *second, const struct rcp_env *env,
	const char *asked, uint64_t *failed)
{
	struct across a = {.step = S_GREETING};
	struct rcp_asked names = {0};
	struct rcp_run r;
	rcp_run_init(&r, env);
	err_t e = env->opts.any_name ? OK : rcp_asked_init(&names, asked, env->opts.is_recursive);
	if (e != OK) {
		(void)rcp_failed(&r, "%s: %s", asked, err_text(e));
		*failed += r.failed;
		return rcp_result(e);
	}
	r.role = &role;
	r.own = &a;
	rcp_sink_init(&a.in, env->opts.is_recursive, env->opts.any_name ? NULL : &names);
	rcp_source_init(&a.out);
	rcp_run_link(&r, first, &a.in.side);
	rcp_run_link(&r, second, &a.out.side);
	e = rcp_sink_greet(&a.in, NULL);
	if (e == OK)
		e = rcp_run_loop(&r);
	free(a.name);
	rcp_sink_done(&a.in);
	rcp_source_done(&a.out);
	rcp_asked_done(&names);
	*failed += r.failed;
	return rcp_result(e);
}
