/* SPDX-License-Identifier: ISC */
/*
 * sess_sftp - internal-sftp: the session's own process serves the files, and no program is started
 *
 * It is a fork without exec, so what the connection needs is given up first: the keys of the
 * transport are wiped, its descriptors closed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/common/me.h"
#include "app/sftp-server/sftp_main.h"
#include "app/sshd/sess.h"

#define INTERNAL_SFTP "internal-sftp"

bool sess_is_sftp(const char *command)
{
	struct cfg_list words;
	if (cfg_command_words(command, &words) != OK)
		return false;
	bool is = words.n > 0 && strcmp(words.v[0], INTERNAL_SFTP) == 0;
	cfg_command_words_done(&words);
	return is;
}

NORETURN void sess_run_sftp(const struct sess *s, const struct env_list *env)
{
	struct cfg_list words;
	if (s->sftp != SFTP_SERVE) {
		(void)dprintf(STDOUT_FILENO, "This service allows sftp connections only.\n");
		_exit(1);
	}
	if (cfg_command_words(s->command, &words) != OK)
		_exit(1);
	char **argv = calloc(words.n + 1, sizeof(*argv));
	if (argv == NULL)
		_exit(1);
	for (size_t i = 0; i < words.n; i++)
		argv[i] = words.v[i];
	tp_free(s->server->tp);
	s->server->tp = NULL;
	environ = env->v;
	title_set(s->server->start->title, "sshd: %s@" INTERNAL_SFTP, s->server->start->user->name);
	/* Without the handlers and buffers of the server that this process was: no exit(3). */
	const struct os_user *u = s->server->start->user;
	const struct me me = {.uid = u->uid, .name = u->name, .home = u->home, .shell = u->shell};
	int status =
		sftp_server_main((int)words.n, argv, &me, (int[2]){STDIN_FILENO, STDOUT_FILENO});
	(void)fflush(stderr);
	_exit(status);
}
