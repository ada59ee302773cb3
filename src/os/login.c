/* SPDX-License-Identifier: ISC */
/* login - the records of who is logged in: utmp, wtmp, lastlog */
#include <arpa/inet.h>
#include <fcntl.h>
#include <lastlog.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
#include <utmp.h>
#include <utmpx.h>

#include "os/login.h"

#define BTMP_FILE "/var/log/btmp"

/* The records are fixed fields without a NUL when full. */
static void field(char *to, size_t size, const char *from)
{
	size_t n = strnlen(from, size);
	memset(to, 0, size);
	memcpy(to, from, n);
}

static const char *short_tty(const char *tty)
{
	return strncmp(tty, "/dev/", 5) == 0 ? tty + 5 : tty;
}

void login_last_get(uint32_t uid, struct login_last *out)
{
	struct lastlog record;
	struct login_last last = {0};
	int fd = open(_PATH_LASTLOG, O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && pread(fd, &record, sizeof(record), (off_t)uid * (off_t)sizeof(record)) ==
			       sizeof(record)) {
		last.time_s = (uint64_t)(uint32_t)record.ll_time;
		(void)snprintf(last.tty, sizeof(last.tty), "%.*s", (int)sizeof(record.ll_line),
			record.ll_line);
		(void)snprintf(last.host, sizeof(last.host), "%.*s",
			(int)sizeof(record.ll_host) - 1, record.ll_host);
	}
	if (fd >= 0)
		(void)close(fd);
	*out = last;
}

static void put_last(uint32_t uid, const char *tty, const char *host)
{
	struct lastlog record = {0};
	int fd = open(_PATH_LASTLOG, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	record.ll_time = (__typeof__(record.ll_time))time(NULL);
	field(record.ll_line, sizeof(record.ll_line), short_tty(tty));
	field(record.ll_host, sizeof(record.ll_host), host);
	ssize_t n = pwrite(fd, &record, sizeof(record), (off_t)uid * (off_t)sizeof(record));
	(void)n; /* best effort */
	(void)close(fd);
}

static void make(struct utmpx *u, short type, const char *tty, pid_t pid)
{
	struct timeval now;
	(void)gettimeofday(&now, NULL);
	memset(u, 0, sizeof(*u));
	u->ut_type = type;
	u->ut_pid = pid;
	u->ut_tv.tv_sec = (__typeof__(u->ut_tv.tv_sec))now.tv_sec;
	u->ut_tv.tv_usec = (__typeof__(u->ut_tv.tv_usec))now.tv_usec;
	const char *line = short_tty(tty);
	size_t n = strlen(line);
	field(u->ut_line, sizeof(u->ut_line), line);
	field(u->ut_id, sizeof(u->ut_id),
		n > sizeof(u->ut_id) ? line + n - sizeof(u->ut_id) : line);
}

static void put_host(struct utmpx *u, const char *host)
{
	field(u->ut_host, sizeof(u->ut_host), host);
	if (inet_pton(AF_INET, host, u->ut_addr_v6) != 1)
		(void)inet_pton(AF_INET6, host, u->ut_addr_v6);
}

static void write_utmp(const struct utmpx *u)
{
	if (access(_PATH_UTMP, W_OK) == 0) {
		setutxent();
		(void)pututxline(u);
		endutxent();
	}
	if (access(_PATH_WTMP, W_OK) == 0)
		updwtmpx(_PATH_WTMP, u);
}

void login_begin(const char *tty, const char *user, uint32_t uid, const char *host, pid_t pid)
{
	struct utmpx u;
	if (geteuid() != 0)
		return;
	make(&u, USER_PROCESS, tty, pid);
	field(u.ut_user, sizeof(u.ut_user), user);
	put_host(&u, host);
	write_utmp(&u);
	put_last(uid, tty, host);
}

void login_end(const char *tty, pid_t pid)
{
	struct utmpx u;
	if (geteuid() != 0)
		return;
	make(&u, DEAD_PROCESS, tty, pid);
	write_utmp(&u);
}

void login_failed(const char *user, const char *host, pid_t pid)
{
	struct utmpx u;
	if (geteuid() != 0 || access(BTMP_FILE, W_OK) != 0)
		return;
	make(&u, LOGIN_PROCESS, "ssh:notty", pid);
	field(u.ut_user, sizeof(u.ut_user), user);
	put_host(&u, host);
	updwtmpx(BTMP_FILE, &u);
}
