/* SPDX-License-Identifier: ISC */
/* sshsig - armoured signatures of files, and allowed_signers */
#include "fuzz.h"
#include "key/sshsig.h"

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	return crypto_init() == OK ? 0 : -1;
}

static void signature(struct cslice text)
{
	static const uint8_t digest[64] = {0};
	struct sshsig s;
	if (sshsig_read(&s, text) != OK)
		return;
	/* nobody signed this */
	PROMISE(sshsig_verify(&s, s.space, digest) != OK);
	struct buf again;
	struct sshsig t;
	buf_init(&again, 1 << 20);
	PROMISE(sshsig_put(s.pub, s.space, s.hash, s.sig, &again) == OK);
	PROMISE(sshsig_read(&t, buf_bytes(&again)) == OK && cslice_eq(s.sig, t.sig) &&
		cslice_eq(s.space, t.space) && key_equal_public(s.pub, t.pub));
	sshsig_done(&t);
	buf_done(&again);
	sshsig_done(&s);
}

static void signers(struct cslice text)
{
	struct as_query q = {.principal = "me@x", .when_s = 1000000000};
	struct cslice principals, rest = text;
	while (as_next(&rest, &q, &principals) == OK)
		PROMISE(principals.p >= text.p && principals.p + principals.n <= text.p + text.n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct cslice in = {data, n};
	if (fuzz_u8(&in) & 1)
		signers(in);
	else
		signature(in);
	return 0;
}
