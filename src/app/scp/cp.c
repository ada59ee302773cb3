/* SPDX-License-Identifier: ISC */
/* cp - from here to here: cp(1) does it, as with OpenSSH, so its results are cp's */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "app/scp/scp.h"

static void run_cp(const struct scp *s, const char *from, const char *to)
{
	const char *argv[8] = {"cp"};
	size_t n = 1;
	if (s->opts.is_recursive)
		argv[n++] = "-r";
	if (s->opts.keep)
		argv[n++] = "-p";
	argv[n++] = "--";
	argv[n++] = from;
	argv[n++] = to;
	os_signals_reset();
	/* execvp writes to none of them */
	execvp("cp", (char *const *)(uintptr_t)argv);
	static const char words[] = "scp: cp cannot be started\n";
	(void)!write(STDERR_FILENO, words, sizeof(words) - 1);
	_exit(127);
}

void cp_copy(struct scp *s, size_t source)
{
	pid_t pid = fork();
	if (pid < 0) {
		scp_fail(s, "fork: %s", strerror(errno));
		return;
	}
	if (pid == 0)
		run_cp(s, s->source_words[source], s->to_word);
	int status = 0;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		continue;
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		s->failed++;
}

bool cp_target_is_directory(struct scp *s)
{
	struct stat st;
	int why = stat(s->to.path, &st) != 0 ? errno : S_ISDIR(st.st_mode) ? 0 : ENOTDIR;
	if (why == 0)
		return true;
	char *safe = scp_safe(s->to.path);
	scp_fail(s, "%s: %s", safe, strerror(why));
	free(safe);
	return false;
}
