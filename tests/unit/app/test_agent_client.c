/* SPDX-License-Identifier: ISC */
/* agent_client: an agent that answers late, in pieces or not at all; the clock is the test's */
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "app/common/agent_client.h"
#include "os/ev.h"

uint64_t __wrap_os_monotonic_us(void);
int __wrap_poll(struct pollfd *fds, nfds_t n, int wait_ms);

static uint64_t now_us;
static int peer;
static struct {
	const uint8_t *p;
	size_t n;
	unsigned each_s; /* how long the agent takes for each byte; 0 = it never answers */
} agent;

uint64_t __wrap_os_monotonic_us(void)
{
	return now_us;
}

/* Time passes; one more byte may have come. */
int __wrap_poll(struct pollfd *fds, nfds_t n, int wait_ms)
{
	(void)fds;
	assert_int_equal(n, 1);
	assert_true(wait_ms > 0);
	if (agent.each_s == 0 || agent.n == 0 || agent.each_s * 1000u > (unsigned)wait_ms) {
		now_us += (uint64_t)wait_ms * 1000;
		return 0;
	}
	now_us += (uint64_t)agent.each_s * 1000000;
	assert_int_equal(write(peer, agent.p, 1), 1);
	agent.p++;
	agent.n--;
	return 1;
}

static struct agent_client start(const void *answer, size_t n, unsigned each_s)
{
	int ends[2];
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
	peer = ends[1];
	agent.p = answer;
	agent.n = n;
	agent.each_s = each_s;
	now_us = 1000;
	return (struct agent_client){.fd = ends[0]};
}

static void end(struct agent_client *a)
{
	agent_close(a);
	close(peer);
}

static void count(void *arg, struct cslice blob, struct cslice comment)
{
	(void)blob;
	(void)comment;
	++*(int *)arg;
}

static const uint8_t one_key[] = {0, 0, 0, 15, 12, 0, 0, 0, 1, 0, 0, 0, 1, 'a', 0, 0, 0, 1, 'b'};

static void pieces_are_waited_for(void **state)
{
	(void)state;
	int n = 0;
	struct agent_client a = start(one_key, sizeof(one_key), 1);
	assert_int_equal(agent_list_blobs(&a, count, &n), OK);
	assert_int_equal(n, 1);
	assert_true(a.fd >= 0);
	end(&a);
}

/* The limit is for the answer, not for each byte of it. */
static void a_silent_or_slow_agent_is_given_up(void **state)
{
	(void)state;
	for (unsigned each_s = 0; each_s <= 10; each_s += 10) {
		int n = 0;
		struct agent_client a = start(one_key, sizeof(one_key), each_s);
		assert_int_equal(agent_list_blobs(&a, count, &n), E_TIMEOUT);
		assert_int_equal(n, 0);
		assert_true(now_us >= 120000000 && now_us < 122000000);
		assert_int_equal(a.fd, -1);
		assert_int_equal(agent_list_blobs(&a, count, &n), E_CLOSED);
		end(&a);
	}
}

static void a_person_has_longer(void **state)
{
	(void)state;
	static const uint8_t done[] = {0, 0, 0, 1, 6};
	struct agent_client a = start(done, sizeof(done), 170);
	assert_int_equal(agent_remove_all(&a), OK);
	end(&a);
	a = start(done, sizeof(done), 0);
	assert_int_equal(agent_lock(&a, true, cslice_str("x")), E_TIMEOUT);
	assert_true(now_us >= 900000000 && now_us < 902000000);
	end(&a);
}

static void what_is_out_of_step_ends_the_connection(void **state)
{
	(void)state;
	static const uint8_t refused[] = {0, 0, 0, 1, 5}, other[] = {0, 0, 0, 1, 14},
			     long_[] = {0xff, 0xff, 0xff, 0xff, 6};
	struct agent_client a = start(refused, sizeof(refused), 1);
	assert_int_equal(agent_remove_all(&a), E_DENIED);
	assert_true(a.fd >= 0); /* a no is an answer */
	end(&a);
	a = start(other, sizeof(other), 1);
	assert_int_equal(agent_remove_all(&a), E_UNEXPECTED);
	assert_int_equal(a.fd, -1);
	end(&a);
	a = start(long_, sizeof(long_), 1);
	assert_int_equal(agent_remove_all(&a), E_FORMAT);
	assert_int_equal(a.fd, -1);
	end(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pieces_are_waited_for),
		cmocka_unit_test(a_silent_or_slow_agent_is_given_up),
		cmocka_unit_test(a_person_has_longer),
		cmocka_unit_test(what_is_out_of_step_ends_the_connection),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
