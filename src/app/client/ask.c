/* SPDX-License-Identifier: ISC */
/* ask - a question to the person: at the terminal, or by the program of SSH_ASKPASS (compat 8.5) */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "app/client/client.h"
#include "os/prompt.h"

#define ASKPASS_DEFAULT "/usr/bin/ssh-askpass"

enum askpass { ASKPASS_LAST, ASKPASS_PREFER, ASKPASS_FORCE, ASKPASS_NEVER };

static enum askpass askpass_rule(void)
{
	const char *rule = getenv("SSH_ASKPASS_REQUIRE");
	if (rule == NULL)
		return ASKPASS_LAST;
	if (strcasecmp(rule, "force") == 0)
		return ASKPASS_FORCE;
	if (strcasecmp(rule, "prefer") == 0)
		return ASKPASS_PREFER;
	return strcasecmp(rule, "never") == 0 ? ASKPASS_NEVER : ASKPASS_LAST;
}

static bool has_display(void)
{
	return getenv("DISPLAY") != NULL || getenv("WAYLAND_DISPLAY") != NULL;
}

static bool use_askpass(void)
{
	switch (askpass_rule()) {
	case ASKPASS_FORCE:
		return true;
	case ASKPASS_NEVER:
		return false;
	case ASKPASS_PREFER:
		return has_display();
	case ASKPASS_LAST:
		break;
	}
	return has_display() && !prompt_possible();
}

static err_t by_program(enum ask_kind kind, const char *question, struct buf *answer)
{
	const char *program = getenv("SSH_ASKPASS");
	const char *const argv[] = {program != NULL ? program : ASKPASS_DEFAULT, question, NULL};
	const char *const confirm[] = {"SSH_ASKPASS_PROMPT", "confirm", NULL};
	int status = 255;
	size_t before = answer->n;
	TRY(helper_capture(argv, kind == ASK_PERMISSION ? confirm : NULL, answer, &status));
	if (status != 0)
		return E_CANCELLED;
	const uint8_t *end =
		answer->n > before ? memchr(answer->p + before, '\n', answer->n - before) : NULL;
	if (end != NULL)
		answer->n = (size_t)(end - answer->p);
	if (answer->n > before && answer->p[answer->n - 1] == '\r')
		answer->n--;
	if (kind == ASK_PERMISSION &&
		answer->n == before) /* the program's "yes" may be an empty line */
		buf_put(answer, "yes", 3);
	return buf_err(answer);
}

err_t ask(struct ssh *s, enum ask_kind kind, const char *question, struct buf *answer)
{
	if (s->cfg.batch_mode)
		return E_CANCELLED;
	if (use_askpass())
		return by_program(kind, question, answer);
	int signo = 0;
	err_t e = prompt_line(question, kind != ASK_SECRET, answer, &signo);
	if (signo != 0)
		s->hooks->prompt_signal(s, signo);
	return e;
}

err_t ask_passphrase(void *arg, const char *path, uint32_t try, struct buf *passphrase)
{
	struct buf question;
	(void)try;
	buf_init(&question, 65536);
	buf_printf(&question, "Enter passphrase for key '%s': ", path);
	buf_put_u8(&question, 0);
	err_t e = buf_err(&question);
	if (e == OK)
		e = ask(arg, ASK_SECRET, (const char *)question.p, passphrase);
	buf_done(&question);
	return e;
}
