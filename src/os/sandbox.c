/* SPDX-License-Identifier: ISC */
/*
 * sandbox - what is left to the network process once it has its descriptors
 *
 * An allow-list: a system call that is not named ends the process, which the monitor sees as a
 * crash.  mmap and mprotect are allowed without PROT_EXEC, so no code can be brought in. Sanitizers
 * need far more than this, so builds with them only have the limits.
 */
#include "build_config.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "os/drop.h"
#include "os/sandbox.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !HAVE_SECCOMP
#define USE_FILTER 0
#else
#define USE_FILTER 1
#endif

#define PROGRAM_MAX 4096 /* instructions (BPF_MAXINSNS) */

struct sandbox {
	size_t n; /* instructions; 0 = no filter in this build */
	struct sock_filter program[PROGRAM_MAX];
};

static err_t limits(void)
{
	struct rlimit none = {0, 0};
	/* Not RLIMIT_FSIZE: in inetd mode the connection may be a file, and no other can be opened.
	 */
	if (setrlimit(RLIMIT_NOFILE, &none) != 0)
		return E_IO;
	(void)setrlimit(RLIMIT_NPROC, &none);
	return OK;
}

#if USE_FILTER
#include <seccomp.h>

static const int allowed[] = {
	SCMP_SYS(read),
	SCMP_SYS(readv),
	SCMP_SYS(recvfrom),
	SCMP_SYS(recvmsg),
	SCMP_SYS(write),
	SCMP_SYS(writev),
	SCMP_SYS(sendto),
	SCMP_SYS(sendmsg),
	SCMP_SYS(shutdown),
	SCMP_SYS(close),
	SCMP_SYS(poll),
	SCMP_SYS(ppoll),
	SCMP_SYS(epoll_wait),
	SCMP_SYS(epoll_pwait),
	SCMP_SYS(epoll_ctl),
	SCMP_SYS(epoll_pwait2),
	SCMP_SYS(clock_gettime),
	SCMP_SYS(clock_getres),
	SCMP_SYS(gettimeofday),
	SCMP_SYS(clock_nanosleep),
	SCMP_SYS(nanosleep),
	SCMP_SYS(time),
	SCMP_SYS(getrandom),
	SCMP_SYS(brk),
	SCMP_SYS(munmap),
	SCMP_SYS(mremap),
	SCMP_SYS(madvise),
	SCMP_SYS(futex),
	SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(rt_sigreturn),
	SCMP_SYS(getpid),
	SCMP_SYS(gettid),
	SCMP_SYS(sched_yield),
	SCMP_SYS(exit),
	SCMP_SYS(exit_group),
	SCMP_SYS(restart_syscall),
};

/* Calls that fail softly: libraries ask, and go on without. */
static const int refused[] = {SCMP_SYS(open), SCMP_SYS(openat), SCMP_SYS(newfstatat),
	SCMP_SYS(fstat), SCMP_SYS(getsockopt), SCMP_SYS(setsockopt), SCMP_SYS(ioctl),
	SCMP_SYS(mlock), SCMP_SYS(sched_getaffinity), SCMP_SYS(sysinfo)};

static err_t add_rules(scmp_filter_ctx ctx)
{
	for (size_t i = 0; i < ARRAY_N(allowed); i++)
		if (seccomp_rule_add(ctx, SCMP_ACT_ALLOW, allowed[i], 0) != 0)
			return E_IO;
	for (size_t i = 0; i < ARRAY_N(refused); i++)
		if (seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EACCES), refused[i], 0) != 0)
			return E_IO;
	if (seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1,
		    SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0)) != 0 ||
		seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1,
			SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0)) != 0 ||
		seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(fcntl), 1,
			SCMP_A1(SCMP_CMP_EQ, F_GETFL)) != 0 ||
		seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(fcntl), 1,
			SCMP_A1(SCMP_CMP_EQ, F_SETFL)) != 0)
		return E_IO;
	return OK;
}

/* The library writes the program to a descriptor only. */
static err_t export(scmp_filter_ctx ctx, struct sandbox *s)
{
	int fd = memfd_create("filter", MFD_CLOEXEC);
	if (fd < 0)
		return E_IO;
	err_t e = seccomp_export_bpf(ctx, fd) == 0 ? OK : E_IO;
	ssize_t n = e == OK ? pread(fd, s->program, sizeof(s->program), 0) : -1;
	(void)close(fd);
	if (n <= 0 || n == sizeof(s->program) || (size_t)n % sizeof(s->program[0]) != 0)
		return E_IO;
	s->n = (size_t)n / sizeof(s->program[0]);
	return OK;
}

static err_t make_filter(struct sandbox *s)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_KILL_PROCESS);
	if (ctx == NULL)
		return E_MEM;
	err_t e = add_rules(ctx);
	if (e == OK)
		e = export(ctx, s);
	seccomp_release(ctx);
	return e;
}
#else
static err_t make_filter(struct sandbox *s)
{
	s->n = 0;
	return OK;
}
#endif

err_t sandbox_new(struct sandbox **out)
{
	struct sandbox *s = calloc(1, sizeof(*s));
	if (s == NULL)
		return E_MEM;
	err_t e = make_filter(s);
	if (e != OK) {
		free(s);
		return e;
	}
	*out = s;
	return OK;
}

void sandbox_free(struct sandbox *s)
{
	free(s);
}

bool sandbox_has_filter(const struct sandbox *s)
{
	return s->n > 0;
}

err_t sandbox_enter(const struct sandbox *s)
{
	TRY(drop_new_privs());
	TRY(limits());
	if (s->n == 0)
		return OK;
	struct sock_fprog prog = {
		(unsigned short)s->n, (struct sock_filter *)(uintptr_t)s->program};
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog, 0, 0) == 0 ? OK : E_IO;
}
