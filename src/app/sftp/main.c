/* SPDX-License-Identifier: ISC */
/* main - sftp: files of another machine, by commands */
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/sftp/sftp.h"
#include "os/child.h"

/* Where commands come from. */
static err_t open_input(struct sftp *s)
{
	const char *path = s->args.batch_file;
	int fd = STDIN_FILENO;
	if (path != NULL && strcmp(path, "-") != 0) {
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0) {
			fprintf(stderr, "%s (%s).\n", strerror(errno), path);
			return E_IO;
		}
	}
	s->is_interactive = !s->args.is_batch && isatty(STDIN_FILENO);
	input_init(&s->in, &s->r, fd, fd != STDIN_FILENO);
	return OK;
}

static err_t connect_to(struct sftp *s)
{
	const struct sftp_args *a = &s->args;
	s->to = (struct copy_to){.user = a->user, .host = a->host, .port = a->port};
	if (a->subsystem != NULL && strchr(a->subsystem, '/') != NULL)
		s->to.command = a->subsystem;
	else
		s->to.subsystem = a->subsystem != NULL ? a->subsystem : "sftp";
	TRY(copy_connect(&s->conn, &a->copy, &s->to, s->ev));
	s->has_started = true;
	err_t e = remote_start(&s->r, copy_link(s->conn), a->buffer, a->requests);

	if (e != OK) {
		sftp_say_closed(s, e);
		return e;
	}
	if (!a->is_quiet && a->copy.server == NULL)
		fprintf(stderr, "Connected to %s.\n", a->host);
	else if (!a->is_quiet)
		fprintf(stderr, "Attached to %s.\n", a->copy.server);
	return OK;
}

static int run(struct sftp *s)
{
	if (open_input(s) != OK)
		return SFTP_EXIT_LOST;
	if (connect_to(s) != OK || sftp_catch_signals(s) != OK)
		return SFTP_EXIT_LOST;
	if (s->is_interactive && edit_new(&s->edit, s) != OK)
		s->edit = NULL;
	return sftp_run(s);
}

static void done(struct sftp *s)
{
	edit_free(s->edit);
	input_done(&s->in);
	if (s->has_started)
		remote_done(&s->r);
	if (s->conn != NULL)
		(void)copy_close(s->conn);
	free(s->pwd);
	free(s->start);
	sftp_args_done(&s->args);
	ev_free(s->ev);
}

int main(int argc, char **argv)
{
	struct sftp s = {0};
	int status = 1;
	child_open_stdio();
	(void)setlocale(LC_CTYPE, "");
	os_sigpipe_ignore();
	s.umask = umask(022);
	(void)umask((mode_t)s.umask);
	if (sftp_args_read(&s.args, argc, argv, &status) != OK) {
		sftp_args_done(&s.args);
		return status;
	}
	status = ev_new(&s.ev) == OK ? run(&s) : SFTP_EXIT_LOST;
	done(&s);
	return fflush(stdout) == 0 ? status : 1;
}
