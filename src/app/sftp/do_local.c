/* SPDX-License-Identifier: ISC */
/* do_local - what needs no server: a shell, lls, help, version, progress, bye */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "app/sftp/sftp.h"

/* In the child. */
static NORETURN void run_shell(const char *line)
{
	const char *shell = getenv("SHELL");
	if (shell == NULL || shell[0] == '\0')
		shell = "/bin/sh";
	os_signals_reset();
	if (line != NULL)
		(void)execl(shell, shell, "-c", line, (char *)NULL);
	else
		(void)execl(shell, shell, (char *)NULL);
	sftp_say("Couldn't exec \"%s\": %s", shell, strerror(errno));
	_exit(1);
}

static void on_child(struct ev_io *io, unsigned happened)
{
	struct sftp *s = io->arg;
	(void)happened;
	s->child.is_over = true;
	ev_io_want(s->ev, io, 0);
	ev_stop(s->ev);
}

/* The loop runs until the child has ended, or the connection has. */
static void wait_in_loop(struct sftp *s)
{
	struct ev_io io = {.want = EV_IN, .on = on_child, .arg = s};
	io.fd = (int)syscall(SYS_pidfd_open, s->child.pid, 0);
	if (io.fd < 0)
		return;
	if (ev_io_add(s->ev, &io) == OK) {
		while (!s->child.is_over && s->r.end == OK)
			if (remote_run_until(&s->r, &s->child.is_over) != OK)
				break;
		ev_io_remove(s->ev, &io);
	}
	(void)close(io.fd);
}

err_t sftp_shell(struct sftp *s, const char *line)
{
	int status = 0;
	(void)fflush(stdout);
	int pid = fork();
	if (pid < 0) {
		sftp_say("Couldn't fork: %s", strerror(errno));
		return E_IO;
	}
	if (pid == 0)
		run_shell(line);
	s->child.is_over = false;
	s->child.pid = pid;
	wait_in_loop(s);
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR) {
			s->child.pid = 0;
			sftp_say("Couldn't wait for the command: %s", strerror(errno));
			return E_IO;
		}
	s->child.pid = 0;
	/* told, but no failure of ours: batches go on */
	if (!WIFEXITED(status))
		sftp_say("Shell exited abnormally");
	else if (WEXITSTATUS(status) != 0)
		sftp_say("Shell exited with status %d", WEXITSTATUS(status));
	return OK;
}

err_t do_shell(struct sftp *s, const struct command *c)
{
	return sftp_shell(s, c->rest[0] != '\0' ? c->rest : NULL);
}

err_t do_lls(struct sftp *s, const struct command *c)
{
	struct buf line;
	buf_init(&line, INPUT_LINE_MAX + 8);
	buf_printf(&line, "ls %s", c->rest);
	buf_put_u8(&line, 0);
	err_t e = buf_err(&line);
	e = e == OK ? sftp_shell(s, (const char *)line.p) : sftp_fail(s, e, "lls");
	buf_done(&line);
	return e;
}

err_t do_help(struct sftp *s, const struct command *c)
{
	const char *name;
	bool in_help = false;
	(void)s, (void)c;
	sftp_print("Available commands:");
	for (size_t i = 0; (name = command_name(i, &in_help)) != NULL; i++) {
		const struct command_row *row = command_find(name);
		char how[64];
		if (!in_help || row == NULL)
			continue;
		(void)snprintf(
			how, sizeof(how), "%s%s%s", name, name[0] == '!' ? "" : " ", row->how);
		sftp_print("%-34s %s", how, row->help);
	}
	return OK;
}

err_t do_version(struct sftp *s, const struct command *c)
{
	(void)c;
	sftp_print("SFTP protocol version %u", (unsigned)sf_client_version(s->r.sf));
	return OK;
}

err_t do_progress(struct sftp *s, const struct command *c)
{
	(void)c;
	s->args.has_progress = !s->args.has_progress;
	sftp_print("Progress meter %s", s->args.has_progress ? "enabled" : "disabled");
	return OK;
}

err_t do_bye(struct sftp *s, const struct command *c)
{
	(void)c;
	s->is_over = true;
	return OK;
}
