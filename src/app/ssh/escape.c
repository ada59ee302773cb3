/* SPDX-License-Identifier: ISC */
/*
 * escape - the sequences that begin with the escape character at the start of a line (compat 8.6)
 *
 * A filter over what was typed: it works in place.  An escape character that turns out to be no
 * escape is sent after all, which may make the text one byte longer.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "app/ssh/ssh.h"

typedef void escape_fn(struct ssh *s);

static void put(const char *text)
{
	(void)!write(STDERR_FILENO, text, strlen(text));
}

static void echo_sequence(const struct ssh *s, const char *rest)
{
	char text[64] = {(char)s->session->escape.character};
	size_t n = num_min(strlen(rest), sizeof(text) - 2);
	memcpy(text + 1, rest, n);
	put(text);
}

static void escape_disconnect(struct ssh *s)
{
	echo_sequence(s, ".\r\n");
	session_say_closed(s);
	ssh_finish(s, SSH_EXIT_ERROR, "disconnected by user");
}

static void escape_suspend(struct ssh *s)
{
	echo_sequence(s, "^Z [suspend ssh]\r\n");
	tty_raw_leave(&s->session->raw);
	(void)kill(0, SIGSTOP); /* the whole job, as the terminal would */
	if (tty_raw_enter(&s->session->raw) != OK)
		ssh_say(LOG_L_ERROR, "the terminal cannot be made raw again");
	session_resize(s);
}

static void escape_break(struct ssh *s)
{
	struct buf body;
	echo_sequence(s, "B\r\n");
	buf_init(&body, 16);
	buf_put_u32(&body, 1000); /* RFC4335 3: milliseconds */
	if (buf_err(&body) == OK &&
		cn_request(s->cn, s->session->chan, "break", false, buf_bytes(&body)) != OK)
		log_debug1("break was not sent");
	buf_done(&body);
}

static void escape_rekey(struct ssh *s)
{
	if (tp_rekey(s->tp) != OK)
		ssh_say(LOG_L_ERROR, "a new key exchange cannot be started now");
}

static const char *level_name(enum log_level level)
{
	static const char *const names[] = {
		"FATAL", "ERROR", "INFO", "VERBOSE", "DEBUG", "DEBUG2", "DEBUG3"};
	return level < LOG_L_FATAL ? "QUIET" : names[level];
}

static void change_level(struct ssh *s, char letter, int by)
{
	int level = (int)log_level() + by;
	char text[64];
	if (level >= LOG_L_QUIET && level <= LOG_L_DEBUG3)
		logsink_level(&s->log, (enum log_level)level);
	(void)snprintf(text, sizeof(text), "%c [LogLevel %s]\r\n", letter, level_name(log_level()));
	echo_sequence(s, text);
}

static void escape_louder(struct ssh *s)
{
	change_level(s, 'v', 1);
}

static void escape_quieter(struct ssh *s)
{
	change_level(s, 'V', -1);
}

static void escape_channels(struct ssh *s)
{
	echo_sequence(s, "#\r\nThe following connections are open:\r\n");
	if (s->session->is_open)
		put("  #0 client-session\r\n");
}

static void escape_commandline(struct ssh *s)
{
	(void)s;
	put("commandline disabled\r\n");
}

static void escape_help(struct ssh *s);

/* clang-format off */
static const struct { char letter; const char *text; escape_fn *fn; } escapes[] = {
	{'.',  " .   - end the connection",                  escape_disconnect},
	{'B',  " B   - send a BREAK to the remote system",   escape_break},
	{'C',  NULL,                                         escape_commandline},
	{'R',  " R   - exchange new keys now",               escape_rekey},
	{'V',  " V   - say less (LogLevel)",                 escape_quieter},
	{'v',  " v   - say more (LogLevel)",                 escape_louder},
	{0x1a, " ^Z  - suspend ssh",                         escape_suspend},
	{'#',  " #   - list what is open",                   escape_channels},
	{'?',  " ?   - this list",                           escape_help},
};
/* clang-format on */

static void escape_help(struct ssh *s)
{
	char text[4] = {(char)s->session->escape.character};
	echo_sequence(s, "?\r\nSupported escape sequences:\r\n");
	for (size_t i = 0; i < ARRAY_N(escapes); i++) {
		if (escapes[i].text == NULL)
			continue;
		put(" ");
		put(text);
		put(escapes[i].text + 1);
		put("\r\n");
	}
	put(" ");
	put(text);
	put(text);
	put("  - send the escape character\r\n(They are known at the beginning of a line "
	    "only.)\r\n");
}

static bool obey(struct ssh *s, uint8_t letter)
{
	for (size_t i = 0; i < ARRAY_N(escapes); i++) {
		if ((uint8_t)escapes[i].letter != letter)
			continue;
		escapes[i].fn(s);
		return true;
	}
	return false;
}

size_t escape_filter(void *arg, uint8_t *p, size_t n)
{
	struct ssh *s = arg;
	struct escape *e = &s->session->escape;
	size_t to = 0, from = 0;
	if (e->character < 0)
		return n;
	/* `to` may be one ahead of `from` only when a held character goes out first: make room for
	 * it. */
	if (e->is_pending) {
		memmove(p + 1, p, n);
		from = 1;
		n++;
	}
	for (; from < n && !s->is_done; from++) {
		uint8_t c = p[from];
		if (e->is_pending) {
			e->is_pending = false;
			if (c != (uint8_t)e->character && obey(s, c)) {
				e->at_line_start = true;
				continue;
			}
			p[to++] = (uint8_t)e->character;
			if (c == (uint8_t)e->character) { /* doubled: sent once */
				e->at_line_start = false;
				continue;
			}
		} else if (e->at_line_start && c == (uint8_t)e->character) {
			e->is_pending = true;
			continue;
		}
		e->at_line_start = c == '\r' || c == '\n';
		p[to++] = c;
	}
	return to;
}
