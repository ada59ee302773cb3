/* SPDX-License-Identifier: ISC */
/* show - what a shell is to run: the variables of an agent, and their end (compat 2.7) */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/ssh-agent/sa.h"
#include "base/text.h"

void agent_show(const struct agent_options *o, const char *path, pid_t pid)
{
	if (o->csh)
		printf("setenv SSH_AUTH_SOCK %s;\n", path);
	else
		printf("SSH_AUTH_SOCK=%s; export SSH_AUTH_SOCK;\n", path);
	if (!o->foreground && !o->debug && o->csh)
		printf("setenv SSH_AGENT_PID %ld;\n", (long)pid);
	else if (!o->foreground && !o->debug)
		printf("SSH_AGENT_PID=%ld; export SSH_AGENT_PID;\n", (long)pid);
	printf("echo Agent pid %ld;\n", (long)pid);
	(void)fflush(stdout);
}

int agent_kill(const struct agent_options *o)
{
	const char *word = getenv("SSH_AGENT_PID");
	uint32_t pid = 0;
	if (word == NULL) {
		(void)fputs("SSH_AGENT_PID not set, cannot kill agent\n", stderr);
		return AGENT_FATAL;
	}
	if (text_u32(cslice_str(word), &pid) != OK || pid < 2 || pid > INT32_MAX) {
		(void)fprintf(stderr, "SSH_AGENT_PID=\"%s\", which is not a good PID\n", word);
		return AGENT_FATAL;
	}
	if (kill((pid_t)pid, SIGTERM) != 0) {
		(void)fprintf(stderr, "kill: %s\n", strerror(errno));
		return AGENT_FATAL;
	}
	const char *unset = o->csh ? "unsetenv" : "unset";
	printf("%s SSH_AUTH_SOCK;\n%s SSH_AGENT_PID;\necho Agent pid %ld killed;\n", unset, unset,
		(long)pid);
	return AGENT_OK;
}
