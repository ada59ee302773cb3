/* SPDX-License-Identifier: ISC */
/* Ciphers: NIST SP 800-38A and 800-67, GCM specification cases, RFC 8439, RFC 2144, RFC 6229,
 * Blowfish's own vectors; positions, directions, refusals. */
#include "help.h"

#define PLAIN                                                                                      \
	"6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51"                         \
	"30c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710"
#define KEY128 "2b7e151628aed2a6abf7158809cf4f3c"
#define KEY192 "8e73b0f7da0e6452c810f32b809079e562f8ead2522c6b7b"
#define KEY256 "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4"
#define CTR_IV "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff"
#define CBC_IV "000102030405060708090a0b0c0d0e0f"

struct cipher_case {
	enum cipher_id id;
	const char *key, *iv, *want;
};

/* clang-format off */
static const struct cipher_case cases[] = {
	{CIPHER_AES128_CTR, KEY128, CTR_IV, "874d6191b620e3261bef6864990db6ce9806f66b7970fdff8617187bb9fffdff"
					    "5ae4df3edbd5d35e5b4f09020db03eab1e031dda2fbe03d1792170a0f3009cee"},
	{CIPHER_AES192_CTR, KEY192, CTR_IV, "1abc932417521ca24f2b0459fe7e6e0b090339ec0aa6faefd5ccc2c6f4ce8e94"
					    "1e36b26bd1ebc670d1bd1d665620abf74f78a7f6d29809585a97daec58c6b050"},
	{CIPHER_AES256_CTR, KEY256, CTR_IV, "601ec313775789a5b7a7f504bbf3d228f443e3ca4d62b59aca84e990cacaf5c5"
					    "2b0930daa23de94ce87017ba2d84988ddfc9c58db67aada613c2dd08457941a6"},
	{CIPHER_AES128_CBC, KEY128, CBC_IV, "7649abac8119b246cee98e9b12e9197d5086cb9b507219ee95db113a917678b2"
					    "73bed6b8e3c1743b7116e69e222295163ff1caa1681fac09120eca307586e1a7"},
	{CIPHER_AES192_CBC, KEY192, CBC_IV, "4f021db243bc633d7178183a9fa071e8b4d9ada9ad7dedf4e5e738763f69145a"
					    "571b242012fb7ae07fa9baac3df102e008b0e27988598881d920a9e64f5615cd"},
	{CIPHER_AES256_CBC, KEY256, CBC_IV, "f58c4c04d6e5f1ba779eabfb5f7bfbd69cfc4e967edb808d679f777bc6702c7d"
					    "39f23369a9d9bacfa530e26304231461b2eb05e2c39be9fcda6c19078c6a9d1b"},
};
/* clang-format on */

static struct cipher *make(const struct cipher_case *c, bool encrypt)
{
	uint8_t key[32], iv[16];
	size_t key_n = help_hex(key, c->key), iv_n = help_hex(iv, c->iv);
	struct cipher *made = NULL;
	assert_int_equal(key_n, cipher_key_size(c->id));
	assert_int_equal(iv_n, cipher_block(c->id));
	assert_ok(cipher_new(&made, c->id, cslice_of(key, key_n), cslice_of(iv, iv_n), encrypt));
	return made;
}

static void ciphers_give_the_known_answers_in_steps_and_back(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_N(cases); i++) {
		uint8_t plain[64], got[64];
		help_hex(plain, PLAIN);
		struct cipher *seal = make(&cases[i], true), *open = make(&cases[i], false);
		for (size_t at = 0; at < sizeof(plain); at += 16)
			assert_ok(cipher_crypt(seal, plain + at, got + at, 16));
		assert_hex(got, cases[i].want);
		assert_ok(cipher_crypt(open, got, got, sizeof(got)));
		assert_memory_equal(got, plain, sizeof(plain));
		cipher_free(open);
		cipher_free(seal);
	}
}

struct old_case {
	enum cipher_id id;
	const char *key, *iv, *plain, *want;
};

#define RC4_KEY128 "0102030405060708090a0b0c0d0e0f10"
#define RC4_KEY256 RC4_KEY128 "1112131415161718191a1b1c1d1e1f20"
#define ZERO16     "00000000000000000000000000000000"

/* clang-format off */
static const struct old_case old_cases[] = {
	{CIPHER_3DES_CBC, "0123456789abcdef23456789abcdef01456789abcdef0123", "0000000000000000",
	 "5468652071756663", "a826fd8ce53b855f"},
	{CIPHER_BLOWFISH_CBC, "0123456789abcdeff0e1d2c3b4a59687", "fedcba9876543210",
	 "37363534333231204e6f77206973207468652074696d6520666f722000000000",
	 "6b77b4d63006dee605b156e27403979358deb9e7154616d959f1652bd5ff92cc"},
	{CIPHER_CAST128_CBC, "0123456712345678234567893456789a", "0000000000000000", "0123456789abcdef",
	 "238b4fe5847e44b2"},
	{CIPHER_ARCFOUR, RC4_KEY128, "", ZERO16 ZERO16,
	 "9ac7cc9a609d1ef7b2932899cde41b975248c4959014126a6e8a84f11d1a9e1c"},
	{CIPHER_ARCFOUR, RC4_KEY256, "", ZERO16 ZERO16,
	 "eaa6bd25880bf93d3f5d1e4ca2611d91cfa45c9f7e714b54bdfa80027cb14380"},
};
/* clang-format on */

static void old_ciphers_give_the_known_answers_and_back(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_N(old_cases); i++) {
		const struct old_case *c = &old_cases[i];
		uint8_t key[32], iv[8], plain[64], got[64];
		struct cslice k = {key, help_hex(key, c->key)}, v = {iv, help_hex(iv, c->iv)};
		size_t n = help_hex(plain, c->plain), step = v.n > 0 ? 8 : 5;
		struct cipher *seal = NULL, *open = NULL;
		assert_true(cipher_is_there(c->id));
		assert_ok(cipher_new(&seal, c->id, k, v, true));
		assert_ok(cipher_new(&open, c->id, k, v, false));
		for (size_t at = 0; at < n; at += step)
			assert_ok(cipher_crypt(seal, plain + at, got + at, num_min(step, n - at)));
		assert_hex(got, c->want);
		assert_ok(cipher_crypt(open, got, got, n));
		assert_memory_equal(got, plain, n);
		if (v.n > 0)
			assert_int_equal(cipher_crypt(seal, plain, got, 7), E_BUG);
		cipher_free(open);
		cipher_free(seal);
		assert_int_equal(cipher_new(&seal, c->id, cslice_of(key, k.n - 1), v, true), E_BUG);
		assert_int_equal(cipher_new(&seal, c->id, k, cslice_of(iv, v.n + 1), true), E_BUG);
	}
}

/* RFC 6229: what arcfour128 and arcfour256 begin with. */
static void arcfour_stands_where_it_should_after_1536_bytes(void **state)
{
	(void)state;
	static const char *const keys[] = {RC4_KEY128, RC4_KEY256},
				 *const wants[] = {"ffa0b514647ec04f6306b892ae661181",
					 "3e34135c79db010200767651cf263073"};
	for (size_t i = 0; i < ARRAY_N(keys); i++) {
		uint8_t key[32], got[1552] = {0};
		size_t n = help_hex(key, keys[i]);
		struct cipher *c = NULL;
		assert_ok(cipher_new(
			&c, CIPHER_ARCFOUR, cslice_of(key, n), cslice_of(NULL, 0), true));
		assert_ok(cipher_crypt(c, got, got, sizeof(got)));
		assert_hex(got + 1536, wants[i]);
		cipher_free(c);
	}
}

static void ctr_can_start_at_any_block_and_carries_into_the_high_half(void **state)
{
	(void)state;
	struct cipher_case c = {
		CIPHER_AES128_CTR, KEY128, "0000000000000001fffffffffffffffe", NULL};
	uint8_t whole[96] = {0};
	struct cipher *k = make(&c, true);
	assert_ok(cipher_crypt(k, whole, whole, sizeof(whole)));
	for (uint64_t block = 0; block < 6; block++) {
		uint8_t part[16] = {0};
		assert_ok(cipher_seek(k, block));
		assert_ok(cipher_crypt(k, part, part, sizeof(part)));
		assert_memory_equal(part, whole + 16 * block, sizeof(part));
	}
	cipher_free(k);
	c.iv = "00000000000000020000000000000003"; /* 5 blocks later: written down apart from the
						      code */
	uint8_t carried[16] = {0};
	k = make(&c, true);
	assert_ok(cipher_crypt(k, carried, carried, sizeof(carried)));
	assert_memory_equal(carried, whole + 80, sizeof(carried));
	cipher_free(k);
}

static void misuse_of_ciphers_is_refused(void **state)
{
	(void)state;
	uint8_t key[33] = {0}, iv[17] = {0}, data[32] = {0};
	struct cipher *k = NULL;
	assert_err(cipher_new(&k, CIPHER_AES128_CTR, cslice_of(key, 15), cslice_of(iv, 16), true),
		E_BUG);
	assert_err(cipher_new(&k, CIPHER_AES128_CTR, cslice_of(key, 16), cslice_of(iv, 12), true),
		E_BUG);
	assert_null(k);
	assert_ok(cipher_new(&k, CIPHER_AES128_CBC, cslice_of(key, 16), cslice_of(iv, 16), true));
	assert_err(cipher_crypt(k, data, data, 17), E_BUG);
	assert_err(cipher_seek(k, 1), E_BUG);
	cipher_free(k);
	cipher_free(NULL);
}

static void triple_des_works_for_key_files(void **state)
{
	(void)state;
	uint8_t key[24], iv[8] = {0}, data[8];
	/* With three equal keys it is DES: the classic example. */
	help_hex(key, "133457799bbcdff1133457799bbcdff1133457799bbcdff1");
	help_hex(data, "0123456789abcdef");
	struct cipher *k = NULL;
	assert_ok(cipher_new(&k, CIPHER_3DES_CBC, cslice_of(key, 24), cslice_of(iv, 8), true));
	assert_ok(cipher_crypt(k, data, data, 8));
	assert_hex(data, "85e813540f0ab405");
	cipher_free(k);
}

/* GCM specification, test case 4 (AES-128) and 16 (AES-256). */
#define GCM_PLAIN                                                                                  \
	"d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"                         \
	"1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39"
#define GCM_AAD "feedfacedeadbeeffeedfacedeadbeefabaddad2"

static void gcm_gives_the_known_answers(void **state)
{
	(void)state;
	static const char *const want[2][2] = {
		{"42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e"
		 "21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091",
			"5bc94fbc3221a5db94fae95ae7121a47"},
		{"522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa"
		 "8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662",
			"76fc6ece0f4e1768cddf8853bb2d551b"},
	};
	uint8_t key[32], nonce[12], aad[20], plain[60], data[60], tag[16];
	help_hex(key, "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308");
	help_hex(nonce, "cafebabefacedbaddecaf888");
	help_hex(aad, GCM_AAD);
	help_hex(plain, GCM_PLAIN);
	for (size_t i = 0; i < 2; i++) {
		struct gcm *g = NULL;
		assert_ok(gcm_new(&g, cslice_of(key, i == 0 ? 16 : 32)));
		for (size_t again = 0; again < 3; again++) {
			memcpy(data, plain, sizeof(data));
			assert_ok(gcm_seal(g, nonce, cslice_of(aad, 20),
				(struct slice){data, sizeof(data)}, tag));
			assert_hex(data, want[i][0]);
			assert_hex(tag, want[i][1]);
			assert_ok(gcm_open(g, nonce, cslice_of(aad, 20),
				(struct slice){data, sizeof(data)}, tag));
			assert_memory_equal(data, plain, sizeof(data));
		}
		gcm_free(g);
	}
	gcm_free(NULL);
}

static void gcm_refuses_each_flipped_bit_and_wipes(void **state)
{
	(void)state;
	uint8_t key[16] = {1}, nonce[12] = {2}, aad[4] = {3}, data[40], tag[16];
	static const uint8_t zero[40];
	struct gcm *g = NULL;
	assert_ok(gcm_new(&g, cslice_of(key, 16)));
	for (size_t bit = 0; bit < 8 * (16 + 4 + 40); bit++) {
		memset(data, 7, sizeof(data));
		memset(aad, 3, sizeof(aad));
		assert_ok(gcm_seal(
			g, nonce, cslice_of(aad, 4), (struct slice){data, sizeof(data)}, tag));
		size_t byte = bit / 8;
		if (byte < 16)
			tag[byte] ^= (uint8_t)(1 << bit % 8);
		else if (byte < 20)
			aad[byte - 16] ^= (uint8_t)(1 << bit % 8);
		else
			data[byte - 20] ^= (uint8_t)(1 << bit % 8);
		assert_err(gcm_open(g, nonce, cslice_of(aad, 4), (struct slice){data, sizeof(data)},
				   tag),
			E_MAC);
		assert_memory_equal(data, zero, sizeof(data));
	}
	gcm_free(g);
	assert_err(gcm_new(&g, cslice_of(key, 15)), E_BUG);
}

static void chacha_and_poly1305_give_the_known_answers(void **state)
{
	(void)state;
	/* RFC 8439 2.4.2 with its 96-bit nonce 00000000 | 0000004a00000000 and counter 1. */
	uint8_t key[32], nonce[8], tag[16];
	for (size_t i = 0; i < sizeof(key); i++)
		key[i] = (uint8_t)i;
	help_hex(nonce, "0000004a00000000");
	char text[] = "Ladies and Gentlemen of the class of '99: If I could offer you only one tip "
		      "for the "
		      "future, sunscreen would be it.";
	uint8_t data[sizeof(text) - 1];
	memcpy(data, text, sizeof(data));
	struct chacha *c = NULL;
	assert_ok(chacha_new(&c, key));
	assert_ok(chacha_crypt(c, nonce, 1, data, sizeof(data)));
	assert_hex(data, "6e2e359a2568f98041ba0728dd0d6981e97e7aec1d4360c20a27afccfd9fae0b"
			 "f91b65c5524733ab8f593dabcd62b3571639d624e65152ab8f530c359f0861d8"
			 "07ca0dbf500d6a6156a38e088a22b65e52bc514d16ccf806818ce91ab7793736"
			 "5af90bbf74a35be6b40b8eedf2785e42874d");
	/* From the second block on, the same bytes. */
	memcpy(data, text, sizeof(data));
	assert_ok(chacha_crypt(c, nonce, 2, data + 64, sizeof(data) - 64));
	assert_hex(data + 64, "07ca0dbf500d6a6156a38e088a22b65e");
	chacha_free(c);
	chacha_free(NULL);
	/* RFC 8439 2.5.2 */
	help_hex(key, "85d6be7857556d337f4452fe42d506a80103808afb0db2fd4abff6af4149f51b");
	struct poly1305 *p = NULL;
	assert_ok(poly1305_new(&p));
	for (size_t again = 0; again < 3; again++) {
		memset(tag, 0, sizeof(tag));
		assert_ok(poly1305_tag(
			p, key, cslice_str("Cryptographic Forum Research Group"), tag));
		assert_hex(tag, "a8061dc1305136c6c22b8baf0c0127a9");
	}
	poly1305_free(p);
	poly1305_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ciphers_give_the_known_answers_in_steps_and_back),
		cmocka_unit_test(old_ciphers_give_the_known_answers_and_back),
		cmocka_unit_test(arcfour_stands_where_it_should_after_1536_bytes),
		cmocka_unit_test(ctr_can_start_at_any_block_and_carries_into_the_high_half),
		cmocka_unit_test(misuse_of_ciphers_is_refused),
		cmocka_unit_test(triple_des_works_for_key_files),
		cmocka_unit_test(gcm_gives_the_known_answers),
		cmocka_unit_test(gcm_refuses_each_flipped_bit_and_wipes),
		cmocka_unit_test(chacha_and_poly1305_give_the_known_answers),
	};
	return cmocka_run_group_tests(tests, help_crypto_init, NULL);
}
