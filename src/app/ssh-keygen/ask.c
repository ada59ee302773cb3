/* SPDX-License-Identifier: ISC */
/* ask - questions to the person at the keyboard, or to the script in its place */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "app/common/askpass.h"
#include "app/common/say.h"
#include "app/ssh-keygen/kg.h"

int kg_say(int state, const char *fmt, ...)
{
	va_list ap;
	(void)fflush(stdout);
	va_start(ap, fmt);
	say_format(stderr, fmt, ap);
	va_end(ap);
	(void)fputc('\n', stderr);
	return state;
}

void kg_tell(const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	say_format(stdout, fmt, ap);
	va_end(ap);
}

void kg_say_why(const struct buf *why)
{
	(void)fflush(stdout);
	say_text(stderr, buf_bytes(why));
}

/* Byte by byte: what follows in a pipe belongs to the next question.  False: nothing came before
 * the end. */
static bool read_line(struct buf *line)
{
	bool any = false;
	for (;;) {
		uint8_t c;
		ssize_t n = read(STDIN_FILENO, &c, 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return any;
		any = true;
		if (c == '\n')
			return true;
		if (line->n < KG_LINE_MAX - 1)
			buf_put_u8(line, c);
		wipe(&c, sizeof(c));
	}
}

bool kg_ask_line(const char *prompt, struct buf *line)
{
	say_text(stdout, cslice_str(prompt));
	(void)fflush(stdout);
	return read_line(line);
}

err_t kg_ask_secret(const char *prompt, struct buf *answer)
{
	return askpass_secret(prompt, answer);
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
