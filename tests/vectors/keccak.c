/* SPDX-License-Identifier: ISC */
/* keccak - SHA-3 and SHAKE: the FIPS 202 examples, and digests over every length around the block
 * sizes */
#include "crypto/own/keccak.h"
#include "vec.h"

typedef void init_fn(struct keccak *);

/* clang-format off */
static const struct {
	init_fn *init;
	size_t n;
	const char *of_empty, *of_200_a3;
} examples[] = {
	{keccak_sha3_256, 32,
		"a7ffc6f8bf1ed76651c14756a061d662f580ff4de43b49fa82d80a4b80f8434a",
		"79f38adec5c20307a98ef76e8324afbfd46cfd81b22e3973c65fa1bd9de31787"},
	{keccak_sha3_512, 64,
		"a69f73cca23a9ac5c8b567dc185a756e97c982164fe25859e0d1dcc1475c80a6"
		"15b2123af1f5f94c11e3e9402c3ac558f500199d95b6d3e301758586281dcd26",
		"e76dfad22084a8b1467fcf2ffa58361bec7628edf5f3fdc0e4805dc48caeeca8"
		"1b7c13c30adf52a3659584739a2df46be589c51ca1a4a8416df6545a1ce8ba00"},
	{keccak_shake128, 32,
		"7f9c2ba4e88f827d616045507605853ed73b8093f6efbc88eb1a6eacfa66ef26",
		"131ab8d2b594946b9c81333f9bb6e0ce75c3b93104fa3469d3917457385da037"},
	{keccak_shake256, 64,
		"46b9dd2b0ba88d13233b3feb743eeb243fcd52ea62b81b82b50c27646ed5762f"
		"d75dc4ddd8c0f200cb05019d67b592f6fc821c49479ab48640292eacb3b7c4be",
		"cd8a920ed141aa0407a22d59288652e9d9f1a7ee0c1e7c1ca699424da84a904d"
		"2d700caae7396ece96604440577da4f3aa22aeb8857f961c4cd8e06f0ae6610b"},
};

/* SHA3-256 of the 400 digests of 0, 0 1, 0 1 2 ... (400 bytes each for SHAKE) */
static const struct {
	init_fn *init;
	size_t n;
	const char *digest;
} ladders[] = {
	{keccak_sha3_256, 32, "e3f4e9e579981d2dcf2db75f77a94af69ccaddf45e2480a12ad2c173a32d0a69"},
	{keccak_sha3_512, 64, "5ee8cc200fe9b17dc00b2408416fe8adb1c029a049de666445768cfe8b1d9fd4"},
	{keccak_shake128, 400, "169dbc9262f111930172e3de90e5ce6f63f01b52dd24af9d6cff8438da280487"},
	{keccak_shake256, 400, "ee41d76f30936cdba212080169076d32da3e1246138117d74fcc9ec2a6ffe66d"},
};
/* clang-format on */

/* In pieces of 1, 2, 3 ... bytes, both ways. */
static void digest(init_fn *init, struct cslice m, uint8_t *out, size_t n)
{
	struct keccak k;

	init(&k);
	for (size_t at = 0, piece = 1; at < m.n; at += piece++)
		keccak_absorb(&k, m.p + at, num_min(piece, m.n - at));
	for (size_t at = 0, piece = 1; at < n; at += piece++)
		keccak_squeeze(&k, out + at, num_min(piece, n - at));
	keccak_done(&k);
}

static void example(size_t i)
{
	uint8_t m[200], out[64];

	memset(m, 0xa3, sizeof(m));
	digest(examples[i].init, cslice_of(m, 0), out, examples[i].n);
	vec_check(vec_eq_hex(out, examples[i].n, examples[i].of_empty), "empty", (int64_t)i);
	digest(examples[i].init, cslice_of(m, 200), out, examples[i].n);
	vec_check(vec_eq_hex(out, examples[i].n, examples[i].of_200_a3), "200 a3", (int64_t)i);
}

static void ladder(size_t i)
{
	uint8_t m[400], out[400], whole[32];
	struct keccak all;

	keccak_sha3_256(&all);
	for (size_t n = 0; n < sizeof(m); n++) {
		m[n] = (uint8_t)n;
		digest(ladders[i].init, cslice_of(m, n + 1), out, ladders[i].n);
		keccak_absorb(&all, out, ladders[i].n);
	}
	keccak_squeeze(&all, whole, sizeof(whole));
	vec_check(vec_eq_hex(whole, sizeof(whole), ladders[i].digest), "ladder", (int64_t)i);
}

int main(void)
{
	for (size_t i = 0; i < ARRAY_N(examples); i++)
		example(i);
	for (size_t i = 0; i < ARRAY_N(ladders); i++)
		ladder(i);
	return vec_done();
}
