/* SPDX-License-Identifier: ISC */
/* sshsig - armoured signatures of files, and allowed_signers */
#include "base/rng.h"
#include "fuzz.h"
#include "key/cert.h"
#include "key/sshsig.h"

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

/* A certificate of all times, and a line of its authority. */
static struct key *certificate;

static void make_certificate(void)
{
	struct rng_seeded rng;
	struct key *ca = NULL;
	struct signer *signer = NULL;
	struct cslice names[] = {cslice_str("me@x"), cslice_str("a,b"), cslice_str("you@x")};
	struct cert_draft d = {.kind = CERT_USER,
		.valid_before = CERT_FOREVER,
		.principals = names,
		.principals_n = ARRAY_N(names)};
	rng_seeded_init(&rng, 7);
	PROMISE(key_generate(&ca, KEY_ED25519, 0, &rng.rng) == OK);
	PROMISE(key_generate(&certificate, KEY_ED25519, 0, &rng.rng) == OK);
	PROMISE(signer_from_key(&signer, ca) == OK);
	PROMISE(cert_sign(certificate, &d, signer, cslice_of(NULL, 0), &rng.rng) == OK);
	signer->ops->free(signer);
}

static void signers(struct cslice text, bool is_certified)
{
	struct buf names;
	struct as_query q = {.principal = is_certified ? NULL : "me@x",
		.k = is_certified ? certificate : NULL,
		.when_s = 1000000000,
		.names = &names};
	struct cslice principals, rest = text;
	buf_init(&names, 4096);
	while (as_next(&rest, &q, &principals) == OK) {
		bool is_own = principals.p == names.p;
		PROMISE(is_own ||
			(principals.p >= text.p && principals.p + principals.n <= text.p + text.n));
		PROMISE(!is_own || cslice_eq_str(principals, "me@x") ||
			cslice_eq_str(principals, "you@x") ||
			cslice_eq_str(principals, "me@x,you@x"));
	}
	buf_done(&names);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	if (crypto_init() != OK)
		return -1;
	make_certificate();
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct cslice in = {data, n};
	uint8_t how = fuzz_u8(&in);
	if (how & 1)
		signers(in, (how & 2) != 0);
	else
		signature(in);
	return 0;
}
