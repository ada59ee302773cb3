/* SPDX-License-Identifier: ISC */
/* The generator: no byte twice, not in a child either. */
#include <stdarg.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/random.h"

#define DRAWS 2000
#define SIZE  16

static int by_bytes(const void *a, const void *b)
{
	return memcmp(a, b, SIZE);
}

static void no_draw_comes_twice(void **state)
{
	(void)state;
	static uint8_t draws[DRAWS][SIZE];
	for (size_t i = 0; i < DRAWS; i++)
		rng_fill(os_rng(), draws[i], SIZE);
	qsort(draws, DRAWS, SIZE, by_bytes);
	for (size_t i = 1; i < DRAWS; i++)
		assert_memory_not_equal(draws[i - 1], draws[i], SIZE);
}

static void every_length_is_filled_to_its_last_byte(void **state)
{
	(void)state;
	static uint8_t b[9000];
	const size_t sizes[] = {1, 15, 1000, 1022, 1023, 4096, 8999};
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		size_t n = sizes[i];
		bool is_last_set = false;
		for (int tries = 0; tries < 8; tries++) {
			memset(b, 0, sizeof(b));
			rng_fill(os_rng(), b, n);
			is_last_set = is_last_set || b[n - 1] != 0;
			assert_int_equal(b[n], 0);
		}
		assert_true(is_last_set);
	}
}

static void a_child_draws_other_bytes_than_its_parent(void **state)
{
	(void)state;
	uint8_t mine[64], theirs[64];
	rng_fill(os_rng(), mine, 8); /* the block is filled: both would go on from it */
	int ends[2];
	assert_int_equal(pipe(ends), 0);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		rng_fill(os_rng(), theirs, sizeof(theirs));
		_exit(write(ends[1], theirs, sizeof(theirs)) == (ssize_t)sizeof(theirs) ? 0 : 1);
	}
	assert_int_equal(read(ends[0], theirs, sizeof(theirs)), sizeof(theirs));
	rng_fill(os_rng(), mine, sizeof(mine));
	assert_memory_not_equal(mine, theirs, sizeof(mine));
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	close(ends[0]);
	close(ends[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_draw_comes_twice),
		cmocka_unit_test(every_length_is_filled_to_its_last_byte),
		cmocka_unit_test(a_child_draws_other_bytes_than_its_parent),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
