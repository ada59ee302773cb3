/* SPDX-License-Identifier: ISC */
/* The escape filter: what is sent, what is an escape, in any fragmentation.  The rest of the client
 * is a double. */
#include <stdarg.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <fcntl.h>
#include <unistd.h>

#include "app/ssh/ssh.h"

static struct {
	bool is_finished;
	uint32_t rekeys, breaks;
} seen;

void ssh_finish(struct ssh *s, int status, const char *disconnect_text)
{
	(void)status, (void)disconnect_text;
	s->is_done = true;
	seen.is_finished = true;
}

void ssh_say(enum log_level level, const char *fmt, ...)
{
	(void)level, (void)fmt;
}

void session_resize(struct ssh *s)
{
	(void)s;
}

void session_say_closed(const struct ssh *s)
{
	(void)s;
}

err_t cn_request(
	struct cn *cn, uint32_t chan, const char *name, bool want_reply, struct cslice body)
{
	(void)cn, (void)chan, (void)want_reply;
	assert_string_equal(name, "break");
	assert_int_equal(body.n, 4);
	seen.breaks++;
	return OK;
}

err_t tp_rekey(struct tp *tp)
{
	(void)tp;
	seen.rekeys++;
	return OK;
}

struct escape_case {
	const char *typed, *sent;
	bool ends;
	uint32_t rekeys, breaks;
};

/* clang-format off */
static const struct escape_case cases[] = {
	{"hello\r", "hello\r", false, 0, 0},
	{"~.", "", true, 0, 0},
	{"ls\r~.rest", "ls\r", true, 0, 0},
	{"a~.", "a~.", false, 0, 0},
	{"~~.\r", "~.\r", false, 0, 0},
	{"~x\r", "~x\r", false, 0, 0},
	{"~\r~.", "~\r", true, 0, 0},
	{"~R~Rx", "x", false, 2, 0},
	{"a\r~Bb", "a\rb", false, 0, 1},
	{"~?x", "x", false, 0, 0},
	{"\n~~\n~~~~", "\n~\n~~~", false, 0, 0},
};
/* clang-format on */

/* Types `text` in pieces of `piece` bytes; what the filter lets through goes to out. */
static size_t type(struct ssh *s, const char *text, size_t piece, char *out)
{
	size_t n = 0;
	for (size_t at = 0, all = strlen(text); at < all && !s->is_done; at += piece) {
		uint8_t b[64];
		size_t take = num_min(piece, all - at);
		memset(b, 0xee, sizeof(b));
		memcpy(b, text + at, take);
		size_t got = escape_filter(s, b, take);
		assert_true(got <= take + 1);
		assert_int_equal(b[take + 1], 0xee);
		memcpy(out + n, b, got);
		n += got;
	}
	return n;
}

static void escapes_are_found_however_the_bytes_come(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_N(cases); i++) {
		for (size_t piece = 1; piece <= strlen(cases[i].typed); piece++) {
			struct ssh *s = calloc(1, sizeof(*s));
			char out[128];
			assert_non_null(s);
			memset(&seen, 0, sizeof(seen));
			struct session session = {0};
			s->session = &session;
			s->session->escape =
				(struct escape){.character = '~', .at_line_start = true};
			size_t n = type(s, cases[i].typed, piece, out);
			assert_int_equal(n, strlen(cases[i].sent));
			assert_memory_equal(out, cases[i].sent, n);
			assert_int_equal(seen.is_finished, cases[i].ends);
			assert_int_equal(seen.rekeys, cases[i].rekeys);
			assert_int_equal(seen.breaks, cases[i].breaks);
			free(s);
		}
	}
}

static void without_an_escape_character_all_is_sent(void **state)
{
	(void)state;
	struct ssh *s = calloc(1, sizeof(*s));
	uint8_t b[8] = "~.~.";
	assert_non_null(s);
	struct session session = {0};
	s->session = &session;
	s->session->escape = (struct escape){.character = -1, .at_line_start = true};
	assert_int_equal(escape_filter(s, b, 4), 4);
	assert_memory_equal(b, "~.~.", 4);
	free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(escapes_are_found_however_the_bytes_come),
		cmocka_unit_test(without_an_escape_character_all_is_sent),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
