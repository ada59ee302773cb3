/* SPDX-License-Identifier: ISC */
/*
 * What must never read as the right password: a field that holds no hash, a failure of crypt(3)
 * whatever it hands back, a password that crypt(3) cannot take.  The function that the build uses
 * (crypt_rn, else crypt_r) is wrapped, so that it can fail in each of its ways; otherwise the real
 * one works.
 */
#include "build_config.h"

#include <crypt.h>
#include <errno.h>
#include <setjmp.h>
#include <shadow.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "os/user.h"

enum mode { REAL, NOTHING, FIXED, ECHO_FIELD, SHORTER };
static enum mode mode;
static const char *fixed;
static unsigned calls;
static char last_setting[512];

#if HAVE_CRYPT_RN
char *__real_crypt_rn(const char *phrase, const char *setting, void *data, int size);
char *__wrap_crypt_rn(const char *phrase, const char *setting, void *data, int size);

static char *real(const char *phrase, const char *setting, struct crypt_data *data)
{
	return __real_crypt_rn(phrase, setting, data, (int)sizeof(*data));
}
#else
char *__real_crypt_r(const char *phrase, const char *setting, struct crypt_data *data);
char *__wrap_crypt_r(const char *phrase, const char *setting, struct crypt_data *data);

static char *real(const char *phrase, const char *setting, struct crypt_data *data)
{
	return __real_crypt_r(phrase, setting, data);
}
#endif

static char *wrapped(const char *phrase, const char *setting, struct crypt_data *data)
{
	calls++;
	(void)snprintf(last_setting, sizeof(last_setting), "%s", setting);
	switch (mode) {
	case NOTHING:
		errno = EINVAL;
		return NULL;
	case FIXED:
		(void)snprintf(data->output, sizeof(data->output), "%s", fixed);
		return data->output;
	case ECHO_FIELD:
		(void)snprintf(data->output, sizeof(data->output), "%s", setting);
		return data->output;
	case SHORTER:
		(void)snprintf(data->output, sizeof(data->output), "%.*s", (int)strlen(setting) - 1,
			setting);
		return data->output;
	default:
		return real(phrase, setting, data);
	}
}

#if HAVE_CRYPT_RN
char *__wrap_crypt_rn(const char *phrase, const char *setting, void *data, int size)
{
	assert_int_equal(size, sizeof(struct crypt_data));
	return wrapped(phrase, setting, data);
}
#else
char *__wrap_crypt_r(const char *phrase, const char *setting, struct crypt_data *data)
{
	return wrapped(phrase, setting, data);
}
#endif

/* As user_typical_hash makes one. */
#define DOTS    "..........."
#define TYPICAL "$6$bowlinebowline0$" DOTS DOTS DOTS DOTS DOTS DOTS DOTS "........."

static err_t check(const char *hash, const char *password, size_t n)
{
	calls = 0;
	err_t e = user_password_check(hash, TYPICAL, cslice_of(password, n));
	assert_int_equal(calls, 1); /* the same work, whatever the field is */
	return e;
}

static void make(const char *password, const char *setting, char out[static CRYPT_OUTPUT_SIZE])
{
	struct crypt_data *data = calloc(1, sizeof(*data));
	assert_non_null(data);
	mode = REAL;
	const char *made = real(password, setting, data);
	assert_non_null(made);
	assert_int_not_equal(made[0], '*');
	(void)snprintf(out, CRYPT_OUTPUT_SIZE, "%s", made);
	free(data);
}

/* Cheap settings of every kind that this machine's crypt(3) makes. */
static const char *const settings[] = {"$6$rounds=1000$saltsalt$", "$5$rounds=1000$saltsalt$",
	"$1$saltsalt$", "$2b$04$abcdefghijklmnopqrstuu", "$2y$04$abcdefghijklmnopqrstuu",
	"$y$j75$abcdefghijklmnopqrst", "$sha1$20$saltsalt$", "ab"};

static void the_right_password_fits_and_its_neighbours_do_not(void **state)
{
	(void)state;
	assert_true(user_hash_is_wellformed(TYPICAL));
	for (size_t i = 0; i < ARRAY_N(settings); i++) {
		char hash[CRYPT_OUTPUT_SIZE];
		make("secret", settings[i], hash);
		assert_true(user_hash_is_wellformed(hash));
		assert_int_equal(check(hash, "secret", 6), OK);
		assert_int_equal(check(hash, "Secret", 6), E_DENIED);
		assert_int_equal(check(hash, "secre", 5), E_DENIED);
		assert_int_equal(check(hash, "", 0), E_DENIED);
		assert_int_equal(check(hash, "secret\0", 7), E_DENIED); /* no part of it counts */
		assert_int_equal(check(hash, "secret\0x", 8), E_DENIED);
		assert_int_equal(check(hash, hash, strlen(hash)), E_DENIED);
	}
}

static const char *const no_hashes[] = {"", "*", "!", "!!", "x", "*0", "*1", "LK", "*LK*", "NP",
	"!*", "$", "$$", "$6$", "$6$salt$", "$6$salt$short", "$6$$", "$y$", "$2b$",
	"!$6$saltsalt$x", "*K*", ":", "\x7f", "$9$salt$aaaaaaaaaaaaaaaaaaaaaa", "aaaaaaaaaaaa",
	"aaaaaaaaaaaaaa", "ab:::::::::::", "$1$saltsalt$aaaaaaaaaaaaaaaaaaaaaaa"};

static void a_field_that_is_no_hash_fits_no_password(void **state)
{
	(void)state;
	static const char *const words[] = {"", "*", "!", "x", "*0", "*1", "LK", "secret"};
	char big[1025];
	memset(big, 'A', sizeof(big));
	for (size_t i = 0; i < ARRAY_N(no_hashes); i++) {
		const char *field = no_hashes[i];
		assert_false(user_hash_is_wellformed(field));
		for (int m = REAL; m <= SHORTER; m++) {
			mode = (enum mode)m;
			fixed = field; /* the failure token that looks like the placeholder */
			for (size_t k = 0; k < ARRAY_N(words); k++)
				assert_int_equal(
					check(field, words[k], strlen(words[k])), E_DENIED);
			assert_int_equal(check(field, field, strlen(field)), E_DENIED);
			for (size_t n = 255; n <= 1024; n += 257)
				assert_int_equal(check(field, big, n), E_DENIED);
			assert_string_equal(last_setting, TYPICAL);
		}
	}
	mode = REAL;
	assert_false(user_hash_is_wellformed(NULL));
	assert_int_equal(check(NULL, "secret", 6), E_DENIED);
}

static void a_locked_hash_fits_not_even_its_password(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_N(settings); i++) {
		char hash[CRYPT_OUTPUT_SIZE], locked[CRYPT_OUTPUT_SIZE + 2];
		make("secret", settings[i], hash);
		for (const char *mark = "!*x:"; *mark != 0; mark++) {
			(void)snprintf(locked, sizeof(locked), "%c%s", *mark, hash);
			assert_int_equal(check(locked, "secret", 6), E_DENIED);
		}
	}
}

static void a_failure_of_crypt_is_a_no_whatever_it_returns(void **state)
{
	(void)state;
	char hash[CRYPT_OUTPUT_SIZE];
	make("secret", settings[0], hash);
	mode = NOTHING;
	assert_int_equal(check(hash, "secret", 6), E_DENIED);
	mode = SHORTER;
	assert_int_equal(check(hash, "secret", 6), E_DENIED);
	static const char *const tokens[] = {"*0", "*1", "", "x", "*"};
	for (size_t i = 0; i < ARRAY_N(tokens); i++) {
		mode = FIXED;
		fixed = tokens[i];
		assert_int_equal(check(hash, "secret", 6), E_DENIED);
	}
	char longer[CRYPT_OUTPUT_SIZE + 2];
	(void)snprintf(longer, sizeof(longer), "%sx", hash);
	fixed = longer; /* the right one, and more */
	assert_int_equal(check(hash, "secret", 6), E_DENIED);
	mode = REAL;
	assert_int_equal(check(hash, "secret", 6), OK);
}

/* Longer than crypt(3) takes: refused without being cut, though crypt(3) may say what it likes. */
static void an_over_long_password_is_never_cut_to_fit(void **state)
{
	(void)state;
	static char longest[2 * CRYPT_MAX_PASSPHRASE_SIZE];
	char hash[CRYPT_OUTPUT_SIZE];
	memset(longest, 'p', sizeof(longest));
	for (size_t i = 0; i < ARRAY_N(settings); i++) {
		char kept = longest[CRYPT_MAX_PASSPHRASE_SIZE - 1];
		longest[CRYPT_MAX_PASSPHRASE_SIZE - 1] = 0;
		make(longest, settings[i], hash);
		longest[CRYPT_MAX_PASSPHRASE_SIZE - 1] = kept;
		assert_int_equal(check(hash, longest, CRYPT_MAX_PASSPHRASE_SIZE - 1), OK);
		assert_int_equal(check(hash, longest, CRYPT_MAX_PASSPHRASE_SIZE), E_DENIED);
		assert_int_equal(check(hash, longest, sizeof(longest)), E_DENIED);
		mode = ECHO_FIELD; /* even a crypt(3) that says "the same" to everything */
		assert_int_equal(check(hash, longest, CRYPT_MAX_PASSPHRASE_SIZE), E_DENIED);
		assert_int_equal(check(hash, longest, sizeof(longest)), E_DENIED);
		assert_int_equal(check(hash, "with\0nul", 8), E_DENIED);
		mode = REAL;
	}
}

/* ---- the made-up check of an unknown user ---- */

static const char *fields[8];
static size_t fields_at;

struct spwd *__wrap_getspent(void);

struct spwd *__wrap_getspent(void)
{
	static struct spwd sp;
	static char field[CRYPT_OUTPUT_SIZE];
	if (fields[fields_at] == NULL)
		return NULL;
	(void)snprintf(field, sizeof(field), "%s", fields[fields_at++]);
	sp.sp_pwdp = field;
	return &sp;
}

/* It must be real work: of the same kind as for the accounts of this machine, never a refusal. */
static void an_unknown_user_costs_what_a_known_one_does(void **state)
{
	(void)state;
	for (size_t i = 0; i <= ARRAY_N(settings); i++) {
		char hash[CRYPT_OUTPUT_SIZE] = "$6$";
		if (i < ARRAY_N(settings))
			make("secret", settings[i], hash);
		memset(fields, 0, sizeof(fields));
		fields[0] = "*";
		fields[1] = "!";
		fields[2] = i < ARRAY_N(settings) ? hash : "x";
		fields_at = 0;
		struct buf typical;
		buf_init(&typical, 4096);
		assert_int_equal(user_typical_hash(&typical), OK);
		const char *text = (const char *)typical.p;
		assert_int_equal(strlen(text) + 1, typical.n);
		assert_string_not_equal(text, hash);
		bool is_des = i < ARRAY_N(settings) && settings[i][0] != '$';
		if (!is_des)
			assert_memory_equal(text, hash, 3);
		char made[CRYPT_OUTPUT_SIZE];
		make("wrong", text, made);
		assert_int_equal(strlen(made), strlen(text));
		assert_int_equal(user_password_check("*", text, cslice_str("secret")), E_DENIED);
		buf_done(&typical);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_right_password_fits_and_its_neighbours_do_not),
		cmocka_unit_test(a_field_that_is_no_hash_fits_no_password),
		cmocka_unit_test(a_locked_hash_fits_not_even_its_password),
		cmocka_unit_test(a_failure_of_crypt_is_a_no_whatever_it_returns),
		cmocka_unit_test(an_over_long_password_is_never_cut_to_fit),
		cmocka_unit_test(an_unknown_user_costs_what_a_known_one_does),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
