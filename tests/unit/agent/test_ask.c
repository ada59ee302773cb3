/* SPDX-License-Identifier: ISC */
/* ask: requests byte for byte, and replies: only the answer to the question counts */
#include "rig.h"

struct bytes {
	const char *p;
	size_t n;
};
#define BYTES(s) ((struct bytes){s, sizeof(s) - 1})

static void is(struct buf *frame, struct bytes want)
{
	assert_int_equal(frame->n, want.n);
	assert_memory_equal(frame->p, want.p, want.n);
	buf_clear(frame);
}

static void requests_byte_for_byte(void **state)
{
	(void)state;
	struct buf out;
	const struct cslice blob = cslice_str("B"), tbs = cslice_str("D");
	const struct ag_binding bind = {cslice_str("H"), cslice_str("I"), cslice_str("S"), true};
	buf_init(&out, 65536);
	assert_ok(ag_ask_list(&out));
	is(&out, BYTES("\0\0\0\1\13"));
	assert_ok(ag_ask_remove_all(&out));
	is(&out, BYTES("\0\0\0\1\23"));
	assert_ok(ag_ask_remove(&out, blob));
	is(&out, BYTES("\0\0\0\6\22\0\0\0\1B"));
	assert_ok(ag_ask_sign(&out, blob, tbs, cslice_str("ssh-ed25519")));
	is(&out, BYTES("\0\0\0\17\15\0\0\0\1B\0\0\0\1D\0\0\0\0"));
	assert_ok(ag_ask_sign(&out, blob, tbs, cslice_str("rsa-sha2-256")));
	is(&out, BYTES("\0\0\0\17\15\0\0\0\1B\0\0\0\1D\0\0\0\2"));
	assert_ok(ag_ask_sign(&out, blob, tbs, cslice_str("rsa-sha2-512-cert-v01@openssh.com")));
	is(&out, BYTES("\0\0\0\17\15\0\0\0\1B\0\0\0\1D\0\0\0\4"));
	assert_ok(ag_ask_lock(&out, true, cslice_str("p")));
	is(&out, BYTES("\0\0\0\6\26\0\0\0\1p"));
	assert_ok(ag_ask_lock(&out, false, cslice_str("p")));
	is(&out, BYTES("\0\0\0\6\27\0\0\0\1p"));
	assert_ok(ag_ask_extensions(&out));
	is(&out, BYTES("\0\0\0\12\33\0\0\0\5query"));
	assert_ok(ag_ask_bind(&out, &bind));
	is(&out, BYTES("\0\0\0\55\33\0\0\0\30session-bind@openssh.com"
		       "\0\0\0\1H\0\0\0\1I\0\0\0\1S\1"));
	buf_done(&out);
}

/* What stands behind the comment "c" of an added key. */
static void limits_byte_for_byte(void **state)
{
	(void)state;
	const struct ag_host_key keys[] = {{cslice_str("K"), false}, {cslice_str("C"), true}};
	const struct ag_destination d = {
		.to = {cslice_str("u"), cslice_str("h"), keys, ARRAY_N(keys)}};
	const struct {
		struct ag_limits limits;
		uint8_t number;
		struct bytes tail;
	} rows[] = {
		{{0}, AGENT_MSG_add_identity, BYTES("")},
		{{.lifetime_s = 258}, AGENT_MSG_add_id_constrained, BYTES("\1\0\0\1\2")},
		{{.sk_provider = "internal"}, AGENT_MSG_add_identity, BYTES("")}, /* no FIDO key */
		{{.confirm = true}, AGENT_MSG_add_id_constrained, BYTES("\2")},
		{{.destinations = &d, .destinations_n = 1}, AGENT_MSG_add_id_constrained,
			BYTES("\377\0\0\0\44restrict-destination-v00@openssh.com"
			      "\0\0\0\66\0\0\0\62"
			      "\0\0\0\14\0\0\0\0\0\0\0\0\0\0\0\0"
			      "\0\0\0\32\0\0\0\1u\0\0\0\1h\0\0\0\0\0\0\0\1K\0\0\0\0\1C\1"
			      "\0\0\0\0")},
	};
	struct rng_seeded rng;
	struct key *k = NULL;
	struct buf out, fields;
	assert_ok(crypto_init());
	rng_seeded_init(&rng, 1);
	assert_ok(key_generate(&k, KEY_ED25519, 0, &rng.rng));
	buf_init(&out, 65536);
	buf_init(&fields, 65536);
	assert_ok(key_put_private_fields(k, &fields));
	for (size_t i = 0; i < ARRAY_N(rows); i++) {
		assert_ok(ag_ask_add(&out, k, cslice_str("c"), &rows[i].limits));
		size_t n = fields.n;
		assert_int_equal(out.n, 5 + n + 5 + rows[i].tail.n);
		assert_int_equal(be32_get(out.p), out.n - 4);
		assert_int_equal(out.p[4], rows[i].number);
		assert_memory_equal(out.p + 5, fields.p, n);
		assert_memory_equal(out.p + 5 + n, "\0\0\0\1c", 5);
		if (rows[i].tail.n > 0)
			assert_memory_equal(out.p + 10 + n, rows[i].tail.p, rows[i].tail.n);
		buf_clear(&out);
	}
	key_free(k);
	buf_done(&fields);
	buf_done(&out);
}

static void count(void *arg, struct cslice a, struct cslice b)
{
	(void)a;
	(void)b;
	++*(int *)arg;
}

static void count_name(void *arg, struct cslice a)
{
	(void)a;
	++*(int *)arg;
}

enum ask { DONE, LIST, SIGNED, EXTENSIONS };
static err_t judge(enum ask what, struct cslice body, int *n)
{
	struct buf sig;
	buf_init(&sig, 65536);
	err_t e = what == DONE     ? ag_take_done(body)
		  : what == LIST   ? ag_take_list(body, count, n)
		  : what == SIGNED ? ag_take_signature(body, cslice_str("ssh-ed25519"), &sig)
				   : ag_take_extensions(body, count_name, n);
	if (what == SIGNED)
		*n = sig.n > 0;
	buf_done(&sig);
	return e;
}

#define TWO   "\14\0\0\0\2\0\0\0\1a\0\0\0\1b\0\0\0\0\0\0\0\0"
#define SIGN  "\16\0\0\0\24\0\0\0\13ssh-ed25519\0\0\0\1x"
#define QUERY "\35\0\0\0\5query\0\0\0\5query\0\0\0\1x"
static const struct {
	enum ask what;
	struct bytes body;
	err_t verdict;
	int n;
} replies[] = {
	{DONE, BYTES("\6"), OK, 0},
	{DONE, BYTES("\5"), E_DENIED, 0},
	{DONE, BYTES("\36"), E_DENIED, 0},
	{DONE, BYTES("\146"), E_DENIED, 0},
	{DONE, BYTES("\34"), E_DENIED, 0},
	{DONE, BYTES("\14\0\0\0\0"), E_UNEXPECTED, 0},
	{DONE, BYTES(""), E_FORMAT, 0},
	{LIST, BYTES(TWO), OK, 2},
	{LIST, BYTES("\14\0\0\0\0"), OK, 0},
	{LIST, BYTES("\5"), E_DENIED, 0},
	{LIST, BYTES("\6"), E_UNEXPECTED, 0},
	{LIST, BYTES(TWO "x"), E_TRAILING, 0},
	{LIST, BYTES("\14\0\0\0\3\0\0\0\1a\0\0\0\1b\0\0\0\0\0\0\0\0"), E_FORMAT, 0},
	{LIST, BYTES("\14\0\0\0\1\0\0\0\1a\377\377\377\377b"), E_FORMAT, 0},
	{LIST, BYTES("\14\377\377\377\377"), E_LIMIT, 0},
	{SIGNED, BYTES(SIGN), OK, 1},
	{SIGNED, BYTES("\16\0\0\0\24\0\0\0\13ssh-ed25518\0\0\0\1x"), E_UNSUPPORTED, 0},
	{SIGNED, BYTES("\16\0\0\0\0"), E_FORMAT, 0},
	{SIGNED, BYTES(SIGN "x"), E_TRAILING, 0},
	{SIGNED, BYTES("\6"), E_UNEXPECTED, 0},
	{SIGNED, BYTES("\5"), E_DENIED, 0},
	{EXTENSIONS, BYTES(QUERY), OK, 2},
	{EXTENSIONS, BYTES("\35\0\0\0\5other"), E_UNEXPECTED, 0},
	{EXTENSIONS, BYTES(QUERY "\0"), E_FORMAT, 0},
	{EXTENSIONS, BYTES("\34"), E_DENIED, 0},
	{EXTENSIONS, BYTES("\6"), E_UNEXPECTED, 0},
};

static void only_the_answer_to_the_question_counts(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_N(replies); i++) {
		int n = 0;
		err_t e =
			judge(replies[i].what, cslice_of(replies[i].body.p, replies[i].body.n), &n);
		assert_string_equal(err_name(e), err_name(replies[i].verdict));
		assert_int_equal(n, replies[i].n);
	}
}

/* A success cut short is an error, and nothing of it is given. */
static void every_cut_is_an_error(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_N(replies); i++) {
		for (size_t cut = 0; replies[i].verdict == OK && cut < replies[i].body.n; cut++) {
			/* a whole extension less is a shorter list, and well formed */
			if (replies[i].what == EXTENSIONS && (cut == 10 || cut == 19))
				continue;
			int n = 0;
			assert_int_not_equal(
				judge(replies[i].what, cslice_of(replies[i].body.p, cut), &n), OK);
			assert_int_equal(n, 0);
		}
	}
}

static void lengths(void **state)
{
	(void)state;
	static const struct {
		uint8_t head[4];
		err_t verdict;
	} rows[] = {{{0, 0, 0, 0}, E_FORMAT}, {{0, 0, 0, 1}, OK}, {{0, 4, 0, 0}, OK},
		{{0, 4, 0, 1}, E_FORMAT}, {{255, 255, 255, 255}, E_FORMAT}};
	for (size_t i = 0; i < ARRAY_N(rows); i++) {
		size_t n = 77;
		err_t e = ag_take_length(rows[i].head, &n);
		assert_int_equal(e, rows[i].verdict);
		assert_int_equal(n, e == OK ? be32_get(rows[i].head) : 77);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_byte_for_byte),
		cmocka_unit_test(limits_byte_for_byte),
		cmocka_unit_test(only_the_answer_to_the_question_counts),
		cmocka_unit_test(every_cut_is_an_error),
		cmocka_unit_test(lengths),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
