/* SPDX-License-Identifier: ISC */
/*
 * The nonces of ECDSA fill their whole range: with the private number d known, k = (h + r d) / s
 * mod n is taken back out of each signature and its top bits are counted.  (A signer whose P-521
 * nonces had nine zero bits gave its key away after about sixty signatures.)
 *
 * Arithmetic: 64-bit words, least first, double and add; slow and plain on purpose.
 */
#include "help.h"
#include "wire/codec.h"

#define WORDS      9
#define SIGNATURES 64

struct num {
	uint64_t w[WORDS];
};

static int num_cmp(const struct num *a, const struct num *b)
{
	for (size_t i = WORDS; i-- > 0;)
		if (a->w[i] != b->w[i])
			return a->w[i] < b->w[i] ? -1 : 1;
	return 0;
}

static void num_sub(struct num *a, const struct num *b)
{
	uint64_t borrow = 0;
	for (size_t i = 0; i < WORDS; i++) {
		uint64_t x = a->w[i], y = b->w[i];
		a->w[i] = x - y - borrow;
		borrow = x < y || (x == y && borrow != 0);
	}
}

/* All moduli here leave the top bit of the top word free, so that a sum never overflows. */
static void mod_add(struct num *a, const struct num *b, const struct num *n)
{
	uint64_t carry = 0;
	for (size_t i = 0; i < WORDS; i++) {
		uint64_t sum = a->w[i] + carry;
		carry = sum < carry;
		a->w[i] = sum + b->w[i];
		carry += a->w[i] < sum;
	}
	if (num_cmp(a, n) >= 0)
		num_sub(a, n);
}

static bool num_bit(const struct num *a, size_t i)
{
	return (a->w[i / 64] >> i % 64 & 1) != 0;
}

static struct num mod_mul(
	const struct num *a, const struct num *b, const struct num *n, size_t bits)
{
	struct num out = {{0}};
	for (size_t i = bits; i-- > 0;) {
		struct num same = out;
		mod_add(&out, &same, n);
		if (num_bit(b, i))
			mod_add(&out, a, n);
	}
	return out;
}

/* a^(n - 2): n is prime. */
static struct num mod_inverse(const struct num *a, const struct num *n, size_t bits)
{
	struct num out = {{1}}, exponent = *n;
	const struct num two = {{2}};
	num_sub(&exponent, &two);
	for (size_t i = bits; i-- > 0;) {
		out = mod_mul(&out, &out, n, bits);
		if (num_bit(&exponent, i))
			out = mod_mul(&out, a, n, bits);
	}
	return out;
}

static struct num num_of(struct cslice m)
{
	struct num out = {{0}};
	for (size_t i = 0; i < m.n; i++)
		out.w[i / 8] |= (uint64_t)m.p[m.n - 1 - i] << i % 8 * 8;
	return out;
}

static struct num num_hex(const char *hex)
{
	struct num out = {{0}};
	size_t n = strlen(hex);
	for (size_t i = 0; i < n; i++) {
		char c = hex[n - 1 - i];
		uint64_t v = (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
		out.w[i / 16] |= v << i % 16 * 4;
	}
	return out;
}

/* The private number out of the key file that the library itself writes. */
static struct num private_number(const struct key *k)
{
	struct rng_seeded rng;
	struct buf text, body;
	rng_seeded_init(&rng, 1);
	buf_init(&text, 4096);
	buf_init(&body, 4096);
	assert_ok(key_write_private(k, &(struct key_write_opts){.rng = &rng.rng}, &text));
	size_t first = strlen("-----BEGIN OPENSSH PRIVATE KEY-----"),
	       last = strlen("-----END OPENSSH PRIVATE KEY-----\n");
	assert_ok(base64_decode(&body, cslice_of(text.p + first, text.n - first - last), true));
	struct rd r = rd_of(buf_bytes(&body));
	(void)rd_take(&r, 15);
	for (int i = 0; i < 3; i++)
		(void)rd_str(&r);
	(void)rd_u32(&r);
	(void)rd_str(&r);
	r = rd_of(rd_str(&r));
	(void)rd_u64(&r);
	for (int i = 0; i < 3; i++)
		(void)rd_str(&r);
	struct cslice d = rd_mpint(&r);
	assert_false(r.bad);
	struct num out = num_of(d);
	buf_done(&body);
	buf_done(&text);
	return out;
}

static const struct curve {
	enum key_type type;
	enum hash_id hash;
	size_t bits;
	const char *order;
} curves[] = {
	{KEY_ECDSA_P256, HASH_SHA256, 256,
		"ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551"},
	{KEY_ECDSA_P384, HASH_SHA384, 384,
		"ffffffffffffffffffffffffffffffffffffffffffffffffc7634d81f4372ddf581a0db248b0a77aec"
		"ec196accc52973"},
	{KEY_ECDSA_P521, HASH_SHA512, 521,
		"1fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"
		"a51868783bf2f966b7fcc0148f709a5d03bb5c9b8899c47aebb6fb71e91386409"},
};

static struct num nonce_of(const struct curve *c, const struct num *n, const struct num *d,
	struct cslice msg, struct cslice sig)
{
	uint8_t h[HASH_MAX];
	struct rd r = rd_of(sig);
	(void)rd_str(&r);
	r = rd_of(rd_str(&r));
	struct num rr = num_of(rd_mpint(&r)), s = num_of(rd_mpint(&r));
	assert_ok(rd_end(&r));
	assert_ok(hash_once(c->hash, msg, h));
	struct num z = num_of(cslice_of(h, hash_size(c->hash)));
	if (num_cmp(&z, n) >= 0)
		num_sub(&z, n);
	struct num k = mod_mul(&rr, d, n, c->bits);
	mod_add(&k, &z, n);
	s = mod_inverse(&s, n, c->bits);
	return mod_mul(&k, &s, n, c->bits);
}

static void ecdsa_nonces_fill_their_top_bits_and_never_repeat(void **state)
{
	(void)state;
	static struct num seen[SIGNATURES];
	struct rng_seeded rng;
	rng_seeded_init(&rng, 3);
	for (size_t i = 0; i < ARRAY_N(curves); i++) {
		const struct curve *c = &curves[i];
		struct key *k = NULL;
		size_t ones[8] = {0};
		assert_ok(key_generate(&k, c->type, 0, &rng.rng));
		struct num n = num_hex(c->order), d = private_number(k);
		for (uint32_t m = 0; m < SIGNATURES; m++) {
			struct cslice msg = cslice_of(&m, sizeof(m));
			struct buf sig;
			buf_init(&sig, 512);
			assert_ok(key_sign(k, cslice_str(key_type_name(c->type)), msg, &sig));
			seen[m] = nonce_of(c, &n, &d, msg, buf_bytes(&sig));
			buf_done(&sig);
			for (size_t b = 0; b < 8; b++)
				ones[b] += num_bit(&seen[m], c->bits - 1 - b);
			for (uint32_t before = 0; before < m; before++)
				assert_int_not_equal(num_cmp(&seen[before], &seen[m]), 0);
		}
		/* 64 fair coins: fewer than 8 or more than 56 heads once in 10^10 */
		for (size_t b = 0; b < 8; b++)
			assert_in_range(ones[b], 8, 56);
		key_free(k);
	}
}

/* The arithmetic itself: an inverse times its number is one. */
static void the_arithmetic_of_this_test_is_right(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_N(curves); i++) {
		struct num n = num_hex(curves[i].order),
			   a = num_hex("123456789abcdef0fedcba98765432100f1e2d3c4b5a6978");
		struct num inverse = mod_inverse(&a, &n, curves[i].bits);
		struct num one = mod_mul(&a, &inverse, &n, curves[i].bits);
		assert_int_equal(num_cmp(&one, &(struct num){{1}}), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_arithmetic_of_this_test_is_right),
		cmocka_unit_test(ecdsa_nonces_fill_their_top_bits_and_never_repeat),
	};
	return cmocka_run_group_tests(tests, help_init, NULL);
}
