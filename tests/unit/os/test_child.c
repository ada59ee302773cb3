/* SPDX-License-Identifier: ISC */
/* What a process gives back before it sleeps or forks, and what it keeps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "os/child.h"

#define DEEP ((size_t)64 * 1024)

static bool is_there(uintptr_t at, size_t page)
{
	unsigned char there = 0;
	assert_int_equal(mincore((void *)(at & ~(page - 1)), page, &there), 0);
	return (there & 1) != 0;
}

/* A call that needs much stack; the place of its lowest bytes. */
static __attribute__((noinline)) uintptr_t go_deep(void)
{
	volatile uint8_t room[DEEP];
	for (size_t i = 0; i < sizeof(room); i += 512)
		room[i] = 0xa5;
	return (uintptr_t)&room[0];
}

static void stack_that_is_not_in_use_is_given_back_and_no_other(void **state)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t mine[3000];
	memset(mine, 0x5a, sizeof(mine));
	uintptr_t deep = go_deep();
	assert_true(is_there(deep, page));
	child_trim();
	assert_false(is_there(deep, page));
	for (size_t i = 0; i < sizeof(mine); i++)
		assert_int_equal(mine[i], 0x5a);
}

static void freed_heap_is_given_back_and_no_other(void **state)
{
	enum { BLOCKS = 64, SIZE = 16384 };
	static uint8_t *blocks[BLOCKS]; /* each below the size that is mapped by itself */
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	for (size_t i = 0; i < BLOCKS; i++) {
		blocks[i] = malloc(SIZE);
		assert_non_null(blocks[i]);
		memset(blocks[i], (int)i, SIZE);
	}
	uintptr_t middle = (uintptr_t)blocks[BLOCKS / 2] + SIZE / 2;
	for (size_t i = 1; i < BLOCKS - 1; i++)
		free(blocks[i]);
	child_give_memory_back();
#if !defined(__SANITIZE_ADDRESS__)
	assert_false(is_there(middle, page));
#else
	(void)middle, (void)page; /* its heap is another one, and keeps what was freed */
#endif
	assert_int_equal(blocks[BLOCKS - 1][SIZE - 1], BLOCKS - 1);
	assert_int_equal(blocks[0][SIZE - 1], 0);
	free(blocks[0]);
	free(blocks[BLOCKS - 1]);
}

/* Says which limit it was, so that a person can raise it. */
static void a_lack_of_descriptors_has_a_name(void **state)
{
	struct rlimit before, none;
	int fds[2];
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = (struct rlimit){.rlim_cur = 3, .rlim_max = before.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	err_t piped = child_pipe(fds), opened = child_open_self(&fds[0]);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(piped, E_FILES);
	assert_int_equal(opened, E_FILES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stack_that_is_not_in_use_is_given_back_and_no_other),
		cmocka_unit_test(a_lack_of_descriptors_has_a_name),
		cmocka_unit_test(freed_heap_is_given_back_and_no_other),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
