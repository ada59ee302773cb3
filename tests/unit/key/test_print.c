/* SPDX-License-Identifier: ISC */
/* Fingerprints, pictures and public lines, against what OpenSSH printed for the same keys. */
#include "help.h"

static void fingerprints_are_those_of_openssh(void **state)
{
	(void)state;
	struct buf table = help_file("fingerprints");
	char name[64], sha[64], md5[64], babble[96], type[16];
	unsigned bits;
	size_t seen = 0;
	buf_put_u8(&table, 0);
	for (char *line = strtok((char *)table.p, "\n"); line != NULL; line = strtok(NULL, "\n")) {
		struct buf out;
		assert_int_equal(sscanf(line, "%63s %u %63s %63s %95s %15s", name, &bits, sha, md5,
					 babble, type),
			6);
		struct key *k = help_public(name);
		buf_init(&out, 256);
		assert_int_equal(key_bits(k), bits);
		assert_string_equal(key_type_shown(key_type_of(k)), type);
		assert_ok(key_fingerprint(k, HASH_SHA256, &out));
		assert_text(&out, sha);
		buf_clear(&out);
		assert_ok(key_fingerprint(k, HASH_MD5, &out));
		assert_text(&out, md5);
		buf_clear(&out);
		assert_ok(key_fingerprint_babble(k, HASH_SHA1, &out));
		assert_text(&out, babble);
		buf_done(&out);
		key_free(k);
		seen++;
	}
	buf_done(&table);
	assert_int_equal(seen, 11);
}

static void pictures_are_those_of_openssh(void **state)
{
	(void)state;
	static const char *const names[] = {"ed25519", "ecdsa_521", "rsa_2048"};
	for (size_t i = 0; i < ARRAY_N(names); i++) {
		for (size_t md5 = 0; md5 < 2; md5++) {
			char file[64];
			struct buf out;
			(void)snprintf(file, sizeof(file), "%s%s.art", names[i], md5 ? ".md5" : "");
			struct buf want = help_file(file);
			struct key *k = help_public(names[i]);
			buf_init(&out, 1024);
			assert_ok(key_randomart(k, md5 ? HASH_MD5 : HASH_SHA256, &out));
			buf_put_u8(&want, 0);
			assert_text(&out, (const char *)want.p);
			buf_done(&out);
			buf_done(&want);
			key_free(k);
		}
	}
}

static void public_lines_round_trip_with_their_comment(void **state)
{
	(void)state;
	struct buf file = help_file("rsa_2048.pub"), comment, line;
	struct key *k = NULL;
	buf_init(&comment, 256);
	buf_init(&line, 4096);
	assert_ok(key_parse_public_line(&k, buf_bytes(&file), &comment));
	assert_text(&comment, "key of rsa_2048");
	buf_put_u8(&comment, 0);
	assert_ok(key_public_line(k, (const char *)comment.p, &line));
	buf_put_u8(&line, '\n');
	assert_true(cslice_eq(buf_bytes(&line), buf_bytes(&file)));
	key_free(k);
	buf_done(&line);
	buf_done(&comment);
	buf_done(&file);
}

#define ED "AAAAC3NzaC1lZDI1NTE5AAAAIFOG6kY7Rf4UtCFvPwKgo/BztXck2xC4a2WyA34XtIwZ"

static void public_lines_with_odd_blanks_are_read_and_broken_ones_refused(void **state)
{
	(void)state;
	static const struct {
		const char *line;
		err_t want;
		const char *comment;
	} cases[] = {
		{"ssh-ed25519 " ED, OK, ""},
		{" \tssh-ed25519 \t " ED " \t two  words \t\r\n", OK, "two  words"},
		{"ssh-ed25519\t" ED "\tc\r\n", OK, "c"},
		{"ssh-rsa " ED, E_KEY_FORMAT, NULL},
		{"ssh-ed25519", E_KEY_FORMAT, NULL},
		{"", E_KEY_FORMAT, NULL},
		{ED, E_KEY_FORMAT, NULL},
		{"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFOG6kY7Rf4UtCFvPwKgo", E_KEY_FORMAT, NULL},
		{"ssh-ed25519 AAAA=C3N", E_KEY_FORMAT, NULL},
		{"ssh-x AAAABXNzaC14AAAAAA==", E_KEY_TYPE, NULL},
		{"ssh-y AAAABXNzaC14AAAAAA==", E_KEY_FORMAT, NULL},
	};
	for (size_t i = 0; i < ARRAY_N(cases); i++) {
		struct key *k = NULL;
		struct buf comment;
		buf_init(&comment, 256);
		assert_int_equal(key_parse_public_line(&k, cslice_str(cases[i].line), &comment),
			cases[i].want);
		if (cases[i].want == OK)
			assert_text(&comment, cases[i].comment);
		else
			assert_null(k);
		buf_done(&comment);
		key_free(k);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fingerprints_are_those_of_openssh),
		cmocka_unit_test(pictures_are_those_of_openssh),
		cmocka_unit_test(public_lines_round_trip_with_their_comment),
		cmocka_unit_test(public_lines_with_odd_blanks_are_read_and_broken_ones_refused),
	};
	return cmocka_run_group_tests(tests, help_init, NULL);
}
