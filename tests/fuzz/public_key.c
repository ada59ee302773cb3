/* SPDX-License-Identifier: ISC */
/* public_key - key blobs, one-line public keys, signatures */
#include "fuzz.h"
#include "key/key.h"

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	return crypto_init() == OK ? 0 : -1;
}

static void use(struct key *k, struct cslice rest)
{
	struct buf out;
	buf_init(&out, 1 << 20);
	PROMISE(key_blob(k, &out) == OK);
	struct key *again = NULL;
	PROMISE(key_parse_blob(&again, buf_bytes(&out)) == OK && key_equal_public(k, again));
	key_free(again);
	buf_clear(&out);
	PROMISE(key_fingerprint(k, HASH_SHA256, &out) == OK);
	/* a signature that nobody made is never right */
	PROMISE(key_verify(k, cslice_of(NULL, 0), cslice_str("something that was not signed"),
			rest) != OK);
	buf_done(&out);
	key_free(k);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct cslice in = {data, n};
	uint8_t how = fuzz_u8(&in);
	struct key *k = NULL;
	if (how & 1) {
		struct buf comment;
		buf_init(&comment, 65536);
		if (key_parse_public_line(&k, in, &comment) == OK)
			use(k, cslice_of(NULL, 0));
		buf_done(&comment);
		return 0;
	}
	size_t blob_n = (size_t)fuzz_u8(&in) << 8;
	blob_n |= fuzz_u8(&in);
	struct cslice blob = fuzz_take(&in, blob_n);
	if (key_parse_blob(&k, blob) == OK)
		use(k, in);
	return 0;
}
