/* SPDX-License-Identifier: ISC */
/* An account is looked up in another process, and only a whole answer of it counts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <pwd.h>
#include <unistd.h>

#include <cmocka.h>

#include "app/sshd/account.h"

enum fault { NONE, CRASH, EXIT, HALF };
static enum fault fault;
static size_t asked_here; /* the functions of the C library that this process itself has called */

struct passwd *__real_getpwnam(const char *name);
struct passwd *__wrap_getpwnam(const char *name);
struct passwd *__wrap_getpwnam(const char *name)
{
	asked_here++;
	if (fault == CRASH)
		_exit(3);
	if (fault == EXIT)
		_exit(0);
	if (fault == HALF)
		(void)alarm(1); /* its signal ends the process while this look-up hangs */
	while (fault == HALF)
		(void)pause();
	return __real_getpwnam(name);
}

static void root_is_found_with_its_groups(void **state)
{
	struct os_user u, here;
	struct buf groups, want;
	buf_init(&groups, 65536);
	buf_init(&want, 65536);
	fault = NONE;
	asked_here = 0;
	assert_int_equal(account_find("root", &u, &groups), OK);
	assert_int_equal(asked_here, 0);
	assert_int_equal(user_find("root", &here), OK);
	assert_int_equal(asked_here, 1);
	assert_int_equal(user_group_names(&here, &want), OK);
	assert_string_equal(u.name, here.name);
	assert_string_equal(u.home, here.home);
	assert_string_equal(u.shell, here.shell);
	assert_string_equal(u.hash, here.hash);
	assert_int_equal(u.uid, here.uid);
	assert_int_equal(u.gid, here.gid);
	assert_int_equal(u.expiry, here.expiry);
	assert_int_equal(u.groups_n, here.groups_n);
	assert_memory_equal(u.groups, here.groups, u.groups_n * sizeof(*u.groups));
	assert_int_equal(groups.n, want.n);
	assert_memory_equal(groups.p, want.p, want.n);
	user_done(&u);
	user_done(&here);
	buf_done(&groups);
	buf_done(&want);
}

static void a_name_without_account_is_not_found(void **state)
{
	struct os_user u = {.uid = 77}, before = u;
	struct buf groups;
	buf_init(&groups, 65536);
	fault = NONE;
	assert_int_equal(account_find("no-such-account-here", &u, &groups), E_NOT_FOUND);
	assert_memory_equal(&u, &before, sizeof(u));
	assert_int_equal(groups.n, 0);
	buf_done(&groups);
}

static void a_look_up_that_breaks_off_is_no_account(void **state)
{
	static const enum fault faults[] = {CRASH, EXIT, HALF};
	for (size_t i = 0; i < ARRAY_N(faults); i++) {
		struct os_user u = {.uid = 77}, before = u;
		struct buf groups;
		buf_init(&groups, 65536);
		fault = faults[i];
		assert_int_equal(account_find("root", &u, &groups), E_IO);
		assert_memory_equal(&u, &before, sizeof(u));
		assert_int_equal(groups.n, 0);
		buf_done(&groups);
	}
}

static void a_forgotten_hash_fits_no_password(void **state)
{
	static const char *const hashes[] = {"$6$salt$digest", "x"};
	for (size_t i = 0; i < ARRAY_N(hashes); i++) {
		char text[32];
		struct os_user u = {.hash = text};
		(void)strcpy(text, hashes[i]);
		user_forget_hash(&u);
		assert_string_equal(text, "*");
	}
	struct os_user none = {.hash = NULL};
	user_forget_hash(&none);
	assert_null(none.hash);
}

static void the_typical_hash_is_one(void **state)
{
	struct buf hash;
	buf_init(&hash, 1024);
	assert_int_equal(account_typical_hash(&hash), OK);
	assert_int_equal(hash.p[hash.n - 1], 0);
	assert_true(user_hash_is_wellformed((const char *)hash.p));
	buf_done(&hash);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(root_is_found_with_its_groups),
		cmocka_unit_test(a_name_without_account_is_not_found),
		cmocka_unit_test(a_look_up_that_breaks_off_is_no_account),
		cmocka_unit_test(a_forgotten_hash_fits_no_password),
		cmocka_unit_test(the_typical_hash_is_one),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
