/* SPDX-License-Identifier: ISC */
/* PuTTY's key files: those of puttygen are read, ours read again, damage and costs are refused */
#include "help.h"

/* clang-format off */
static const struct {
	const char *file, *key, *passphrase;
} files[] = {
	/* file               key          passphrase       */
	{"rsa_2048.ppk2",     "rsa_2048",  ""},
	{"ecdsa_256.ppk2",    "ecdsa_256", ""},
	{"ecdsa_521.ppk2",    "ecdsa_521", ""},
	{"ed25519.ppk2",      "ed25519",   ""},
	{"rsa_2048_pw.ppk2",  "rsa_2048",  HELP_PASSPHRASE},
	{"ecdsa_384_pw.ppk2", "ecdsa_384", HELP_PASSPHRASE},
	{"ed25519_pw.ppk2",   "ed25519",   HELP_PASSPHRASE},
	{"rsa_2048_pw.ppk3",  "rsa_2048",  HELP_PASSPHRASE},
	{"ecdsa_384_pw.ppk3", "ecdsa_384", HELP_PASSPHRASE},
	{"ed25519_pw.ppk3",   "ed25519",   HELP_PASSPHRASE},
};
/* clang-format on */

static bool is_skipped(const char *name)
{
	return strstr(name, "_pw.ppk3") != NULL && !argon2_is_there();
}

static err_t read_bytes(struct cslice bytes, const char *passphrase)
{
	struct key *k = NULL;
	err_t e = key_read_private(&k, bytes, cslice_str(passphrase), NULL);
	assert_int_equal(k != NULL, e == OK);
	key_free(k);
	return e;
}

static void files_of_puttygen_are_read(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_N(files); i++) {
		if (is_skipped(files[i].file))
			continue;
		struct buf text = help_file(files[i].file), comment;
		struct key *pub = help_public(files[i].key), *k = NULL, *half = NULL;
		buf_init(&comment, 256);
		assert_ok(key_read_private(
			&k, buf_bytes(&text), cslice_str(files[i].passphrase), &comment));
		assert_true(key_equal_public(k, pub));
		assert_true(key_is_private(k));
		assert_true(comment.n > 0);
		buf_clear(&comment);
		assert_ok(key_read_private_public(&half, buf_bytes(&text), &comment));
		assert_true(key_equal_public(half, pub));
		assert_false(key_is_private(half));
		assert_true(comment.n > 0);
		if (files[i].passphrase[0] != '\0') {
			assert_err(read_bytes(buf_bytes(&text), ""), E_PASSPHRASE);
			assert_err(read_bytes(buf_bytes(&text), "pass phrasE"), E_PASSPHRASE);
		}
		key_free(half);
		key_free(k);
		key_free(pub);
		buf_done(&comment);
		buf_done(&text);
	}
}

static void every_cut_and_every_flipped_byte_is_refused(void **state)
{
	(void)state;
	static const char *const names[] = {"putty.ppk", "rsa_2048.ppk2", "ed25519_pw.ppk2"};
	for (size_t i = 0; i < ARRAY_N(names); i++) {
		struct buf text = help_file(names[i]);
		const char *pass = i == 2 ? HELP_PASSPHRASE : "";
		assert_ok(read_bytes(buf_bytes(&text), pass));
		for (size_t n = 0; n + 1 < text.n; n++) /* the last line end may be missing */
			assert_int_not_equal(read_bytes(cslice_of(text.p, n), pass), OK);
		for (size_t at = 0; at + 1 < text.n; at++) {
			text.p[at] ^= 0x01;
			if (read_bytes(buf_bytes(&text), pass) == OK)
				fail_msg("%s: byte %zu", names[i], at);
			text.p[at] ^= 0x01;
		}
		buf_done(&text);
	}
}

/* The text with the first `what` replaced. */
static err_t read_with(const char *name, const char *what, const char *with, const char *pass)
{
	struct buf text = help_file(name), changed;
	const uint8_t *hit = memmem(text.p, text.n, what, strlen(what));
	assert_non_null(hit);
	size_t at = (size_t)(hit - text.p), behind = at + strlen(what);
	buf_init(&changed, 1 << 20);
	buf_put(&changed, text.p, at);
	buf_put(&changed, with, strlen(with));
	buf_put(&changed, text.p + behind, text.n - behind);
	err_t e = read_bytes(buf_bytes(&changed), pass);
	buf_done(&changed);
	buf_done(&text);
	return e;
}

static void each_kind_of_damage_has_its_own_name(void **state)
{
	(void)state;
	const char *f = "putty.ppk";
	struct buf text = help_file(f);
	assert_err(read_with(f, "Comment: putty", "Comment: other", ""), E_KEY_DAMAGED);
	assert_err(read_with(f, "File-3", "File-1", ""), E_UNSUPPORTED);
	assert_err(read_with(f, "Encryption: none", "Encryption: rot13", ""), E_UNSUPPORTED);
	assert_err(read_with(f, "Public-Lines: 2", "Public-Lines: 4000000000", ""), E_KEY_FORMAT);
	assert_err(read_with(f, "Private-Lines: 1", "Private-Lines: 9", ""), E_KEY_TRUNCATED);
	assert_err(read_with(f, "Private-MAC: b8", "Private-MAC: ", ""), E_KEY_TRUNCATED);
	assert_err(read_with(f, "3: ssh-ed25519", "3: ssh-rsa", ""), E_KEY_FORMAT);
	assert_err(read_bytes(cslice_of(text.p, text.n / 2), ""), E_KEY_TRUNCATED);
	buf_done(&text);
}

static void costs_are_bounded_before_they_are_paid(void **state)
{
	(void)state;
	const char *f = "ed25519_pw.ppk3";
	if (!argon2_is_there())
		skip();
	static const char *const memories[] = {"4294967295", "1048577", "7", "0"};
	for (size_t i = 0; i < ARRAY_N(memories); i++) {
		char line[64];
		(void)snprintf(line, sizeof(line), "Argon2-Memory: %s", memories[i]);
		assert_err(read_with(f, "Argon2-Memory: 64", line, HELP_PASSPHRASE), E_LIMIT);
	}
	assert_err(
		read_with(f, "Argon2-Passes: ", "Argon2-Passes: 99999", HELP_PASSPHRASE), E_LIMIT);
	assert_err(read_with(f, "Argon2-Parallelism: 2", "Argon2-Parallelism: 0", HELP_PASSPHRASE),
		E_LIMIT);
	assert_err(read_with(f, "Argon2-Parallelism: 2", "Argon2-Parallelism: 65", HELP_PASSPHRASE),
		E_LIMIT);
	assert_err(read_with(f, "Argon2-Memory: 64", "Argon2-Memory: 65", HELP_PASSPHRASE),
		E_PASSPHRASE);
	assert_err(read_with(f, "Argon2id", "Argon3id", HELP_PASSPHRASE), E_UNSUPPORTED);
}

static void what_is_written_is_read_again(void **state)
{
	(void)state;
	static const char *const names[] = {
		"rsa_1024", "ecdsa_256", "ecdsa_384", "ecdsa_521", "ed25519"};
	static const enum key_form forms[] = {KEY_FORM_PPK, KEY_FORM_PPK2};
	struct rng_seeded rng;
	rng_seeded_init(&rng, 4);
	for (size_t i = 0; i < ARRAY_N(names) * 4; i++) {
		const char *pass = i % 2 != 0 ? "secret" : "";
		enum key_form form = forms[i / 2 % 2];
		struct key *k = help_private(names[i / 4], ""), *again = NULL;
		struct buf text, comment;
		buf_init(&text, 65536);
		buf_init(&comment, 256);
		if (form == KEY_FORM_PPK && pass[0] != '\0' && !argon2_is_there())
			pass = "";
		struct key_write_opts opts = {.comment = "two words\nand a second line",
			.passphrase = cslice_str(pass),
			.rounds = 1,
			.rng = &rng.rng,
			.form = form};
		assert_ok(key_write_private(k, &opts, &text));
		assert_int_equal(key_form_of(buf_bytes(&text)), form);
		assert_ok(key_read_private(&again, buf_bytes(&text), cslice_str(pass), &comment));
		assert_true(key_equal_public(again, k));
		assert_text(&comment, "two words");
		buf_done(&comment);
		buf_done(&text);
		key_free(again);
		key_free(k);
	}
}

static void types_that_putty_does_not_know_are_refused(void **state)
{
	(void)state;
	struct key *k = help_private("mldsa44_ed25519", "");
	struct rng_seeded rng;
	struct buf text;
	rng_seeded_init(&rng, 4);
	buf_init(&text, 65536);
	struct key_write_opts opts = {.rng = &rng.rng, .form = KEY_FORM_PPK};
	assert_err(key_write_private(k, &opts, &text), E_KEY_TYPE);
	assert_int_equal(text.n, 0);
	buf_done(&text);
	key_free(k);
}

/* A seed that ends in zeros is written without them, as a number. */
static void short_numbers_are_filled_up(void **state)
{
	(void)state;
	struct rng_seeded rng;
	struct key *k = NULL, *again = NULL;
	bool found = false;
	for (uint64_t seed = 0; !found && seed < 5000; seed++) {
		struct buf fields;
		rng_seeded_init(&rng, seed);
		uint8_t draw[32];
		rng_fill(&rng.rng, draw, sizeof(draw));
		found = draw[31] == 0;
		if (!found)
			continue;
		rng_seeded_init(&rng, seed);
		assert_ok(key_generate(&k, KEY_ED25519, 0, &rng.rng));
		buf_init(&fields, 65536);
		struct key_write_opts opts = {.rng = &rng.rng, .form = KEY_FORM_PPK2};
		assert_ok(key_write_private(k, &opts, &fields));
		assert_non_null(memmem(fields.p, fields.n, "\nAAAAH", 6)); /* 31 bytes */
		assert_ok(key_read_private(&again, buf_bytes(&fields), cslice_str(""), NULL));
		assert_true(key_equal_public(k, again));
		buf_done(&fields);
	}
	assert_true(found);
	key_free(again);
	key_free(k);
}

static void odd_line_ends_are_read(void **state)
{
	(void)state;
	struct buf text = help_file("rsa_2048.ppk2"), odd;
	buf_init(&odd, 65536);
	buf_put(&odd, "\r\n \n", 4);
	for (size_t i = 0; i + 1 < text.n; i++) {
		if (text.p[i] == '\n')
			buf_put_u8(&odd, '\r');
		buf_put_u8(&odd, text.p[i]);
	}
	assert_ok(read_bytes(buf_bytes(&odd), ""));
	buf_done(&odd);
	buf_done(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_of_puttygen_are_read),
		cmocka_unit_test(every_cut_and_every_flipped_byte_is_refused),
		cmocka_unit_test(each_kind_of_damage_has_its_own_name),
		cmocka_unit_test(costs_are_bounded_before_they_are_paid),
		cmocka_unit_test(what_is_written_is_read_again),
		cmocka_unit_test(types_that_putty_does_not_know_are_refused),
		cmocka_unit_test(short_numbers_are_filled_up),
		cmocka_unit_test(odd_line_ends_are_read),
	};
	return cmocka_run_group_tests(tests, help_init, NULL);
}
