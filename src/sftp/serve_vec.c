/* SPDX-License-Identifier: ISC */
/*
 * serve_vec - the server between packets: requests where they arrived, replies where they are sent
 *
 * A WRITE whose head says that it is well-formed goes to the file from the packets it came in; any
 * other request is looked at in one piece.  A READ whose whole reply has room is read from the file
 * into that room; any other reply is made in the buffer and copied.
 */
#include "sftp/server_int.h"

#define WRITE_HEAD ((size_t)25 + 4) /* number, id, handle, offset, length of the data */
#define READ_HEAD  ((size_t)25)
#define DATA_HEAD  ((size_t)4 + 1 + 4 + 4) /* of a reply to READ: its length, number, id, length */

/* ---- replies ---- */
/* What was made in the buffer goes out first. */
static void put_ready(struct sf_server *s)
{
	struct cslice ready = sf_server_ready(s);
	size_t n = num_min(ready.n, s->room.left);
	if (n == 0)
		return;
	vec_put(&s->room, cslice_of(ready.p, n));
	sf_server_sent(s, n);
}

bool sf_reply_read(struct sf_server *s, struct sf_held *h, const struct sf_read *m)
{
	size_t n = num_min(m->n, SF_DATA_MAX), got = 0;
	if (!s->has_room || n == 0 || s->room.left < DATA_HEAD + n || s->out_at < s->out_n)
		return false;
	uint8_t head[DATA_HEAD];
	struct vec data = s->room;
	vec_skip(&data, DATA_HEAD);
	enum sf_code code = sf_file_read(s, h, m->offset, (struct sf_part){&data, n}, &got);
	if (code != SF_ok) {
		sf_read_failed(s, m->id, h, code);
		return true;
	}
	struct sf_data reply = {.id = m->id};
	struct wr w = wr_of((struct slice){head, sizeof(head)});
	wr_u32(&w, (uint32_t)(DATA_HEAD - 4 + got));
	wr_u8(&w, SF_MSG_data);
	sf_put_data(&w, &reply);
	be32_put(head + DATA_HEAD - 4, (uint32_t)got);
	vec_put(&s->room, cslice_of(head, sizeof(head)));
	vec_skip(&s->room, got);
	h->bytes_read += got;
	return true;
}

/* ---- requests ---- */
/* frame: behind its length; has at least that many bytes.  False: not such a WRITE. */
static bool take_write(struct sf_server *s, const struct vec *frame, size_t n)
{
	uint8_t head[WRITE_HEAD];
	if (n < WRITE_HEAD)
		return false;
	vec_peek(frame, (struct slice){head, sizeof(head)});
	if (head[0] != SF_MSG_write || !s->has_init || be32_get(head + 5) != SF_HANDLE_SIZE ||
		be32_get(head + WRITE_HEAD - 4) > n - WRITE_HEAD)
		return false;
	struct sf_write m;
	size_t data_n = be32_get(head + WRITE_HEAD - 4);
	be32_put(head + WRITE_HEAD - 4, 0); /* the head alone is a WRITE of nothing */
	if (data_n == 0 || sf_get_write(cslice_of(head + 1, sizeof(head) - 1), &m) != OK)
		return false;
	if (!sf_is_permitted(s, SF_REQ_write)) {
		sf_reply_status(s, m.id, SF_permission_denied);
		return true;
	}
	struct vec data = *frame;
	vec_skip(&data, WRITE_HEAD);
	sf_write_data(s, m.id, &m, (struct sf_part){&data, data_n});
	return true;
}

/* A READ that would find room in packets that are still empty waits for them. */
static bool waits_for_room(
	const struct sf_server *s, const struct vec *frame, size_t n, const struct sf_work *w)
{
	uint8_t head[READ_HEAD];
	if (s->room.left == w->room || n < READ_HEAD)
		return false;
	vec_peek(frame, (struct slice){head, sizeof(head)});
	size_t want = num_min(be32_get(head + READ_HEAD - 4), SF_DATA_MAX);
	return head[0] == SF_MSG_read && s->room.left < DATA_HEAD + want;
}

static err_t serve_one(struct sf_server *s, const struct vec *frame, size_t n)
{
	if (take_write(s, frame, n))
		return s->err;
	struct slice flat = vec_front(frame, n);
	if (flat.n < n) {
		flat = (struct slice){s->in, n};
		vec_peek(frame, flat);
	}
	return sf_serve_frame(s, slice_const(flat));
}

/* OK: served.  E_AGAIN: not whole yet, or no room. */
static err_t serve_next(struct sf_server *s, struct vec *in, const struct sf_work *w)
{
	uint8_t length[4];
	if (in->left < sizeof(length))
		return E_AGAIN;
	vec_peek(in, (struct slice){length, sizeof(length)});
	size_t n = be32_get(length);
	if (n == 0 || n > SF_FRAME_MAX)
		return E_LENGTH;
	if (in->left - sizeof(length) < n)
		return E_AGAIN;
	struct vec frame = *in;
	vec_skip(&frame, sizeof(length));
	if (waits_for_room(s, &frame, n, w))
		return E_AGAIN;
	err_t e = serve_one(s, &frame, n);
	vec_skip(in, sizeof(length) + n);
	return e;
}

err_t sf_server_serve(struct sf_server *s, struct sf_work *w)
{
	struct vec in = vec_of(w->in, w->in_n);
	size_t in_all = in.left;
	s->room = vec_of(w->out, w->out_n);
	s->has_room = true;
	w->room = s->room.left;
	put_ready(s);
	if (s->err == OK && s->copy.is_active && sf_server_ready(s).n == 0) {
		sf_server_rewind(s);
		sf_copy_step(s);
		put_ready(s);
	}
	while (s->err == OK && !s->copy.is_active && sf_server_ready(s).n == 0 &&
		s->room.left > 0) {
		sf_server_rewind(s);
		err_t e = serve_next(s, &in, w);
		put_ready(s);
		if (e == E_AGAIN)
			break;
		s->err = s->err == OK ? e : s->err;
	}
	s->has_room = false;
	w->used = in_all - in.left;
	w->made = w->room - s->room.left;
	return s->err;
}
