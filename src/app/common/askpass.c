/* SPDX-License-Identifier: ISC */
/* askpass - secrets from the person: terminal, the program of SSH_ASKPASS, or standard input */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "app/common/askpass.h"
#include "base/secret.h"
#include "os/helper.h"
#include "os/prompt.h"

#define DEFAULT_PROGRAM "/usr/bin/ssh-askpass"
#define LINE_MAX_BYTES  8191

static bool has_display(void)
{
	const char *x = getenv("DISPLAY"), *wayland = getenv("WAYLAND_DISPLAY");
	return (x != NULL && x[0] != '\0') || (wayland != NULL && wayland[0] != '\0');
}

bool askpass_wanted(bool has_terminal)
{
	const char *rule = getenv("SSH_ASKPASS_REQUIRE");
	if (rule != NULL && strcasecmp(rule, "force") == 0)
		return true;
	if (rule != NULL && strcasecmp(rule, "never") == 0)
		return false;
	if (rule != NULL && strcasecmp(rule, "prefer") == 0)
		return has_display();
	return has_display() && !has_terminal;
}

err_t askpass_run(const char *question, bool is_permission, struct buf *answer)
{
	const char *program = getenv("SSH_ASKPASS");
	const char *const argv[] = {
		program != NULL && program[0] != '\0' ? program : DEFAULT_PROGRAM, question, NULL};
	const char *const confirm[] = {"SSH_ASKPASS_PROMPT", "confirm", NULL};
	int status = 255;
	size_t before = answer->n;
	TRY(helper_capture(argv, is_permission ? confirm : NULL, answer, &status));
	if (status != 0)
		return E_CANCELLED;
	const uint8_t *end =
		answer->n > before ? memchr(answer->p + before, '\n', answer->n - before) : NULL;
	if (end != NULL)
		answer->n = (size_t)(end - answer->p); /* the rest is wiped with the buf */
	if (answer->n > before && answer->p[answer->n - 1] == '\r')
		answer->n--;
	if (is_permission && answer->n == before)
		buf_put(answer, "yes", 3);
	return buf_err(answer);
}

/* Byte by byte: what follows in a pipe belongs to the next question. */
static void read_line(struct buf *line)
{
	size_t before = line->n;
	for (;;) {
		uint8_t c;
		ssize_t n = read(STDIN_FILENO, &c, 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0 || c == '\n')
			return;
		if (line->n - before < LINE_MAX_BYTES)
			buf_put_u8(line, c);
		wipe(&c, sizeof(c));
	}
}

err_t askpass_secret(const char *question, struct buf *answer)
{
	int signo = 0;
	if (askpass_wanted(isatty(STDIN_FILENO) != 0))
		return askpass_run(question, false, answer);
	(void)fflush(stdout);
	err_t e = prompt_line(question, false, answer, &signo);
	if (e == E_CANCELLED && signo != 0)
		prompt_die(signo);
	if (e != E_NOT_FOUND)
		return e;
	(void)fputs(question, stderr); /* no terminal: scripts answer through standard input */
	read_line(answer);
	return buf_err(answer);
}
