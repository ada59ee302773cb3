/* SPDX-License-Identifier: ISC */
/* drop - giving up what a process does not need: root directory, identity, being looked at */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/drop.h"

#define NOBODY 65534

/* The leak check of the sanitizers looks at its own process from outside. */
#if defined(__SANITIZE_ADDRESS__)
#define IS_DUMPABLE 1
#else
#define IS_DUMPABLE 0
#endif

void drop_dumpable(void)
{
	struct rlimit none = {0, 0};
	(void)prctl(PR_SET_DUMPABLE, IS_DUMPABLE, 0, 0, 0);
	(void)setrlimit(RLIMIT_CORE, &none);
}

err_t drop_new_privs(void)
{
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 ? OK : E_IO;
}

/* An open directory that is root's, closed to others for writing, and empty; else -1. */
static int open_suitable(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	struct stat st;
	if (fd < 0)
		return -1;
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
	bool is_good =
		dir != NULL && fstat(fd, &st) == 0 && st.st_uid == 0 && (st.st_mode & 022) == 0;
	while (is_good) {
		errno = 0;
		const struct dirent *e = readdir(dir);
		if (e == NULL) {
			is_good = errno == 0;
			break;
		}
		is_good = strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0;
	}
	if (dir != NULL)
		(void)closedir(dir);
	else if (copy >= 0)
		(void)close(copy);
	if (is_good)
		return fd;
	(void)close(fd);
	return -1;
}

static err_t enter(int fd)
{
	bool is_in = fchdir(fd) == 0 && chroot(".") == 0 && chdir("/") == 0;
	(void)close(fd);
	return is_in ? OK : E_IO;
}

static err_t enter_own(const char *parent)
{
	char path[64];
	(void)snprintf(path, sizeof(path), "%s/sshd-empty.XXXXXX", parent);
	if (mkdtemp(path) == NULL)
		return E_IO;
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	bool is_gone = rmdir(path) == 0;
	if (fd < 0)
		return E_IO;
	if (!is_gone) {
		(void)close(fd);
		return E_IO;
	}
	return enter(fd);
}

err_t drop_into_empty_root(void)
{
	static const char *const known[] = {"/var/empty", "/run/sshd"};
	static const char *const parents[] = {"/run", "/tmp", "/var/tmp"};
	for (size_t i = 0; i < ARRAY_N(known); i++) {
		int fd = open_suitable(known[i]);
		if (fd >= 0)
			return enter(fd);
	}
	for (size_t i = 0; i < ARRAY_N(parents); i++)
		if (enter_own(parents[i]) == OK)
			return OK;
	return E_IO;
}

err_t drop_identity(uint32_t uid, uint32_t gid)
{
	if (uid == 0 || gid == 0)
		return E_BUG;
	if (setgroups(0, NULL) != 0 || setresgid(gid, gid, gid) != 0 ||
		setresuid(uid, uid, uid) != 0)
		return E_IO;
	/* A way back would be a hole: it must fail. */
	if (setuid(0) == 0 || setgid(0) == 0 || getuid() != uid || geteuid() != uid ||
		getgid() != gid || getegid() != gid)
		return E_IO;
	return OK;
}

void drop_net_account(uint32_t *uid, uint32_t *gid)
{
	const struct passwd *pw = getpwnam("sshd");
	if (pw == NULL || pw->pw_uid == 0 || pw->pw_gid == 0)
		pw = getpwnam("nobody");
	bool is_usable = pw != NULL && pw->pw_uid != 0 && pw->pw_gid != 0;
	*uid = is_usable ? pw->pw_uid : NOBODY;
	*gid = is_usable ? pw->pw_gid : NOBODY;
}
