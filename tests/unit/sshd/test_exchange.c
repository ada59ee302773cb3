/* SPDX-License-Identifier: ISC */
/* What a host key signs: exchanges of two real engines, whole and spoilt. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "app/sshd/exchange.h"
#include "pair.h"

/* An exchange at the point where its signature is asked for. */
struct scene {
	struct pair p;
	struct exchange_rule first, later; /* before and after login */
	struct buf t;                      /* the transcript */
};

/* Both ends go on until the server asks for a signature. */
static void until_asked(struct scene *s)
{
	enum hash_id hash;
	pair_run(&s->p);
	if (s->p.s.question.type == TP_EV_ASK_GROUP) {
		end_answer(&s->p.s);
		pair_run(&s->p);
	}
	assert_int_equal(s->p.s.question.type, TP_EV_ASK_SIGN);
	struct cslice t = tp_transcript(s->p.s.tp, &hash);
	assert_true(t.n > 500);
	buf_clear(&s->t);
	buf_put(&s->t, t.p, t.n);
	s->later = (struct exchange_rule){.client_version = cslice_str(s->p.c.env.version),
		.server_version = cslice_str(s->p.s.env.version),
		.hostkey = s->p.s.hostkeys[s->p.s.question.index].blob,
		.hostkey_alg = s->p.s.question.alg,
		.kex_algs = cslice_str(s->p.s.policy.kex)};
	s->first = s->later;
	s->first.client_version = cslice_of(NULL, 0);
}

static void begin(struct scene *s, const char *kex, const char *client_version)
{
	pair_init(&s->p, 1);
	pair_add_hostkey(&s->p, KEY_ED25519);
	pair_add_hostkey(&s->p, KEY_ECDSA_P256);
	buf_init(&s->t, (size_t)1 << 20);
	if (kex != NULL)
		s->p.c.policy.kex = kex;
	if (client_version != NULL)
		s->p.c.env.version = client_version;
	s->p.s.is_late = true;
	pair_start(&s->p);
	until_asked(s);
}

/* Logged in, and keys changed: at the signature of the second exchange. */
static void to_rekey(struct scene *s)
{
	end_answer(&s->p.s);
	pair_run(&s->p);
	pair_open(&s->p);
	s->p.s.question.type = TP_EV_NONE;
	assert_int_equal(tp_rekey(s->p.c.tp), OK);
	until_asked(s);
}

static void end(struct scene *s)
{
	buf_done(&s->t);
	pair_done(&s->p);
}

static err_t check(const struct buf *t, const struct exchange_rule *rule)
{
	struct exchange x = {.hash_n = 99};
	err_t e = exchange_check(buf_bytes(t), rule, &x);
	if (e != OK)
		assert_int_equal(x.hash_n, 99);
	return e;
}

static void assert_signed(const struct scene *s, const struct exchange_rule *rule)
{
	struct exchange x;
	assert_int_equal(exchange_check(buf_bytes(&s->t), rule, &x), OK);
	assert_int_equal(x.hash_n, s->p.s.question.body.n);
	assert_memory_equal(x.hash, s->p.s.question.body.p, x.hash_n);
	assert_true(cslice_eq(x.client_version, s->later.client_version));
}

/* ---- a transcript taken apart and put together again ---- */
enum { V_C, V_S, I_C, I_S, K_S, STRINGS };
struct parts {
	struct cslice s[STRINGS], values;
};

static struct parts parts_of(const struct scene *s)
{
	struct parts p;
	struct rd r = rd_of(buf_bytes(&s->t));
	for (size_t i = 0; i < STRINGS; i++)
		p.s[i] = rd_str(&r);
	p.values = rd_rest(&r);
	assert_false(r.bad);
	return p;
}

static err_t check_parts(const struct parts *p, const struct exchange_rule *rule)
{
	struct buf b;
	buf_init(&b, (size_t)1 << 20);
	for (size_t i = 0; i < STRINGS; i++)
		buf_put_string(&b, p->s[i]);
	buf_put(&b, p->values.p, p->values.n);
	assert_int_equal(buf_err(&b), OK);
	err_t e = check(&b, rule);
	buf_done(&b);
	return e;
}

/* One string changed, and the rest as it was. */
static err_t check_with(
	const struct scene *s, size_t i, struct cslice value, const struct exchange_rule *rule)
{
	struct parts p = parts_of(s);
	p.s[i] = value;
	return check_parts(&p, rule);
}

/* The same KEXINIT with more names at the end of its methods. */
static void put_kexinit(struct buf *out, struct cslice payload, const char *more)
{
	struct rd r = rd_of(payload);
	struct cslice head = rd_take(&r, 17), kex = rd_str(&r), rest = rd_rest(&r);
	buf_put(out, head.p, head.n);
	buf_put_u32(out, (uint32_t)(kex.n + strlen(more)));
	buf_put(out, kex.p, kex.n);
	buf_put(out, more, strlen(more));
	buf_put(out, rest.p, rest.n);
	assert_int_equal(buf_err(out), OK);
}

static err_t check_names(const struct scene *s, size_t i, const char *more)
{
	struct buf b;
	struct parts p = parts_of(s);
	buf_init(&b, (size_t)1 << 20);
	put_kexinit(&b, p.s[i], more);
	err_t e = check_with(s, i, buf_bytes(&b), &s->later);
	buf_done(&b);
	return e;
}

/* ---- tests ---- */
static void every_method_is_hashed_as_the_engine_does(void **state)
{
	(void)state;
	for (size_t i = 0; i < alg_kexes_n; i++) {
		struct scene s;
		begin(&s, alg_kexes[i].name, NULL);
		assert_signed(&s, &s.first);
		to_rekey(&s);
		assert_signed(&s, &s.later);
		end(&s);
	}
}

static void the_older_group_request_counts_too(void **state)
{
	struct scene s;
	(void)state;
	begin(&s, "diffie-hellman-group-exchange-sha256", NULL);
	struct parts p = parts_of(&s);
	p.values = cslice_of(p.values.p + 4, p.values.n - 4); /* min and n: neither form */
	assert_int_not_equal(check_parts(&p, &s.first), OK);
	struct buf b;
	buf_init(&b, 65536);
	buf_put(&b, p.values.p, 4);
	buf_put(&b, p.values.p + 8, p.values.n - 8);
	p.values = buf_bytes(&b);
	assert_int_equal(check_parts(&p, &s.first), OK);
	buf_done(&b);
	end(&s);
}

static void the_versions_are_those_of_the_login(void **state)
{
	struct scene s;
	(void)state;
	begin(&s, NULL, NULL);
	to_rekey(&s);
	assert_int_equal(check(&s.t, &s.later), OK);
	assert_int_equal(check_with(&s, V_C, cslice_str("SSH-2.0-other"), &s.later), E_DENIED);
	assert_int_equal(check_with(&s, V_S, cslice_str("SSH-2.0-other"), &s.later), E_DENIED);
	assert_int_equal(check_with(&s, V_S, s.later.client_version, &s.later), E_DENIED);
	/* the first exchange says which version the client has, if it is one */
	assert_int_equal(check_with(&s, V_C, cslice_str("SSH-2.0-other"), &s.first), OK);
	assert_int_equal(check_with(&s, V_S, cslice_str("SSH-2.0-other"), &s.first), E_DENIED);
	static const char *const bad[] = {
		"", "SSH", "GET / HTTP/1.1", "SSH-2.0-a\r", "SSH-2.0-a\nb"};
	for (size_t i = 0; i < ARRAY_N(bad); i++)
		assert_int_equal(check_with(&s, V_C, cslice_str(bad[i]), &s.first), E_FORMAT);
	end(&s);
}

static void the_key_is_the_one_that_signs(void **state)
{
	struct scene s;
	(void)state;
	begin(&s, NULL, NULL);
	to_rekey(&s);
	uint32_t other = s.p.s.question.index == 0 ? 1 : 0;
	struct cslice blob = s.p.s.hostkeys[other].blob;
	assert_int_equal(check_with(&s, K_S, blob, &s.later), E_DENIED);
	assert_int_equal(check_with(&s, K_S, blob, &s.first), E_DENIED);
	assert_int_equal(check_with(&s, K_S, cslice_of(NULL, 0), &s.later), E_DENIED);
	/* and it signs as the two KEXINITs have agreed */
	struct exchange_rule rule = s.later;
	rule.hostkey_alg = cslice_str("rsa-sha2-256");
	assert_int_equal(check(&s.t, &rule), E_DENIED);
	end(&s);
}

static void the_method_is_one_that_is_offered_and_agreed(void **state)
{
	struct scene s;
	(void)state;
	begin(&s, "curve25519-sha256", NULL);
	to_rekey(&s);
	struct exchange_rule rule = s.later;
	rule.kex_algs = cslice_str("ecdh-sha2-nistp256,curve25519-sha512");
	assert_int_equal(check(&s.t, &rule), E_DENIED);
	rule.kex_algs = cslice_str("ecdh-sha2-nistp256,curve25519-sha256");
	assert_int_equal(check(&s.t, &rule), OK);
	end(&s);
}

/* K of a hybrid is a hash, whatever it was made from. */
static void the_secret_of_a_hybrid_has_its_length(void **state)
{
	static const uint8_t secret[HASH_MAX + 1] = {1};
	(void)state;
	for (size_t i = 0; i < alg_kexes_n; i++) {
		const struct alg_kex *kex = &alg_kexes[i];
		struct scene s;
		if ((kex->flags & AF_PQ) == 0)
			continue;
		begin(&s, kex->name, NULL);
		struct parts p = parts_of(&s);
		struct rd r = rd_of(p.values);
		struct cslice qc = rd_str(&r), qs = rd_str(&r);
		for (size_t n = 0; n <= sizeof(secret); n++) {
			struct buf b;
			buf_init(&b, 8192);
			buf_put_string(&b, qc);
			buf_put_string(&b, qs);
			buf_put_string(&b, cslice_of(secret, n));
			p.values = buf_bytes(&b);
			assert_int_equal(check_parts(&p, &s.first),
				n == hash_size(kex->hash) ? OK : E_FORMAT);
			buf_done(&b);
		}
		end(&s);
	}
}

static void other_lengths_are_refused(void **state)
{
	struct scene s;
	(void)state;
	for (size_t i = 0; i < alg_kexes_n; i += 3) {
		begin(&s, alg_kexes[i].name, NULL);
		size_t n = s.t.n;
		for (s.t.n = 0; s.t.n < n; s.t.n++)
			assert_int_not_equal(check(&s.t, &s.first), OK);
		buf_put_u8(&s.t, 0);
		assert_int_equal(check(&s.t, &s.first), E_TRAILING);
		end(&s);
	}
}

static void a_bare_hash_is_refused(void **state)
{
	struct scene s;
	struct rng_seeded rng;
	(void)state;
	begin(&s, NULL, NULL);
	rng_seeded_init(&rng, 7);
	for (int i = HASH_SHA1; i < HASH_N; i++) {
		for (int fill = 0; fill < 256; fill++) {
			uint8_t hash[HASH_MAX];
			struct exchange x;
			struct cslice bytes = {hash, hash_size((enum hash_id)i)};
			rng_fill(&rng.rng, hash, sizeof(hash));
			hash[0] = hash[1] = hash[2] = 0; /* a length that could be one */
			hash[3] = (uint8_t)fill;
			assert_int_equal(exchange_check(bytes, &s.first, &x), E_FORMAT);
			assert_int_equal(exchange_check(bytes, &s.later, &x), E_FORMAT);
		}
	}
	end(&s);
}

static void sizes_are_bounded(void **state)
{
	struct scene s;
	struct buf big;
	(void)state;
	begin(&s, NULL, NULL);
	buf_init(&big, (size_t)1 << 20);
	uint8_t *room = buf_room(&big, EXCHANGE_MAX + 1);
	assert_non_null(room);
	memset(room, 0, big.n);
	assert_int_equal(check(&big, &s.first), E_LENGTH);
	/* KEXINITs: up to 35,000 bytes, made so long by one more name */
	for (size_t i = I_C; i <= I_S; i++) {
		struct parts p = parts_of(&s);
		char *name = malloc(EXCHANGE_KEXINIT_MAX + 2);
		assert_non_null(name);
		size_t most = EXCHANGE_KEXINIT_MAX - p.s[i].n;
		memset(name, 'x', most + 1);
		name[0] = ',';
		name[most] = name[most + 1] = 0;
		for (size_t over = 0; over < 2; over++) {
			if (over == 1)
				name[most] = 'x';
			buf_clear(&big);
			put_kexinit(&big, p.s[i], name);
			assert_int_equal(big.n, EXCHANGE_KEXINIT_MAX + over);
			assert_int_equal(check_with(&s, i, buf_bytes(&big), &s.first),
				over == 0 ? OK : E_FORMAT);
		}
		free(name);
	}
	buf_done(&big);
	end(&s);
}

static void after_login_no_first_exchange_is_signed(void **state)
{
	struct scene s;
	(void)state;
	static const char *const told[] = {
		"SSH-2.0-OpenSSH_9.2p1 Debian-2", "SSH-2.0-OpenSSH_Bowline_0.1"};
	for (size_t i = 0; i < ARRAY_N(told); i++) {
		begin(&s, NULL, told[i]);
		assert_int_equal(check(&s.t, &s.first), OK);
		assert_int_equal(check(&s.t, &s.later), E_DENIED);
		to_rekey(&s);
		assert_int_equal(check(&s.t, &s.later), OK);
		/* our part without the pseudo names, as somebody in the middle would send it */
		assert_int_equal(check_names(&s, I_C, ",ext-info-c"), E_DENIED);
		end(&s);
	}
	/* other clients may say it each time; this server never does */
	begin(&s, NULL, "SSH-2.0-whatever");
	assert_int_equal(check(&s.t, &s.later), E_DENIED);
	to_rekey(&s);
	assert_int_equal(check(&s.t, &s.later), OK);
	assert_int_equal(check_names(&s, I_C, ",ext-info-c,kex-strict-c-v00@openssh.com"), OK);
	assert_int_equal(check_names(&s, I_S, ",ext-info-s"), E_DENIED);
	assert_int_equal(check_names(&s, I_S, ",kex-strict-s-v00@openssh.com"), E_DENIED);
	end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_method_is_hashed_as_the_engine_does),
		cmocka_unit_test(the_older_group_request_counts_too),
		cmocka_unit_test(the_versions_are_those_of_the_login),
		cmocka_unit_test(the_key_is_the_one_that_signs),
		cmocka_unit_test(the_method_is_one_that_is_offered_and_agreed),
		cmocka_unit_test(the_secret_of_a_hybrid_has_its_length),
		cmocka_unit_test(other_lengths_are_refused),
		cmocka_unit_test(a_bare_hash_is_refused),
		cmocka_unit_test(sizes_are_bounded),
		cmocka_unit_test(after_login_no_first_exchange_is_signed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
