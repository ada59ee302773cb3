/* SPDX-License-Identifier: ISC */
/*
 * client_ask - a function for each request, made from its row
 *
 * What a request may be answered with stands in one table; a STATUS may answer each of them.
 */
#include <stdlib.h>

#include "sftp/client_int.h"

#define OUT_FIRST ((size_t)4096)

/* clang-format off */
static const uint8_t wants[256] = {
	[SF_MSG_open]     = SF_WANTS_HANDLE,
	[SF_MSG_opendir]  = SF_WANTS_HANDLE,
	[SF_MSG_read]     = SF_WANTS_DATA,
	[SF_MSG_readdir]  = SF_WANTS_NAME,
	[SF_MSG_realpath] = SF_WANTS_NAME,
	[SF_MSG_readlink] = SF_WANTS_NAME,
	[SF_MSG_stat]     = SF_WANTS_ATTRS,
	[SF_MSG_lstat]    = SF_WANTS_ATTRS,
	[SF_MSG_fstat]    = SF_WANTS_ATTRS,
};

static const uint8_t ext_wants[SF_EXT_N] = {
	[SF_EXT_statvfs]            = SF_WANTS_EXTENDED,
	[SF_EXT_fstatvfs]           = SF_WANTS_EXTENDED,
	[SF_EXT_limits]             = SF_WANTS_EXTENDED,
	[SF_EXT_expand_path]        = SF_WANTS_NAME,
	[SF_EXT_home_directory]     = SF_WANTS_NAME,
	[SF_EXT_users_groups_by_id] = SF_WANTS_EXTENDED,
};
/* clang-format on */

/* ---- room to be sent from ---------------------------------------------------------------------
 */
static void close_up(struct sf_client *c)
{
	memmove(c->out, c->out + c->out_at, c->out_n - c->out_at);
	c->out_n -= c->out_at;
	c->out_at = 0;
}

static err_t make_room(struct sf_client *c, size_t n)
{
	if (n > c->out_cap - c->out_n && c->out_at > 0)
		close_up(c);
	if (n <= c->out_cap - c->out_n)
		return OK;
	size_t cap = num_max(c->out_cap, OUT_FIRST);
	while (cap - c->out_n < n)
		cap *= 2;
	uint8_t *p = realloc(c->out, cap);
	if (p == NULL)
		return E_MEM;
	c->out = p;
	c->out_cap = cap;
	return OK;
}

/* Room for a frame of number and n more bytes, which are still to be written. */
static err_t frame_begin(struct sf_client *c, enum sf_msg no, size_t n, struct wr *w)
{
	if (n >= SF_FRAME_MAX)
		return E_MEM;
	size_t waiting = c->out_n - c->out_at;
	if (waiting > 0 && 5 + n > SF_CLIENT_OUT_MAX - num_min(waiting, SF_CLIENT_OUT_MAX))
		return E_LIMIT;
	TRY(make_room(c, 5 + n));
	*w = wr_of((struct slice){c->out + c->out_n, 5 + n});
	wr_u32(w, (uint32_t)n + 1);
	wr_u8(w, (uint8_t)no);
	return OK;
}

/* ---- a number for it, and a place among those under way ---------------------------------------
 */
static err_t register_ask(struct sf_client *c, struct sf_ask *a, uint8_t expects, uint32_t want)
{
	TRY(c->err);
	if (!c->is_ready && a != &c->limits)
		return E_PHASE;
	while (sf_pending_find(&c->pending, c->next_id) != NULL)
		c->next_id++; /* once round, and that one still waits */
	a->id = c->next_id;
	a->want = want;
	a->got = 0;
	a->expects = expects;
	TRY(sf_pending_add(&c->pending, a));
	c->next_id++;
	return OK;
}

static err_t begin(struct sf_client *c, struct sf_ask *a, enum sf_msg no, size_t n, struct wr *w)
{
	TRY(c->err);
	TRY(frame_begin(c, no, n, w));
	return register_ask(c, a, wants[no], 0);
}

static err_t end(struct sf_client *c, const struct wr *w)
{
	assert(!w->bad && w->n == w->cap);
	c->out_n += w->n;
	return OK;
}

/* The number is known once the request has its place. */
#define Q(name, no, changes)                                                                       \
	err_t sf_ask_##name(struct sf_client *c, struct sf_ask *a, const struct sf_##name *m)      \
	{                                                                                          \
		struct sf_##name in = *m;                                                          \
		struct wr w;                                                                       \
		TRY(begin(c, a, SF_MSG_##name, sf_size_##name(&in), &w));                          \
		in.id = a->id;                                                                     \
		WANT_##name sf_put_##name(&w, &in);                                                \
		return end(c, &w);                                                                 \
	}
#define WANT_open
#define WANT_close
#define WANT_read  a->want = in.n;
#define WANT_write a->want = (uint32_t)in.data.n;
#define WANT_lstat
#define WANT_fstat
#define WANT_setstat
#define WANT_fsetstat
#define WANT_opendir
#define WANT_readdir
#define WANT_remove
#define WANT_mkdir
#define WANT_rmdir
#define WANT_realpath
#define WANT_stat
#define WANT_rename
#define WANT_readlink
#define WANT_symlink

static err_t begin_ext(struct sf_client *c, struct sf_ask *a, enum sf_ext x, size_t n, struct wr *w)
{
	TRY(c->err);
	if (!sf_client_has(c, x))
		return E_UNSUPPORTED;
	struct sf_extended head = {.request = cslice_str(sf_ext_wire(x))};
	TRY(frame_begin(c, SF_MSG_extended, sf_size_extended(&head) + n, w));
	TRY(register_ask(c, a, ext_wants[x], 0));
	head.id = a->id;
	sf_put_extended(w, &head);
	return OK;
}

#define X(name, policy, wire, value, changes)                                                      \
	err_t sf_ask_##name(struct sf_client *c, struct sf_ask *a, const struct sf_##name *m)      \
	{                                                                                          \
		struct wr w;                                                                       \
		TRY(begin_ext(c, a, SF_EXT_##name, sf_size_##name(m), &w));                        \
		sf_put_##name(&w, m);                                                              \
		return end(c, &w);                                                                 \
	}
#include "sftp/sftp.def"

/* ---- a head whose data others send ------------------------------------------------------------
 */
size_t sf_write_head_size(size_t handle_n)
{
	return 4 + 1 + 4 + 4 + handle_n + 8 + 4;
}

err_t sf_write_head(
	struct sf_client *c, struct sf_ask *a, const struct sf_write_at *at, struct sf_head *out)
{
	TRY(c->err);
	if (sf_client_ready(c).n > 0)
		return E_AGAIN;
	if (at->handle.n > SF_HANDLE_MAX || at->n > SF_DATA_MAX)
		return E_MEM;
	TRY(register_ask(c, a, SF_WANTS_STATUS, at->n));
	size_t size = sf_write_head_size(at->handle.n);
	struct wr w = wr_of((struct slice){out->p, size});
	wr_u32(&w, (uint32_t)(size - 4 + at->n));
	wr_u8(&w, SF_MSG_write);
	wr_u32(&w, a->id);
	wr_str(&w, at->handle);
	wr_u64(&w, at->offset);
	wr_u32(&w, at->n);
	assert(!w.bad && w.n == size);
	out->n = size;
	return OK;
}

/* ---- what the client asks by itself -----------------------------------------------------------
 */
err_t sf_client_put_init(struct sf_client *c)
{
	struct wr w;
	struct sf_init m = {.version = SF_VERSION};
	TRY(frame_begin(c, SF_MSG_init, sf_size_init(&m), &w));
	sf_put_init(&w, &m);
	return end(c, &w);
}

err_t sf_client_ask_limits(struct sf_client *c)
{
	return sf_ask_limits(c, &c->limits, &(struct sf_limits){0});
}
