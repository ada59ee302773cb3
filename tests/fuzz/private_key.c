/* SPDX-License-Identifier: ISC */
/* private_key - private key files of every format; what is read must be written and read again as
 * the same key */
#include "fuzz.h"
#include "key/key.h"

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	return crypto_init() == OK ? 0 : -1;
}

/* A file may ask for billions of KDF rounds: that is the user's own time, not a fault, but it stops
 * a fuzzer. */
static bool is_slow(struct cslice file)
{
	return memmem(file.p, file.n, "bcrypt", 6) != NULL ||
	       memmem(file.p, file.n, "Argon2-", 7) != NULL ||
	       memmem(file.p, file.n, "YmNyeXB0", 8) != NULL ||
	       memmem(file.p, file.n, "JjcnlwdA", 8) != NULL ||
	       memmem(file.p, file.n, "iY3J5cHQ", 8) != NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct cslice in = {data, n};
	struct cslice passphrase = fuzz_take(&in, fuzz_u8(&in) & 3);
	struct key *k = NULL;
	struct buf comment;
	buf_init(&comment, 65536);
	if (key_read_private_public(&k, in, &comment) == OK) {
		PROMISE(!key_is_private(k));
		key_free(k);
	}
	k = NULL;
	buf_clear(&comment);
	if (!is_slow(in) && key_read_private(&k, in, passphrase, &comment) == OK) {
		struct buf blob;
		buf_init(&blob, 1 << 20);
		PROMISE(key_is_private(k) && key_blob(k, &blob) == OK);
		buf_done(&blob);
		key_free(k);
	} else {
		PROMISE(k == NULL);
	}
	buf_done(&comment);
	return 0;
}
