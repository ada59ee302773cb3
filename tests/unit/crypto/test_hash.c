/* SPDX-License-Identifier: ISC */
/* Hashes and HMAC: known answers (FIPS 180-4, RFC 1321, RFC 4231, RFC 2202, RFC 2286), parts,
 * peeking, reuse. */
#include "help.h"

struct hash_case {
	enum hash_id id;
	const char *text, *want;
};

/* clang-format off */
static const struct hash_case hash_cases[] = {
	/* the authors' paper */
	{HASH_RIPEMD160, "", "9c1185a5c5e9fc54612808977ee8f548b2258d31"},
	{HASH_RIPEMD160, "abc", "8eb208f7e05d987a9b044a8e98c6b087f15a0bfc"},
	{HASH_RIPEMD160, "message digest", "5d0689ef49d2fae572b881b123a85ffa21595f36"},
	{HASH_MD5, "", "d41d8cd98f00b204e9800998ecf8427e"},
	{HASH_MD5, "abc", "900150983cd24fb0d6963f7d28e17f72"},
	{HASH_SHA1, "abc", "a9993e364706816aba3e25717850c26c9cd0d89d"},
	{HASH_SHA256, "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
	{HASH_SHA256, "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
	{HASH_SHA384, "abc", "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed"
			     "8086072ba1e7cc2358baeca134c825a7"},
	{HASH_SHA512, "abc", "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
			     "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f"},
};

struct hmac_case {
	enum hash_id id;
	const char *key, *msg, *want; /* hex */
};

static const struct hmac_case hmac_cases[] = {
	/* RFC 2286 2, cases 1 and 2 */
	{HASH_RIPEMD160, "0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b", "4869205468657265",
	 "24cb4bd67d20fc1a5d2ed7732dcc39377f0a5668"},
	{HASH_RIPEMD160, "4a656665", "7768617420646f2079612077616e7420666f72206e6f7468696e673f",
	 "dda6c0213a485a9e24f4742064a7f033b43c4069"},
	/* RFC 4231 4.2 */
	{HASH_SHA256, "0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b", "4869205468657265",
	 "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"},
	{HASH_SHA512, "0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b", "4869205468657265",
	 "87aa7cdea5ef619d4ff0b4241a1d6cb02379f4e2ce4ec2787ad0b30545e17cdedaa833b7d6b8a702038b274eaea3f4e4"
	 "be9d914eeb61f1702e696c203a126854"},
	/* RFC 4231 4.3 */
	{HASH_SHA256, "4a656665", "7768617420646f2079612077616e7420666f72206e6f7468696e673f",
	 "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"},
	/* RFC 2202 3, case 2 */
	{HASH_SHA1, "4a656665", "7768617420646f2079612077616e7420666f72206e6f7468696e673f",
	 "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79"},
	{HASH_MD5, "4a656665", "7768617420646f2079612077616e7420666f72206e6f7468696e673f",
	 "750c783e6ab0b503eaa86e310a5db738"},
};
/* clang-format on */

static void hashes_give_the_known_answers(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_N(hash_cases); i++) {
		const struct hash_case *c = &hash_cases[i];
		uint8_t out[HASH_MAX];
		assert_ok(hash_once(c->id, cslice_str(c->text), out));
		assert_int_equal(strlen(c->want), 2 * hash_size(c->id));
		assert_hex(out, c->want);
	}
}

static void hmacs_give_the_known_answers_again_and_again(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_N(hmac_cases); i++) {
		const struct hmac_case *c = &hmac_cases[i];
		uint8_t key[200], msg[200], out[HASH_MAX];
		size_t key_n = help_hex(key, c->key), msg_n = help_hex(msg, c->msg);
		struct hmac *h = NULL;
		assert_ok(hmac_new(&h, c->id, cslice_of(key, key_n)));
		for (size_t cut = 0; cut <= msg_n; cut++) {
			struct cslice parts[] = {{msg, cut}, {msg + cut, msg_n - cut}};
			memset(out, 0, sizeof(out));
			assert_ok(hmac_tag(h, parts, 2, out));
			assert_hex(out, c->want);
		}
		hmac_free(h);
	}
}

/* RFC 4231 4.7: a key longer than the block is hashed. */
static void a_long_hmac_key_is_hashed_first(void **state)
{
	(void)state;
	uint8_t key[131], out[HASH_MAX];
	memset(key, 0xaa, sizeof(key));
	struct cslice msg = cslice_str("Test Using Larger Than Block-Size Key - Hash Key First");
	struct hmac *h = NULL;
	assert_ok(hmac_new(&h, HASH_SHA256, cslice_of(key, sizeof(key))));
	assert_ok(hmac_tag(h, &msg, 1, out));
	assert_hex(out, "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
	hmac_free(h);
}

static void a_peek_does_not_disturb_the_hash(void **state)
{
	(void)state;
	for (enum hash_id id = HASH_RIPEMD160; id < HASH_N; id++) {
		uint8_t text[300], got[HASH_MAX], want[HASH_MAX];
		memset(text, 0x5a, sizeof(text));
		struct hash *h = NULL;
		assert_ok(hash_new(&h, id));
		for (size_t n = 0; n < sizeof(text); n++) {
			assert_ok(hash_peek(h, got));
			assert_ok(hash_once(id, cslice_of(text, n), want));
			assert_memory_equal(got, want, hash_size(id));
			assert_ok(hash_update(h, cslice_of(text + n, 1)));
		}
		hash_free(h);
	}
	hash_free(NULL);
	hmac_free(NULL);
}

static void names_and_sizes_are_those_of_the_standard(void **state)
{
	(void)state;
	static const char *const names[] = {
		"ripemd160", "md5", "sha1", "sha256", "sha384", "sha512"};
	static const size_t sizes[] = {20, 16, 20, 32, 48, 64},
			    blocks[] = {64, 64, 64, 64, 128, 128};
	for (enum hash_id id = HASH_RIPEMD160; id < HASH_N; id++) {
		assert_string_equal(hash_name(id), names[id]);
		assert_int_equal(hash_size(id), sizes[id]);
		assert_int_equal(hash_block(id), blocks[id]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hashes_give_the_known_answers),
		cmocka_unit_test(hmacs_give_the_known_answers_again_and_again),
		cmocka_unit_test(a_long_hmac_key_is_hashed_first),
		cmocka_unit_test(a_peek_does_not_disturb_the_hash),
		cmocka_unit_test(names_and_sizes_are_those_of_the_standard),
	};
	return cmocka_run_group_tests(tests, help_crypto_init, NULL);
}
