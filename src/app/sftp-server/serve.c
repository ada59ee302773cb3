/* SPDX-License-Identifier: ISC */
/*
 * serve - the engine between two descriptors
 *
 * Bytes are read straight to where the engine looks at them and written from where it put them;
 * while replies wait the engine gives no room to read, so a client that does not read is not read
 * either.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/sftp-server/disk.h"
#include "app/sftp-server/sftp_server.h"
#include "sftp/server.h"

#define OWN_FDS 5 /* stdin, stdout, stderr, the system log, and one to look at directories */

static void say(void *arg, enum log_level level, const char *text)
{
	(void)arg;
	log_put(level, "%s", text);
}

size_t sftp_handles_max(size_t others)
{
	struct rlimit lim;
	if (getrlimit(RLIMIT_NOFILE, &lim) != 0 || lim.rlim_cur > UINT16_MAX)
		return UINT16_MAX;
	return lim.rlim_cur > others + 1 ? (size_t)lim.rlim_cur - others : 1;
}

/* A pipe or a socket that blocks would block the other direction too.  Gives its flags, -1 when
 * nothing was changed. */
static int unblock(int fd)
{
	struct stat st;
	int flags = fcntl(fd, F_GETFL);
	if (flags < 0 || (flags & O_NONBLOCK) != 0 || fstat(fd, &st) != 0 ||
		(!S_ISFIFO(st.st_mode) && !S_ISSOCK(st.st_mode)))
		return -1;
	return fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0 ? flags : -1;
}

static bool is_wait(int why)
{
	return why == EAGAIN || why == EWOULDBLOCK || why == EINTR;
}

struct link {
	struct sf_server *s;
	int in, out;
	bool is_eof, is_gone; /* nothing more comes; nothing more can be sent */
};

static void pull(struct link *l, struct slice room)
{
	ssize_t n = read(l->in, room.p, room.n);
	if (n > 0)
		sf_server_fed(l->s, (size_t)n);
	else if (n == 0)
		l->is_eof = true;
	else if (!is_wait(errno))
		l->is_gone = true;
	if (n == 0)
		log_debug1("read eof");
	else if (l->is_gone)
		log_put(LOG_L_ERROR, "read: %m");
}

static void push(struct link *l, struct cslice ready)
{
	ssize_t n = write(l->out, ready.p, ready.n);
	if (n >= 0) {
		sf_server_sent(l->s, (size_t)n);
	} else if (!is_wait(errno)) {
		if (errno != EPIPE && errno != ECONNRESET)
			log_put(LOG_L_ERROR, "write: %m");
		l->is_gone = true;
	}
}

/* One turn; false when it is over: after an error, when the client is gone, or at the end when all
 * that came whole before it is done and answered. */
static bool turn(struct link *l, err_t *e)
{
	*e = sf_server_run(l->s);
	struct cslice ready = sf_server_ready(l->s);
	bool is_busy = sf_server_is_busy(l->s);
	if (ready.n > 0) { /* most often there is room */
		push(l, ready);
		ready = sf_server_ready(l->s);
		if (ready.n == 0 && !l->is_gone && *e == OK)
			return true; /* requests may have waited for that */
	}
	if (l->is_gone || (ready.n == 0 && (*e != OK || (l->is_eof && !is_busy))))
		return false;
	struct slice room = l->is_eof ? (struct slice){NULL, 0} : sf_server_space(l->s);
	struct pollfd p[2] = {
		{.fd = room.n > 0 ? l->in : -1, .events = POLLIN},
		{.fd = l->out, .events = ready.n > 0 ? POLLOUT : 0},
	};
	if (poll(p, 2, is_busy ? 0 : -1) < 0)
		return errno == EINTR;
	if ((p[1].revents & (POLLERR | POLLNVAL)) != 0) /* nobody reads any more */
		return false;
	if (p[0].revents != 0)
		pull(l, room);
	return true;
}

err_t sftp_serve(const struct sf_policy *policy, const char *home, int in, int out)
{
	struct disk disk;
	struct link l = {.in = in, .out = out};
	disk_init(&disk, home);
	struct sf_server_env env = {.fs = &disk_face,
		.fs_arg = &disk,
		.policy = *policy,
		.handles_max = sftp_handles_max(OWN_FDS),
		.say = say,
		.level = log_level()};
	TRY(sf_server_new(&l.s, &env));
	int in_flags = unblock(in), out_flags = unblock(out);
	err_t e = OK;
	while (turn(&l, &e))
		;
	if (out_flags >= 0)
		(void)fcntl(out, F_SETFL, out_flags);
	if (in_flags >= 0)
		(void)fcntl(in, F_SETFL, in_flags);
	sf_server_free(l.s);
	return e;
}
