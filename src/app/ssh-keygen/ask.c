/* SPDX-License-Identifier: ISC */
/*
 * ask - questions to the person at the keyboard
 *
 * While a passphrase is typed the terminal neither echoes nor sends signals; Ctrl-C is read as a
 * character, so that the terminal is whole again before the program ends, without a signal handler.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "app/ssh-keygen/kg.h"

#define CTRL_C 3

int kg_say(int state, const char *fmt, ...)
{
	va_list ap;
	(void)fflush(stdout);
	va_start(ap, fmt);
	(void)vfprintf(stderr, fmt, ap);
	va_end(ap);
	(void)fputc('\n', stderr);
	return state;
}

/* Byte by byte: what follows in a pipe belongs to the next question.  False: nothing came before
 * the end. */
static bool read_line(int fd, struct buf *line, bool *interrupted)
{
	bool any = false;
	for (;;) {
		uint8_t c;
		ssize_t n = read(fd, &c, 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return any;
		any = true;
		if (c == CTRL_C && interrupted != NULL) {
			*interrupted = true;
			return true;
		}
		if (c == '\n' || (c == '\r' && interrupted != NULL))
			return true;
		if (line->n < KG_LINE_MAX - 1)
			buf_put_u8(line, c);
		wipe(&c, sizeof(c));
	}
}

bool kg_ask_line(const char *prompt, struct buf *line)
{
	(void)fputs(prompt, stdout);
	(void)fflush(stdout);
	return read_line(STDIN_FILENO, line, NULL);
}

static err_t ask_terminal(int in, int out, const char *prompt, struct buf *answer)
{
	struct termios old, quiet;
	bool interrupted = false, is_tty = tcgetattr(in, &old) == 0;
	if (is_tty) {
		quiet = old;
		quiet.c_lflag &= ~(tcflag_t)(ECHO | ECHONL | ISIG);
		(void)tcsetattr(in, TCSAFLUSH, &quiet);
	}
	(void)!write(out, prompt, strlen(prompt));
	bool has_line = read_line(in, answer, is_tty ? &interrupted : NULL);
	if (is_tty) {
		(void)!write(out, "\n", 1);
		(void)tcsetattr(in, TCSAFLUSH, &old);
	}
	if (interrupted) {
		buf_clear(answer);
		(void)raise(SIGINT);
		return E_CANCELLED;
	}
	(void)has_line; /* the end of input is an empty answer */
	return buf_err(answer);
}

static err_t ask_helper(const char *program, const char *prompt, struct buf *answer)
{
	int pipe_fd[2], status = 0;
	if (pipe2(pipe_fd, O_CLOEXEC) < 0)
		return E_IO;
	(void)fflush(stdout);
	pid_t pid = fork();
	if (pid == 0) {
		if (dup2(pipe_fd[1], STDOUT_FILENO) >= 0)
			(void)execlp(program, program, prompt, (char *)NULL);
		_exit(127);
	}
	(void)close(pipe_fd[1]);
	if (pid > 0)
		(void)read_line(pipe_fd[0], answer, NULL);
	(void)close(pipe_fd[0]);
	if (pid < 0)
		return E_IO;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
		buf_clear(answer);
		return E_CANCELLED;
	}
	return buf_err(answer);
}

/* SSH_ASKPASS_REQUIRE: never, prefer, force; without it the helper is used when there is a display
 * and no terminal. */
static const char *helper_for(bool has_terminal)
{
	const char *program = getenv("SSH_ASKPASS"), *require = getenv("SSH_ASKPASS_REQUIRE"),
		   *display = getenv("DISPLAY");
	if (program == NULL || program[0] == '\0')
		program = "/usr/bin/ssh-askpass";
	if (require != NULL && strcmp(require, "force") == 0)
		return program;
	if (require != NULL && strcmp(require, "never") == 0)
		return NULL;
	if (display == NULL || display[0] == '\0')
		return NULL;
	bool is_preferred = require != NULL && strcmp(require, "prefer") == 0;
	return is_preferred || !has_terminal ? program : NULL;
}

err_t kg_ask_secret(const char *prompt, struct buf *answer)
{
	const char *program = helper_for(isatty(STDIN_FILENO) != 0);
	if (program != NULL)
		return ask_helper(program, prompt, answer);
	(void)fflush(stdout);
	int tty = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
	if (tty < 0)
		return ask_terminal(STDIN_FILENO, STDERR_FILENO, prompt, answer);
	err_t e = ask_terminal(tty, tty, prompt, answer);
	(void)close(tty);
	return e;
}

err_t kg_ask_new(const struct kg_options *o, const char *prompt, bool again, struct buf *answer)
{
	struct buf second;
	if (o->new_phrase != NULL) {
		buf_put(answer, o->new_phrase, strlen(o->new_phrase));
		return buf_err(answer);
	}
	buf_init(&second, KG_LINE_MAX);
	for (;;) {
		buf_clear(answer);
		buf_clear(&second);
		err_t e = kg_ask_secret(prompt, answer);
		if (e == OK)
			e = kg_ask_secret("Enter same passphrase again: ", &second);
		bool same =
			e == OK && answer->n == second.n && ct_eq(answer->p, second.p, second.n);
		if (e == OK && !same) {
			(void)printf(again ? "Passphrases do not match.  Try again.\n"
					   : "Pass phrases do not match.  Try again.\n");
			(void)fflush(stdout);
			if (again)
				continue;
			e = E_CANCELLED;
		}
		buf_done(&second);
		return e;
	}
}

err_t kg_ask_old(void *arg, const char *path, uint32_t try, struct buf *passphrase)
{
	const struct kg_old *old = arg;
	struct buf prompt;
	(void)try;
	if (old->given != NULL) {
		buf_put(passphrase, old->given, strlen(old->given));
		return buf_err(passphrase);
	}
	buf_init(&prompt, KG_LINE_MAX);
	for (const char *p = old->prompt_fmt; *p != '\0'; p++) {
		if (p[0] == '%' && p[1] == 's') {
			buf_put(&prompt, path, strlen(path));
			p++;
		} else {
			buf_put_u8(&prompt, (uint8_t)*p);
		}
	}
	buf_put_u8(&prompt, 0);
	err_t e = buf_err(&prompt);
	if (e == OK)
		e = kg_ask_secret((const char *)prompt.p, passphrase);
	buf_done(&prompt);
	return e;
}
