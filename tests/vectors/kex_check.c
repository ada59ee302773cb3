/* SPDX-License-Identifier: ISC */
/*
 * kex_check - the exchange hash and the derived keys of a recorded exchange
 *
 * The transcript is put together by the engine's own function from the recorded fields.
 */
#include "kex_check.h"

#include <stdlib.h>

#include "transport/tp_int.h"
#include "vec.h"

static void put_hex(struct buf *b, const struct json *j)
{
	uint8_t *p;
	size_t n;
	if (!json_hex(j, &p, &n))
		exit(1);
	buf_put(b, p, n);
	free(p);
}

struct buf kex_hex(const struct json *root, const char *field)
{
	struct buf b;
	buf_init(&b, 1 << 20);
	put_hex(&b, json_get(root, field));
	return b;
}

/* What was settled before in a group exchange. */
static void put_group(struct tp_kex *x, const struct json *root)
{
	const struct json *gex = json_first(json_get(root, "gex"));
	if (gex == NULL)
		return;
	x->gex_min = (uint32_t)json_int(gex, 0);
	x->gex_n = (uint32_t)json_int(gex->next, 0);
	x->gex_max = (uint32_t)json_int(gex->next->next, 0);
	put_hex(&x->gex_p, json_get(root, "p"));
	put_hex(&x->gex_g, json_get(root, "g"));
}

static void check_keys(const struct json *root, const char *name, const struct tp_derivation *d)
{
	const struct json *keys = json_get(root, "derived_keys");
	static const size_t sizes[] = {12, 16, 20, 32, 64};
	for (char letter = 'A'; letter <= 'F'; letter++) {
		char field[2] = {letter, 0};
		struct buf want = kex_hex(keys, field);
		for (size_t i = 0; i < ARRAY_N(sizes); i++) {
			struct secret got = {0};
			bool ok = tp_derive(d, letter, sizes[i], &got) == OK && got.n == sizes[i] &&
				  memcmp(got.b, want.p, sizes[i]) == 0;
			vec_check(ok, name, 100 + letter);
		}
		buf_done(&want);
	}
}

void kex_check_role(const struct json *root, const char *name, bool is_server)
{
	const struct json *f = json_get(root, "hash_input_fields");
	struct tp tp = {.is_server = is_server};
	struct rng_seeded rng;
	rng_seeded_init(&rng, 1);
	tp.choice.kex = alg_kex_find(cslice_str(json_text(json_get(root, "kex"))));
	tp_kex_init(&tp);
	buf_init(&tp.peer_version, 8192);
	struct buf mine;
	buf_init(&mine, 8192);
	put_hex(&mine, json_get(f, is_server ? "V_S" : "V_C"));
	buf_put_u8(&mine, 0);
	tp.my_version = (char *)mine.p;
	put_hex(&tp.peer_version, json_get(f, is_server ? "V_C" : "V_S"));
	put_hex(&tp.kex.my_init, json_get(f, is_server ? "I_S" : "I_C"));
	put_hex(&tp.kex.peer_init, json_get(f, is_server ? "I_C" : "I_S"));
	put_hex(&tp.kex.hostkey, json_get(f, "K_S"));
	put_hex(&tp.kex.qc, json_get(f, "Q_C"));
	put_hex(&tp.kex.qs, json_get(f, "Q_S"));
	put_hex(&tp.kex.k_encoded, json_get(root, "encoded_shared_secret"));
	put_group(&tp.kex, root);
	struct kex_group group = {buf_bytes(&tp.kex.gex_p), buf_bytes(&tp.kex.gex_g)};
	vec_check(kex_new(&tp.kex.k, tp.choice.kex, &rng.rng, group.p.n > 0 ? &group : NULL, 256) ==
			  OK,
		name, 10);
	struct buf want = kex_hex(root, "H");
	vec_check(tp_exchange_hash(&tp) == OK, name, 11);
	vec_check(cslice_eq(cslice_of(tp.kex.h, tp.kex.h_n), buf_bytes(&want)), name, 12);
	struct cslice h = {tp.kex.h, tp.kex.h_n};
	struct tp_derivation d = {tp.choice.kex->hash, buf_bytes(&tp.kex.k_encoded), h, h};
	check_keys(root, name, &d);
	buf_done(&want);
	buf_done(&mine);
	buf_done(&tp.peer_version);
	tp_kex_done(&tp);
}
