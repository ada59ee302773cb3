/* SPDX-License-Identifier: ISC */
/*
 * account - accounts looked up in a process of its own
 *
 * A look-up leaves things behind: lines of the shadow file in buffers of the C library, and the
 * name-service libraries.  Neither may stay in a monitor that sleeps for hours, less so in the
 * session process, which is the user's.  So a child asks, writes the answer into a pipe and ends.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "app/sshd/account.h"
#include "base/secret.h"
#include "base/text.h"
#include "wire/codec.h"

#define ANSWER_MAX ((size_t)1 << 20)
#define READ_SIZE  ((size_t)4096)

typedef err_t ask_fn(const char *name, struct buf *answer);

/* ---- in the child ---- */
static err_t ask_account(const char *name, struct buf *answer)
{
	struct os_user u;
	struct buf groups;
	TRY(user_find(name, &u));
	buf_init(&groups, ANSWER_MAX);
	err_t e = user_group_names(&u, &groups);
	const char *const texts[] = {u.name, u.home, u.shell, u.hash};
	for (size_t i = 0; i < ARRAY_N(texts); i++)
		buf_put_cstring(answer, texts[i]);
	buf_put_u32(answer, u.uid);
	buf_put_u32(answer, u.gid);
	buf_put_u32(answer, (uint32_t)u.expiry);
	buf_put_string(answer, buf_bytes(&groups));
	for (size_t i = 0; i < u.groups_n; i++)
		buf_put_u32(answer, u.groups[i]);
	buf_done(&groups);
	user_done(&u);
	return e == OK ? buf_err(answer) : e;
}

static err_t ask_typical_hash(const char *name, struct buf *answer)
{
	return user_typical_hash(answer);
}

static NORETURN void be_asker(int fd, ask_fn *ask, const char *name)
{
	struct buf answer;
	buf_init(&answer, ANSWER_MAX);
	buf_put_u32(&answer, OK);
	err_t e = ask(name, &answer);
	if (e != OK) {
		buf_clear(&answer);
		buf_put_u32(&answer, (uint32_t)e);
	}
	for (size_t at = 0; at < answer.n;) {
		ssize_t n = write(fd, answer.p + at, answer.n - at);
		if (n < 0 && errno != EINTR)
			_exit(1);
		at += n > 0 ? (size_t)n : 0;
	}
	_exit(buf_err(&answer) == OK ? 0 : 1);
}

/* ---- in the process that wants to know ---- */
static err_t read_answer(int fd, struct buf *answer)
{
	for (;;) {
		uint8_t *room = buf_room(answer, READ_SIZE);
		if (room == NULL)
			return buf_err(answer);
		ssize_t n = read(fd, room, READ_SIZE);
		answer->n -= READ_SIZE - (n > 0 ? (size_t)n : 0);
		if (n < 0 && errno != EINTR)
			return E_IO;
		if (n == 0)
			return OK;
	}
}

/* Only a child that ended well is believed. */
static err_t wait_for(pid_t pid)
{
	int status;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return E_IO;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? OK : E_IO;
}

/* The answer, behind its verdict. */
static err_t ask_apart(ask_fn *ask, const char *name, struct buf *answer)
{
	int fds[2];
	if (pipe2(fds, O_CLOEXEC) != 0)
		return E_IO;
	pid_t pid = fork();
	if (pid == 0)
		be_asker(fds[1], ask, name);
	(void)close(fds[1]);
	err_t e = pid > 0 ? read_answer(fds[0], answer) : E_IO;
	(void)close(fds[0]);
	err_t ended = pid > 0 ? wait_for(pid) : E_IO;
	TRY(e);
	TRY(ended);
	struct rd r = rd_of(buf_bytes(answer));
	uint32_t verdict = rd_u32(&r);
	if (r.bad || verdict >= ERR_N)
		return E_IO;
	return (err_t)verdict;
}

static err_t take_groups(struct rd *r, struct os_user *u)
{
	u->groups_n = r->n / sizeof(uint32_t);
	u->groups = calloc(u->groups_n + 1, sizeof(*u->groups));
	if (u->groups == NULL)
		return E_MEM;
	for (size_t i = 0; i < u->groups_n; i++)
		u->groups[i] = rd_u32(r);
	return rd_end(r);
}

static err_t take_account(struct rd *r, struct os_user *out, struct buf *groups)
{
	struct os_user u = {.expiry = USER_EXPIRED};
	char **const texts[] = {&u.name, &u.home, &u.shell, &u.hash};
	err_t e = OK;
	for (size_t i = 0; i < ARRAY_N(texts) && e == OK; i++)
		e = text_dup(rd_text(r), texts[i]);
	u.uid = rd_u32(r);
	u.gid = rd_u32(r);
	uint32_t expiry = rd_u32(r);
	struct cslice names = rd_str(r);
	if (e == OK)
		e = r->bad || expiry > USER_CURRENT ? E_FORMAT : take_groups(r, &u);
	if (e != OK) {
		user_done(&u);
		return e;
	}
	u.expiry = (enum user_expiry)expiry;
	buf_put(groups, names.p, names.n);
	*out = u;
	return OK;
}

err_t account_find(const char *name, struct os_user *out, struct buf *groups)
{
	struct buf answer;
	buf_init(&answer, ANSWER_MAX + READ_SIZE);
	err_t e = ask_apart(ask_account, name, &answer);
	struct rd r = rd_of(buf_bytes(&answer));
	if (e == OK && rd_u32(&r) == OK)
		e = take_account(&r, out, groups);
	buf_done(&answer);
	return e;
}

err_t account_typical_hash(struct buf *out)
{
	struct buf answer;
	buf_init(&answer, ANSWER_MAX + READ_SIZE);
	err_t e = ask_apart(ask_typical_hash, "", &answer);
	if (e == OK)
		buf_put(out, answer.p + sizeof(uint32_t), answer.n - sizeof(uint32_t));
	buf_done(&answer);
	return e == OK ? buf_err(out) : e;
}
