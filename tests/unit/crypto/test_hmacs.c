/* SPDX-License-Identifier: ISC */
/* HMAC of several messages at once: what one message at a time gives, from any thread. */
#include <pthread.h>
#include <stdlib.h>

#include "crypto/pick.h"

#include "help.h"

#define ROOM ((size_t)2 << 20)

static const enum hash_id ids[] = {HASH_SHA1, HASH_SHA256, HASH_SHA512};

struct batch {
	enum hash_id id;
	struct pick_hmac_one v[PICK_HMACS_MAX];
	uint8_t got[PICK_HMACS_MAX][HASH_MAX + 8], want[HASH_MAX];
};

/* False when the batch was declined. */
static bool compare(
	const struct pick_hmacs *many, void *h, struct hmac *one, struct batch *b, size_t n)
{
	size_t tag_n = hash_size(b->id);
	memset(b->got, 0x55, sizeof(b->got));
	for (size_t i = 0; i < n; i++)
		b->v[i].tag = b->got[i];
	err_t e = many->tags(h, b->v, n);
	bool has_empty = false;
	for (size_t i = 0; i < n; i++)
		has_empty |= b->v[i].msg.n == 0;
	assert_true(e == E_AGAIN || !has_empty); /* the library cannot do those */
	if (e == E_AGAIN) {
		assert_int_equal(b->got[0][0], 0x55);
		return false;
	}
	assert_ok(e);
	for (size_t i = 0; i < n; i++) {
		assert_ok(hmac_tag(one, &b->v[i].msg, 1, b->want));
		assert_memory_equal(b->got[i], b->want, tag_n);
		for (size_t k = 0; k < 8; k++) /* and not more */
			assert_int_equal(b->got[i][tag_n + k], 0x55);
	}
	return true;
}

/* Says how many batches were not declined. */
static size_t random_batches(enum hash_id id, uint8_t *text, uint64_t seed, size_t rounds)
{
	const struct pick_hmacs *many = pick_hmacs(PICK_IPSECMB);
	struct rng_seeded rng;
	uint8_t key[200];
	struct batch b = {.id = id};
	size_t done = 0;
	rng_seeded_init(&rng, seed);
	for (size_t round = 0; round < rounds; round++) {
		struct hmac *one = NULL;
		void *h = NULL;
		size_t n = 1 + rng_below(&rng.rng, PICK_HMACS_MAX),
		       key_n = rng_below(&rng.rng, sizeof(key) + 1),
		       most = round % 8 == 0   ? 70000
			      : round % 2 == 0 ? 3000
					       : 200;
		rng_fill(&rng.rng, key, sizeof(key));
		assert_ok(hmac_new(&one, id, cslice_of(key, key_n)));
		assert_ok(many->make(&h, id, cslice_of(key, key_n)));
		for (size_t i = 0; i < n; i++) {
			size_t size = rng_below(&rng.rng, (uint32_t)most + 1);
			size_t at = rng_below(&rng.rng, (uint32_t)(ROOM - size));
			b.v[i].msg = cslice_of(text + at, size);
		}
		done += compare(many, h, one, &b, n);
		many->free(h);
		hmac_free(one);
	}
	return done;
}

static uint8_t *text_new(void)
{
	struct rng_seeded rng;
	uint8_t *text = malloc(ROOM);
	assert_non_null(text);
	rng_seeded_init(&rng, 5);
	rng_fill(&rng.rng, text, ROOM);
	return text;
}

static void batches_give_what_single_messages_give(void **state)
{
	(void)state;
	if (pick_hmacs(PICK_IPSECMB) == NULL)
		skip(); /* it does not run here */
	uint8_t *text = text_new();
	for (size_t i = 0; i < ARRAY_N(ids); i++)
		assert_true(random_batches(ids[i], text, 10 + i, 120) > 40);
	free(text);
}

static void each_number_of_messages_and_each_length_is_right(void **state)
{
	(void)state;
	const struct pick_hmacs *many = pick_hmacs(PICK_IPSECMB);
	if (many == NULL)
		skip();
	uint8_t *text = text_new();
	struct batch b;
	for (size_t i = 0; i < ARRAY_N(ids); i++) {
		struct hmac *one = NULL;
		void *h = NULL;
		assert_ok(hmac_new(&one, ids[i], cslice_of(text, 32)));
		assert_ok(many->make(&h, ids[i], cslice_of(text, 32)));
		b.id = ids[i];
		for (size_t n = 1; n <= PICK_HMACS_MAX; n++)
			for (size_t size = 0; size < 300; size++) {
				for (size_t k = 0; k < n; k++)
					b.v[k].msg = cslice_of(text + 7 * k, size + (k % 3) * n);
				(void)compare(many, h, one, &b, n);
			}
		many->free(h);
		hmac_free(one);
	}
	free(text);
}

static void what_it_has_no_form_for_is_declined(void **state)
{
	(void)state;
	const struct pick_hmacs *many = pick_hmacs(PICK_IPSECMB);
	struct pick_hmac_one v[PICK_HMACS_MAX + 1];
	uint8_t tag[HASH_MAX];
	void *h = NULL;
	assert_null(pick_hmacs(PICK_LIBCRYPTO));
	if (many == NULL)
		skip();
	assert_err(many->make(&h, HASH_MD5, cslice_of(tag, 16)), E_UNSUPPORTED);
	assert_err(many->make(&h, HASH_SHA384, cslice_of(tag, 16)), E_UNSUPPORTED);
	assert_null(h);
	assert_ok(many->make(&h, HASH_SHA256, cslice_of(NULL, 0)));
	for (size_t i = 0; i < ARRAY_N(v); i++)
		v[i] = (struct pick_hmac_one){cslice_of(tag, 0), tag};
	assert_err(many->tags(h, v, 1), E_AGAIN); /* libcrypto is quicker */
	assert_err(many->tags(h, v, 0), E_AGAIN);
	assert_err(many->tags(h, v, ARRAY_N(v)), E_BUG);
	many->free(h);
	many->free(NULL);
}

struct thread {
	pthread_t id;
	uint8_t *text;
	uint64_t seed;
};

static void *in_a_thread(void *arg)
{
	struct thread *t = arg;
	for (size_t i = 0; i < ARRAY_N(ids); i++)
		(void)random_batches(ids[i], t->text, t->seed + i, 60);
	return NULL;
}

static void threads_do_not_disturb_each_other(void **state)
{
	(void)state;
	if (pick_hmacs(PICK_IPSECMB) == NULL)
		skip();
	struct thread t[3];
	uint8_t *text = text_new();
	for (size_t i = 0; i < ARRAY_N(t); i++) {
		t[i] = (struct thread){.text = text, .seed = 100 * i};
		assert_int_equal(pthread_create(&t[i].id, NULL, in_a_thread, &t[i]), 0);
	}
	for (size_t i = 0; i < ARRAY_N(t); i++)
		assert_int_equal(pthread_join(t[i].id, NULL), 0);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(batches_give_what_single_messages_give),
		cmocka_unit_test(each_number_of_messages_and_each_length_is_right),
		cmocka_unit_test(what_it_has_no_form_for_is_declined),
		cmocka_unit_test(threads_do_not_disturb_each_other),
	};
	return cmocka_run_group_tests(tests, help_crypto_init, NULL);
}
