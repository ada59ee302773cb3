/* SPDX-License-Identifier: ISC */
/*
 * serve - the monitor's side: reads requests, checks the rules, calls one handler a row, sends the
 * reply
 *
 * The permission is checked as soon as the head of a frame is there, so that the memory for a body
 * is never spent on a request that may not be made.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/secret.h"
#include "os/fdpass.h"
#include "privsep/serve.h"

#define READ_SIZE ((size_t)16 * 1024)
#define OUT_STACK ((size_t)2048)

void ps_server_init(struct ps_server *s, int fd, const struct ps_handlers *on, void *arg)
{
	*s = (struct ps_server){.fd = fd, .on = on, .arg = arg};
	ps_rules_init(&s->rules);
	buf_init(&s->in, PS_BIG_MAX + READ_SIZE + PS_HEAD);
}

void ps_server_done(struct ps_server *s)
{
	buf_done(&s->in);
}

/* A reply being made: small ones stay on the stack. */
struct reply {
	uint8_t stack[OUT_STACK];
	uint8_t *heap;
	struct slice room;
};

static err_t reply_begin(struct reply *r, size_t body)
{
	size_t n;
	r->heap = NULL;
	TRY(num_add(body, PS_HEAD, &n));
	if (n > PS_FRAME_MAX)
		return E_LIMIT;
	if (n > sizeof(r->stack)) {
		r->heap = malloc(n);
		if (r->heap == NULL)
			return E_MEM;
	}
	r->room = (struct slice){r->heap != NULL ? r->heap : r->stack, n};
	return OK;
}

static void reply_end(struct reply *r)
{
	wipe(r->room.p, r->room.n);
	free(r->heap);
}

/* body: encoded behind the head already. */
static err_t reply_send(struct ps_server *s, struct reply *r, uint8_t no, err_t verdict)
{
	be32_put(r->room.p, (uint32_t)(r->room.n - PS_HEAD + 1));
	r->room.p[4] = no;
	if ((ps_msg_flags(no) & MF_AUTH) != 0)
		r->room.p[PS_HEAD] = verdict == OK; /* the first field of these rows is `ok` */
	size_t fds_n = (ps_msg_flags(no) & MF_FDS) != 0 ? s->fds_n : 0;
	return fdpass_send(s->fd, slice_const(r->room), s->fds, fds_n, true);
}

/* The verdict of a handler as the server takes it: OK, E_DENIED, E_PARTIAL and E_AGAIN for rows
 * that log in, else OK or an error. */
static bool is_verdict(uint8_t no, err_t e)
{
	if (e == OK)
		return true;
	return (ps_msg_flags(no) & MF_AUTH) != 0 &&
	       (e == E_DENIED || e == E_AGAIN || e == E_PARTIAL);
}

static err_t count(struct ps_server *s, uint8_t no, err_t verdict)
{
	if (verdict == E_AGAIN || verdict == E_PARTIAL)
		return OK;
	return ps_rules_served(&s->rules, no, verdict == OK) == PS_ALLOW ? OK : E_AUTH_TRIES;
}

static void drop_fds(struct ps_server *s)
{
	for (size_t i = 0; s->fds_given && i < s->fds_n; i++)
		(void)close(s->fds[i]);
	s->fds_n = 0;
	s->fds_given = false;
}

#define M(name, no, by, phase, flags)                                                              \
	static err_t serve_##name(struct ps_server *s, struct cslice body)                         \
	{                                                                                          \
		struct ps_req_##name req;                                                          \
		struct ps_rep_##name rep = {0};                                                    \
		struct reply r;                                                                    \
		TRY(ps_get_req_##name(body, &req));                                                \
		err_t verdict = s->on->name(s->arg, &req, &rep);                                   \
		if (!is_verdict(no, verdict))                                                      \
			return verdict;                                                            \
		TRY(count(s, no, verdict));                                                        \
		if ((ps_msg_flags(no) & MF_QUIET) != 0)                                            \
			return OK;                                                                 \
		TRY(reply_begin(&r, ps_size_rep_##name(&rep)));                                    \
		struct wr w = wr_of((struct slice){r.room.p + PS_HEAD, r.room.n - PS_HEAD});       \
		ps_put_rep_##name(&w, &rep);                                                       \
		err_t e = wr_end(&w);                                                              \
		if (e == OK)                                                                       \
			e = reply_send(s, &r, no, verdict);                                        \
		reply_end(&r);                                                                     \
		return e;                                                                          \
	}
#include "privsep/monitor.def"
#undef M

static err_t dispatch(struct ps_server *s, uint8_t no, struct cslice body)
{
	switch (no) {
#define M(name, no, by, phase, flags)                                                              \
	case no:                                                                                   \
		return serve_##name(s, body);
#include "privsep/monitor.def"
#undef M
	default:
		return E_UNEXPECTED;
	}
}

/* One whole request off the front; E_AGAIN when it is not there yet. */
static err_t serve_one(struct ps_server *s)
{
	if (s->in.n < PS_HEAD)
		return E_AGAIN;
	uint32_t n = be32_get(s->in.p);
	uint8_t no = s->in.p[4];
	if (!s->is_head_checked) {
		if (n < 1 || n > ps_msg_limit(no))
			return E_LENGTH;
		if (ps_rules_ask(&s->rules, no) != PS_ALLOW)
			return E_UNEXPECTED;
		s->is_head_checked = true;
	}
	if (s->in.n - 4 < n)
		return E_AGAIN;
	s->is_head_checked = false;
	err_t e = dispatch(s, no, cslice_of(s->in.p + PS_HEAD, n - 1));
	drop_fds(s);
	TRY(e);
	buf_eat(&s->in, (size_t)4 + n);
	return OK;
}

err_t ps_server_fed(struct ps_server *s, struct cslice bytes)
{
	buf_put(&s->in, bytes.p, bytes.n);
	err_t e = buf_err(&s->in);
	while (e == OK)
		e = serve_one(s);
	return e == E_AGAIN ? OK : e;
}

err_t ps_server_read(struct ps_server *s)
{
	uint8_t room[READ_SIZE];
	ssize_t n;
	do
		n = recv(s->fd, room, sizeof(room), MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == EAGAIN ? E_AGAIN : errno == ECONNRESET ? E_CLOSED : E_IO;
	if (n == 0)
		return E_CLOSED;
	err_t e = ps_server_fed(s, cslice_of(room, (size_t)n));
	wipe(room, (size_t)n);
	return e;
}

err_t ps_server_session(struct ps_server *s, int fd)
{
	if (ps_rules_session(&s->rules) != PS_ALLOW)
		return E_PHASE;
	buf_done(&s->in);
	buf_init(&s->in, PS_FRAME_MAX + READ_SIZE + PS_HEAD);
	s->is_head_checked = false;
	s->fd = fd;
	return OK;
}
