/* SPDX-License-Identifier: ISC */
/*
 * serve_copy - COPY-DATA, in parts, so that a client that goes away is noticed
 *
 * The bytes pass through the place where the next reply will stand.
 */
#include "sftp/server_int.h"

#define STEP ((uint64_t)4 * 1024 * 1024)

void sf_on_copy_data(struct sf_server *s, uint32_t id, const struct sf_copy_data *m)
{
	struct sf_held *from = sf_find(s, id, m->from, SF_H_FILE, SF_failure);
	if (from == NULL)
		return;
	struct sf_held *to = sf_find(s, id, m->to, SF_H_FILE, SF_failure);
	if (to == NULL)
		return;
	sf_say(s, LOG_L_DEBUG1,
		"request %u: copy-data from \"%s\" (handle %u) off %llu len %llu to \"%s\" off "
		"%llu",
		(unsigned)id, from->name, (unsigned)from->at, (unsigned long long)m->from_offset,
		(unsigned long long)m->n, to->name, (unsigned long long)m->to_offset);
	/* a file copied into itself might grow for ever */
	if (from == to || s->env.fs->is_same(s->env.fs_arg, from->fh, to->fh)) {
		sf_reply_status(s, id, SF_failure);
		return;
	}
	s->copy = (struct sf_copy){.is_active = true,
		.to_eof = m->n == 0,
		.id = id,
		.from = from,
		.to = to,
		.from_offset = m->from_offset,
		.to_offset = m->to_offset,
		.left = m->n == 0 ? UINT64_MAX : m->n};
	sf_copy_step(s);
}

/* Gives SF_ok while there is more to do. */
static enum sf_code copy_part(struct sf_server *s, struct sf_copy *c, struct slice room)
{
	size_t n = 0;
	room.n = (size_t)(c->left < room.n ? c->left : room.n);
	enum sf_code code = s->env.fs->read(s->env.fs_arg, c->from->fh, c->from_offset, room, &n);
	if (code != SF_ok)
		return code;
	c->from->bytes_read += n;
	code = s->env.fs->write(s->env.fs_arg, c->to->fh, c->to_offset, cslice_of(room.p, n));
	if (code != SF_ok)
		return code;
	c->to->bytes_written += n;
	c->from_offset += n;
	c->to_offset += n;
	c->left -= n;
	return SF_ok;
}

void sf_copy_step(struct sf_server *s)
{
	struct sf_copy *c = &s->copy;
	struct slice room = {s->out + s->out_n, SF_REPLY_ROOM};
	uint64_t stop = c->from_offset + STEP;
	enum sf_code code = SF_ok;
	while (code == SF_ok && c->left > 0 && c->from_offset < stop)
		code = copy_part(s, c, room);
	if (code == SF_ok && c->left > 0)
		return;
	c->is_active = false;
	sf_reply_status(s, c->id, code == SF_eof && c->to_eof ? SF_ok : code);
}
