/* SPDX-License-Identifier: ISC */
/* agent_client - a running agent over its socket */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "app/common/agent_client.h"
#include "key/cert.h"
#include "os/ev.h"

/* How long an answer may take: the agent's own affairs; where it may be asking a person. */
enum { PATIENCE_S = 120, PATIENCE_PERSON_S = 900 };
#define FRAME_ROOM (AG_FRAME_MAX + 4)

err_t agent_connect(struct agent_client *a, const char *path)
{
	struct sockaddr_un sa = {.sun_family = AF_UNIX};
	const struct timeval patience = {.tv_sec = PATIENCE_S};
	if (strlen(path) >= sizeof(sa.sun_path)) {
		errno = ENAMETOOLONG;
		return E_LIMIT;
	}
	memcpy(sa.sun_path, path, strlen(path));
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return E_IO;
	/* a full queue makes connect wait */
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	if (connect(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0) {
		int why = errno;
		close(fd);
		errno = why;
		return why == EACCES ? E_PERMISSION : why == EAGAIN ? E_TIMEOUT : E_NOT_FOUND;
	}
	int flags = fcntl(fd, F_GETFL);
	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0) {
		close(fd);
		return E_IO;
	}
	a->fd = fd;
	return OK;
}

void agent_close(struct agent_client *a)
{
	if (a->fd >= 0)
		close(a->fd);
	a->fd = -1;
}

/* ---- frames over the socket ---------------------------------------------------------------------
 */
static err_t wait_for(int fd, short what, uint64_t until_us)
{
	for (;;) {
		uint64_t now_us = os_monotonic_us();
		if (now_us >= until_us)
			return E_TIMEOUT;
		struct pollfd p = {.fd = fd, .events = what};
		int n = poll(&p, 1, (int)((until_us - now_us) / 1000 + 1));
		if (n > 0)
			return OK;
		if (n < 0 && errno != EINTR)
			return E_IO;
	}
}

static err_t write_all(int fd, struct cslice s, uint64_t until_us)
{
	while (s.n > 0) {
		ssize_t done = send(fd, s.p, s.n, MSG_NOSIGNAL);
		if (done < 0 && errno == EAGAIN)
			TRY(wait_for(fd, POLLOUT, until_us));
		else if (done < 0 && errno != EINTR)
			return errno == EPIPE || errno == ECONNRESET ? E_CLOSED : E_IO;
		if (done > 0)
			s = cslice_of(s.p + done, s.n - (size_t)done);
	}
	return OK;
}

static err_t read_all(int fd, struct slice s, uint64_t until_us)
{
	while (s.n > 0) {
		ssize_t got = read(fd, s.p, s.n);
		if (got < 0 && errno == EAGAIN)
			TRY(wait_for(fd, POLLIN, until_us));
		else if (got == 0 || (got < 0 && errno == ECONNRESET))
			return E_CLOSED;
		else if (got < 0 && errno != EINTR)
			return E_IO;
		if (got > 0)
			s = (struct slice){s.p + got, s.n - (size_t)got};
	}
	return OK;
}

static err_t swap(int fd, const struct buf *request, struct buf *answer, uint64_t until_us)
{
	uint8_t head[4] = {0};
	size_t n = 0;
	TRY(write_all(fd, buf_bytes(request), until_us));
	TRY(read_all(fd, (struct slice){head, sizeof(head)}, until_us));
	TRY(ag_take_length(head, &n));
	uint8_t *room = buf_room(answer, n);
	if (room == NULL)
		return buf_err(answer);
	return read_all(fd, (struct slice){room, n}, until_us);
}

/* One question: the request is built, then `exchange` gives the answer's body; both are ended by
 * the caller.  e: how the building went. */
struct question {
	struct buf request, answer;
};

static void question_init(struct question *q)
{
	buf_init(&q->request, FRAME_ROOM);
	buf_init(&q->answer, AG_FRAME_MAX);
}

static void question_done(struct question *q)
{
	buf_done(&q->request);
	buf_done(&q->answer);
}

static err_t exchange(struct agent_client *a, struct question *q, err_t e, unsigned patience_s)
{
	if (e != OK)
		return e;
	if (a->fd < 0)
		return E_CLOSED;
	e = swap(
		a->fd, &q->request, &q->answer, os_monotonic_us() + (uint64_t)patience_s * 1000000);
	if (e != OK)
		agent_close(a);
	return e;
}

/* A no leaves the connection in step; an answer that is none does not. */
static err_t judged(struct agent_client *a, err_t e)
{
	if (e == E_FORMAT || e == E_TRAILING || e == E_UNEXPECTED)
		agent_close(a);
	return e;
}

static err_t finish(struct agent_client *a, struct question *q, err_t e, unsigned patience_s)
{
	e = exchange(a, q, e, patience_s);
	if (e == OK)
		e = judged(a, ag_take_done(buf_bytes(&q->answer)));
	question_done(q);
	return e;
}

/* ---- questions ----------------------------------------------------------------------------------
 */
err_t agent_list_blobs(struct agent_client *a, ag_entry_fn *fn, void *arg)
{
	struct question q;
	question_init(&q);
	err_t e = exchange(a, &q, ag_ask_list(&q.request), PATIENCE_S);
	if (e == OK)
		e = judged(a, ag_take_list(buf_bytes(&q.answer), fn, arg));
	question_done(&q);
	return e;
}

struct plain {
	agent_key_fn *fn;
	void *arg;
};

static void on_blob(void *arg, struct cslice blob, struct cslice comment)
{
	const struct plain *p = arg;
	struct key *k = NULL;
	if (key_parse_blob(&k, blob) == OK)
		p->fn(p->arg, k, comment);
}

err_t agent_list(struct agent_client *a, agent_key_fn *fn, void *arg)
{
	struct plain p = {fn, arg};
	return agent_list_blobs(a, on_blob, &p);
}

static void blob_init(struct buf *blob)
{
	buf_init(blob, AG_FRAME_MAX);
}

err_t agent_sign(struct agent_client *a, const struct key *pub, struct cslice alg,
	struct cslice tbs, struct buf *sig)
{
	struct question q;
	struct buf blob;
	question_init(&q);
	blob_init(&blob);
	err_t e = key_blob_any(pub, &blob);
	if (e == OK)
		e = ag_ask_sign(&q.request, buf_bytes(&blob), tbs, alg);
	e = exchange(a, &q, e, PATIENCE_PERSON_S);
	if (e == OK)
		e = judged(a, ag_take_signature(buf_bytes(&q.answer), alg, sig));
	buf_done(&blob);
	question_done(&q);
	return e;
}

const char *agent_sk_provider(void)
{
	const char *set = getenv("SSH_SK_PROVIDER");
	return set != NULL && set[0] != '\0' ? set : "internal";
}

err_t agent_add(struct agent_client *a, const struct key *k, struct cslice comment,
	const struct ag_limits *limits)
{
	struct question q;
	question_init(&q);
	return finish(a, &q, ag_ask_add(&q.request, k, comment, limits), PATIENCE_PERSON_S);
}

err_t agent_remove(struct agent_client *a, const struct key *pub)
{
	struct question q;
	struct buf blob;
	question_init(&q);
	blob_init(&blob);
	err_t e = key_blob_any(pub, &blob);
	if (e == OK)
		e = ag_ask_remove(&q.request, buf_bytes(&blob));
	buf_done(&blob);
	return finish(a, &q, e, PATIENCE_PERSON_S);
}

err_t agent_remove_all(struct agent_client *a)
{
	struct question q;
	question_init(&q);
	return finish(a, &q, ag_ask_remove_all(&q.request), PATIENCE_PERSON_S);
}

err_t agent_lock(struct agent_client *a, bool is_lock, struct cslice passphrase)
{
	struct question q;
	question_init(&q);
	return finish(a, &q, ag_ask_lock(&q.request, is_lock, passphrase), PATIENCE_PERSON_S);
}

err_t agent_bind(struct agent_client *a, const struct ag_binding *b)
{
	struct question q;
	question_init(&q);
	return finish(a, &q, ag_ask_bind(&q.request, b), PATIENCE_S);
}

err_t agent_extensions(struct agent_client *a, ag_name_fn *fn, void *arg)
{
	struct question q;
	question_init(&q);
	err_t e = exchange(a, &q, ag_ask_extensions(&q.request), PATIENCE_S);
	if (e == OK)
		e = judged(a, ag_take_extensions(buf_bytes(&q.answer), fn, arg));
	question_done(&q);
	return e;
}
