/* SPDX-License-Identifier: ISC */
/* The window follows the round trip that the system has seen, and only where it has seen one. */
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "run/path.h"

static void loopback_pair(int fd[2])
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof(at);
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	assert_true(listener >= 0);
	assert_int_equal(bind(listener, (struct sockaddr *)&at, n), 0);
	assert_int_equal(listen(listener, 1), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&at, &n), 0);
	fd[0] = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(connect(fd[0], (struct sockaddr *)&at, n), 0);
	fd[1] = accept(listener, NULL, NULL);
	assert_true(fd[1] >= 0);
	close(listener);
}

static void test_a_short_path_keeps_the_first_window(void **state)
{
	(void)state;
	int fd[2];
	loopback_pair(fd);
	char byte = 'x';
	assert_int_equal(write(fd[0], &byte, 1), 1); /* one round trip, so that both have seen it */
	assert_int_equal(read(fd[1], &byte, 1), 1);
	assert_int_equal(write(fd[1], &byte, 1), 1);
	assert_int_equal(read(fd[0], &byte, 1), 1);
	/* a busy machine may have made it a slow one: never more than what the round trip asks */
	for (int i = 0; i < 2; i++) {
		assert_true(path_window(fd[i]) >= PATH_WINDOW_MIN);
		assert_true(path_window(fd[i]) < PATH_WINDOW_MAX);
	}
	close(fd[0]);
	close(fd[1]);
}

static void test_an_unknown_path_gets_all(void **state)
{
	(void)state;
	int fd[2];
	assert_int_equal(pipe(fd), 0);
	assert_true(path_window(fd[0]) == PATH_WINDOW_MAX);
	path_bound_unsent(fd[1]); /* no harm */
	close(fd[0]);
	close(fd[1]);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
	assert_true(path_window(fd[0]) == PATH_WINDOW_MAX);
	close(fd[0]);
	close(fd[1]);
	assert_true(path_window(-1) == PATH_WINDOW_MAX);
}

static void test_unsent_bytes_are_bounded(void **state)
{
	(void)state;
	int fd[2], set = 0;
	socklen_t n = sizeof(set);
	loopback_pair(fd);
	path_bound_unsent(fd[0]);
	assert_int_equal(getsockopt(fd[0], IPPROTO_TCP, TCP_NOTSENT_LOWAT, &set, &n), 0);
	assert_int_equal(set, PATH_UNSENT);
	close(fd[0]);
	close(fd[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_short_path_keeps_the_first_window),
		cmocka_unit_test(test_an_unknown_path_gets_all),
		cmocka_unit_test(test_unsent_bytes_are_bounded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
