/* SPDX-License-Identifier: ISC */
/*
 * own_ct - no branch and no address depends on a secret
 *
 * Under valgrind's memcheck, secrets are marked as undefined; each jump or memory access that
 * depends on one is then an error, which each case counts.  The sources are compiled here with
 * BOWLINE_CT_TEST, which turns CT_PUBLIC on.  Two controls, a branch and a table look-up by a
 * secret, must be found, or the test could not fail.
 *
 * Left out: bcrypt_pbkdf.  Blowfish looks its S-boxes up by secret bytes; that is the algorithm.
 * See blowfish.h.
 */
#include <stdio.h>

#include <valgrind/memcheck.h>

#include "crypto/crypto.h"
#include "crypto/own/keccak.h"

#define SKIP 77

static void poison(void *p, size_t n)
{
	(void)VALGRIND_MAKE_MEM_UNDEFINED(p, n);
}

static void publish(void *p, size_t n)
{
	(void)VALGRIND_MAKE_MEM_DEFINED(p, n);
}

/* A stream of fixed bytes, all of them secret. */
static void secret_fill(struct rng *rng, uint8_t *p, size_t n)
{
	static struct rng_seeded source;

	if (source.state == 0)
		rng_seeded_init(&source, 3);
	rng_fill(&source.rng, p, n);
	poison(p, n);
}

static struct rng secret_rng = {secret_fill};

static void fill(void *p, size_t n, uint8_t first)
{
	for (size_t i = 0; i < n; i++)
		((uint8_t *)p)[i] = (uint8_t)(first + 7 * i);
}

struct mlkem {
	uint8_t seed[64], ek[MLKEM768_EK], dk[MLKEM768_DK], ct[MLKEM768_CT], m[32], ss[32],
		again[32];
};

static bool mlkem_prepare(struct mlkem *k)
{
	fill(k->seed, sizeof(k->seed), 1);
	fill(k->m, sizeof(k->m), 9);
	return mlkem768_keypair(k->seed, k->seed + 32, k->ek, k->dk) == OK &&
	       mlkem768_encaps(k->ek, k->m, k->ct, k->ss) == OK;
}

static bool mlkem_keypair(void)
{
	struct mlkem a, b;

	if (!mlkem_prepare(&a))
		return false;
	b = a;
	poison(b.seed, sizeof(b.seed));
	err_t e = mlkem768_keypair(b.seed, b.seed + 32, b.ek, b.dk);
	publish(&b, sizeof(b));
	return e == OK && memcmp(&a, &b, sizeof(a) - 32) == 0;
}

static bool mlkem_encaps(void)
{
	struct mlkem a, b;

	if (!mlkem_prepare(&a))
		return false;
	b = a;
	poison(b.m, sizeof(b.m));
	err_t e = mlkem768_encaps(b.ek, b.m, b.ct, b.ss);
	publish(&b, sizeof(b));
	return e == OK && memcmp(&a, &b, sizeof(a) - 32) == 0;
}

static bool mlkem_decaps_of(uint8_t damage)
{
	struct mlkem k;

	if (!mlkem_prepare(&k))
		return false;
	k.ct[1000] ^= damage;
	poison(k.dk, MLKEM768_DK - MLKEM768_EK - 64);
	poison(k.dk + MLKEM768_DK - 32, 32);
	err_t e = mlkem768_decaps(k.dk, k.ct, k.again);
	publish(&k, sizeof(k));
	return e == OK && (memcmp(k.ss, k.again, 32) == 0) == (damage == 0);
}

static bool mlkem_decaps(void)
{
	return mlkem_decaps_of(0);
}

static bool mlkem_decaps_rejects(void)
{
	return mlkem_decaps_of(4);
}

struct sntrup {
	uint8_t pk[SNTRUP761_PK], sk[SNTRUP761_SK], ct[SNTRUP761_CT], ss[32], again[32];
};

static bool sntrup_all(uint8_t damage)
{
	struct sntrup k;

	err_t e = sntrup761_keypair(&secret_rng, k.pk, k.sk);
	if (e == OK)
		e = sntrup761_encaps(&secret_rng, k.pk, k.ct, k.ss);
	publish(k.ct,
		sizeof(k.ct)); /* what goes over the wire; the secret parts of sk stay undefined */
	k.ct[1000] ^= damage;
	if (e == OK)
		e = sntrup761_decaps(k.sk, k.ct, k.again);
	publish(&k, sizeof(k));
	return e == OK && (memcmp(k.ss, k.again, 32) == 0) == (damage == 0);
}

static bool sntrup_agrees(void)
{
	return sntrup_all(0);
}

static bool sntrup_rejects(void)
{
	return sntrup_all(4);
}

struct mldsa {
	uint8_t seed[32], rnd[32], pk[MLDSA44_PK], sig[MLDSA44_SIG];
};

static bool mldsa_prepare(struct mldsa *k)
{
	fill(k->seed, sizeof(k->seed), 11);
	fill(k->rnd, sizeof(k->rnd), 12);
	mldsa44_public(k->seed, k->pk);
	return mldsa44_sign(
		       k->seed, cslice_str("context"), cslice_str("message"), k->rnd, k->sig) == OK;
}

static bool mldsa_public(void)
{
	struct mldsa a, b;

	if (!mldsa_prepare(&a))
		return false;
	b = a;
	poison(b.seed, sizeof(b.seed));
	mldsa44_public(b.seed, b.pk);
	publish(&b, sizeof(b));
	return memcmp(&a, &b, sizeof(a)) == 0;
}

/* With all tries that this seed and these bytes take. */
static bool mldsa_sign(void)
{
	struct mldsa a, b;

	if (!mldsa_prepare(&a))
		return false;
	b = a;
	poison(b.seed, sizeof(b.seed));
	poison(b.rnd, sizeof(b.rnd));
	err_t e = mldsa44_sign(b.seed, cslice_str("context"), cslice_str("message"), b.rnd, b.sig);
	publish(&e, sizeof(e));
	publish(&b, sizeof(b));
	return e == OK && memcmp(&a, &b, sizeof(a)) == 0;
}

static bool umac_of(size_t tag_n)
{
	static const size_t sizes[] = {0, 5, 64, 1024, 1025, 5000};
	uint8_t key[16], text[5000], nonce[8] = {0}, tag[16];
	struct umac *u;

	fill(key, sizeof(key), 5);
	fill(text, sizeof(text), 6);
	poison(key, sizeof(key));
	poison(text, sizeof(text));
	if (umac_new(&u, tag_n, key) != OK)
		return false;
	bool ok = true;
	for (size_t i = 0; i < ARRAY_N(sizes); i++) {
		nonce[7] = (uint8_t)i;
		ok = ok && umac_tag(u, nonce, &(struct cslice){text, sizes[i]}, 1, tag) == OK;
	}
	umac_free(u);
	return ok;
}

static bool umac64(void)
{
	return umac_of(8);
}

static bool umac128(void)
{
	return umac_of(16);
}

static bool compares(void)
{
	uint8_t a[40], b[40];

	fill(a, sizeof(a), 1);
	fill(b, sizeof(b), 1);
	b[39] ^= 1;
	poison(a, sizeof(a));
	poison(b, sizeof(b));
	bool same = ct_eq(a, b, 39), differ = ct_eq(a, b, 40);
	publish(&same, sizeof(same));
	publish(&differ, sizeof(differ));
	return same && !differ;
}

static bool shake(void)
{
	uint8_t in[300], out[300];

	fill(in, sizeof(in), 2);
	poison(in, sizeof(in));
	shake256(out, sizeof(out), &(struct cslice){in, sizeof(in)}, 1);
	return true;
}

/* The controls. */
static volatile uint8_t sink;

static bool control_branch(void)
{
	uint8_t secret = 3;

	poison(&secret, 1);
	if (secret > 2)
		sink = 1;
	return true;
}

static bool control_lookup(void)
{
	static const volatile uint8_t table[4] = {1, 2, 3, 4};
	uint8_t secret = 3;

	poison(&secret, 1);
	sink = table[secret & 3];
	return true;
}

static const struct {
	const char *name;
	bool (*run)(void);
	bool must_err;
} cases[] = {
	{"control: a branch", control_branch, true},
	{"control: a look-up", control_lookup, true},
	{"mlkem768 keypair", mlkem_keypair, false},
	{"mlkem768 encaps", mlkem_encaps, false},
	{"mlkem768 decaps", mlkem_decaps, false},
	{"mlkem768 decaps, wrong ciphertext", mlkem_decaps_rejects, false},
	{"sntrup761 keypair, encaps, decaps", sntrup_agrees, false},
	{"sntrup761 decaps, wrong ciphertext", sntrup_rejects, false},
	{"mldsa44 public", mldsa_public, false},
	{"mldsa44 sign", mldsa_sign, false},
	{"umac-64", umac64, false},
	{"umac-128", umac128, false},
	{"ct_eq", compares, false},
	{"shake256", shake, false},
};

int main(void)
{
	unsigned passed = 0, failed = 0;

	if (!RUNNING_ON_VALGRIND) {
		puts("SKIP: constant time can only be tested under valgrind");
		return SKIP;
	}
	if (crypto_init() != OK)
		return 1;
	for (size_t i = 0; i < ARRAY_N(cases); i++) {
		unsigned before = VALGRIND_COUNT_ERRORS;
		bool ran = cases[i].run();
		unsigned errors = VALGRIND_COUNT_ERRORS - before;
		bool ok = ran && (errors != 0) == cases[i].must_err;
		if (!ok)
			printf("FAIL: %s: %u errors%s\n", cases[i].name, errors,
				ran ? "" : ", wrong result");
		passed += ok;
		failed += !ok;
	}
	printf("%u passed, %u failed\n", passed, failed);
	return failed != 0;
}
