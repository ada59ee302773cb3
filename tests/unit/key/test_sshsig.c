/* SPDX-License-Identifier: ISC */
/* Signatures of files, and the file that says whose count: what is accepted, what is refused. */
#include "help.h"
#include "key/sshsig.h"

static const uint8_t digest[64] = {1, 2, 3}, other_digest[64] = {9};

static void sign(const struct key *k, const char *space, struct buf *text)
{
	struct buf tbs, sig;
	buf_init(&tbs, 1024);
	buf_init(&sig, 8192);
	assert_ok(sshsig_tbs(cslice_str(space), HASH_SHA512, digest, &tbs));
	assert_ok(key_sign(k, sshsig_alg(k), buf_bytes(&tbs), &sig));
	assert_ok(sshsig_put(k, cslice_str(space), HASH_SHA512, buf_bytes(&sig), text));
	buf_done(&sig);
	buf_done(&tbs);
}

static void signatures_of_every_type_come_back(void **state)
{
	(void)state;
	static const char *const files[] = {
		"ed25519", "ecdsa_256", "ecdsa_521", "rsa_2048", "mldsa44_ed25519"};
	for (size_t i = 0; i < ARRAY_N(files); i++) {
		struct key *k = help_private(files[i], "");
		struct buf text;
		struct sshsig s;
		buf_init(&text, 65536);
		sign(k, "file", &text);
		assert_ok(sshsig_read(&s, buf_bytes(&text)));
		assert_true(key_equal_public(s.pub, k));
		assert_ok(sshsig_verify(&s, cslice_str("file"), digest));
		assert_err(sshsig_verify(&s, cslice_str("git"), digest), E_DENIED);
		assert_err(sshsig_verify(&s, cslice_str("file"), other_digest), E_SIGNATURE);
		sshsig_done(&s);
		buf_done(&text);
		key_free(k);
	}
}

static void an_empty_namespace_signs_nothing(void **state)
{
	(void)state;
	struct buf tbs;
	enum hash_id h = HASH_N;
	buf_init(&tbs, 1024);
	assert_err(sshsig_tbs(cslice_str(""), HASH_SHA512, digest, &tbs), E_USAGE);
	assert_int_equal(tbs.n, 0);
	assert_err(sshsig_hash_from_name(cslice_str("sha1"), &h), E_NAME);
	assert_err(sshsig_hash_from_name(cslice_str("sha384"), &h), E_NAME);
	assert_int_equal(h, HASH_N);
	buf_done(&tbs);
}

/* No change of a byte and no cut gives a signature that is right; a wrong one never crashes. */
static void no_damage_is_accepted(void **state)
{
	(void)state;
	struct key *k = help_private("ed25519", "");
	struct buf text;
	buf_init(&text, 65536);
	sign(k, "file", &text);
	size_t end = text.n - strlen("-----END SSH SIGNATURE-----\n");
	for (size_t i = 0; i < text.n; i++) {
		struct sshsig s;
		uint8_t was = text.p[i];
		if (i < end)
			assert_int_not_equal(sshsig_read(&s, cslice_of(text.p, i)), OK);
		if (was == '\n')
			continue;
		text.p[i] ^= 1;
		if (sshsig_read(&s, buf_bytes(&text)) == OK) {
			if (sshsig_verify(&s, cslice_str("file"), digest) == OK)
				assert_false(key_equal_public(s.pub, k));
			sshsig_done(&s);
		}
		text.p[i] = was;
	}
	buf_done(&text);
	key_free(k);
}

static void sha1_signatures_of_rsa_are_refused(void **state)
{
	(void)state;
	struct key *k = help_private("rsa_2048", "");
	struct buf tbs, sig, text;
	struct sshsig s;
	buf_init(&tbs, 1024);
	buf_init(&sig, 8192);
	buf_init(&text, 65536);
	assert_ok(sshsig_tbs(cslice_str("file"), HASH_SHA512, digest, &tbs));
	assert_ok(key_sign(k, cslice_str("ssh-rsa"), buf_bytes(&tbs), &sig));
	assert_ok(sshsig_put(k, cslice_str("file"), HASH_SHA512, buf_bytes(&sig), &text));
	assert_ok(sshsig_read(&s, buf_bytes(&text)));
	assert_err(sshsig_verify(&s, cslice_str("file"), digest), E_SIGNATURE);
	sshsig_done(&s);
	buf_done(&text);
	buf_done(&sig);
	buf_done(&tbs);
	key_free(k);
}

#define DAY(n) ((uint64_t)(n)*86400)

/* %k: the key that is asked for; %o: another one. */
/* clang-format off */
static const struct {
	const char *text, *who, *space;
	uint64_t when_s;
	err_t want;
} lines[] = {
	/* text                                            principal   namespace  time      verdict */
	{"me@x %k\n",                                      "me@x",     "git",     0,        OK},
	{"me@x %k",                                        "me@x",     "git",     0,        OK},
	{"\xef me@x\nme@x %k\r\n",                         "me@x",     "git",     0,        OK},
	{"# me@x %o\n\n\t \nme@x %k comment\n",            "me@x",     "git",     0,        OK},
	{"me@x %o\n",                                      "me@x",     "git",     0,        E_NOT_FOUND},
	{"me@x %o\nme@x %k\n",                             "me@x",     "git",     0,        OK},
	{"you@x %k\n",                                     "me@x",     "git",     0,        E_NOT_FOUND},
	{"*@x,!me@x %k\n",                                 "me@x",     "git",     0,        E_NOT_FOUND},
	{"*@x %k\n",                                       "me@x",     "git",     0,        OK},
	{"\"a b,me@x\" %k\n",                              "me@x",     "git",     0,        OK},
	{"\"me@x %k\n",                                    "me@x",     "git",     0,        E_CONFIG},
	{"me@x namespaces=\"file,g*\" %k\n",               "me@x",     "git",     0,        OK},
	{"me@x namespaces=\"file\" %k\n",                  "me@x",     "git",     0,        E_NOT_FOUND},
	{"me@x namespaces=\"*,!git\" %k\n",                "me@x",     "git",     0,        E_NOT_FOUND},
	{"me@x NameSpaces=\"git\" %k\n",                   "me@x",     "git",     0,        OK},
	{"me@x namespaces=\"\" %k\n",                      "me@x",     "git",     0,        E_CONFIG},
	{"me@x namespaces=git %k\n",                       "me@x",     "git",     0,        E_CONFIG},
	{"me@x namespaces=\"git\",namespaces=\"git\" %k\n", "me@x",    "git",     0,        E_CONFIG},
	{"me@x octopus %k\n",                              "me@x",     "git",     0,        E_CONFIG},
	{"you@x octopus %k\nme@x %k\n",                    "me@x",     "git",     0,        OK},
	{"me@x octopus=\"x\" %k\n",                        "me@x",     "git",     0,        E_CONFIG},
	{"me@x namespaces=\"git\", %k\n",                  "me@x",     "git",     0,        E_CONFIG},
	{"me@x cert-authority %k\n",                       "me@x",     "git",     0,        E_NOT_FOUND},
	{"me@x cert-authority\n",                          "me@x",     "git",     0,        E_CONFIG},
	{"me@x\n",                                         "me@x",     "git",     0,        E_CONFIG},
	{"me@x valid-after=\"19700103Z\" %k\n",            "me@x",     "git",     DAY(2),   OK},
	{"me@x valid-after=\"19700103Z\" %k\n",            "me@x",     "git",     DAY(2)-1, E_NOT_FOUND},
	{"me@x valid-before=\"19700103Z\" %k\n",           "me@x",     "git",     DAY(2),   OK},
	{"me@x valid-before=\"19700103Z\" %k\n",           "me@x",     "git",     DAY(2)+1, E_NOT_FOUND},
	{"me@x valid-after=\"19700103Z\",valid-before=\"19700105Z\" %k\n", "me@x", "git", DAY(3), OK},
	{"me@x valid-after=\"19700105Z\",valid-before=\"19700103Z\" %k\n", "me@x", "git", DAY(3), E_CONFIG},
	{"me@x valid-after=\"19700103Z\",valid-before=\"19700103Z\" %k\n", "me@x", "git", DAY(2), E_CONFIG},
	{"me@x valid-after=\"19700103Z\",valid-after=\"19700103Z\" %k\n",  "me@x", "git", DAY(3), E_CONFIG},
	{"me@x valid-after=\"tomorrow\" %k\n",             "me@x",     "git",     0,        E_CONFIG},
	{"me@x valid-before=\"\" %k\n",                    "me@x",     "git",     0,        E_CONFIG},
	{"me@x valid-before=\"19700103Z\" %k\nme@x valid-after=\"19700109Z\" %k\n", "me@x", "git", DAY(9), OK},
	{"me@x ssh-x AAAABXNzaC14\nme@x %k\n",             "me@x",     "git",     0,        OK},
	{"",                                               "me@x",     "git",     0,        E_NOT_FOUND},
};
/* clang-format on */

static void expand(const char *text, struct buf *out)
{
	for (const char *at = text; *at != '\0'; at++) {
		if (at[0] != '%') {
			buf_put_u8(out, (uint8_t)*at);
			continue;
		}
		struct key *k = help_public(*++at == 'k' ? "ed25519" : "ecdsa_256");
		assert_ok(key_public_line(k, NULL, out));
		key_free(k);
	}
}

static void lines_of_allowed_signers(void **state)
{
	(void)state;
	struct key *k = help_public("ed25519");
	for (size_t i = 0; i < ARRAY_N(lines); i++) {
		struct buf text;
		struct cslice space = cslice_str(lines[i].space), principals = {NULL, 7};
		struct as_query q = {lines[i].who, k, &space, lines[i].when_s, NULL};
		buf_init(&text, 65536);
		expand(lines[i].text, &text);
		struct cslice rest = buf_bytes(&text);
		err_t e = as_next(&rest, &q, &principals);
		if (e != lines[i].want)
			fail_msg("%zu: %s gives %s", i, lines[i].text, err_name(e));
		if (e != OK)
			assert_int_equal(principals.n, 7);
		buf_done(&text);
	}
	key_free(k);
}

static void every_line_of_a_principal_is_found(void **state)
{
	(void)state;
	struct buf text;
	struct cslice principals;
	struct as_query q = {.principal = "me@x"};
	buf_init(&text, 65536);
	expand("me@x,b %k\nno %k\n*@x valid-before=\"19800101Z\" %o\n", &text);
	struct cslice rest = buf_bytes(&text);
	assert_ok(as_next(&rest, &q, &principals));
	assert_true(cslice_eq_str(principals, "me@x,b"));
	assert_ok(as_next(&rest, &q, &principals));
	assert_true(cslice_eq_str(principals, "*@x"));
	assert_err(as_next(&rest, &q, &principals), E_NOT_FOUND);
	buf_done(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(signatures_of_every_type_come_back),
		cmocka_unit_test(an_empty_namespace_signs_nothing),
		cmocka_unit_test(no_damage_is_accepted),
		cmocka_unit_test(sha1_signatures_of_rsa_are_refused),
		cmocka_unit_test(lines_of_allowed_signers),
		cmocka_unit_test(every_line_of_a_principal_is_found),
	};
	return cmocka_run_group_tests(tests, help_init, NULL);
}
