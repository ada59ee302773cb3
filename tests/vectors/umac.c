/* SPDX-License-Identifier: ISC */
/*
 * umac - RFC 4418, appendix: key "abcdefghijklmnop", nonce "bcdefghi"
 *
 * The RFC prints 64- and 96-bit tags.  A 128-bit tag begins with the 96-bit one (the pad of both is
 * a whole block of AES); its last 4 bytes are as other implementations give them.  The longest
 * message of the RFC, 2^25 bytes, is above what is supported.
 */
#include <stdlib.h>

#include "crypto/crypto.h"
#include "vec.h"

static const struct {
	const char *unit;
	size_t times;
	const char *tag8, *tag16;
} cases[] = {
	{"", 0, "6e155fad26900be1", "32fedb100c79ad58f07ff7643cc60465"},
	{"a", 3, "44b5cb542f220104", "185e4fe905cba7bd85e4c2dc3d117d8d"},
	{"a", 1 << 10, "26bf2f5d60118bd9", "7a54abe04af82d60fb298c3cbd195bcb"},
	{"a", 1 << 15, "27f8ef643b0d118d", "7b136bd911e4b734286ef2be501f2c3c"},
	{"a", 1 << 20, "a4477e87e9f55853", "f8acfa3ac31cfeea047f7b115b03bef5"},
	{"abc", 1, "d4d7b9f6bd4fbfcf", "883c3d4b97a61976ffcf232308cba5a5"},
	{"abc", 500, "d4cf26ddefd5c01a", "8824a260c53c66a36c9260a62cb83aa1"},
};

/* The message in parts of up to 700 bytes, cut at odd places. */
static err_t tag_parts(struct umac *u, struct cslice m, uint8_t *tag)
{
	struct cslice parts[4096];
	size_t n = 0;

	for (size_t at = 0, k = 0; at < m.n; n++, k++) {
		size_t take = num_min(k * 37 % 701, m.n - at);
		parts[n] = cslice_of(m.p + at, take);
		at += take;
	}
	return umac_tag(u, (const uint8_t *)"bcdefghi", parts, n, tag);
}

static void run(size_t i, size_t tag_n, const char *want)
{
	size_t unit_n = strlen(cases[i].unit), n = unit_n * cases[i].times;
	uint8_t *text = malloc(n + 1), tag[16];
	struct cslice m = {text, n};
	struct umac *u;

	if (text == NULL)
		abort();
	for (size_t at = 0; at < n; at++)
		text[at] = (uint8_t)cases[i].unit[at % unit_n];
	if (umac_new(&u, tag_n, (const uint8_t *)"abcdefghijklmnop") != OK) {
		vec_check(false, "umac_new", (int64_t)i);
		free(text);
		return;
	}
	for (int again = 0; again < 2; again++)
		vec_check(umac_tag(u, (const uint8_t *)"bcdefghi", &m, 1, tag) == OK &&
				  vec_eq_hex(tag, tag_n, want),
			"umac", (int64_t)i);
	vec_check(tag_parts(u, m, tag) == OK && vec_eq_hex(tag, tag_n, want), "umac in parts",
		(int64_t)i);
	umac_free(u);
	free(text);
}

int main(void)
{
	if (crypto_init() != OK)
		return 1;
	for (size_t i = 0; i < ARRAY_N(cases); i++) {
		run(i, 8, cases[i].tag8);
		run(i, 16, cases[i].tag16);
	}
	return vec_done();
}
