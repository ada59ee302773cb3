/* SPDX-License-Identifier: ISC */
/* input - lines from a descriptor; bytes come when the loop says so */
#include <errno.h>
#include <unistd.h>

#include "app/sftp/input.h"
#include "transfer/remote.h"

static void on_ready(struct ev_io *io, unsigned happened)
{
	struct input *in = io->arg;
	(void)happened;
	in->is_ready = true;
	ev_io_want(in->r->ev, io, 0);
	ev_stop(in->r->ev);
}

void input_init(struct input *in, struct remote *r, int fd, bool is_owned)
{
	*in = (struct input){.r = r, .is_owned = is_owned};
	in->io = (struct ev_io){.fd = fd, .on = on_ready, .arg = in};
	buf_init(&in->held, INPUT_LINE_MAX);
}

void input_done(struct input *in)
{
	if (in->r != NULL && in->io.is_added)
		ev_io_remove(in->r->ev, &in->io);
	if (in->is_owned)
		(void)close(in->io.fd);
	buf_done(&in->held);
	in->is_owned = false;
}

/* More bytes, or the end. */
static err_t fill(struct input *in)
{
	uint8_t some[4096];
	if (in->is_ended)
		return E_NOT_FOUND;
	if (!in->io.is_added)
		TRY(ev_io_add(in->r->ev, &in->io));
	in->is_ready = false;
	ev_io_want(in->r->ev, &in->io, EV_IN);
	err_t e = remote_run_until(in->r, &in->is_ready);
	ev_io_want(in->r->ev, &in->io, 0);
	TRY(e);
	ssize_t n = read(in->io.fd, some, sizeof(some));
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return OK;
	if (n < 0) {
		in->why = errno;
		return E_IO;
	}
	if (n == 0)
		in->is_ended = true;
	buf_put(&in->held, some, (size_t)n);
	return buf_err(&in->held);
}

err_t input_line(struct input *in, struct buf *line)
{
	const uint8_t *end = NULL;
	size_t looked = 0;
	while ((end = in->held.n == looked
			       ? NULL
			       : memchr(in->held.p + looked, '\n', in->held.n - looked)) == NULL &&
		!in->is_ended) {
		looked = in->held.n;
		TRY(fill(in));
	}
	if (end == NULL && in->held.n == 0)
		return E_NOT_FOUND;
	size_t n = end != NULL ? (size_t)(end - in->held.p) : in->held.n;
	/* lines that were written elsewhere end in CR LF */
	buf_put(line, in->held.p, n > 0 && in->held.p[n - 1] == '\r' ? n - 1 : n);
	buf_put_u8(line, 0);
	buf_eat(&in->held, end != NULL ? n + 1 : n);
	return buf_err(line);
}

err_t input_byte(struct input *in, uint8_t *byte)
{
	while (in->held.n == 0)
		TRY(fill(in));
	*byte = in->held.p[0];
	buf_eat(&in->held, 1);
	return OK;
}
