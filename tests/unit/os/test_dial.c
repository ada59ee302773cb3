/* SPDX-License-Identifier: ISC */
/* Dialling: a listening port, a refused one, a name that does not exist, a limit of time, its
 * options. */
#include <stdarg.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "os/dial.h"

static int listen_somewhere(uint16_t *port)
{
	struct sockaddr_in sa = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof(sa);
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&sa, &n), 0);
	*port = ntohs(sa.sin_port);
	return fd;
}

static void a_connection_has_no_nagle_and_knows_its_ends(void **state)
{
	(void)state;
	uint16_t port;
	int listener = listen_somewhere(&port), fd = -1, on = 0;
	socklen_t n = sizeof(on);
	struct dial_failure f;
	struct dial_ends ends;
	struct dial d = {.host = "127.0.0.1",
		.port = port,
		.bind_address = "127.0.0.2",
		.timeout_us = 1000000};
	assert_int_equal(dial_tcp(&d, &fd, &f), OK);
	assert_int_equal(getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, &n), 0);
	assert_int_not_equal(on, 0);
	assert_true(dial_ends(fd, &ends));
	assert_string_equal(ends.peer, "127.0.0.1");
	assert_string_equal(ends.own, "127.0.0.2");
	assert_int_equal(ends.peer_port, port);
	close(fd);
	close(listener);
}

struct told {
	int tries, failures, why;
};

static void note(void *arg, const char *address, int why)
{
	struct told *t = arg;
	assert_string_equal(address, "127.0.0.1");
	t->tries += why == 0;
	t->failures += why != 0;
	t->why = why;
}

static void a_refused_port_is_told_with_the_systems_words(void **state)
{
	(void)state;
	uint16_t port;
	struct told told = {0};
	struct dial_failure f;
	int fd = -1;
	close(listen_somewhere(&port));
	struct dial d = {.host = "127.0.0.1", .port = port, .tell = note, .arg = &told};
	assert_int_equal(dial_tcp(&d, &fd, &f), E_IO);
	assert_int_equal(fd, -1);
	assert_int_equal(f.stage, DIAL_CONNECT);
	assert_string_equal(f.text, strerror(ECONNREFUSED));
	assert_int_equal(told.tries, 1);
	assert_int_equal(told.failures, 1);
	assert_int_equal(told.why, ECONNREFUSED);
}

static void the_family_is_kept(void **state)
{
	(void)state;
	struct dial_failure f;
	int fd = -1;
	struct dial d = {.host = "127.0.0.1", .port = 9, .family = DIAL_IPV6};
	assert_int_equal(dial_tcp(&d, &fd, &f), E_NOT_FOUND);
	assert_int_equal(f.stage, DIAL_RESOLVE);
}

static void an_address_that_is_not_ours_cannot_be_bound(void **state)
{
	(void)state;
	struct dial_failure f;
	int fd = -1;
	struct dial d = {.host = "127.0.0.1", .port = 9, .bind_address = "192.0.2.1"};
	assert_int_equal(dial_tcp(&d, &fd, &f), E_IO);
	assert_int_equal(f.stage, DIAL_BIND);
}

/* A full backlog: the kernel answers no further SYN. */
static void time_is_limited(void **state)
{
	(void)state;
	uint16_t port;
	int listener = listen_somewhere(&port), fds[4] = {-1, -1, -1, -1};
	err_t e = OK;
	struct dial_failure f;
	for (size_t i = 0; i < 4 && e == OK; i++) {
		struct dial d = {.host = "127.0.0.1", .port = port, .timeout_us = 100000};
		e = dial_tcp(&d, &fds[i], &f);
	}
	assert_int_equal(e, E_TIMEOUT);
	assert_string_equal(f.text, strerror(ETIMEDOUT));
	for (size_t i = 0; i < 4; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	close(listener);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_connection_has_no_nagle_and_knows_its_ends),
		cmocka_unit_test(a_refused_port_is_told_with_the_systems_words),
		cmocka_unit_test(the_family_is_kept),
		cmocka_unit_test(an_address_that_is_not_ours_cannot_be_bound),
		cmocka_unit_test(time_is_limited),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
