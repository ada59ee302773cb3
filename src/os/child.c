/* SPDX-License-Identifier: ISC */
/* child - what a process does between fork and exec, and how it ended */
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <malloc.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/child.h"
#include "os/failed.h"

#define PIPE_SIZE (1 << 20)
/* What a deep call may have used; the rest was never touched. */
#define STACK_TRIM ((size_t)128 * 1024)

void child_close_from(int from)
{
	if (close_range((unsigned)from, ~0U, 0) == 0)
		return;
	struct rlimit limit;
	int last = getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < 65536
			   ? (int)limit.rlim_cur
			   : 65536;
	for (int fd = from; fd < last; fd++)
		(void)close(fd);
}

err_t child_keep_fds(int *fds, size_t n)
{
	int high[CHILD_KEEP_MAX], next = 3;
	if (n > CHILD_KEEP_MAX)
		return E_BUG;
	/* Out of the way of the places where they go. */
	for (size_t i = 0; i < n; i++) {
		high[i] = fds[i] < 0 ? -1 : fcntl(fds[i], F_DUPFD_CLOEXEC, 3 + CHILD_KEEP_MAX);
		if (fds[i] >= 0 && high[i] < 0)
			return os_failed();
	}
	for (size_t i = 0; i < n; i++) {
		if (high[i] < 0)
			continue;
		if (dup3(high[i], next, O_CLOEXEC) < 0)
			return E_IO;
		fds[i] = next++;
	}
	child_close_from(next);
	return OK;
}

err_t child_set_stdio(int in, int out, int err)
{
	int fds[3] = {in, out, err};
	for (int i = 0; i < 3; i++) {
		/* Out of the way of 0..2 first. */
		fds[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, 3);
		if (fds[i] < 0)
			return os_failed();
	}
	for (int i = 0; i < 3; i++)
		if (dup2(fds[i], i) < 0)
			return E_IO;
	return OK;
}

err_t child_pipe(int fds[2])
{
	int pair[2];
	if (pipe2(pair, O_CLOEXEC) != 0)
		return os_failed();
	(void)fcntl(pair[1], F_SETPIPE_SZ, PIPE_SIZE);
	fds[0] = pair[0];
	fds[1] = pair[1];
	return OK;
}

err_t child_memory_file(struct cslice data, int *fd)
{
	int file = memfd_create("setup", MFD_CLOEXEC);
	if (file < 0)
		return os_failed();
	while (data.n > 0) {
		ssize_t n = write(file, data.p, data.n);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			(void)close(file);
			return E_IO;
		}
		data = cslice_of(data.p + n, data.n - (size_t)n);
	}
	*fd = file;
	return OK;
}

err_t child_open_self(int *fd)
{
	int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	if (self < 0)
		return os_failed();
	*fd = self;
	return OK;
}

err_t child_reexec(int self_fd, char *const argv[], char *const envp[])
{
	(void)fexecve(self_fd, argv, envp);
	return E_IO;
}

void child_open_stdio(void)
{
	int fd;
	do {
		fd = open("/dev/null", O_RDWR);
	} while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		(void)close(fd);
}

void child_ignore_pipe(void)
{
	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGXFSZ, SIG_IGN);
}

void child_ignore_file_size(void)
{
	(void)signal(SIGXFSZ, SIG_IGN);
}

static int drop_segments(struct dl_phdr_info *info, size_t size, void *arg)
{
	const uintptr_t page = *(const uintptr_t *)arg;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		/* Never what can be written: those pages have no file to come back from. */
		if (ph->p_type != PT_LOAD || (ph->p_flags & PF_W) != 0)
			continue;
		uintptr_t begin = (info->dlpi_addr + ph->p_vaddr + page - 1) & ~(page - 1);
		uintptr_t end = (info->dlpi_addr + ph->p_vaddr + ph->p_memsz) & ~(page - 1);
		if (begin < end)
			(void)madvise((void *)begin, end - begin, MADV_DONTNEED);
	}
	return 0;
}

void child_trim(void)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	/* Below this frame nothing is in use; one page is left for the calls made here. */
	uintptr_t here = (uintptr_t)__builtin_frame_address(0) & ~(page - 1);
	(void)madvise((void *)(here - page - STACK_TRIM), STACK_TRIM, MADV_DONTNEED);
	(void)malloc_trim(0);
}

void child_give_memory_back(void)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	child_trim();
	(void)dl_iterate_phdr(drop_segments, &page);
}

void child_set_name(const char *name)
{
	(void)prctl(PR_SET_NAME, name, 0, 0, 0);
}

bool child_has_crashed(int status)
{
	static const int crashes[] = {SIGSEGV, SIGBUS, SIGTRAP, SIGSYS, SIGFPE, SIGILL, SIGABRT};
	if (!WIFSIGNALED(status))
		return false;
	for (size_t i = 0; i < ARRAY_N(crashes); i++)
		if (WTERMSIG(status) == crashes[i])
			return true;
	return false;
}
