/* SPDX-License-Identifier: ISC */
/* keyfile - key files on disk: permission rule, passphrase question, safe replacement */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/common/keyfile.h"
#include "base/text.h"

#define OTHERS_MASK 077
#define LINKS_MAX   40

static err_t from_errno(void)
{
	return errno == ENOENT || errno == ENOTDIR ? E_NOT_FOUND
	       : errno == EACCES                   ? E_PERMISSION
						   : E_IO;
}

const char *keyfile_reason(err_t e)
{
	if (e == E_NOT_FOUND || e == E_IO || (e == E_PERMISSION && errno != 0))
		return strerror(errno);
	return e == E_PERMISSION ? "bad permissions" : err_text(e);
}

static err_t read_fd(int fd, struct buf *out)
{
	for (;;) {
		uint8_t part[4096];
		ssize_t n = read(fd, part, sizeof(part));
		if (n < 0 && errno == EINTR)
			continue;
		if (n > 0 && (size_t)n <= KEYFILE_MAX && out->n <= KEYFILE_MAX - (size_t)n)
			buf_put(out, part, (size_t)n);
		wipe(part, sizeof(part));
		if (n < 0)
			return from_errno();
		if (n == 0)
			return buf_err(out);
		if (out->n > KEYFILE_MAX - (size_t)n)
			return E_LIMIT;
	}
}

/* open and fstat; a directory is an error. */
static err_t open_file(const char *path, int *out, struct stat *st)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return from_errno();
	if (fstat(fd, st) < 0 || S_ISDIR(st->st_mode)) {
		int saved = S_ISDIR(st->st_mode) ? EISDIR : errno;
		(void)close(fd);
		errno = saved;
		return E_IO;
	}
	*out = fd;
	return OK;
}

static err_t read_all(const char *path, struct buf *out, struct stat *st)
{
	int fd = -1;
	errno = 0;
	TRY(open_file(path, &fd, st));
	err_t e = read_fd(fd, out);
	int saved = errno;
	(void)close(fd);
	errno = saved;
	return e;
}

err_t keyfile_read(const char *path, struct buf *out)
{
	struct stat st;
	return read_all(path, out, &st);
}

static const char box_rule[] = "@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@\n";

/* Somebody else's file is not our business: it may be readable through its group on purpose. */
static err_t check_mode(const char *path, const struct stat *st, struct buf *why)
{
	if (st->st_uid != getuid() || (st->st_mode & OTHERS_MASK) == 0)
		return OK;
	if (why != NULL) {
		buf_printf(why, "%s@         WARNING: UNPROTECTED PRIVATE KEY FILE!          @\n%s",
			box_rule, box_rule);
		buf_printf(why, "Permissions 0%3.3o for '%s' are too open.\n",
			(unsigned)st->st_mode & 0777, path);
		buf_printf(why,
			"It is required that your private key files are NOT accessible by others.\n"
			"This private key will be ignored.\n");
	}
	errno = 0;
	return E_PERMISSION;
}

err_t keyfile_parse_private(struct key **out, const char *path, struct cslice text,
	const struct keyfile_ask *ask, struct buf *comment)
{
	err_t e = key_read_private(out, text, cslice_of(NULL, 0), comment);
	for (uint32_t try = 0;
		e == E_PASSPHRASE && ask != NULL && ask->fn != NULL && try < ask->tries; try++) {
		struct buf passphrase;
		buf_init(&passphrase, 8192);
		err_t asked = ask->fn(ask->arg, path, try, &passphrase);
		bool has_answer = asked == OK && passphrase.n > 0;
		if (has_answer)
			e = key_read_private(out, text, buf_bytes(&passphrase), comment);
		buf_done(&passphrase);
		if (asked != OK)
			return asked;
		if (!has_answer)
			break;
	}
	return e;
}

err_t keyfile_load_private(struct key **out, const char *path, const struct keyfile_ask *ask,
	struct buf *comment, struct buf *why)
{
	struct stat st;
	struct buf text;
	buf_init(&text, KEYFILE_MAX);
	err_t e = read_all(path, &text, &st);
	if (e == OK)
		e = check_mode(path, &st, why);
	if (e == OK)
		e = keyfile_parse_private(out, path, buf_bytes(&text), ask, comment);
	bool has_words = ask != NULL && ask->before != NULL && ask->after != NULL;
	if (e != OK && e != E_CANCELLED && why != NULL)
		buf_printf(why, "%s%s%s%s\n", has_words ? ask->before : "Load key \"", path,
			has_words ? ask->after : "\": ", keyfile_reason(e));
	int saved = errno;
	buf_done(&text);
	errno = saved;
	return e;
}

/* The first line that holds a public key. */
static err_t public_text(struct key **out, struct cslice text, struct buf *comment)
{
	err_t e = E_KEY_FORMAT;
	while (text.n > 0 && e != OK) {
		const uint8_t *lf = memchr(text.p, '\n', text.n);
		size_t n = lf != NULL ? (size_t)(lf - text.p) : text.n;
		size_t eaten = lf != NULL ? n + 1 : n;
		if (n > 0 && text.p[0] != '#') {
			err_t one = key_parse_public_line(out, cslice_of(text.p, n), comment);
			if (one == OK || e == E_KEY_FORMAT)
				e = one;
		}
		text = cslice_of(text.p + eaten, text.n - eaten);
	}
	return e;
}

static err_t public_file(
	struct key **out, const char *path, const char *suffix, struct buf *comment)
{
	char *name = NULL;
	struct buf text;
	if (asprintf(&name, "%s%s", path, suffix) < 0)
		return E_MEM;
	buf_init(&text, KEYFILE_MAX);
	err_t e = keyfile_read(name, &text);
	if (e == OK)
		e = public_text(out, buf_bytes(&text), comment);
	int saved = errno;
	buf_done(&text);
	free(name);
	errno = saved;
	return e;
}

err_t keyfile_load_public(struct key **out, const char *path, struct buf *comment)
{
	struct buf text, beside_comment, inner_comment;
	struct key *inner = NULL, *beside = NULL;
	if (public_file(out, path, "", comment) == OK)
		return OK;
	buf_init(&text, KEYFILE_MAX);
	buf_init(&beside_comment, KEYFILE_MAX);
	buf_init(&inner_comment, KEYFILE_MAX);
	err_t e = keyfile_read(path, &text);
	int saved = errno;
	if (e == OK)
		e = key_read_private_public(&inner, buf_bytes(&text), &inner_comment);
	bool has_beside = public_file(&beside, path, ".pub", &beside_comment) == OK &&
			  (inner == NULL || key_equal_public(inner, beside));
	const struct buf *words =
		has_beside && beside_comment.n > 0 ? &beside_comment : &inner_comment;
	struct key *chosen = inner != NULL ? inner : has_beside ? beside : NULL;
	if (chosen != NULL && comment != NULL)
		buf_put(comment, words->p, words->n);
	if (chosen != NULL)
		e = comment != NULL ? buf_err(comment) : OK;
	if (e == OK)
		*out = chosen;
	if (inner != chosen || e != OK)
		key_free(inner);
	if (beside != chosen || e != OK)
		key_free(beside);
	buf_done(&inner_comment);
	buf_done(&beside_comment);
	buf_done(&text);
	errno = saved;
	return e;
}

/* ---- writing
 * ----------------------------------------------------------------------------------------------------
 */
static err_t write_all(int fd, struct cslice bytes)
{
	while (bytes.n > 0) {
		ssize_t n = write(fd, bytes.p, bytes.n);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return E_IO;
		bytes = cslice_of(bytes.p + n, bytes.n - (size_t)n);
	}
	return OK;
}

/* The directory entry is on disk too, where the system can do that. */
static void sync_directory(const char *path)
{
	char dir[PATH_MAX];
	const char *slash = strrchr(path, '/');
	int n = snprintf(dir, sizeof(dir), "%.*s", slash != NULL ? (int)(slash - path) + 1 : 1,
		slash != NULL ? path : ".");
	int fd = n > 0 && (size_t)n < sizeof(dir) ? open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
						  : -1;
	if (fd < 0)
		return;
	(void)fsync(fd);
	(void)close(fd);
}

static err_t fill_temporary(int fd, const char *target, struct cslice bytes, uint32_t mode)
{
	struct stat old;
	if (fchmod(fd, mode) < 0)
		return E_IO;
	/* root changes a user's key: it stays the user's */
	if (geteuid() == 0 && stat(target, &old) == 0 && fchown(fd, old.st_uid, old.st_gid) < 0)
		return E_IO;
	TRY(write_all(fd, bytes));
	return fsync(fd) == 0 ? OK : E_IO;
}

void keyfile_drop(struct keyfile_staged *s)
{
	int saved = errno;
	if (s->temporary != NULL)
		(void)unlink(s->temporary);
	free(s->temporary);
	free(s->target);
	*s = (struct keyfile_staged){NULL, NULL};
	errno = saved;
}

/* /dev/stdout, a pipe, a device: what stands there is written into, never taken the place of. */
static bool is_special(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
}

static err_t write_special(const char *path, struct cslice bytes)
{
	int fd = open(path, O_WRONLY | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return E_IO;
	err_t e = write_all(fd, bytes);
	int saved = errno;
	if (close(fd) < 0 && e == OK) {
		saved = errno;
		e = E_IO;
	}
	errno = saved;
	return e;
}

/* Where a link points, seen from its own directory. */
static char *link_goal(const char *path)
{
	char goal[PATH_MAX], *whole = NULL;
	ssize_t n = readlink(path, goal, sizeof(goal) - 1);
	if (n < 0)
		return NULL;
	goal[n] = '\0';
	const char *slash = strrchr(path, '/');
	int dir = goal[0] != '/' && slash != NULL ? (int)(slash - path) + 1 : 0;
	return asprintf(&whole, "%.*s%s", dir, path, goal) < 0 ? NULL : whole;
}

/* The file that path leads to, there or not; NULL and errno. */
static char *target_of(const char *path)
{
	char *found = realpath(path, NULL), *at;
	struct stat st;
	if (found != NULL || errno != ENOENT)
		return found;
	at = strdup(path);
	for (int i = 0; at != NULL && lstat(at, &st) == 0 && S_ISLNK(st.st_mode); i++) {
		char *next = i < LINKS_MAX ? link_goal(at) : NULL;
		free(at);
		at = next;
	}
	return at;
}

err_t keyfile_stage(struct keyfile_staged *s, const char *path, struct cslice bytes, uint32_t mode)
{
	if (is_special(path)) {
		TRY(write_special(path, bytes));
		*s = (struct keyfile_staged){NULL, NULL}; /* nothing is left to be committed */
		return OK;
	}
	struct keyfile_staged made = {.target = target_of(path)};
	if (made.target == NULL)
		return E_IO;
	char *name = NULL;
	if (asprintf(&name, "%s.XXXXXXXXXX", made.target) < 0) {
		free(made.target);
		return E_MEM;
	}
	int fd = mkostemp(name, O_CLOEXEC);
	if (fd < 0) {
		free(name);
		keyfile_drop(&made);
		return E_IO;
	}
	made.temporary = name;
	err_t e = fill_temporary(fd, made.target, bytes, mode);
	int saved = errno;
	if (close(fd) < 0 && e == OK) {
		saved = errno;
		e = E_IO;
	}
	errno = saved;
	if (e == OK)
		*s = made;
	else
		keyfile_drop(&made);
	return e;
}

err_t keyfile_commit(struct keyfile_staged *s)
{
	if (s->temporary == NULL)
		return OK;
	err_t e = rename(s->temporary, s->target) == 0 ? OK : E_IO;
	if (e == OK) {
		sync_directory(s->target);
		free(s->temporary);
		s->temporary = NULL; /* it is the file now */
	}
	keyfile_drop(s);
	return e;
}

/* Out of the way, to come back when the private file cannot be replaced.  *aside: owned; NULL =
 * there was none. */
static err_t set_aside(const char *target, char **aside)
{
	char *name = NULL;
	if (access(target, F_OK) < 0)
		return OK;
	if (asprintf(&name, "%s.XXXXXXXXXX", target) < 0)
		return E_MEM;
	int fd = mkostemp(name, O_CLOEXEC); /* a name of our own */
	if (fd >= 0)
		(void)close(fd);
	if (fd < 0 || rename(target, name) != 0) {
		int saved = errno;
		if (fd >= 0)
			(void)unlink(name);
		free(name);
		errno = saved;
		return E_IO;
	}
	sync_directory(target);
	*aside = name;
	return OK;
}

err_t keyfile_commit_pair(
	struct keyfile_staged *private, struct keyfile_staged *public, bool *is_private_in)
{
	char *aside = NULL;
	bool has_public = public->temporary != NULL && private->temporary != NULL;
	char *target = has_public ? strdup(public->target) : NULL;
	*is_private_in = false;
	if (has_public && target == NULL)
		return E_MEM;
	err_t e = has_public ? set_aside(target, &aside) : OK;
	if (e == OK)
		e = keyfile_commit(private);
	*is_private_in = e == OK;
	int saved = errno;
	if (e != OK && aside != NULL)
		(void)rename(aside, target);
	if (e == OK)
		e = keyfile_commit(public);
	saved = *is_private_in ? errno : saved;
	if (*is_private_in && aside != NULL)
		(void)unlink(aside);
	free(aside);
	free(target);
	errno = saved;
	return e;
}

err_t keyfile_replace(const char *path, struct cslice bytes, uint32_t mode)
{
	struct keyfile_staged s = {NULL, NULL};
	TRY(keyfile_stage(&s, path, bytes, mode));
	return keyfile_commit(&s);
}
