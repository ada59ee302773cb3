/* SPDX-License-Identifier: ISC */
/* reply - replies, written where they are sent from */
#include "sftp/server_int.h"

struct wr sf_reply_begin(struct sf_server *s, enum sf_msg no)
{
	/* sf_server_run has seen to it that a whole frame has room */
	struct wr w = wr_of((struct slice){s->out + s->out_n + 4, SF_FRAME_MAX});
	wr_u8(&w, (uint8_t)no);
	return w;
}

void sf_reply_end(struct sf_server *s, const struct wr *w)
{
	if (w->bad) {
		s->err = s->err == OK ? E_BUG : s->err;
		return;
	}
	be32_put(s->out + s->out_n, (uint32_t)w->n);
	s->out_n += 4 + w->n;
}

void sf_reply_status_text(struct sf_server *s, uint32_t id, enum sf_code code, const char *text)
{
	bool is_good = code == SF_ok || code == SF_eof;
	sf_say(s, LOG_L_DEBUG3, "request %u: sent status %u", (unsigned)id, (unsigned)code);
	/* every status where much is wanted, else those that tell of a failure */
	if (!is_good || s->env.level > LOG_L_VERBOSE)
		sf_say(s, LOG_L_INFO, "sent status %s", sf_status_text(code));
	struct sf_status m = {.id = id, .code = code, .message = cslice_str(text)};
	struct wr w = sf_reply_begin(s, SF_MSG_status);
	sf_put_status(&w, &m);
	sf_reply_end(s, &w);
}

void sf_reply_status(struct sf_server *s, uint32_t id, enum sf_code code)
{
	sf_reply_status_text(s, id, code, sf_status_text(code));
}

void sf_reply_handle(struct sf_server *s, uint32_t id, const struct sf_held *h)
{
	uint8_t wire[SF_HANDLE_SIZE];
	sf_held_wire(h, wire);
	sf_say(s, LOG_L_DEBUG3, "request %u: sent handle %u", (unsigned)id, (unsigned)h->at);
	struct sf_handle m = {.id = id, .handle = cslice_of(wire, sizeof(wire))};
	struct wr w = sf_reply_begin(s, SF_MSG_handle);
	sf_put_handle(&w, &m);
	sf_reply_end(s, &w);
}

void sf_reply_attrs(struct sf_server *s, uint32_t id, const struct sf_attr *a)
{
	struct sf_attrs m = {.id = id, .a = *a};
	struct wr w = sf_reply_begin(s, SF_MSG_attrs);
	sf_put_attrs(&w, &m);
	sf_reply_end(s, &w);
}

void sf_reply_path(struct sf_server *s, uint32_t id, struct cslice path)
{
	struct sf_entry e = {.filename = path, .longname = path};
	struct wr w = sf_reply_begin(s, SF_MSG_name);
	wr_u32(&w, id);
	wr_u32(&w, 1);
	sf_put_entry(&w, &e);
	sf_reply_end(s, &w);
}
