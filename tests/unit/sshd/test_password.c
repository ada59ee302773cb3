/* SPDX-License-Identifier: ISC */
/* No word of a password file that is not a hash, and no failure of crypt(3), ever lets anybody in
 * (CVE-2026-123158). */
#include <crypt.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "os/user.h"

static const char typical[] = "$1$salt$......................";

static const char *const not_hashes[] = {"", "*", "!", "!!", "x", "*0", "*1", "LK", "*LK*", "NP",
	"!*", "*NP*", "$", "$$", "$6$", "$6$$", "$6$salt$", "$1$salt$short",
	"$6$salt$......................", "$9$salt$......................", "$y$j9T$salt$short",
	"!$1$salt$......................", "$1$......................", "password",
	"12345678901234", "abcdefghijk!m", "$2b$10$tooshort", "\n", " "};

static const char *const prefixes[] = {
	"$1$", "$5$", "$6$", "$y$", "$gy$", "$7$", "$2b$", "$sha1$", ""};

static char *repeated(char c, size_t n)
{
	char *s = malloc(n + 1);
	assert_non_null(s);
	memset(s, c, n);
	s[n] = 0;
	return s;
}

static void a_word_that_is_no_hash_never_fits(void **state)
{
	static const size_t sizes[] = {0, 1, 2, 8, 255, 256, 300, 511, 512, 513, 1023, 1024};
	for (size_t i = 0; i < ARRAY_N(not_hashes); i++) {
		assert_false(user_hash_is_wellformed(not_hashes[i]));
		for (size_t k = 0; k < ARRAY_N(sizes); k++) {
			char *s = repeated('A', sizes[k]);
			assert_int_not_equal(
				user_password_check(not_hashes[i], typical, cslice_str(s)), OK);
			free(s);
		}
		for (size_t k = 0; k < ARRAY_N(not_hashes); k++)
			assert_int_not_equal(user_password_check(not_hashes[i], typical,
						     cslice_str(not_hashes[k])),
				OK);
	}
	assert_int_not_equal(user_password_check(NULL, typical, cslice_str("x")), OK);
}

/* A field that looks like a hash of a form whose crypt(3) fails: whatever it gives is not a yes. */
static void a_failure_of_crypt_never_fits(void **state)
{
	static const char *const fields[] = {"$7$zz$...........................................",
		"$y$!!$salt$...........................................",
		"$2b$99$.....................................................",
		"$sha1$x$salt$............................"};
	for (size_t i = 0; i < ARRAY_N(fields); i++) {
		assert_int_not_equal(user_password_check(fields[i], typical, cslice_str("*0")), OK);
		assert_int_not_equal(
			user_password_check(fields[i], typical, cslice_str(fields[i])), OK);
		assert_int_not_equal(user_password_check(fields[i], typical, cslice_str("")), OK);
	}
}

static void the_right_password_fits_and_only_it(void **state)
{
	static const char right[] = "correct horse";
	unsigned tried = 0;
	for (size_t i = 0; i < ARRAY_N(prefixes); i++) {
		char setting[CRYPT_GENSALT_OUTPUT_SIZE];
		const char *made =
			crypt_gensalt_rn(prefixes[i], 0, NULL, 0, setting, sizeof(setting));
		made = made != NULL ? crypt(right, setting) : NULL;
		if (made == NULL || made[0] == '*')
			continue; /* a form that this system's crypt(3) leaves out */
		char hash[CRYPT_OUTPUT_SIZE];
		strcpy(hash, made);
		if (!user_hash_is_wellformed(hash))
			fail_msg("a hash of crypt(3) is refused: %s", hash);
		tried++;
		assert_int_equal(user_password_check(hash, typical, cslice_str(right)), OK);
		assert_int_not_equal(
			user_password_check(hash, typical, cslice_str("cOrrect horse")), OK);
		assert_int_not_equal(user_password_check(hash, typical, cslice_str("")), OK);
		assert_int_not_equal(user_password_check(hash, typical, cslice_str(hash)), OK);
		assert_int_not_equal(
			user_password_check(hash, typical, cslice_of("correct horse\0", 14)), OK);
		char *lock = malloc(strlen(hash) + 2);
		assert_non_null(lock);
		lock[0] = '!';
		strcpy(lock + 1, hash);
		assert_int_not_equal(user_password_check(lock, typical, cslice_str(right)), OK);
		free(lock);
	}
	assert_true(tried >= 4);
}

static void too_long_never_fits(void **state)
{
	/* DES and MD5 crypt would cut or refuse: neither is a yes. */
	char *s = repeated('a', 511), *longer = repeated('a', 600);
	const char *made = crypt(s, "$1$abcdefgh$");
	assert_non_null(made);
	assert_int_equal(user_password_check(made, typical, cslice_str(s)), OK);
	assert_int_not_equal(user_password_check(made, typical, cslice_str(longer)), OK);
	free(s);
	free(longer);
}

/* The made-up work for a field that is no hash is never the answer, nor is the empty text that
 * stands for unusable input. */
static void made_up_work_is_never_a_yes(void **state)
{
	char of_secret[CRYPT_OUTPUT_SIZE], of_empty[CRYPT_OUTPUT_SIZE];
	const char *made = crypt("secret", "$1$abcdefgh$");
	assert_non_null(made);
	strcpy(of_secret, made);
	made = crypt("", "$1$abcdefgh$");
	assert_non_null(made);
	strcpy(of_empty, made);
	for (size_t i = 0; i < ARRAY_N(not_hashes); i++)
		assert_int_not_equal(
			user_password_check(not_hashes[i], of_secret, cslice_str("secret")), OK);
	char *longer = repeated('a', 600);
	assert_int_not_equal(user_password_check(of_empty, typical, cslice_str(longer)), OK);
	assert_int_not_equal(user_password_check(of_empty, typical, cslice_of("\0x", 2)), OK);
	free(longer);
}

static void the_typical_hash_is_one_and_fits_nothing(void **state)
{
	struct buf b;
	buf_init(&b, 1024);
	assert_int_equal(user_typical_hash(&b), OK);
	assert_true(user_hash_is_wellformed((const char *)b.p));
	assert_int_not_equal(user_password_check((const char *)b.p, typical, cslice_str("x")), OK);
	buf_done(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_word_that_is_no_hash_never_fits),
		cmocka_unit_test(a_failure_of_crypt_never_fits),
		cmocka_unit_test(the_right_password_fits_and_only_it),
		cmocka_unit_test(too_long_never_fits),
		cmocka_unit_test(made_up_work_is_never_a_yes),
		cmocka_unit_test(the_typical_hash_is_one_and_fits_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
