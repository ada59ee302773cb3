/* SPDX-License-Identifier: ISC */
/* agent_socket - where agents listen: sockets below ~/.ssh/agent (compat 2.7) */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "app/common/agent_socket.h"
#include "crypto/crypto.h"
#include "os/file.h"

#define NAME_CHARS 10
#define BACKLOG    128
#define OLD_S      3600
#define TRIES      16
#define STABLE     "/.ssh/agent/stable.sock"
#define HOST_MAX   256

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

static err_t fail(struct buf *why, const char *what, const char *path)
{
	int code = errno;
	if (why != NULL)
		buf_printf(why, "%s %s: %s", what, path, strerror(code));
	return code == EACCES || code == EPERM ? E_PERMISSION : E_IO;
}

static err_t address(const char *path, struct sockaddr_un *out, struct buf *why)
{
	*out = (struct sockaddr_un){.sun_family = AF_UNIX};
	if (strlen(path) >= sizeof(out->sun_path)) {
		if (why != NULL)
			buf_printf(why, "the path of the socket is longer than %zu bytes: %s",
				sizeof(out->sun_path) - 1, path);
		return E_LIMIT;
	}
	memcpy(out->sun_path, path, strlen(path));
	return OK;
}

err_t agent_socket_at(const char *path, int *fd, struct buf *why)
{
	struct sockaddr_un sa;
	TRY(address(path, &sa, why));
	int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (s < 0)
		return fail(why, "cannot make the socket", path);
	mode_t before = umask(0177);
	int failed = bind(s, (struct sockaddr *)&sa, sizeof(sa));
	(void)umask(before);
	if (failed != 0 || listen(s, BACKLOG) != 0) {
		err_t e = fail(why, "cannot listen at", path);
		(void)close(s);
		return e;
	}
	*fd = s;
	return OK;
}

/* Ten characters that stand for this host. */
static err_t host_word(char out[NAME_CHARS + 1])
{
	char host[HOST_MAX] = "";
	uint8_t hash[HASH_MAX];
	if (gethostname(host, sizeof(host) - 1) != 0)
		return E_IO;
	TRY(hash_once(HASH_SHA512, cslice_str(host), hash));
	for (size_t i = 0; i < NAME_CHARS; i++)
		out[i] = alphabet[hash[i] % (sizeof(alphabet) - 1)];
	out[NAME_CHARS] = '\0';
	return OK;
}

static err_t directory(const char *home, struct buf *path, struct buf *why)
{
	static const char *const parts[] = {"/.ssh", "/agent"};
	size_t before = path->n;
	buf_put(path, home, strlen(home));
	for (size_t i = 0; i < ARRAY_N(parts); i++) {
		buf_put(path, parts[i], strlen(parts[i]) + 1);
		TRY(buf_err(path));
		const char *name = (const char *)path->p + before;
		if (os_dir_make(name, 0700) != OK)
			return fail(why, "cannot make the directory", name);
		path->n--; /* the NUL is behind */
	}
	return OK;
}

err_t agent_socket_make(
	const struct agent_socket_new *s, struct buf *path, int *fd, struct buf *why)
{
	char host[NAME_CHARS + 1], random[NAME_CHARS + 1] = "";
	size_t before = path->n;
	TRY(host_word(host));
	err_t e = directory(s->home, path, why);
	size_t folder_n = path->n;
	for (unsigned i = 0; e == OK && i < TRIES; i++) {
		for (size_t at = 0; at < NAME_CHARS; at++)
			random[at] = alphabet[rng_below(s->rng, sizeof(alphabet) - 1)];
		path->n = folder_n;
		buf_printf(path, "/s.%s.%s.%s", host, s->word, random);
		e = buf_err(path);
		const char *name = (const char *)path->p + before;
		if (e == OK && access(name, F_OK) == 0)
			continue;
		if (e == OK)
			e = agent_socket_at(name, fd, why);
		if (e == OK)
			return OK;
	}
	path->n = before;
	return e == OK ? E_LIMIT : e;
}

err_t agent_socket_stable(const char *home, struct buf *path, struct buf *why)
{
	size_t before = path->n;
	TRY(directory(home, path, why));
	path->n = before;
	buf_printf(path, "%s" STABLE, home);
	return buf_err(path);
}

static bool is_abandoned(const char *path)
{
	struct stat st;
	struct sockaddr_un sa;
	if (lstat(path, &st) != 0 || !S_ISSOCK(st.st_mode) || st.st_uid != geteuid() ||
		time(NULL) - st.st_mtime < OLD_S || address(path, &sa, NULL) != OK)
		return false;
	int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s < 0)
		return false;
	bool is_refused =
		connect(s, (struct sockaddr *)&sa, sizeof(sa)) != 0 && errno == ECONNREFUSED;
	(void)close(s);
	return is_refused;
}

void agent_sockets_clean(const char *home, bool any_host)
{
	char host[NAME_CHARS + 1];
	struct buf path;
	if (host_word(host) != OK)
		return;
	buf_init(&path, 65536);
	buf_printf(&path, "%s/.ssh/agent", home);
	DIR *dir = buf_err(&path) == OK ? opendir((const char *)path.p) : NULL;
	for (const struct dirent *d = dir != NULL ? readdir(dir) : NULL; d != NULL;
		d = readdir(dir)) {
		bool is_ours = strncmp(d->d_name, "s.", 2) == 0 &&
			       (any_host || (strncmp(d->d_name + 2, host, NAME_CHARS) == 0 &&
						    d->d_name[2 + NAME_CHARS] == '.'));
		if (!is_ours)
			continue;
		buf_clear(&path);
		buf_printf(&path, "%s/.ssh/agent/%s", home, d->d_name);
		if (buf_err(&path) == OK && is_abandoned((const char *)path.p))
			(void)unlink((const char *)path.p);
	}
	if (dir != NULL)
		(void)closedir(dir);
	buf_done(&path);
}
