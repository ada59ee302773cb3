/* SPDX-License-Identifier: ISC */
/* Who was refused room is told when there is some, whatever emptied the link meanwhile. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cmocka.h>

#include "transfer/link.h"

#define ALL ((uint64_t)8 << 20)

struct feeder {
	struct link *link;
	uint64_t given;
	bool is_refused;
};

/* Gives until it is refused, then kicks, as one does at the end of a turn. */
static void give(void *arg)
{
	struct feeder *f = arg;
	struct iovec iov[TP_BULK_MAX];
	size_t niov = 0;
	f->is_refused = false;
	while (f->given < ALL) {
		size_t n = 0;
		err_t e = f->link->ops->reserve(f->link, 100000, iov, &niov);
		f->is_refused = e == E_AGAIN;
		if (e == E_AGAIN)
			break;
		assert_int_equal(e, OK);
		for (size_t i = 0; i < niov; i++) {
			memset(iov[i].iov_base, 'x', iov[i].iov_len);
			n += iov[i].iov_len;
		}
		assert_int_equal(f->link->ops->commit(f->link, n), OK);
		f->given += n;
	}
	if (f->given >= ALL)
		f->link->ops->finish(f->link);
	f->link->ops->kick(f->link);
}

struct reader {
	struct ev_io io;
	struct ev *ev;
	struct feeder *feeder;
	uint64_t got;
};

/* Empties the pipe, then the link by a kick that is not the loop's, so that nothing is left to wait
 * for. */
static void on_read(struct ev_io *io, unsigned happened)
{
	struct reader *r = io->arg;
	static char room[1 << 20];
	ssize_t n;
	(void)happened;
	while ((n = read(io->fd, room, sizeof(room))) > 0)
		r->got += (uint64_t)n;
	if (n == 0)
		ev_stop(r->ev);
	else
		r->feeder->link->ops->kick(r->feeder->link);
}

static void late(struct ev_timer *t, uint64_t now_us)
{
	(void)now_us;
	ev_stop(t->arg);
}

static void who_was_refused_is_told_of_room(void **state)
{
	(void)state;
	int out[2], in[2];
	struct ev *ev;
	struct link_fds *fds;
	assert_int_equal(pipe2(out, O_NONBLOCK), 0);
	assert_int_equal(pipe(in), 0);
	assert_int_equal(ev_new(&ev), OK);
	assert_int_equal(link_fds_new(&fds, ev, in[0], out[1]), OK);
	struct feeder f = {.link = link_fds_face(fds)};
	struct reader r = {.io = {.fd = out[0], .want = EV_IN, .on = on_read, .arg = &r},
		.ev = ev,
		.feeder = &f};
	struct ev_timer end = {.at_us = UINT64_MAX, .on = late, .arg = ev};
	f.link->on_room = give;
	f.link->arg = &f;
	give(&f);
	assert_true(f.is_refused);
	assert_true(link_fds_has_unsent(fds));
	assert_int_equal(ev_io_add(ev, &r.io), OK);
	ev_timer_set(ev, &end, os_monotonic_us() + 10000000);
	assert_int_equal(ev_run(ev), OK);
	assert_int_equal(f.given, r.got);
	assert_true(r.got >= ALL);
	assert_false(link_fds_has_unsent(fds));
	ev_timer_stop(ev, &end);
	ev_io_remove(ev, &r.io);
	link_fds_free(fds);
	ev_free(ev);
	assert_int_equal(close(out[0]), 0);
	assert_int_equal(close(in[1]), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_was_refused_is_told_of_room),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
