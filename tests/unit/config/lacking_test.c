/* SPDX-License-Identifier: ISC */
/*
 * A libcrypto that was built without the oldest ciphers: the program starts, and what needs them
 * says so
 *
 * The linker turns each call of the library's functions for them into one of a function that is
 * nowhere (--wrap, meson.build), as it is with such a library.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "algorithm/pktc_mac.h"
#include "config/config.h"

static void sentence(const char *option, const char *want)
{
	struct client_config c;
	struct client_situation s = {"h", "u", "/home/u", "here", 1000, NULL};
	struct cfg_env env = {0};
	struct cfg_lines *l;
	struct buf why;
	buf_init(&why, 65536);
	assert_int_equal(cfg_lines_new(&l), OK);
	assert_int_equal(cfg_lines_option(l, option, &why), OK);
	err_t e = client_config_eval(&c, l, &s, &env, &why);
	assert_int_equal(e, want != NULL ? E_CONFIG : OK);
	if (e == OK)
		client_config_done(&c);
	buf_put_u8(&why, 0);
	if (want != NULL)
		assert_non_null(strstr((const char *)why.p, want));
	cfg_lines_free(l);
	buf_done(&why);
}

static void a_name_that_the_library_lacks_is_refused_with_a_sentence(void **state)
{
	(void)state;
	sentence("Ciphers=+arcfour", "the libcrypto of this system was built without arcfour");
	sentence("Ciphers=aes128-ctr,arcfour256", "was built without arcfour256");
	sentence("Ciphers=blowfish-cbc", "was built without blowfish-cbc");
	sentence("Ciphers=^cast128-cbc", "was built without cast128-cbc");
	sentence("MACs=hmac-ripemd160-etm@openssh.com",
		"was built without hmac-ripemd160-etm@openssh.com");
	sentence("Ciphers=-arcfour", NULL);
	sentence("Ciphers=+3des-cbc,aes128-cbc", NULL);
	sentence("MACs=+hmac-md5,hmac-sha1-96", NULL);
}

static void nothing_is_made_of_what_is_not_there(void **state)
{
	(void)state;
	static const uint8_t key[64] = {1};
	uint8_t out[HASH_MAX];
	struct cipher *c = NULL;
	struct hash *h = NULL;
	struct hmac *k = NULL;
	struct pktc_mac m;
	assert_int_equal(crypto_init(), OK);
	assert_int_equal(
		cipher_new(&c, CIPHER_ARCFOUR, cslice_of(key, 16), cslice_of(NULL, 0), true),
		E_UNSUPPORTED);
	assert_int_equal(
		cipher_new(&c, CIPHER_BLOWFISH_CBC, cslice_of(key, 16), cslice_of(key, 8), true),
		E_UNSUPPORTED);
	assert_int_equal(
		cipher_new(&c, CIPHER_CAST128_CBC, cslice_of(key, 16), cslice_of(key, 8), true),
		E_UNSUPPORTED);
	assert_int_equal(hash_once(HASH_RIPEMD160, cslice_of(key, 1), out), E_UNSUPPORTED);
	assert_int_equal(hash_new(&h, HASH_RIPEMD160), E_UNSUPPORTED);
	assert_int_equal(hmac_new(&k, HASH_RIPEMD160, cslice_of(key, 20)), E_UNSUPPORTED);
	assert_int_equal(pktc_mac_make(&m, MACI_HMAC_RIPEMD160, cslice_of(key, 20)), E_UNSUPPORTED);
	const struct pktc *row = pktc_for(alg_cipher_find(cslice_str("arcfour")),
		alg_mac_find(cslice_str("hmac-sha1")), false);
	void *ctx = calloc(1, row->ctx_size);
	assert_int_equal(row->init(ctx, PKTC_SEAL, cslice_of(key, 16), cslice_of(NULL, 0),
				 cslice_of(key, 20)),
		E_UNSUPPORTED);
	row->done(ctx);
	free(ctx);
	assert_int_equal(hash_once(HASH_MD5, cslice_of(key, 1), out), OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_that_the_library_lacks_is_refused_with_a_sentence),
		cmocka_unit_test(nothing_is_made_of_what_is_not_there),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
