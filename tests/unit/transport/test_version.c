/* SPDX-License-Identifier: ISC */
/* Identification lines: what is taken, what is refused and with which words (RFC 4253 4.2,
 * compat 7.1). */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "pair.h"
#include "transport/tp_int.h"

#define ANY_ROLE 2

static const struct {
	const char *bytes;
	size_t n; /* 0 = strlen */
	int role; /* enum tp_role, ANY_ROLE */
	err_t want;
	const char *version;
	const char *plain; /* what a server says */
} lines[] = {
	{"SSH-2.0-OpenSSH_9.2\r\n", 0, ANY_ROLE, OK, "SSH-2.0-OpenSSH_9.2", NULL},
	{"SSH-2.0-OpenSSH_9.2\n", 0, ANY_ROLE, OK, "SSH-2.0-OpenSSH_9.2", NULL},
	{"SSH-2.0-a_b-c d e f\r\n", 0, ANY_ROLE, OK, "SSH-2.0-a_b-c d e f", NULL},
	{"SSH-2.0-x \r\n", 0, ANY_ROLE, OK, "SSH-2.0-x ", NULL},
	{"SSH-1.99-Cisco-1.25\n", 0, ANY_ROLE, OK, "SSH-1.99-Cisco-1.25", NULL},
	{"SSH-2.1-x\r\n", 0, ANY_ROLE, OK, "SSH-2.1-x", NULL},
	{"SSH-2.0-\xc3\xa9\r\n", 0, ANY_ROLE, OK, "SSH-2.0-\xc3\xa9", NULL},
	{"SSH-1.5-old\r\n", 0, TP_SERVER, E_VERSION, NULL, "Protocol major versions differ.\r\n"},
	{"SSH-1.5-old\r\n", 0, TP_CLIENT, E_VERSION, NULL, NULL},
	{"SSH-3.0-new\r\n", 0, TP_SERVER, E_VERSION, NULL, "Protocol major versions differ.\r\n"},
	{"SSH-1.98-x\r\n", 0, ANY_ROLE, E_VERSION, NULL, NULL},
	{"SSH-2.0-\r\n", 0, ANY_ROLE, E_NOT_SSH, NULL, NULL},
	{"SSH-2.0\r\n", 0, ANY_ROLE, E_NOT_SSH, NULL, NULL},
	{"SSH-2-x\r\n", 0, ANY_ROLE, E_NOT_SSH, NULL, NULL},
	{"SSH-.0-x\r\n", 0, ANY_ROLE, E_NOT_SSH, NULL, NULL},
	{"SSH-2.-x\r\n", 0, ANY_ROLE, E_NOT_SSH, NULL, NULL},
	{"SSH-20000000000.0-x\r\n", 0, ANY_ROLE, E_NOT_SSH, NULL, NULL},
	{"SSH--2.0-x\r\n", 0, ANY_ROLE, E_NOT_SSH, NULL, NULL},
	{"SSH-\r\n", 0, ANY_ROLE, E_NOT_SSH, NULL, NULL},
	{"SSH-2.0-a\0b\r\n", 13, ANY_ROLE, E_NOT_SSH, NULL, NULL},
	{"SSH-2.0-a\rb\r\n", 0, ANY_ROLE, E_NOT_SSH, NULL, NULL},
	{"GET / HTTP/1.1\r\n", 0, TP_SERVER, E_NOT_SSH, NULL,
		"Invalid SSH identification string.\r\n"},
	{"\r\n", 0, TP_SERVER, E_NOT_SSH, NULL, "Invalid SSH identification string.\r\n"},
	{"ssh-2.0-x\r\n", 0, TP_SERVER, E_NOT_SSH, NULL, "Invalid SSH identification string.\r\n"},
	{"\x16\x03\x01\0\n", 5, TP_SERVER, E_NOT_SSH, NULL,
		"Invalid SSH identification string.\r\n"},
};

static bool ends_with(const struct buf *b, const char *text)
{
	size_t n = strlen(text);
	return b->n >= n && memcmp(b->p + b->n - n, text, n) == 0;
}

static void line_one(size_t i, enum tp_role role, enum pair_cut cut)
{
	struct pair p;
	pair_init(&p, i);
	pair_start(&p);
	struct end *e = role == TP_SERVER ? &p.s : &p.c;
	struct buf out;
	buf_init(&out, 65536);
	end_take(e, &out);
	buf_clear(&out);
	end_feed(e, lines[i].bytes, lines[i].n != 0 ? lines[i].n : strlen(lines[i].bytes), cut);
	if (e->err != lines[i].want)
		print_error("line %zu role %d: %s\n", i, role, err_name(e->err));
	assert_int_equal(e->err, lines[i].want);
	assert_int_equal(tp_error(e->tp), lines[i].want);
	assert_int_equal(end_count(e, TP_EV_VERSION), lines[i].want == OK);
	if (lines[i].want == OK)
		assert_true(cslice_eq_str(tp_peer_version(e->tp), lines[i].version));
	else
		assert_true(tp_peer_noise(e->tp).n > 0 || lines[i].bytes[0] == '\r');
	end_take(e, &out);
	if (lines[i].plain != NULL) {
		assert_int_equal(out.n, strlen(lines[i].plain));
		assert_true(ends_with(&out, lines[i].plain));
	} else if (role == TP_CLIENT || lines[i].want == OK) {
		assert_int_equal(out.n, 0);
	}
	buf_done(&out);
	pair_done(&p);
}

static void every_line_has_its_verdict(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_N(lines); i++) {
		for (int role = TP_CLIENT; role <= TP_SERVER; role++) {
			if (lines[i].role != ANY_ROLE && lines[i].role != role)
				continue;
			line_one(i, (enum tp_role)role, PAIR_WHOLE);
			line_one(i, (enum tp_role)role, PAIR_BYTES);
		}
	}
}

static void feed_pre_lines(struct end *e, uint32_t n, const char *line)
{
	for (uint32_t i = 0; i < n; i++)
		end_feed(e, line, strlen(line), PAIR_WHOLE);
}

static void client_takes_1024_lines_before_the_version_and_no_more(void **state)
{
	(void)state;
	static const uint32_t counts[] = {1, 50, 1024, 1025};
	for (size_t i = 0; i < ARRAY_N(counts); i++) {
		struct pair p;
		pair_init(&p, i);
		pair_start(&p);
		feed_pre_lines(&p.c, counts[i], "We \x1b[31m welcome\x07 you\r\n");
		end_feed(&p.c, "SSH-2.0-x\r\n", 11, PAIR_WHOLE);
		assert_int_equal(p.c.err, counts[i] <= 1024 ? OK : E_NOT_SSH);
		assert_int_equal(end_count(&p.c, TP_EV_PRE_VERSION), num_min(counts[i], 1024));
		pair_done(&p);
	}
}

static void long_line(size_t n, err_t want)
{
	char *line = malloc(n + 1);
	assert_non_null(line);
	memset(line, 'a', n);
	memcpy(line, "SSH-2.0-", 8);
	line[n - 1] = '\n';
	for (int role = TP_CLIENT; role <= TP_SERVER; role++) {
		struct pair p;
		pair_init(&p, n);
		pair_start(&p);
		struct end *e = role == TP_SERVER ? &p.s : &p.c;
		end_feed(e, line, n, PAIR_WHOLE);
		assert_int_equal(e->err, want);
		pair_done(&p);
	}
	free(line);
}

static void a_line_has_at_most_8192_bytes(void **state)
{
	(void)state;
	long_line(8191, OK);
	long_line(8192, OK);
	long_line(8193, E_NOT_SSH);
	long_line(20000, E_NOT_SSH);
}

static void endless_bytes_without_a_line_end_are_refused(void **state)
{
	(void)state;
	struct pair p;
	pair_init(&p, 1);
	pair_start(&p);
	for (int i = 0; i < 8191; i++)
		end_feed(&p.s, "a", 1, PAIR_WHOLE);
	assert_int_equal(p.s.err, OK);
	end_feed(&p.s, "a", 1, PAIR_WHOLE);
	assert_int_equal(p.s.err, E_NOT_SSH);
	assert_int_equal(tp_peer_noise(p.s.tp).n, 256);
	pair_done(&p);
}

static void a_server_sends_nothing_but_words_to_what_is_not_ssh(void **state)
{
	(void)state;
	struct pair p;
	pair_init(&p, 1);
	pair_start(&p);
	end_feed(&p.s, "EHLO x\r\nSSH-2.0-x\r\n", 19, PAIR_WHOLE);
	assert_int_equal(p.s.err, E_NOT_SSH);
	struct slice room = tp_space(p.s.tp);
	assert_int_equal(room.n, 0);
	struct tp_event ev;
	assert_int_equal(tp_poll(p.s.tp, &ev), E_NOT_SSH);
	assert_true(cslice_eq_str(tp_peer_noise(p.s.tp), "EHLO x"));
	pair_done(&p);
}

static void a_time_limit_before_the_version_has_its_own_words(void **state)
{
	(void)state;
	struct pair p;
	pair_init(&p, 1);
	pair_start(&p);
	tp_fail(p.s.tp, E_TIMEOUT);
	struct buf out;
	buf_init(&out, 65536);
	end_take(&p.s, &out);
	assert_true(ends_with(&out, "Timed out waiting for SSH identification string.\r\n"));
	buf_done(&out);
	pair_done(&p);
}

static void the_end_of_the_stream_says_what_it_was(void **state)
{
	(void)state;
	struct pair p;
	pair_init(&p, 1);
	pair_start(&p);
	assert_int_equal(tp_fed_eof(p.c.tp), E_CLOSED);
	end_feed(&p.s, "HTTP", 4, PAIR_WHOLE);
	assert_int_equal(tp_fed_eof(p.s.tp), E_NOT_SSH);
	assert_true(cslice_eq_str(tp_peer_noise(p.s.tp), "HTTP"));
	pair_done(&p);
}

static void kexinit_goes_out_with_the_version_unless_told_to_wait(void **state)
{
	(void)state;
	for (int wait = 0; wait < 2; wait++) {
		struct pair p;
		pair_init(&p, 3);
		p.c.env.wait_version = wait != 0;
		pair_start(&p);
		struct buf out;
		buf_init(&out, 65536);
		end_take(&p.c, &out);
		size_t version_n = strlen(p.c.env.version) + 2;
		if (wait != 0)
			assert_int_equal(out.n, version_n);
		else
			assert_true(out.n > version_n + 500);
		buf_clear(&out);
		end_feed(&p.c, "SSH-2.0-OpenSSH_6.6\r\n", 21, PAIR_WHOLE);
		end_take(&p.c, &out);
		if (wait != 0) {
			struct cslice offer = buf_bytes(&p.c.tp->kex.my_init);
			assert_null(memmem(offer.p, offer.n, "curve25519", 10));
			assert_non_null(memmem(offer.p, offer.n, "ecdh-sha2-nistp256", 18));
		} else {
			assert_int_equal(out.n, 0);
		}
		buf_done(&out);
		pair_done(&p);
	}
}

static void both_sides_may_wait_for_the_other(void **state)
{
	(void)state;
	struct pair p;
	pair_init(&p, 4);
	p.c.env.wait_version = p.s.env.wait_version = true;
	p.cut = PAIR_BYTES;
	pair_start(&p);
	pair_run(&p);
	assert_int_equal(end_count(&p.c, TP_EV_KEYS), 1);
	assert_int_equal(end_count(&p.s, TP_EV_KEYS), 1);
	pair_done(&p);
}

static void peers_are_known_by_their_software(void **state)
{
	(void)state;
	static const struct {
		const char *version;
		uint32_t flags;
	} rows[] = {
		{"SSH-2.0-OpenSSH_6.5", TP_PEER_NO_CURVE25519},
		{"SSH-2.0-OpenSSH_6.6p1 Ubuntu-2", TP_PEER_NO_CURVE25519},
		{"SSH-2.0-OpenSSH_6.6.1p1", 0},
		{"SSH-2.0-OpenSSH_9.9", 0},
		{"SSH-2.0-Sun_SSH_1.0.1", TP_PEER_NO_REKEY},
		{"SSH-1.99-Cisco-1.25", TP_PEER_GEX_4096},
		{"SSH-2.0-Twisted", TP_PEER_BAD_DEBUG},
		{"SSH-2.0-Twisted_22.4", 0},
		{"SSH-2.0-Probe-x", TP_PEER_PROBE},
		{"SSH-2.0", 0},
		{"", 0},
	};
	for (size_t i = 0; i < ARRAY_N(rows); i++)
		assert_int_equal(tp_peer_flags_of(cslice_str(rows[i].version)), rows[i].flags);
}

static void a_scanner_gets_no_session(void **state)
{
	(void)state;
	struct pair p;
	pair_init(&p, 1);
	pair_start(&p);
	end_feed(&p.s, "SSH-2.0-Probe-x\r\n", 17, PAIR_WHOLE);
	assert_int_equal(p.s.err, E_NOT_SSH);
	end_feed(&p.c, "SSH-2.0-Probe-x\r\n", 17, PAIR_WHOLE);
	assert_int_equal(p.c.err, OK);
	pair_done(&p);
}

int main(void)
{
	if (crypto_init() != OK)
		return 1;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_line_has_its_verdict),
		cmocka_unit_test(client_takes_1024_lines_before_the_version_and_no_more),
		cmocka_unit_test(a_line_has_at_most_8192_bytes),
		cmocka_unit_test(endless_bytes_without_a_line_end_are_refused),
		cmocka_unit_test(a_server_sends_nothing_but_words_to_what_is_not_ssh),
		cmocka_unit_test(a_time_limit_before_the_version_has_its_own_words),
		cmocka_unit_test(the_end_of_the_stream_says_what_it_was),
		cmocka_unit_test(kexinit_goes_out_with_the_version_unless_told_to_wait),
		cmocka_unit_test(both_sides_may_wait_for_the_other),
		cmocka_unit_test(peers_are_known_by_their_software),
		cmocka_unit_test(a_scanner_gets_no_session),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
