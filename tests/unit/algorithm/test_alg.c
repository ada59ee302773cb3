/* SPDX-License-Identifier: ISC */
/* The tables and lists of algorithms, against the lists of the compatibility reference written out
 * here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "algorithm/alg.h"
#include "crypto/pick.h"

#define GCM_OPENSSH "aes128-gcm@openssh.com,aes256-gcm@openssh.com"

/* clang-format off */
static const char *const defaults[ALG_KIND_N][2] = { /* client, server */
	[ALG_KEX] = {
		"mlkem768x25519-sha256,sntrup761x25519-sha512,sntrup761x25519-sha512@openssh.com,curve25519-sha256,"
		"curve25519-sha256@libssh.org,ecdh-sha2-nistp256,ecdh-sha2-nistp384,ecdh-sha2-nistp521,"
		"diffie-hellman-group-exchange-sha256,diffie-hellman-group16-sha512,diffie-hellman-group18-sha512,"
		"diffie-hellman-group14-sha256",
		"mlkem768x25519-sha256,sntrup761x25519-sha512,sntrup761x25519-sha512@openssh.com,curve25519-sha256,"
		"curve25519-sha256@libssh.org,ecdh-sha2-nistp256,ecdh-sha2-nistp384,ecdh-sha2-nistp521"},
	[ALG_CIPHER] = {
		"chacha20-poly1305@openssh.com," GCM_OPENSSH ",aes128-ctr,aes192-ctr,aes256-ctr",
		"chacha20-poly1305@openssh.com," GCM_OPENSSH ",aes128-ctr,aes192-ctr,aes256-ctr"},
	[ALG_MAC] = {
		"umac-64-etm@openssh.com,umac-128-etm@openssh.com,hmac-sha2-256-etm@openssh.com,"
		"hmac-sha2-512-etm@openssh.com,hmac-sha1-etm@openssh.com,umac-64@openssh.com,umac-128@openssh.com,"
		"hmac-sha2-256,hmac-sha2-512,hmac-sha1",
		"umac-64-etm@openssh.com,umac-128-etm@openssh.com,hmac-sha2-256-etm@openssh.com,"
		"hmac-sha2-512-etm@openssh.com,hmac-sha1-etm@openssh.com,umac-64@openssh.com,umac-128@openssh.com,"
		"hmac-sha2-256,hmac-sha2-512,hmac-sha1"},
	[ALG_COMPRESSION] = {"none,zlib@openssh.com", "none,zlib@openssh.com"},
};

struct apply_case {
	enum alg_kind kind;
	const char *spec, *want; /* want NULL: E_NAME */
	const char *bad;
};

static const struct apply_case apply_cases[] = {
	{ALG_CIPHER, "aes256-ctr", "aes256-ctr", NULL},
	{ALG_CIPHER, "aes256-ctr,aes128-ctr,aes256-ctr", "aes256-ctr,aes128-ctr", NULL},
	{ALG_CIPHER, "^aes256-ctr,aes128-ctr",
	 "aes256-ctr,aes128-ctr,chacha20-poly1305@openssh.com," GCM_OPENSSH ",aes192-ctr", NULL},
	{ALG_CIPHER, "-aes*-ctr", "chacha20-poly1305@openssh.com," GCM_OPENSSH, NULL},
	{ALG_CIPHER, "-aes*-ctr,chacha20*", GCM_OPENSSH, NULL},
	{ALG_CIPHER, "-no-such-cipher", "chacha20-poly1305@openssh.com," GCM_OPENSSH ",aes128-ctr,aes192-ctr,aes256-ctr",
	 NULL},
	{ALG_CIPHER, "-*", "", NULL},
	{ALG_CIPHER, "+aes128-ctr", "chacha20-poly1305@openssh.com," GCM_OPENSSH ",aes128-ctr,aes192-ctr,aes256-ctr", NULL},
	{ALG_CIPHER, "arcfour", "arcfour", NULL},
	{ALG_CIPHER, "+3des-cbc,aes256-cbc",
	 "chacha20-poly1305@openssh.com," GCM_OPENSSH ",aes128-ctr,aes192-ctr,aes256-ctr,3des-cbc,aes256-cbc", NULL},
	{ALG_CIPHER, "aes*-ctr", NULL, "aes*-ctr"}, /* patterns only in key lists */
	{ALG_CIPHER, "aes128-ctr,arcfive", NULL, "arcfive"},
	{ALG_CIPHER, "+arcfive,aes128-ctr", NULL, "arcfive"},
	{ALG_CIPHER, "aes128-ctr,,aes256-ctr", NULL, ""},
	{ALG_CIPHER, "aes128-ctr,", NULL, ""},
	{ALG_CIPHER, ",aes128-ctr", NULL, ""},
	{ALG_CIPHER, "", NULL, ""},
	{ALG_CIPHER, "+", NULL, ""},
	{ALG_CIPHER, "^", NULL, ""},
	{ALG_CIPHER, "AES128-CTR", NULL, "AES128-CTR"},
	{ALG_MAC, "-umac*,*sha1*", "hmac-sha2-256-etm@openssh.com,hmac-sha2-512-etm@openssh.com,hmac-sha2-256,hmac-sha2-512",
	 NULL},
	{ALG_MAC, "hmac-md5-96,hmac-ripemd160", "hmac-md5-96,hmac-ripemd160", NULL},
	{ALG_KEX, "+diffie-hellman-group1-sha1",
	 "mlkem768x25519-sha256,sntrup761x25519-sha512,sntrup761x25519-sha512@openssh.com,curve25519-sha256,"
	 "curve25519-sha256@libssh.org,ecdh-sha2-nistp256,ecdh-sha2-nistp384,ecdh-sha2-nistp521,"
	 "diffie-hellman-group-exchange-sha256,diffie-hellman-group16-sha512,diffie-hellman-group18-sha512,"
	 "diffie-hellman-group14-sha256,diffie-hellman-group1-sha1", NULL},
	{ALG_SIGNATURE, "ecdsa-sha2-nistp*", "ecdsa-sha2-nistp256,ecdsa-sha2-nistp384,ecdsa-sha2-nistp521", NULL},
	{ALG_SIGNATURE, "rsa-sha2-512-cert-v01@openssh.com", NULL, "rsa-sha2-512-cert-v01@openssh.com"},
	{ALG_HOSTKEY, "rsa-sha2-512,rsa-*",
		"rsa-sha2-512,rsa-sha2-256,rsa-sha2-256-cert-v01@openssh.com,rsa-sha2-512-cert-v01@openssh.com", NULL},
	{ALG_HOSTKEY, "*-nistp384-cert-v01@openssh.com", "ecdsa-sha2-nistp384-cert-v01@openssh.com", NULL},
	{ALG_HOSTKEY, "ssh-rsa", "ssh-rsa", NULL},
	{ALG_HOSTKEY, "no-such-*", NULL, "no-such-*"},
	{ALG_HOSTKEY, "!ssh-rsa", NULL, "!ssh-rsa"},
};
/* clang-format on */

static void assert_buf(const struct buf *b, const char *want)
{
	assert_int_equal(buf_err(b), OK);
	char got[2048];
	assert_true(b->n < sizeof(got));
	if (b->n > 0)
		memcpy(got, b->p, b->n);
	got[b->n] = '\0';
	assert_string_equal(got, want);
}

static void defaults_are_those_of_the_reference(void **state)
{
	(void)state;
	for (enum alg_kind kind = ALG_KEX; kind < ALG_KIND_N; kind++)
		for (size_t side = 0; side < 2 && defaults[kind][0] != NULL; side++) {
			struct buf b;
			buf_init(&b, 4096);
			alg_default(kind, side == 1, &b);
			assert_buf(&b, defaults[kind][side]);
			buf_done(&b);
		}
}

static void host_key_defaults_keep_the_order_of_the_reference(void **state)
{
	(void)state;
	/* Compat 6.2, the plain names; those that are not built are absent, the others keep their
	 * places. */
	static const char *const order[] = {"ssh-ed25519", "ecdsa-sha2-nistp256",
		"ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521", "sk-ssh-ed25519@openssh.com",
		"sk-ecdsa-sha2-nistp256@openssh.com", "webauthn-sk-ecdsa-sha2-nistp256@openssh.com",
		"rsa-sha2-512", "rsa-sha2-256"};
	struct buf b, want;
	buf_init(&b, 4096);
	buf_init(&want, 4096);
	for (size_t i = 0; i < ARRAY_N(order); i++)
		if (alg_known(ALG_HOSTKEY, cslice_str(order[i])))
			buf_printf(&want, "%s%s", want.n > 0 ? "," : "", order[i]);
	alg_default(ALG_HOSTKEY, false, &b);
	assert_true(b.n > 0 && !list_has(buf_bytes(&b), cslice_str("ssh-rsa")));
	struct cslice rest = buf_bytes(&b), name;
	struct buf plain;
	buf_init(&plain, 4096);
	while (list_next(&rest, &name))
		if (!glob_match(cslice_str("*-cert-v01@openssh.com"), name))
			buf_printf(&plain, "%s%.*s", plain.n > 0 ? "," : "", (int)name.n,
				(const char *)name.p);
	assert_true(cslice_eq(buf_bytes(&plain), buf_bytes(&want)));
	buf_done(&plain);
	buf_done(&want);
	buf_done(&b);
}

static void queries_list_every_row_in_order(void **state)
{
	(void)state;
	static const char *const kex =
		"diffie-hellman-group1-sha1\ndiffie-hellman-group14-sha1\ndiffie-hellman-group14-"
		"sha256\n"
		"diffie-hellman-group16-sha512\ndiffie-hellman-group18-sha512\n"
		"diffie-hellman-group-exchange-sha1\ndiffie-hellman-group-exchange-sha256\n"
		"ecdh-sha2-nistp256\necdh-sha2-nistp384\necdh-sha2-nistp521\nmlkem768nistp256-"
		"sha256\n"
		"curve25519-sha256\ncurve25519-sha256@libssh.org\nsntrup761x25519-sha512\n"
		"sntrup761x25519-sha512@openssh.com\nmlkem768x25519-sha256\n";
	static const char *const mac =
		"hmac-sha1\nhmac-sha1-96\nhmac-sha2-256\nhmac-sha2-512\nhmac-md5\nhmac-md5-96\n"
		"umac-64@openssh.com\numac-128@openssh.com\nhmac-sha1-etm@openssh.com\n"
		"hmac-sha1-96-etm@openssh.com\nhmac-sha2-256-etm@openssh.com\n"
		"hmac-sha2-512-etm@openssh.com\nhmac-md5-etm@openssh.com\n"
		"hmac-md5-96-etm@openssh.com\numac-64-etm@openssh.com\numac-128-etm@openssh.com\n"
		"hmac-ripemd160\nhmac-ripemd160@openssh.com\nhmac-ripemd160-etm@openssh.com\n";
	static const char *const cipher =
		"3des-cbc\naes128-cbc\naes192-cbc\naes256-cbc\naes128-ctr\naes192-ctr\naes256-ctr\n"
		"aes128-gcm@openssh.com\naes256-gcm@openssh.com\nchacha20-poly1305@openssh.com\n"
		"rijndael-cbc@lysator.liu.se\nblowfish-cbc\ncast128-cbc\narcfour\narcfour128\n"
		"arcfour256\n";
	struct buf b;
	buf_init(&b, 4096);
	alg_names(ALG_CIPHER, true, &b);
	assert_buf(&b, cipher);
	buf_clear(&b);
	alg_names(ALG_KEX, true, &b);
	assert_buf(&b, kex);
	buf_clear(&b);
	alg_names(ALG_MAC, true, &b);
	assert_buf(&b, mac);
	buf_clear(&b);
	alg_names(ALG_COMPRESSION, false, &b);
	assert_buf(&b, "none,zlib@openssh.com");
	buf_done(&b);
}

static void user_lists_replace_add_remove_and_put_first(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_N(apply_cases); i++) {
		const struct apply_case *c = &apply_cases[i];
		struct buf b;
		struct cslice bad = {NULL, 0};
		buf_init(&b, 4096);
		err_t e = alg_list_apply(c->kind, false, cslice_str(c->spec), &b, &bad);
		if (c->want != NULL) {
			assert_int_equal(e, OK);
			assert_buf(&b, c->want);
		} else {
			assert_int_equal(e, E_NAME);
			assert_int_equal(b.n, 0);
			assert_non_null(bad.p); /* borrowed from the list */
			assert_true(bad.p >= (const uint8_t *)c->spec &&
				    bad.p <= (const uint8_t *)c->spec + strlen(c->spec));
			assert_true(cslice_eq_str(bad, c->bad));
		}
		buf_done(&b);
	}
}

static void a_list_is_appended_and_not_mixed_with_what_stands_before(void **state)
{
	(void)state;
	struct buf b;
	struct cslice bad;
	buf_init(&b, 4096);
	buf_put(&b, "aes128-ctr,", 11);
	assert_int_equal(alg_list_apply(ALG_CIPHER, false, cslice_str("aes128-ctr"), &b, &bad), OK);
	assert_buf(&b, "aes128-ctr,aes128-ctr");
	buf_done(&b);
}

static void a_full_buffer_is_an_error(void **state)
{
	(void)state;
	struct buf b;
	struct cslice bad;
	buf_init(&b, 20);
	assert_int_equal(alg_list_apply(ALG_CIPHER, false, cslice_str("-x"), &b, &bad), E_LIMIT);
	buf_done(&b);
}

/* What is old is only there for those who name it. */
static void nothing_old_is_on_by_default(void **state)
{
	(void)state;
	size_t old = 0;
	for (size_t i = 0; i < alg_ciphers_n; i++)
		if ((alg_ciphers[i].flags & AF_LEGACY) != 0)
			assert_int_equal((old++, alg_ciphers[i].rank), 0);
	assert_int_equal(old, 10);
	for (size_t i = 0; i < alg_macs_n; i++)
		if ((alg_macs[i].flags & AF_LEGACY) != 0)
			assert_int_equal((old++, alg_macs[i].rank), 0);
	assert_int_equal(old, 10 + 9);
	for (size_t i = 0; i < alg_kexes_n; i++)
		if ((alg_kexes[i].flags & AF_LEGACY) != 0)
			assert_int_equal((old++, alg_kexes[i].rank), 0);
	assert_int_equal(old, 10 + 9 + 3);
}

struct near_case {
	enum alg_kind kind;
	const char *word, *want;
};

/* clang-format off */
static const struct near_case near_cases[] = {
	{ALG_CIPHER, "arc\xe2\x80\x90" "four", "arcfour"},           /* U+2010, as a web page has it */
	{ALG_CIPHER, "aes256\xe2\x80\x91" "cbc", "aes256-cbc"},       /* U+2011 */
	{ALG_CIPHER, "blowfish\xe2\x80\x93" "cbc", "blowfish-cbc"},   /* U+2013 */
	{ALG_CIPHER, "3des\xe2\x88\x92" "cbc", "3des-cbc"},           /* U+2212 */
	{ALG_CIPHER, "cast128\xc2\xad" "cbc", "cast128-cbc"},          /* U+00AD */
	{ALG_CIPHER, "ARCFOUR", "arcfour"},
	{ALG_CIPHER, "arcfour-128", "arcfour128"},
	{ALG_CIPHER, "3des", "3des-cbc"},
	{ALG_CIPHER, "blowfish", "blowfish-cbc"},
	{ALG_CIPHER, "aes128", "aes128-gcm@openssh.com"}, /* the best that begins so */
	{ALG_CIPHER, "arcfive", NULL},
	{ALG_CIPHER, "ae", NULL},
	{ALG_CIPHER, "", NULL},
	{ALG_CIPHER, "\xe2\x80", NULL},
	{ALG_CIPHER, "a-very-long-word-that-no-name-of-any-cipher-could-ever-have-been-meant-by", NULL},
	{ALG_MAC, "hmac-md5-etm", "hmac-md5-etm@openssh.com"},
	{ALG_KEX, "diffie-hellman-group1", "diffie-hellman-group1-sha1"},
	{ALG_KEX, "curve25519", "curve25519-sha256"},
};
/* clang-format on */

static void the_name_that_was_meant_is_found(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_N(near_cases); i++) {
		const struct near_case *c = &near_cases[i];
		const char *got = alg_nearest(c->kind, cslice_str(c->word));
		if (c->want == NULL)
			assert_null(got);
		else
			assert_true(got != NULL && strcmp(got, c->want) == 0);
	}
}

static void what_is_old_in_a_choice_is_named(void **state)
{
	(void)state;
	struct buf b;
	buf_init(&b, 4096);
	struct alg_choice c = {.kex = alg_kex_find(cslice_str("curve25519-sha256")),
		.hostkey = alg_hostkey_find(cslice_str("ssh-ed25519"))};
	c.c2s.cipher = c.s2c.cipher = alg_cipher_find(cslice_str("aes128-gcm@openssh.com"));
	alg_legacy_names(&c, &b);
	assert_int_equal(b.n, 0);
	c.c2s.cipher = alg_cipher_find(cslice_str("arcfour"));
	c.c2s.mac = c.s2c.mac = alg_mac_find(cslice_str("hmac-md5"));
	alg_legacy_names(&c, &b);
	assert_buf(&b, "cipher arcfour, MAC hmac-md5");
	buf_clear(&b);
	c.s2c.cipher = alg_cipher_find(cslice_str("3des-cbc"));
	c.s2c.mac = alg_mac_find(cslice_str("hmac-sha1"));
	c.kex = alg_kex_find(cslice_str("diffie-hellman-group1-sha1"));
	c.hostkey = alg_hostkey_find(cslice_str("ssh-rsa"));
	alg_legacy_names(&c, &b);
	assert_buf(&b, "key exchange diffie-hellman-group1-sha1, host key signature ssh-rsa, "
		       "cipher arcfour, cipher 3des-cbc, MAC hmac-md5");
	buf_done(&b);
}

static void names_are_unique_and_found(void **state)
{
	(void)state;
	for (size_t i = 0; i < alg_ciphers_n; i++)
		assert_ptr_equal(alg_cipher_find(cslice_str(alg_ciphers[i].name)), &alg_ciphers[i]);
	for (size_t i = 0; i < alg_macs_n; i++)
		assert_ptr_equal(alg_mac_find(cslice_str(alg_macs[i].name)), &alg_macs[i]);
	for (size_t i = 0; i < alg_comps_n; i++)
		assert_ptr_equal(alg_comp_find(cslice_str(alg_comps[i].name)), &alg_comps[i]);
	for (size_t i = 0; i < alg_kexes_n; i++)
		assert_ptr_equal(alg_kex_find(cslice_str(alg_kexes[i].name)), &alg_kexes[i]);
	for (size_t i = 0; i < alg_hostkeys_n; i++)
		assert_ptr_equal(
			alg_hostkey_find(cslice_str(alg_hostkeys[i].name)), &alg_hostkeys[i]);
	assert_null(alg_cipher_find(cslice_str("aes128-ctr ")));
	assert_null(alg_mac_find(cslice_str("")));
	assert_null(alg_kex_find(cslice_str("none")));
	assert_true(alg_known(ALG_MAC, cslice_str("hmac-sha1")));
	assert_false(alg_known(ALG_MAC, cslice_str("hmac-sha")));
}

static void the_client_prefers_gcm_on_a_cpu_with_aes(void **state)
{
	(void)state;
	struct buf b;
	buf_init(&b, 4096);
	alg_client_cipher_default(&b);
	assert_buf(&b, cpu_has_aes() ? GCM_OPENSSH
			       ",chacha20-poly1305@openssh.com,aes128-ctr,aes192-ctr,aes256-ctr"
				     : defaults[ALG_CIPHER][0]);
	buf_done(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults_are_those_of_the_reference),
		cmocka_unit_test(host_key_defaults_keep_the_order_of_the_reference),
		cmocka_unit_test(queries_list_every_row_in_order),
		cmocka_unit_test(user_lists_replace_add_remove_and_put_first),
		cmocka_unit_test(a_list_is_appended_and_not_mixed_with_what_stands_before),
		cmocka_unit_test(a_full_buffer_is_an_error),
		cmocka_unit_test(nothing_old_is_on_by_default),
		cmocka_unit_test(the_name_that_was_meant_is_found),
		cmocka_unit_test(what_is_old_in_a_choice_is_named),
		cmocka_unit_test(names_are_unique_and_found),
		cmocka_unit_test(the_client_prefers_gcm_on_a_cpu_with_aes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
