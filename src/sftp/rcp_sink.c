/* SPDX-License-Identifier: ISC */
/*
 * rcp_sink - takes files by the old protocol of scp
 *
 * One record at a time: what a source sends before its answer stays with the caller.  A name that
 * is not taken ends the copy, as no honest source sends one.
 */
#include "sftp/rcp_int.h"

enum phase {
	P_GREETING, /* is owed by the caller */
	P_RECORD,   /* a record, or its rest */
	P_ANSWER,   /* is owed by the caller */
	P_DATA,
	P_STATUS, /* the source's word after the data */
	P_OVER    /* the source gave up */
};

void rcp_sink_init(struct rcp_sink *s, bool is_recursive, const struct rcp_asked *asked)
{
	*s = (struct rcp_sink){.asked = asked, .is_recursive = is_recursive, .is_first = true};
	rcp_side_init(&s->side, P_GREETING);
}

err_t rcp_sink_greet(struct rcp_sink *s, const char *text)
{
	if (s->side.phase != P_GREETING)
		return E_PHASE;
	s->side.phase = text == NULL ? P_RECORD : P_OVER;
	return rcp_put_answer(&s->side, text == NULL ? 0 : 1, text);
}

void rcp_sink_done(struct rcp_sink *s)
{
	rcp_side_done(&s->side);
}

static int shown(struct cslice s)
{
	return (int)num_min(s.n, RCP_RECORD_MAX);
}

/* The source is told why nothing more is taken. */
static err_t give_up(struct rcp_sink *s, err_t e)
{
	if (s->side.phase == P_OVER || e == E_FLOOD || e == E_MEM)
		return e;
	s->side.phase = P_OVER;
	return rcp_put_answer(&s->side, 2, rcp_why(&s->side)) == OK ? e : s->side.err;
}

static err_t judge(struct rcp_sink *s, char kind, struct cslice name)
{
	const char *p = (const char *)name.p;
	if (name.n > SF_NAME_MAX)
		return rcp_fail(&s->side, E_LENGTH, "protocol error: a name is too long");
	switch (rcp_name_judge(s->depth == 0 ? s->asked : NULL, name)) {
	case RCP_ALLOW:
		break;
	case RCP_DENY_UNASKED:
		return rcp_fail(&s->side, E_DENIED,
			"protocol error: filename does not match request: %.*s", shown(name), p);
	default:
		return rcp_fail(
			&s->side, E_DENIED, "error: unexpected filename: %.*s", shown(name), p);
	}
	if (kind != 'D')
		return OK;
	if (!s->is_recursive)
		return rcp_fail(
			&s->side, E_DENIED, "protocol error: received directory without -r");
	if (s->depth == RCP_DEPTH_MAX)
		return rcp_fail(&s->side, E_LENGTH,
			"protocol error: directories are nested deeper than %d", RCP_DEPTH_MAX);
	return OK;
}

static err_t entry(struct rcp_sink *s, char kind, struct cslice line, struct rcp_event *out)
{
	const char *why = "";
	struct rcp_record r = {0};
	if (rcp_parse_entry(line, &r, &why) != OK)
		return rcp_fail(&s->side, E_FORMAT, "protocol error: %s", why);
	TRY(judge(s, kind, r.name));
	*out = (struct rcp_event){.type = kind == 'D' ? RCP_EV_DIR : RCP_EV_FILE,
		.name = r.name,
		.mode = r.mode,
		.size = kind == 'D' ? 0 : r.size,
		.has_times = s->has_times,
		.times = s->times};
	s->has_times = false;
	s->size = out->size;
	s->at = 0;
	s->kind = kind;
	s->side.phase = P_ANSWER;
	return OK;
}

/* One that nothing began is the end of all, for sources of old. */
static err_t dir_end(struct rcp_sink *s, struct cslice line, struct rcp_event *out)
{
	if (line.n != 0)
		return rcp_fail(&s->side, E_FORMAT, "protocol error: a directory's end is odd");
	if (s->depth == 0) {
		*out = (struct rcp_event){.type = RCP_EV_OVER};
		s->side.phase = P_OVER;
		return rcp_put_answer(&s->side, 0, NULL);
	}
	*out = (struct rcp_event){.type = RCP_EV_DIR_END};
	s->kind = 'E';
	s->side.phase = P_ANSWER;
	return OK;
}

static err_t times(struct rcp_sink *s, struct cslice line)
{
	const char *why = "";
	struct rcp_record r = {0};
	if (rcp_parse_times(line, &r, &why) != OK)
		return rcp_fail(&s->side, E_FORMAT, "protocol error: %s", why);
	s->times = r.times;
	s->has_times = true;
	return rcp_put_answer(&s->side, 0, NULL);
}

/* 1 and 2 in place of a record, and what a shell says in place of the first one. */
static void message(struct rcp_sink *s, uint8_t letter, struct rcp_event *out)
{
	bool is_end = letter != 1;
	*out = (struct rcp_event){.type = is_end ? RCP_EV_FATAL : RCP_EV_WARNING,
		.text = rcp_line_text(&s->side, letter <= 2 ? 1 : 0)};
	if (is_end)
		s->side.phase = P_OVER;
}

/* A whole line. */
static err_t record(struct rcp_sink *s, struct rcp_event *out)
{
	struct cslice line = buf_bytes(&s->side.line.b);
	bool is_first = s->is_first;
	uint8_t letter = line.n > 0 ? line.p[0] : 0;
	struct cslice rest = line.n > 0 ? cslice_of(line.p + 1, line.n - 1) : line;
	s->is_first = false;
	switch (letter) {
	case 1:
	case 2:
		message(s, letter, out);
		return OK;
	case 'C':
	case 'D':
		return entry(s, (char)letter, rest, out);
	case 'E':
		return dir_end(s, rest, out);
	case 'T':
		return times(s, rest);
	default:
		if (!is_first || line.n == 0)
			return rcp_fail(
				&s->side, E_FORMAT, "protocol error: expected control record");
		message(s, letter, out);
		return OK;
	}
}

/* The source's word after the data: 0, or a text. */
static err_t status(struct rcp_sink *s, struct cslice *in, struct rcp_event *out)
{
	struct cslice text = {0};
	if (s->side.line.b.n == 0 && in->p[0] == 0) {
		*in = cslice_of(in->p + 1, in->n - 1);
	} else {
		bool is_whole = false;
		TRY(rcp_line_take(&s->side, in, true, &is_whole));
		if (!is_whole)
			return OK;
		uint8_t letter = s->side.line.b.n > 0 ? s->side.line.b.p[0] : 0;
		if (letter != 1) {
			message(s, letter, out);
			return OK;
		}
		text = rcp_line_text(&s->side, 1);
	}
	*out = (struct rcp_event){.type = RCP_EV_FILE_END, .text = text};
	if (s->side.line.b.n > 0 && text.n == 0)
		out->text = cslice_str("error");
	s->kind = 'F';
	s->side.phase = P_ANSWER;
	return OK;
}

static void data(struct rcp_sink *s, struct cslice *in, struct rcp_event *out)
{
	size_t n = s->size - s->at < in->n ? (size_t)(s->size - s->at) : in->n;
	*out = (struct rcp_event){.type = RCP_EV_DATA, .data = {in->p, n}, .at = s->at};
	*in = cslice_of(in->p + n, in->n - n);
	s->at += n;
	if (s->at == s->size)
		s->side.phase = P_STATUS;
}

static err_t step(struct rcp_sink *s, struct cslice *in, struct rcp_event *out)
{
	bool is_whole = false;
	switch (s->side.phase) {
	case P_RECORD: {
		uint8_t first = s->side.line.b.n > 0 ? s->side.line.b.p[0] : in->p[0];
		bool is_text = first != 'C' && first != 'D' && first != 'T' && first != 'E';
		TRY(rcp_line_take(&s->side, in, is_text, &is_whole));
		if (!is_whole)
			return OK;
		TRY(record(s, out));
		if (out->type == RCP_EV_NONE)
			rcp_line_clear(&s->side);
		return OK;
	}
	case P_DATA:
		data(s, in, out);
		return OK;
	default:
		return status(s, in, out);
	}
}

err_t rcp_sink_next(struct rcp_sink *s, struct cslice *in, struct rcp_event *out)
{
	struct rcp_event e = {0};
	if (s->side.err != OK)
		return s->side.err;
	if (s->side.phase == P_ANSWER || s->side.phase == P_GREETING)
		return E_PHASE;
	rcp_line_return(&s->side);
	while (e.type == RCP_EV_NONE && in->n > 0 && s->side.phase != P_OVER) {
		err_t failed = step(s, in, &e);
		if (failed != OK)
			return give_up(s, failed);
	}
	s->side.is_lent = e.type != RCP_EV_NONE && e.type != RCP_EV_DATA;
	*out = e;
	return OK;
}

err_t rcp_sink_answer(struct rcp_sink *s, const char *text)
{
	if (s->side.err != OK)
		return s->side.err;
	if (s->side.phase != P_ANSWER)
		return E_PHASE;
	rcp_line_return(&s->side);
	s->side.phase = P_RECORD;
	if (text == NULL && s->kind == 'C')
		s->side.phase = s->size > 0 ? P_DATA : P_STATUS;
	if (text == NULL && s->kind == 'D')
		s->depth++;
	if (s->kind == 'E')
		s->depth--;
	s->kind = 0;
	return rcp_put_answer(&s->side, text == NULL ? 0 : 1, text);
}

err_t rcp_sink_end(struct rcp_sink *s)
{
	if (s->side.err != OK)
		return s->side.err;
	rcp_line_return(&s->side);
	if (s->side.phase == P_RECORD && s->depth == 0 && s->side.line.b.n == 0)
		return OK;
	return s->side.phase == P_OVER ? OK : rcp_fail(&s->side, E_CLOSED, "lost connection");
}
