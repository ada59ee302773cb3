/* SPDX-License-Identifier: ISC */
/* krl - revocation lists: what is read is written and read again as the same list */
#include "base/rng.h"
#include "fuzz.h"
#include "key/krl.h"

static struct key *subject;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	struct rng_seeded rng;
	(void)argc;
	(void)argv;
	if (crypto_init() != OK)
		return -1;
	rng_seeded_init(&rng, 1);
	PROMISE(key_generate(&subject, KEY_ED25519, 0, &rng.rng) == OK);
	return 0;
}

static void dump(struct krl *r, struct buf *out)
{
	buf_init(out, KRL_MAX);
	PROMISE(krl_dump(r, out) == OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct krl *r = NULL, *back = NULL;
	struct buf bytes, first, second;
	err_t why;
	if (krl_parse(&r, cslice_of(data, n)) != OK) {
		PROMISE(r == NULL);
		PROMISE(krl_check_text(cslice_of(data, n), subject, &why) == KRL_REVOKED);
		PROMISE(why != OK);
		return 0;
	}
	enum krl_verdict v = krl_check(r, subject);
	buf_init(&bytes, KRL_MAX);
	PROMISE(krl_put(r, 1, &bytes) == OK);
	PROMISE(krl_parse(&back, buf_bytes(&bytes)) == OK);
	PROMISE(krl_check(back, subject) == v);
	dump(r, &first);
	dump(back, &second);
	/* An authority without certificates is not written. */
	PROMISE(second.n <= first.n);
	krl_free(r);
	r = NULL;
	buf_clear(&first);
	buf_done(&first);
	buf_init(&first, KRL_MAX);
	PROMISE(krl_put(back, 1, &first) == OK);
	PROMISE(cslice_eq(buf_bytes(&first), buf_bytes(&bytes)));
	krl_free(back);
	buf_done(&first);
	buf_done(&second);
	buf_done(&bytes);
	return 0;
}
