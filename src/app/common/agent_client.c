/* SPDX-License-Identifier: ISC */
/* agent_client - keys and signatures from a running agent */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "app/common/agent_client.h"
#include "wire/codec.h"

#define MESSAGE_MAX ((size_t)256 * 1024)
#define KEYS_MAX    2048

enum { AGENT_REQUEST_IDENTITIES = 11, AGENT_IDENTITIES = 12, AGENT_SIGN = 13, AGENT_SIGNED = 14 };
enum { AGENT_RSA_SHA256 = 2, AGENT_RSA_SHA512 = 4 };

err_t agent_connect(struct agent_client *a, const char *path)
{
	struct sockaddr_un sa = {.sun_family = AF_UNIX};
	if (strlen(path) >= sizeof(sa.sun_path))
		return E_LIMIT;
	memcpy(sa.sun_path, path, strlen(path));
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return E_IO;
	if (connect(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0) {
		err_t e = errno == EACCES ? E_PERMISSION : E_NOT_FOUND;
		close(fd);
		return e;
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

static err_t write_all(int fd, const uint8_t *p, size_t n)
{
	while (n > 0) {
		ssize_t done = send(fd, p, n, MSG_NOSIGNAL);
		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return E_IO;
		p += done;
		n -= (size_t)done;
	}
	return OK;
}

static err_t read_all(int fd, uint8_t *p, size_t n)
{
	while (n > 0) {
		ssize_t got = read(fd, p, n);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return E_IO;
		p += got;
		n -= (size_t)got;
	}
	return OK;
}

/* Sends a message (with its number) and appends the answer's bytes, number included. */
static err_t exchange(struct agent_client *a, const struct buf *request, struct buf *answer)
{
	uint8_t length[4];
	TRY(buf_err(request));
	be32_put(length, (uint32_t)request->n);
	TRY(write_all(a->fd, length, sizeof(length)));
	TRY(write_all(a->fd, request->p, request->n));
	TRY(read_all(a->fd, length, sizeof(length)));
	uint32_t n = be32_get(length);
	if (n == 0 || n > MESSAGE_MAX)
		return E_FORMAT;
	uint8_t *room = buf_room(answer, n);
	if (room == NULL)
		return buf_err(answer);
	return read_all(a->fd, room, n);
}

static err_t take_list(struct cslice answer, agent_key_fn *fn, void *arg)
{
	struct rd r = rd_of(answer);
	if (rd_u8(&r) != AGENT_IDENTITIES)
		return E_DENIED;
	uint32_t n = rd_u32(&r);
	if (n > KEYS_MAX)
		return E_LIMIT;
	for (uint32_t i = 0; i < n; i++) {
		struct cslice blob = rd_str(&r), comment = rd_str(&r);
		struct key *k = NULL;
		if (r.bad)
			return E_FORMAT;
		if (key_parse_blob(&k, blob) == OK)
			fn(arg, k, comment);
	}
	return rd_end(&r);
}

err_t agent_list(struct agent_client *a, agent_key_fn *fn, void *arg)
{
	struct buf request, answer;
	buf_init(&request, 16);
	buf_init(&answer, MESSAGE_MAX);
	buf_put_u8(&request, AGENT_REQUEST_IDENTITIES);
	err_t e = exchange(a, &request, &answer);
	if (e == OK)
		e = take_list(buf_bytes(&answer), fn, arg);
	buf_done(&request);
	buf_done(&answer);
	return e;
}

static uint32_t flags_of(struct cslice alg)
{
	if (cslice_eq_str(alg, "rsa-sha2-256"))
		return AGENT_RSA_SHA256;
	return cslice_eq_str(alg, "rsa-sha2-512") ? AGENT_RSA_SHA512 : 0;
}

static err_t take_signature(struct cslice answer, struct cslice alg, struct buf *sig)
{
	struct rd r = rd_of(answer);
	if (rd_u8(&r) != AGENT_SIGNED)
		return E_DENIED;
	struct cslice blob = rd_str(&r);
	TRY(rd_end(&r));
	/* An old agent answers an rsa-sha2 request with an ssh-rsa signature: nothing that was
	 * asked for. */
	struct rd inner = rd_of(blob);
	if (!cslice_eq(rd_str(&inner), alg))
		return E_UNSUPPORTED;
	buf_put(sig, blob.p, blob.n);
	return buf_err(sig);
}

err_t agent_sign(struct agent_client *a, const struct key *pub, struct cslice alg,
	struct cslice tbs, struct buf *sig)
{
	struct buf request, answer, blob;
	buf_init(&request, MESSAGE_MAX);
	buf_init(&answer, MESSAGE_MAX);
	buf_init(&blob, MESSAGE_MAX);
	err_t e = key_blob(pub, &blob);
	buf_put_u8(&request, AGENT_SIGN);
	buf_put_string(&request, buf_bytes(&blob));
	buf_put_string(&request, tbs);
	buf_put_u32(&request, flags_of(alg));
	if (e == OK)
		e = exchange(a, &request, &answer);
	if (e == OK)
		e = take_signature(buf_bytes(&answer), alg, sig);
	buf_done(&request);
	buf_done(&answer);
	buf_done(&blob);
	return e;
}
