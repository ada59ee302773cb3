/* SPDX-License-Identifier: ISC */
/* The account of a user id, from the text of a passwd file. */
#include <stdarg.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "app/common/me.h"

static const char passwd[] = "root:x:0:0:root:/root:/bin/bash\n"
			     "\n"
			     "# ann:x:1000:1000::/home/comment:/bin/sh\n"
			     "+nis:x:1000:1000::/home/nis:/bin/sh\n"
			     "short:x:1000\n"
			     "nohome:x:1000:1000:::/bin/sh\n"
			     "odd:x:1000x:1000::/home/odd:/bin/sh\n"
			     "ann:x:1000:1000:Ann,,,:/home/ann:/bin/sh\n"
			     "ann2:x:1000:1000::/home/ann2:/bin/sh\n"
			     "last:x:4294967294:0::/:";

static void check(uint32_t uid, const char *name, const char *home)
{
	struct me m = {0};
	assert_int_equal(me_find(passwd, strlen(passwd), uid, &m), OK);
	assert_string_equal(m.name, name);
	assert_string_equal(m.home, home);
	me_done(&m);
}

static void the_first_whole_line_of_the_id_counts(void **state)
{
	(void)state;
	check(0, "root", "/root");
	check(1000, "ann", "/home/ann");
	check(4294967294u, "last", "/");
}

static void an_id_without_a_line_is_not_found(void **state)
{
	(void)state;
	struct me m = {.uid = 7};
	assert_int_equal(me_find(passwd, strlen(passwd), 5, &m), E_NOT_FOUND);
	assert_int_equal(me_find("", 0, 0, &m), E_NOT_FOUND);
	assert_int_equal(m.uid, 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_whole_line_of_the_id_counts),
		cmocka_unit_test(an_id_without_a_line_is_not_found),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
