/* SPDX-License-Identifier: ISC */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "app/sshd/sess.h"

static void a_second_value_takes_the_place_of_the_first(void **state)
{
	struct env_list e;
	env_init(&e);
	assert_null(env_get(&e, "A"));
	assert_int_equal(env_set(&e, "A", "1"), OK);
	assert_int_equal(env_set(&e, "AB", "2"), OK);
	assert_int_equal(env_set_pair(&e, "A=3=4"), OK);
	assert_int_equal(e.n, 2);
	assert_string_equal(env_get(&e, "A"), "3=4");
	assert_string_equal(e.v[0], "A=3=4");
	assert_null(e.v[2]);
	assert_int_equal(env_set_pair(&e, "=x"), E_FORMAT);
	assert_int_equal(env_set_pair(&e, "x"), E_FORMAT);
	env_done(&e);
}

/* The order of compat 8.1: who wins over whom. */
static void the_server_has_the_last_word(void **state)
{
	static char fixed_text[3][16] = {"FROM=server", "FROM=late", "USER=fixed"};
	static char key_text[3][16] = {"KEY=1", "FROM=key", "SSH_CLIENT=lie"};
	static char name[] = "anna", home[] = "/nowhere", shell[] = "/bin/sh", term[] = "xterm",
		    asked[] = "ls";
	static char yes[] = "yes", no[] = "no", some[] = "K*";
	char *fixed[] = {fixed_text[0], fixed_text[1], fixed_text[2]};
	char *of_key[] = {key_text[0], key_text[1], key_text[2]};
	struct os_user user = {.name = name, .home = home, .shell = shell, .uid = 1000};
	struct server_config conf = {.permit_user_environment = yes, .set_env = {fixed, 3}};
	struct session_start start = {.user = &user,
		.conf = &conf,
		.environment = of_key,
		.environment_n = 3,
		.ends = {.remote = "192.0.2.1",
			.local = "192.0.2.2",
			.remote_port = 1000,
			.local_port = 22}};
	struct server server = {.start = &start};
	struct sess s = {.server = &server, .term = term, .original = asked};
	struct env_list e;
	env_init(&s.client_env);
	assert_int_equal(env_set(&s.client_env, "FROM", "client"), OK);
	assert_int_equal(env_set(&s.client_env, "HOME", "client"), OK);
	assert_int_equal(env_set(&s.client_env, "MINE", "client"), OK);
	assert_int_equal(sess_env(&s, &e), OK);
	assert_string_equal(env_get(&e, "FROM"), "server");
	assert_string_equal(env_get(&e, "HOME"), "/nowhere");
	assert_string_equal(env_get(&e, "MINE"), "client");
	assert_string_equal(env_get(&e, "KEY"), "1");
	assert_string_equal(env_get(&e, "USER"), "fixed");
	assert_string_equal(env_get(&e, "LOGNAME"), "anna");
	assert_string_equal(env_get(&e, "TERM"), "xterm");
	assert_string_equal(env_get(&e, "MAIL"), "/var/mail/anna");
	assert_string_equal(env_get(&e, "SSH_CLIENT"), "192.0.2.1 1000 22");
	assert_string_equal(env_get(&e, "SSH_CONNECTION"), "192.0.2.1 1000 192.0.2.2 22");
	assert_string_equal(env_get(&e, "SSH_ORIGINAL_COMMAND"), "ls");
	assert_null(env_get(&e, "SSH_TTY"));
	env_done(&e);

	conf.permit_user_environment = no;
	assert_int_equal(sess_env(&s, &e), OK);
	assert_null(env_get(&e, "KEY"));
	env_done(&e);
	conf.permit_user_environment = some;
	assert_int_equal(sess_env(&s, &e), OK);
	assert_string_equal(env_get(&e, "KEY"), "1");
	env_done(&e);
	env_done(&s.client_env);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_second_value_takes_the_place_of_the_first),
		cmocka_unit_test(the_server_has_the_last_word),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
