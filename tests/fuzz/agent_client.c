/* SPDX-License-Identifier: ISC */
/* agent_client - what an agent answers, as the client judges it; the first byte says what was asked
 */
#include "agent/ask.h"
#include "fuzz.h"
#include "key/cert.h"

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	return crypto_init() == OK ? 0 : -1;
}

struct seen {
	struct cslice all;
	uint32_t n;
};

static void inside(const struct seen *s, struct cslice part)
{
	PROMISE(part.n == 0 || (part.p >= s->all.p && part.p + part.n <= s->all.p + s->all.n));
}

/* As ssh and ssh-add do: each blob is a key, a certificate or nothing. */
static void on_entry(void *arg, struct cslice blob, struct cslice comment)
{
	struct seen *s = arg;
	struct key *k = NULL;
	inside(s, blob);
	inside(s, comment);
	s->n++;
	if (key_parse_any(&k, blob) == OK) {
		struct key *same = NULL;
		struct buf again, twice;
		buf_init(&again, AG_FRAME_MAX);
		buf_init(&twice, AG_FRAME_MAX);
		/* A number may have come with zeros before it; ours has none. */
		PROMISE(key_blob_any(k, &again) == OK && again.n <= blob.n);
		PROMISE(key_parse_any(&same, buf_bytes(&again)) == OK && key_equal_public(k, same));
		PROMISE(key_blob_any(same, &twice) == OK);
		PROMISE(cslice_eq(buf_bytes(&again), buf_bytes(&twice)));
		key_free(same);
		buf_done(&again);
		buf_done(&twice);
	}
	key_free(k);
}

static void on_name(void *arg, struct cslice name)
{
	struct seen *s = arg;
	inside(s, name);
	s->n++;
}

static void take_signature(struct cslice body, struct cslice alg)
{
	struct buf sig;
	buf_init(&sig, AG_FRAME_MAX);
	err_t e = ag_take_signature(body, alg, &sig);
	PROMISE(e == OK || sig.n == 0);
	if (e == OK) { /* what came is of the algorithm that was asked for */
		PROMISE(sig.n >= 4 + alg.n && be32_get(sig.p) == alg.n &&
			memcmp(sig.p + 4, alg.p, alg.n) == 0);
	}
	buf_done(&sig);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct cslice in = {data, n};
	uint8_t what = fuzz_u8(&in);
	struct seen s = {.all = in};
	size_t length;
	if (in.n >= 4 && ag_take_length(in.p, &length) == OK)
		PROMISE(length > 0 && length <= AG_FRAME_MAX);
	switch (what % 5) {
	case 0:
		if (ag_take_list(in, on_entry, &s) != OK)
			PROMISE(s.n == 0);
		break;
	case 1:
		take_signature(in, cslice_str("ssh-ed25519"));
		break;
	case 2:
		take_signature(in, cslice_str("rsa-sha2-256"));
		break;
	case 3:
		if (ag_take_extensions(in, on_name, &s) != OK)
			PROMISE(s.n == 0);
		break;
	default:
		if (ag_take_done(in) == OK)
			PROMISE(in.n > 0 && in.p[0] == AGENT_MSG_success);
		break;
	}
	return 0;
}
