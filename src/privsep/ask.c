/* SPDX-License-Identifier: ISC */
/* ask - the side without privilege: one function a request, which waits for the reply */
#include "os/fdpass.h"
#include "privsep/ask.h"

#define READ_SIZE ((size_t)16 * 1024)

void ps_client_init(struct ps_client *c, int fd)
{
	*c = (struct ps_client){.fd = fd};
	buf_init(&c->in, PS_FRAME_MAX + READ_SIZE + PS_HEAD);
	buf_init(&c->out, PS_BIG_MAX + PS_HEAD);
}

void ps_client_done(struct ps_client *c)
{
	buf_done(&c->in);
	buf_done(&c->out);
}

static err_t head(struct ps_client *c, uint8_t no, size_t body, struct wr *w)
{
	if (c->err != OK)
		return c->err;
	if (body >= ps_msg_limit(no))
		return E_LIMIT;
	buf_clear(&c->out);
	uint8_t *p = buf_room(&c->out, PS_HEAD + body);
	if (p == NULL)
		return E_MEM;
	be32_put(p, (uint32_t)body + 1);
	p[4] = no;
	*w = wr_of((struct slice){p + PS_HEAD, body});
	return OK;
}

/* More bytes of the reply; descriptors come with its first. */
static err_t fill(struct ps_client *c)
{
	struct fdpass_got got;
	uint8_t *room = buf_room(&c->in, READ_SIZE);
	if (room == NULL)
		return E_MEM;
	c->in.n -= READ_SIZE;
	TRY(fdpass_recv(c->fd, (struct slice){room, READ_SIZE}, true, &got));
	c->in.n += got.n;
	for (size_t i = 0; i < got.fds_n; i++)
		if (c->fds_n < ARRAY_N(c->fds))
			c->fds[c->fds_n++] = got.fds[i];
		else
			return E_FORMAT;
	return OK;
}

static err_t exchange(struct ps_client *c, uint8_t no, struct cslice *body)
{
	TRY(fdpass_send(c->fd, buf_bytes(&c->out), NULL, 0, false));
	buf_clear(&c->out);
	if ((ps_msg_flags(no) & MF_QUIET) !=
		0) { /* a log line must not end what the last reply lent */
		*body = cslice_of(NULL, 0);
		return OK;
	}
	buf_clear(&c->in);
	c->fds_n = 0;
	while (c->in.n < PS_HEAD || c->in.n - 4 < be32_get(c->in.p)) {
		if (c->in.n >= PS_HEAD && (be32_get(c->in.p) > PS_FRAME_MAX ||
						  be32_get(c->in.p) < 1 || c->in.p[4] != no))
			return E_FORMAT;
		TRY(fill(c));
	}
	uint32_t n = be32_get(c->in.p);
	if (n < 1 || c->in.p[4] != no || c->in.n - 4 != n)
		return E_FORMAT;
	*body = cslice_of(c->in.p + PS_HEAD, n - 1);
	return OK;
}

#define M(name, no, by, phase, flags)                                                              \
	static err_t try_##name(                                                                   \
		struct ps_client *c, const struct ps_req_##name *req, struct ps_rep_##name *rep)   \
	{                                                                                          \
		struct wr w;                                                                       \
		struct cslice body;                                                                \
		TRY(head(c, no, ps_size_req_##name(req), &w));                                     \
		ps_put_req_##name(&w, req);                                                        \
		TRY(wr_end(&w));                                                                   \
		TRY(exchange(c, no, &body));                                                       \
		if ((ps_msg_flags(no) & MF_QUIET) != 0) {                                          \
			*rep = (struct ps_rep_##name){0};                                          \
			return OK;                                                                 \
		}                                                                                  \
		return ps_get_rep_##name(body, rep);                                               \
	}                                                                                          \
	err_t ps_ask_##name(                                                                       \
		struct ps_client *c, const struct ps_req_##name *req, struct ps_rep_##name *rep)   \
	{                                                                                          \
		err_t e = try_##name(c, req, rep);                                                 \
		if (e != OK)                                                                       \
			c->err = e;                                                                \
		return e;                                                                          \
	}
#include "privsep/monitor.def"
#undef M
