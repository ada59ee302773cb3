/* SPDX-License-Identifier: ISC */
/*
 * prompt - one line from the person at the terminal
 *
 * The tricky idea: signals are blocked and read from a signalfd while the question stands, so there
 * is no moment in which one could end the program with the echo off, whether the loop runs already
 * or not.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include "base/secret.h"
#include "os/prompt.h"

struct prompt {
	int tty, signals;
	sigset_t mask_before;
	struct termios before;
	bool has_termios;
};

bool prompt_possible(void)
{
	int fd = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return false;
	close(fd);
	return true;
}

static void say(int fd, const char *text)
{
	(void)!write(fd, text, strlen(text));
}

static void echo_off(struct prompt *p, bool is_echoed)
{
	struct termios quiet;
	if (tcgetattr(p->tty, &p->before) < 0)
		return;
	p->has_termios = true;
	quiet = p->before;
	if (!is_echoed)
		quiet.c_lflag &= ~(tcflag_t)(ECHO | ECHONL);
	else
		quiet.c_lflag |= ECHO | ECHOE; /* the terminal may be raw: a session is open */
	quiet.c_lflag |= ICANON | ISIG;
	quiet.c_iflag |= ICRNL;
	quiet.c_oflag |= OPOST;
	(void)tcsetattr(p->tty, TCSADRAIN, &quiet);
}

static void echo_back(struct prompt *p)
{
	if (p->has_termios)
		(void)tcsetattr(p->tty, TCSADRAIN, &p->before);
	p->has_termios = false;
}

static err_t open_all(struct prompt *p)
{
	*p = (struct prompt){.tty = -1, .signals = -1};
	p->tty = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
	if (p->tty < 0)
		return E_NOT_FOUND;
	static const int wanted[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP};
	sigset_t set;
	sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_N(wanted); i++)
		sigaddset(&set, wanted[i]);
	p->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (p->signals < 0 || sigprocmask(SIG_BLOCK, &set, &p->mask_before) < 0) {
		if (p->signals >= 0)
			close(p->signals);
		close(p->tty);
		return E_IO;
	}
	return OK;
}

static void close_all(struct prompt *p)
{
	echo_back(p);
	(void)sigprocmask(SIG_SETMASK, &p->mask_before, NULL);
	close(p->signals);
	close(p->tty);
}

/* Reads what the terminal has; true at the end of the line or of the file. */
static bool take_bytes(struct prompt *p, struct buf *out, bool *is_ended)
{
	char bytes[256];
	ssize_t n = read(p->tty, bytes, sizeof(bytes));
	if (n < 0)
		return errno != EINTR && errno != EAGAIN && (*is_ended = true);
	if (n == 0)
		return *is_ended = true;
	char *end = memchr(bytes, '\n', (size_t)n);
	buf_put(out, bytes, end != NULL ? (size_t)(end - bytes) : (size_t)n);
	wipe(bytes, sizeof(bytes));
	return end != NULL;
}

static int taken_signal(const struct prompt *p)
{
	struct signalfd_siginfo info;
	return read(p->signals, &info, sizeof(info)) == (ssize_t)sizeof(info) ? (int)info.ssi_signo
									      : 0;
}

static err_t answer(
	struct prompt *p, const char *question, bool is_echoed, struct buf *out, int *signo)
{
	bool is_ended = false;
	for (;;) {
		struct pollfd fds[] = {{p->tty, POLLIN, 0}, {p->signals, POLLIN, 0}};
		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			return E_IO;
		int got = fds[1].revents != 0 ? taken_signal(p) : 0;
		if (got == SIGTSTP) {
			echo_back(p);
			(void)raise(SIGSTOP);
			echo_off(p, is_echoed);
			say(p->tty, question);
			continue;
		}
		if (got != 0) {
			*signo = got;
			return E_CANCELLED;
		}
		if (fds[0].revents != 0 && take_bytes(p, out, &is_ended))
			break;
	}
	if (is_ended && out->n == 0)
		return E_CANCELLED;
	return buf_err(out);
}

err_t prompt_line(const char *question, bool is_echoed, struct buf *out, int *signo)
{
	struct prompt p;
	TRY(open_all(&p));
	echo_off(&p, is_echoed);
	say(p.tty, "\r");
	say(p.tty, question);
	err_t e = answer(&p, question, is_echoed, out, signo);
	if (!is_echoed)
		say(p.tty, "\n");
	close_all(&p);
	return e;
}

void prompt_die(int signo)
{
	sigset_t set;
	(void)signal(signo, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, signo);
	(void)sigprocmask(SIG_UNBLOCK, &set, NULL);
	(void)raise(signo);
	_exit(255);
}
