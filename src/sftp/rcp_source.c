/* SPDX-License-Identifier: ISC */
/*
 * rcp_source - gives files by the old protocol of scp
 *
 * Every record waits for its answer.  A sink that tells of a failure when nothing was asked (old
 * ones do so after a directory's end) is heard as a warning; a few answers that simple sinks send
 * ahead are kept for what they are to.
 */
#include <inttypes.h>
#include <string.h>

#include "sftp/rcp_int.h"

#define EARLY_MAX 64

enum phase {
	P_GREETING, /* of the sink is awaited */
	P_IDLE,
	P_ASKED,  /* the answer to a record */
	P_DATA,   /* is sent by the caller */
	P_STATUS, /* the answer to a file */
	P_OVER
};

void rcp_source_init(struct rcp_source *s)
{
	*s = (struct rcp_source){0};
	rcp_side_init(&s->side, P_GREETING);
}

void rcp_source_done(struct rcp_source *s)
{
	rcp_side_done(&s->side);
}

/* ---- answers ----------------------------------------------------------------------------------
 */

static bool is_asked(const struct rcp_source *s)
{
	return s->side.phase == P_GREETING || s->side.phase == P_ASKED || s->side.phase == P_STATUS;
}

static err_t early(struct rcp_source *s)
{
	if (++s->early <= EARLY_MAX)
		return OK;
	return rcp_fail(&s->side, E_FORMAT, "protocol error: answers to nothing");
}

static void taken(struct rcp_source *s, struct rcp_event *out)
{
	if (s->kind == 'D')
		s->depth++;
	else if (s->kind == 'E')
		s->depth--;
	s->side.phase = s->kind == 'C' ? P_DATA : P_IDLE;
	s->kind = 0;
	*out = (struct rcp_event){.type = RCP_EV_GO};
}

/* A whole line: 1 and a text, 2 and a text, or what a shell says. */
static void refused(struct rcp_source *s, struct rcp_event *out)
{
	struct cslice line = buf_bytes(&s->side.line.b);
	uint8_t letter = line.n > 0 ? line.p[0] : 0;
	*out = (struct rcp_event){.type = RCP_EV_FATAL,
		.text = rcp_line_text(&s->side, letter == 1 || letter == 2 ? 1 : 0)};
	if (letter != 1 || s->side.phase == P_GREETING) {
		s->side.phase = P_OVER;
		return;
	}
	out->type = is_asked(s) ? RCP_EV_REFUSED : RCP_EV_WARNING;
	if (!is_asked(s))
		return;
	if (s->kind == 'E')
		s->depth--;
	s->kind = 0;
	s->left = 0;
	s->side.phase = P_IDLE;
}

err_t rcp_source_next(struct rcp_source *s, struct cslice *in, struct rcp_event *out)
{
	struct rcp_event e = {0};
	if (s->side.err != OK)
		return s->side.err;
	rcp_line_return(&s->side);
	while (e.type == RCP_EV_NONE && s->side.phase != P_OVER) {
		bool is_yes = in->n > 0 && s->side.line.b.n == 0 && in->p[0] == 0;
		if (s->early > 0 && is_asked(s)) {
			s->early--;
			taken(s, &e);
		} else if (is_yes) {
			*in = cslice_of(in->p + 1, in->n - 1);
			TRY(early(s));
		} else if (in->n > 0) {
			bool is_whole = false;
			TRY(rcp_line_take(&s->side, in, true, &is_whole));
			if (is_whole)
				refused(s, &e);
			s->side.is_lent = is_whole;
		} else {
			break;
		}
	}
	*out = e;
	return OK;
}

/* ---- records ----------------------------------------------------------------------------------
 */

static err_t may_ask(const struct rcp_source *s)
{
	if (s->side.err != OK)
		return s->side.err;
	return s->side.phase == P_IDLE ? OK : E_PHASE;
}

static void asked(struct rcp_source *s, char kind)
{
	s->kind = kind;
	s->side.phase = P_ASKED;
}

err_t rcp_source_times(struct rcp_source *s, const struct rcp_times *t)
{
	TRY(may_ask(s));
	TRY(rcp_put_record(&s->side, "T%" PRIu64 " %" PRIu32 " %" PRIu64 " %" PRIu32 "\n", t->mtime,
		t->mtime_us, t->atime, t->atime_us));
	asked(s, 'T');
	return OK;
}

/* A line cannot hold its own end.  The rest is the sink's to judge. */
static err_t is_sendable(const char *name)
{
	size_t n = strlen(name);
	return n > 0 && n <= SF_NAME_MAX && strpbrk(name, "\n/") == NULL ? OK : E_NAME;
}

err_t rcp_source_file(struct rcp_source *s, const char *name, uint32_t mode, uint64_t size)
{
	TRY(may_ask(s));
	TRY(is_sendable(name));
	if (size > RCP_SIZE_MAX)
		return E_LIMIT;
	TRY(rcp_put_record(&s->side, "C%04" PRIo32 " %" PRIu64 " %s\n", mode & 07777, size, name));
	s->left = size;
	asked(s, 'C');
	return OK;
}

err_t rcp_source_dir(struct rcp_source *s, const char *name, uint32_t mode)
{
	TRY(may_ask(s));
	TRY(is_sendable(name));
	if (s->depth == RCP_DEPTH_MAX)
		return E_LIMIT;
	TRY(rcp_put_record(&s->side, "D%04" PRIo32 " 0 %s\n", mode & 07777, name));
	asked(s, 'D');
	return OK;
}

err_t rcp_source_dir_end(struct rcp_source *s)
{
	TRY(may_ask(s));
	if (s->depth == 0)
		return E_PHASE;
	TRY(rcp_put_record(&s->side, "E\n"));
	asked(s, 'E');
	return OK;
}

uint64_t rcp_source_room(const struct rcp_source *s)
{
	return s->side.phase == P_DATA && s->side.err == OK && s->side.out.n == 0 ? s->left : 0;
}

void rcp_source_filled(struct rcp_source *s, uint64_t n)
{
	s->left -= n < s->left ? n : s->left;
}

bool rcp_source_is_sent(const struct rcp_source *s)
{
	return s->side.phase == P_DATA && s->side.err == OK && s->left == 0;
}

err_t rcp_source_file_end(struct rcp_source *s, const char *text)
{
	if (s->side.err != OK)
		return s->side.err;
	if (s->side.phase != P_DATA || s->left > 0)
		return E_PHASE;
	TRY(rcp_put_answer(&s->side, text == NULL ? 0 : 1, text));
	s->side.phase = P_STATUS;
	return OK;
}

err_t rcp_source_warn(struct rcp_source *s, const char *text)
{
	TRY(may_ask(s));
	return rcp_put_answer(&s->side, 1, text);
}
