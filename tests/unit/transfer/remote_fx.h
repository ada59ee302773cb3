/* SPDX-License-Identifier: ISC */
/*
 * remote_fx - a remote on a child with two pipes: an SFTP server of choice in a directory of its
 * own
 */
#ifndef TRANSFER_REMOTE_FX_H
#define TRANSFER_REMOTE_FX_H

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "transfer/remote.h"

#define DEBIAN_SERVER "/usr/lib/openssh/sftp-server"

struct rx {
	struct ev *ev;
	struct link_fds *fds;
	struct remote r;
	pid_t pid;
	char dir[64];
};

typedef void rx_child_fn(int in, int out);

/* A child that runs fn between two pipes, or with fn NULL the program. */
static inline void rx_spawn(struct rx *x, rx_child_fn *fn, const char *program)
{
	int in[2], out[2];
	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	x->pid = fork();
	assert_true(x->pid >= 0);
	if (x->pid == 0) {
		close(in[1]);
		close(out[0]);
		if (x->dir[0] != '\0' && chdir(x->dir) != 0)
			_exit(126);
		if (fn != NULL) {
			fn(in[0], out[1]);
			_exit(0);
		}
		(void)dup2(in[0], 0);
		(void)dup2(out[1], 1);
		execl(program, program, (char *)NULL);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	assert_int_equal(ev_new(&x->ev), OK);
	assert_int_equal(link_fds_new(&x->fds, x->ev, out[0], in[1]), OK);
}

static inline void rx_dir(struct rx *x)
{
	(void)snprintf(x->dir, sizeof(x->dir), "/tmp/bowline-remote-XXXXXX");
	assert_non_null(mkdtemp(x->dir));
}

static inline err_t rx_start(struct rx *x, rx_child_fn *fn, const char *program)
{
	os_sigpipe_ignore();
	rx_spawn(x, fn, program);
	return remote_start(&x->r, link_fds_face(x->fds), 0, 0);
}

static inline void rx_end(struct rx *x)
{
	int status = 0;
	remote_done(&x->r);
	link_fds_free(x->fds);
	ev_free(x->ev);
	assert_int_equal(waitpid(x->pid, &status, 0), x->pid);
	if (x->dir[0] != '\0') {
		char command[128];
		(void)snprintf(command, sizeof(command), "rm -rf '%s'", x->dir);
		assert_int_equal(system(command), 0);
	}
}

static inline void rx_file(const struct rx *x, const char *name, const char *text)
{
	char path[512];
	(void)snprintf(path, sizeof(path), "%s/%s", x->dir, name);
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static inline void rx_mkdir(const struct rx *x, const char *name)
{
	char path[512];
	(void)snprintf(path, sizeof(path), "%s/%s", x->dir, name);
	assert_int_equal(mkdir(path, 0755), 0);
}

#endif
