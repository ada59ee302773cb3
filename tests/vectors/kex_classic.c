/* SPDX-License-Identifier: ISC */
/*
 * Key exchanges that AsyncSSH made with private values known (kex_make.py): public values, shared
 * secret, exchange hash and derived keys in both roles; and that no row of kex.def is without a
 * vector.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algorithm/kex.h"
#include "kex_check.h"
#include "vec.h"

#define WANT_BITS 256

/* Randomness that is the private value. */
struct rng_given {
	struct rng rng;
	struct cslice value;
};

static void give(struct rng *rng, uint8_t *p, size_t n)
{
	struct rng_given *r = (struct rng_given *)(void *)rng;
	vec_check(n == r->value.n, "private value", (int64_t)n);
	memset(p, 1, n);
	memcpy(p, r->value.p, n < r->value.n ? n : r->value.n);
}

static bool same(const struct buf *a, const struct buf *b)
{
	return cslice_eq(buf_bytes(a), buf_bytes(b));
}

static void check_end(const struct json *root, const char *name, bool is_server)
{
	const struct json *f = json_get(root, "hash_input_fields");
	const struct alg_kex *row = alg_kex_find(cslice_str(name));
	struct buf priv = kex_hex(root, is_server ? "server" : "client");
	struct buf qc = kex_hex(f, "Q_C"), qs = kex_hex(f, "Q_S");
	struct buf want = kex_hex(root, "encoded_shared_secret"), mine, secret, p = {0}, g = {0};
	struct rng_given rng = {{give}, buf_bytes(&priv)};
	struct kex_group group = {0};
	struct kex *k = NULL;
	buf_init(&mine, 4096);
	buf_init(&secret, 4096);
	if (row->family == KEX_DHGEX) {
		p = kex_hex(root, "p");
		g = kex_hex(root, "g");
		group = (struct kex_group){buf_bytes(&p), buf_bytes(&g)};
	}
	vec_check(kex_new(&k, row, &rng.rng, row->family == KEX_DHGEX ? &group : NULL, WANT_BITS) ==
			  OK,
		name, 1);
	if (is_server) {
		vec_check(kex_reply(k, buf_bytes(&qc), &mine, &secret) == OK, name, 2);
	} else {
		vec_check(kex_start(k, &mine) == OK, name, 3);
		vec_check(kex_finish(k, buf_bytes(&qs), &secret) == OK, name, 4);
	}
	vec_check(same(&mine, is_server ? &qs : &qc), name, 5);
	vec_check(same(&secret, &want), name, 6);
	kex_free(k);
	struct buf *all[] = {&priv, &qc, &qs, &want, &mine, &secret, &p, &g};
	for (size_t i = 0; i < ARRAY_N(all); i++)
		buf_done(all[i]);
}

/* What OpenSSH recorded (kex_test.c). */
static const char *const recorded[] = {
	"mlkem768nistp256-sha256", "mlkem768x25519-sha256", "sntrup761x25519-sha512"};

static bool has_vector(const struct json *cases, const char *name)
{
	for (size_t i = 0; i < ARRAY_N(recorded); i++)
		if (strcmp(recorded[i], name) == 0)
			return true;
	for (const struct json *c = json_first(cases); c != NULL; c = c->next)
		if (json_is(json_get(c, "kex"), name))
			return true;
	return false;
}

/* A second name of the same thing needs no second vector. */
static bool is_covered(const struct json *cases, const struct alg_kex *row)
{
	for (size_t i = 0; i < alg_kexes_n; i++) {
		const struct alg_kex *k = &alg_kexes[i];
		if (k->family == row->family && k->parameter == row->parameter &&
			k->hash == row->hash && has_vector(cases, k->name))
			return true;
	}
	printf("no vector for %s\n", row->name);
	return false;
}

int main(void)
{
	struct json_doc *doc = json_load(KEX_JSON);
	const struct json *cases = json_get(json_root(doc), "cases");
	vec_check(crypto_init() == OK, "init", -1);
	for (size_t i = 0; i < alg_kexes_n; i++)
		vec_check(is_covered(cases, &alg_kexes[i]), "coverage", (int64_t)i);
	for (const struct json *c = json_first(cases); c != NULL; c = c->next) {
		const char *name = json_text(json_get(c, "kex"));
		vec_check(alg_kex_find(cslice_str(name)) != NULL, name, -1);
		for (int role = 0; role < 2; role++) {
			check_end(c, name, role != 0);
			kex_check_role(c, name, role != 0);
		}
	}
	json_free(doc);
	return vec_done();
}
