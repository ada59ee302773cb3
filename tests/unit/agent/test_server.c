/* SPDX-License-Identifier: ISC */
/*
 * The agent's server: every request, in every state of the lock, from near and from far; hostile
 * frames; questions; times.
 */
#include "rig.h"

static struct rig rig;

static uint8_t raw(struct ag *a, uint8_t no, struct cslice body, struct buf *answer)
{
	struct buf f;
	rig_raw(&f, no, body.p, body.n);
	return rig_ask(&rig, a, &f, answer);
}

static uint8_t bare(struct ag *a, uint8_t no)
{
	return raw(a, no, cslice_of(NULL, 0), NULL);
}

static uint8_t with_string(struct ag *a, uint8_t no, struct cslice s)
{
	struct buf body;
	buf_init(&body, 65536);
	buf_put_string(&body, s);
	uint8_t answer = raw(a, no, buf_bytes(&body), NULL);
	buf_done(&body);
	return answer;
}

static void keys_of_every_type_sign_and_go(void **state)
{
	(void)state;
	static const enum key_type types[] = {
		KEY_ED25519, KEY_MLDSA, KEY_ECDSA_P256, KEY_ECDSA_P384, KEY_ECDSA_P521, KEY_RSA};
	struct key *keys[ARRAY_N(types)];
	rig_start(&rig);
	struct ag *a = rig_connect(&rig);
	assert_int_equal(rig_count(&rig, a), 0);
	for (size_t i = 0; i < ARRAY_N(types); i++) {
		keys[i] = rig_key(&rig, types[i]);
		assert_int_equal(rig_sign(&rig, a, keys[i], cslice_str("x")), AGENT_MSG_failure);
		assert_int_equal(rig_add(&rig, a, keys[i], NULL), AGENT_MSG_success);
		assert_int_equal(rig_count(&rig, a), i + 1);
		assert_int_equal(
			rig_sign(&rig, a, keys[i], cslice_str("x")), AGENT_MSG_sign_response);
		assert_int_equal(
			rig_sign(&rig, a, keys[i], cslice_str("")), AGENT_MSG_sign_response);
	}
	/* The same again takes no more room, and stays in its place. */
	assert_int_equal(rig_add(&rig, a, keys[0], NULL), AGENT_MSG_success);
	assert_int_equal(rig_count(&rig, a), ARRAY_N(types));
	assert_true(cslice_eq(buf_bytes(&ag_store_next(rig.store, NULL)->blob), rig_blob(keys[0])));
	assert_int_equal(
		with_string(a, AGENT_MSG_remove_identity, rig_blob(keys[2])), AGENT_MSG_success);
	assert_int_equal(
		with_string(a, AGENT_MSG_remove_identity, rig_blob(keys[2])), AGENT_MSG_failure);
	assert_int_equal(rig_sign(&rig, a, keys[2], cslice_str("x")), AGENT_MSG_failure);
	assert_int_equal(rig_count(&rig, a), ARRAY_N(types) - 1);
	assert_int_equal(bare(a, AGENT_MSG_remove_all_identities), AGENT_MSG_success);
	assert_int_equal(rig_count(&rig, a), 0);
	for (size_t i = 0; i < ARRAY_N(types); i++)
		key_free(keys[i]);
	ag_free(a);
	rig_stop(&rig);
}

/* The private bytes are in clear nowhere in the store. */
static void private_bytes_rest_encrypted(void **state)
{
	(void)state;
	rig_start(&rig);
	struct ag *a = rig_connect(&rig);
	struct key *k = rig_key(&rig, KEY_ED25519), *back = NULL;
	struct buf clear;
	buf_init(&clear, 4096);
	assert_ok(key_put_private_fields(k, &clear));
	assert_int_equal(rig_add(&rig, a, k, NULL), AGENT_MSG_success);
	struct ag_key *held = (struct ag_key *)(uintptr_t)ag_store_next(rig.store, NULL);
	const uint8_t *seed = clear.p + clear.n - 64; /* before the public half */
	assert_null(memmem(held->shielded.p, held->shielded.n, seed, 8));
	assert_ok(ag_store_unshield(rig.store, held, &back));
	assert_true(key_is_private(back) && key_equal_public(back, k));
	key_free(back);
	/* A bit that changed is noticed, and nothing is signed with what came out. */
	held->shielded.p[3] ^= 1;
	assert_int_equal(ag_store_unshield(rig.store, held, &back), E_MAC);
	assert_int_equal(rig_sign(&rig, a, k, cslice_str("x")), AGENT_MSG_failure);
	held->shielded.p[3] ^= 1;
	held->salt[0] ^= 1;
	assert_int_equal(ag_store_unshield(rig.store, held, &back), E_MAC);
	buf_done(&clear);
	key_free(k);
	ag_free(a);
	rig_stop(&rig);
}

static void an_rsa_key_signs_with_the_hash_that_is_asked_for(void **state)
{
	(void)state;
	static const struct {
		uint32_t flags;
		const char *alg;
	} rows[] = {{0, "ssh-rsa"}, {2, "rsa-sha2-256"}, {4, "rsa-sha2-512"}, {6, "rsa-sha2-256"}};
	rig_start(&rig);
	struct ag *a = rig_connect(&rig);
	struct key *k = rig_key(&rig, KEY_RSA);
	assert_int_equal(rig_add(&rig, a, k, NULL), AGENT_MSG_success);
	for (size_t i = 0; i < ARRAY_N(rows); i++) {
		struct buf body, answer;
		buf_init(&body, 4096);
		buf_init(&answer, 4096);
		buf_put_string(&body, rig_blob(k));
		buf_put_cstring(&body, "data");
		buf_put_u32(&body, rows[i].flags);
		assert_int_equal(raw(a, AGENT_MSG_sign_request, buf_bytes(&body), &answer),
			AGENT_MSG_sign_response);
		struct rd r = rd_of(buf_bytes(&answer));
		struct rd sig = rd_of(rd_str(&r));
		assert_true(cslice_eq_str(rd_str(&sig), rows[i].alg));
		buf_done(&answer);
		buf_done(&body);
	}
	key_free(k);
	ag_free(a);
	rig_stop(&rig);
}

/* ---- the lock -----------------------------------------------------------------------------------
 */
static void put_token(struct buf *b, const char *path)
{
	buf_init(b, 4096);
	buf_put_cstring(b, path);
	buf_put_cstring(b, "1234");
}

/* Each request as an unlocked and as a locked agent answers it; the store stays as it was. */
static void a_locked_agent_does_nothing(void **state)
{
	(void)state;
	rig_start(&rig);
	struct ag *a = rig_connect(&rig);
	struct key *k = rig_key(&rig, KEY_ED25519), *other = rig_key(&rig, KEY_ED25519);
	struct buf add, more, sign, blob, token, word, query;
	assert_int_equal(rig_add(&rig, a, k, NULL), AGENT_MSG_success);
	buf_init(&add, 4096);
	buf_init(&more, 4096);
	buf_init(&sign, 4096);
	buf_init(&blob, 4096);
	buf_init(&word, 64);
	buf_init(&query, 64);
	put_token(&token, "/usr/lib/x.so");
	assert_ok(key_put_private_fields(other, &add));
	buf_put_cstring(&add, "comment");
	buf_put(&more, add.p, add.n);
	buf_put(&more, "\2", 1);
	buf_put_string(&sign, rig_blob(k));
	buf_put_cstring(&sign, "data");
	buf_put_u32(&sign, 0);
	buf_put_string(&blob, rig_blob(k));
	buf_put_cstring(&word, "secret");
	buf_put_cstring(&query, "query");
	const struct {
		uint8_t no;
		struct cslice body;
		uint8_t locked;
	} rows[] = {
		{AGENT_MSG_request_identities, {NULL, 0}, AGENT_MSG_identities_answer},
		{AGENT_MSG_sign_request, buf_bytes(&sign), AGENT_MSG_failure},
		{AGENT_MSG_add_identity, buf_bytes(&add), AGENT_MSG_failure},
		{AGENT_MSG_add_id_constrained, buf_bytes(&more), AGENT_MSG_failure},
		{AGENT_MSG_remove_identity, buf_bytes(&blob), AGENT_MSG_failure},
		{AGENT_MSG_remove_all_identities, {NULL, 0}, AGENT_MSG_failure},
		{AGENT_MSG_add_smartcard_key, buf_bytes(&token), AGENT_MSG_failure},
		{AGENT_MSG_add_smartcard_key_constrained, buf_bytes(&token), AGENT_MSG_failure},
		{AGENT_MSG_remove_smartcard_key, buf_bytes(&token), AGENT_MSG_failure},
		{AGENT_MSG_lock, buf_bytes(&word), AGENT_MSG_failure},
		{AGENT_MSG_extension, buf_bytes(&query), AGENT_MSG_extension_failure},
	};
	assert_int_equal(raw(a, AGENT_MSG_unlock, buf_bytes(&word), NULL), AGENT_MSG_failure);
	assert_int_equal(raw(a, AGENT_MSG_lock, buf_bytes(&word), NULL), AGENT_MSG_success);
	for (size_t i = 0; i < ARRAY_N(rows); i++) {
		struct buf answer;
		buf_init(&answer, 4096);
		assert_int_equal(raw(a, rows[i].no, rows[i].body, &answer), rows[i].locked);
		if (rows[i].no == AGENT_MSG_request_identities)
			assert_true(cslice_eq(buf_bytes(&answer), cslice_of("\0\0\0\0", 4)));
		assert_int_equal(ag_store_count(rig.store), 1);
		buf_done(&answer);
	}
	/* No request was left out. */
	size_t requests = 0;
	for (unsigned no = 0; no < 256; no++)
		requests += agent_msg_is_for((uint8_t)no, true);
	assert_int_equal(requests, ARRAY_N(rows) + 1);
	assert_int_equal(raw(a, AGENT_MSG_unlock, buf_bytes(&word), NULL), AGENT_MSG_success);
	assert_int_equal(rig_sign(&rig, a, k, cslice_str("x")), AGENT_MSG_sign_response);
	for (size_t i = 0; i < ARRAY_N(rows); i++) {
		bool is_token = rows[i].no == AGENT_MSG_add_smartcard_key ||
				rows[i].no == AGENT_MSG_add_smartcard_key_constrained ||
				rows[i].no == AGENT_MSG_remove_smartcard_key;
		uint8_t no = raw(a, rows[i].no, rows[i].body, NULL);
		assert_int_equal(no == AGENT_MSG_failure, is_token);
	}
	buf_done(&query);
	buf_done(&word);
	buf_done(&token);
	buf_done(&blob);
	buf_done(&sign);
	buf_done(&more);
	buf_done(&add);
	key_free(other);
	key_free(k);
	ag_free(a);
	rig_stop(&rig);
}

static uint8_t unlock(struct ag *a, const char *word)
{
	return with_string(a, AGENT_MSG_unlock, cslice_str(word));
}

static void wrong_passphrases_take_longer_and_longer(void **state)
{
	(void)state;
	rig_start(&rig);
	struct ag *a = rig_connect(&rig), *b = rig_connect(&rig);
	struct ag_event ev;
	assert_int_equal(with_string(a, AGENT_MSG_lock, cslice_str("")), AGENT_MSG_failure);
	assert_int_equal(with_string(a, AGENT_MSG_lock, cslice_str("right")), AGENT_MSG_success);
	for (unsigned i = 1; i <= 102; i++) {
		uint64_t wait_us = i <= 100 ? i * 100000u : 10000000u;
		/* Nothing is said before the pause is over. */
		assert_int_equal(unlock(a, "wrong"), 0);
		assert_int_equal(ag_deadline(a), rig.now.us + wait_us);
		rig.now.us += wait_us - 1;
		assert_ok(ag_poll(a, &rig.now, &ev));
		assert_int_equal(rig_take(a, NULL), 0);
		rig.now.us++;
		assert_ok(ag_poll(a, &rig.now, &ev));
		assert_int_equal(rig_take(a, NULL), AGENT_MSG_failure);
	}
	/* Who comes by another connection waits as well, also with the right one; others do not. */
	assert_int_equal(unlock(a, "wrong"), 0);
	assert_int_equal(unlock(b, "right"), 0);
	assert_int_equal(ag_deadline(b), rig.now.us + 10000000u);
	struct ag *c = rig_connect(&rig);
	assert_int_equal(rig_count(&rig, c), 0);
	assert_true(ag_store_is_locked(rig.store));
	rig.now.us += 10000000u;
	assert_ok(ag_poll(b, &rig.now, &ev));
	assert_int_equal(rig_take(b, NULL), AGENT_MSG_success);
	assert_ok(ag_poll(a, &rig.now, &ev));
	assert_int_equal(rig_take(a, NULL), AGENT_MSG_failure);
	assert_false(ag_store_is_locked(rig.store));
	ag_free(c);
	ag_free(b);
	ag_free(a);
	rig_stop(&rig);
}

/* ---- near and far -------------------------------------------------------------------------------
 */
static void libraries_are_not_named_from_far_away(void **state)
{
	(void)state;
	static const struct {
		const char *path;
		bool may;
	} paths[] = {{"/usr/lib/x86_64-linux-gnu/opensc.so", true}, {"/usr/lib64/p/x.so", true},
		{"/usr/local/lib/x.so", true}, {"/tmp/x.so", false}, {"", false}, {"x.so", false},
		{"usr/lib/x.so", false}, {"/usr/lib/../../tmp/x.so", false},
		{"/usr/lib/./x.so", false}, {"/usr/lib//x.so", false}, {"/usr/lib/x/..", false},
		{"/usr/lib/x/.", false}, {"/usr/lib/", false}, {"/usr/lib/..x.so", true},
		{"/usr/lib/.x/y..", true}};
	struct key *host = NULL;
	/* locked: the binding came while the agent was locked; it counts all the same */
	for (int round = 0; round < 4; round++) {
		bool is_far = round > 0, is_locked = round == 2, allow = round == 3;
		rig_start(&rig);
		if (allow) {
			ag_store_free(rig.store);
			rig.env.allow_remote = true;
			assert_ok(ag_store_new(&rig.store, &rig.env));
		}
		host = rig_key(&rig, KEY_ED25519);
		struct ag *a = rig_connect(&rig);
		if (is_locked)
			assert_int_equal(
				with_string(a, AGENT_MSG_lock, cslice_str("w")), AGENT_MSG_success);
		if (is_far)
			assert_int_equal(rig_bind(&rig, a, host, "1", true), AGENT_MSG_success);
		if (is_locked)
			assert_int_equal(unlock(a, "w"), AGENT_MSG_success);
		for (size_t i = 0; i < ARRAY_N(paths); i++) {
			struct buf token;
			put_token(&token, paths[i].path);
			rig.said[0] = '\0';
			assert_int_equal(
				raw(a, AGENT_MSG_add_smartcard_key, buf_bytes(&token), NULL),
				AGENT_MSG_failure);
			const char *why = is_far && !allow ? "forwarded connection"
					  : paths[i].may   ? "PKCS#11 tokens yet"
							   : "-P does not allow";
			assert_non_null(strstr(rig.said, why));
			buf_done(&token);
		}
		key_free(host);
		ag_free(a);
		rig_stop(&rig);
	}
}

/* ---- limits of keys -----------------------------------------------------------------------------
 */
static void keys_have_their_time(void **state)
{
	(void)state;
	rig_start(&rig);
	struct ag *a = rig_connect(&rig);
	struct key *k[3];
	for (size_t i = 0; i < 3; i++) {
		const struct ag_limits l = {.lifetime_s = (uint32_t)(10 * i)};
		k[i] = rig_key(&rig, KEY_ED25519);
		assert_int_equal(rig_add(&rig, a, k[i], i > 0 ? &l : NULL), AGENT_MSG_success);
	}
	uint64_t begin = rig.now.us;
	assert_true(ag_store_expire(rig.store, begin) == begin + 10000000u);
	assert_true(ag_store_expire(rig.store, begin + 9999999u) == begin + 10000000u);
	assert_int_equal(rig_count(&rig, a), 3);
	assert_true(ag_store_expire(rig.store, begin + 10000000u) == begin + 20000000u);
	assert_int_equal(rig_count(&rig, a), 2);
	assert_int_equal(rig_sign(&rig, a, k[1], cslice_str("x")), AGENT_MSG_failure);
	assert_true(ag_store_expire(rig.store, begin + 20000000u) == AG_NEVER);
	assert_int_equal(rig_count(&rig, a), 1);
	/* The longest there is does not come round to now. */
	const struct ag_limits longest = {.lifetime_s = UINT32_MAX};
	assert_int_equal(rig_add(&rig, a, k[1], &longest), AGENT_MSG_success);
	assert_true(ag_store_expire(rig.store, begin + 20000000u) > begin + 4000000000000000u);
	/* Without one of its own the key has the agent's. */
	ag_free(a);
	ag_store_free(rig.store);
	rig.env.lifetime_s = 5;
	assert_ok(ag_store_new(&rig.store, &rig.env));
	a = rig_connect(&rig);
	assert_int_equal(rig_add(&rig, a, k[0], NULL), AGENT_MSG_success);
	assert_true(ag_store_expire(rig.store, begin) == rig.now.us + 5000000u);
	for (size_t i = 0; i < 3; i++)
		key_free(k[i]);
	ag_free(a);
	rig_stop(&rig);
}

/* A limit that is not known, or said twice, or cut, refuses the key: it is never left out. */
static void limits_that_cannot_be_kept_refuse_the_key(void **state)
{
	(void)state;
	static const struct {
		const char *bytes;
		size_t n;
		bool may;
	} rows[] = {{"", 0, true}, {"\1\0\0\0\5", 5, true}, {"\2", 1, true},
		{"\1\0\0\0\5\2", 6, true}, {"\1\0\0\0", 4, false}, {"\1\0\0\0\0", 5, false},
		{"\1\0\0\0\5\1\0\0\0\6", 10, false}, {"\2\2", 2, false}, {"\0", 1, false},
		{"\3", 1, false}, {"\3\0\0\0\1", 5, false}, {"\377", 1, false},
		{"\377\0\0\0\1x", 6, false}, {"\377\0\0\0\1x\0\0\0\0", 10, false},
		{"\377\0\0\0\44restrict-destination-v00@openssh.com\0\0\0\0", 45, false},
		{"\377\0\0\0\35associated-certs-v00@openssh.com\0\0\0\0\0", 38, false},
		{"\377\0\0\0\27sk-provider@openssh.com\0\0\0\10internal", 40, false}};
	rig_start(&rig);
	struct ag *a = rig_connect(&rig);
	struct key *k = rig_key(&rig, KEY_ED25519);
	struct buf fields, body;
	buf_init(&fields, 4096);
	buf_init(&body, 4096);
	assert_ok(key_put_private_fields(k, &fields));
	buf_put_cstring(&fields, "c");
	for (size_t i = 0; i < ARRAY_N(rows); i++) {
		buf_clear(&body);
		buf_put(&body, fields.p, fields.n);
		buf_put(&body, rows[i].bytes, rows[i].n);
		assert_int_equal(raw(a, AGENT_MSG_add_id_constrained, buf_bytes(&body), NULL),
			rows[i].may ? AGENT_MSG_success : AGENT_MSG_failure);
		/* Without the number that says so no limits may follow at all. */
		assert_int_equal(raw(a, AGENT_MSG_add_identity, buf_bytes(&body), NULL),
			rows[i].n == 0 ? AGENT_MSG_success : AGENT_MSG_failure);
		assert_int_equal(ag_store_count(rig.store), rows[i].may ? 1 : 0);
		ag_store_clear(rig.store);
	}
	/* Cut anywhere it is no key. */
	for (size_t cut = 0; cut < fields.n; cut++)
		assert_int_equal(raw(a, AGENT_MSG_add_identity, cslice_of(fields.p, cut), NULL),
			AGENT_MSG_failure);
	assert_int_equal(ag_store_count(rig.store), 0);
	buf_done(&body);
	buf_done(&fields);
	key_free(k);
	ag_free(a);
	rig_stop(&rig);
}

/* ---- questions ----------------------------------------------------------------------------------
 */
static err_t ask_to_sign(struct ag *a, const struct key *k, struct ag_event *ev)
{
	struct buf f;
	buf_init(&f, 65536);
	assert_ok(ag_ask_sign(
		&f, rig_blob(k), cslice_str("data"), cslice_str(key_type_name(key_type_of(k)))));
	err_t e = rig_put(&rig, a, buf_bytes(&f), ev);
	buf_done(&f);
	return e;
}

enum meanwhile { NOTHING, REMOVED, LOCKED, FREED };

static void a_key_is_used_when_the_person_says_yes(void **state)
{
	(void)state;
	static const struct {
		err_t verdict;
		enum meanwhile what;
		uint8_t answer;
	} rows[] = {{OK, NOTHING, AGENT_MSG_sign_response}, {E_DENIED, NOTHING, AGENT_MSG_failure},
		{E_CANCELLED, NOTHING, AGENT_MSG_failure}, {E_AGAIN, NOTHING, AGENT_MSG_failure},
		{OK, REMOVED, AGENT_MSG_failure}, {OK, LOCKED, AGENT_MSG_failure}, {OK, FREED, 0}};
	rig_start(&rig);
	struct key *k = rig_key(&rig, KEY_ED25519), *plain = rig_key(&rig, KEY_ED25519);
	const struct ag_limits l = {.confirm = true};
	for (size_t i = 0; i < ARRAY_N(rows); i++) {
		struct ag *a = rig_connect(&rig), *b = rig_connect(&rig);
		struct ag_event ev;
		assert_int_equal(rig_add(&rig, b, k, &l), AGENT_MSG_success);
		assert_int_equal(rig_add(&rig, b, plain, NULL), AGENT_MSG_success);
		assert_ok(ask_to_sign(a, k, &ev));
		assert_int_equal(ev.type, AG_EV_CONFIRM);
		assert_non_null(strstr(ev.question, "Allow use of key a comment?"));
		assert_non_null(strstr(ev.question, "SHA256:"));
		uint32_t ask = ev.ask;
		/* It is asked once; the others go on, this connection does not. */
		assert_ok(ag_poll(a, &rig.now, &ev));
		assert_int_equal(ev.type, AG_EV_NONE);
		assert_int_equal(ag_space(a).n, 0);
		assert_int_equal(
			rig_sign(&rig, b, plain, cslice_str("x")), AGENT_MSG_sign_response);
		assert_int_equal(ag_answer(a, ask + 1, OK), E_PHASE);
		assert_int_equal(ag_answer(a, 0, OK), E_PHASE);
		assert_int_equal(ag_answer(b, ask, OK), E_PHASE);
		if (rows[i].what == REMOVED)
			ag_store_clear(rig.store);
		if (rows[i].what == LOCKED)
			assert_ok(ag_store_lock(rig.store, cslice_str("w")));
		if (rows[i].what != FREED) {
			assert_ok(ag_answer(a, ask, rows[i].verdict));
			assert_int_equal(ag_answer(a, ask, rows[i].verdict), E_PHASE);
			assert_ok(ag_poll(a, &rig.now, &ev));
			assert_int_equal(rig_take(a, NULL), rows[i].answer);
		}
		if (rows[i].what == LOCKED) {
			uint64_t again_us;
			assert_ok(
				ag_store_unlock(rig.store, cslice_str("w"), rig.now.us, &again_us));
		} else if (rows[i].what == NOTHING) {
			/* A yes is for one use. */
			assert_ok(ask_to_sign(a, k, &ev));
			assert_int_equal(ev.type, AG_EV_CONFIRM);
			assert_true(ev.ask != ask);
		}
		ag_free(b);
		ag_free(a);
		ag_store_clear(rig.store);
	}
	key_free(plain);
	key_free(k);
	rig_stop(&rig);
}

static void questions_are_safe_to_print(void **state)
{
	(void)state;
	rig_start(&rig);
	struct ag *a = rig_connect(&rig);
	struct ag_event ev;
	struct key *k = rig_key(&rig, KEY_ED25519), *host = rig_key(&rig, KEY_ED25519);
	const struct ag_limits l = {.confirm = true};
	struct buf f;
	buf_init(&f, 65536);
	assert_ok(ag_ask_add(&f, k, cslice_of("a\n\033[2J\0\377b", 9), &l));
	assert_int_equal(rig_ask(&rig, a, &f, NULL), AGENT_MSG_success);
	assert_int_equal(rig_bind(&rig, a, host, "1", true), AGENT_MSG_success);
	assert_ok(ask_to_sign(a, k, &ev));
	assert_int_equal(ev.type, AG_EV_CONFIRM);
	assert_non_null(strstr(ev.question, "key a\\012\\033[2J\\000\\377b?\n"));
	assert_non_null(strstr(ev.question, "through the host with the key SHA256:"));
	key_free(host);
	key_free(k);
	ag_free(a);
	rig_stop(&rig);
}

/* ---- frames -------------------------------------------------------------------------------------
 */
static void frames_of_every_length_are_borne(void **state)
{
	(void)state;
	static const struct {
		uint32_t length;
		err_t e;
	} rows[] = {{0, E_LENGTH}, {1, OK}, {4096, OK}, {AGENT_FRAME_MAX, OK},
		{AGENT_FRAME_MAX + 1, E_LENGTH}, {0x7fffffff, E_LENGTH}, {0x80000000, E_LENGTH},
		{0xfffffffc, E_LENGTH}, {0xffffffff, E_LENGTH}};
	rig_start(&rig);
	for (size_t i = 0; i < ARRAY_N(rows); i++) {
		struct ag *a = rig_connect(&rig);
		struct ag_event ev;
		uint8_t head[5];
		be32_put(head, rows[i].length);
		head[4] = 200; /* no message */
		err_t e = rig_put(&rig, a, cslice_of(head, rows[i].length == 0 ? 4 : 5), &ev);
		static const uint8_t zeros[4096];
		for (size_t left = e == OK ? rows[i].length - 1 : 0; left > 0;) {
			size_t n = num_min(left, sizeof(zeros));
			assert_ok(rig_put(&rig, a, cslice_of(zeros, n), &ev));
			left -= n;
		}
		assert_int_equal(e, rows[i].e);
		assert_int_equal(rig_take(a, NULL), e == OK ? AGENT_MSG_failure : 0);
		if (e != OK) { /* for ever */
			assert_int_equal(ag_space(a).n, 0);
			assert_int_equal(ag_poll(a, &rig.now, &ev), e);
		}
		ag_free(a);
	}
	rig_stop(&rig);
}

static void bytes_may_come_one_by_one_and_requests_all_at_once(void **state)
{
	(void)state;
	rig_start(&rig);
	struct ag *a = rig_connect(&rig);
	struct ag_event ev;
	struct buf f;
	buf_init(&f, 4096);
	assert_ok(ag_ask_extensions(&f));
	for (size_t i = 0; i < f.n; i++) {
		assert_int_equal(rig_take(a, NULL), 0);
		assert_ok(rig_put(&rig, a, cslice_of(f.p + i, 1), &ev));
	}
	struct buf body;
	buf_init(&body, 4096);
	assert_int_equal(rig_take(a, &body), AGENT_MSG_extension_response);
	struct rd r = rd_of(buf_bytes(&body));
	assert_true(cslice_eq_str(rd_str(&r), "query"));
	assert_true(cslice_eq_str(rd_str(&r), "session-bind@openssh.com"));
	assert_ok(rd_end(&r));
	buf_done(&body);
	/* Ten at once: each has its answer, the next when the one before is sent. */
	struct buf many;
	buf_init(&many, 4096);
	for (int i = 0; i < 10; i++)
		buf_put(&many, f.p, f.n);
	assert_ok(rig_put(&rig, a, buf_bytes(&many), &ev));
	for (int i = 0; i < 10; i++) {
		size_t n = ag_ready(a).n;
		assert_ok(ag_poll(a, &rig.now, &ev));
		assert_int_equal(ag_ready(a).n, n); /* no more than one waits */
		assert_int_equal(rig_take(a, NULL), AGENT_MSG_extension_response);
		assert_ok(ag_poll(a, &rig.now, &ev));
	}
	assert_int_equal(rig_take(a, NULL), 0);
	/* A client that never reads is not read from either. */
	size_t taken = 0;
	while (ag_space(a).n > 0 && taken < 100000) {
		assert_ok(rig_put(&rig, a, buf_bytes(&f), &ev));
		taken += f.n;
	}
	assert_true(taken <= 2 * f.n);
	buf_done(&many);
	buf_done(&f);
	ag_free(a);
	rig_stop(&rig);
}

static void unknown_messages_are_answered(void **state)
{
	(void)state;
	rig_start(&rig);
	struct ag *a = rig_connect(&rig);
	for (unsigned no = 0; no < 256; no++)
		if (!agent_msg_is_for((uint8_t)no, true))
			assert_int_equal(bare(a, (uint8_t)no), AGENT_MSG_failure);
	assert_int_equal(with_string(a, AGENT_MSG_extension, cslice_str("no@such.thing")),
		AGENT_MSG_failure);
	assert_int_equal(bare(a, AGENT_MSG_sign_request), AGENT_MSG_failure);
	assert_int_equal(
		with_string(a, AGENT_MSG_remove_identity, cslice_str("junk")), AGENT_MSG_failure);
	assert_int_equal(
		raw(a, AGENT_MSG_request_identities, cslice_str("more"), NULL), AGENT_MSG_failure);
	assert_int_equal(rig_count(&rig, a), 0);
	ag_free(a);
	rig_stop(&rig);
}

/* A connection that may not see a key can neither take it away nor replace it by one without
 * limits. */
static void hidden_keys_are_out_of_reach(void **state)
{
	(void)state;
	rig_start(&rig);
	struct ag *near = rig_connect(&rig), *far = rig_connect(&rig);
	struct key *k = rig_key(&rig, KEY_ED25519), *host = rig_key(&rig, KEY_ED25519),
		   *other = rig_key(&rig, KEY_ED25519);
	const struct ag_host_key keys = {rig_blob(host), false};
	const struct ag_hop here = {.user = {NULL, 0}};
	const struct ag_destination to = {
		here, {.host = cslice_str("h"), .keys = &keys, .keys_n = 1}};
	const struct ag_limits l = {.destinations = &to, .destinations_n = 1};
	assert_int_equal(rig_add(&rig, near, k, &l), AGENT_MSG_success);
	assert_int_equal(rig_bind(&rig, far, other, "1", true), AGENT_MSG_success);
	assert_int_equal(rig_count(&rig, far), 0);
	assert_int_equal(
		with_string(far, AGENT_MSG_remove_identity, rig_blob(k)), AGENT_MSG_failure);
	assert_int_equal(rig_add(&rig, far, k, NULL), AGENT_MSG_failure);
	assert_int_equal(ag_store_next(rig.store, NULL)->to.n, 1);
	assert_int_equal(rig_count(&rig, near), 1);
	key_free(other);
	key_free(host);
	key_free(k);
	ag_free(far);
	ag_free(near);
	rig_stop(&rig);
}

static void many_keys_and_clients_have_their_place(void **state)
{
	(void)state;
	rig_start(&rig);
	struct ag *clients[200], *a = rig_connect(&rig);
	char comment[700];
	memset(comment, 'c', sizeof(comment));
	for (size_t i = 0; i < AG_STORE_KEYS_MAX; i++) {
		struct key *k = rig_key(&rig, KEY_ED25519);
		struct buf f;
		buf_init(&f, 65536);
		/* The first thousand with short names. */
		assert_ok(ag_ask_add(
			&f, k, cslice_of(comment, i < 1000 ? 10 : sizeof(comment)), NULL));
		assert_int_equal(rig_ask(&rig, a, &f, NULL), AGENT_MSG_success);
		if (i == 999)
			assert_int_equal(rig_count(&rig, a), 1000);
		key_free(k);
	}
	struct key *k = rig_key(&rig, KEY_ED25519);
	assert_int_equal(rig_add(&rig, a, k, NULL), AGENT_MSG_failure);
	/* What fits into an answer is told. */
	rig.said[0] = '\0';
	uint32_t told = rig_count(&rig, a);
	assert_true(told > 1000 && told < AG_STORE_KEYS_MAX);
	assert_non_null(strstr(rig.said, "the last ones are left out"));
	for (size_t i = 0; i < ARRAY_N(clients); i++) {
		clients[i] = rig_connect(&rig);
		assert_int_equal(rig_count(&rig, clients[i]), told);
	}
	for (size_t i = 0; i < ARRAY_N(clients); i++)
		ag_free(clients[i]);
	key_free(k);
	ag_free(a);
	rig_stop(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_of_every_type_sign_and_go),
		cmocka_unit_test(private_bytes_rest_encrypted),
		cmocka_unit_test(an_rsa_key_signs_with_the_hash_that_is_asked_for),
		cmocka_unit_test(a_locked_agent_does_nothing),
		cmocka_unit_test(wrong_passphrases_take_longer_and_longer),
		cmocka_unit_test(libraries_are_not_named_from_far_away),
		cmocka_unit_test(keys_have_their_time),
		cmocka_unit_test(limits_that_cannot_be_kept_refuse_the_key),
		cmocka_unit_test(a_key_is_used_when_the_person_says_yes),
		cmocka_unit_test(questions_are_safe_to_print),
		cmocka_unit_test(frames_of_every_length_are_borne),
		cmocka_unit_test(bytes_may_come_one_by_one_and_requests_all_at_once),
		cmocka_unit_test(unknown_messages_are_answered),
		cmocka_unit_test(hidden_keys_are_out_of_reach),
		cmocka_unit_test(many_keys_and_clients_have_their_place),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
